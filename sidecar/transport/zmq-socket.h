/* SPDX-License-Identifier: MIT */
/* zmq-socket - ZeroMQ's sockets, by URL: zpush, zpub, zpull, zsub, and the reversed
 * forms, whose other end binds.
 *
 * Part of the plug-in `zmq.so`, whose files are the only ones that know ZeroMQ.
 */
#ifndef SFS_ZMQ_SOCKET_H
#define SFS_ZMQ_SOCKET_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* What a URL says. */
struct sfs_zmq_address {
	int socket_type;
	bool is_bound, is_single;
	uint64_t n_wait;	/* publish to so many, at least */
	char *endpoint, *topic; /* "tcp://host:port" */
};

/* zpush+tcp://host:port?single#topic.  -EINVAL, with an error; done() in any case. */
int sfs_zmq_address_parse(const char *url, struct sfs_zmq_address *a,
			  struct sfs_error *err);
void sfs_zmq_address_done(struct sfs_zmq_address *a);

/* Does a socket of this type send? */
bool sfs_zmq_is_sender(int socket_type);

/* What has just failed in ZeroMQ, as a negative errno. */
int sfs_zmq_error(void);

/* Bind or connect, with a queue of `hwm` messages (0: any number).  With a secret (NULL:
 * none) by CURVE: only peers that have it.  *ret_monitor is another socket, which is
 * readable when a handshake has failed. */
struct sfs_secret;
int sfs_zmq_open_socket(void *zmq, const struct sfs_zmq_address *a, int hwm,
			const struct sfs_secret *secret, void **ret_socket,
			void **ret_monitor, struct sfs_error *err);

/* Count and log those that have failed.  -EACCES, with an error: who connects to a single
 * peer has failed for good. */
struct sfs_guard;
int sfs_zmq_look_at_handshakes(void *monitor, const struct sfs_zmq_address *a,
			       struct sfs_guard *guard, struct sfs_error *err);

/* Is this bound socket for this host only? */
bool sfs_zmq_is_loopback(void *socket);

#endif
