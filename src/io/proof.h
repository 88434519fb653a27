/* SPDX-License-Identifier: MIT */
/* proof - proves that the stretches of a stream begin where samples do.
 *
 * Where a stretch begins may be guessed (catalog/stretches.h).  That is right if the
 * headers from the start of the shard on lead there.  Others may read them: the streams
 * that have the stretches before.  What nobody reads is scanned for its headers, a few
 * shards at a time; from then on their tables are known, and indexes kept.  So are the
 * shards scanned for whose tables stretches wait, as nothing can be guessed there.
 *
 * The owner's lock is held in all calls.  Nothing waits: the owner is woken when there is
 * something to do, and calls sfs_proof_run().
 */
#ifndef SFS_PROOF_H
#define SFS_PROOF_H

#include "catalog/stretches.h"
#include "io/header-scan.h"
#include "order/order.h"

struct sfs_proof;

struct sfs_proof_owner {
	void *ctx;
	pthread_mutex_t *lock;
	void (*wake)(void *ctx); /* on any thread, perhaps with the lock held */
};

/* How much may be done for it now? */
enum sfs_proof_effort {
	SFS_PROOF_NONE,	 /* only what stretches wait for */
	SFS_PROOF_QUIET, /* headers that no open stream will read, not urgently */
	SFS_PROOF_ALL,	 /* whatever it takes; but other streams get some seconds */
};

/* For the stretches of an order, which are those of the set.  All of it stays borrowed
 * but the owner. */
struct sfs_proof *sfs_proof_new(struct sfs_runtime *runtime,
				struct sfs_header_scanner *scanner,
				struct sfs_stretch_set *set,
				const struct sfs_order *order,
				const struct sfs_proof_owner *owner);
void sfs_proof_free(struct sfs_proof *p); /* NULL is fine; it must be idle */

/* Go on.  true: more is proven, or failed, or stretches that waited have their tables:
 * the owner should see what that changes. */
bool sfs_proof_run(struct sfs_proof *p, enum sfs_proof_effort effort);

/* 0: all begin where samples do.  -EAGAIN: that is not known yet.  Others: a guess was
 * wrong, the shard is damaged before a stretch (both for good, and the ledger has it), or
 * its headers could not be read, which is tried again after two seconds. */
int sfs_proof_state(struct sfs_proof *p);

/* The last one: what scans ended with in the last two seconds, or 0. */
int sfs_proof_err(const struct sfs_proof *p);

/* Has it anything to do that time brings? */
bool sfs_proof_needs_tick(const struct sfs_proof *p);

/* What does it wait for? */
void sfs_proof_explain(struct sfs_proof *p, struct sfs_cause *cause);

/* How many shards are not proven yet? */
uint32_t sfs_proof_left(const struct sfs_proof *p);

/* Begin nothing more, and leave what was begun.  Idle: nothing calls back any more. */
void sfs_proof_close(struct sfs_proof *p);
bool sfs_proof_is_idle(const struct sfs_proof *p);

#endif
