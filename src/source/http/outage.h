/* SPDX-License-Identifier: MIT */
/* outage - is a server out of order, and what is worth a report?
 *
 * A failure is a request without a response (no connection, a reset, a stall), or with
 * one that says "later" (a 5xx, a 429).  A single failure is reported by itself.  A
 * server is out of order once nothing but failures came for two seconds; one that cannot
 * be reached, at once, unless it responded in the last two seconds.  During an outage
 * single failures are not reported, and retries are spread: one at a time, each some
 * seconds after the last, however many wait.  The first good response ends the outage.
 *
 * Pure: time and random numbers are arguments.  Not thread-safe.
 */
#ifndef SFS_OUTAGE_H
#define SFS_OUTAGE_H

#include <stdbool.h>
#include <stdint.h>

struct sfs_outage {
	uint64_t since_ns; /* the first failure after the last good response; 0: none */
	uint64_t good_ns;  /* the last good response; 0: none */
	bool is_out;
	uint64_t retry_ns, delay_ns; /* the last retry that was given a time, and the
				      * time between two */
};

enum sfs_outage_news {
	SFS_OUTAGE_NO_NEWS, /* others have failed, and that was reported */
	SFS_OUTAGE_SINGLE,  /* the first failure after a good response */
	SFS_OUTAGE_BEGUN,   /* the server is out from now on */
};

enum sfs_outage_news sfs_outage_failed(struct sfs_outage *o, bool is_unreachable,
				       uint64_t now_ns);

/* A good response has come.  true: an outage of *ret_ns is over. */
bool sfs_outage_succeeded(struct sfs_outage *o, uint64_t now_ns, uint64_t *ret_ns);

/* While the server is out of order: when to try again.  Each call is another retry. */
uint64_t sfs_outage_next_retry(struct sfs_outage *o, uint64_t now_ns, uint64_t random);

#endif
