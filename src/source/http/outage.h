/* SPDX-License-Identifier: MIT */
/* outage - is a server out of order, and what is there to say of it?
 *
 * A failure is one without an answer (no connection, a reset, silence), or an answer that
 * says "later" (a 5xx, a 429).  One that stays alone is told by itself.  A server is out
 * once nothing but failures came for two seconds; one that cannot be reached, at once,
 * unless it gave an answer of late.  Then nothing is told of single failures, and retries
 * are spread: one at a time, each some seconds after the one before, however many wait.
 * The first good answer ends the outage.
 *
 * Pure: time and chance are arguments.  Not thread-safe.
 */
#ifndef SFS_OUTAGE_H
#define SFS_OUTAGE_H

#include <stdbool.h>
#include <stdint.h>

struct sfs_outage {
	uint64_t since_ns; /* the first failure after the last good answer; 0: none */
	uint64_t good_ns;  /* the last good answer; 0: none */
	bool is_out;
	uint64_t retry_ns, delay_ns; /* the last retry that was given a time, and the
				      * time between two */
};

enum sfs_outage_news {
	SFS_OUTAGE_NO_NEWS, /* others have failed, too, and that was told */
	SFS_OUTAGE_SINGLE,  /* the first failure after a good answer */
	SFS_OUTAGE_BEGUN,   /* the server is out from now on */
};

enum sfs_outage_news sfs_outage_failed(struct sfs_outage *o, bool is_unreachable,
				       uint64_t now_ns);

/* A good answer has come.  true: an outage of *ret_ns is over. */
bool sfs_outage_answered(struct sfs_outage *o, uint64_t now_ns, uint64_t *ret_ns);

/* While the server is out: when to try once more.  Each call is another retry. */
uint64_t sfs_outage_next_retry(struct sfs_outage *o, uint64_t now_ns, uint64_t chance);

#endif
