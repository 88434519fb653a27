/* SPDX-License-Identifier: MIT */
/* idx - the files shards/NAME.idx: a shard's index in DALI's format (dali.h), made of its
 * headers.
 *
 * Making one takes a survey, and time for a shard of many members: it is made on the
 * pool, once for all who have it open, and kept a moment for the next one.  Its memory is
 * held in the account of texts.  Any thread may call; nothing waits.
 */
#ifndef SFS_IDX_FILE_H
#define SFS_IDX_FILE_H

#include "base/strbuf.h"
#include "base/waiter.h"
#include "catalog/sizes.h"
#include "io/header-scan.h"
#include "io/runtime.h"

struct sfs_idx_file;
struct sfs_idx_files;

/* All are borrowed until sfs_idx_files_free(). */
struct sfs_idx_files *sfs_idx_files_new(struct sfs_runtime *runtime,
					struct sfs_sizes *sizes,
					struct sfs_header_scanner *scanner);

/* All must be closed, and the pool stopped.  NULL is fine. */
void sfs_idx_files_free(struct sfs_idx_files *idx_files);

/* 0: close it.  -EINPROGRESS: wait.  -ENOMEM: the budget has no room for it; -EILSEQ,
 * -ENODATA: DALI's format cannot hold it; -EIO: the shard is damaged; others are the
 * source's. */
int sfs_idx_file_open(struct sfs_idx_files *idx_files, struct sfs_shard *shard,
		      struct sfs_waiter *waiter, struct sfs_idx_file **ret_idx);
void sfs_idx_file_close(struct sfs_idx_file *idx);

const struct sfs_strbuf *sfs_idx_file_text(const struct sfs_idx_file *idx);

/* Every second: what nobody has opened again is dropped. */
void sfs_idx_files_tick(struct sfs_idx_files *idx_files);

#endif
