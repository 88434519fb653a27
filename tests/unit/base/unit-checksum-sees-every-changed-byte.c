/* SPDX-License-Identifier: MIT */
/* No changed byte, no missing and no additional one leaves a checksum as it was; and it
 * is the same today as when files were written with it. */
#include "base/checksum.h"
#include "base/rng.h"
#include "check.h"

#define N 400

static void every_byte(const unsigned char *bytes, size_t n)
{
	unsigned char copy[N];
	uint64_t sum = sfs_checksum(bytes, n);
	size_t i;
	int bit;

	for (i = 0; i < n; i++)
		for (bit = 0; bit < 8; bit++) {
			memcpy(copy, bytes, n);
			copy[i] ^= (unsigned char)(1 << bit);
			CHECK(sfs_checksum(copy, n) != sum);
		}
}

/* Bytes that change their places, in one lane and between lanes; zeros more or less. */
static void moved(void)
{
	unsigned char bytes[N] = {0};
	uint64_t sums[N];
	size_t i, k;

	for (i = 0; i < N; i++) {
		sums[i] = sfs_checksum(bytes, i);
		for (k = 0; k < i; k++)
			CHECK(sums[i] != sums[k]);
	}
	for (i = 0; i < N; i++) {
		bytes[i] = 0x80;
		sums[i] = sfs_checksum(bytes, N);
		bytes[i] = 0;
		for (k = 0; k < i; k++)
			CHECK(sums[i] != sums[k]);
	}
	/* The top bit of two words of one lane: what a plain product cannot tell. */
	bytes[7] = bytes[7 + 32] = 0x80;
	CHECK(sfs_checksum(bytes, N) != sfs_checksum((unsigned char[N]){0}, N));
}

int main(void)
{
	unsigned char bytes[N + 1];
	struct sfs_rng r = {1};
	size_t i;

	for (i = 0; i < N; i++)
		bytes[i] = (unsigned char)sfs_rng_next(&r);
	for (i = 0; i <= N; i += 1 + i / 3)
		every_byte(bytes, i);
	moved();

	/* Not where words are aligned. */
	memmove(bytes + 1, bytes, N);
	CHECK(sfs_checksum(bytes + 1, N) != sfs_checksum(bytes, N));
	memmove(bytes, bytes + 1, N);
	CHECK_EQ(sfs_checksum(NULL, 0), sfs_checksum("", 0));

	/* As computed by hand, as it were: in Python, from what checksum.c says. */
	for (i = 0; i < 200; i++)
		bytes[i] = (unsigned char)i;
	CHECK(sfs_checksum("", 0) == 0x40d24ea7602351dcULL);
	CHECK(sfs_checksum("SFSINDEX", 8) == 0x4f5b4e2bcd408f86ULL);
	CHECK(sfs_checksum(bytes, 200) == 0x30fde78ee1eb666ULL);
	return 0;
}
