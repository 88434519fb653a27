/* SPDX-License-Identifier: MIT */
/* The first bytes of a file that is not a tar say what it is; nothing is guessed, and no
 * byte beyond the last one is read. */
#include "check.h"

#include "base/alloc.h"
#include "tar/magic.h"
#include "tars.h"

#include <stdlib.h>
#include <string.h>

/* In memory of just that size, for sanitizers. */
static const struct sfs_magic *find(const char *bytes, size_t n)
{
	char *copy = malloc(n ? n : 1);
	const struct sfs_magic *m;

	memcpy(copy, bytes, n);
	m = sfs_magic_find(copy, n);
	free(copy);
	return m;
}

#define IS(bytes, expected)                                                \
	do {                                                               \
		const struct sfs_magic *m = find(bytes, sizeof bytes - 1); \
		CHECK(m &&strcmp(m->what, expected) == 0);                 \
	} while (0)

static void tells_what_is_known(void)
{
	IS("\x1f\x8b\x08\x00", "gzip data");
	IS("BZh91AY&SY", "bzip2 data");
	IS("\xfd"
	   "7zXZ\x00",
	   "xz data");
	IS("\x28\xb5\x2f\xfd\x04", "zstd data");
	IS("\x04\x22\x4d\x18\x64", "lz4 data");
	IS("PK\x03\x04\x14", "a zip file");
	IS("PK\x05\x06\x00", "an empty zip file");
	IS("PAR1\x15", "a Parquet file");
	IS("version https://git-lfs.github.com/spec/v1\n", "a git-lfs pointer");
}

static void tells_pages(void)
{
	IS("<!DOCTYPE html><html>", "an HTML or XML page");
	IS("<html><body>log in", "an HTML page");
	IS("<HTML><HEAD>", "an HTML page");
	IS("\r\n  <!doctype html>", "an HTML or XML page");
	IS("\xef\xbb\xbf<?xml version='1.0'?>", "an XML page");
	IS("<Error><Code>NoSuchKey</Code></Error>", "an XML page");
}

static void guesses_nothing(void)
{
	static const char name[512] = "000000.jpg", zeros[512];

	CHECK(!find("", 0));
	CHECK(!find("\x1f", 1));
	CHECK(!find("BZ", 2));
	CHECK(!find("<htm", 4));
	CHECK(!find("<", 1));
	CHECK(!find(" \n", 2));
	CHECK(!find(name, sizeof name));
	CHECK(!find(zeros, sizeof zeros));
}

/* What could be a tar is never another format. */
static void leaves_tars_alone(void)
{
	struct tar t = {0};
	unsigned char *block = tar_header(&t, "v7", '0', "BZh/a.jpg", 0);

	tar_sum(block);
	CHECK(sfs_magic_find(block, BLOCK));
	CHECK(!sfs_magic_instead_of_tar(block, BLOCK));
	block[0] ^= 1; /* damaged, and not recognized */
	CHECK(!sfs_magic_instead_of_tar(block, BLOCK));
	block[0] ^= 1;
	block[AT_SUM] ^= 1;
	CHECK_STR(sfs_magic_instead_of_tar(block, BLOCK)->what, "bzip2 data");
	tar_done(&t);

	block = tar_header(&t, "ustar", '0', "PK\x03\x04", 0);
	block[AT_SUM] ^= 1; /* a damaged tar is one, too */
	CHECK(!sfs_magic_instead_of_tar(block, BLOCK));
	CHECK(sfs_magic_instead_of_tar(block, BLOCK - 1));
	tar_done(&t);

	CHECK(!sfs_magic_instead_of_tar("", 0));
	CHECK(!sfs_magic_instead_of_tar("\x1f", 1));
	CHECK(sfs_magic_instead_of_tar("\x1f\x8b", 2));
}

int main(void)
{
	leaves_tars_alone();
	tells_what_is_known();
	tells_pages();
	guesses_nothing();
	return 0;
}
