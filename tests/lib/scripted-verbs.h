/* SPDX-License-Identifier: MIT */
/* scripted-verbs - libibverbs and librdmacm, as far as rdma/ uses them, over TCP, for hosts
 * without a card.  What goes wrong is written in a script.
 *
 * tests/lib/scripted/rdma.so is the plug-in with these two files in the place of the two
 * libraries.  They are stricter than a driver: a completion queue that overflows, or an
 * object that is destroyed while another uses it, ends the process.
 *
 * $SCRIPTED_VERBS has words with spaces between them.  The N-th work request is counted
 * from 1 over the life of the process:
 *
 *	cut@N	      the connection breaks before the N-th is carried out
 *	unheard@N     it breaks after that, before anybody hears of it
 *	silent@N      from the N-th on it carries nothing, and tells nobody
 *	removed@N     the device is removed then; the next two attempts to find it fail
 *	full@N	      the N-th cannot be posted
 *	CALL#N	      the N-th call fails: reg_mr alloc_pd create_cq create_qp bind resolve
 *		      route connect accept
 *	random:SEED:M one work request in M meets one of the first three but silence, or
 *		      the fifth; and one in 8 calls of create_qp, resolve, route, connect and
 *		      accept fails
 *	padded	      private data have zeros behind them, as on InfiniBand
 *
 * How this works: one thread, the card, carries the frames of all connections.  All
 * objects are under one lock, and the card copies under it, too: so no byte arrives in
 * memory that is not registered any more, or over a queue pair that was destroyed.
 */
#ifndef SCRIPTED_VERBS_H
#define SCRIPTED_VERBS_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCRIPTED_PRIVATE_MAX 256

enum scripted_fault { NO_FAULT, CUT, UNHEARD, SILENT, REMOVED, FULL };

enum frame_kind { REQUEST = 1, ACCEPT, REJECT, READY, WRITE, SEND, ACK, NAK, GOODBYE };

struct frame {
	uint32_t kind, n; /* bytes behind it */
	uint64_t address; /* WRITE; ACK: how many work requests were carried out */
	uint64_t key;
};

struct send {
	uint64_t wr_id, address, length, remote;
	uint32_t lkey, rkey;
	enum ibv_wr_opcode opcode;
	bool is_signaled, is_inline;
	enum scripted_fault fault;
	unsigned char bytes[64]; /* that are inline */
};

struct receive {
	uint64_t wr_id, address, length;
};

struct bytes { /* that grow */
	unsigned char *at;
	size_t n, from, room;
};

enum id_state {
	IDLE,
	LISTENING,
	ASKED,	   /* it was asked for a connection */
	ASKING,	   /* it has asked for one */
	CONNECTED,
	LOST,	   /* the connection is broken, and its user knows */
	MUTE,	   /* the connection is broken, and its user does not know */
};

struct id {
	struct rdma_cm_id base;
	enum id_state state;
	int fd; /* -1: none */
	bool is_cards;	     /* its user does not know of it yet */
	bool is_zombie;	     /* destroyed; it goes when it has written everything */
	bool is_removed;     /* with its device */
	bool breaks_when_written;
	struct bytes in, out;
	int n_events; /* not acknowledged */
	unsigned char private[SCRIPTED_PRIVATE_MAX];
	struct qp *qp;
	struct id *next;
};

struct qp {
	struct ibv_qp base;
	struct id *id;
	unsigned access;
	struct ibv_qp_cap cap;
	struct send *sends;	  /* by number % max_send_wr */
	uint64_t n_posted, n_sent, n_acked;
	struct receive *receives; /* by number % max_recv_wr */
	uint64_t n_receives, n_used;
	uint64_t n_served; /* the peer's work requests that were carried out */
	bool is_broken;
};

/* ---- the lock, the card and the script: scripted-verbs.c */

void scripted_lock(void);
void scripted_unlock(void);
void scripted_wake_card(void); /* also starts it */
struct ibv_context *scripted_device(void); /* NULL: it was removed */
bool scripted_fails(const char *call);
bool scripted_is_padded(void);
void scripted_put(struct bytes *b, const void *from, size_t n);
void scripted_put_frame(struct id *id, const struct frame *f, const void *bytes);

/* A misuse that would hang, or corrupt memory, with a real library. */
_Noreturn void scripted_abort(const char *what);

void *scripted_alloc(size_t n); /* zeroed */

/* All that was posted fails, the first with `status`. */
void scripted_flush(struct qp *qp, enum ibv_wc_status status);

/* All ids, those of connections and listeners. */
extern struct id *scripted_ids;

/* ---- the connection manager: scripted-cm.c; under the lock */

void scripted_event(struct id *id, struct id *listener, enum rdma_cm_event_type kind,
		    int status, const void *private, size_t n);
/* A frame that is no work request's. */
void scripted_cm_frame(struct id *id, const struct frame *f, const unsigned char *bytes);
/* Somebody knocks at a listener. */
void scripted_cm_knock(struct id *listener);
/* The connection is lost: its queue pair fails with `status`, and its user hears of it. */
void scripted_cm_lose(struct id *id, enum ibv_wc_status status);
void scripted_cm_remove_device(void);
void scripted_cm_free(struct id *id);

#endif
