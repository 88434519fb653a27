/* SPDX-License-Identifier: MIT */
/* socket - TCP sockets of tcp://HOST:PORT, as both ends of our protocol want them:
 * non-blocking, close-on-exec, TCP_NODELAY. */
#ifndef SFS_SIDECAR_SOCKET_H
#define SFS_SIDECAR_SOCKET_H

#include "base/error.h"

#include <stdint.h>

/* Each side says something after 2 s of silence; who says nothing for 10 s is dead. */
#define SFS_TCP_PING_NS 2000000000ULL
#define SFS_TCP_DEAD_NS 10000000000ULL

/* -EINVAL: not tcp://HOST:PORT, with an error. */
int sfs_socket_check(const char *url, struct sfs_error *err);

/* Begin to connect: it is connected, or has failed, when it is writable.  Waits for the
 * resolver.  Of a host's addresses, attempt number n takes the n-th, in turn. */
int sfs_socket_connect(const char *url, uint64_t n_attempt, int *ret_fd,
		       struct sfs_error *err);

/* Listen, at "*" at all addresses of IPv4 and IPv6; *ret_port is the port, chosen by the
 * kernel if the URL's is 0. */
int sfs_socket_listen(const char *url, int *ret_fd, uint16_t *ret_port,
		      struct sfs_error *err);

/* The next connection, and who it is ("127.0.0.1:51234", "[::1]:51234");
 * -EAGAIN: none. */
#define SFS_SOCKET_PEER_MAX 80
int sfs_socket_accept(int fd, int *ret_fd, char ret_peer[SFS_SOCKET_PEER_MAX]);

#endif
