/* SPDX-License-Identifier: MIT */
/* ring-socket - the consumers of a ring: who attaches, and who dies.
 *
 * A thread of its own accepts them, gives them the ring, and notices when one has gone:
 * what it held is given away, as the policy says.
 */
#ifndef SFS_RING_SOCKET_H
#define SFS_RING_SOCKET_H

#include "ring/device.h"
#include "ring/local-socket.h"
#include "ring/ring-policy.h"
#include "ring/ring-state.h"
#include "ring/ring-watch.h"

#include "base/error.h"
#include "base/json-writer.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct sfs_ring_socket_settings {
	struct sfs_ring_watch *watch;	    /* looks in between */
	const struct sfs_device_info *info; /* of the memory that consumers get */
	bool is_on_device;		    /* it is not the host's */
	enum sfs_ring_policy policy;
	uint32_t await_ms; /* how long those of a predecessor are awaited; 0: for ever */
};

struct sfs_ring_consumer {
	int fd, pidfd; /* fd < 0: there is none */
	pid_t pid;
};

struct sfs_ring_socket {
	struct sfs_ring_state *state;
	struct sfs_ring_socket_settings settings;
	struct sfs_local_socket listener;
	int stop_fd;
	pthread_t thread;
	bool has_thread;
	bool has_no_file; /* for a consumer that wants to come; of the thread */

	/* The state's lock guards these. */
	struct sfs_ring_consumer consumers[SFS_RING_CONSUMERS];
	uint32_t n_consumers;
	uint32_t n_attached; /* ever */
	uint64_t begin_ns, alone_since_ns;
};

/* Listen at the ring's path; nobody is accepted yet.  -EADDRINUSE: another process
 * listens there.  Others: with an error, too.  In any case *s can be closed. */
int sfs_ring_socket_open(struct sfs_ring_socket *s, struct sfs_ring_state *state,
			 struct sfs_error *err);

/* The state has its memory: accept consumers.  With an error. */
int sfs_ring_socket_start(struct sfs_ring_socket *s,
			  const struct sfs_ring_socket_settings *settings,
			  struct sfs_error *err);

/* Accept no more; if the ring has ended or failed, wait before, at most 2 s, until
 * consumers have closed what they have of a GPU's memory. */
void sfs_ring_socket_stop(struct sfs_ring_socket *s);
void sfs_ring_socket_close(struct sfs_ring_socket *s); /* it was stopped; listen no more */

/* Consumers of a predecessor have not attached here yet. */
bool sfs_ring_socket_is_awaited(struct sfs_ring_socket *s);

/* For how long there has been no consumer; 0: there is one. */
uint64_t sfs_ring_socket_alone_ms(struct sfs_ring_socket *s);

/* With the lock: a member of a JSON object; consumer i holds holds[i] batches. */
void sfs_ring_socket_describe(const struct sfs_ring_socket *s, const uint32_t *holds,
			      struct sfs_json_writer *json);

#endif
