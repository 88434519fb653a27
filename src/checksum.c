/* SPDX-License-Identifier: MIT */
/* How this works: the bytes are little-endian words of 64 bits, dealt in turn to eight
 * lanes; a lane takes a word by
 *
 *	lane = rotate(lane ^ word, 29) * ODD
 *
 * which is a bijection of the lane for a given word and of the word for a given lane. So
 * no change within one word can be missed, and others are with 2^-64.  Eight lanes,
 * because a step takes five cycles that only another lane can use.  A last stripe that
 * is not full is filled with zeros; at the end the number of bytes and the lanes are
 * mixed in the same way.
 *
 * CRC-64 without its own instructions is ten times slower, and CRC-32C, which has them,
 * is too short for what thousands of nodes read for years. */
#include "checksum.h"

#include <string.h>

#define N_LANES 8
#define ODD	0x9e3779b97f4a7c15ULL

static uint64_t step(uint64_t lane, uint64_t word)
{
	lane ^= word;
	return (lane << 29 | lane >> 35) * ODD;
}

static void take_stripe(uint64_t lanes[N_LANES], const unsigned char *p)
{
	uint64_t words[N_LANES];
	int i;

	memcpy(words, p, sizeof words);
	for (i = 0; i < N_LANES; i++)
		lanes[i] = step(lanes[i], words[i]);
}

uint64_t sfs_checksum(const void *bytes, size_t n)
{
	uint64_t lanes[N_LANES] = {1, 2, 3, 4, 5, 6, 7, 8}, ret = n;
	unsigned char last[sizeof lanes] = {0};
	const unsigned char *p = bytes;
	size_t left;
	int i;

	for (left = n; left >= sizeof lanes; left -= sizeof lanes, p += sizeof lanes)
		take_stripe(lanes, p);
	if (left > 0) {
		memcpy(last, p, left);
		take_stripe(lanes, last);
	}
	for (i = 0; i < N_LANES; i++)
		ret = step(ret, lanes[i]);
	return ret ^ ret >> 32;
}
