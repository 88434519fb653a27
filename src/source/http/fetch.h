/* SPDX-License-Identifier: MIT */
/* fetch - the one thread that performs GETs.
 *
 * It connects, keeps connections, obeys proxies, netrc and certificates, gives each
 * server as many GETs at a time as are of use, and ends those that make no progress.  What
 * a response means, whether to try again and where a redirect may lead is its caller's
 * business (transfer.c).  All callbacks run on the fetch thread, and must not wait.
 */
#ifndef SFS_FETCH_H
#define SFS_FETCH_H

#include "base/error.h"
#include "source/http/fetch-options.h"
#include "source/http/get.h"
#include "source/http/renewal.h"

#include <stdbool.h>
#include <stdint.h>

struct sfs_fetch;

/* Start the thread.  NULL and *err: libcurl refuses an option, or a command or file that
 * gives headers fails.  Waits for commands. */
struct sfs_fetch *sfs_fetch_start(const struct sfs_fetch_options *options,
				  struct sfs_error *err);

/* End every GET with -ECANCELED and end the thread; waits for it.  A GET that is added
 * from now on ends at once, on the thread that adds it. */
void sfs_fetch_stop(struct sfs_fetch *fetch);
void sfs_fetch_free(struct sfs_fetch *fetch); /* stopped before */

/* Start the GET after `delay_ms`, as soon as its server has room for it.  Any thread. */
void sfs_fetch_add(struct sfs_fetch *fetch, struct sfs_get *get, uint64_t delay_ms);

/* Take the GET back; its end() is not called.  On the fetch thread, in end() or late() of
 * any GET. */
void sfs_fetch_drop(struct sfs_fetch *fetch, struct sfs_get *get);

/* The GET was sent with the options' headers, and refused.  Would others be sent now?
 * Reads their files and, if it `may_run`, has their commands run.  On the fetch thread, in
 * end(). */
enum sfs_renewal sfs_fetch_renew_headers(struct sfs_fetch *fetch,
					 const struct sfs_get *get, bool may_run);

/* *is_cancelled or *is_needed of some GET became true.  Any thread. */
void sfs_fetch_wake(struct sfs_fetch *fetch);

#endif
