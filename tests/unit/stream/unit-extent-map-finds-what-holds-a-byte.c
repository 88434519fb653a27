/* SPDX-License-Identifier: MIT */
/* A cursor's log keeps its entries in their order while it grows and is consumed, and
 * finds the one that holds a byte. */
#include "base/alloc.h"
#include "base/rng.h"
#include "check.h"
#include "stream/cursor/extent-map.h"

static struct sfs_extent_map l;

/* What was appended: entry n is at offsets[n] of the stream. */
#define MAX 20000
static uint64_t offsets[MAX + 1];

static void append(struct sfs_rng *r)
{
	uint64_t n = l.tail, n_bytes = 512 * (1 + sfs_rng_below(r, 20));
	struct sfs_mapped_extent *e = sfs_extent_map_append(&l, n * 10, n_bytes);

	CHECK(n < MAX);
	CHECK(e == sfs_extent_map_at(&l, n));
	CHECK_EQ(e->offset, offsets[n]);
	CHECK(!e->buffer && !e->piece && !e->err);
	e->err = -(int)n; /* what its owner notes in it stays */
	offsets[n + 1] = offsets[n] + n_bytes;
	CHECK_EQ(l.tail, n + 1);
	CHECK_EQ(l.end, offsets[n + 1]);
}

static void is_there(uint64_t n)
{
	const struct sfs_mapped_extent *e = sfs_extent_map_at(&l, n);

	CHECK_EQ(e->offset, offsets[n]);
	CHECK_EQ(e->n_bytes, offsets[n + 1] - offsets[n]);
	CHECK_EQ(e->start, n * 10);
	CHECK_EQ(e->err, -(int)n);
	CHECK_EQ(sfs_extent_map_find(&l, e->offset), n);
	CHECK_EQ(sfs_extent_map_find(&l, e->offset + e->n_bytes - 1), n);
}

static void check_all(void)
{
	uint64_t n;

	CHECK_EQ(l.start, offsets[l.head]);
	for (n = l.head; n < l.tail; n++)
		is_there(n);
}

static void grows_and_shrinks(uint64_t first_offset)
{
	struct sfs_rng r = {first_offset + 1};
	uint64_t head = 0;
	int round;

	offsets[0] = first_offset;
	sfs_extent_map_init(&l, first_offset);
	CHECK(l.start == first_offset && l.end == first_offset);
	CHECK(l.head == 0 && l.tail == 0);
	append(&r);
	sfs_extent_map_drop_head(&l); /* empty again, but farther on */
	CHECK_EQ(l.start, l.end);
	CHECK_EQ(l.head, 1);
	for (round = 0; round < 5000; round++) {
		if (sfs_rng_below(&r, 5) < 3 || l.head == l.tail)
			append(&r);
		else
			sfs_extent_map_drop_head(&l);
		CHECK(l.head >= head);
		head = l.head;
		if (l.head < l.tail) {
			is_there(l.head);
			is_there(l.tail - 1);
			is_there(l.head + sfs_rng_below(&r, l.tail - l.head));
		}
	}
	check_all();
	while (l.head < l.tail)
		sfs_extent_map_drop_head(&l);
	CHECK_EQ(l.start, l.end);
	append(&r);
	check_all();
	sfs_extent_map_done(&l);
	sfs_extent_map_done(&l);
}

/* As many as a whole window of the smallest samples. */
static void many(void)
{
	struct sfs_rng r = {3};
	uint64_t i;

	offsets[0] = 0;
	sfs_extent_map_init(&l, 0);
	for (i = 0; i < 64 + 7; i++)
		append(&r);
	for (i = 0; i < 40; i++) /* so that the ring begins in its middle when it grows */
		sfs_extent_map_drop_head(&l);
	while (l.tail < MAX)
		append(&r);
	check_all();
	sfs_extent_map_done(&l);
}

static void overlaps(void)
{
	struct sfs_mapped_extent e = {.offset = 1000, .n_bytes = 500};
	static const struct {
		uint64_t offset, n;
		bool wanted;
	} cases[] = {{0, 1000, false}, {0, 1001, true},	  {1000, 1, true},
		     {1499, 1, true},  {1500, 1, false},  {1100, 100, true},
		     {900, 700, true}, {1000, 500, true}, {1500, 500, false},
		     {999, 1, false},  {1499, 1000, true}};
	size_t i;

	for (i = 0; i < SFS_COUNT(cases); i++) {
		struct sfs_read read = {.offset = cases[i].offset, .n_bytes = cases[i].n};

		CHECK_EQ(sfs_mapped_extent_overlaps(&e, &read), cases[i].wanted);
	}
}

int main(void)
{
	grows_and_shrinks(0);
	grows_and_shrinks(1ULL << 50);
	many();
	overlaps();
	return 0;
}
