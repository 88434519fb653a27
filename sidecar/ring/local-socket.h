/* SPDX-License-Identifier: MIT */
/* local-socket - a UNIX socket (SOCK_SEQPACKET) that listens at a path.
 *
 * One that nobody listens on any more is replaced.  Only its user can connect.
 */
#ifndef SFS_LOCAL_SOCKET_H
#define SFS_LOCAL_SOCKET_H

#include "base/error.h"

#include <sys/types.h>

struct sfs_local_socket {
	int fd; /* does not block; -1: there is none */
	char *path;
	dev_t device;
	ino_t inode; /* 0: it has no name */
};

/* -EADDRINUSE: another process listens there.  Others: with an error, too.  In any case
 * *ret can be closed. */
int sfs_local_socket_open(const char *path, int backlog, struct sfs_local_socket *ret,
			  struct sfs_error *err);

/* Who is at the other end of a connection: its process (0: of a namespace that we do not
 * see), and a descriptor of that, which the caller closes (-1: there is none). */
pid_t sfs_local_socket_peer(int fd, int *ret_pidfd);

/* Removes the name, unless it is a successor's by now. */
void sfs_local_socket_close(struct sfs_local_socket *s);

#endif
