/* SPDX-License-Identifier: MIT */
/* random - reads of a stream that are far from all of its cursors.
 *
 * Only the bytes of such a read are fetched.  The locator of the epoch says which they
 * are, from the tables of its shards; shards whose table is not known are scanned first.
 * Reads that continue one another are offered to the owner, who may start a cursor.
 *
 * The owner's lock is held in all calls.  Nothing waits.
 */
#ifndef SFS_RANDOM_H
#define SFS_RANDOM_H

#include "base/deferred.h"
#include "io/gather.h"
#include "io/header-scan.h"
#include "io/proof.h"
#include "io/request.h"
#include "io/runtime.h"
#include "io/sequential.h"
#include "order/locate.h"
#include "order/order.h"

/* Where a sample of a stream is, and how many samples the stream has. */
struct sfs_place {
	uint64_t offset;		/* of the sample, bytes; at most `end` */
	uint64_t end, n_samples;	/* of all samples of the stream */
	uint32_t n_repeated, n_dropped; /* of them, by equal= */
};

struct sfs_random_owner {
	void *ctx;
	pthread_mutex_t *lock;
	/* Call sfs_random_run() soon.  Called with the lock held. */
	void (*wake)(void *ctx);
	/* Answer the read from a new cursor at this spot (NULL: at the stream's start).
	 * `key_before`: sfs_rewrite_key() of the sample before.
	 * false: not now; the read goes on as a random one. */
	bool (*take_over)(void *ctx, struct sfs_read *read, const struct sfs_spot *at,
			  uint64_t key_before, struct sfs_deferred *out);
};

struct sfs_random_reads {
	struct sfs_runtime *runtime;
	struct sfs_header_scanner *scanner;
	const struct sfs_order *order;
	struct sfs_random_owner owner;
	struct sfs_locator locator;
	bool has_locator;
	uint32_t *schedule; /* dealt shards, in the order in which they fall due */
	uint32_t n_scheduled;
	uint32_t next_scan;    /* of the schedule; those before are known */
	const struct sfs_stretch_set *stretches; /* that the order has; or NULL */
	struct sfs_proof *proof;		 /* of these */
	uint32_t n;	       /* reads that have not gone */
	struct sfs_link ready; /* whose scan has ended */
	struct sfs_link proving; /* at the end of the stream, until that is proven */
	struct sfs_sequential sequential;
};

/* Everything stays borrowed.  The order need not be there before the first read. */
void sfs_random_init(struct sfs_random_reads *all, struct sfs_runtime *runtime,
		     struct sfs_header_scanner *scanner, const struct sfs_order *order,
		     const struct sfs_random_owner *owner);
void sfs_random_done(struct sfs_random_reads *all); /* all->n must be 0 */

/* Begin a read; read->state is ours until the read is answered or taken over.  -ESTALE
 * and -ECANCELED reach the reader as they are, other errors as -EIO. */
void sfs_random_read(struct sfs_random_reads *all, struct sfs_read *read,
		     struct sfs_deferred *out);

/* Go on with reads whose scans have ended; or, when closing, end them. */
void sfs_random_run(struct sfs_random_reads *all, bool is_closing,
		    struct sfs_deferred *out);

/* Does a read wait until all samples of the stream are proven to be ones? */
bool sfs_random_needs_proof(const struct sfs_random_reads *all);

/* Take a read back.  false: it was answered. */
bool sfs_random_cancel(struct sfs_random_reads *all, struct sfs_read *read);

/* What does a read wait for? */
void sfs_random_explain(const struct sfs_read *read, struct sfs_cause *cause);

/* A read of bytes whose places the owner knows: its gather, to be filled now.  It begins
 * when `out` is run. */
struct sfs_gather *sfs_random_gather(struct sfs_random_reads *all, struct sfs_read *read,
				     struct sfs_deferred *out);

/* See sfs_stream_locate() and sfs_stream_number(). */
int sfs_random_locate(struct sfs_random_reads *all, uint64_t number,
		      struct sfs_waiter *waiter, struct sfs_place *ret_place);
int sfs_random_number(struct sfs_random_reads *all, uint64_t offset,
		      struct sfs_waiter *waiter, uint64_t *ret_number);

/* Release an answer: after done(0). */
void sfs_random_release(struct sfs_random_reads *all, struct sfs_read *read);

#endif
