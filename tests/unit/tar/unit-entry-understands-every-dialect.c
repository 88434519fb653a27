/* SPDX-License-Identifier: MIT */
/* A header group of any dialect of tar: kind, size, runs, where the data begin and where
 * the next header may be; too few bytes are not mistaken for damage. */
#include "base/alloc.h"
#include "check.h"
#include "tar/entry.h"
#include "tars.h"

#include <errno.h>

static struct tar t;
static struct sfs_tar_entry m;

/* In memory of just its size, so that sanitizers see every read beyond its end; it stays
 * until the next one, for names lie in it. */
static unsigned char *exact;

/* Parse all that is there, with `n_left` up to the end. */
static int parse_some(size_t n, uint64_t n_left, struct sfs_error *err)
{
	free(exact);
	exact = sfs_malloc(n ? n : 1);
	memcpy(exact, t.bytes, n);
	sfs_tar_entry_done(&m);
	return sfs_tar_entry_read(exact, n, n_left, &m, err);
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
	CHECK(m.n_name == strlen(name) && memcmp(m.name, name, m.n_name) == 0);
	CHECK_EQ(m.is_regular, is_regular);
	CHECK_EQ(m.size, size);
	CHECK_EQ(m.data, data);
	CHECK_EQ(m.next, end);
	tar_done(&t);
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
	understood("x", false, 0, 512 + 1024 + 1024 + 512, 512 + 1024 + 1024 + 512);
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

/* As many bytes as there are, n of them in memory; nothing may be left behind. */
static void fails(int wanted, size_t n, uint64_t n_left, bool is_cut, const char *words)
{
	struct sfs_error err = {0};

	CHECK_EQ(parse_some(n, n_left, &err), wanted);
	if (words)
		CHECK_HAS(err.text, words);
	CHECK_EQ(m.is_cut, is_cut);
	CHECK(!m.runs && !m.is_sparse);
	tar_done(&t);
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
		fails(-EAGAIN, at, t.n, false, NULL);
		tar_extension(&t, 'L', name, 1001);
		tar_file(&t, "nnnn", 512, 'x');
		fails(-EBADMSG, at, at, false, "the shard ends within a header");
	}
	/* The data need not be there, but the shard must be as long. */
	tar_file(&t, "a.jpg", 100000, 'x');
	CHECK_EQ(parse_some(512, t.n, NULL), 0);
	CHECK_EQ(m.next, 512 + 100352);
	fails(-EBADMSG, 512, 512 + 99840, true, "512 bytes after the end of the shard");
	tar_extension(&t, 'L', "long.jpg", 9);
	tar_file(&t, "long", 100000, 'x');
	fails(-EBADMSG, 51200, 51200, true, "bytes after the end of the shard");
}

static void is_wrong(void)
{
	fails(-EBADMSG, t.n, t.n, false, "the map of a sparse file");
}

/* Runs that overlap, go backwards or end beyond the file; a map of no runs. */
static void sparse_unsound(void)
{
	make_sparse("00000001000", "00000001763");
	is_wrong();
	make_sparse("00000010000", "00000001000");
	is_wrong();
	make_sparse("00000001000", "00000023417");
	is_wrong();
	make_sparse("00000001000", "0000001000x");
	is_wrong();
	make_sparse("00000001000", "00000010000");
	memset(t.bytes + 386, 0, 96);
	tar_sum(t.bytes);
	is_wrong();
	/* No GNU header: libarchive sees an ordinary file, others a sparse one. */
	make_sparse("00000001000", "00000010000");
	t.bytes[AT_MAGIC] = 'x';
	tar_sum(t.bytes);
	is_wrong();
	/* Two dialects. */
	tar_pax(&t, 'x', "GNU.sparse.size", "10000");
	make_sparse("00000001000", "00000010000");
	memcpy(t.bytes + 1024 + 386, "00000001000", 11);
	is_wrong();
	/* A wrong map, cut off: cut off. */
	make_sparse("00000001000", "00000001763");
	fails(-EBADMSG, t.n - 100, t.n - 100, true, "after the end of the shard");
}

/* Old maps of many blocks: as much is asked for as there may be, and 1 MiB is the limit,
 * blocks included. */
static void old_blocks(size_t n_blocks, size_t n_comment, int wanted)
{
	unsigned char *header, *block;
	char *comment = calloc(1, n_comment + 1);
	size_t i, start, n = 512;
	int ret, n_tries = 0;

	memset(comment, 'c', n_comment);
	if (n_comment > 0)
		tar_pax(&t, 'x', "comment", comment);
	free(comment);
	start = t.n;
	header = tar_header(&t, "gnu", 'S', "holes.bin", 0);
	memcpy(header + 483, "00000000000", 11);
	header[482] = 1;
	tar_sum(header);
	for (i = 0; i < n_blocks; i++) {
		block = tar_grow(&t, BLOCK);
		block[504] = i + 1 < n_blocks;
	}
	while ((ret = parse_some(n, t.n, NULL)) == -EAGAIN) {
		CHECK(m.need > n && m.need <= t.n);
		n = m.need;
		CHECK(n_tries++ < 30);
	}
	CHECK_EQ(ret, wanted);
	if (wanted == 0)
		CHECK(m.data == t.n && m.next == t.n && m.n_bytes == start + BLOCK);
	CHECK(!m.is_cut);
	tar_done(&t);
}

/* A map that stops with the shard. */
static void cut_map(void)
{
	make_sparse("00000001000", "00000010000");
	t.bytes[482] = 1;
	tar_sum(t.bytes);
	fails(-EBADMSG, 512, 512, true, "within the map of a sparse file");
	make_sparse("00000001000", "00000010000");
	t.bytes[482] = 1;
	tar_sum(t.bytes);
	fails(-EAGAIN, 512, 1024, false, NULL);
}

/* Records of a pax sparse file, and what the file stores: `data`. */
struct pax_sparse {
	const char *records[10];
	char type;
	const char *data;
	size_t n_data;
	bool is_right;
	size_t n_runs;
};

#define SPARSE(keyword, value) "GNU.sparse." keyword, value

static void pax_maps(void)
{
	/* clang-format off */
	static const struct pax_sparse cases[] = {
		/* Not sparse after all. */
		{{SPARSE("name", "b.x")}, '0', "hello", 5, true, 0},
		{{SPARSE("size", "5")}, '0', "hello", 5, true, 0},
		{{SPARSE("size", "4")}, '0', "hello", 5, false, 0},
		{{SPARSE("numblocks", "0"), SPARSE("size", "5")}, '0', "hello", 5, true, 0},
		{{SPARSE("numblocks", "1"), SPARSE("size", "5")}, '0', "hello", 5, false, 0},
		{{SPARSE("realsize", "9"), SPARSE("size", "5")}, '0', "hello", 5, false, 0},
		/* Other types, other tars. */
		{{SPARSE("size", "5")}, '7', "hello", 5, false, 0},
		{{SPARSE("size", "5")}, 0, "hello", 5, false, 0},
		{{SPARSE("size", "5")}, 'Z', "hello", 5, false, 0},
		{{"SUN.holesdata", " 0 5"}, '0', "hello", 5, false, 0},
		{{"SCHILY.realsize", "5"}, '0', "hello", 5, false, 0},
		{{SPARSE("major", "2"), SPARSE("realsize", "5")}, '0', "hello", 5, false, 0},
		/* 0.1 */
		{{SPARSE("size", "9"), SPARSE("map", "1,2,4,3")}, '0', "hello", 5, true, 2},
		{{SPARSE("map", "1,2,4,3")}, '0', "hello", 5, false, 0},
		{{SPARSE("size", "9"), SPARSE("map", "1,5,7")}, '0', "hello", 5, false, 0},
		{{SPARSE("size", "9"), SPARSE("map", "1,5,")}, '0', "hello", 5, false, 0},
		{{SPARSE("size", "9"), SPARSE("map", ",1,5")}, '0', "hello", 5, false, 0},
		{{SPARSE("size", "9"), SPARSE("map", "1,,5")}, '0', "hello", 5, false, 0},
		{{SPARSE("size", "9"), SPARSE("map", ",")}, '0', "hello", 5, false, 0},
		{{SPARSE("size", "9"), SPARSE("map", "0000000000000000001,5")}, '0', "hello", 5, false, 0},
		{{SPARSE("size", "9"), SPARSE("map", "1,5"), SPARSE("map", "1,5")}, '0', "hello", 5, false, 0},
		{{SPARSE("size", "9"), SPARSE("numblocks", "2"), SPARSE("map", "1,5")}, '0', "hello", 5, false, 0},
		{{SPARSE("size", "9"), SPARSE("map", "1,5"), SPARSE("numblocks", "1")}, '0', "hello", 5, false, 0},
		/* 0.0 */
		{{SPARSE("size", "9"), SPARSE("numblocks", "1"), SPARSE("offset", "4"), SPARSE("numbytes", "5")},
		 '0', "hello", 5, true, 1},
		{{SPARSE("size", "9"), SPARSE("offset", "4"), SPARSE("numbytes", "5")}, '0', "hello", 5, false, 0},
		{{SPARSE("size", "9"), SPARSE("offset", "4"), SPARSE("numbytes", "5"), SPARSE("numblocks", "1")},
		 '0', "hello", 5, false, 0},
		{{SPARSE("size", "9"), SPARSE("numblocks", "2"), SPARSE("offset", "4"), SPARSE("numbytes", "5")},
		 '0', "hello", 5, false, 0},
		{{SPARSE("size", "9"), SPARSE("numblocks", "1"), SPARSE("numbytes", "5"), SPARSE("offset", "4")},
		 '0', "hello", 5, false, 0},
		{{SPARSE("size", "9"), SPARSE("numblocks", "0"), SPARSE("offset", "4")}, '0', "hello", 5, false, 0},
		/* 1.0: see also below */
		{{SPARSE("major", "1"), SPARSE("realsize", "9"), SPARSE("map", "1,5")}, '0', "1\n0\n5\n", 6, false, 0},
		{{SPARSE("major", "1"), SPARSE("realsize", "9"), SPARSE("numblocks", "0")}, '0', "1\n0\n5\n", 6, false, 0},
	};
	/* clang-format on */
	char records[600], one[200];
	size_t i, k;

	for (i = 0; i < SFS_COUNT(cases); i++) {
		const struct pax_sparse *c = &cases[i];

		records[0] = 0;
		for (k = 0; k < SFS_COUNT(c->records) && c->records[k]; k += 2)
			strcat(records, tar_record(one, c->records[k], c->records[k + 1]));
		tar_extension(&t, 'x', records, strlen(records));
		tar_header(&t, "ustar", c->type, "b.x", c->n_data);
		tar_body(&t, c->data, c->n_data);
		if ((parse_some(t.n, t.n, NULL) == 0) != c->is_right) {
			fprintf(stderr, "case %zu, %s\n", i, records);
			exit(1);
		}
		CHECK_EQ(m.n_runs, c->n_runs);
		tar_done(&t);
	}
}

/* Maps that the data begin with: lines of one number each, and nothing else. */
static void data_maps(void)
{
	static const struct {
		const char *lines;
		bool is_right;
	} cases[] = {
		{"2\n512\n500\n4096\n500\n", true},
		{"02\n512\n500\n4096\n0500\n", true},
		{"\n2\n512\n500\n4096\n500\n", false},
		{"2\n\n500\n4096\n500\n", false},
		{"#2\n2\n512\n500\n4096\n500\n", false},
		{"2\n#\n512\n500\n4096\n500\n", false},
		{"2 \n512\n500\n4096\n500\n", false},
		{"-2\n512\n500\n4096\n500\n", false},
		{"2\n512\n500\n4096\n", false},
		{"2\n512\n500\n4096\n500", false},
		{"1\n512\n500\n4096\n500\n", false},
		{"0\n", false},
		{"", false},
		{"999999999999999999\n512\n500\n4096\n500\n", false},
		{"2\n512\n500\n4096\n0000000000000000500\n", false},
	};
	char records[300], one[100];
	size_t i;

	for (i = 0; i < SFS_COUNT(cases); i++) {
		records[0] = 0;
		strcat(records, tar_record(one, "GNU.sparse.major", "1"));
		strcat(records, tar_record(one, "GNU.sparse.realsize", "10000"));
		tar_extension(&t, 'x', records, strlen(records));
		tar_header(&t, "ustar", '0', "holes.bin", 512 + 1000);
		tar_body(&t, cases[i].lines, strlen(cases[i].lines));
		if (!cases[i].lines[0])
			tar_grow(&t, 512);
		tar_grow(&t, 1024);
		if (cases[i].is_right)
			understood("holes.bin", true, 10000, 1536 + 512, 1536 + 512 + 1024);
		else
			is_wrong();
	}
}

static void damaged(void)
{
	unsigned char *b;

	tar_file(&t, "a.jpg", 10, 'x');
	t.bytes[3] ^= 1;
	fails(-EBADMSG, t.n, t.n, false, "checksum");
	tar_extension(&t, 'x', "99 path=x\n", 10);
	tar_file(&t, "a.jpg", 0, 0);
	fails(-EBADMSG, t.n, t.n, false, "a damaged pax header");

	/* Sizes that no file has; rounded up, the last of these is 2^63. */
	b = tar_header(&t, "gnu", '0', "a.jpg", 0);
	memcpy(b + AT_SIZE, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12);
	tar_sum(b);
	fails(-EBADMSG, t.n, t.n, false, "a size that is not a number");
	b = tar_header(&t, "gnu", '0', "a.jpg", 0);
	memcpy(b + AT_SIZE, "\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xfe\x00", 12);
	tar_sum(b);
	fails(-EBADMSG, t.n, t.n, true, "after the end of the shard");
	b = tar_header(&t, "gnu", '0', "a.jpg", 0);
	memcpy(b + AT_SIZE, "\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xfe\x01", 12);
	tar_sum(b);
	fails(-EBADMSG, t.n, t.n, false, "a size that is not a number");
	tar_pax(&t, 'x', "size", "9223372036854775807");
	tar_file(&t, "a.jpg", 0, 0);
	fails(-EBADMSG, t.n, t.n, false, "'size' in a pax header is not a number");
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
	fails(-EOVERFLOW, SFS_TAR_GROUP_MAX, t.n, false, "longer than 1 MiB");
}

/* A file whose own name is a folder's, and that has its name in an extension, is a file,
 * whatever other extensions are there and in what order. */
static void named_like_a_folder(void)
{
	static const char path[] = "12 path=b.x\n"; /* and a NUL */
	int i;

	for (i = 0; i < 3; i++) {
		if (i == 0)
			tar_extension(&t, 'K', "ll", 3);
		tar_extension(&t, 'x', path, sizeof path);
		if (i == 1)
			tar_extension(&t, 'K', "ll", 3);
		tar_file(&t, "folder/", 5, 'x');
		understood("b.x", true, 5, t.n - 512, t.n);
	}
	/* Without a type it is a folder to Python, who then looks for a
	 * header in its data. */
	tar_extension(&t, 'L', "b.x", 4);
	tar_header(&t, "gnu", 0, "folder/", 5);
	tar_body(&t, "hello", 5);
	fails(-EBADMSG, t.n, t.n, false, "a file in the header of a folder");
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
	pax_maps();
	data_maps();
	old_blocks(1, 0, 0);
	old_blocks(100, 0, 0);
	old_blocks(2047, 0, 0);
	old_blocks(2048, 0, -EOVERFLOW);
	old_blocks(1, (1 << 20) - 1024 - 100, -EOVERFLOW);
	cut_map();
	named_like_a_folder();
	cut();
	damaged();
	too_long();
	sfs_tar_entry_done(&m);
	sfs_tar_entry_done(&m);
	free(exact);
	return 0;
}
