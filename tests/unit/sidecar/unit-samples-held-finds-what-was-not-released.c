/* SPDX-License-Identifier: MIT */
/* Whatever was put, and released by its number, from the front or from the back: what is
 * held is what a plain table says; and a sample that is kept for long costs no row for
 * each that came after it. */
#include "check.h"

#include "samples/samples-held.h"

#include "base/rng.h"

#define MANY 20000

static struct sfs_rng rng;
static char items[MANY], is_held[MANY];

static uint64_t number_of(const void *item)
{
	return item ? (uint64_t)((const char *)item - items) : MANY;
}

static uint64_t first_held(uint64_t below)
{
	uint64_t i;

	for (i = 0; i < below; i++)
		if (is_held[i])
			return i;
	return MANY;
}

static uint64_t last_held(uint64_t n_put, uint64_t from)
{
	uint64_t i;

	for (i = n_put; i > from; i--)
		if (is_held[i - 1])
			return i - 1;
	return MANY;
}

static void release_one(struct sfs_samples_held *h, uint64_t number)
{
	uint64_t wanted = MANY;

	switch (sfs_rng_below(&rng, 8)) {
	case 0:
		wanted = first_held(number);
		CHECK_EQ(number_of(sfs_samples_held_take_below(h, number)), wanted);
		break;
	case 1:
		wanted = last_held(h->n_put, number);
		CHECK_EQ(number_of(sfs_samples_held_take_last(h, number)), wanted);
		break;
	default:
		wanted = number < h->n_put && is_held[number] ? number : MANY;
		CHECK_EQ(number_of(sfs_samples_held_take(h, number)), wanted);
	}
	if (wanted < MANY)
		is_held[wanted] = 0;
}

int main(void)
{
	struct sfs_samples_held h = {0};
	uint64_t n, i;

	sfs_rng_init(&rng, (uint64_t[]){7}, 1);
	while (h.n_put < 3000) {
		if (sfs_rng_below(&rng, 2) == 0) {
			is_held[h.n_put] = 1;
			n = h.n_put;
			CHECK_EQ(sfs_samples_held_put(&h, &items[n]), n);
		} else {
			release_one(&h, sfs_rng_below(&rng, h.n_put + 2));
		}
		for (n = 0, i = 0; i < h.n_put; i++)
			n += is_held[i];
		CHECK_EQ(h.n, n);
	}
	sfs_samples_held_done(&h);

	sfs_samples_held_put(&h, &items[0]); /* is kept */
	for (i = 1; i < MANY; i++) {
		sfs_samples_held_put(&h, &items[i]);
		sfs_samples_held_put(&h, &items[i]);
		CHECK(sfs_samples_held_take(&h, h.n_put - 2));
		CHECK(sfs_samples_held_take_last(&h, h.n_put - 1));
	}
	CHECK_EQ(h.n, 1);
	CHECK(h.capacity < 1000);
	CHECK(sfs_samples_held_take_below(&h, UINT64_MAX) == &items[0]);
	CHECK(!sfs_samples_held_take_below(&h, UINT64_MAX));
	sfs_samples_held_done(&h);
	return 0;
}
