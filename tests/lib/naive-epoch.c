/* SPDX-License-Identifier: MIT */
#include "naive-epoch.h"

#include "base/alloc.h"
#include "check.h"

#define PURPOSE_SEGMENTS 1
#define PURPOSE_BLOCK	 2
#define PURPOSE_PACE	 3
#define PURPOSE_TURN	 4
#define PURPOSE_GRID	 5
#define PURPOSE_CUT	 7

/* ---- shards ---- */

/* Bytes that differ from place to place and from shard to shard. */
static void fill(unsigned char *to, size_t n, uint64_t seed)
{
	size_t i;

	for (i = 0; i < n; i++)
		to[i] = (unsigned char)((i * 2654435761u + seed) >> 13);
}

/* `seed`: no two files have the same bytes. */
static void add_file(struct tar *t, const char *key, const char *field, size_t n,
		     uint64_t seed)
{
	size_t padded = (n + BLOCK - 1) / BLOCK * BLOCK;
	char name[64];

	snprintf(name, sizeof name, "%s.%s", key, field);
	tar_header(t, "ustar", '0', name, n);
	fill(tar_grow(t, padded), n, seed);
}

static size_t size_of_file(struct sfs_rng *rng, unsigned large_of, size_t large_bytes)
{
	if (large_of && sfs_rng_below(rng, large_of) == 0)
		return (size_t)sfs_rng_below(rng, large_bytes);
	if (sfs_rng_below(rng, 10) == 0)
		return (size_t)sfs_rng_below(rng, 60000);
	return (size_t)sfs_rng_below(rng, 3000);
}

static void append(struct naive_shard *shard, const struct tar *t)
{
	memcpy(tar_grow(&shard->tar, t->n), t->bytes, t->n);
}

static void add_sample(struct naive_shard *shard, const char *key, struct sfs_rng *rng,
		       unsigned large_of, size_t large_bytes)
{
	struct naive_sample *s = &shard->samples[shard->n++];
	uint64_t kind = sfs_rng_below(rng, 20), begin = shard->tar.n;
	struct tar t = {0};

	if (kind == 0)
		tar_header(&t, "ustar", '5', "folder/", 0);
	else if (kind == 1)
		tar_pax(&t, 'g', "comment", "before a sample");
	s->begin = begin + t.n;
	snprintf(s->key, sizeof s->key, "%s", key);
	add_file(&t, key, "a", size_of_file(rng, large_of, large_bytes), begin);
	if (kind == 2)
		tar_pax(&t, 'g', "comment", "inside a sample");
	else if (kind == 3)
		tar_header(&t, "ustar", '5', "folder/", 0);
	if (kind < 10)
		add_file(&t, key, "b", size_of_file(rng, 0, 0), begin + 7);
	s->end = begin + t.n;
	append(shard, &t);
	tar_done(&t);
}

static void add_end(struct naive_shard *shard, struct sfs_rng *rng)
{
	struct tar t = {0};

	tar_end(&t);
	if (sfs_rng_below(rng, 3) == 0)
		tar_grow(&t, BLOCK * sfs_rng_below(rng, 20));
	append(shard, &t);
	tar_done(&t);
}

void naive_shard_make(struct naive_shard *shard, uint32_t number, struct sfs_rng *rng,
		      size_t n, unsigned large_of, size_t large_bytes)
{
	uint64_t key = sfs_rng_below(rng, 5);
	char name[32];
	size_t i;

	*shard = (struct naive_shard){
		.samples = sfs_calloc(n + 1, sizeof(struct naive_sample))};
	snprintf(shard->name, sizeof shard->name, "s%04u.tar", (unsigned)number);
	for (i = 0; i < n; i++) {
		key = (key + 1 + sfs_rng_below(rng, 3)) %
		      5; /* not that of the last one */
		snprintf(name, sizeof name, "k/%u", (unsigned)key);
		shard->samples[i].shard = number;
		add_sample(shard, name, rng, large_of, large_bytes);
	}
	add_end(shard, rng);
}

void naive_shard_done(struct naive_shard *shard)
{
	tar_done(&shard->tar);
	free(shard->samples);
}

/* ---- lists of samples ---- */

struct item {
	const struct naive_sample *sample;
	uint64_t place; /* in its lane */
	uint64_t time;	/* of the sample that leaves the lane as this one's number */
};

struct row {
	struct item *items;
	size_t n;
};

static void row_add(struct row *row, struct item item)
{
	if ((row->n & (row->n - 1)) == 0) /* 0, 1, 2, 4, 8 ... */
		row->items =
			sfs_reallocarray(row->items, 2 * row->n + 1, sizeof *row->items);
	row->items[row->n++] = item;
}

static void rows_done(struct row *rows, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		free(rows[i].items);
	free(rows);
}

/* ---- sections 3 to 5 of docs/ORDER.md: from shards to the epoch ---- */

struct making {
	const struct naive_settings *settings;
	uint64_t epoch;
	struct sfs_share share;
	struct row *lanes; /* those in use */
	uint64_t n_lanes;
	uint64_t random_bytes;	 /* of the share's lanes, if random segments are dealt */
	struct naive_epoch *all; /* the whole epoch, whoever has it */
};

static bool wants_equal_lanes(const struct sfs_order_settings *s)
{
	return (s->segment != SFS_SEGMENT_SHARD && s->segment != SFS_SEGMENT_RANDOM) ||
	       s->equal != SFS_EQUAL_NONE;
}

static struct sfs_rng generator(const struct making *m, uint64_t lane, uint64_t piece,
				uint64_t purpose)
{
	const uint64_t words[] = {m->settings->order.seed, m->epoch, lane, piece,
				  purpose};
	struct sfs_rng rng;

	sfs_rng_init(&rng, words, 5);
	return rng;
}

static uint32_t *permutation(const struct making *m, uint64_t lane, uint64_t piece,
			     uint64_t purpose, size_t n)
{
	struct sfs_rng rng = generator(m, lane, piece, purpose);
	uint32_t *p = sfs_calloc(n + 1, sizeof *p);
	size_t i;

	for (i = 0; i < n; i++)
		p[i] = (uint32_t)i;
	sfs_rng_shuffle(&rng, p, n);
	return p;
}

static uint64_t padded(uint64_t n)
{
	return (n + BLOCK - 1) / BLOCK * BLOCK;
}

/* ---- section 3: random segments ---- */

struct stretch {
	const struct naive_shard *shard;
	uint64_t begin, end;
};

static uint64_t all_bytes(const struct making *m)
{
	uint64_t n = 0;
	uint32_t s;

	for (s = 0; s < m->settings->n_shards; s++)
		n += padded(m->settings->shards[s].tar.n);
	return n;
}

static uint64_t step_of(const struct making *m)
{
	uint64_t step = (all_bytes(m) + 999) / 1000;

	return padded(step > 65536 ? step : 65536);
}

static uint64_t cut_at(const struct making *m, uint64_t i)
{
	struct sfs_rng rng = generator(m, i, 0, PURPOSE_CUT);
	uint64_t step = step_of(m), all = all_bytes(m);
	uint64_t at = i * step + BLOCK * sfs_rng_below(&rng, step / BLOCK);

	return at < all ? at : all;
}

/* What lies between two bytes of all. */
static size_t stretches_between(const struct making *m, uint64_t begin, uint64_t end,
				struct stretch *ret)
{
	uint64_t base = 0, shard_end;
	size_t n = 0;
	uint32_t s;

	for (s = 0; s < m->settings->n_shards; s++, base = shard_end) {
		const struct naive_shard *shard = &m->settings->shards[s];

		shard_end = base + padded(shard->tar.n);
		if (begin < shard_end && end > base && begin < end)
			ret[n++] = (struct stretch){
				shard, begin > base ? begin - base : 0,
				(end < shard_end ? end : shard_end) - base};
	}
	return n;
}

/* Those of segment i; there is room for two of each shard. */
static size_t stretches_of(const struct making *m, uint64_t i, struct stretch *ret)
{
	uint64_t all = all_bytes(m);
	size_t n;

	if (i < all / step_of(m))
		return stretches_between(m, cut_at(m, i), cut_at(m, i + 1), ret);
	n = stretches_between(m, cut_at(m, i), all, ret);
	return n + stretches_between(m, 0, cut_at(m, 0), ret + n);
}

static bool is_in_stretch(const struct stretch *t, const struct naive_sample *sample)
{
	return sample->begin >= t->begin && sample->begin < t->end;
}

static struct row *list_random_segments(const struct making *m, size_t *ret_n)
{
	struct stretch *t = sfs_calloc(2 * (size_t)m->settings->n_shards, sizeof *t);
	struct row *rows;
	size_t n, i, k, j;

	*ret_n = all_bytes(m) / step_of(m) + 1;
	rows = sfs_calloc(*ret_n, sizeof *rows);
	for (i = 0; i < *ret_n; i++) {
		n = stretches_of(m, i, t);
		for (k = 0; k < n; k++)
			for (j = 0; j < t[k].shard->n; j++)
				if (is_in_stretch(&t[k], &t[k].shard->samples[j]))
					row_add(&rows[i],
						(struct item){
							.sample = &t[k].shard->samples[j]});
	}
	free(t);
	return rows;
}

/* ---- segments of SIZE, and shards ---- */

/* Does this sample begin another segment than the one before it in its shard? */
static bool begins_segment(const struct naive_shard *shard, size_t i, uint64_t segment)
{
	if (i == 0)
		return true;
	return segment != SFS_SEGMENT_SHARD &&
	       shard->samples[i].begin / segment != shard->samples[i - 1].begin / segment;
}

static struct row *list_segments(const struct making *m, size_t *ret_n)
{
	uint64_t segment = m->settings->order.segment;
	struct row *rows = NULL;
	size_t n = 0, i;
	uint32_t s;

	if (segment == SFS_SEGMENT_RANDOM)
		return list_random_segments(m, ret_n);
	for (s = 0; s < m->settings->n_shards; s++) {
		const struct naive_shard *shard = &m->settings->shards[s];

		for (i = 0; i < shard->n || (i == 0 && segment == SFS_SEGMENT_SHARD);
		     i++) {
			if (begins_segment(shard, i, segment)) {
				rows = sfs_reallocarray(rows, n + 1, sizeof *rows);
				rows[n++] = (struct row){0};
			}
			if (i < shard->n)
				row_add(&rows[n - 1],
					(struct item){.sample = &shard->samples[i]});
		}
	}
	*ret_n = n;
	return rows;
}

/* In an equal lane, places are sums of extents and times are numbers. */
static void measure(struct row *lane)
{
	uint64_t place = 0;
	size_t i;

	for (i = 0; i < lane->n; i++) {
		lane->items[i].place = place;
		lane->items[i].time = i;
		place += lane->items[i].sample->end - lane->items[i].sample->begin;
	}
}

/* Section 3, for single samples: F(x), a round after the other. */
static uint64_t grid_round(const struct making *m, uint64_t i, uint64_t y, uint64_t below)
{
	struct sfs_rng rng = generator(m, 0, i, PURPOSE_GRID);

	while (y-- > 0)
		sfs_rng_next(&rng);
	return (uint64_t)((unsigned __int128)sfs_rng_next(&rng) * below >> 64);
}

static uint64_t permute_single(const struct making *m, uint64_t x, uint64_t n)
{
	uint64_t a = 1, b, row, column, i;

	while (a * a < n)
		a++;
	b = (n + a - 1) / a;
	do {
		row = x / b;
		column = x % b;
		for (i = 0; i < (n < 4096 ? 12 : 6); i += 2) {
			row = (row + grid_round(m, i, column, a)) % a;
			column = (column + grid_round(m, i + 1, row, b)) % b;
		}
		x = row * b + column;
	} while (x >= n);
	return x;
}

static void make_single_lanes(struct making *m)
{
	uint64_t lanes = m->settings->order.lanes, p;
	struct row row = {0};
	uint32_t s;
	size_t i;

	for (s = 0; s < m->settings->n_shards; s++)
		for (i = 0; i < m->settings->shards[s].n; i++)
			row_add(&row,
				(struct item){
					.sample = &m->settings->shards[s].samples[i]});
	m->n_lanes = row.n < lanes ? row.n : lanes;
	m->lanes = sfs_calloc(m->n_lanes + 1, sizeof *m->lanes);
	for (p = 0; p < row.n; p++)
		row_add(&m->lanes[p % lanes], row.items[permute_single(m, p, row.n)]);
	for (i = 0; i < m->n_lanes; i++)
		measure(&m->lanes[i]);
	free(row.items);
}

static void make_equal_lanes(struct making *m)
{
	uint64_t lanes = m->settings->order.lanes, left, lane = 0, total = 0, turn = 0;
	struct sfs_rng rng = generator(m, 0, 0, PURPOSE_TURN);
	struct row *segments, row = {0};
	uint32_t *p;
	size_t n, i, k;

	segments = list_segments(m, &n);
	p = permutation(m, 0, 0, PURPOSE_SEGMENTS, n);
	for (i = 0; i < n; i++)
		for (k = 0; k < segments[p[i]].n; k++)
			row_add(&row, segments[p[i]].items[k]);
	total = row.n;
	if (total > 0)
		turn = sfs_rng_below(&rng, total);
	m->n_lanes = total < lanes ? total : lanes;
	m->lanes = sfs_calloc(m->n_lanes + 1, sizeof *m->lanes);
	for (i = 0; lane < m->n_lanes; lane++)
		for (left = total / lanes + (lane < total % lanes); left > 0; left--)
			row_add(&m->lanes[lane], row.items[(turn + i++) % total]);
	for (lane = 0; lane < m->n_lanes; lane++)
		measure(&m->lanes[lane]);
	CHECK_EQ(i, total);
	free(row.items);
	free(p);
	rows_done(segments, n);
}

static bool is_in(struct sfs_share share, uint64_t lane)
{
	return lane >= share.first && (lane - share.first) % share.step == 0;
}

/* The knee of section 5: t of 2^32, for V of 3 Z, where half of Z is due by h. */
static uint64_t time_at(uint64_t v, uint64_t z, uint64_t h)
{
	const uint64_t all = (uint64_t)1 << 32;
	unsigned __int128 n;

	if (z == 0)
		return 0;
	if (2 * v < 3 * z) {
		n = (unsigned __int128)(2 * v) * h;
		return (uint64_t)(n / (3 * z));
	}
	n = (unsigned __int128)(2 * v - 3 * z) * (all - h);
	return h + (uint64_t)(n / (3 * z));
}

/* Where sample i of the shard ends; before the first one, where the shard begins. */
static uint64_t end_of(const struct naive_shard *shard, size_t i, size_t back)
{
	return i < back ? 0 : shard->samples[i - back].end;
}

/* A shard whose first byte has the place `base`, in a lane of that Z and h.  Returns the
 * times of its samples, and of one more. */
static uint64_t *add_shard(struct row *lane, const struct naive_shard *shard,
			   uint64_t base, uint64_t z, uint64_t h)
{
	uint64_t *times = sfs_calloc(shard->n + 1, sizeof *times), v, time;
	size_t i;

	for (i = 0; i <= shard->n; i++) {
		v = 3 * base + end_of(shard, i, 1) + end_of(shard, i, 2) +
		    end_of(shard, i, 3);
		times[i] = time = time_at(v, z, h);
		if (i < shard->n)
			row_add(lane,
				(struct item){.sample = &shard->samples[i],
					      .place = base + shard->samples[i].begin,
					      .time = time});
	}
	return times;
}

static void make_whole_lane(struct making *m, uint64_t l, const uint32_t *p)
{
	const struct naive_shard *shards = m->settings->shards;
	struct sfs_rng rng = generator(m, l, 0, PURPOSE_PACE);
	uint64_t h = ((uint64_t)1 << 30) + sfs_rng_below(&rng, (uint64_t)1 << 31);
	uint64_t z = 0, base = 0, i, *times;

	for (i = l; i < m->settings->n_shards; i += m->n_lanes)
		z += padded(shards[p[i]].tar.n);
	for (i = l; i < m->settings->n_shards; i += m->n_lanes) {
		times = add_shard(&m->lanes[l], &shards[p[i]], base, z, h);
		base += padded(shards[p[i]].tar.n);
		if (is_in(m->share, l))
			m->all->dues[p[i]] = times;
		else
			free(times);
	}
}

static void make_whole_lanes(struct making *m)
{
	uint32_t n = m->settings->n_shards;
	uint32_t *p = permutation(m, 0, 0, PURPOSE_SEGMENTS, n);
	uint64_t l;

	m->n_lanes = m->settings->order.lanes < n ? m->settings->order.lanes : n;
	m->lanes = sfs_calloc(m->n_lanes + 1, sizeof *m->lanes);
	m->all->dues = sfs_calloc(n + 1, sizeof *m->all->dues);
	m->all->n_shards = n;
	for (l = 0; l < m->n_lanes; l++)
		make_whole_lane(m, l, p);
	free(p);
}

/* The end of the sample that is `back` before number i of the stretch's, from where this
 * begins; 0: there is none. */
static uint64_t end_in_stretch(const struct stretch *t, size_t i, size_t back)
{
	return i < back || !is_in_stretch(t, &t->shard->samples[i - back])
		       ? 0
		       : t->shard->samples[i - back].end - t->begin;
}

static void add_stretch(struct row *lane, const struct stretch *t, uint64_t base,
			uint64_t z, uint64_t h)
{
	uint64_t v;
	size_t i;

	for (i = 0; i < t->shard->n; i++) {
		if (!is_in_stretch(t, &t->shard->samples[i]))
			continue;
		v = 3 * base + end_in_stretch(t, i, 1) + end_in_stretch(t, i, 2) +
		    end_in_stretch(t, i, 3);
		row_add(lane, (struct item){.sample = &t->shard->samples[i],
					    .place = base + t->shard->samples[i].begin -
						     t->begin,
					    .time = time_at(v, z, h)});
	}
}

/* Section 7: b(x). */
static uint64_t bound(const struct naive_shard *shard, uint64_t x)
{
	size_t i;

	if (x == 0)
		return 0;
	for (i = 0; i < shard->n; i++)
		if (shard->samples[i].begin >= x)
			return shard->samples[i].begin;
	return padded(shard->tar.n);
}

/* Returns how long the lane's part of the file is. */
static uint64_t make_random_lane(struct making *m, uint64_t l, const uint32_t *p,
				 size_t n_segments)
{
	struct stretch *t = sfs_calloc(2 * (size_t)m->settings->n_shards, sizeof *t);
	struct sfs_rng rng = generator(m, l, 0, PURPOSE_PACE);
	uint64_t h = ((uint64_t)1 << 30) + sfs_rng_below(&rng, (uint64_t)1 << 31);
	uint64_t z = 0, base = 0, bytes = 0, i;
	size_t n, k;

	for (i = l; i < n_segments; i += m->n_lanes) {
		n = stretches_of(m, p[i], t);
		for (k = 0; k < n; k++)
			z += t[k].end - t[k].begin;
	}
	for (i = l; i < n_segments; i += m->n_lanes) {
		n = stretches_of(m, p[i], t);
		for (k = 0; k < n; k++) {
			add_stretch(&m->lanes[l], &t[k], base, z, h);
			base += t[k].end - t[k].begin;
			bytes += bound(t[k].shard, t[k].end) -
				 bound(t[k].shard, t[k].begin);
		}
	}
	free(t);
	return bytes;
}

static void make_random_lanes(struct making *m)
{
	size_t n = all_bytes(m) / step_of(m) + 1;
	uint32_t *p = permutation(m, 0, 0, PURPOSE_SEGMENTS, n);
	uint64_t l, bytes;

	m->n_lanes = m->settings->order.lanes < n ? m->settings->order.lanes : n;
	m->lanes = sfs_calloc(m->n_lanes + 1, sizeof *m->lanes);
	for (l = 0; l < m->n_lanes; l++) {
		bytes = make_random_lane(m, l, p, n);
		m->random_bytes += is_in(m->share, l) ? bytes : 0;
	}
	free(p);
}

static uint64_t piece_end(uint64_t k, uint64_t c)
{
	return k < 5 ? c >> (4 - k) : (k - 3) * c;
}

static uint64_t piece_of(uint64_t place, uint64_t c)
{
	uint64_t k = place < c ? 0 : place / c + 4;

	while (place >= piece_end(k, c))
		k++;
	return k;
}

static void add_place(struct naive_epoch *e, struct naive_place place)
{
	if ((e->n & (e->n - 1)) == 0)
		e->places = sfs_reallocarray(e->places, 2 * e->n + 1, sizeof *e->places);
	e->places[e->n++] = place;
}

/* The samples first to end - 1 of a lane leave it next, shuffled. */
static void leave(struct making *m, uint32_t lane, uint64_t piece, size_t first,
		  size_t end)
{
	const struct row *row = &m->lanes[lane];
	uint32_t *p = permutation(m, lane, piece, PURPOSE_BLOCK, end - first);
	size_t i;

	for (i = first; i < end; i++)
		add_place(m->all,
			  (struct naive_place){
				  .sample = row->items[first + p[i - first]].sample,
				  .lane = lane,
				  .block = first,
				  .time = row->items[i].time,
				  .number = i});
	free(p);
}

static void shuffle_lane(struct making *m, uint32_t lane, uint64_t c)
{
	const struct row *row = &m->lanes[lane];
	bool is_equal = wants_equal_lanes(&m->settings->order);
	bool is_single = m->settings->order.segment == SFS_SEGMENT_SAMPLE;
	size_t first, end;
	uint64_t k;

	for (first = 0; first < row->n; first = end) {
		k = piece_of(row->items[first].place, c);
		for (end = first + 1;
		     end < row->n && piece_of(row->items[end].place, c) == k; end++)
			if (is_equal && (is_single || end == 1 || end + 1 == row->n))
				break;
		leave(m, lane, k, first, end);
	}
}

static int compare(const void *one, const void *two)
{
	const struct naive_place *a = one, *b = two;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	if (a->lane != b->lane)
		return a->lane < b->lane ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

/* ---- section 8: the share ---- */

static size_t n_positions(const struct sfs_order_settings *s, size_t n, uint32_t n_ranks)
{
	if (s->equal == SFS_EQUAL_DROP)
		return n / n_ranks * n_ranks;
	if (s->equal == SFS_EQUAL_PAD)
		return (n + n_ranks - 1) / n_ranks * n_ranks;
	return n;
}

static void take_share(struct making *m)
{
	const struct sfs_order_settings *s = &m->settings->order;
	struct naive_epoch *e = m->all, part = {.dues = e->dues, .n_shards = e->n_shards};
	size_t end = e->n, p;
	struct naive_place place;

	if (wants_equal_lanes(s))
		end = n_positions(s, e->n, m->share.n_ranks);
	part.places = sfs_calloc(end + 1, sizeof *part.places);
	for (p = 0; p < end; p++) {
		place = e->places[p % e->n];
		if (wants_equal_lanes(s))
			place.lane = (uint32_t)(p % s->lanes);
		if (is_in(m->share, place.lane))
			part.places[part.n++] = place;
	}
	free(e->places);
	*e = part;
}

/* ---- section 7: bytes ---- */

static void choose_names(struct naive_epoch *e, const struct naive_settings *s)
{
	char before[80] = "", own[64];
	struct naive_place *p;
	size_t i;

	for (i = 0; i < e->n; i++) {
		p = &e->places[i];
		snprintf(own, sizeof own, "%s", p->sample->key);
		p->is_renamed = s->keys == SFS_KEYS_UNIQUE ||
				(s->keys == SFS_KEYS_AUTO && strcmp(own, before) == 0);
		if (p->is_renamed)
			snprintf(before, sizeof before, "%.5s/%s",
				 s->shards[p->sample->shard].name, own);
		else
			memcpy(before, own, sizeof own);
	}
}

static void rename_header(unsigned char *header, const struct naive_shard *shard)
{
	memset(header + AT_PREFIX, 0, BLOCK - AT_PREFIX);
	memcpy(header + AT_PREFIX, shard->name, strlen(shard->name) - 4);
	memcpy(header + AT_MAGIC, "ustar\00000", 8);
	tar_sum(header);
}

static void blank(unsigned char *body, size_t n)
{
	char start[32];
	int length =
		snprintf(start, sizeof start, "%zu %s=", n, n >= 16 ? "comment" : "c");

	memset(body, ' ', n);
	memcpy(body, start, (size_t)length);
	body[n - 1] = '\n';
}

static void render(unsigned char *to, const struct naive_place *p,
		   const struct naive_shard *shard)
{
	uint64_t n = p->sample->end - p->sample->begin, at = 0, size;

	memcpy(to, shard->tar.bytes + p->sample->begin, n);
	while (at < n) {
		size = strtoull((const char *)to + at + AT_SIZE, NULL, 8);
		if (to[at + AT_TYPE] == 'g')
			blank(to + at + BLOCK, size);
		else if (to[at + AT_TYPE] == '0' && p->is_renamed)
			rename_header(to + at, shard);
		at += BLOCK + (size + BLOCK - 1) / BLOCK * BLOCK;
	}
	CHECK_EQ(at, n);
}

/* How long the file is: with whole shards, as long as these. */
static uint64_t count_bytes(const struct making *m)
{
	uint32_t n = m->settings->n_shards, i;
	uint64_t bytes = 2 * (uint64_t)BLOCK;
	uint32_t *p;
	size_t k;

	if (wants_equal_lanes(&m->settings->order)) {
		for (k = 0; k < m->all->n; k++)
			bytes += m->all->places[k].sample->end -
				 m->all->places[k].sample->begin;
		return bytes;
	}
	if (m->settings->order.segment == SFS_SEGMENT_RANDOM)
		return bytes + m->random_bytes;
	p = permutation(m, 0, 0, PURPOSE_SEGMENTS, n);
	for (i = 0; i < n; i++)
		if (is_in(m->share, i % m->n_lanes))
			bytes += m->settings->shards[p[i]].tar.n;
	free(p);
	return bytes;
}

static void make_bytes(struct making *m)
{
	struct naive_epoch *e = m->all;
	size_t i;

	e->n_bytes = count_bytes(m);
	e->bytes = sfs_calloc(e->n_bytes, 1);
	for (i = 0; i < e->n; i++) {
		e->places[i].offset = e->end;
		render(e->bytes + e->end, &e->places[i],
		       &m->settings->shards[e->places[i].sample->shard]);
		e->end += e->places[i].sample->end - e->places[i].sample->begin;
	}
	CHECK(e->end + 2 * BLOCK <= e->n_bytes);
}

void naive_epoch_make(struct naive_epoch *e, const struct naive_settings *settings,
		      uint64_t epoch, struct sfs_share share)
{
	struct making m = {.settings = settings,
			   .epoch = epoch,
			   .share = share,
			   .all = e};
	uint64_t c;
	uint32_t lane;

	*e = (struct naive_epoch){0};
	if (settings->order.segment == SFS_SEGMENT_SAMPLE)
		make_single_lanes(&m);
	else if (wants_equal_lanes(&settings->order))
		make_equal_lanes(&m);
	else if (settings->order.segment == SFS_SEGMENT_RANDOM)
		make_random_lanes(&m);
	else
		make_whole_lanes(&m);
	c = settings->order.buffer_bytes / (m.n_lanes ? m.n_lanes : 1);
	c = c < 512 ? 512 : c;
	for (lane = 0; lane < m.n_lanes; lane++)
		shuffle_lane(&m, lane, c);
	if (e->n > 0)
		qsort(e->places, e->n, sizeof *e->places, compare);
	take_share(&m);
	choose_names(e, settings);
	make_bytes(&m);
	rows_done(m.lanes, m.n_lanes);
}

void naive_epoch_done(struct naive_epoch *e)
{
	uint32_t s;

	for (s = 0; s < e->n_shards; s++)
		free(e->dues[s]);
	free(e->dues);
	free(e->places);
	free(e->bytes);
}
