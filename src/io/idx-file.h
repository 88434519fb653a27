/* SPDX-License-Identifier: MIT */
/* idx-file - the files shards/NAME.idx: the index of a shard in DALI's format
 * (catalog/index-export.h), made from its headers.
 *
 * Making one takes a header scan, and time if the shard has many members: it is made on
 * the thread pool, once for all who have it open, and kept a moment for the next one.  Its
 * memory is charged to the account of texts.  Any thread may call; nothing waits.
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

/* Open the .idx of a shard; sfs_idx_file_close() closes it.
 * 0.  -EINPROGRESS: wait.  -ENOMEM: it does not fit the budget.  -EILSEQ, -ENODATA:
 * DALI's format cannot represent it.  -EIO: the shard is damaged.  Others: the source's.
 */
int sfs_idx_file_open(struct sfs_idx_files *idx_files, struct sfs_shard *shard,
		      struct sfs_waiter *waiter, struct sfs_idx_file **ret_idx);
void sfs_idx_file_close(struct sfs_idx_file *idx);

/* The size of what it opens; it is found once.  Errors as above. */
int sfs_idx_file_size(struct sfs_idx_files *idx_files, struct sfs_shard *shard,
		      struct sfs_waiter *waiter, uint64_t *ret_size);

/* Its content, valid until it is closed. */
const struct sfs_strbuf *sfs_idx_file_text(const struct sfs_idx_file *idx);

/* Call it every second: it drops what nobody has opened again. */
void sfs_idx_files_tick(struct sfs_idx_files *idx_files);

#endif
