/* SPDX-License-Identifier: MIT */
/* script - the order of a stream as text, made while it is read.
 *
 * A line for each sample: its position in the file, its offset there, its length, its
 * shard and its key, between tabs (docs/ORDER.md, section 8).  It is made on the pool, a
 * few thousand lines at a time, so that a read that is taken back costs nothing more.
 * Where a line begins is only known when those before it were made; from then on a read
 * anywhere begins at a mark near it.
 *
 * All who read the same order share one script.  What it takes is held in an account, up
 * to half of the budget for all of them.  Any thread may call; nothing waits.
 */
#ifndef SFS_ORDER_FILE_H
#define SFS_ORDER_FILE_H

#include "io/request.h"
#include "io/runtime.h"

struct sfs_order_file;
struct sfs_scripts;

struct sfs_scripts *sfs_scripts_new(struct sfs_runtime *runtime);

/* All must be closed, and the pool stopped.  NULL is fine. */
void sfs_scripts_free(struct sfs_scripts *scripts);

/* Of a part of an epoch, from its sample `first` on.  All tables and members must be
 * there, and stay so.  Close it when none of its reads is under way. */
struct sfs_order_file *sfs_order_file_open(struct sfs_scripts *scripts, uint64_t epoch,
					   struct sfs_share share, uint64_t first);
void sfs_order_file_close(struct sfs_order_file *script); /* NULL is fine */

/* Begin a read (read.h): it is clipped at the end of the text.  -ENOMEM: the budget has
 * no room for the order. */
void sfs_order_file_read(struct sfs_order_file *script, struct sfs_read *read);

/* How many lines were made, over and over, for its readers so far. */
uint64_t sfs_order_file_lines(struct sfs_order_file *script);

#endif
