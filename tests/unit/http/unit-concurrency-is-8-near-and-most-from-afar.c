/* SPDX-License-Identifier: MIT */
/* A near server is given 8 GETs at a time, any other as many as may be; when a path
 * changes, so does their number, and a server that is busy gets fewer.  Where packets
 * queue, connections get less of the path.  Whether it is the path or the server that
 * takes long to a first byte is known. */
#include "base/clock.h"
#include "base/rng.h"
#include "check.h"
#include "source/http/concurrency.h"

#define MOST	 64
#define PART	 (1 << 20)
#define STEP_NS	 SFS_NS_PER_MS
#define MAX_GETS 256
#define BEGIN_NS SFS_NS_PER_S

/* A path: GETs share its rate; none gets more than its window in a round trip. */
struct path {
	uint64_t rtt_ns;
	double rate, window; /* bytes a second, bytes */
	uint64_t think_ns;   /* the server's, before it begins */
};

struct get {
	bool is_running;
	uint64_t sent_ns;
	double left;
	bool is_answered;
};

struct world {
	struct sfs_concurrency concurrency;
	struct path path;
	struct get gets[MAX_GETS];
	struct sfs_rng chance;
	uint64_t now_ns, queue_ns; /* of others */
	double n_bytes;		   /* that came */
};

static int n_running(const struct world *w, bool is_answered)
{
	int i, n = 0;

	for (i = 0; i < MAX_GETS; i++)
		n += w->gets[i].is_running && (!is_answered || w->gets[i].is_answered);
	return n;
}

/* Parts are not all alike; were they, all GETs would begin and end at one time. */
static double part(struct world *w)
{
	return PART / 2 + (double)(sfs_rng_next(&w->chance) % PART);
}

static double window(const struct world *w)
{
	double given = (double)sfs_concurrency_window_bytes(&w->concurrency);

	return given > 0 && given < w->path.window ? given : w->path.window;
}

/* What is on the way beyond what the path holds queues: the kernel's
 * round trip says so. */
static uint64_t trip_ns(const struct world *w)
{
	double holds = w->path.rate * (double)w->path.rtt_ns / SFS_NS_PER_S;
	double on_path = n_running(w, true) * window(w);

	/* Its kernel waits so long for an answer that could take the acknowledgement; but
	 * new connections tell the round trip. */
	uint64_t put_off_ns = w->now_ns == BEGIN_NS ? 0 : 40 * SFS_NS_PER_MS;

	if (put_off_ns > w->path.think_ns)
		put_off_ns = w->path.think_ns;
	return w->path.rtt_ns + put_off_ns + w->queue_ns +
	       (on_path > holds ? (uint64_t)((on_path - holds) / w->path.rate * 1e9) : 0);
}

static void step(struct world *w, bool is_bound)
{
	double share, each = window(w) / ((double)w->path.rtt_ns / SFS_NS_PER_S);
	int i;

	for (i = 0;
	     i < MAX_GETS && n_running(w, false) < sfs_concurrency_limit(&w->concurrency);
	     i++) {
		if (w->gets[i].is_running)
			continue;
		w->gets[i] = (struct get){.is_running = true,
					  .sent_ns = w->now_ns,
					  .left = part(w)};
		sfs_concurrency_round_trip(&w->concurrency, trip_ns(w), w->now_ns);
	}
	w->now_ns += STEP_NS;
	for (i = 0; i < MAX_GETS; i++) {
		if (!w->gets[i].is_running || w->gets[i].is_answered ||
		    w->now_ns - w->gets[i].sent_ns < w->path.rtt_ns + w->path.think_ns)
			continue;
		w->gets[i].is_answered = true;
		sfs_concurrency_answered(&w->concurrency, w->now_ns - w->gets[i].sent_ns,
					 w->now_ns);
	}
	share = n_running(w, true) ? w->path.rate / n_running(w, true) : 0;
	share = share < each ? share : each;
	for (i = 0; i < MAX_GETS; i++) {
		if (!w->gets[i].is_running || !w->gets[i].is_answered)
			continue;
		share = share < w->path.rate ? share : w->path.rate;
		w->gets[i].left -= share * STEP_NS / SFS_NS_PER_S;
		w->n_bytes += share * STEP_NS / SFS_NS_PER_S;
		sfs_concurrency_bytes(&w->concurrency,
				      (uint64_t)(share * STEP_NS / SFS_NS_PER_S));
		if (w->gets[i].left > 0)
			continue;
		w->gets[i].is_running = false;
		sfs_concurrency_ended(&w->concurrency, w->now_ns, is_bound);
	}
}

/* Go on for so long; the share of the path's rate in the last half. */
static double go_on(struct world *w, int seconds, bool is_bound)
{
	uint64_t end = w->now_ns + (uint64_t)seconds * SFS_NS_PER_S;
	uint64_t half = w->now_ns + (uint64_t)seconds * SFS_NS_PER_S / 2;
	double before = 0;

	while (w->now_ns < end) {
		if (w->now_ns <= half)
			before = w->n_bytes;
		step(w, is_bound);
		CHECK(sfs_concurrency_limit(&w->concurrency) >= 1);
		CHECK(sfs_concurrency_limit(&w->concurrency) <= MOST);
	}
	return (w->n_bytes - before) / (w->path.rate * seconds / 2);
}

static void begin(struct world *w, uint64_t rtt_ns, double rate, double window)
{
	*w = (struct world){.path = {rtt_ns, rate, window}, .now_ns = BEGIN_NS};
	sfs_concurrency_init(&w->concurrency, MOST);
}

static int limit_of(const struct world *w)
{
	return sfs_concurrency_limit(&w->concurrency);
}

static void near_and_far(void)
{
	struct world w;

	begin(&w, SFS_NS_PER_MS / 5, 1e9, 3e6);
	CHECK_EQ(limit_of(&w), MOST); /* nothing is known yet */
	step(&w, true);
	CHECK_EQ(limit_of(&w), 8);
	CHECK(go_on(&w, 20, true) > 0.95);
	CHECK_EQ(limit_of(&w), 8);

	/* It takes long to begin. */
	begin(&w, SFS_NS_PER_MS / 2, 2000e6, 3e6);
	w.path.think_ns = 30 * SFS_NS_PER_MS;
	CHECK(go_on(&w, 20, true) > 0.9);
	CHECK_EQ(limit_of(&w), MOST);

	begin(&w, 150 * SFS_NS_PER_MS, 250e6, 2.8e6);
	CHECK(go_on(&w, 30, true) > 0.9);
	CHECK_EQ(limit_of(&w), MOST);
}

static void leaves_a_queue(void)
{
	struct world w;

	begin(&w, 150 * SFS_NS_PER_MS, 250e6, 4e6);
	CHECK_EQ(sfs_concurrency_window_bytes(&w.concurrency), 0);
	CHECK(go_on(&w, 60, true) > 0.9);
	CHECK(sfs_concurrency_window_bytes(&w.concurrency) > 0);
	CHECK(trip_ns(&w) < 250 * SFS_NS_PER_MS);

	/* It is others' packets that queue: fewer of ours would only bring less. */
	begin(&w, 150 * SFS_NS_PER_MS, 250e6, 200e3);
	go_on(&w, 30, true);
	w.queue_ns = 150 * SFS_NS_PER_MS;
	CHECK(go_on(&w, 120, true) > 0.2);
}

static void follows_a_path_that_changes(void)
{
	struct world w;

	begin(&w, 150 * SFS_NS_PER_MS, 250e6, 2.8e6);
	go_on(&w, 30, true);
	w.path.rtt_ns = SFS_NS_PER_MS; /* a cache near by has all now */
	CHECK(go_on(&w, 60, true) > 0.95);
	CHECK_EQ(limit_of(&w), 8);
	w.path.rtt_ns = 150 * SFS_NS_PER_MS;
	CHECK(go_on(&w, 120, true) > 0.9);
	CHECK_EQ(limit_of(&w), MOST);
}

static double rate_of(const struct world *w)
{
	return (double)sfs_concurrency_bytes_per_s(&w->concurrency);
}

/* A reader that is slower than the path says nothing of it. */
static void learns_nothing_of_a_slow_reader(void)
{
	struct world w;

	begin(&w, 20 * SFS_NS_PER_MS, 100e6, 1e6);
	CHECK_EQ(rate_of(&w), 0);
	go_on(&w, 20, true);
	CHECK(rate_of(&w) > 95e6 && rate_of(&w) < 105e6);
	w.path.rate = 10e6;
	go_on(&w, 20, false);
	CHECK(rate_of(&w) > 95e6);
	go_on(&w, 120, true);
	CHECK(rate_of(&w) < 11e6);
	w.path.rate = 100e6; /* at least that is to be had */
	go_on(&w, 20, false);
	CHECK(rate_of(&w) > 95e6);
}

/* After a refusal: one more at a time. */
static void grows_again(struct world *w, int to)
{
	int limit = limit_of(w), before, k;

	for (k = 0; k < 100000 && limit < to; k++) {
		before = limit;
		step(w, true);
		limit = limit_of(w);
		CHECK(limit == before || limit == before + 1);
	}
	CHECK_EQ(limit, to);
	go_on(w, 10, true);
	CHECK_EQ(limit_of(w), to);
}

static void gives_way_to_a_busy_server(void)
{
	struct world w;
	int i;

	begin(&w, 150 * SFS_NS_PER_MS, 250e6, 2.8e6);
	go_on(&w, 20, true);
	sfs_concurrency_refused(&w.concurrency);
	CHECK_EQ(limit_of(&w), 48);
	sfs_concurrency_refused(&w.concurrency);
	CHECK_EQ(limit_of(&w), 36);
	grows_again(&w, MOST);
	for (i = 0; i < 100; i++)
		sfs_concurrency_refused(&w.concurrency);
	CHECK_EQ(limit_of(&w), 4);
	grows_again(&w, MOST);

	begin(&w, SFS_NS_PER_MS / 5, 1e9, 3e6);
	go_on(&w, 5, true);
	sfs_concurrency_refused(&w.concurrency);
	CHECK_EQ(limit_of(&w), 6);
	sfs_concurrency_refused(&w.concurrency);
	CHECK_EQ(limit_of(&w), 4);
	grows_again(&w, 8);
}

static void never_more_than_most(void)
{
	static const int most[] = {1, 2, 3, 4, 5, 16};
	static const uint64_t wait_ns[] = {100 * SFS_NS_PER_MS, 200000};
	struct sfs_concurrency concurrency;
	uint64_t now = SFS_NS_PER_S;
	size_t i;
	int k;

	for (i = 0; i < sizeof most / sizeof most[0]; i++) {
		sfs_concurrency_init(&concurrency, most[i]);
		CHECK_EQ(sfs_concurrency_limit(&concurrency), most[i]);
		for (k = 0; k < 10000; k++) {
			now += 10 * SFS_NS_PER_MS;
			sfs_concurrency_answered(&concurrency, wait_ns[k / 5000], now);
			sfs_concurrency_bytes(&concurrency,
					      (uint64_t)(1 + k * 7919 % 10) * PART);
			sfs_concurrency_ended(&concurrency, now, true);
			if (k % 97 == 0)
				sfs_concurrency_rest(&concurrency);
			if (k % 1009 == 0)
				sfs_concurrency_refused(&concurrency);
			CHECK(sfs_concurrency_limit(&concurrency) >= 1);
			CHECK(sfs_concurrency_limit(&concurrency) <= most[i]);
		}
	}
}

/* In ms: of the first GET, which met no queue, and of the others. */
struct measures {
	double first_trip, first_wait, trip, crossing, wait;
};

static uint64_t ns(double ms)
{
	return (uint64_t)(ms * SFS_NS_PER_MS);
}

static bool is_slow(const struct measures *m)
{
	struct sfs_concurrency p;
	uint64_t now = SFS_NS_PER_S;
	int i;

	sfs_concurrency_init(&p, MOST);
	CHECK(!sfs_concurrency_is_path_slow(&p, now));
	sfs_concurrency_round_trip(&p, ns(m->first_trip), now);
	sfs_concurrency_read_answered(&p, ns(m->first_wait), now);
	for (i = 0; i < 100; i++, now += SFS_NS_PER_MS) {
		sfs_concurrency_round_trip(&p, ns(m->trip), now);
		if (m->crossing > 0)
			sfs_concurrency_crossed(&p, ns(m->crossing));
		sfs_concurrency_read_answered(&p, ns(m->wait), now);
	}
	CHECK(!sfs_concurrency_is_path_slow(&p, now + 5 * SFS_NS_PER_S));
	return sfs_concurrency_is_path_slow(&p, now);
}

static void tells_the_path_from_the_server(void)
{
	/* A full link, to a quick server and a late one; and a long way. */
	CHECK(is_slow(&(struct measures){0.3, 1, 55, 50, 60}));
	CHECK(is_slow(&(struct measures){0.3, 20, 75, 70, 80}));
	CHECK(is_slow(&(struct measures){150, 150, 150, 150, 150}));
	/* The kernel has not measured bodies since the queue grew. */
	CHECK(is_slow(&(struct measures){0.5, 0.7, 152, 33.7, 152}));
	/* A server that is late always, or mostly; and short bodies. */
	CHECK(!is_slow(&(struct measures){0.3, 20, 20, 20, 20}));
	CHECK(!is_slow(&(struct measures){0.3, 1, 15, 1, 15}));
	CHECK(!is_slow(&(struct measures){20, 220, 60, 220, 220}));
	/* One that is late mostly, and acknowledges requests before it responds. */
	CHECK(!is_slow(&(struct measures){0.3, 1, 41, 1, 150}));
	CHECK(!is_slow(&(struct measures){0.3, 1, 55, 0, 60})); /* as with TLS */
}

int main(void)
{
	near_and_far();
	leaves_a_queue();
	follows_a_path_that_changes();
	learns_nothing_of_a_slow_reader();
	gives_way_to_a_busy_server();
	never_more_than_most();
	tells_the_path_from_the_server();
	return 0;
}
