/* SPDX-License-Identifier: MIT */
/* The indexes of DALI and Energon are read as their tools write them; what cannot be so
 * is refused by itself, and what is not so when it is held to the shard. */
#include "catalog/index-import.h"

#include "base/alloc.h"
#include "check.h"
#include "indexed.h"

#include <errno.h>

/* In memory of just its size, so that sanitizers see every read beyond its end. */
static int parse(const void *bytes, size_t n, uint64_t shard_bytes,
		 struct sfs_index_import *f, struct sfs_error *err)
{
	sfs_autofree char *exact = sfs_malloc(n ? n : 1);

	memcpy(exact, bytes, n);
	return sfs_index_import_parse(exact, n, shard_bytes, f, err);
}

/* ---- what the tools write ---- */

static void reads_dali(const char *text, const struct tar *t, bool agrees)
{
	struct sfs_index_import f;
	struct sfs_error err;
	struct real real;

	look(t, &real);
	CHECK_EQ(parse(text, strlen(text), t->n, &f, &err), 0);
	CHECK_EQ(f.kind, SFS_INDEX_IMPORT_DALI);
	CHECK(!f.starts);
	CHECK_EQ(sfs_index_import_agrees(&f, real.samples, real.n_samples, &err),
		 agrees ? 0 : -EBADMSG);
	CHECK_EQ(sfs_index_import_agrees_members(&f, real.members, real.n_members, &err),
		 agrees ? 0 : -EBADMSG);
	sfs_index_import_done(&f);
}

/* Energon's file: 64 bits each, the lowest byte first. */
static size_t put(unsigned char *to, const uint64_t *offsets, size_t n)
{
	size_t i;

	for (i = 0; i < 8 * n; i++)
		to[i] = (unsigned char)(offsets[i / 8] >> (8 * (i % 8)));
	return 8 * n;
}

static void reads_energon(const uint64_t *offsets, size_t n, const struct tar *t)
{
	unsigned char bytes[256];
	struct sfs_index_import f;
	struct sfs_error err;
	struct real real;

	look(t, &real);
	CHECK_EQ(parse(bytes, put(bytes, offsets, n), t->n, &f, &err), 0);
	CHECK_EQ(f.kind, SFS_INDEX_IMPORT_ENERGON);
	CHECK_EQ(f.n_samples, n - 1);
	CHECK(!f.members);
	CHECK_EQ(memcmp(f.starts, offsets, 8 * n), 0);
	CHECK_EQ(sfs_index_import_agrees(&f, real.samples, real.n_samples, &err), 0);
	sfs_index_import_done(&f);
}

/* An offset that is wrong, and yet in its sample: only the members tell. */
static void wrong_inside(const struct tar *t)
{
	struct sfs_index_import f;
	struct sfs_error err;
	struct real real;

	look(t, &real);
	CHECK_EQ(parse(DALI_LONG_WRONG, strlen(DALI_LONG_WRONG), t->n, &f, &err), 0);
	CHECK_EQ(sfs_index_import_agrees(&f, real.samples, real.n_samples, &err), 0);
	CHECK_EQ(sfs_index_import_agrees_members(&f, real.members, real.n_members, &err),
		 -EBADMSG);
	CHECK_HAS(err.text,
		  "member 2, of sample 1, has 10 bytes at 4096, but in the index "
		  "sample 1, 10 bytes at 3072");
	sfs_index_import_done(&f);
}

static void real_indexes(void)
{
	struct tar plain = {0}, pax = {0}, long_name = {0}, odd = {0};

	six_members(&plain, false, false);
	six_members(&pax, true, false);
	six_members(&long_name, false, true);
	odd_members(&odd);
	reads_dali(DALI_PLAIN, &plain, true);
	reads_dali(DALI_PLAIN_1_1, &plain, true);
	reads_dali(DALI_LONG, &long_name, true);
	wrong_inside(&long_name);
	reads_dali(DALI_PAX_RIGHT, &pax, true);
	reads_dali(DALI_PAX, &pax, false);
	reads_dali(DALI_ODD, &odd, false);
	reads_dali(DALI_PLAIN, &pax, false); /* another version of the shard */
	reads_energon(energon_plain, 4, &plain);
	reads_energon(energon_long, 5, &long_name);
	reads_energon(energon_pax, 4, &pax);
	tar_done(&plain);
	tar_done(&pax);
	tar_done(&long_name);
	tar_done(&odd);
}

static void claims(void)
{
	struct sfs_index_import f;
	struct sfs_error err;

	CHECK_EQ(parse(DALI_PLAIN, strlen(DALI_PLAIN), 10240, &f, &err), 0);
	CHECK_EQ(f.n_samples, 3);
	CHECK_EQ(f.n_members, 6);
	CHECK_EQ(f.members[0].data, 512);
	CHECK_EQ(f.members[0].n_bytes, 700);
	CHECK_EQ(f.members[5].sample, 2);
	CHECK_EQ(f.members[5].data, 6656);
	sfs_index_import_done(&f);
	sfs_index_import_done(&f);
}

/* ---- what cannot be so ---- */

static void refused(const char *text, uint64_t shard_bytes, const char *why)
{
	struct sfs_index_import f = {.n_samples = 77};
	struct sfs_error err;
	int ret = parse(text, strlen(text), shard_bytes, &f, &err);

	if (ret != -EBADMSG)
		fprintf(stderr, "taken: %s\n", text);
	CHECK_EQ(ret, -EBADMSG);
	CHECK_HAS(err.text, why);
	CHECK_EQ(f.n_samples, 77);
	CHECK_EQ(sfs_index_import_parse(text, strlen(text), shard_bytes, &f, NULL),
		 -EBADMSG);
}

static void wrong_texts(void)
{
	refused("v1.0 1\njpg 512 1\n", 4096, "line 1: 'v1.0' is not a known version");
	refused("v1.3 1\njpg 512 1 a.jpg\n", 4096, "line 1: 'v1.3'");
	refused("v", 4096, "line 1: cut off");
	refused("v1.2\n", 4096, "line 1: the number of samples is missing");
	refused("v1.2 x\n", 4096, "line 1: the number of samples is 'x', not a number");
	refused("v1.2 -1\n", 4096, "is '-1', not a number");
	refused("v1.2 0\n", 4096, "line 1: no samples");
	refused("v1.2 99999999999999999999\n", 4096, "too large");
	refused("v1.2 1 2\njpg 512 1 a.jpg\n", 4096, "unexpected text after the number");
	refused("v1.2 18446744073709551615\njpg 512 1 a.jpg\n", 4096,
		"line 3: missing: the index ends");
	refused("v1.2 2\njpg 512 1 a.jpg\n", 4096, "line 3: missing: the index ends");
	refused("v1.2 1\njpg 512 1 a.jpg\njpg 1536 1 b.jpg\n", 4096,
		"line 3: unexpected text after the 1 samples");
	refused("v1.2 1\njpg 512 1 a.jpg\n\n", 4096, "line 3: unexpected text");
	refused("v1.2 1\n\n", 4096, "line 2: a sample without members");
	refused("v1.2 1\njpg\n", 4096, "line 2: an offset is missing");
	refused("v1.2 1\njpg 512\n", 4096, "line 2: a size is missing");
	refused("v1.2 1\njpg 512 1\n", 4096, "line 2: a name is missing");
	refused("v1.1 1\njpg 512 1 a.jpg\n", 4096, "line 2: an offset is missing");
	refused("v1.2 1\njpg 1 512 a.jpg\n", 4096, "line 2: offset 1 is not a multiple");
	refused("v1.2 1\njpg 512 99999999999999999999 a.jpg\n", 4096,
		"a size is too large");
	refused("v1.2 1\njpg +512 1 a.jpg\n", 4096, "'+512', not a number");
	refused("v1.2 1\njpg 0x200 1 a.jpg\n", 4096, "'0x200', not a number");
	refused("v1.2 1\njpg 512 1 a.jpg", 4096, "line 2: cut off");
}

static void wrong_ranges(void)
{
	refused("v1.1 1\njpg 0 1\n", 4096, "data at 0 overlap");
	refused("v1.1 1\njpg 512 3585\n", 4096, "3585 bytes at 512 end after");
	refused("v1.1 1\njpg 4608 0\n", 4096, "end after the end of the shard at 4096");
	refused("v1.1 1\njpg 9223372036854775808 18446744073709551615\n", 4096,
		"end after");
	refused("v1.1 1\njpg 512 18446744073709551615\n", 4096, "end after");
	refused("v1.1 2\njpg 1536 1\njpg 512 1\n", 4096, "line 3: data at");
	refused("v1.1 2\njpg 512 1\njpg 512 1\n", 4096, "line 3: data at");
	refused("v1.1 1\njpg 512 1 cls 1024 1\n", 4096,
		"line 2: data at 1024 overlap the member before, which ends at "
		"1024");
	refused("v1.1 2\njpg 512 513\njpg 1536 1\n", 4096, "line 3: data at");
}

/* As wds2idx writes them, and DALI refuses them. */
static void blanks_in_names(void)
{
	refused("v1.2 1\njpg 512 1 a b.jpg my ext 1536 1 a b.my ext\n", 10240,
		"line 2: an offset is 'my', not a number");
	refused("v1.2 1\n 8704 1 f.\n", 20480, "line 2: a size is 'f.', not a number");
}

static void cut_anywhere(void)
{
	static const char *const texts[] = {DALI_PLAIN, DALI_PLAIN_1_1, DALI_LONG};
	unsigned char bytes[64];
	struct sfs_index_import f;
	struct sfs_error err;
	size_t i, n;

	for (i = 0; i < SFS_COUNT(texts); i++)
		for (n = 0; n < strlen(texts[i]); n++)
			CHECK_EQ(parse(texts[i], n, 10240, &f, &err), -EBADMSG);
	put(bytes, energon_plain, 4);
	for (n = 0; n < 32; n++) {
		f = (struct sfs_index_import){0};
		CHECK_EQ(parse(bytes, n, 10240, &f, &err),
			 n && n % 8 == 0 ? 0 : -EBADMSG);
		sfs_index_import_done(&f);
	}
}

static void wrong_offsets(const uint64_t *offsets, size_t n, const char *why)
{
	unsigned char bytes[64];
	struct sfs_index_import f = {0};
	struct sfs_error err;

	CHECK_EQ(parse(bytes, put(bytes, offsets, n), 10240, &f, &err), -EBADMSG);
	CHECK_HAS(err.text, why);
	CHECK(!f.starts);
}

static void wrong_energon(void)
{
	wrong_offsets((const uint64_t[]){0, 513}, 2, "offset 1 is 513, not a multiple");
	wrong_offsets((const uint64_t[]){0, 512, 512}, 3,
		      "but the offset before it is 512");
	wrong_offsets((const uint64_t[]){512, 0}, 2,
		      "offset 1 is 0, but the offset before it");
	wrong_offsets((const uint64_t[]){0, 10752}, 2, "but the shard has 10240 bytes");
	wrong_offsets((const uint64_t[]){UINT64_MAX - 511}, 1, "but the shard has");
	refused("neither", 4096, "neither an index of DALI nor, with 7 bytes");
	refused("", 4096, "with 0 bytes");
}

/* ---- what is not so ---- */

static void differs(const char *text, const struct real *real, const char *why)
{
	struct sfs_index_import f;
	struct sfs_error err;

	CHECK_EQ(parse(text, strlen(text), 1 << 20, &f, &err), 0);
	CHECK_EQ(sfs_index_import_agrees(&f, real->samples, real->n_samples, &err),
		 -EBADMSG);
	CHECK_HAS(err.text, why);
	sfs_index_import_done(&f);
}

static void lies_of_dali(void)
{
	static const char short_one[] = "v1.1 3\njpg 512 700\njpg 3584 512\ncls 6656 2\n";
	struct sfs_index_import f;
	struct sfs_error err;
	struct tar t = {0};
	struct real real;

	six_members(&t, false, false);
	look(&t, &real);
	differs("v1.1 2\njpg 512 700 cls 2048 1\njpg 3072 0 cls 3584 512\n", &real,
		"the shard has 3 samples, but the index 2");
	differs("v1.1 3\njpg 512 700\ncls 2048 1\njpg 3072 0\n", &real,
		"sample 1 is bytes 2560 to 4096, but the index has 1 bytes of it at "
		"2048");
	differs("v1.1 3\njpg 512 2049\njpg 3584 512\ncls 6656 1\n", &real,
		"sample 0 is bytes 0 to 2560, but the index has 2049 bytes of it at 512");

	/* The extents are fine, the members are not: one is left out, one is longer. */
	CHECK_EQ(parse(short_one, strlen(short_one), t.n, &f, &err), 0);
	CHECK_EQ(sfs_index_import_agrees(&f, real.samples, real.n_samples, &err), 0);
	CHECK_EQ(sfs_index_import_agrees_members(&f, real.members, real.n_members, &err),
		 -EBADMSG);
	CHECK_HAS(err.text,
		  "member 1, of sample 0, has 1 bytes at 2048, but in the index sample "
		  "1, 512 bytes at 3584");
	CHECK_EQ(sfs_index_import_agrees_members(&f, real.members, 1, &err), -EBADMSG);
	CHECK_HAS(err.text,
		  "the samples of the shard have 1 members, but the index has 3");
	sfs_index_import_done(&f);
	tar_done(&t);
}

static void lies_of_energon(void)
{
	static const struct {
		uint64_t offsets[4];
		const char *why;
	} lies[] = {
		{{0, 2048, 4096, 7168},
		 "sample 1 begins at 2560, but in the index at 2048"},
		{{0, 2560, 4096, 6656},
		 "the last sample ends at 7168, but in the index at 6656"},
		{{512, 2560, 4096, 7168}, "sample 0 begins at 0"},
	};
	unsigned char bytes[32];
	struct sfs_index_import f;
	struct sfs_error err;
	struct tar t = {0};
	struct real real;
	size_t i;

	six_members(&t, false, false);
	look(&t, &real);
	for (i = 0; i < SFS_COUNT(lies); i++) {
		CHECK_EQ(parse(bytes, put(bytes, lies[i].offsets, 4), t.n, &f, &err), 0);
		CHECK_EQ(sfs_index_import_agrees(&f, real.samples, 3, &err), -EBADMSG);
		CHECK_HAS(err.text, lies[i].why);
		sfs_index_import_done(&f);
	}
	CHECK_EQ(parse(bytes, put(bytes, energon_plain, 3), t.n, &f, &err), 0);
	CHECK_EQ(sfs_index_import_agrees(&f, real.samples, 3, &err), -EBADMSG);
	CHECK_HAS(err.text, "the shard has 3 samples, but the index 2");
	sfs_index_import_done(&f);

	/* An empty shard: the end alone. */
	CHECK_EQ(parse(bytes, put(bytes, energon_plain, 1), 1024, &f, &err), 0);
	CHECK_EQ(sfs_index_import_agrees(&f, NULL, 0, &err), 0);
	sfs_index_import_done(&f);
	tar_done(&t);
}

int main(void)
{
	real_indexes();
	claims();
	wrong_texts();
	wrong_ranges();
	blanks_in_names();
	cut_anywhere();
	wrong_energon();
	lies_of_dali();
	lies_of_energon();
	return 0;
}
