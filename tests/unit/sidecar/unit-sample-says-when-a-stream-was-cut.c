/* SPDX-License-Identifier: MIT */
/* A stream is read sample by sample: names are lower-cased, what has no key is left out,
 * a field twice is an error that names it, and each cut is one, wherever it is. */
#include "check.h"

#include "decode/sample.h"
#include "tar/header.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static unsigned char tar[64 * SFS_TAR_BLOCK];
static size_t n_tar;

static void add(const char *name, const char *data)
{
	unsigned char *h = tar + n_tar;

	memset(h, 0, 2 * SFS_TAR_BLOCK);
	strcpy((char *)h, name);
	memset(h + 100, 0x30, 7);
	snprintf((char *)h + 124, 12, "%011o", (unsigned)strlen(data) & 0777);
	memset(h + 136, 0x30, 11);
	h[156] = '0';
	memcpy(h + 257, "ustar\00000", 8);
	sfs_tar_seal(h);
	memcpy(h + SFS_TAR_BLOCK, data, strlen(data));
	n_tar += SFS_TAR_BLOCK + sfs_tar_padded(strlen(data));
}

static void do_nothing(void *arg)
{
}

/* Read the first n bytes; how many samples come before the end or the error. */
static int read_all(size_t n, int *ret_n, struct sfs_error *err)
{
	FILE *file = tmpfile();
	struct sfs_sample_reader *reader;
	struct sfs_sample *sample;
	int ret;

	CHECK(file && fwrite(tar, 1, n, file) == n && fflush(file) == 0);
	CHECK(lseek(fileno(file), 0, SEEK_SET) == 0);
	reader =
		sfs_sample_reader_new(fileno(file), SFS_INPUT_BYTES, 0, do_nothing, NULL);
	for (*ret_n = 0; (ret = sfs_sample_next(reader, &sample, err)) == 1; (*ret_n)++) {
		CHECK_EQ(sample->ordinal, *ret_n);
		CHECK_STR(sample->key, *ret_n == 0 ? "a/0" : "1");
		CHECK_EQ(sample->n_fields, *ret_n == 0 ? 2 : 1);
		CHECK_STR(sample->fields[0].name, *ret_n == 0 ? "seg.png" : "cls");
		CHECK_EQ(sample->fields[0].n_bytes, *ret_n == 0 ? 5 : 1);
		CHECK(memcmp(sample->fields[0].bytes, *ret_n == 0 ? "pixel" : "7",
			     sample->fields[0].n_bytes) == 0);
		CHECK_EQ((uintptr_t)sample->fields[0].bytes % 16, 0);
		sfs_sample_free(sample);
	}
	sfs_sample_reader_free(reader);
	fclose(file);
	return ret;
}

int main(void)
{
	struct sfs_error err = {0};
	size_t n, n_members;
	int n_samples;

	add("README", "no key");
	add("a/0.SEG.png", "pixel");
	add("a/0.txt", "");
	add("1.cls", "7");
	n_members = n_tar;
	memset(tar + n_tar, 0, 2 * SFS_TAR_BLOCK);
	CHECK_EQ(read_all(n_tar + 2 * SFS_TAR_BLOCK, &n_samples, &err), 0);
	CHECK_EQ(n_samples, 2);
	for (n = 0; n <= n_members; n += SFS_TAR_BLOCK / 2) {
		CHECK_EQ(read_all(n, &n_samples, &err), -EPIPE);
		CHECK(n_samples < 2);
		CHECK_HAS(err.text, "ended");
	}
	CHECK_EQ(n_samples, 1);
	CHECK_HAS(err.text, "after sample 0 without its end mark: it was cut");
	add("1.CLS", "8");
	CHECK_EQ(read_all(n_tar, &n_samples, &err), -EBADMSG);
	CHECK_EQ(n_samples, 1);
	CHECK_HAS(err.text, "sample 1 ('1') has the field 'cls' twice");
	return 0;
}
