/* SPDX-License-Identifier: MIT */
/* outbox - the batches that a sender holds until its receiver has credited them.
 *
 * Batch number seq lies in slot seq % n_slots of `memory`.  The producer's thread calls
 * take(), send() and finish() of transport.h; the thread of the connection asks what
 * there is to send, and tells what was credited.  Connections come and go; the outbox
 * stays.
 */
#ifndef SFS_OUTBOX_H
#define SFS_OUTBOX_H

#include "transport/transport.h"
#include "transport/wire.h"

#include "base/error.h"
#include "base/json-writer.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct sfs_outbox {
	/* Do not change. */
	char *target;
	struct shufflefs_layout layout;
	uint32_t n_slots, give_up_ms;
	const struct sfs_secret *secret; /* borrowed; NULL: none */
	uint64_t session, stride;
	uint32_t process;
	unsigned char *memory; /* n_slots, stride apart */
	struct sfs_batch_info *infos;
	uint32_t *crcs;
	int wake_fd; /* readable: there is something new for the connection's thread */

	/* Its own. */
	bool has_crc;
	pthread_mutex_t lock; /* guards: */
	pthread_cond_t changed;
	uint64_t n_sent, credited; /* batches; both only grow */
	uint64_t skipped;	   /* batches that the receiver had of others */
	uint64_t n_connections;
	bool is_finishing, is_stopping;
	bool has_ended;			 /* the receiver knows the end, and has all */
	int error;			 /* final; */
	struct sfs_error why;		 /* and its sentence */
	char failure[SFS_WIRE_TEXT_MAX]; /* to be told; "" */
	bool has_failed;		 /* the stream, and not only this process */
};

int sfs_outbox_open(struct sfs_outbox *box, const struct sfs_transport_settings *settings,
		    const struct shufflefs_layout *layout, struct sfs_error *err);
/* After the connection's thread has ended. */
void sfs_outbox_close(struct sfs_outbox *box);

/* The producer's, as in transport.h. */
int sfs_outbox_take(struct sfs_outbox *box, int timeout_ms, void **ret_slot,
		    struct sfs_error *err);
int sfs_outbox_send(struct sfs_outbox *box, const struct sfs_batch_info *info,
		    struct sfs_error *err);
int sfs_outbox_finish(struct sfs_outbox *box, int timeout_ms, struct sfs_error *err);
void sfs_outbox_fail(struct sfs_outbox *box, const char *why);
void sfs_outbox_leave(struct sfs_outbox *box, const char *why);
int sfs_outbox_check(struct sfs_outbox *box, struct sfs_error *err);
int sfs_outbox_wait_told(struct sfs_outbox *box, int timeout_ms);
void sfs_outbox_describe(struct sfs_outbox *box, struct sfs_json_writer *json);
/* The connection's thread is to end. */
void sfs_outbox_stop(struct sfs_outbox *box);

/* The connection's thread: */
struct sfs_outbox_state {
	uint64_t n_sent, credited;
	bool is_finishing, is_stopping, has_ended, has_failed;
	char failure[SFS_WIRE_TEXT_MAX];
};
void sfs_outbox_look(struct sfs_outbox *box, struct sfs_outbox_state *ret);
/* `next`: the batch that comes next.  All has arrived; or the stream has failed, and its
 * last batch was sent; or the sender leaves. */
bool sfs_outbox_must_say_bye(const struct sfs_outbox_state *state, uint64_t next);
uint64_t sfs_outbox_credited(struct sfs_outbox *box);
bool sfs_outbox_is_stopping(struct sfs_outbox *box);
/* Wait for `events` of fd (-1: none), for sfs_outbox_stop(), or until `until_ns`.  0: an
 * event; -ETIMEDOUT; -ECANCELED. */
int sfs_outbox_wait_for(struct sfs_outbox *box, int fd, short events, uint64_t until_ns);
/* The receiver has all, and knows that it is all: it may hang up. */
bool sfs_outbox_has_arrived(struct sfs_outbox *box);
struct sfs_wire_hello sfs_outbox_hello(struct sfs_outbox *box);

/* The receiver's answer; reply->resume is what is to be sent next.  -EBUSY: try again;
 * -ECONNABORTED: for good; with an error. */
int sfs_outbox_take_reply(struct sfs_outbox *box, const struct sfs_wire_reply *reply,
			  struct sfs_error *err);
void sfs_outbox_take_credit(struct sfs_outbox *box, uint64_t credited, bool has_ended);
void sfs_outbox_fail_for_good(struct sfs_outbox *box, int error,
			      const struct sfs_error *why);

#endif
