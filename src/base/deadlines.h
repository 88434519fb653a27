/* SPDX-License-Identifier: MIT */
/* deadlines - how long a read of the page cache may wait, if the kernel asks for it
 * again.
 *
 * When a readahead fails, the kernel tells nobody: it asks again at once, page by page,
 * for what readers wait for, and a page fault does so twice.  Were each of these requests
 * given the whole time, a reader would wait two or three times as long.  So a range that
 * lies in one that failed a moment ago has the deadline of that one, and only what is
 * here already, or comes within a short grace, is delivered.  Who comes later than that
 * moment is a reader who tries anew, and has the whole time.
 *
 * The time is an argument.  Not thread-safe. */
#ifndef SFS_DEADLINES_H
#define SFS_DEADLINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SFS_DEADLINES_MAX 1024 /* as many as the kernel reads ahead at a time */

struct sfs_deadlines {
	struct sfs_deadline {
		uint64_t of, from, to; /* a node, and a range of its bytes */
		uint64_t deadline_ns, failed_ns;
		bool is_over; /* the grace was given in vain */
	} failed[SFS_DEADLINES_MAX];
	uint64_t newest_ns; /* when one failed last that was not asked again */
	unsigned next;	    /* to be written; those before it are the newest */
};

/* A read of n bytes begins, and may wait for `timeout_ns`.  Returns until when it waits;
 * *ret_is_again: that is the deadline of one that has failed. */
uint64_t sfs_deadlines_begin(struct sfs_deadlines *d, uint64_t of, uint64_t offset,
			     size_t n, uint64_t timeout_ns, uint64_t now_ns,
			     bool *ret_is_again);

/* It has failed; `deadline_ns` and `is_again` as it was told. */
void sfs_deadlines_fail(struct sfs_deadlines *d, uint64_t of, uint64_t offset, size_t n,
			uint64_t deadline_ns, bool is_again, uint64_t now_ns);

/* The grace of a timeout. */
uint64_t sfs_deadlines_grace(uint64_t timeout_ns);

#endif
