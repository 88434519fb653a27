/* SPDX-License-Identifier: MIT */
/* A plain header is understood whole; at the least doubt it is left to entry.h, and
 * a wrong checksum is always noticed. */
#include "base/alloc.h"
#include "base/rng.h"
#include "check.h"
#include "tar/header.h"
#include "tars.h"

static struct tar t;

/* A plain header to spoil. */
static unsigned char *plain(void)
{
	tar_done(&t);
	return tar_header(&t, "ustar", '0', "a/b.jpg", 1234);
}

static enum sfs_tar_kind kind_of(unsigned char *block)
{
	tar_sum(block);
	return sfs_tar_look(block).kind;
}

static void put(unsigned char *block, size_t at, const char *bytes, size_t n)
{
	memcpy(block + at, bytes, n);
}

static void name_is(const unsigned char *block, const char *wanted)
{
	sfs_autofree char *buf = sfs_malloc(SFS_TAR_NAME_MAX);
	size_t n = sfs_tar_name(block, buf);

	CHECK_EQ(n, strlen(wanted));
	CHECK(memcmp(buf, wanted, n) == 0);
}

static void files(void)
{
	unsigned char *b = plain();
	struct sfs_tar_header h = sfs_tar_look(b);

	CHECK_EQ(h.kind, SFS_TAR_FILE);
	CHECK_EQ(h.type, '0');
	CHECK_EQ(h.size, 1234);
	CHECK_EQ(h.mtime, 1500000000);
	CHECK_EQ(h.mode, 0444);
	name_is(b, "a/b.jpg");

	b[AT_TYPE] = 0; /* the old way to say so */
	CHECK_EQ(kind_of(b), SFS_TAR_FILE);

	tar_done(&t);
	b = tar_header(&t, "gnu", '0', "a/b.jpg", 0);
	CHECK_EQ(kind_of(b), SFS_TAR_FILE);
	/* GNU keeps other things where the prefix is. */
	put(b, AT_PREFIX, "14000000000", 11);
	CHECK_EQ(kind_of(b), SFS_TAR_FILE);
	name_is(b, "a/b.jpg");
}

static void numbers(void)
{
	static const struct {
		const char *field; /* 12 bytes */
		uint64_t size;
	} good[] = {
		{"00000002322\0", 1234},	 {"00000002322 ", 1234},
		{"       2322 ", 1234},		 {"2322\0xxxxxxx", 1234},
		{"2322 xxxxxxx", 1234},		 {"0\0\0\0\0\0\0\0\0\0\0\0", 0},
		{"77777777777\0", 077777777777}, {"000000002322", 1234},
		{"077777777777", 077777777777},
	};
	static const char *const odd[] = {
		"           \0",
		"\0\0\0\0\0\0\0\0\0\0\0\0",
		"0000000232x\0",
		"-0000000001\0",
		"+0000000001\0",
		"00000000018\0",
		"\t0000002322\0",
		"777777777777",
		"100000000000",
		"\x80\0\0\0\0\0\0\0\0\0\4\xd2",
		"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
	};
	struct sfs_tar_header h;
	unsigned char *b;
	size_t i;

	for (i = 0; i < SFS_COUNT(good); i++) {
		b = plain();
		put(b, AT_SIZE, good[i].field, 12);
		tar_sum(b);
		h = sfs_tar_look(b);
		if (h.kind != SFS_TAR_FILE || h.size != good[i].size) {
			fprintf(stderr, "size '%.12s': kind %d, %llu\n", good[i].field,
				h.kind, (unsigned long long)h.size);
			exit(1);
		}
	}
	for (i = 0; i < SFS_COUNT(odd); i++) {
		b = plain();
		put(b, AT_SIZE, odd[i], 12);
		if (kind_of(b) != SFS_TAR_ODD) {
			fprintf(stderr, "size '%.12s' is taken as plain\n", odd[i]);
			exit(1);
		}
		b = plain();
		put(b, AT_MTIME, odd[i], 12);
		/* As a time, the large ones are fine. */
		CHECK(kind_of(b) == SFS_TAR_ODD || i == 7 || i == 8);
	}
	b = plain();
	put(b, AT_MODE, "       \0", 8);
	CHECK_EQ(kind_of(b), SFS_TAR_ODD);
	b = plain();
	put(b, AT_MODE, "0107755\0", 8);
	tar_sum(b);
	CHECK_EQ(sfs_tar_look(b).mode, 07755);
	b = plain();
	put(b, AT_MTIME, "77777777777\0", 12);
	tar_sum(b);
	CHECK_EQ(sfs_tar_look(b).mtime, 077777777777);
}

static void names(void)
{
	char name[101], prefix[156], whole[300];
	unsigned char *b;

	/* Fields that are full have no NUL. */
	memset(name, 'n', 100);
	memset(prefix, 'p', 155);
	name[100] = prefix[155] = 0;
	b = plain();
	put(b, 0, name, 100);
	CHECK_EQ(kind_of(b), SFS_TAR_FILE);
	name_is(b, name);
	put(b, AT_PREFIX, prefix, 155);
	CHECK_EQ(kind_of(b), SFS_TAR_FILE);
	sprintf(whole, "%s/%s", prefix, name);
	CHECK_EQ(strlen(whole), SFS_TAR_NAME_MAX);
	name_is(b, whole);

	b = plain();
	put(b, AT_PREFIX, "p\0xyz", 5);
	CHECK_EQ(kind_of(b), SFS_TAR_FILE);
	name_is(b, "p/a/b.jpg");
	put(b, AT_PREFIX, "\0xyz", 4);
	name_is(b, "a/b.jpg");

	put(b, AT_PREFIX, "p/\0", 3); /* as GNU tar and Python read it */
	CHECK_EQ(kind_of(b), SFS_TAR_FILE);
	name_is(b, "p//a/b.jpg");

	/* Readers disagree about these. */
	b = plain();
	memset(b, 0, 100);
	CHECK_EQ(kind_of(b), SFS_TAR_ODD);
	b = plain();
	put(b, 0, "a/b.jpg/", 8);
	CHECK_EQ(kind_of(b), SFS_TAR_ODD);
	memset(b, '/', 100);
	CHECK_EQ(kind_of(b), SFS_TAR_ODD);

	/* Any other byte is a name's own. */
	b = plain();
	put(b, 0, "\n\xff\xfe\x01.\t ", 7);
	b[7] = 0;
	CHECK_EQ(kind_of(b), SFS_TAR_FILE);
	name_is(b, "\n\xff\xfe\x01.\t ");
}

static void kinds(void)
{
	unsigned char *b;
	int type;

	for (type = 0; type < 256; type++) {
		b = plain();
		b[AT_TYPE] = (unsigned char)type;
		if (type == 0 || type == '0')
			CHECK_EQ(kind_of(b), SFS_TAR_FILE);
		else if (type == 'g')
			CHECK_EQ(kind_of(b), SFS_TAR_GLOBAL);
		else if (strchr("xXLKA", type))
			CHECK_EQ(kind_of(b), SFS_TAR_EXTENSION);
		else
			CHECK_EQ(kind_of(b), SFS_TAR_ODD);
		CHECK_EQ(sfs_tar_look(b).type, (char)type);
	}
	b = plain();
	b[AT_TYPE] = 'x';
	put(b, AT_SIZE, "\x80\0\0\0\0\0\0\0\0\0\4\xd2", 12);
	CHECK_EQ(kind_of(b), SFS_TAR_EXTENSION);
	CHECK_EQ(sfs_tar_look(b).size, 1234);
	put(b, AT_SIZE, "\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff", 12);
	CHECK_EQ(kind_of(b), SFS_TAR_EXTENSION);
	CHECK_EQ(sfs_tar_look(b).size, INT64_MAX);
	put(b, AT_SIZE, "\x80\0\0\0\x80\0\0\0\0\0\0\0", 12); /* 2^63 */
	CHECK_EQ(kind_of(b), SFS_TAR_BAD);
	put(b, AT_SIZE, "\x80\0\0\1\0\0\0\0\0\0\0\0", 12); /* 2^64 */
	CHECK_EQ(kind_of(b), SFS_TAR_BAD);
	put(b, AT_SIZE, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12);
	CHECK_EQ(kind_of(b), SFS_TAR_BAD);
	put(b, AT_SIZE, "            ", 12);
	CHECK_EQ(kind_of(b), SFS_TAR_BAD);
	b[AT_TYPE] = 'g';
	CHECK_EQ(kind_of(b), SFS_TAR_BAD);

	/* Neither POSIX nor GNU: v7, or a version that we don't know. */
	tar_done(&t);
	CHECK_EQ(kind_of(tar_header(&t, "v7", '0', "a.jpg", 5)), SFS_TAR_ODD);
	b = plain();
	put(b, AT_MAGIC + 6, "01", 2);
	CHECK_EQ(kind_of(b), SFS_TAR_ODD);
	CHECK(!sfs_tar_has_prefix(b));
	CHECK(sfs_tar_has_prefix(plain()));
}

static void zeros(void)
{
	unsigned char block[BLOCK] = {0};
	size_t i;

	CHECK_EQ(sfs_tar_look(block).kind, SFS_TAR_ZERO);
	CHECK(sfs_tar_is_zero(block, 0));
	CHECK(sfs_tar_is_zero(block, BLOCK));
	for (i = 0; i < BLOCK; i += 73) {
		block[i] = 1;
		CHECK_EQ(sfs_tar_look(block).kind, SFS_TAR_BAD);
		CHECK(!sfs_tar_is_zero(block, BLOCK));
		CHECK(sfs_tar_is_zero(block, i));
		CHECK(!sfs_tar_is_zero(block, i + 1));
		block[i] = 0;
	}
	block[BLOCK - 1] = 1;
	CHECK_EQ(sfs_tar_look(block).kind, SFS_TAR_BAD);
}

/* A flipped bit anywhere, but for how the checksum itself is written. */
static void checksums(void)
{
	unsigned char *b = plain();
	int sum = 0;
	size_t i, bit;

	for (i = 0; i < BLOCK; i++) {
		for (bit = 0; bit < 8; bit++) {
			b[i] ^= (unsigned char)(1 << bit);
			if (i < AT_SUM || (i > AT_SUM && i < AT_SUM + 6) ||
			    i >= AT_SUM + 8)
				CHECK_EQ(sfs_tar_look(b).kind, SFS_TAR_BAD);
			b[i] ^= (unsigned char)(1 << bit);
		}
	}
	CHECK_EQ(sfs_tar_look(b).kind, SFS_TAR_FILE);

	/* Written in other ways. */
	sum = (int)strtol((char *)b + AT_SUM, NULL, 8);
	snprintf((char *)b + AT_SUM, 8, "%07o", sum);
	CHECK_EQ(sfs_tar_look(b).kind, SFS_TAR_FILE);
	snprintf((char *)b + AT_SUM, 8, "%6o ", sum);
	CHECK_EQ(sfs_tar_look(b).kind, SFS_TAR_FILE);
	memset(b + AT_SUM, 0, 8);
	CHECK_EQ(sfs_tar_look(b).kind, SFS_TAR_BAD);
	memset(b + AT_SUM, ' ', 8);
	CHECK_EQ(sfs_tar_look(b).kind, SFS_TAR_BAD);

	/* The sum of signed bytes, as some old tars have it. */
	memset(b, 0xfc, 20);
	memset(b + AT_SUM, ' ', 8);
	for (i = 0, sum = 0; i < BLOCK; i++)
		sum += (signed char)b[i];
	snprintf((char *)b + AT_SUM, 8, "%06o", sum);
	CHECK_EQ(sfs_tar_look(b).kind, SFS_TAR_FILE);
	snprintf((char *)b + AT_SUM, 8, "%06o", sum + 1);
	CHECK_EQ(sfs_tar_look(b).kind, SFS_TAR_BAD);
}

static void seals(void)
{
	unsigned char was[BLOCK], *b = plain();

	memcpy(was, b, BLOCK);
	memset(b + AT_SUM, 'x', 8);
	sfs_tar_seal(b);
	CHECK(memcmp(b, was, AT_SUM + 7) == 0);
	CHECK_EQ(b[AT_SUM + 7], ' ');
	CHECK_EQ(sfs_tar_look(b).kind, SFS_TAR_FILE);
	memset(b, 0xff, BLOCK);
	sfs_tar_seal(b);
	CHECK(sfs_tar_look(b).kind != SFS_TAR_BAD);
}

static void paddings(void)
{
	CHECK_EQ(sfs_tar_padded(0), 0);
	CHECK_EQ(sfs_tar_padded(1), 512);
	CHECK_EQ(sfs_tar_padded(512), 512);
	CHECK_EQ(sfs_tar_padded(513), 1024);
	CHECK_EQ(sfs_tar_padded((1ULL << 62) + 1), (1ULL << 62) + 512);
}

/* Any bytes with a right checksum are of some kind, and names stay within bounds. */
static void garbage(void)
{
	struct sfs_tar_header h;
	struct sfs_rng r = {11};
	unsigned char *b;
	char name[SFS_TAR_NAME_MAX];
	int round, k;

	for (round = 0; round < 20000; round++) {
		b = plain();
		for (k = 0; k < 8; k++)
			b[sfs_rng_below(&r, BLOCK)] = (unsigned char)sfs_rng_next(&r);
		tar_sum(b);
		h = sfs_tar_look(b);
		CHECK(h.kind != SFS_TAR_ZERO);
		if (h.kind == SFS_TAR_FILE) {
			CHECK(h.size >> 33 == 0 && (h.mode & ~07777U) == 0 &&
			      h.mtime >= 0);
			CHECK(sfs_tar_name(b, name) > 0);
		}
	}
}

int main(void)
{
	files();
	numbers();
	names();
	kinds();
	zeros();
	checksums();
	seals();
	paddings();
	garbage();
	tar_done(&t);
	return 0;
}
