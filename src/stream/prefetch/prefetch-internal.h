/* SPDX-License-Identifier: MIT */
/* prefetch-internal - what the two kinds of prefetch share: that of lanes
 * (prefetch-lanes.h) and that of single samples (prefetch-singles.c). */
#ifndef SFS_PREFETCH_INTERNAL_H
#define SFS_PREFETCH_INTERNAL_H

#include "stream/prefetch/prefetch.h"

/* What a kind does; see prefetch.h for each. */
struct sfs_prefetch_ops {
	void (*free)(struct sfs_prefetch *p);
	int (*peek)(struct sfs_prefetch *p, struct sfs_prefetch_next *ret_next);
	void (*take)(struct sfs_prefetch *p);
	void (*released)(struct sfs_prefetch *p, struct sfs_slice_buffer *buffer);
	void (*arrive)(struct sfs_prefetch *p, struct sfs_part *part,
		       struct sfs_prefetch_loss *ret_loss);
	bool (*needs)(struct sfs_prefetch *p, const struct sfs_prefetch_loss *loss);
	bool (*pump)(struct sfs_prefetch *p, bool is_awaited, struct sfs_deferred *out);
	bool (*has_all)(const struct sfs_prefetch *p);
	bool (*is_sated)(struct sfs_prefetch *p);
	enum sfs_wait (*wait_cause)(const struct sfs_prefetch *p, uint64_t *ret_since_ns);
	void (*explain)(const struct sfs_prefetch *p, struct sfs_cause *cause);
	bool (*waits)(const struct sfs_prefetch *p); /* NULL: it never does */
	uint64_t (*live_bytes)(const struct sfs_prefetch *p);
};

struct sfs_prefetch {
	const struct sfs_prefetch_ops *ops;
	struct sfs_runtime *runtime;
	const struct sfs_order *order;
	struct sfs_account *account;
	struct sfs_prefetch_owner owner;
	struct sfs_link parts; /* in flight, the oldest first */
	uint32_t n_in_flight;
	bool is_refused;	/* by the account, at the last request */
	uint64_t arrived_bytes; /* that are kept */
	uint64_t kept_bytes;	/* see sfs_prefetch_set_kept() */
};

/* A request for the memory of iov, or (then `request` is empty) for a range. */
struct sfs_part {
	struct sfs_prefetch *prefetch;
	int err;
	struct sfs_link link;	      /* in prefetch->parts */
	struct sfs_deferred_call job; /* to submit it */
	struct sfs_link ended;	      /* the owner's */
	struct sfs_request request;
	struct iovec *iov;
	_Atomic uint64_t begun_ns; /* see sfs_request */
};

/* ---- prefetch.c: what both kinds have in common ---- */

/* Begin a part of either kind, or end it; the caller has it and its iov. */
void sfs_part_begin(struct sfs_prefetch *p, struct sfs_part *part);
void sfs_part_end(struct sfs_part *part);

/* Submit its request, which has object, offset, n_bytes, n_iov and is_urgent; and, if its
 * bytes can be used before all are there, sfs_part_ready() as ready. */
void sfs_part_submit(struct sfs_part *part, struct sfs_deferred *out);
void sfs_part_ready(struct sfs_request *request);

/* What a read waits for that waits for this part of the object.  If for the NETWORK,
 * since *ret_since_ns, or (UINT64_MAX) nobody knows since when. */
enum sfs_wait sfs_part_wait(const struct sfs_part *part, const struct sfs_object *object,
			    uint64_t *ret_since_ns);

/* How many lanes share the budget; the size of a part over a path; the path that decides
 * how much is requested ahead; and how many parts may be in flight. */
uint64_t sfs_prefetch_open_lanes(const struct sfs_prefetch *p);
uint64_t sfs_prefetch_part_over(const struct sfs_prefetch *p,
				const struct sfs_netpath *path);
struct sfs_netpath sfs_prefetch_slowest_path(const struct sfs_runtime *runtime);
uint32_t sfs_prefetch_max_in_flight(const struct sfs_prefetch *p);

/* One of each kind; see sfs_prefetch_new(). */
int sfs_prefetch_lanes_new(const struct sfs_prefetch_settings *settings,
			   struct sfs_locator *locator, const struct sfs_spot *at,
			   struct sfs_prefetch **ret_prefetch);
struct sfs_prefetch *sfs_prefetch_singles_new(
	const struct sfs_prefetch_settings *settings, const struct sfs_spot *at);
void sfs_prefetch_init(struct sfs_prefetch *p, const struct sfs_prefetch_ops *ops,
		       const struct sfs_prefetch_settings *settings);

#endif
