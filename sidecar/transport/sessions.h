/* SPDX-License-Identifier: MIT */
/* sessions - the streams that a receiver gets, whatever it gets them over, and the ring
 * that their batches go to.
 *
 * A session outlives its connections: it says which batch is wanted next.  One thread
 * calls all of it.
 */
#ifndef SFS_SESSIONS_H
#define SFS_SESSIONS_H

#include "transport/receiver.h"
#include "ring/ring.h"
#include "transport/wire.h"

#include "base/error.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define SFS_SESSIONS_MAX       512
#define SFS_SESSIONS_SLOTS_MAX 64

struct sfs_session {
	uint64_t id, expected, credited, lost_ns;
	uint32_t number, process;
	bool has_end, has_brought;   /* a batch */
	bool has_left;		     /* it knows that all has arrived */
	void *connection;	     /* the caller's; NULL: lost, or ended */
	bool must_rewind;	     /* `expected` went back: its connection is to be closed */
	struct sfs_ring_past past;   /* what a receiver that died has left of it */
	char why[SFS_WIRE_TEXT_MAX]; /* it has left, as it said; "" */
};

struct sfs_sessions {
	/* Do not change. */
	struct sfs_receiver_settings settings;
	_Atomic(struct sfs_ring *) ring; /* NULL before the first layout */
	struct shufflefs_layout layout;
	uint64_t alone_ns; /* since when no sender is connected; 0: one is */
	int wake_fd;	   /* readable: consumers have released something */
	struct sfs_session *list[SFS_SESSIONS_MAX];
	uint32_t n;
	uint64_t n_published, n_consumed; /* batches, in the ring's order */
	int error;			  /* of all; final */
	struct sfs_error why;
	_Atomic uint64_t n_received, n_repeated, n_connections;

	/* Its own. */
	char *path;
	pthread_t watcher;
	bool has_watcher;
	atomic_bool is_stopping;
};

/* If a receiver died here, and trainers that it had live, their ring tells which sessions
 * there were, and what is wanted next. */
void sfs_sessions_open(struct sfs_sessions *s,
		       const struct sfs_receiver_settings *settings);
void sfs_sessions_close(struct sfs_sessions *s); /* frees the ring */

/* Trainers get the first failure; later ones are ignored. */
void sfs_sessions_fail(struct sfs_sessions *s, int error, const char *why);

/* What to answer a HELLO.  *ret_old: its session has this connection, which is to be
 * closed.  One of another process is in the way until it is gone: has_gone() tells what
 * its caller has not noticed yet; NULL: nothing. */
void sfs_sessions_greet(struct sfs_sessions *s, struct sfs_wire_hello *hello,
			bool (*has_gone)(const void *connection),
			struct sfs_wire_reply *ret_reply, void **ret_old);

/* Then the layout: its session; the first one makes the ring.  With an error. */
int sfs_sessions_begin(struct sfs_sessions *s, const struct sfs_wire_hello *hello,
		       const struct shufflefs_layout *layout, void *connection,
		       struct sfs_session **ret, struct sfs_error *err);

/* The session's connection is gone. */
void sfs_sessions_lose(struct sfs_session *session);

/* Batch `seq` comes.  0: it is the next; 1: it is here already, or was taken from a
 * receiver that died; -EPROTO, with an error. */
int sfs_sessions_expect(const struct sfs_session *session, uint64_t seq,
			struct sfs_error *err);

/* It lies in `slot`, which was taken of the ring (the address as for its publish()).  0:
 * published; 1: it is here already, and the slot is the caller's (NULL is fine); -EPROTO:
 * it is not the next, or was changed; with an error. */
int sfs_sessions_publish(struct sfs_sessions *s, struct sfs_session *session,
			 const struct sfs_wire_message *batch, void *slot,
			 struct sfs_error *err);

/* END and BYE. */
int sfs_sessions_end(struct sfs_session *session, uint64_t seq, struct sfs_error *err);
int sfs_sessions_bye(struct sfs_sessions *s, struct sfs_session *session,
		     const struct sfs_wire_message *bye, const char *peer,
		     bool has_heard_ended, struct sfs_error *err);
static inline bool sfs_session_is_done(const struct sfs_session *session)
{
	return session->has_end && session->credited == session->expected;
}

/* Move `credited` of all sessions to what was released.  Where a trainer has died with a
 * batch of a receiver that died, its sender is to bring that again: then must_rewind. */
void sfs_sessions_credit(struct sfs_sessions *s);

/* Fail if the ring has; or if a sender was lost, senders did not come, or no trainer was
 * there, for too long. */
void sfs_sessions_look(struct sfs_sessions *s);

bool sfs_sessions_are_over(struct sfs_sessions *s); /* all have come, and were consumed */
bool sfs_sessions_have_left(const struct sfs_sessions *s); /* and know it */

/* The end of run(), unless all has arrived: fails the ring. */
int sfs_sessions_result(struct sfs_sessions *s, struct sfs_error *err);

#endif
