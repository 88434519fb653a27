/* SPDX-License-Identifier: MIT */
/* verbs-link - one RDMA connection: its queue pair, messages, and writes.
 *
 * Messages have at most SFS_VERBS_MESSAGE_MAX bytes; as many may be on their way as have
 * a receive posted at the peer, by the rules of the protocol.  Whatever goes wrong is
 * final for the link: close it and make another.  One thread.
 */
#ifndef SFS_VERBS_LINK_H
#define SFS_VERBS_LINK_H

#include "verbs-wire.h"

#include "base/error.h"

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SFS_VERBS_MESSAGE_MAX 2048
#define SFS_VERBS_DEPTH	      160 /* messages each way; more than 2 * slots + 8 */
#define SFS_VERBS_WRITE_MAX   (1ULL << 30)

/* A range that is registered with a device. */
struct sfs_verbs_range {
	struct ibv_mr *mr; /* NULL: none */
	bool is_relaxed;   /* the caller's: writes of its card may pass each other */
	enum sfs_verbs_memory memory;
};

/* Register n bytes of the host's memory for the device of `pd`, for writes of the peer if
 * `is_remote`. */
int sfs_verbs_register(struct ibv_pd *pd, void *at, uint64_t n, bool is_remote,
		       struct sfs_verbs_range *ret, struct sfs_error *err);
void sfs_verbs_unregister(struct sfs_verbs_range *range); /* of NULL is fine */

struct sfs_verbs_link {
	struct rdma_cm_id *id; /* the caller's */
	struct ibv_comp_channel *completions;
	struct ibv_cq *cq;
	struct sfs_verbs_range range;
	unsigned char *buffers;	 /* first those of receives, then those of sends */
	uint32_t n_inline;	 /* bytes that may be sent from anywhere */
	uint32_t n_busy, n_free; /* work requests that were posted, and may be */
	uint32_t n_open;	 /* of n_busy: not reported by a send yet */
	uint32_t n_flying;	 /* sends that were posted */
	uint32_t n_sends;	 /* ever */
	uint32_t n_events;	 /* not acknowledged */
	int repost;		 /* receive to be posted again; < 0: none */
};

/* Make a queue pair for `id`, whose route is resolved (or which asks to be accepted), and
 * post all receives.  -ENOMEM: its buffers cannot be registered; others; with an error. */
int sfs_verbs_link_open(struct sfs_verbs_link *link, struct rdma_cm_id *id,
			struct ibv_pd *pd, struct sfs_error *err);
/* After it no byte of the peer arrives any more.  `id` stays. */
void sfs_verbs_link_close(struct sfs_verbs_link *link); /* a zeroed one is fine */

/* Readable when sfs_verbs_link_next() may have something, after it was armed. */
int sfs_verbs_link_fd(const struct sfs_verbs_link *link);
int sfs_verbs_link_arm(struct sfs_verbs_link *link, struct sfs_error *err);
void sfs_verbs_link_take_events(struct sfs_verbs_link *link);

/* The next message, until the next call.  0: there is none now; 1; < 0, with an error. */
int sfs_verbs_link_next(struct sfs_verbs_link *link, const unsigned char **ret_bytes,
			size_t *ret_n, struct sfs_error *err);

/* Is there room for `n` writes and a message? */
bool sfs_verbs_link_has_room(const struct sfs_verbs_link *link, uint32_t n);
int sfs_verbs_link_send(struct sfs_verbs_link *link, const void *bytes, size_t n,
			struct sfs_error *err);
/* Arrives before the message that is sent next. */
int sfs_verbs_link_write(struct sfs_verbs_link *link, const struct sfs_verbs_range *from,
			 const void *bytes, uint64_t n, uint64_t address, uint32_t rkey,
			 struct sfs_error *err);

/* May the peer write into memory that is registered for it?  At first it may.  -errno,
 * with an error: the driver cannot change that now. */
int sfs_verbs_link_let_write(struct sfs_verbs_link *link, bool may,
			     struct sfs_error *err);

/* Wait until everything was sent, or failed, or `timeout_ms` are over. */
void sfs_verbs_link_flush(struct sfs_verbs_link *link, int timeout_ms);

/* An event channel that does not block.  -ENODEV: this host has no RDMA device; with an
 * error. */
int sfs_verbs_channel(struct rdma_event_channel **ret, struct sfs_error *err);

/* The addresses of a URL, to connect to (is_passive: to listen at); of several, each
 * attempt gets the next.  And an address of its device to connect from, if it names one
 * that tells it. */
struct sfs_verbs_place {
	struct sockaddr_storage address, from;
	bool has_from;
};
int sfs_verbs_resolve(const struct sfs_verbs_url *url, bool is_passive,
		      uint64_t n_attempt, struct sfs_verbs_place *ret,
		      struct sfs_error *err);

/* Before connecting or accepting: notice within seconds that the peer has gone. */
void sfs_verbs_set_ack_timeout(struct rdma_cm_id *id);

/* Which device of this host, of those with an active port, is nearest to the GPU at
 * `gpu` on PCI; a line on standard error tells. */
int sfs_verbs_find_nearest(const char *gpu, char *ret_name, size_t n_name,
			   struct sfs_error *err);

/* Is it the device that the URL names? */
int sfs_verbs_check_device(const struct sfs_verbs_url *url, const struct rdma_cm_id *id,
			   struct sfs_error *err);

/* Who the other end is: "10.0.0.1:1234", "[fd00::1]:1234". */
#define SFS_VERBS_PEER_MAX 80
void sfs_verbs_peer(const struct rdma_cm_id *id, char ret_peer[SFS_VERBS_PEER_MAX]);

#endif
