/* SPDX-License-Identifier: MIT */
/* http1-get - GETs over our own connections (http1.h), where a body is received in its
 * place, without a copy.
 *
 * Only GETs without a proxy and credentials go this way (http1-request.h), and only to
 * servers whose responses are plain; anything else is libcurl's.  libcurl makes the
 * connections, with their TLS, and they are kept for the next GET (conncache.h).
 *
 * The fetch thread's own.
 */
#ifndef SFS_HTTP1_GET_H
#define SFS_HTTP1_GET_H

#include "source/http/curl-get.h"
#include "source/http/fetch-options.h"
#include "source/http/get.h"
#include "source/http/user-headers.h"

#include <poll.h>
#include <stdbool.h>

struct sfs_http1_gets;

struct sfs_http1_gets_events {
	/* The GET is over; see end() of struct sfs_get.  Its connection is still its own:
	 * sfs_http1_gets_drop() takes it back. */
	void (*end)(void *ctx, struct sfs_get *get, int err,
		    enum sfs_fetch_outcome outcome, const char *why);
	/* The GET that it was sent behind is over: its response comes now. */
	void (*first)(void *ctx, struct sfs_get *get);
	/* It was sent behind another, and its response will not come: send it again. */
	void (*again)(void *ctx, struct sfs_get *get);
	void *ctx;
};

/* `curl` is borrowed. */
struct sfs_http1_gets *sfs_http1_gets_new(const struct sfs_fetch_options *options,
					  const struct sfs_user_headers *headers,
					  struct sfs_curl *curl,
					  const struct sfs_http1_gets_events *events);
void sfs_http1_gets_free(struct sfs_http1_gets *gets); /* NULL is fine */

/* The user's headers are others from now on; they are copied. */
void sfs_http1_gets_set_headers(struct sfs_http1_gets *gets,
				const struct sfs_user_headers *headers);

/* Send the GET.  false: it is libcurl's. */
bool sfs_http1_gets_begin(struct sfs_http1_gets *gets, struct sfs_get *get);

/* Send the GET right behind `last`, which was sent just now over a connection that was
 * kept. false: it is libcurl's. */
bool sfs_http1_gets_begin_behind(struct sfs_http1_gets *gets, struct sfs_get *last,
				 struct sfs_get *get);

/* libcurl has connected for this GET, or ahead of any, or failed to (NULL): see struct
 * sfs_curl_events. */
void sfs_http1_gets_connected(struct sfs_http1_gets *gets, struct sfs_get *get,
			      struct sfs_http1 *conn);

/* See sfs_ahead_look(). */
void sfs_http1_gets_connect_ahead(struct sfs_http1_gets *gets, struct sfs_link *active,
				  uint64_t *next_ns);

/* Take the GET off its connection, if it has one. */
void sfs_http1_gets_drop(struct sfs_http1_gets *gets, struct sfs_get *get);

/* What to poll for the GETs in the list `active`, of which there are n_active: returns
 * how many, in *ret_fds.  Good until the next call, which must come at *next_ns: it is
 * made earlier if need be. */
unsigned sfs_http1_gets_poll(struct sfs_http1_gets *gets, struct sfs_link *active,
			     size_t n_active, struct pollfd **ret_fds, uint64_t *next_ns);

/* They were polled: go on with those that are ready. */
void sfs_http1_gets_run(struct sfs_http1_gets *gets);

#endif
