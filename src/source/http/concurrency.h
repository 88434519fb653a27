/* SPDX-License-Identifier: MIT */
/* pace - how many GETs one server is given at a time.
 *
 * By Little's law the GETs that fill a path are its rate times the time of one; neither
 * is known before, so both are measured.  The number grows by one with each GET that
 * ends (so it doubles in the time of one) for as long as more come in a second; then it
 * stays, and now and then tries whether some more help or some fewer do.  What the
 * measured rate and the time to a first byte would need, were each connection down to a
 * window of 32 KiB, is never exceeded: on a near server a few connections are enough,
 * and more only fill caches.
 *
 * Where packets take a good deal longer than they could, they stand in a queue before the
 * path's narrowest place, and most of them are ours: it is full.  Then more GETs are of
 * no use, but soon make each other lose packets, so fewer are tried.
 *
 * Pure: time is an argument.  Not thread-safe.
 */
#ifndef SFS_CONCURRENCY_H
#define SFS_CONCURRENCY_H

#include <stdbool.h>
#include <stdint.h>

/* The least of a time, in this window of time and the last; 0: none yet. */
struct sfs_concurrency_least {
	uint64_t ns, last_ns, since_ns;
};

struct sfs_concurrency {
	int most, limit;

	struct sfs_concurrency_least wait; /* the time to a first byte */
	struct sfs_concurrency_least trip; /* a round trip, */
	uint64_t trip_ns, tripped_ns; /* how long it is lately, and when that was seen */

	double path_bytes; /* that may be on the path; 0: all there is */
	double uncut_rate; /* when that was so, bytes a second */
	int n_uncut;	   /* it stays so for so many periods more */

	uint64_t now_ns; /* when a GET last ended */

	/* The period that is being measured; begun_ns is 0 if none is. */
	uint64_t begun_ns, n_bytes;
	uint64_t limits; /* the sum of the limit at each end, for its mean */
	int begun_limit;
	int n_ended, n_bound; /* GETs, and those at whose end others waited in line */

	enum {
		SFS_CONCURRENCY_GROWING,
		SFS_CONCURRENCY_STEADY,
		SFS_CONCURRENCY_SETTLING,
		SFS_CONCURRENCY_TRYING
	} is;
	double rate, best_rate; /* bytes a second, lately, and at best while growing */
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

/* The first byte of an answer came `wait_ns` after the request was sent. */
void sfs_concurrency_answered(struct sfs_concurrency *p, uint64_t wait_ns,
			      uint64_t now_ns);

/* The kernel's own word on how long a round trip takes, on a connection that is about to
 * be used again. */
void sfs_concurrency_round_trip(struct sfs_concurrency *p, uint64_t ns, uint64_t now_ns);

/* n bytes came. */
void sfs_concurrency_bytes(struct sfs_concurrency *p, uint64_t n);

/* A GET ended.  `is_bound`: others wait for its room, so that it is the limit which
 * counts; else nothing can be learnt of it. */
void sfs_concurrency_ended(struct sfs_concurrency *p, uint64_t now_ns, bool is_bound);

/* The server said that it has too much to do. */
void sfs_concurrency_refused(struct sfs_concurrency *p);

/* How much each GET's connection should have on the path at most; 0: as it likes.  All
 * together they have about twice what the path holds, once packets have queued:
 * connections that have rested would else fill it with all their windows at once, and
 * lose packets.
 */
uint64_t sfs_concurrency_window_bytes(const struct sfs_concurrency *p);

/* None is running any more. */
void sfs_concurrency_rest(struct sfs_concurrency *p);

/* The shortest time to a first byte of late; 0: not known. */
uint64_t sfs_concurrency_wait_ns(const struct sfs_concurrency *p);

#endif
