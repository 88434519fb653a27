/* SPDX-License-Identifier: MIT */
/* curl-get - GETs over libcurl, and connections that libcurl makes.
 *
 * libcurl knows names, addresses, proxies, netrc, certificates and fifty years of
 * servers.  Handles and connections are kept for the next GET.  When a GET has ended, or a
 * connection was made, it is said from within sfs_curl_run().
 *
 * The fetch thread's own, but for sfs_curl_wake().
 */
#ifndef SFS_CURL_GET_H
#define SFS_CURL_GET_H

#include "base/error.h"
#include "source/http/fetch-options.h"
#include "source/http/get.h"
#include "source/http/http1.h"
#include "source/http/user-headers.h"

#include <poll.h>

struct sfs_curl;

struct sfs_curl_events {
	/* The GET is over; see end() of struct sfs_get.  Its handle is still its own:
	 * sfs_curl_drop() takes it back. */
	void (*end)(void *ctx, struct sfs_get *get, int err,
		    enum sfs_fetch_outcome outcome, const char *why);
	/* There is a connection for the GET, the callee's.  NULL: libcurl gave none. */
	void (*connected)(void *ctx, struct sfs_get *get, struct sfs_http1 *conn);
	void *ctx;
};

/* `options` and `headers` are borrowed.  NULL and *err: libcurl refuses an option. */
struct sfs_curl *sfs_curl_new(const struct sfs_fetch_options *options,
			      const struct sfs_user_headers *headers,
			      const struct sfs_curl_events *events,
			      struct sfs_error *err);
void sfs_curl_free(struct sfs_curl *curl); /* no GET has a handle, and all connections
					    * that it made are closed */

/* Send the GET and receive its response. */
void sfs_curl_begin(struct sfs_curl *curl, struct sfs_get *get);

/* Only connect to the GET's server. */
void sfs_curl_connect(struct sfs_curl *curl, struct sfs_get *get);

/* Take over the connection that is being made for `from`, which is left without a
 * handle. */
void sfs_curl_take_over(struct sfs_curl *curl, struct sfs_get *from, struct sfs_get *get);

/* Take the GET off its handle, if it has one. */
void sfs_curl_drop(struct sfs_curl *curl, struct sfs_get *get);

/* Go on with all GETs as far as their sockets let. */
void sfs_curl_run(struct sfs_curl *curl);

/* Wait until a socket of libcurl's or one of the n `fds` is ready, or sfs_curl_wake(), or
 * for `wait_ms`.  Sets their revents. */
void sfs_curl_poll(struct sfs_curl *curl, struct pollfd *fds, unsigned n, int wait_ms);
void sfs_curl_wake(struct sfs_curl *curl); /* any thread */

/* Which libcurl this runs with: "7.88.1 OpenSSL/3.0.17". */
const char *sfs_curl_version(void);

#endif
