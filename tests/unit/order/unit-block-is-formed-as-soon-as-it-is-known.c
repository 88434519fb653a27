/* SPDX-License-Identifier: MIT */
/* The blocks of a lane are those of docs/ORDER.md, however its tables grow, and no
 * block waits for more than where the next one begins.  A table that was dropped and
 * grows again makes no wrong block. */
#include "epochs.h"

#include <errno.h>

/* Is what the block holds next in the lane?  The number behind it. */
static size_t check_block(uint32_t l, size_t at, const struct sfs_block *b)
{
	size_t t;

	CHECK(b->n > 0);
	CHECK_EQ(b->first, at);
	CHECK_EQ(b->end_place, sfs_order_piece_end(&made.order, b->piece));
	for (t = 0; t < b->n; t++, at++) {
		CHECK(at < made.n_lane[l]);
		check_sample(sfs_block_at(b, t), &made.lanes[l][at]);
		CHECK_EQ(b->times[t], made.lanes[l][at].time);
		CHECK_EQ(sfs_order_slice(&made.order, l, sfs_block_at(b, t)->m).shard,
			 sfs_block_at(b, t)->shard);
	}
	return at;
}

/* The time of the lane's next sample is known, or at least a time that
 * is not after it. */
static void check_time(const struct sfs_lane *lane, const struct sfs_block *b, size_t at)
{
	uint64_t time = sfs_lane_time(lane, b);
	const struct made_shard *s;

	if (at == made.n_lane[lane->lane])
		return;
	CHECK(time <= made.lanes[lane->lane][at].time);
	s = &made.shards[sfs_order_slice(&made.order, lane->lane, lane->m).shard];
	if (b->n > 0 || lane->index < s->n)
		CHECK_EQ(time, made.lanes[lane->lane][at].time);
}

/* From tables that are whole. */
static void at_once(void)
{
	struct sfs_block b = {0};
	struct sfs_lane lane;
	uint32_t l, shard;
	size_t at;
	int ret;

	grow_all();
	for (l = 0; l < made.order.n_lanes; l++) {
		sfs_lane_init(&lane, &made.order, l);
		for (at = 0;;) {
			sfs_block_clear(&b);
			ret = sfs_lane_form(&lane, &tables, &b, &shard);
			if (ret < 0)
				break;
			at = check_block(l, at, &b);
			CHECK_EQ(lane.number, at);
			sfs_block_clear(&b);
			check_time(&lane, &b, at);
		}
		CHECK_EQ(ret, -ENODATA);
		CHECK_EQ(at, made.n_lane[l]);
		CHECK(sfs_lane_time(&lane, &b) == SFS_NEVER);
		CHECK_EQ(sfs_lane_form(&lane, &tables, &b, &shard), -ENODATA);
	}
	sfs_block_done(&b);
	shrink_all();
}

/* Where the next sample that is not known lies, or later: its shard is the m-th. */
static uint64_t place_known(uint32_t l, uint32_t m)
{
	const struct made_shard *s =
		&made.shards[sfs_order_slice(&made.order, l, m).shard];
	uint64_t n = sfs_sample_table_n(&s->table);

	return made_base(l, m) +
	       (n ? s->extents[n - 1].start + s->extents[n - 1].n_bytes : 0);
}

/* Could a block be formed of what is known?  It is, if a sample that is known, or the
 * end of the known ones, lies in a later piece than its first. */
static bool is_known(const struct sfs_lane *lane, uint64_t n_known, uint64_t known)
{
	uint64_t place, n = 0;
	uint32_t m;
	size_t i;

	if (n_known <= lane->number)
		return false;
	for (m = 0;; m++) {
		const struct made_shard *s =
			&made.shards[sfs_order_slice(&made.order, lane->lane, m).shard];

		for (i = 0; i < s->n; i++) {
			if (n++ < lane->number)
				continue;
			place = made_base(lane->lane, m) + s->extents[i].start;
			return sfs_order_piece(&made.order, place) <
			       sfs_order_piece(&made.order, known);
		}
	}
}

/* A sample at a time, of the shard that it wants. */
static void bit_by_bit(uint32_t l)
{
	uint32_t n_segments = sfs_order_lane_slices(&made.order, l), m, shard = 0,
		 wanted = 0;
	struct sfs_block b = {0};
	struct sfs_lane lane, before;
	uint64_t n_known;
	size_t at = 0, steps = 0;
	int ret;

	for (shard = 0; shard < made.n_shards; shard++)
		made.shards[shard].is_hidden = true; /* until it is wanted */
	sfs_lane_init(&lane, &made.order, l);
	for (;; sfs_block_clear(&b)) {
		before = lane;
		while ((ret = sfs_lane_form(&lane, &tables, &b, &wanted)) == -EAGAIN) {
			/* It wants the first shard of its own that is not whole. */
			n_known = 0;
			for (m = 0;; m++) {
				CHECK(m < n_segments);
				shard = sfs_order_slice(&made.order, l, m).shard;
				n_known += sfs_sample_table_n(&made.shards[shard].table);
				if (!is_whole(shard))
					break;
			}
			CHECK_EQ(wanted, shard);
			CHECK(!is_known(&before, n_known, place_known(l, m)));
			check_time(&lane, &b, at);
			made.shards[shard].is_hidden = false;
			grow(shard);
			CHECK(steps++ < 100000);
		}
		if (ret < 0)
			break;
		at = check_block(l, at, &b);
	}
	CHECK_EQ(ret, -ENODATA);
	CHECK_EQ(at, made.n_lane[l]);
	sfs_block_done(&b);
}

static void wants_the_right_shard(void)
{
	struct sfs_block b = {0};
	struct sfs_lane lane;
	uint32_t shard = 77;

	shrink_all();
	sfs_lane_init(&lane, &made.order, 0);
	CHECK_EQ(sfs_lane_form(&lane, &tables, &b, &shard), -EAGAIN);
	CHECK_EQ(shard, sfs_order_slice(&made.order, 0, 0).shard);
	/* A table that is not at hand. */
	grow_all();
	made.shards[shard].is_hidden = true;
	CHECK_EQ(sfs_lane_form(&lane, &tables, &b, &shard), -EAGAIN);
	CHECK_EQ(shard, sfs_order_slice(&made.order, 0, 0).shard);
	sfs_block_done(&b);
	shrink_all();
}

/* Blocks before the damage are formed; the one that it is in never is. */
static void damaged(uint32_t l)
{
	uint32_t n_segments = sfs_order_lane_slices(&made.order, l), shard, bad;
	uint64_t n = 0, piece;
	struct sfs_block b = {0};
	struct sfs_lane lane;
	uint32_t m;
	size_t at = 0, i;
	int ret, again;

	bad = sfs_order_slice(&made.order, l, n_segments / 2).shard;
	for (m = 0; m < n_segments; m++) {
		shard = sfs_order_slice(&made.order, l, m).shard;
		for (i = 0; i < made.shards[shard].n && (shard != bad || i < 3); i++) {
			grow(shard);
			n += m <= n_segments / 2;
		}
		sfs_sample_table_end(&made.shards[shard].table,
				     shard == bad ? SFS_SAMPLE_TABLE_DAMAGED
						  : SFS_SAMPLE_TABLE_WHOLE);
	}
	piece = sfs_order_piece(&made.order, place_known(l, n_segments / 2));
	sfs_lane_init(&lane, &made.order, l);
	for (;;) {
		sfs_block_clear(&b);
		ret = sfs_lane_form(&lane, &tables, &b, &shard);
		if (ret < 0)
			break;
		CHECK(b.piece < piece);
		at = check_block(l, at, &b);
	}
	CHECK_EQ(ret, -EBADMSG);
	CHECK_EQ(shard, bad);
	CHECK(at <= n);
	again = sfs_lane_form(&lane, &tables, &b, &shard);
	CHECK_EQ(again, -EBADMSG);
	sfs_block_done(&b);
	sfs_block_done(&b);
	shrink_all();
}

/* Where the lane goes on the table is gone, and grows again. */
static void dropped(uint32_t l)
{
	struct sfs_block b = {0};
	struct sfs_lane lane;
	uint32_t shard;
	size_t at = 0, n_blocks = 0, steps = 0;
	int ret;

	sfs_lane_init(&lane, &made.order, l);
	for (;;) {
		sfs_block_clear(&b);
		while ((ret = sfs_lane_form(&lane, &tables, &b, &shard)) == -EAGAIN) {
			grow(shard);
			CHECK(steps++ < 100000);
		}
		if (ret < 0)
			break;
		at = check_block(l, at, &b);
		if (n_blocks++ % 3 > 0 || lane.m == sfs_order_lane_slices(&made.order, l))
			continue;
		shard = sfs_order_slice(&made.order, l, lane.m).shard;
		sfs_sample_table_done(&made.shards[shard].table);
	}
	CHECK_EQ(ret, -ENODATA);
	CHECK_EQ(at, made.n_lane[l]);
	sfs_block_done(&b);
}

static void dealt_lanes(void)
{
	uint64_t seed;
	uint32_t l;

	for (seed = 6000; seed < 6200; seed++) {
		make_random_dealt_epoch(seed);
		at_once();
		for (l = 0; l < made.order.n_lanes; l++)
			bit_by_bit(l);
		shrink_all();
		grow_all();
		for (l = 0; l < made.order.n_lanes && seed % 10 == 0; l++)
			dropped(l);
		unmake_epoch();
	}
}

/* Slices of segments, a sample that is dropped, and one that is repeated. */
static void equal_lanes(void)
{
	uint64_t seed;
	uint32_t l;

	for (seed = 2000; seed < 2400; seed++) {
		make_random_equal_epoch(seed);
		at_once();
		grow_all();
		for (l = 0; l < made.order.n_lanes; l++)
			dropped(l);
		unmake_epoch();
	}
}

int main(void)
{
	static const struct {
		uint32_t n_shards, n_lanes;
		size_t most;
		uint64_t buffer;
	} cases[] = {
		{1, 1, 40, 0},	      {1, 384, 40, 20000}, {7, 1, 20, 30000},
		{20, 3, 12, 100000},  {20, 3, 12, 0},	   {40, 40, 60, 1 << 20},
		{40, 8, 60, 1 << 30}, {30, 4, 1, 10000}, /* shards of one or none */
		{9, 2, 0, 10000},			 /* no samples at all */
	};
	size_t i;
	uint32_t l;

	for (i = 0; i < SFS_COUNT(cases); i++) {
		make_epoch(i + 1, cases[i].n_shards, cases[i].n_lanes, cases[i].most,
			   cases[i].buffer);
		at_once();
		for (l = 0; l < made.order.n_lanes; l++)
			bit_by_bit(l);
		wants_the_right_shard();
		if (cases[i].most >= 12)
			for (l = 0; l < made.order.n_lanes; l++)
				damaged(l);
		unmake_epoch();
	}
	dealt_lanes();
	equal_lanes();
	return 0;
}
