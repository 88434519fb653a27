/* SPDX-License-Identifier: MIT */
/* verbs-receiver-internal - what verbs-receiver.c (messages, and the loop),
 * verbs-receiver-connections.c (who connects and leaves, and proves that it has the
 * secret) and verbs-receiver-slots.c (who gets which slots and credits) share. */
#ifndef SFS_VERBS_RECEIVER_INTERNAL_H
#define SFS_VERBS_RECEIVER_INTERNAL_H

#include "transport/receiver.h"

#include "transport/auth.h"
#include "transport/guard.h"
#include "transport/sessions.h"
#include "verbs-link.h"
#include "verbs-placement.h"
#include "verbs-wire.h"

#define SFS_VERBS_CONNECTIONS SFS_VERBS_SLOTS_MAX

/* A device that connections use. */
struct sfs_verbs_domain {
	struct ibv_context *verbs; /* NULL: free */
	struct ibv_pd *pd;
	struct sfs_verbs_placement ring;
	uint32_t n_users;
};

struct sfs_verbs_connection {
	struct rdma_cm_id *id; /* NULL: free */
	struct sfs_verbs_link link;
	struct sfs_verbs_domain *domain;
	char peer[SFS_VERBS_PEER_MAX];
	struct sfs_session *session; /* NULL before its layout came */
	struct sfs_wire_hello hello;
	struct sfs_verbs_slots slots;
	struct sfs_auth auth;
	uint64_t heard_ns, said_ns, credit_said; /* heard_ns: a stranger's first */
	bool has_said_ended;
	bool is_stranger, may_not_write, is_refused;
};

struct sfs_receiver {
	struct sfs_sessions sessions;
	struct sfs_guard guard;
	struct sfs_verbs_url url;
	char *source;
	struct rdma_event_channel *events;
	struct rdma_cm_id *listener; /* NULL: its device was removed */
	uint64_t listen_ns;	     /* then: when it was last tried */
	struct sfs_verbs_domain domains[SFS_VERBS_CONNECTIONS];
	struct sfs_verbs_connection connections[SFS_VERBS_CONNECTIONS];
	unsigned char *slots; /* of the ring; */
	uint64_t stride;
	void *spare[SFS_VERBS_SLOTS_MAX]; /* taken, and given to nobody */
	uint32_t n_spare;
};

/* ---- connections */

/* Someone wants to connect, and says these n bytes. */
void sfs_verbs_receiver_request(struct sfs_receiver *r, struct rdma_cm_id *id,
				const void *bytes, size_t n);

/* A stranger's message.  0 even if it was refused: it hears why. */
int sfs_verbs_receiver_take_proof(struct sfs_receiver *r, struct sfs_verbs_connection *c,
				  const unsigned char *bytes, size_t n,
				  struct sfs_error *err);

int sfs_verbs_receiver_say(struct sfs_verbs_connection *c,
			   const struct sfs_wire_message *m, struct sfs_error *err);

/* End it: in silence; with a warning; or, because it broke, with one unless it has all
 * that it wanted, and has just left. */
void sfs_verbs_receiver_forget(struct sfs_receiver *r, struct sfs_verbs_connection *c);
void sfs_verbs_receiver_drop(struct sfs_receiver *r, struct sfs_verbs_connection *c,
			     const char *why);
void sfs_verbs_receiver_lose(struct sfs_receiver *r, struct sfs_verbs_connection *c,
			     const char *why);

/* ---- slots and credits */

/* What it has not filled is nobody's. */
void sfs_verbs_receiver_take_back_slots(struct sfs_receiver *r,
					struct sfs_verbs_connection *c);

/* Give slots that are free to who has fewest, and tell all what is credited. */
void sfs_verbs_receiver_give_credits(struct sfs_receiver *r);

/* Does somebody want a slot, and has none? */
bool sfs_verbs_receiver_has_hungry(const struct sfs_receiver *r);

#endif
