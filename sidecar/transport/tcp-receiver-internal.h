/* SPDX-License-Identifier: MIT */
/* tcp-receiver-internal - what tcp-receiver.c (messages and batches, and the loop) and
 * tcp-receiver-connections.c (who connects and leaves, and proves that it has the secret)
 * share. */
#ifndef SFS_TCP_RECEIVER_INTERNAL_H
#define SFS_TCP_RECEIVER_INTERNAL_H

#include "transport/receiver.h"

#include "transport/auth.h"
#include "transport/guard.h"
#include "transport/sessions.h"
#include "transport/socket.h"
#include "transport/wire.h"

#define SFS_TCP_CONNECTIONS 64

struct sfs_tcp_connection {
	int fd; /* -1: free */
	char peer[SFS_SOCKET_PEER_MAX];
	struct sfs_session *session; /* NULL before its layout came */
	struct sfs_wire_hello hello;
	struct sfs_auth auth; /* must_prove: its HELLO has come, and PROOF is next */
	bool must_prove, is_stranger, wants_slot, has_batch, has_said_ended;
	uint64_t begun_ns, heard_ns, said_ns, n_since_heard, credit_said;
	unsigned char in[SFS_WIRE_MESSAGE_MAX];
	size_t n_in;
	struct sfs_wire_message batch; /* has_batch: its data are coming */
	void *slot;		       /* NULL: they are dropped */
	uint64_t data_at;
};

struct sfs_receiver {
	struct sfs_sessions sessions;
	struct sfs_guard guard;
	char *source;
	int listen_fd;
	bool has_no_file; /* for a connection that wants to come */
	struct sfs_tcp_connection connections[SFS_TCP_CONNECTIONS];
	void *spare[SFS_SESSIONS_SLOTS_MAX]; /* taken, and not filled */
	uint32_t n_spare;
};

/* Those that want to connect; when places are short, in the places of others. */
void sfs_tcp_receiver_accept(struct sfs_receiver *r);

/* A stranger's first message, and with a secret its second. */
int sfs_tcp_receiver_take_hello(struct sfs_receiver *r, struct sfs_tcp_connection *c,
				struct sfs_error *err);
int sfs_tcp_receiver_take_proof(struct sfs_receiver *r, struct sfs_tcp_connection *c,
				struct sfs_error *err);

/* It hears why.  < 0, with an error that says it. */
int sfs_tcp_receiver_refuse(struct sfs_tcp_connection *c, enum sfs_wire_code code,
			    const char *why, struct sfs_error *err);

void sfs_tcp_receiver_say(struct sfs_tcp_connection *c, const struct sfs_wire_message *m);

/* End it: in silence, or with a warning. */
void sfs_tcp_receiver_forget(struct sfs_receiver *r, struct sfs_tcp_connection *c);
void sfs_tcp_receiver_drop(struct sfs_receiver *r, struct sfs_tcp_connection *c,
			   const char *why);

#endif
