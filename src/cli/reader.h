/* SPDX-License-Identifier: MIT */
/* reader - reads a file of the tree sequentially, as a program would read a mount.
 *
 * One thread, which waits.
 */
#ifndef SFS_READER_H
#define SFS_READER_H

#include "io/request.h"

#include <pthread.h>
#include <stdbool.h>

struct sfs_file;

#define SFS_READER_READS_MAX 2
#define SFS_READER_KEPT_MAX  16 /* answers, however short they are */
#define SFS_READER_TURNS     (SFS_READER_READS_MAX + SFS_READER_KEPT_MAX)

struct sfs_reader_turn {
	struct sfs_read read;
	struct sfs_reader *reader;
	uint64_t offset; /* in the file (that of `read` is the tree's to change) */
	bool is_started; /* and not released yet */
	bool is_kept;
	bool is_done;
	int err;
};

struct sfs_reader {
	struct sfs_file *file;
	uint64_t next_offset; /* of the next read */
	size_t n_bytes;	      /* of each */
	int n_reads;
	struct sfs_reader_turn *ahead[SFS_READER_READS_MAX]; /* in progress, in order */
	int n_ahead;
	struct sfs_reader_turn *lent; /* the caller has its bytes */
	int n_kept;

	pthread_mutex_t lock; /* guards is_done and err of the turns */
	pthread_cond_t wake;
	struct sfs_reader_turn turns[SFS_READER_TURNS];
};

/* Start to read the file from `offset` on, with n_reads (1 or 2) of n_bytes at a time;
 * with 2, one is fetched while the caller works on the other.  The file stays borrowed
 * until sfs_reader_done(). */
void sfs_reader_begin(struct sfs_reader *p, struct sfs_file *file, uint64_t offset,
		      size_t n_bytes, int n_reads);

/* Wait for the next bytes, which stay valid until the next call; n_answered is 0 at the
 * end.  -EAGAIN: they have not arrived within `timeout_ms` (0: no limit).  Others: the
 * read failed, and there will be no more. */
int sfs_reader_next(struct sfs_reader *p, uint64_t timeout_ms,
		    const struct sfs_read **ret_read);

/* What next() gave last stays valid until it is dropped: if may_keep(), for no more than
 * SFS_READER_KEPT_MAX answers are kept. */
bool sfs_reader_may_keep(const struct sfs_reader *p);
void sfs_reader_keep(struct sfs_reader *p);

/* Release those kept answers that end at or before byte `until` of the file. */
void sfs_reader_drop(struct sfs_reader *p, uint64_t until);

/* What does the next read wait for?  Fills *cause. */
void sfs_reader_explain(struct sfs_reader *p, struct sfs_cause *cause);

/* Cancel the reads in progress, and release all bytes. */
void sfs_reader_done(struct sfs_reader *p);

#endif
