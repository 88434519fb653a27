/* SPDX-License-Identifier: MIT */
/* concurrency - how many GETs one server is given at a time.
 *
 * A server is near if a first byte came within 2 ms lately.  A few GETs at a time fill
 * the path to it, and more would only fill caches: it is given 8.  Any other server, or
 * one that is not known yet, is given as many as may be.  One that says that it has too
 * much to do is given a quarter fewer, and one more again in each period without that.
 *
 * Where packets take much longer than they could, they wait in a queue before the
 * bottleneck of the path, and most of them are ours: the path is full, and soon GETs make
 * each other lose packets.  So what all of them may have in flight has a bound there.
 *
 * Pure: time is an argument.  Not thread-safe.
 */
#ifndef SFS_CONCURRENCY_H
#define SFS_CONCURRENCY_H

#include <stdbool.h>
#include <stdint.h>

/* The shortest of some times, in this window of time and the one before; 0: none yet. */
struct sfs_concurrency_least {
	uint64_t ns, last_ns, since_ns;
};

struct sfs_concurrency {
	int most, allowed; /* allowed: fewer than `most` after a refusal */

	struct sfs_concurrency_least wait; /* the time to a first byte */
	struct sfs_concurrency_least trip; /* a round trip, */
	uint64_t trip_ns, tripped_ns; /* its moving average, and when that was updated */
	struct sfs_concurrency_least read_wait; /* the time to a read's first byte, */
	uint64_t read_wait_ns;			/* its moving average, */
	uint64_t crossing_ns; /* and that of what the path takes of it; 0: not known */

	double path_bytes; /* that may be in flight; 0: no limit */
	double uncut_rate; /* when there was no limit, bytes a second */
	int n_uncut;	   /* there is none for this number of periods more */

	uint64_t now_ns; /* when a GET last ended */
	double rate;	 /* bytes a second: a moving average */

	/* The period that is being measured; begun_ns is 0 if none is. */
	uint64_t begun_ns, n_bytes;
	int n_ended, n_bound; /* GETs, and those at whose end others were queued */
};

/* At most `most` GETs at a time, >= 1. */
void sfs_concurrency_init(struct sfs_concurrency *p, int most);

/* How many may run now; 1 to `most`. */
int sfs_concurrency_limit(const struct sfs_concurrency *p);

/* The first byte of a response came `wait_ns` after the request was sent. */
void sfs_concurrency_answered(struct sfs_concurrency *p, uint64_t wait_ns,
			      uint64_t now_ns);

/* The same, if it was a read, and no small GET. */
void sfs_concurrency_read_answered(struct sfs_concurrency *p, uint64_t wait_ns,
				   uint64_t now_ns);

/* The kernel's measure of a round trip, on a connection that is about to
 * be used again. */
void sfs_concurrency_round_trip(struct sfs_concurrency *p, uint64_t ns, uint64_t now_ns);

/* The same, by the bytes of a body: how long they took to follow what they respond to. */
void sfs_concurrency_crossed(struct sfs_concurrency *p, uint64_t ns);

/* n bytes came. */
void sfs_concurrency_bytes(struct sfs_concurrency *p, uint64_t n);

/* A GET ended.  `is_bound`: others are queued, so all that may run do; else a slow reader
 * would be taken for a slow path. */
void sfs_concurrency_ended(struct sfs_concurrency *p, uint64_t now_ns, bool is_bound);

/* The server said that it has too much to do (a 429 or 503). */
void sfs_concurrency_refused(struct sfs_concurrency *p);

/* The most that each GET's connection should have in flight; 0: no limit.  Once packets
 * have queued, all together have about twice what the path holds: otherwise connections
 * that were idle would fill it with all their windows at once, and lose packets. */
uint64_t sfs_concurrency_window_bytes(const struct sfs_concurrency *p);

/* No GET is running any more, or queued. */
void sfs_concurrency_rest(struct sfs_concurrency *p);

/* Of the mean time to a read's first byte, does the path take more than the server?
 * false: or it is not known, or has not been measured for some seconds. */
bool sfs_concurrency_is_path_slow(const struct sfs_concurrency *p, uint64_t now_ns);

/* The shortest recent time to a first byte; 0: not known. */
uint64_t sfs_concurrency_wait_ns(const struct sfs_concurrency *p);

/* Bytes a second with all useful GETs running, as far as is known; 0: not known. */
uint64_t sfs_concurrency_bytes_per_s(const struct sfs_concurrency *p);

#endif
