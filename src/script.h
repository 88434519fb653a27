/* SPDX-License-Identifier: MIT */
/* script - the order of a stream as text, made while it is read.
 *
 * A line for each sample: its position in the file, its offset there, its length, its
 * shard and its key, between tabs (docs/ORDER.md, section 8).  Read from its start to its
 * end it is played through once; a read before the last one begins anew.
 *
 * All tables and members must be there, and stay so.  Any thread may call.
 */
#ifndef SFS_SCRIPT_H
#define SFS_SCRIPT_H

#include "env.h"
#include "read.h"

struct sfs_script;

/* Of a part of an epoch, from its sample `first` on. */
struct sfs_script *sfs_script_new(struct sfs_env *env, uint64_t epoch,
				  struct sfs_share share, uint64_t first);
void sfs_script_free(struct sfs_script *script); /* NULL is fine */

/* Answer a read, at once: it is clipped at the end of the text. */
void sfs_script_read(struct sfs_script *script, struct sfs_read *read);

#endif
