/* SPDX-License-Identifier: MIT */
/* fetch - the one thread that owns libcurl, and the only file that includes it.
 *
 * It performs GETs: it connects, keeps connections, obeys proxies, netrc and
 * certificates, gives each server as many at a time as are of use, and ends those that
 * make no progress.  What an answer means, whether to try again and where a redirect may
 * lead is its caller's business (source-http.c).  All callbacks run on the fetch
 * thread, and must not wait.
 */
#ifndef SFS_FETCH_H
#define SFS_FETCH_H

#include "base/error.h"
#include "source/http/get.h"

#include <stdbool.h>
#include <stdint.h>

struct sfs_fetch;

/* Which libcurl this runs with: "7.88.1 OpenSSL/3.0.17". */
const char *sfs_fetch_version(void);

/* Start the thread.  NULL and *err: libcurl refuses an option. */
struct sfs_fetch *sfs_fetch_start(const struct sfs_fetch_options *options,
				  struct sfs_error *err);

/* End every GET with -ECANCELED and end the thread; waits for it.  What is added
 * from now on ends at once, in the thread that adds it. */
void sfs_fetch_stop(struct sfs_fetch *fetch);
void sfs_fetch_free(struct sfs_fetch *fetch); /* stopped before */

/* Start the GET after `delay_ms`, as soon as its class has room.  Any thread. */
void sfs_fetch_add(struct sfs_fetch *fetch, struct sfs_get *get, uint64_t delay_ms);

/* Take the GET back; its end() is not called.  On the fetch thread, out of end() and
 * late() of any GET. */
void sfs_fetch_drop(struct sfs_fetch *fetch, struct sfs_get *get);

/* The GET was sent with the options' headers.  Would others be sent now?  Looks into
 * their files.  On the fetch thread, out of end(). */
bool sfs_fetch_has_new_headers(struct sfs_fetch *fetch, const struct sfs_get *get);

/* Some get's *is_cancelled or *is_needed became true.  Any thread. */
void sfs_fetch_wake(struct sfs_fetch *fetch);

/* May a request to one of these URLs carry what was meant for the other: same
 * scheme, host and port?  And is `to` worse protected than `from`? */
bool sfs_fetch_same_origin(const char *a, const char *b);
bool sfs_fetch_is_downgrade(const char *from, const char *to);

/* `location` as a whole URL, seen from `base` (RFC 3986, 5); NULL if it is not
 * http or https.  The caller frees it. */
char *sfs_fetch_resolve(const char *base, const char *location);

#endif
