/* SPDX-License-Identifier: MIT */
/* Whatever the settings, whoever reads where, and however the requests of its source end
 * (in any order, late, in parts, short, with errors that pass or stay): a stream answers
 * each read once, with the bytes of the epoch or, only if a byte that it needs could not
 * be had, an error; and in the end all memory was given back.  Tables of samples are
 * dropped meanwhile, as they are when memory is short.  A read that waits can say for
 * what.
 *
 * Random schedules against a model (naive-epoch.h).  A seed makes a schedule; the first
 * one's is printed:
 *
 *	MODEL_SEED=7 MODEL_SCHEDULES=1 \
 *	tests/unit/stream/unit-stream-gives-the-epoch-whatever-ends-when
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "check.h"
#include "stream-world.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#define N_POOL	    40 /* shards that schedules choose from */
#define MAX_SHARDS  7
#define MAX_STREAMS 2
#define MAX_READERS 3 /* of a stream, in order */
#define MAX_READS   500
#define MAX_WAITING 12
#define MAX_BROKEN  2
#define MIB	    ((uint64_t)1 << 20)
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define N_SCHEDULES 200 /* sanitizers are slow */
#else
#define N_SCHEDULES 1000
#endif

enum state { WAITING, HELD, ENDED };

struct tried {
	struct world_read r;
	int stream;
	enum state state;
	bool is_cancelled, is_far;
	size_t n_failures_before; /* failures that can have nothing to do with it */
};

/* A byte range that could not be had. */
struct failure {
	uint32_t shard;
	uint64_t offset;
};

static struct {
	uint64_t seed;
	struct sfs_rng rng;
	struct world w;
	struct world_settings settings;
	struct naive_shard shards[MAX_SHARDS];

	int n_streams;
	struct sfs_stream *streams[MAX_STREAMS];
	uint64_t numbers[MAX_STREAMS];
	struct sfs_share shares[MAX_STREAMS];
	struct naive_epoch epochs[MAX_STREAMS];
	uint64_t positions[MAX_STREAMS][MAX_READERS];

	struct tried *reads[MAX_READS];
	int n_reads, n_waiting, n_held;

	struct failure *failures;
	size_t n_failures;
	struct failure broken[MAX_BROKEN]; /* for good */
	int n_broken;
	bool has_stale;

	/* What kind of a schedule it is. */
	bool is_hasty;	   /* several threads, and the test does not wait for them */
	bool is_random;	   /* reads begin anywhere */
	bool drops_tables; /* memory is so short that tables go, and grow again */
	unsigned fails_of; /* one request in this many fails; 0: none */
	enum { OLDEST, NEWEST, ANY } turn;
} m;

static struct naive_shard pool[N_POOL];

/* ---- chance ---- */

static uint64_t below(uint64_t n)
{
	return sfs_rng_below(&m.rng, n);
}

static bool one_in(uint64_t n)
{
	return below(n) == 0;
}

static uint64_t up_to_2_to(unsigned bits)
{
	return below((uint64_t)1 << below(bits + 1)) + 1;
}

/* ---- what a read needs ---- */

static uint64_t after(const struct naive_epoch *e, uint32_t shard, uint64_t end)
{
	const struct naive_shard *s = &m.shards[shard];
	size_t i;

	/* The sample after it, because only its header says where this one ends.  In a
	 * dealt lane the one after that, too: a block ends where the next sample begins,
	 * and its table has a sample when the header after it was read. */
	for (i = 0; i < s->n; i++)
		if (s->samples[i].begin >= end)
			break;
	i += e->dues != NULL;
	return i < s->n ? s->samples[i].end : s->tar.n;
}

/* The time of the last sample that begins below `end`; all of it, if there are only zeros
 * before `end`. */
static uint64_t time_of(const struct naive_epoch *e, uint64_t end)
{
	uint64_t time = 0;
	size_t i;

	if (end > e->end)
		return UINT64_MAX;
	for (i = 0; i < e->n && e->places[i].offset < end; i++)
		time = e->places[i].time;
	return time;
}

/* Up to where the shard must be known for its samples that are due by that time. */
static uint64_t due_end(const struct naive_epoch *e, uint32_t shard, uint64_t time)
{
	const struct naive_shard *s = &m.shards[shard];
	uint64_t last = 0;
	size_t i;

	for (i = 0; i <= s->n && e->dues[shard][i] <= time; i++)
		last = i < s->n ? s->samples[i].end : s->tar.n;
	return last;
}

/* Is anything that the bytes of the epoch below `end` depend on at this byte of the
 * shard, or after it?  A lane whose next block is not known blocks when a sample could be
 * due, whether there is one or not. */
static bool is_needed(const struct naive_epoch *e, uint64_t end, uint32_t shard,
		      uint64_t offset)
{
	uint64_t last = after(e, shard, 0); /* a lane may have to know that it is empty */
	uint64_t time = time_of(e, end), due;
	size_t i, k;

	if (e->dues && !e->dues[shard])
		return false;
	due = e->dues ? due_end(e, shard, time) : 0;
	last = due > last ? due : last;
	for (i = 0; i < e->n &&
		    (e->places[i].offset < end || (e->dues && e->places[i].time <= time));
	     i++)
		for (k = 0; k < e->n; k++)
			if (e->places[k].sample->shard == shard &&
			    e->places[k].lane == e->places[i].lane &&
			    e->places[k].block == e->places[i].block &&
			    e->places[k].sample->end > last)
				last = e->places[k].sample->end;
	return offset < after(e, shard, last);
}

static bool may_fail(const struct tried *t)
{
	const struct naive_epoch *e = &m.epochs[t->stream];
	size_t i;

	for (i = t->n_failures_before; i < m.n_failures; i++)
		if (t->is_far || is_needed(e, t->r.read.offset + t->r.read.n_bytes,
					   m.failures[i].shard, m.failures[i].offset))
			return true;
	return false;
}

static void check_failure(const struct tried *t)
{
	CHECK(t->r.err == -EIO || (t->r.err == -ESTALE && m.has_stale));
	if (may_fail(t))
		return;
	fprintf(stderr,
		"failed, and should not: stream %d, %zu bytes at %llu, error %d\n",
		t->stream, t->r.read.n_bytes, (unsigned long long)t->r.read.offset,
		t->r.err);
	exit(1);
}

/* ---- requests ---- */

static uint32_t shard_of(const struct sfs_request *r)
{
	return sfs_shards_number(&m.w.runtime.shards, r->object);
}

static struct sfs_request *choose_request(void)
{
	size_t n = scripted_n(m.w.source), i = 0;

	if (n == 0)
		return NULL;
	if (m.turn == ANY)
		i = below(n);
	else if (m.turn == NEWEST)
		i = n - 1;
	return scripted_nth(m.w.source, i);
}

static int any_error(void)
{
	const int errors[] = {-EIO, -ETIMEDOUT, -EACCES, -ENOENT, -ESTALE};
	int err = errors[below(5)];

	m.has_stale |= err == -ESTALE;
	return err;
}

static void fail_request(struct sfs_request *r, uint64_t most)
{
	uint64_t n = one_in(2) ? 0 : below(most + 1);

	if (n < atomic_load(&r->n_ready))
		n = atomic_load(&r->n_ready);
	m.failures = sfs_reallocarray(m.failures, m.n_failures + 1, sizeof *m.failures);
	m.failures[m.n_failures++] = (struct failure){shard_of(r), r->offset};
	scripted_end_short(m.w.source, r, n, any_error());
}

/* The first byte of the request that is broken for good; UINT64_MAX: none. */
static uint64_t broken_byte(const struct sfs_request *r)
{
	uint64_t found = UINT64_MAX;
	int i;

	for (i = 0; i < m.n_broken; i++)
		if (m.broken[i].shard == shard_of(r) && m.broken[i].offset >= r->offset &&
		    m.broken[i].offset < r->offset + r->n_bytes &&
		    m.broken[i].offset < found)
			found = m.broken[i].offset;
	return found;
}

static void end_request(struct sfs_request *r, bool may_fail)
{
	uint64_t broken = broken_byte(r);

	if (broken != UINT64_MAX)
		fail_request(r, broken - r->offset);
	else if (scripted_is_cancelled(r) && one_in(2))
		scripted_end_short(m.w.source, r, atomic_load(&r->n_ready), -ECANCELED);
	else if (may_fail && m.fails_of && one_in(m.fails_of))
		fail_request(r, r->n_bytes);
	else
		scripted_end(m.w.source, r, 0);
}

/* Some more of it is there. */
static void bring_some(struct sfs_request *r)
{
	uint64_t most = broken_byte(r), n = atomic_load(&r->n_ready);

	if (!r->ready)
		return;
	most = most == UINT64_MAX ? r->n_bytes : most - r->offset;
	n += SFS_READY_BYTES * (1 + below(3));
	if (n <= most)
		scripted_bring(m.w.source, r, n);
}

/* ---- reads ---- */

/* Look at those that were answered; let go of some at once. */
static void look(void)
{
	struct tried *t;
	int i;

	for (i = 0; i < m.n_reads; i++) {
		t = m.reads[i];
		if (t->state != WAITING || !world_is_answered(&t->r))
			continue;
		m.n_waiting--;
		t->state = ENDED;
		if (t->r.err < 0) {
			check_failure(t);
			continue;
		}
		CHECK(world_is_right(&t->r.read, &m.epochs[t->stream]));
		t->state = HELD;
		m.n_held++;
	}
}

/* All has come to rest: whoever still waits can say for what. */
static void explain(struct tried *t)
{
	struct sfs_cause cause = {0};

	pthread_mutex_lock(&m.w.lock);
	if (t->r.n_done == 0)
		sfs_read_explain(&t->r.read, &cause);
	else
		cause.text[0] = '?'; /* a timer has answered it */
	pthread_mutex_unlock(&m.w.lock);
	if (cause.text[0])
		return;
	fprintf(stderr, "waits for nothing: stream %d, %zu bytes at %llu\n", t->stream,
		t->r.read.n_bytes, (unsigned long long)t->r.read.offset);
	exit(1);
}

static void release(int i)
{
	struct tried *t = m.reads[i];

	/* Its bytes stayed what they were. */
	CHECK(world_is_right(&t->r.read, &m.epochs[t->stream]));
	t->state = ENDED;
	m.n_held--;
	sfs_read_release(&t->r.read);
}

static void release_one(bool is_any)
{
	int i, first = is_any && m.n_reads ? (int)below((uint64_t)m.n_reads) : 0;

	for (i = 0; i < m.n_reads; i++)
		if (m.reads[(first + i) % m.n_reads]->state == HELD) {
			release((first + i) % m.n_reads);
			return;
		}
}

static void begin_read(int stream, uint64_t offset, size_t n_bytes)
{
	struct tried *t = sfs_calloc(1, sizeof *t);
	uint64_t n_far = m.w.runtime.counters.reads_far;
	uint64_t left = m.epochs[stream].n_bytes - offset;

	t->stream = stream;
	t->n_failures_before = m.is_hasty ? 0 : m.n_failures;
	m.reads[m.n_reads++] = t;
	m.n_waiting++;
	world_read(&m.w, &t->r, m.streams[stream], offset,
		   n_bytes < left ? n_bytes : (size_t)left);
	/* (A stretch may need any byte of its shard.) */
	t->is_far = m.is_hasty || m.settings.has_no_tables || m.w.runtime.counters.reads_far > n_far;
}

static void begin_any_read(void)
{
	int stream = (int)below((uint64_t)m.n_streams);
	uint64_t *at = &m.positions[stream][below(MAX_READERS)];
	uint64_t n = up_to_2_to(20);

	if (m.n_reads >= MAX_READS / 2 || m.n_waiting + m.n_held >= MAX_WAITING)
		return;
	if (*at >= m.epochs[stream].n_bytes)
		*at = 0;
	if (m.is_random && one_in(4))
		*at = below(m.epochs[stream].n_bytes);
	begin_read(stream, *at, n);
	*at += n;
}

static void cancel_any(void)
{
	struct tried *t;
	int i;

	if (m.n_reads == 0)
		return;
	i = (int)below((uint64_t)m.n_reads);
	t = m.reads[i];
	if (t->state != WAITING || !world_cancel(&t->r))
		return;
	t->state = ENDED;
	t->is_cancelled = true;
	m.n_waiting--;
}

/* ---- a schedule ---- */

static void settle(void)
{
	int i;

	if (!m.is_hasty)
		world_settle(&m.w);
	look();
	for (i = 0; i < m.n_reads && !m.is_hasty; i++)
		if (m.reads[i]->state == WAITING)
			explain(m.reads[i]);
}

static void step(void)
{
	struct sfs_request *r;
	uint64_t what = below(100);

	if (what < 35)
		begin_any_read();
	else if (what < 75 && (r = choose_request()) != NULL)
		end_request(r, true);
	else if (what < 88)
		release_one(true);
	else if (what < 91)
		cancel_any();
	else if (what < 97 && (r = choose_request()) != NULL)
		bring_some(r);
	else if (what == 97)
		sfs_streams_tick(&m.w.streams);
	else if (what == 98)
		sfs_budget_limit(&m.w.runtime.budget, one_in(2) ? UINT64_MAX : MIB);
	if (m.drops_tables && one_in(4))
		sfs_shards_drop_unused(&m.w.runtime.shards);
	settle();
}

static bool is_nothing_new(void)
{
	int i;

	for (i = 0; i < m.n_reads; i++)
		if (m.reads[i]->state == WAITING && world_is_answered(&m.reads[i]->r))
			return false;
	return scripted_n(m.w.source) == 0;
}

/* A read waits, and no request is under way: something must come of itself. */
static void wait_for_news(void)
{
	struct timespec until;

	while (is_nothing_new()) {
		sfs_streams_tick(&m.w.streams); /* idle cursors give memory back */
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 2000000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_mutex_lock(&m.w.source->lock);
		if (m.w.source->n_pending == 0)
			pthread_cond_timedwait(&m.w.source->changed, &m.w.source->lock,
					       &until);
		pthread_mutex_unlock(&m.w.source->lock);
	}
}

/* All requests end, and all reads are answered by that. */
static void drain(int n_at_most)
{
	struct sfs_request *r;

	settle();
	while (m.n_waiting + m.n_held > n_at_most) {
		if (m.n_held > 0)
			release_one(false);
		else if ((r = choose_request()) != NULL)
			end_request(r, false);
		else
			wait_for_news(); /* or the alarm ends it: it hangs */
		settle();
	}
}

static void read_all(int stream)
{
	uint64_t at = 0, n = 65536 + up_to_2_to(20);

	for (; n < m.epochs[stream].n_bytes / 100; n *= 2)
		;
	for (; at < m.epochs[stream].n_bytes; at += n) {
		begin_read(stream, at, n);
		drain(2);
	}
	drain(0);
}

/* ---- what kind of a schedule ---- */

static void choose_shards(void)
{
	struct naive_settings *e = &m.settings.epoch;
	uint32_t first = (uint32_t)below(N_POOL), i;
	size_t k;

	e->n_shards = 1 + (uint32_t)below(MAX_SHARDS);
	for (i = 0; i < e->n_shards; i++) {
		m.shards[i] = pool[(first + i) % N_POOL];
		for (k = 0; k < m.shards[i].n; k++)
			m.shards[i].samples[k].shard = i;
	}
	e->shards = m.shards;
}

static void choose_order(void)
{
	struct naive_settings *e = &m.settings.epoch;

	e->order =
		(struct sfs_order_settings){.seed = below(1000),
					    .lanes = 4 * (1 + (uint32_t)below(2)),
					    .buffer_bytes = (uint64_t)4096 << below(12)};
	if (one_in(3))
		e->order.lanes = 1 + (uint32_t)below(3);
	if (one_in(3))
		e->order.segment =
			one_in(2) ? SFS_SEGMENT_SAMPLE : (uint64_t)512 << below(12);
	else if (one_in(3))
		e->order.segment = SFS_SEGMENT_RANDOM;
	if (one_in(4))
		e->order.equal = one_in(2) ? SFS_EQUAL_DROP : SFS_EQUAL_PAD;
	e->keys = (enum sfs_choice_keys)below(3);
}

static void choose_streams(void)
{
	struct sfs_share share = {0, 1, 1};
	int i;

	m.n_streams = 1 + (int)below(MAX_STREAMS);
	m.settings.has_no_tables = m.settings.epoch.order.segment == SFS_SEGMENT_RANDOM &&
				   m.settings.epoch.order.equal == SFS_EQUAL_NONE &&
				   one_in(2);
	for (i = 0; i < m.n_streams; i++) {
		if (m.settings.epoch.order.lanes % 4 == 0 && one_in(3) &&
		    !m.settings.has_no_tables)
			share = (struct sfs_share){below(4), 4, one_in(2) ? 2 : 4};
		m.numbers[i] = (uint64_t)i;
		m.shares[i] = share;
		naive_epoch_make(&m.epochs[i], &m.settings.epoch, m.numbers[i], share);
	}
}

/* Every cursor has the floors of its lanes.  With many cursors there is more, most of the
 * time: else some wait until others are idle, which takes seconds. */
static void choose_memory(void)
{
	const uint64_t extra[] = {64 * MIB, 32 * MIB, 4 * MIB, MIB / 2, 0};
	uint64_t n_cursors = 4 * (uint64_t)m.n_streams + 2;
	bool is_tight = !m.is_random || one_in(8);

	m.settings.stream_bytes =
		n_cursors * m.settings.epoch.order.lanes * SFS_BUDGET_LANE_FLOOR +
		extra[below(is_tight ? 5 : 2)];
}

static void choose_network(void)
{
	const uint64_t ms = SFS_NS_PER_MS;

	m.settings.path = (struct sfs_netpath){.n_parallel = 1 + (int)below(12)};
	if (one_in(3))
		m.settings.path.wait_ns = 20 * ms;
	if (one_in(12)) {
		m.settings.path.rtt_ns = 30 * ms;
		m.settings.path.bytes_per_s = one_in(2) ? 0 : 100 * MIB;
	}
}

static void choose_failures(void)
{
	int i;

	m.fails_of = one_in(3) ? 0 : 2 + (unsigned)below(20);
	m.n_broken = one_in(3) ? 1 + (int)below(MAX_BROKEN) : 0;
	for (i = 0; i < m.n_broken; i++) {
		m.broken[i].shard = (uint32_t)below(m.settings.epoch.n_shards);
		m.broken[i].offset = below(m.shards[m.broken[i].shard].tar.n);
	}
}

static void choose(void)
{
	m.is_random = one_in(2);
	choose_shards();
	choose_order();
	choose_streams();
	choose_memory();
	choose_network();
	choose_failures();
	m.is_hasty = one_in(4);
	m.drops_tables = one_in(3);
	m.is_random |= m.drops_tables;
	m.settings.n_threads = m.is_hasty ? 3 : 1;
	m.settings.next_epoch = (enum sfs_choice_next_epoch)below(3);
	m.turn = below(3);
}

static void finish(void)
{
	int i;

	for (i = 0; i < m.n_streams; i++) {
		sfs_stream_close(m.streams[i]);
		naive_epoch_done(&m.epochs[i]);
	}
	world_stop(&m.w);
	for (i = 0; i < m.n_reads; i++) {
		CHECK_EQ(m.reads[i]->r.n_done, m.reads[i]->is_cancelled ? 0 : 1);
		free(m.reads[i]);
	}
	free(m.failures);
}

static void run_schedule(uint64_t seed)
{
	int n_steps, i;

	memset(&m, 0, sizeof m);
	m.seed = seed;
	sfs_rng_init(&m.rng, &seed, 1);
	alarm(240);
	choose();
	world_start(&m.w, &m.settings);
	for (i = 0; i < m.n_streams; i++)
		m.streams[i] = sfs_stream_open(&m.w.streams, m.numbers[i], m.shares[i]);
	if (m.drops_tables)
		read_all(0); /* now all totals are known */
	for (n_steps = (int)below(200); n_steps > 0; n_steps--)
		step();
	sfs_budget_limit(&m.w.runtime.budget, UINT64_MAX);
	drain(0);
	for (i = 0; i < m.n_streams; i++)
		read_all(i);
	finish();
}

/* ---- all of them ---- */

static bool has_finished;

static void say_seed(void)
{
	if (!has_finished)
		fprintf(stderr, "repeat it: MODEL_SEED=%llu MODEL_SCHEDULES=1\n",
			(unsigned long long)m.seed);
}

static void on_alarm(int signal)
{
	static const char text[] = "it hangs: a read waits, and nothing is under way\n";

	if (write(2, text, sizeof text - 1) > 0)
		abort();
}

static void on_abort(int number)
{
	say_seed(); /* then it aborts */
}

static uint64_t from_environment(const char *name, uint64_t otherwise)
{
	const char *value = getenv(name);

	return value ? strtoull(value, NULL, 10) : otherwise;
}

static void make_pool(void)
{
	struct sfs_rng rng;
	uint32_t i;

	sfs_rng_init(&rng, (const uint64_t[]){1}, 1);
	for (i = 0; i < N_POOL; i++)
		naive_shard_make(&pool[i], i, &rng,
				 sfs_rng_below(&rng, 12) ? sfs_rng_below(&rng, 40) : 0,
				 i % 2 ? 12 : 0, i % 8 == 7 ? 9 * MIB : MIB);
}

int main(void)
{
	uint64_t by_chance = from_environment("TEST_SEED", sfs_clock_wall_ms());
	uint64_t seed = from_environment("MODEL_SEED", by_chance), i;
	uint64_t n = from_environment("MODEL_SCHEDULES", N_SCHEDULES);

	sfs_log_set_level(SFS_LOG_ERROR);
	signal(SIGALRM, on_alarm);
	signal(SIGABRT, on_abort);
	atexit(say_seed);
	printf("MODEL_SEED=%llu MODEL_SCHEDULES=%llu\n", (unsigned long long)seed,
	       (unsigned long long)n);
	fflush(stdout);
	make_pool();
	for (i = 0; i < n; i++)
		run_schedule(seed + i);
	for (i = 0; i < N_POOL; i++)
		naive_shard_done(&pool[i]);
	has_finished = true;
	return 0;
}
