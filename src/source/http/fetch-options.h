/* SPDX-License-Identifier: MIT */
/* fetch-options - what all GETs of one fetch have in common. */
#ifndef SFS_FETCH_OPTIONS_H
#define SFS_FETCH_OPTIONS_H

#include "source/netpath.h"

#include <stdint.h>

#define SFS_FETCH_MAX_KEPT 1024 /* idle connections, to all servers */

struct sfs_fetch_options {
	int n_connections; /* GETs at a time of one server, at most; see concurrency.h */
	int n_small;	   /* small ones beside them */
	int n_ahead; /* connections to a far server before they are needed; 0: none */
	/* Called on the fetch thread when something of the paths to all servers together
	 * has changed; their concurrency is added up (small GETs are not in it). */
	void (*path_changed)(void *ctx, const struct sfs_netpath *path);
	void *ctx;
	unsigned connect_timeout_ms, stall_timeout_ms;
	uint64_t low_speed_limit; /* bytes a second: less for stall_timeout_ms is a stall */
	char **headers; /* n_headers of the user's, see user-headers.h; copied */
	int n_headers;
	/* More of them, see user-headers.h; NULL: none.  command_ms: how long a command
	 * may take, at most. */
	const char *bearer_file, *header_command, *bearer_command;
	uint64_t command_ms;
	/* NULL: the default. */
	const char *proxy, *netrc_file, *ca_file, *ca_path, *cert, *key;
};

#endif
