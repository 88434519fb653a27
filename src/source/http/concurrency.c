/* SPDX-License-Identifier: MIT */
/* How this works: time is cut into periods of at least two times to a first byte, in
 * which as many GETs end as may run.  A period counts if GETs were queued at three of
 * four ends; its rate is compared with that of earlier ones. */
#include "source/http/concurrency.h"

#include "base/clock.h"

#define START		      16
#define START_NEAR	      6
#define NEAR_NS		      (2 * SFS_NS_PER_MS) /* to a first byte */
#define LEAST		      4
#define PERIOD_NS	      (100 * SFS_NS_PER_MS)
#define WINDOW_NS	      (30 * SFS_NS_PER_S)
#define SMALLEST_WINDOW_BYTES (32 << 10) /* of a connection that often loses a packet */
#define N_STEADY	      16	 /* periods between trials, */
#define N_STEADY_SOON	      4		 /* and after one that was worth it */
#define FRESH_NS	      (5 * SFS_NS_PER_S)
#define N_UNCUT		      64 /* periods */
#define LEAST_WINDOW	      (64 << 10)
#define QUEUE_NS	      (5 * SFS_NS_PER_MS) /* the least that counts */
#define DELAYED_ACK_NS	      (40 * SFS_NS_PER_MS)

static int between(int least, int n, int most)
{
	n = n < least ? least : n;
	return n > most ? most : n;
}

void sfs_concurrency_init(struct sfs_concurrency *p, int most)
{
	*p = (struct sfs_concurrency){.most = most, .limit = between(1, START, most)};
}

static void add_least(struct sfs_concurrency_least *l, uint64_t ns, uint64_t now_ns)
{
	if (now_ns - l->since_ns >= WINDOW_NS) {
		l->last_ns = l->ns;
		l->ns = 0;
		l->since_ns = now_ns;
	}
	if (l->ns == 0 || ns < l->ns)
		l->ns = ns;
}

static uint64_t least(const struct sfs_concurrency_least *l)
{
	return l->last_ns == 0 || (l->ns != 0 && l->ns < l->last_ns) ? l->ns : l->last_ns;
}

uint64_t sfs_concurrency_wait_ns(const struct sfs_concurrency *p)
{
	return least(&p->wait);
}

/* What could be of use at most, by Little's law. */
static int cap(const struct sfs_concurrency *p)
{
	double seconds = (double)sfs_concurrency_wait_ns(p) / SFS_NS_PER_S, n;

	if (seconds == 0 || p->rate == 0)
		return p->most;
	n = 2 * LEAST + p->rate * seconds / SMALLEST_WINDOW_BYTES;
	return n < p->most ? (int)n : p->most;
}

int sfs_concurrency_limit(const struct sfs_concurrency *p)
{
	int n = cap(p);

	return p->limit < n ? p->limit : n;
}

static bool is_near(const struct sfs_concurrency *p)
{
	uint64_t ns = sfs_concurrency_wait_ns(p);

	return ns != 0 && ns < NEAR_NS;
}

void sfs_concurrency_answered(struct sfs_concurrency *p, uint64_t wait_ns,
			      uint64_t now_ns)
{
	bool was_near = is_near(p);

	add_least(&p->wait, wait_ns, now_ns);
	if (!was_near && is_near(p) && p->rate == 0 && p->limit > START_NEAR)
		p->limit = START_NEAR;
}

void sfs_concurrency_round_trip(struct sfs_concurrency *p, uint64_t ns, uint64_t now_ns)
{
	add_least(&p->trip, ns, now_ns);
	p->trip_ns = p->trip_ns == 0 ? ns : p->trip_ns - p->trip_ns / 16 + ns / 16;
	p->tripped_ns = now_ns;
}

/* Do our packets wait for each other?  As far as is known: where libcurl keeps the
 * connections, only new ones are measured.  While a server takes long to respond, its
 * kernel delays the acknowledgement of the request, which looks like a longer round trip.
 */
static bool is_queued(const struct sfs_concurrency *p)
{
	uint64_t ns = least(&p->trip), most_ns = ns + ns / 4 + QUEUE_NS;

	if (sfs_concurrency_wait_ns(p) > ns + QUEUE_NS)
		most_ns += DELAYED_ACK_NS;
	return p->now_ns - p->tripped_ns < FRESH_NS && p->trip_ns > most_ns;
}

uint64_t sfs_concurrency_window_bytes(const struct sfs_concurrency *p)
{
	double window = p->path_bytes / sfs_concurrency_limit(p);

	if (window == 0)
		return 0;
	return window > LEAST_WINDOW ? (uint64_t)window : LEAST_WINDOW;
}

void sfs_concurrency_bytes(struct sfs_concurrency *p, uint64_t n)
{
	p->n_bytes += n;
}

static void settle_at(struct sfs_concurrency *p, int limit)
{
	p->limit = between(LEAST < p->most ? LEAST : p->most, limit, p->most);
	p->is = SFS_CONCURRENCY_STEADY;
	p->n_steady = 0;
}

static int other_limit(const struct sfs_concurrency *p)
{
	double part;

	if (!p->tries_fewer)
		return p->limit * 5 / 4 + 1;
	if (!p->is_for_queue)
		return p->limit * 4 / 5;
	/* As many as there would be with no queue, and some. */
	part = 1.1 * (double)least(&p->trip) / (double)p->trip_ns;
	return (int)((part > 0.5 ? part : 0.5) * p->limit);
}

static void try_other(struct sfs_concurrency *p)
{
	p->before = p->limit;
	if (!p->is_for_queue)
		p->row_rate = p->rate;
	p->is_for_queue = is_queued(p);
	p->tries_fewer = !p->tries_fewer || p->is_for_queue || p->limit >= cap(p);
	p->limit = between(LEAST < p->most ? LEAST : p->most, other_limit(p), p->most);
	p->is = SFS_CONCURRENCY_SETTLING;
}

/* While growing: is there still more in a second with more at a time? */
static void grow_on(struct sfs_concurrency *p, double rate, int limit)
{
	if (is_queued(p)) {
		settle_at(p, p->limit);
	} else if (rate > 1.1 * p->best_rate) {
		p->best_rate = rate;
		p->best_limit = limit;
		p->n_vain = 0;
	} else if (limit * 4 >= p->best_limit * 5 || p->limit >= cap(p)) {
		if (++p->n_vain >= 2)
			settle_at(p, p->best_limit);
	}
}

/* A trial is over: does it stay so? */
static void end_trial(struct sfs_concurrency *p, double rate)
{
	bool is_kept = p->is_for_queue	? rate >= 0.9 * p->row_rate
		       : p->tries_fewer ? rate >= 0.99 * p->rate
					: rate >= 1.02 * p->rate;

	settle_at(p, is_kept ? p->limit : p->before);
	p->is_vain = !is_kept;
	if (p->is_vain)
		return;
	p->n_steady = N_STEADY - N_STEADY_SOON;
	p->tries_fewer = !p->tries_fewer; /* once more in the same direction */
	p->rate = rate;
}

/* What may be in flight: while packets queue, less and less, down to twice what the path
 * holds (connections are idle between GETs), and otherwise more and more.  If that lowers
 * the rate, others fill the path, and they would take what we leave. */
static void fit_path(struct sfs_concurrency *p)
{
	double rate = p->rate > p->uncut_rate ? p->rate : p->uncut_rate;
	double enough = 2 * rate * (double)least(&p->trip) / SFS_NS_PER_S;

	if (p->path_bytes == 0) {
		p->uncut_rate = p->rate;
		if (--p->n_uncut < 0 && is_queued(p))
			p->path_bytes = enough;
	} else if (p->rate < 0.8 * p->uncut_rate) {
		p->path_bytes = 0;
		p->n_uncut = N_UNCUT;
	} else if (is_queued(p)) {
		p->path_bytes *= p->path_bytes > enough ? 0.9 : 1;
	} else if (p->path_bytes < 2 * enough) {
		p->path_bytes *= 1.1;
	}
}

static void judge(struct sfs_concurrency *p, double rate, int limit)
{
	switch (p->is) {
	case SFS_CONCURRENCY_GROWING:
		p->rate = rate > p->rate ? rate : p->rate;
		grow_on(p, rate, limit);
		break;
	case SFS_CONCURRENCY_STEADY:
		p->rate += (rate - p->rate) / 4;
		if (++p->n_steady >=
		    (is_queued(p) && !p->is_vain ? N_STEADY_SOON : N_STEADY))
			try_other(p);
		break;
	case SFS_CONCURRENCY_SETTLING: p->is = SFS_CONCURRENCY_TRYING; break;
	case SFS_CONCURRENCY_TRYING: end_trial(p, rate); break;
	}
	if (least(&p->trip) >= QUEUE_NS)
		fit_path(p);
}

void sfs_concurrency_rest(struct sfs_concurrency *p)
{
	p->begun_ns = 0;
}

void sfs_concurrency_refused(struct sfs_concurrency *p)
{
	settle_at(p, sfs_concurrency_limit(p) * 3 / 4);
	p->begun_ns = 0;
}

static void begin_period(struct sfs_concurrency *p, uint64_t now_ns)
{
	p->begun_ns = now_ns;
	p->begun_limit = p->limit;
	p->n_bytes = p->limits = 0;
	p->n_ended = 0;
	p->n_bound = 0;
}

void sfs_concurrency_ended(struct sfs_concurrency *p, uint64_t now_ns, bool is_bound)
{
	uint64_t least_ns = 2 * sfs_concurrency_wait_ns(p), ns;
	double rate;

	p->now_ns = now_ns;
	if (p->begun_ns == 0) {
		begin_period(p, now_ns);
		return;
	}
	p->limits += (uint64_t)p->limit;
	p->n_ended++;
	p->n_bound += is_bound;
	if (is_bound && p->is == SFS_CONCURRENCY_GROWING && p->limit < cap(p) &&
	    (!is_near(p) || p->limit <= p->begun_limit * 5 / 4))
		p->limit++;
	ns = now_ns - p->begun_ns;
	if (ns < PERIOD_NS || ns < least_ns || p->n_ended < p->limit)
		return;
	rate = (double)p->n_bytes * SFS_NS_PER_S / (double)ns;
	if (4 * p->n_bound >= 3 * p->n_ended)
		judge(p, rate, (int)(p->limits / (uint64_t)p->n_ended));
	else if (rate > p->rate)
		p->rate += (rate - p->rate) /
			   4; /* with all of them it would be at least this */
	begin_period(p, now_ns);
}
