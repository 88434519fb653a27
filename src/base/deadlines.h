/* SPDX-License-Identifier: MIT */
/* deadlines - how long a read of the page cache may wait if the kernel repeats it.
 *
 * When a readahead fails, the kernel reports that to nobody: it requests again at once,
 * page by page, what readers wait for, and a page fault does so twice.  If each of these
 * requests had the whole timeout, a reader would wait two or three times as long.  So a
 * range inside one that failed a moment ago has the deadline of that one, and gets only
 * data that is here, or arrives within a short grace.  A later request is a reader's new
 * attempt, and has the whole timeout.
 *
 * The time is an argument.  Not thread-safe. */
#ifndef SFS_DEADLINES_H
#define SFS_DEADLINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SFS_DEADLINES_MAX 1024 /* as many as the kernel reads ahead at a time */

/* Bytes of a file. */
struct sfs_page_range {
	uint64_t node, offset;
	size_t n;
};

struct sfs_deadlines {
	struct sfs_deadline {
		uint64_t node, from, to;
		uint64_t deadline_ns, failed_ns;
		bool is_over; /* the grace was given, in vain */
	} failed[SFS_DEADLINES_MAX];
	uint64_t newest_ns; /* of the last failure that was not a repetition */
	unsigned next;	    /* entry to write; those before it are the newest */
};

/* A read of the range starts, and may wait for `timeout_ns`.  Returns its deadline;
 * *ret_is_again: it repeats a read that has failed. */
uint64_t sfs_deadlines_begin(struct sfs_deadlines *d, const struct sfs_page_range *range,
			     uint64_t timeout_ns, uint64_t now_ns, bool *ret_is_again);

/* It has failed; `deadline_ns` and `is_again` are what begin() returned. */
void sfs_deadlines_fail(struct sfs_deadlines *d, const struct sfs_page_range *range,
			uint64_t deadline_ns, bool is_again, uint64_t now_ns);

/* The grace for a timeout. */
uint64_t sfs_deadlines_grace(uint64_t timeout_ns);

#endif
