/* SPDX-License-Identifier: MIT */
/* A folder goes before the name that readers use, at the same length; what does not
 * fit is left alone, byte for byte. */
#include "base/alloc.h"
#include "base/keyhash.h"
#include "check.h"
#include "tar/entry.h"
#include "tar/header.h"
#include "tar/pax.h"
#include "tars.h"

#include <errno.h>

static struct tar t;
static unsigned char *was;
static size_t n_edited;
static uint64_t next;

/* Edit the group at the start of all that is there, in memory of just its size. */
static int edit(const char *folder, struct sfs_error *err)
{
	struct sfs_tar_entry entry;
	int ret;

	free(was);
	was = sfs_malloc(t.n);
	memcpy(was, t.bytes, t.n);
	ret = tar_rewrite(t.bytes, t.n, folder, &entry, err);
	if (ret < 0)
		return ret;
	n_edited = entry.n_bytes;
	next = entry.next;
	sfs_tar_entry_done(&entry);
	return 0;
}

/* Only bytes of the group may have changed, and its name is this now. */
static void renamed(const char *folder, const char *wanted)
{
	struct sfs_error err = {0};
	struct sfs_tar_entry before, after;
	size_t n = t.n;
	int ret = edit(folder, &err);

	if (ret < 0) {
		fprintf(stderr, "'%s' is refused: %s\n", wanted, err.text);
		exit(1);
	}
	CHECK_EQ(t.n, n);
	CHECK_EQ(sfs_tar_entry_read(was, n, n, &before, &err), 0);
	CHECK_EQ(sfs_tar_entry_read(t.bytes, n, n, &after, &err), 0);
	CHECK_EQ(n_edited, before.n_bytes);
	CHECK_EQ(next, before.next);
	CHECK_EQ(after.n_bytes, before.n_bytes);
	CHECK_EQ(after.next, before.next);
	CHECK_EQ(after.size, before.size);
	CHECK_EQ(after.mtime, before.mtime);
	CHECK_EQ(after.mode, before.mode);
	CHECK_EQ(after.is_regular, before.is_regular);
	if (after.n_name != strlen(wanted) ||
	    memcmp(after.name, wanted, after.n_name) != 0) {
		fprintf(stderr, "the name is '%.*s', not '%s'\n", (int)after.n_name,
			after.name, wanted);
		exit(1);
	}
	CHECK(memcmp(t.bytes + n_edited, was + n_edited, n - n_edited) == 0);
	sfs_tar_entry_done(&before);
	sfs_tar_entry_done(&after);
	tar_done(&t);
}

static void unchanged(const char *folder)
{
	CHECK_EQ(edit(folder, NULL), 0);
	CHECK(memcmp(t.bytes, was, t.n) == 0);
	tar_done(&t);
}

static void does_not_fit(const char *folder)
{
	struct sfs_error err = {0};

	CHECK_EQ(edit(folder, &err), -ENAMETOOLONG);
	CHECK_HAS(err.text, "does not fit");
	CHECK_HAS(err.text, folder);
	CHECK(memcmp(t.bytes, was, t.n) == 0);
	tar_done(&t);
}

/* ---- in the header ---- */

static void in_headers(void)
{
	static const char *const magics[] = {"ustar", "gnu", "v7"};
	char full[101], folder[200];
	unsigned char *b;
	size_t i;

	for (i = 0; i < SFS_COUNT(magics); i++) {
		tar_header(&t, magics[i], '0', "d/a.jpg", 3);
		tar_body(&t, "abc", 3);
		renamed("train-000007", "train-000007/d/a.jpg");
	}
	tar_file(&t, "a.jpg", 700, 'x');
	memcpy(t.bytes + AT_PREFIX, "old/folder", 10);
	tar_sum(t.bytes);
	renamed("./__x__", "./__x__/old/folder/a.jpg");

	tar_header(&t, "ustar", 0, "a.jpg", 0);
	renamed("f", "f/a.jpg");

	/* What GNU keeps where the prefix is goes. */
	b = tar_header(&t, "gnu", '0', "a.jpg", 0);
	memcpy(b + AT_PREFIX, "14000000000\00014000000000", 23);
	memcpy(b + 500, "xxxxxxxxxxxx", 12);
	tar_sum(b);
	edit("f", NULL);
	for (i = AT_PREFIX + 1; i < BLOCK; i++)
		CHECK_EQ(t.bytes[i], 0);
	tar_done(&t);
	b = tar_header(&t, "gnu", '0', "a.jpg", 0);
	memcpy(b + AT_PREFIX, "14000000000", 11);
	tar_sum(b);
	renamed("f", "f/a.jpg");

	/* Names and prefixes that are full. */
	memset(full, 'n', 100);
	full[1] = '.';
	full[100] = 0;
	tar_file(&t, full, 0, 0);
	edit("f", NULL);
	CHECK(memcmp(t.bytes, was, 100) == 0);
	tar_done(&t);
	memset(folder, 'f', 155);
	folder[155] = 0;
	tar_file(&t, "a.jpg", 0, 0);
	CHECK_EQ(edit(folder, NULL), 0);
	CHECK(memcmp(t.bytes + AT_PREFIX, folder, 155) == 0);
	tar_done(&t);
	strcat(folder, "f");
	tar_file(&t, "a.jpg", 0, 0);
	does_not_fit(folder);
	folder[150] = 0;
	tar_file(&t, "a.jpg", 0, 0);
	memcpy(t.bytes + AT_PREFIX, "abcd", 4);
	tar_sum(t.bytes);
	CHECK_EQ(edit(folder, NULL), 0); /* 150, a slash, 4 */
	tar_done(&t);
	tar_file(&t, "a.jpg", 0, 0);
	memcpy(t.bytes + AT_PREFIX, "abcde", 5);
	tar_sum(t.bytes);
	does_not_fit(folder);
}

/* ---- in extensions ---- */

static void in_gnu_names(void)
{
	char name[600], wanted[700];

	memset(name, 'n', sizeof name);
	memcpy(name + 495, ".jpg", 5);
	tar_extension(&t, 'L', name, 500);
	tar_file(&t, "nnn", 5, 'x');
	sprintf(wanted, "0123456789a/%s", name);
	renamed("0123456789a", wanted); /* 511 and its NUL */
	tar_extension(&t, 'L', name, 500);
	tar_file(&t, "nnn", 5, 'x');
	does_not_fit("0123456789ab");
	/* A link's name before it stays. */
	tar_extension(&t, 'K', "to/this", 8);
	tar_extension(&t, 'L', "long.jpg", 9);
	tar_header(&t, "gnu", '0', "x", 0);
	renamed("f", "f/long.jpg");
}

static void in_pax(void)
{
	char records[1000] = "", one[600], name[500], wanted[600];
	struct sfs_pax_record r;
	const char *p, *end;
	size_t n_records = 0;

	strcat(records, tar_record(one, "mtime", "1700000000.25"));
	strcat(records, tar_record(one, "path", "t\xc3\xbcr.jpg"));
	strcat(records, tar_record(one, "comment", "path=not this"));
	tar_extension(&t, 'x', records, strlen(records));
	tar_file(&t, "t_r.jpg", 700, 'x');
	CHECK_EQ(edit("train-0", NULL), 0);
	p = (char *)t.bytes + 512;
	end = p + sfs_tar_look(t.bytes).size;
	while (sfs_pax_next(&p, end, &r) == 1) {
		n_records++;
		if (sfs_pax_is(&r, "path"))
			CHECK(r.n_value == 16 &&
			      memcmp(r.value, "train-0/t\xc3\xbcr.jpg", 16) == 0);
		if (sfs_pax_is(&r, "mtime"))
			CHECK(r.n_value == 13 &&
			      memcmp(r.value, "1700000000.25", 13) == 0);
		if (sfs_pax_is(&r, "comment"))
			CHECK(r.n_value == 13 &&
			      memcmp(r.value, "path=not this", 13) == 0);
	}
	CHECK_EQ(n_records, 3);
	CHECK(p == end); /* the size is that of the records */
	tar_done(&t);

	tar_extension(&t, 'x', records, strlen(records));
	tar_file(&t, "t_r.jpg", 700, 'x');
	renamed("train-0", "train-0/t\xc3\xbcr.jpg");

	/* A length may get a digit more: 98 and 2 are 101. */
	memset(name, 'n', sizeof name);
	strcpy(name + 87, ".x");
	tar_pax(&t, 'x', "path", name);
	tar_file(&t, "nnn", 5, 'x');
	CHECK(memcmp(t.bytes + 512, "98 path=", 8) == 0);
	sprintf(wanted, "f/%s", name);
	renamed("f", wanted);

	/* To the last byte of the padding, and one more: "512 path=...\n" */
	memset(name, 'n', sizeof name);
	strcpy(name + 489, ".x");
	tar_pax(&t, 'x', "path", name);
	tar_file(&t, "nnn", 5, 'x');
	sprintf(wanted, "0123456789/%s", name);
	CHECK_EQ(sfs_pax_length(4, strlen(wanted)), 512);
	renamed("0123456789", wanted);
	tar_pax(&t, 'x', "path", name);
	tar_file(&t, "nnn", 5, 'x');
	does_not_fit("0123456789a");

	/* A pax extension that says nothing of the name: it stands in the header. */
	tar_pax(&t, 'x', "mtime", "1.5");
	tar_file(&t, "a.jpg", 5, 'x');
	renamed("f", "f/a.jpg");
	tar_pax(&t, 'x', "size", "5");
	tar_header(&t, "ustar", '0', "a.jpg", 0);
	tar_grow(&t, 512);
	renamed("f", "f/a.jpg");
}

/* Names in two extensions: no such member is ever streamed, so none is edited. */
static void refused(void)
{
	CHECK_EQ(edit("f", NULL), -EBADMSG);
	CHECK(memcmp(t.bytes, was, t.n) == 0);
	tar_done(&t);
}

static void doubtful(void)
{
	tar_pax(&t, 'x', "path", "one.jpg");
	tar_pax(&t, 'X', "path", "two.jpg");
	tar_file(&t, "x", 0, 0);
	refused();
	tar_pax(&t, 'x', "path", "one.jpg");
	tar_pax(&t, 'x', "path", "two.jpg");
	tar_file(&t, "x", 0, 0);
	refused();
	tar_extension(&t, 'L', "one.jpg", 8);
	tar_pax(&t, 'x', "path", "two.jpg");
	tar_file(&t, "x", 0, 0);
	refused();
}

/* ---- what stays as it is ---- */

static void left_alone(void)
{
	static const char types[] = "123456Z";
	size_t i;

	tar_file(&t, "a.jpg", 5, 'x');
	unchanged(NULL);
	tar_pax(&t, 'x', "path", "a.jpg");
	tar_file(&t, "x", 5, 'x');
	unchanged(NULL);
	for (i = 0; types[i]; i++) {
		tar_header(&t, "ustar", types[i], "a.jpg", 0);
		unchanged("f");
	}
	tar_file(&t, "README", 5, 'x');
	unchanged("f");
	tar_file(&t, ".hidden.jpg", 5, 'x');
	unchanged("f");
	tar_file(&t, "__meta__/a.jpg", 5, 'x');
	unchanged("f");
}

/* A global header becomes one comment that says nothing. */
static void blanks(const char *body, size_t n)
{
	struct sfs_pax_record r;
	const char *p, *end;
	size_t i;

	tar_extension(&t, 'g', body, n);
	CHECK_EQ(edit(NULL, NULL), 0);
	CHECK_EQ(n_edited, t.n);
	CHECK_EQ(next, t.n);
	CHECK(memcmp(t.bytes, was, 512) == 0);
	p = (char *)t.bytes + 512;
	end = p + n;
	CHECK_EQ(sfs_pax_next(&p, end, &r), 1);
	CHECK(p == end);
	CHECK(sfs_pax_is(&r, n < 16 ? "c" : "comment"));
	for (i = 0; i < r.n_value; i++)
		CHECK_EQ(r.value[i], ' ');
	tar_done(&t);
}

static void globals(void)
{
	char body[2000], value[1900];
	size_t n;

	blanks("5 k=\n", 5);
	blanks("6 k=v\n", 6);
	blanks("9 k=vvvv\n", 9);
	blanks("11 k=vvvvv\n", 11);
	blanks("6 k=v\n6 l=w\n", 12);
	blanks("9 k=vvvv\n6 l=w\n", 15);
	blanks("16 k=vvvvvvvvvv\n", 16);
	blanks("6 k=v\n12 l=wwwwww\n", 18);
	for (n = 80; n < 1900; n += 91) {
		memset(value, 'v', n);
		value[n] = 0;
		tar_record(body, "mtime", value);
		blanks(body, strlen(body));
	}
	tar_extension(&t, 'g', "", 0);
	unchanged(NULL);
}

static void refuses(void)
{
	struct sfs_error err = {0};

	tar_end(&t);
	CHECK_EQ(edit("f", &err), -EBADMSG);
	CHECK_HAS(err.text, "zero block");
	memset(t.bytes, 'j', t.n);
	CHECK_EQ(edit("f", &err), -EBADMSG);
	tar_done(&t);
}

/* ---- folders and keys ---- */

static void folder(const char *shard, const char *wanted)
{
	sfs_autofree char *got = sfs_rewrite_folder(shard);

	CHECK_STR(got, wanted);
}

static void folders(void)
{
	folder("train-000000.tar", "train-000000");
	folder("a/b/x.tar", "a/b/x");
	folder("x.tar.tar", "x.tar");
	folder("x", "x");
	folder("x.tar.gz", "x.tar.gz");
	folder("x.TAR", "x.TAR");
	folder(".tar", ".tar");
	folder("a/.tar", "a/.tar");
	folder("__meta__.tar", "./__meta__");
	folder("__x/y.tar", "./__x/y");
	folder("_x.tar", "_x");
}

static uint64_t hash(const char *s)
{
	return sfs_keyhash(s, strlen(s));
}

static void keys(void)
{
	bool is_renamed = true;

	CHECK(sfs_rewrite_key(0, hash("a"), "s1", &is_renamed) == hash("a"));
	CHECK(!is_renamed);
	CHECK(sfs_rewrite_key(hash("b"), hash("a"), "s1", &is_renamed) == hash("a"));
	CHECK(!is_renamed);
	CHECK(sfs_rewrite_key(hash("a"), hash("a"), "s1", &is_renamed) == hash("s1/a"));
	CHECK(is_renamed);
	/* Of three, the second is renamed and the third is not. */
	CHECK(sfs_rewrite_key(hash("s1/a"), hash("a"), "s2", &is_renamed) == hash("a"));
	CHECK(!is_renamed);
}

int main(void)
{
	in_headers();
	in_gnu_names();
	in_pax();
	doubtful();
	left_alone();
	globals();
	refuses();
	folders();
	keys();
	free(was);
	return 0;
}
