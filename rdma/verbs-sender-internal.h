/* SPDX-License-Identifier: MIT */
/* verbs-sender-internal - what verbs-sender.c (messages, batches, and the thread) and
 * verbs-sender-connecting.c (the way to a receiver, until it has accepted) share. */
#ifndef SFS_VERBS_SENDER_INTERNAL_H
#define SFS_VERBS_SENDER_INTERNAL_H

#include "transport/outbox.h"
#include "transport/patience.h"
#include "verbs-link.h"
#include "verbs-wire.h"

#include <pthread.h>

struct sfs_transport {
	struct sfs_outbox box;
	struct sfs_verbs_url url;
	pthread_t thread;

	/* The thread's: */
	struct rdma_event_channel *events;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct sfs_verbs_range range;
	struct sfs_verbs_link link;
	struct sfs_verbs_offer offer; /* n_slots == 0: none yet */
	struct sfs_verbs_slots slots;
	unsigned char private[256]; /* of the last event */
	size_t n_private;
	unsigned char hello[SFS_WIRE_HELLO_BYTES]; /* of this connection */
	uint64_t n_attempts;
	uint64_t next, highest; /* batch to write; every one below was written once */
	uint64_t heard_ns, said_ns;
	struct sfs_patience patience;
	bool has_said_layout, has_said_end, has_said_bye;

	_Atomic(const char *) placement; /* at the receiver's, as it said last */
};

/* ---- connecting: < 0 with an error, and final if it is -ECONNABORTED */

/* Connect; then hear what the receiver has answered to HELLO, with a secret after both
 * have proved it. */
int sfs_verbs_sender_connect(struct sfs_transport *t, struct sfs_error *err);
int sfs_verbs_sender_agree(struct sfs_transport *t, struct sfs_error *err);

/* Whatever of a connection there is. */
void sfs_verbs_sender_disconnect(struct sfs_transport *t);

/* The next event, acknowledged; -EAGAIN: none. */
int sfs_verbs_sender_take_event(struct sfs_transport *t, enum rdma_cm_event_type *ret,
				int *status);

/* The event is one that ends the connection: why. */
int sfs_verbs_sender_failed(struct sfs_transport *t, enum rdma_cm_event_type event,
			    int status, struct sfs_error *err);

/* ---- messages */

/* Until there is an event, a completion, or something to send. */
int sfs_verbs_sender_sleep_until_news(struct sfs_transport *t, struct sfs_error *err);

#endif
