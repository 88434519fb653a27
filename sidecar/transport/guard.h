/* SPDX-License-Identifier: MIT */
/* guard - what keeps strangers out of a receiver: it listens to a network only if it has
 * a secret, or --insecure was given.  It counts the connections that it refuses, and logs a
 * line for each; in a flood, only for some. */
#ifndef SFS_GUARD_H
#define SFS_GUARD_H

#include "transport/receiver.h"

#include "base/error.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* 127.0.0.0/8, ::1, or the first as an address of IPv6. */
bool sfs_guard_is_loopback(const struct sockaddr *address);

/* May the receiver listen?  -EACCES, with an error. */
int sfs_guard_check(const struct sfs_receiver_settings *settings, bool is_loopback,
		    struct sfs_error *err);

/* Zeroed, it is new.  One thread; n is for all. */
struct sfs_guard {
	_Atomic uint64_t n; /* refused */
	uint64_t n_silent;  /* since the last line */
	uint64_t full_ns;   /* when all lines of a burst may be written again */
};

/* `who` (a peer, or "") was refused. */
void sfs_guard_refuse(struct sfs_guard *guard, const char *source, const char *who,
		      const char *why);

/* The same, at that time; returns whether it is to be told, and after how many that were
 * not. */
bool sfs_guard_count(struct sfs_guard *guard, uint64_t now_ns, uint64_t *ret_n_silent);

#endif
