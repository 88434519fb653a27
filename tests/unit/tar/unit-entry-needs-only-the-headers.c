/* SPDX-License-Identifier: MIT */
/* A header group is understood from its own bytes; if some are missing, it says how
 * many it needs, and more than that are never asked for in vain. */
#include "base/alloc.h"
#include "check.h"
#include "tar/entry.h"
#include "tars.h"

#include <errno.h>

static struct tar t;

/* In memory of just its size, so that sanitizers see every read beyond its end; it stays
 * until the next look, for names lie in it. */
static unsigned char *exact;
static struct sfs_tar_entry g;

static int look(size_t n, uint64_t n_left, struct sfs_error *err)
{
	free(exact);
	exact = sfs_malloc(n ? n : 1);
	memcpy(exact, t.bytes, n);
	memset(&g, 0x5a, sizeof g);
	return sfs_tar_entry_read(exact, n, n_left, &g, err);
}

/* Give it what it needs, from nothing on; that must get it there.  The whole tar, which
 * has no more than this group, is thrown away. */
static void grows(size_t n_headers, int *ret_looks)
{
	struct sfs_error err = {0};
	size_t n = 0, n_looks = 0;
	int ret;

	while ((ret = look(n, t.n, &err)) == -EAGAIN) {
		CHECK(g.need > n && g.need <= t.n);
		n = g.need;
		CHECK(n_looks++ < 20);
	}
	if (ret < 0) {
		fprintf(stderr, "refused: %s\n", err.text);
		exit(1);
	}
	CHECK_EQ(g.n_bytes, n_headers);
	*ret_looks = (int)n_looks;
}

static void is_member(const char *name, bool is_regular, uint64_t size, size_t n_headers)
{
	int n_looks;

	grows(n_headers, &n_looks);
	CHECK_EQ(g.kind, SFS_TAR_ENTRY_MEMBER);
	CHECK_EQ(g.n_name, strlen(name));
	CHECK(memcmp(g.name, name, g.n_name) == 0);
	CHECK_EQ(g.is_regular, is_regular);
	CHECK_EQ(g.size, size);
	CHECK_EQ(g.next, t.n);
	tar_done(&t);
}

static void plain(void)
{
	tar_file(&t, "a/b.jpg", 700, 'x');
	is_member("a/b.jpg", true, 700, 512);
	CHECK_EQ(g.data, 512);
	CHECK_EQ(g.mtime, 1500000000);
	CHECK_EQ(g.mode, 0444);
	sfs_tar_entry_done(&g);

	tar_header(&t, "ustar", '0', "b.jpg", 0);
	memset(t.bytes + AT_PREFIX, 'p', 155);
	tar_sum(t.bytes);
	look(512, 512, NULL);
	CHECK_EQ(g.n_name, 161);
	tar_done(&t);
}

/* WebDataset's own writer puts a pax extension with the time before each member. */
static void harmless_pax(void)
{
	char records[300] = "", one[100];

	strcat(records, tar_record(one, "mtime", "1700000000.25"));
	strcat(records, tar_record(one, "uname", "bigdata"));
	strcat(records, tar_record(one, "SCHILY.xattr.user.x", "y"));
	tar_extension(&t, 'x', records, strlen(records));
	tar_file(&t, "a.jpg", 700, 'x');
	is_member("a.jpg", true, 700, 1536);
	CHECK_EQ(g.data, 1536);
	CHECK_EQ(g.mtime, 1700000000);
	sfs_tar_entry_done(&g);
}

static void names_elsewhere(void)
{
	char name[600];

	memset(name, 'n', 599);
	name[599] = 0;
	tar_pax(&t, 'x', "path", name);
	tar_file(&t, "nnn", 5, 'x');
	is_member(name, true, 5, 512 + 1024 + 512);
	sfs_tar_entry_done(&g);

	tar_extension(&t, 'L', name, 600);
	tar_file(&t, "nnn", 5, 'x');
	is_member(name, true, 5, 512 + 1024 + 512);
	sfs_tar_entry_done(&g);

	tar_extension(&t, 'K', name, 600);
	tar_extension(&t, 'L', name, 600);
	tar_header(&t, "gnu", '2', "nnn", 0); /* a link's is nobody's concern */
	is_member("nnn", false, 0, 512 + 1024 + 512 + 1024 + 512);
	sfs_tar_entry_done(&g);

	tar_pax(&t, 'x', "size", "700");
	tar_header(&t, "ustar", '0', "a.jpg", 0);
	tar_grow(&t, 1024);
	is_member("a.jpg", true, 700, 1536);
	sfs_tar_entry_done(&g);
	sfs_tar_entry_done(&g); /* harmless */
}

static void kinds(void)
{
	static const struct {
		char type;
		bool is_regular;
	} cases[] = {{'0', true},  {0, true},	 {'7', true},  {'1', false},
		     {'2', false}, {'3', false}, {'4', false}, {'5', false},
		     {'6', false}, {'Z', false}};
	size_t i;

	for (i = 0; i < SFS_COUNT(cases); i++) {
		tar_header(&t, "ustar", cases[i].type, "thing.x", 0);
		is_member("thing.x", cases[i].is_regular, 0, 512);
		sfs_tar_entry_done(&g);
	}
	for (i = 3; cases[i].type != 'Z'; i++) { /* no data, whatever their sizes */
		tar_header(&t, "ustar", cases[i].type, "thing.x", 700);
		is_member("thing.x", false, 0, 512);
		tar_pax(&t, 'x', "size", "700");
		tar_header(&t, "ustar", cases[i].type, "thing.x", 700);
		is_member("thing.x", false, 0, 1536);
	}
}

static void ends(void)
{
	tar_grow(&t, 1024);
	CHECK_EQ(look(512, t.n, NULL), 0);
	CHECK_EQ(g.kind, SFS_TAR_ENTRY_END);
	CHECK_EQ(g.next, 512);
	sfs_tar_entry_done(&g);
	tar_done(&t);
}

static void globals(void)
{
	int n_looks;
	char comment[2000];

	memset(comment, 'c', sizeof comment - 1);
	comment[sizeof comment - 1] = 0;
	tar_pax(&t, 'g', "comment", comment);
	grows(512 + 2048, &n_looks);
	CHECK_EQ(g.kind, SFS_TAR_ENTRY_GLOBAL);
	CHECK_EQ(g.next, t.n);
	CHECK_EQ(n_looks, 2);
	sfs_tar_entry_done(&g);
	tar_done(&t);
	tar_extension(&t, 'g', "", 0);
	grows(512, &n_looks);
	CHECK_EQ(g.kind, SFS_TAR_ENTRY_GLOBAL);
	tar_done(&t);
}

/* ---- what is refused ---- */

static void fails(int wanted, size_t n, uint64_t n_left, const char *words)
{
	struct sfs_error err = {0};

	CHECK_EQ(look(n, n_left, &err), wanted);
	CHECK_HAS(err.text, words);
	CHECK_EQ(look(n, n_left, NULL), wanted);
	tar_done(&t);
}

/* A label is a member of its own: the header after it is the next one's, whatever
 * libarchive does. */
static void labels(void)
{
	unsigned char *header;

	header = tar_header(&t, "gnu", 'V', "a.label", 0);
	memset(header + AT_SIZE, 0, 12);
	tar_sum(header);
	tar_file(&t, "b.jpg", 700, 1);
	CHECK_EQ(look(t.n, t.n, NULL), 0);
	CHECK(!g.is_regular && g.next == 512);
	tar_done(&t);
	tar_header(&t, "gnu", 'V', "a.label", 700);
	tar_grow(&t, 1024);
	is_member("a.label", false, 700, 512);

	header = tar_header(&t, "gnu", 'V', "a.label", 0);
	memset(header + AT_SIZE, 0xff, 12);
	tar_sum(header);
	fails(-EBADMSG, t.n, t.n, "volume label");
	header = tar_header(&t, "v7", '0', "a.jpg", 0);
	header[AT_PREFIX] = 'p';
	tar_sum(header);
	fails(-EBADMSG, t.n, t.n, "an unknown dialect");
	tar_extension(&t, 'L', "a.jpg", 6);
	tar_pax(&t, 'x', "path", "b.jpg");
	tar_file(&t, "c.jpg", 0, 0);
	fails(-EBADMSG, t.n, t.n, "a name in two extended headers");
	tar_pax(&t, 'x', "path", "");
	tar_file(&t, "a.jpg", 0, 0);
	fails(-EBADMSG, t.n, t.n, "an empty name");
	tar_pax(&t, 'x', "mtime", "1");
	tar_header(&t, "ustar", 'V', "a.label", 0);
	fails(-EBADMSG, t.n, t.n, "before a volume label");
}

/* What readers take for different sizes, or for different files. */
static void disputed(void)
{
	static const char *const sizes[] = {
		"", "x", " 5", "5 ", "-1", "1e3", "1234567890123456789"};
	unsigned char *header;
	size_t i;

	for (i = 0; i < SFS_COUNT(sizes); i++) {
		tar_pax(&t, 'x', "size", sizes[i]);
		tar_file(&t, "a.jpg", 5, 1);
		fails(-EBADMSG, t.n, t.n, "'size' in a pax header is not a number");
	}
	for (i = 0; i < 2; i++) {
		header = tar_header(&t, i ? "gnu" : "v7", '0', "a.jpg", 5);
		memcpy(header + AT_SIZE, i ? "0x10" : "\xff\xff\xff\xff", 4);
		tar_sum(header);
		fails(-EBADMSG, t.n, t.n, "a size that is not a number");
	}
	tar_pax(&t, 'x', "mtime", "1");
	tar_pax(&t, 'X', "mtime", "1");
	tar_file(&t, "a.jpg", 0, 0);
	fails(-EBADMSG, t.n, t.n, "two extended headers of the same kind");
	header = tar_header(&t, "gnu", '0', "a.jpg", 0);
	header[386] = '0';
	tar_sum(header);
	fails(-EBADMSG, t.n, t.n, "the map of a sparse file in another's header");
	tar_header(&t, "ustar", '!', "a.jpg", 0);
	fails(-EBADMSG, t.n, t.n, "a type that no tar writes");
	header = tar_header(&t, "ustar", '0', "a.jpg", 0);
	header[AT_SUM + 7] = 'x';
	fails(-EBADMSG, t.n, t.n, "wrong header checksum");
}

/* Nobody needs the fields that are no numbers here, first header or not. */
static void junk_elsewhere(void)
{
	unsigned char *header;
	int i;

	for (i = 0; i < 2; i++) {
		if (i == 1)
			tar_extension(&t, 'L', "long.jpg", 9);
		header = tar_header(&t, "v7", '0', "a.jpg", 5);
		memset(header + AT_MODE, 'j', 24);
		memset(header + AT_MTIME, 'j', 12);
		tar_sum(header);
		tar_body(&t, "12345", 5);
		is_member(i ? "long.jpg" : "a.jpg", true, 5, i ? 1536 : 512);
		sfs_tar_entry_done(&g);
	}
}

/* As large as is allowed, and larger, in pieces and whole. */
static void limits(void)
{
	size_t room = SFS_TAR_GROUP_MAX - 2 * BLOCK;
	char *name = calloc(1, room + 1);

	memset(name, 'n', room - 1);
	tar_extension(&t, 'L', name, room);
	tar_file(&t, "a.jpg", 0, 0);
	tar_grow(&t, 8 * BLOCK);
	CHECK_EQ(look(t.n, t.n, NULL), 0);
	sfs_tar_entry_done(&g);
	CHECK_EQ(look(SFS_TAR_GROUP_MAX, t.n, NULL), 0);
	sfs_tar_entry_done(&g);
	CHECK_EQ(look(SFS_TAR_GROUP_MAX - 1000, t.n, NULL), -EAGAIN);
	CHECK(g.need <= SFS_TAR_GROUP_MAX);
	tar_done(&t);
	name[room - 1] = 'n';
	tar_extension(&t, 'L', name, room + 1);
	tar_file(&t, "a.jpg", 0, 0);
	fails(-EOVERFLOW, t.n, t.n, "longer than 1 MiB");
	free(name);
}

static void bad_globals(void)
{
	static const char *const keys[] = {"path", "size", "GNU.sparse.major",
					   "SCHILY.realsize"};
	size_t i;

	for (i = 0; i < SFS_COUNT(keys); i++) {
		tar_pax(&t, 'g', keys[i], "1");
		fails(-EBADMSG, t.n, t.n, keys[i]);
	}
	tar_extension(&t, 'g', "12 comment=x", 12);
	fails(-EBADMSG, t.n, t.n, "a damaged pax global header");
	tar_header(&t, "ustar", 'g', "pax", 2 << 20);
	fails(-EOVERFLOW, t.n, 3 << 20, "longer than 1 MiB");
}

static void cut(void)
{
	tar_file(&t, "a.jpg", 700, 'x');
	fails(-EBADMSG, 100, 100, "the shard ends within a header");
	tar_file(&t, "a.jpg", 700, 'x');
	fails(-EBADMSG, 512, 1024,
	      "the data of 'a.jpg' end 512 bytes after the end of the shard");
	tar_file(&t, "a.jpg", 512, 'x');
	CHECK_EQ(look(512, 1024, NULL), 0);
	tar_done(&t);
	tar_pax(&t, 'x', "path", "a.jpg");
	fails(-EBADMSG, t.n, t.n, "the shard ends within a header");
	tar_pax(&t, 'x', "path", "a.jpg");
	fails(-EBADMSG, 512, 1023, "the shard ends within a header");
	tar_pax(&t, 'g', "comment", "x");
	fails(-EBADMSG, 512, 1023, "the shard ends within a header");
}

static void damaged(void)
{
	static const struct {
		const char *bytes;
		size_t n;
		const char *words;
	} other[] = {
		{"\x1f\x8b\x08", 3, "gzip"},
		{"BZh9", 4, "bzip2"},
		{"\xfd"
		 "7zXZ",
		 5, "xz"},
		{"\x28\xb5\x2f\xfd", 4, "zstd"},
		{"PK\3\4", 4, "zip"},
		{"<!DOCTYPE html>", 15, "HTML"},
		{"<html>", 6, "HTML"},
		{"<?xml version", 13, "XML"},
		{"version https://git-lfs.github.com/spec/v1\n", 43, "git-lfs"},
		{"anything", 8, "wrong header checksum"},
	};
	size_t i;

	for (i = 0; i < SFS_COUNT(other); i++) {
		memcpy(tar_grow(&t, 512), other[i].bytes, other[i].n);
		fails(-EBADMSG, t.n, t.n, other[i].words);
	}
	tar_pax(&t, 'x', "path", "a.jpg");
	tar_grow(&t, 1024);
	fails(-EBADMSG, t.n, t.n, "an extended header without its member");
	tar_pax(&t, 'x', "mtime", "1");
	tar_pax(&t, 'g', "comment", "x");
	fails(-EBADMSG, t.n, t.n, "an extended header without its member");
	tar_pax(&t, 'x', "mtime", "1");
	tar_file(&t, "a.jpg", 0, 0);
	t.bytes[1030] ^= 1;
	fails(-EBADMSG, t.n, t.n, "wrong header checksum");
	tar_extension(&t, 'x', "14 path=a\0.jp\n", 14);
	tar_file(&t, "a.jpg", 0, 0);
	fails(-EBADMSG, t.n, t.n, "NUL");
	tar_header(&t, "gnu", 'L', "long", 2 << 20);
	fails(-EOVERFLOW, t.n, 3 << 20, "longer than 1 MiB");
	tar_header(&t, "gnu", 'L', "long", 1 << 20);
	fails(-EOVERFLOW, t.n, 3 << 20, "longer than 1 MiB");
}

int main(void)
{
	plain();
	harmless_pax();
	names_elsewhere();
	kinds();
	labels();
	disputed();
	junk_elsewhere();
	limits();
	ends();
	globals();
	bad_globals();
	cut();
	damaged();
	free(exact);
	return 0;
}
