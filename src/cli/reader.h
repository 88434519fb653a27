/* SPDX-License-Identifier: MIT */
/* pull - reads a file of the engine from some byte on to its end, with a read ahead.
 *
 * One thread; it waits.
 */
#ifndef SFS_READER_H
#define SFS_READER_H

#include "io/request.h"

#include <pthread.h>

struct sfs_file;

#define SFS_READER_READS_MAX 2

struct sfs_reader_turn {
	struct sfs_read read;
	struct sfs_reader *pull;
	bool is_begun; /* and not given back yet */
	bool is_done;
	int err;
};

struct sfs_reader {
	struct sfs_file *file;
	uint64_t asked; /* where the next read begins */
	size_t n_bytes; /* of each */
	int n_reads;
	int next;		       /* turn */
	struct sfs_reader_turn *given; /* the caller has its bytes */

	pthread_mutex_t lock; /* guards is_done and err of the turns */
	pthread_cond_t wake;
	struct sfs_reader_turn turns[SFS_READER_READS_MAX];
};

/* Begin to read the file, which stays borrowed until sfs_reader_done(), from `offset` on:
 * n_bytes at a time, and n_reads (1 or 2) at a time; with 2, one is fetched while the
 * caller works on the other. */
void sfs_reader_begin(struct sfs_reader *p, struct sfs_file *file, uint64_t offset,
		      size_t n_bytes, int n_reads);

/* Wait for the next bytes; n_answered is 0 behind the end.  They are there until the next
 * call.  -EAGAIN: they have not come within `timeout_ms` (0: wait for as long as it
 * takes).  Others: why the read failed; there will be no more. */
int sfs_reader_next(struct sfs_reader *p, uint64_t timeout_ms,
		    const struct sfs_read **ret_read);

/* What does the next one wait for? */
void sfs_reader_explain(struct sfs_reader *p, struct sfs_cause *cause);

/* Take back what is under way, and give everything back. */
void sfs_reader_done(struct sfs_reader *p);

#endif
