/* SPDX-License-Identifier: MIT */
/* A member's name is the bytes that stand in its headers, wherever that is, and whatever
 * they are as text: not one of them changes with the locale or with what libarchive makes
 * of them. */
#include "base/alloc.h"
#include "check.h"
#include "tar/entry.h"
#include "tars.h"

#include <errno.h>
#include <locale.h>

static const char *const names[] = {
	"plain.jpg",
	"caf\xc3\xa9.jpg",				/* composed */
	"cafe\xcc\x81.jpg",				/* and decomposed */
	"\xea\xb0\x80.jpg",				/* Hangul, the same */
	"\xe1\x84\x80\xe1\x85\xa1.jpg",			/* */
	"\xe1\xbd\xb1.jpg",				/* stands for another */
	"\xe2\x84\xab.jpg",				/* */
	"a\xcc\x81\xcc\xa3.jpg",			/* accents in no order */
	"\xed\xa0\xbd\xed\xb8\x80.jpg",			/* CESU-8 */
	"\xed\xa0\xbd.jpg",				/* half of it */
	"\xff\xfe.jpg",					/* no UTF-8 at all */
	"caf\xe9.jpg",					/* Latin 1 */
	"\xc0\xae\xc0\xae/x.jpg",			/* overlong */
	"\xf4\x90\x80\x80.jpg",				/* beyond Unicode */
	"\xef\xbf\xbd\xef\xbf\xbe.jpg",			/* replacements */
	"cut off.\xc3",					/* */
	"new\nline\t \x01\x7f\\?*\".jpg",		/* */
	"./a//b/./../c.jpg",				/* a path, as it is */
	"123456789 123456789 123456789 123456789 "	/* longer than a header's field */
	"123456789 123456789 123456789 123456789 "	/* */
	"123456789 123456789 caf\xc3\xa9 cafe\xcc\x81", /* */
};

static struct tar t;

static void is_named(const char *name, bool is_regular)
{
	unsigned char *exact = sfs_malloc(t.n);
	struct sfs_error err = {0};
	struct sfs_tar_entry g;
	int ret;

	memcpy(exact, t.bytes, t.n);
	ret = sfs_tar_entry_read(exact, t.n, t.n, &g, &err);
	if (ret < 0 || g.n_name != strlen(name) || memcmp(g.name, name, g.n_name) != 0) {
		fprintf(stderr, "'%s' is '%.*s' (%s)\n", name,
			ret < 0 ? 0 : (int)g.n_name, ret < 0 ? "" : g.name, err.text);
		exit(1);
	}
	CHECK_EQ(g.is_regular, is_regular);
	CHECK_EQ(g.next, t.n);
	sfs_tar_entry_done(&g);
	free(exact);
	tar_done(&t);
}

static void records(const char *const *keys, const char *const *values, size_t n)
{
	char all[4000] = "", one[1000];
	size_t i;

	for (i = 0; i < n; i++)
		strcat(all, tar_record(one, keys[i], values[i]));
	tar_extension(&t, 'x', all, strlen(all));
}

/* One that fits the field of a header. */
static void in_headers(const char *name)
{
	static const char *const dialects[] = {"ustar", "gnu", "v7"};
	unsigned char *b;
	size_t i;

	for (i = 0; i < SFS_COUNT(dialects); i++) {
		tar_header(&t, dialects[i], '0', name, 0);
		is_named(name, true);
	}
	/* With a size in base 256. */
	b = tar_header(&t, "gnu", '0', name, 0);
	memcpy(b + AT_SIZE, "\x80\0\0\0\0\0\0\0\0\0\0\0", 12);
	tar_sum(b);
	is_named(name, true);
	/* And with one in an extension. */
	records((const char *const[]){"size"}, (const char *const[]){"0"}, 1);
	tar_header(&t, "ustar", '0', name, 0);
	is_named(name, true);
}

static void in_extensions(const char *name)
{
	static const char types[] = "07";
	const char *p;

	for (p = types; *p; p++) {
		tar_extension(&t, 'L', name, strlen(name) + 1);
		tar_header(&t, "gnu", *p, "x", 0);
		is_named(name, true);
		tar_extension(&t, 'L', name, strlen(name)); /* without its NUL */
		tar_header(&t, "gnu", *p, "x", 0);
		is_named(name, true);
	}
	tar_pax(&t, 'x', "path", name);
	tar_file(&t, "x", 700, 'x');
	is_named(name, true);
	tar_pax(&t, 'X', "path", name); /* Sun's */
	tar_file(&t, "x", 700, 'x');
	is_named(name, true);
	records((const char *const[]){"hdrcharset", "path"},
		(const char *const[]){"BINARY", name}, 2);
	tar_file(&t, "x", 700, 'x');
	is_named(name, true);
	records((const char *const[]){"path", "mtime", "path"},
		(const char *const[]){"not this", "1.5", name}, 3);
	tar_file(&t, "x", 700, 'x');
	is_named(name, true);
}

/* A sparse file's name counts more than its path, which is made up,
 * wherever it stands. */
static void of_sparse_files(const char *name)
{
	const char *keys[] = {"GNU.sparse.major",    "GNU.sparse.minor", "path",
			      "GNU.sparse.realsize", "GNU.sparse.name",	 "path"};
	const char *values[] = {"1",	"0",  "GNUSparseFile.1/x",
				"1000", name, "GNUSparseFile.1/x"};

	for (int n = 5; n <= 6; n++) {
		records(keys, values, (size_t)n);
		tar_header(&t, "ustar", '0', "GNUSparseFile.1/x", 512 + 10);
		tar_body(&t, "1\n0\n10\n", 7);
		tar_body(&t, "0123456789", 10);
		is_named(name, true);
	}
}

/* What a link leads to is no name of a member, nor is it one of a link. */
static void of_links(const char *name)
{
	tar_extension(&t, 'K', name, strlen(name) + 1);
	tar_extension(&t, 'L', "l.jpg", 6);
	tar_file(&t, "x", 700, 'x');
	is_named("l.jpg", true);
	tar_pax(&t, 'x', "linkpath", name);
	tar_file(&t, "l.jpg", 700, 'x');
	is_named("l.jpg", true);
	tar_pax(&t, 'x', "linkpath", name);
	tar_header(&t, "ustar", '2', "l.jpg", 0);
	is_named("l.jpg", false);
}

static void in_the_prefix(const char *magic, size_t n_magic, const char *prefix,
			  const char *wanted)
{
	unsigned char *b = tar_header(&t, "ustar", '0', "caf\xc3\xa9.jpg", 0);

	memcpy(b + AT_MAGIC, magic, n_magic);
	memcpy(b + AT_PREFIX, prefix, strlen(prefix));
	tar_sum(b);
	is_named(wanted, true);
}

static void prefixes(void)
{
	in_the_prefix("ustar\00000", 8, "cafe\xcc\x81", "cafe\xcc\x81/caf\xc3\xa9.jpg");
	in_the_prefix("ustar\0\0\0", 8, "p", "p/caf\xc3\xa9.jpg");
	in_the_prefix("ustar 01", 8, "p", "p/caf\xc3\xa9.jpg");
	in_the_prefix("ustar  \0", 8, "00000000000", "caf\xc3\xa9.jpg"); /* a time */
	in_the_prefix("ustar\00000", 8, "p/", "p//caf\xc3\xa9.jpg");
}

static void all(const char *locale)
{
	size_t i;

	if (!setlocale(LC_CTYPE, locale)) {
		fprintf(stderr, "(there is no locale %s)\n", locale);
		return;
	}
	for (i = 0; i < SFS_COUNT(names); i++) {
		if (strlen(names[i]) <= 100)
			in_headers(names[i]);
		in_extensions(names[i]);
		of_sparse_files(names[i]);
		of_links(names[i]);
	}
	prefixes();
}

int main(void)
{
	all("C");
	all("C.UTF-8");
	all("en_US.ISO-8859-1");
	return 0;
}
