/* SPDX-License-Identifier: MIT */
/* libarchive's answer about one header group: kind, size, runs, where the data begin and
 * where the next header may be; too few bytes are not mistaken for damage. */
#include "base/alloc.h"
#include "check.h"
#include "tar/libarchive.h"
#include "tars.h"

#include <errno.h>

static struct tar t;
static struct sfs_libarchive m;

/* Parse all that is there, in memory of just its size, with `n_left` up to the end. */
static int parse_some(size_t n, uint64_t n_left, struct sfs_error *err)
{
	unsigned char *exact = sfs_malloc(n ? n : 1);
	int ret;

	memcpy(exact, t.bytes, n);
	sfs_libarchive_done(&m);
	ret = sfs_libarchive_parse(exact, n, n_left, &m, err);
	free(exact); /* what it says must not lie in there */
	tar_done(&t);
	return ret;
}

static void understood(const char *name, bool is_regular, uint64_t size, uint64_t data,
		       uint64_t end)
{
	struct sfs_error err = {0};
	int ret = parse_some(t.n, t.n, &err);

	if (ret < 0) {
		fprintf(stderr, "'%s' is refused: %d, %s\n", name, ret, err.text);
		exit(1);
	}
	CHECK_EQ(m.is_regular, is_regular);
	CHECK_EQ(m.size, size);
	CHECK_EQ(m.data, data);
	CHECK_EQ(m.end, end);
}

static void plain(void)
{
	tar_file(&t, "a/b.jpg", 700, 'x');
	understood("a/b.jpg", true, 700, 512, 1536);
	CHECK_EQ(m.mtime, 1500000000);
	CHECK_EQ(m.mode, 0444);
	CHECK(!m.is_sparse && !m.runs && m.n_runs == 0);

	tar_header(&t, "v7", 0, "old.jpg", 3);
	tar_body(&t, "old", 3);
	understood("old.jpg", true, 3, 512, 1024);

	tar_file(&t, "empty", 0, 0);
	understood("empty", true, 0, 512, 512);

	tar_file(&t, "\xff\xfe\n.jpg", 1, 'x'); /* byte for byte */
	understood("\xff\xfe\n.jpg", true, 1, 512, 1024);
}

static void long_names(void)
{
	char name[1001];

	memset(name, 'n', 1000);
	name[1000] = 0;
	tar_extension(&t, 'L', name, 1001);
	tar_file(&t, "nnnn", 512, 'x');
	understood(name, true, 512, 512 + 1024 + 512, 512 + 1024 + 1024);

	tar_pax(&t, 'x', "path", name);
	tar_file(&t, "nnnn", 512, 'x');
	understood(name, true, 512, 512 + 1024 + 512, 512 + 1024 + 1024);

	tar_pax(&t, 'x', "path", "t\xc3\xbcr.jpg");
	tar_file(&t, "t_r.jpg", 0, 0);
	understood("t\xc3\xbcr.jpg", true, 0, 1536, 1536);

	tar_pax(&t, 'x', "path", "\xff\xfe.jpg"); /* not UTF-8 */
	tar_file(&t, "x", 0, 0);
	understood("\xff\xfe.jpg", true, 0, 1536, 1536);

	/* A long link name, and the name after it. */
	tar_extension(&t, 'K', name, 1001);
	tar_extension(&t, 'L', "short", 6);
	tar_header(&t, "gnu", '2', "x", 0);
	understood("short", false, 0, 512 + 1024 + 1024 + 512, 512 + 1024 + 1024 + 512);
}

static void pax_numbers(void)
{
	tar_pax(&t, 'x', "size", "700");
	tar_header(&t, "ustar", '0', "a.jpg", 0);
	tar_grow(&t, 1024);
	understood("a.jpg", true, 700, 1536, 2560);

	tar_pax(&t, 'x', "mtime", "1234.5678");
	tar_file(&t, "a.jpg", 0, 0);
	understood("a.jpg", true, 0, 1536, 1536);
	CHECK_EQ(m.mtime, 1234);
	tar_pax(&t, 'x', "mtime", "-5");
	tar_file(&t, "a.jpg", 0, 0);
	understood("a.jpg", true, 0, 1536, 1536);
	CHECK_EQ(m.mtime, -5);
}

static void base256(void)
{
	unsigned char *b = tar_header(&t, "gnu", '0', "a.jpg", 0);

	memcpy(b + AT_SIZE, "\x80\0\0\0\0\0\0\0\0\0\2\xbc", 12);
	memcpy(b + AT_MTIME, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfb", 12);
	tar_sum(b);
	tar_grow(&t, 1024);
	understood("a.jpg", true, 700, 512, 1536);
	CHECK_EQ(m.mtime, -5);
}

static void other_kinds(void)
{
	static const char types[] = "234567";
	size_t i;

	for (i = 0; types[i]; i++) {
		tar_header(&t, "ustar", types[i], "thing", 0);
		understood("thing", types[i] == '7', 0, 512, 512);
	}
	tar_header(&t, "ustar", '1', "hard.jpg", 0);
	memcpy(t.bytes + AT_LINK, "a.jpg", 5);
	tar_sum(t.bytes);
	understood("hard.jpg", false, 0, 512, 512);
}

/* GNU's old sparse header with two runs, of 500 bytes each; the file is 10,000 bytes. */
static void make_sparse(const char *first, const char *second)
{
	unsigned char *b = tar_header(&t, "gnu", 'S', "holes.bin", 1000);
	const char *const map[] = {first, "00000000764", second, "00000000764"};
	size_t i;

	for (i = 0; i < SFS_COUNT(map); i++)
		memcpy(b + 386 + 12 * i, map[i], 11);
	memcpy(b + 483, "00000023420", 11);
	tar_sum(b);
	tar_grow(&t, 1024);
}

static void sparse_gnu(void)
{
	make_sparse("00000001000", "00000010000");
	understood("holes.bin", true, 10000, 512, 1536);
	CHECK(m.is_sparse);
	CHECK_EQ(m.n_runs, 2);
	CHECK(m.runs[0].offset == 512 && m.runs[0].n_bytes == 500);
	CHECK(m.runs[1].offset == 4096 && m.runs[1].n_bytes == 500);
}

/* GNU's pax form 1.0: the map lies in the data. */
static void sparse_pax(void)
{
	char records[300] = "", one[100];

	strcat(records, tar_record(one, "GNU.sparse.major", "1"));
	strcat(records, tar_record(one, "GNU.sparse.minor", "0"));
	strcat(records, tar_record(one, "GNU.sparse.name", "dir/holes.bin"));
	strcat(records, tar_record(one, "GNU.sparse.realsize", "10000"));
	tar_extension(&t, 'x', records, strlen(records));
	tar_header(&t, "ustar", '0', "GNUSparseFile.0/holes.bin", 512 + 1000);
	tar_body(&t, "2\n512\n500\n4096\n500\n", 19);
	tar_grow(&t, 1024);
	understood("dir/holes.bin", true, 10000, 1536 + 512, 1536 + 512 + 1024);
	CHECK(m.is_sparse);
	CHECK_EQ(m.n_runs, 2);
	CHECK(m.runs[0].offset == 512 && m.runs[0].n_bytes == 500);
	CHECK(m.runs[1].offset == 4096 && m.runs[1].n_bytes == 500);
}

static void fails(int wanted, size_t n, uint64_t n_left, const char *words)
{
	struct sfs_error err = {0};

	sfs_libarchive_done(&m);
	CHECK_EQ(parse_some(n, n_left, &err), wanted);
	if (words)
		CHECK_HAS(err.text, words);
	CHECK(!m.runs && m.end == 0);
}

/* More bytes would help, unless the shard has none. */
static void cut(void)
{
	char name[1001];
	size_t at;

	memset(name, 'n', 1000);
	name[1000] = 0;
	for (at = 256; at < 2048; at += 256) {
		tar_extension(&t, 'L', name, 1001);
		tar_file(&t, "nnnn", 512, 'x');
		fails(-EAGAIN, at, t.n, NULL);
		tar_extension(&t, 'L', name, 1001);
		tar_file(&t, "nnnn", 512, 'x');
		fails(-ERANGE, at, at, "the shard ends within its header");
	}
	/* The data need not be there, but the shard must be as long. */
	tar_file(&t, "a.jpg", 100000, 'x');
	CHECK_EQ(parse_some(512, t.n, NULL), 0);
	CHECK_EQ(m.end, 512 + 100352);
}

/* Data that the shard does not have to their end. */
static void beyond(void)
{
	tar_file(&t, "a.jpg", 100000, 'x');
	fails(-ERANGE, 512, 512 + 99840, "its data end after the end of the shard");
	tar_file(&t, "a.jpg", 100000, 'x');
	fails(-ERANGE, 512, 512, "its data end after the end of the shard");

	tar_extension(&t, 'L', "long.jpg", 9);
	tar_file(&t, "long", 100000, 'x');
	fails(-ERANGE, 51200, 51200, "its data end after the end of the shard");
}

/* Runs that overlap, go backwards or end beyond the file. */
static void sparse_unsound(void)
{
	make_sparse("00000001000", "00000001763");
	fails(-EBADMSG, t.n, t.n, "differs from what is stored");
	make_sparse("00000010000", "00000001000");
	fails(-EBADMSG, t.n, t.n, "differs from what is stored");
	make_sparse("00000001000", "00000023417");
	fails(-EBADMSG, t.n, t.n, "differs from what is stored");
	/* No GNU header: libarchive sees an ordinary file, others a sparse one. */
	make_sparse("00000001000", "00000010000");
	t.bytes[AT_MAGIC] = 'x';
	tar_sum(t.bytes);
	fails(-EBADMSG, t.n, t.n, "differs from what is stored");
}

static void damaged(void)
{
	unsigned char *b;

	tar_file(&t, "a.jpg", 10, 'x');
	t.bytes[3] ^= 1;
	fails(-EBADMSG, t.n, t.n, "");
	tar_grow(&t, 1024);
	fails(-EBADMSG, t.n, t.n, "");
	memset(tar_grow(&t, 2048), 'j', 2048);
	fails(-EBADMSG, t.n, t.n, "");
	tar_extension(&t, 'x', "99 path=x\n", 10);
	tar_file(&t, "a.jpg", 0, 0);
	CHECK(parse_some(t.n, t.n, NULL) <= 0); /* libarchive may be lenient */

	b = tar_header(&t, "gnu", '0', "a.jpg", 0);
	memcpy(b + AT_SIZE, "\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff", 12);
	tar_sum(b);
	fails(-EBADMSG, t.n, t.n, "");
	b = tar_header(&t, "gnu", '0', "a.jpg", 0);
	memcpy(b + AT_SIZE, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12);
	tar_sum(b);
	fails(-EBADMSG, t.n, t.n, "");
	tar_pax(&t, 'x', "size", "9223372036854775807");
	tar_file(&t, "a.jpg", 0, 0);
	fails(-EBADMSG, t.n, t.n, "");
}

static void too_long(void)
{
	char *name = sfs_malloc(600000);

	memset(name, 'n', 600000);
	name[599999] = 0;
	tar_extension(&t, 'K', name, 600000);
	tar_extension(&t, 'L', name, 600000);
	tar_file(&t, "nnnn", 0, 0);
	free(name);
	fails(-EOVERFLOW, SFS_LIBARCHIVE_MAX, t.n, NULL);
}

int main(void)
{
	plain();
	long_names();
	pax_numbers();
	base256();
	other_kinds();
	sparse_gnu();
	sparse_unsound();
	sparse_pax();
	cut();
	damaged();
	too_long();
	beyond();
	sfs_libarchive_done(&m);
	sfs_libarchive_done(&m);
	return 0;
}
