/* SPDX-License-Identifier: MIT */
/* epochs-internal - what epochs.c (names, folders and files) and epochs-xattrs.c
 * (extended attributes) share. */
#ifndef SFS_EPOCHS_INTERNAL_H
#define SFS_EPOCHS_INTERNAL_H

#include "engine/engine.h"
#include "tree/epochs.h"

struct sfs_epochs {
	struct sfs_engine *engine;
	struct sfs_names *names;
	struct sfs_order_files *order_files;
};

/* With equal lanes the length of a stream is exact. */
bool sfs_epochs_is_exact(const struct sfs_epochs *e);
bool sfs_epochs_is_text_name(const struct sfs_name *name);
/* Not for epochs/ itself. */
struct sfs_name sfs_epochs_name(struct sfs_epochs *e, uint64_t node);
struct sfs_stream *sfs_epochs_open_stream(struct sfs_epochs *e, uint64_t node);
int sfs_epochs_know_sizes(struct sfs_epochs *e, struct sfs_waiter *waiter);
/* Request what a stream needs: sizes, and perhaps all samples. */
int sfs_epochs_know_shards(struct sfs_epochs *e, struct sfs_waiter *waiter);
/* Find where the first sample of a name begins in its stream, and where the stream ends.
 * The shards are known. */
int sfs_epochs_locate(struct sfs_epochs *e, uint64_t node, const struct sfs_name *name,
		      struct sfs_waiter *waiter, struct sfs_place *ret_place);
/* The bytes of the stream that a file has: without @K all, to the end of the archive.
 * *ret_is_sure: the size cannot turn out to be wrong. */
int sfs_epochs_find_extract(struct sfs_epochs *e, uint64_t node,
			    struct sfs_waiter *waiter, struct sfs_extract *ret,
			    bool *ret_is_sure);

#endif
