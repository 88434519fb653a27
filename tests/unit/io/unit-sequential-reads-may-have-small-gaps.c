/* SPDX-License-Identifier: MIT */
/* Reads that go on where one ended make a row, several at a time; a jump
 * begins another. */
#include "check.h"
#include "io/sequential.h"

int main(void)
{
	static struct sfs_sequential t;
	static const int a, b;
	int i;

	CHECK_EQ(sfs_sequential_note(&t, &a, 0, 100), 100);
	CHECK_EQ(sfs_sequential_note(&t, &a, 100, 50), 150);
	CHECK_EQ(sfs_sequential_note(&t, &b, 150, 50), 50); /* of something else */
	CHECK_EQ(sfs_sequential_note(&t, &a, 150 + (256 << 10), 10), 160);
	CHECK_EQ(sfs_sequential_note(&t, &a, 161 + (512 << 10), 10), 10); /* a jump */
	CHECK_EQ(sfs_sequential_note(&t, &a, 160 + (256 << 10), 1),
		 161);					    /* the first goes on */
	CHECK_EQ(sfs_sequential_note(&t, &a, 100, 10), 10); /* backwards */
	CHECK_EQ(sfs_sequential_note(&t, &b, 200, 1), 51);

	/* The oldest are forgotten. */
	for (i = 0; i < SFS_N_SEQUENTIAL; i++)
		CHECK_EQ(sfs_sequential_note(&t, &a, (uint64_t)(i + 1) << 30, 1), 1);
	CHECK_EQ(sfs_sequential_note(&t, &b, 201, 1), 1);
	CHECK_EQ(sfs_sequential_note(&t, &a, ((uint64_t)SFS_N_SEQUENTIAL << 30) + 1, 1),
		 2);
	return 0;
}
