/* SPDX-License-Identifier: MIT */
/* samples-server-internal - what samples-server.c (life, and the thread that puts),
 * samples-trainers.c (who is attached, what they say and hold) and samples-giving.c (the
 * server's thread: who gets what) share. */
#ifndef SFS_SAMPLES_SERVER_INTERNAL_H
#define SFS_SAMPLES_SERVER_INTERNAL_H

#include "ring/local-socket.h"
#include "samples/samples-held.h"
#include "samples/samples-server.h"
#include "samples/samples-wire.h"

#include <pthread.h>
#include <sys/types.h>

#define SFS_SAMPLES_TRAINERS 256

struct sfs_samples_trainer {
	int fd, pidfd; /* fd < 0: there is none */
	pid_t pid;
	bool has_hello, is_told, is_waiting, is_blocked;
	uint64_t n_samples, n_bytes; /* it can have had */
	uint64_t n_bytes_sent, n_bytes_held;
	struct sfs_samples_held held;
};

enum sfs_samples_state {
	SFS_SAMPLES_SERVER_RUNS,
	SFS_SAMPLES_SERVER_ENDED,
	SFS_SAMPLES_SERVER_FAILED
};

struct sfs_samples_server {
	struct sfs_samples_server_settings settings;
	struct sfs_local_socket socket;
	int wake_fd;
	pthread_t thread;
	bool has_thread;
	_Alignas(8) unsigned char message[SFS_SAMPLES_MESSAGE_MAX];

	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t changed;
	bool is_stopped, has_begun, is_at_once;
	bool has_no_file; /* for a trainer that wants to come; of the thread */
	bool is_ours; /* the failure: -EIO for who puts */
	enum sfs_samples_state state;
	char why[sizeof(struct sfs_error)];
	int fds[SFS_SAMPLES_MEMORIES];
	uint64_t n_bytes[SFS_SAMPLES_MEMORIES];
	uint32_t n_memories;
	struct sfs_samples_trainer trainers[SFS_SAMPLES_TRAINERS];
	uint32_t n_trainers, turn;
	struct sfs_link queue, done; /* done: to be released without the lock */
	uint64_t n_queued, n_queued_bytes, n_held;
	uint64_t n_dropped, n_redelivered;
	char *warnings[SFS_SAMPLES_TRAINERS]; /* to be logged without the lock */
	uint32_t n_warnings;
	uint64_t alone_since_ns; /* with samples, and no trainer; 0: not so */
	struct sfs_samples_progress progress;
};

/* It does all that trainers see. */
void *sfs_samples_server_thread(void *s);

/* Release items; without the lock. */
void sfs_samples_server_release_done(struct sfs_samples_server *s, struct sfs_link *done);

/* ---- items; with the lock ---- */

void sfs_samples_server_queue(struct sfs_samples_server *s, struct sfs_samples_item *item,
			      struct sfs_link *before);
struct sfs_samples_item *sfs_samples_server_first(struct sfs_samples_server *s);
void sfs_samples_server_unqueue(struct sfs_samples_server *s,
				struct sfs_samples_item *item);
void sfs_samples_server_drop_queue(struct sfs_samples_server *s);
void sfs_samples_server_set_failed(struct sfs_samples_server *s, const char *why,
				   bool at_once);

/* NULL is fine. */
void sfs_samples_server_release_held(struct sfs_samples_server *s,
				     struct sfs_samples_trainer *t, void *item);

/* ---- trainers; with the lock ---- */

void sfs_samples_server_accept(struct sfs_samples_server *s);
void sfs_samples_server_greet(struct sfs_samples_server *s,
			      struct sfs_samples_trainer *t);

/* What it says.  It may be gone after that.  true: there may be more. */
bool sfs_samples_server_hear(struct sfs_samples_server *s, struct sfs_samples_trainer *t);

/* false: its socket is full, or it has gone, which poll() will tell. */
bool sfs_samples_server_send(struct sfs_samples_trainer *t, const void *bytes, size_t n);

/* It has died, or is taken for dead; or it holds nothing and is gone. */
void sfs_samples_server_bury(struct sfs_samples_server *s, struct sfs_samples_trainer *t,
			     bool is_death);
void sfs_samples_server_forget(struct sfs_samples_server *s,
			       struct sfs_samples_trainer *t);

/* May trainers hear the end? */
bool sfs_samples_server_may_end(const struct sfs_samples_server *s);

#endif
