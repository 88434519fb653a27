/* SPDX-License-Identifier: MIT */
/* server-clock - what time it is at a store's server, if our clock is wrong and the
 * server says so.  Any thread may call. */
#ifndef SFS_SERVER_CLOCK_H
#define SFS_SERVER_CLOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct sfs_server_clock {
	pthread_mutex_t lock; /* guards all below */
	int64_t off_s;	      /* how far the server's clock is ahead of ours, */
	uint64_t learned_ns;
};

void sfs_server_clock_init(struct sfs_server_clock *clock);
void sfs_server_clock_done(struct sfs_server_clock *clock);

/* Seconds since 1970. */
int64_t sfs_server_clock_now_s(struct sfs_server_clock *clock);

/* The server says that the time of a request is wrong, which was signed at `signed_ns`,
 * and that it is date_s (0: not even that).  Is that another time than the request had?
 * The first time, a warning names the server. */
bool sfs_server_clock_learn(struct sfs_server_clock *clock, int64_t date_s,
			    uint64_t signed_ns, const char *server);

/* Write how a clock is wrong which shows now_s when it is date_s (0: not known), and what
 * to do. */
void sfs_server_clock_describe(int64_t date_s, int64_t now_s, char *to, size_t size);

#endif
