/* SPDX-License-Identifier: MIT */
/* order-file - the order of a stream as text, or its index, for readers.
 *
 * The pool makes a few thousand lines at a time (order-maker.h), so a read that is
 * cancelled costs nothing more.
 *
 * All readers of the same order share one file.  Their memory is charged to an account,
 * up to half of the budget for all files.  Any thread may call; nothing waits.
 */
#ifndef SFS_ORDER_FILE_H
#define SFS_ORDER_FILE_H

#include "io/request.h"
#include "io/runtime.h"
#include "tree/names.h"
#include "tree/order-maker.h"

struct sfs_order_file;
struct sfs_order_files;

/* The sizes of texts are kept in `names`. */
struct sfs_order_files *sfs_order_files_new(struct sfs_runtime *runtime,
					    struct sfs_names *names);

/* All must be closed, and the pool stopped.  NULL is fine. */
void sfs_order_files_free(struct sfs_order_files *files);

/* The size of a text.  It takes as long as making it, so it is found once for a name.
 * All tables and members must be in memory, and stay there.
 * 0.  -EINPROGRESS: wait.  -ENOMEM: no room in the budget.  -EILSEQ, -ENODATA: DALI's
 * format cannot represent it; the ledger says why. */
int sfs_order_file_measure(struct sfs_order_files *files,
			   const struct sfs_order_text *text, struct sfs_waiter *waiter,
			   struct sfs_text_size *ret_size);

/* Open a text.  As above; an index must have been measured.  No read may be in progress
 * at close. */
struct sfs_order_file *sfs_order_file_open(struct sfs_order_files *files,
					   const struct sfs_order_text *text);
void sfs_order_file_close(struct sfs_order_file *file); /* NULL is fine */

/* Start a read (request.h); it is clipped at the end of the text.  -ENOMEM: the budget
 * has no room for the order. */
void sfs_order_file_read(struct sfs_order_file *file, struct sfs_read *read);

/* How many lines were made so far, repeated ones counted each time (for tests). */
uint64_t sfs_order_file_lines(struct sfs_order_file *file);

#endif
