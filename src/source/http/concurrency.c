/* SPDX-License-Identifier: MIT */
/* How this works: time is cut into periods of at least two times to a first byte, in
 * which as many GETs end as may run.  Each period gives a rate.  It counts if GETs were
 * queued at three of four ends; else only if it is above the known one. */
#include "source/http/concurrency.h"

#include "base/clock.h"

#define NEAR	       8
#define NEAR_NS	       (2 * SFS_NS_PER_MS) /* to a first byte */
#define LEAST	       4		   /* after refusals */
#define PERIOD_NS      (100 * SFS_NS_PER_MS)
#define WINDOW_NS      (30 * SFS_NS_PER_S)
#define FRESH_NS       (5 * SFS_NS_PER_S)
#define N_UNCUT	       64 /* periods */
#define LEAST_WINDOW   (64 << 10)
#define QUEUE_NS       (5 * SFS_NS_PER_MS) /* the least that counts */
#define DELAYED_ACK_NS (40 * SFS_NS_PER_MS)

void sfs_concurrency_init(struct sfs_concurrency *p, int most)
{
	*p = (struct sfs_concurrency){.most = most, .allowed = most};
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

uint64_t sfs_concurrency_bytes_per_s(const struct sfs_concurrency *p)
{
	return (uint64_t)p->rate;
}

int sfs_concurrency_limit(const struct sfs_concurrency *p)
{
	uint64_t ns = sfs_concurrency_wait_ns(p);
	bool is_near = ns != 0 && ns < NEAR_NS;

	return is_near && p->allowed > NEAR ? NEAR : p->allowed;
}

static void add_to_mean(uint64_t *mean, uint64_t ns)
{
	*mean = *mean == 0 ? ns : *mean - *mean / 16 + ns / 16;
}

void sfs_concurrency_answered(struct sfs_concurrency *p, uint64_t wait_ns,
			      uint64_t now_ns)
{
	add_least(&p->wait, wait_ns, now_ns);
}

void sfs_concurrency_read_answered(struct sfs_concurrency *p, uint64_t wait_ns,
				   uint64_t now_ns)
{
	add_least(&p->read_wait, wait_ns, now_ns);
	add_to_mean(&p->read_wait_ns, wait_ns);
}

void sfs_concurrency_round_trip(struct sfs_concurrency *p, uint64_t ns, uint64_t now_ns)
{
	add_least(&p->trip, ns, now_ns);
	add_to_mean(&p->trip_ns, ns);
	p->tripped_ns = now_ns;
}

void sfs_concurrency_crossed(struct sfs_concurrency *p, uint64_t ns)
{
	add_to_mean(&p->crossing_ns, ns);
}

/* Both measures of the kernel count the server's time in, more or less: the round trip,
 * if the acknowledgement comes with the response; bodies, if they are short.  So the
 * smaller one counts.  But bodies may also say much too little, if the kernel has not
 * measured them since the queue grew; and the server's kernel acknowledges by itself
 * after DELAYED_ACK_NS, so what a round trip takes beyond that is the path's.  What the
 * server always takes is known.  Where libcurl keeps the connections, only new ones are
 * measured, and that says nothing of the time since. */
bool sfs_concurrency_is_path_slow(const struct sfs_concurrency *p, uint64_t now_ns)
{
	uint64_t wait_ns = least(&p->read_wait), trip_ns = least(&p->trip);
	uint64_t path_ns = p->trip_ns < p->crossing_ns ? p->trip_ns : p->crossing_ns;
	uint64_t server_ns = wait_ns > trip_ns ? wait_ns - trip_ns : 0;

	if (p->trip_ns > path_ns + DELAYED_ACK_NS)
		path_ns = p->trip_ns - DELAYED_ACK_NS;
	return now_ns < p->tripped_ns + FRESH_NS &&
	       path_ns > server_ns + p->read_wait_ns / 2;
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

void sfs_concurrency_rest(struct sfs_concurrency *p)
{
	p->begun_ns = 0;
}

void sfs_concurrency_refused(struct sfs_concurrency *p)
{
	int limit = sfs_concurrency_limit(p), fewer = limit * 3 / 4;

	fewer = fewer > LEAST ? fewer : LEAST;
	p->allowed = fewer < limit ? fewer : limit;
	p->begun_ns = 0;
}

static void begin_period(struct sfs_concurrency *p, uint64_t now_ns)
{
	p->begun_ns = now_ns;
	p->n_bytes = 0;
	p->n_ended = p->n_bound = 0;
}

static void end_period(struct sfs_concurrency *p, uint64_t ns)
{
	double rate = (double)p->n_bytes * SFS_NS_PER_S / (double)ns;
	bool is_bound = 4 * p->n_bound >= 3 * p->n_ended;

	if (is_bound || rate > p->rate)
		p->rate += (rate - p->rate) / (p->rate > 0 ? 4 : 1);
	if (is_bound && least(&p->trip) >= QUEUE_NS)
		fit_path(p);
	if (p->allowed < p->most)
		p->allowed++;
}

void sfs_concurrency_ended(struct sfs_concurrency *p, uint64_t now_ns, bool is_bound)
{
	uint64_t least_ns = 2 * sfs_concurrency_wait_ns(p), ns = now_ns - p->begun_ns;

	p->now_ns = now_ns;
	if (p->begun_ns == 0) {
		begin_period(p, now_ns);
		return;
	}
	p->n_ended++;
	p->n_bound += is_bound;
	if (ns < PERIOD_NS || ns < least_ns || p->n_ended < sfs_concurrency_limit(p))
		return;
	end_period(p, ns);
	begin_period(p, now_ns);
}
