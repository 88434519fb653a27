/* SPDX-License-Identifier: MIT */
/* concurrency - how many GETs one server is given at a time.
 *
 * By Little's law the number of GETs that fill a path is the rate of GETs times the time
 * of one; neither is known before, so both are measured.  The limit grows by one with
 * each GET that ends (so it doubles in the time of one) while the rate grows with it.
 * Then it stays, and a trial now and then shows whether a few more or a few fewer do
 * better.  It never exceeds what the measured rate and the time to a first byte would
 * need if each connection had a window of only 32 KiB: for a near server a few
 * connections are enough, and more only fill caches.
 *
 * Where packets take much longer than they could, they wait in a queue before the
 * bottleneck of the path, and most of them are ours: the path is full.  Then more GETs do
 * not help but soon make each other lose packets, so fewer are tried.
 *
 * Pure: time is an argument.  Not thread-safe.
 */
#ifndef SFS_CONCURRENCY_H
#define SFS_CONCURRENCY_H

#include <stdbool.h>
#include <stdint.h>

/* The shortest of some times, in this period and the one before; 0: none yet. */
struct sfs_concurrency_least {
	uint64_t ns, last_ns, since_ns;
};

struct sfs_concurrency {
	int most, limit;

	struct sfs_concurrency_least wait; /* the time to a first byte */
	struct sfs_concurrency_least trip; /* a round trip, */
	uint64_t trip_ns, tripped_ns; /* its moving average, and when that was updated */

	double path_bytes; /* that may be in flight; 0: no limit */
	double uncut_rate; /* when there was no limit, bytes a second */
	int n_uncut;	   /* there is none for this number of periods more */

	uint64_t now_ns; /* when a GET last ended */

	/* The period that is being measured; begun_ns is 0 if none is. */
	uint64_t begun_ns, n_bytes;
	uint64_t limits; /* the sum of the limit at each end, for its mean */
	int begun_limit;
	int n_ended, n_bound; /* GETs, and those at whose end others were queued */

	enum {
		SFS_CONCURRENCY_GROWING,
		SFS_CONCURRENCY_STEADY,
		SFS_CONCURRENCY_SETTLING,
		SFS_CONCURRENCY_TRYING
	} is;
	double rate, best_rate; /* bytes a second: recent, and the best while growing */
	int best_limit, before; /* the limit at best, and before a trial */
	int n_vain, n_steady;	/* periods */
	bool tries_fewer, is_for_queue; /* the trial; because packets queue */
	double row_rate;		/* before the first of such trials in a row */
	bool is_vain;			/* the last trial was */
};

/* At most `most` GETs at a time, >= 1. */
void sfs_concurrency_init(struct sfs_concurrency *p, int most);

/* How many may run now; 1 to `most`. */
int sfs_concurrency_limit(const struct sfs_concurrency *p);

/* The first byte of a response came `wait_ns` after the request was sent. */
void sfs_concurrency_answered(struct sfs_concurrency *p, uint64_t wait_ns,
			      uint64_t now_ns);

/* The kernel's measure of a round trip, on a connection that is about to be used again.
 */
void sfs_concurrency_round_trip(struct sfs_concurrency *p, uint64_t ns, uint64_t now_ns);

/* n bytes came. */
void sfs_concurrency_bytes(struct sfs_concurrency *p, uint64_t n);

/* A GET ended.  `is_bound`: others are queued, so the limit is what bounds the rate; else
 * nothing can be learnt from it. */
void sfs_concurrency_ended(struct sfs_concurrency *p, uint64_t now_ns, bool is_bound);

/* The server said that it has too much to do (a 429 or 503). */
void sfs_concurrency_refused(struct sfs_concurrency *p);

/* The most that each GET's connection should have in flight; 0: no limit.  Once packets
 * have queued, all together have about twice what the path holds: otherwise connections
 * that were idle would fill it with all their windows at once, and lose packets. */
uint64_t sfs_concurrency_window_bytes(const struct sfs_concurrency *p);

/* No GET is running any more, or queued. */
void sfs_concurrency_rest(struct sfs_concurrency *p);

/* The shortest recent time to a first byte; 0: not known. */
uint64_t sfs_concurrency_wait_ns(const struct sfs_concurrency *p);

#endif
