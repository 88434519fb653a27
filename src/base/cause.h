/* SPDX-License-Identifier: MIT */
/* cause - what a read or a call waits for, in words, for the ledger if it times out. */
#ifndef SFS_CAUSE_H
#define SFS_CAUSE_H

#include <stdint.h>

struct sfs_cause {
	const char *shard; /* its name, which stays; NULL: none in particular */
	uint64_t offset;   /* in the shard; SFS_NO_OFFSET: nowhere in particular */
	char text[600];	   /* "bytes from http://host:80" */
};

/* Add to the ledger that a wait for this has timed out after `limit_ns`.  `then` as in
 * ledger.h.  Without a text: what has ended elsewhere, and waits for a thread of ours. */
void sfs_cause_note(const struct sfs_cause *cause, uint64_t limit_ns, const char *then);

void sfs_cause_set(struct sfs_cause *cause, const char *shard, uint64_t offset,
		   const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
