/* SPDX-License-Identifier: MIT */
/* snapshot - the text of README or of a file in .shufflefs/, as it was at one moment.
 *
 * Such a text is made when somebody looks at the file, or opens it.  Its size and its
 * time are what the file shows until somebody looks again; who opens it after a look gets
 * the same text, and so do all who open it within a second while it is open.  Texts are
 * charged to an account of the budget.  Any thread may call; nothing waits.
 */
#ifndef SFS_SNAPSHOT_H
#define SFS_SNAPSHOT_H

#include "base/ledger.h"
#include "base/strbuf.h"
#include "io/request.h"

#include <stdint.h>

struct sfs_engine;
struct sfs_snapshot;
struct sfs_snapshots;

/* Write a text; NULL: the file is the ledger. */
typedef void sfs_snapshot_print(struct sfs_engine *engine, struct sfs_strbuf *text);

/* The snapshots of n files. */
struct sfs_snapshots *sfs_snapshots_new(struct sfs_engine *engine, unsigned n);
void sfs_snapshots_free(struct sfs_snapshots *all); /* all are closed; NULL is fine */

/* The size of file i, and when it changed (nanoseconds since 1970). */
void sfs_snapshot_look(struct sfs_snapshots *all, unsigned i, sfs_snapshot_print *print,
		       uint64_t *ret_size, uint64_t *ret_mtime_ns);

/* -ENOMEM: the budget has no room for it. */
int sfs_snapshot_open(struct sfs_snapshots *all, unsigned i, sfs_snapshot_print *print,
		      struct sfs_snapshot **ret);
void sfs_snapshot_close(struct sfs_snapshot *snapshot); /* NULL is fine */

/* Answer a read: see request.h.  -ESTALE: some lines of the ledger were dropped since. */
void sfs_snapshot_read(const struct sfs_snapshot *snapshot, struct sfs_read *read);

#endif
