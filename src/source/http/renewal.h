/* SPDX-License-Identifier: MIT */
/* renewal - credentials of any kind, renewed in time by a thread of their own.
 *
 * To look for new ones may take a file, a program, or requests to a service: seconds, in
 * which the fetch thread must not wait.  Those that expire are replaced five minutes
 * before, or when half of their time is left; any that a server refuses are looked for
 * again, because somebody may have renewed them, but not for five seconds if that found
 * the same.  While a search fails, the old ones stay in use and a warning says why.
 *
 * Any thread may call.
 */
#ifndef SFS_RENEWAL_H
#define SFS_RENEWAL_H

#include "base/error.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct sfs_renewer;

/* Is it of use to send a request again that was refused? */
enum sfs_renewal {
	SFS_RENEWAL_NO,	  /* they were looked for since, or just now: no others */
	SFS_RENEWAL_NOW,  /* there are other credentials by now */
	SFS_RENEWAL_SOON, /* the same in a moment: they are being looked for */
};

/* What the credentials are; `ctx` is the starter's. */
struct sfs_renewer_ops {
	const char *what; /* for warnings */

	/* Look for them: 0, with them and when they expire, in seconds since 1970 (0:
	 * unknown).  -ENOENT: there are none.  Others: *err says why.  Waits, until
	 * *is_stopped; one caller at a time. */
	int (*find)(void *ctx, const atomic_bool *is_stopped, void **ret_value,
		    int64_t *ret_expires_s, struct sfs_error *err);
	bool (*is_same)(const void *a, const void *b);
	void *(*copy)(const void *value);
	void (*free)(void *value);

	/* A search that fails is repeated while requests are refused, every five
	 * seconds, and they wait for it.  Else they fail. */
	bool insists;
};

/* Find the first ones, and start the thread.  Waits.  `ops` and `ctx` are borrowed.
 * There may be none.  NULL and *err: looking for them failed. */
struct sfs_renewer *sfs_renewer_start(const struct sfs_renewer_ops *ops, void *ctx,
				      struct sfs_error *err);
void sfs_renewer_stop(struct sfs_renewer *renewer); /* and free; NULL is fine */

/* A copy of the present ones (NULL: there are none), and the number of their edition. */
unsigned sfs_renewer_get(struct sfs_renewer *renewer, void **ret_value);
unsigned sfs_renewer_edition(struct sfs_renewer *renewer); /* the number alone */

/* Those of `edition` were refused, of a request that was made at `made_ns`.  With
 * may_wait, it waits until they were looked for, and never returns SOON. */
enum sfs_renewal sfs_renewer_renew(struct sfs_renewer *renewer, unsigned edition,
				   uint64_t made_ns, bool may_wait);

#endif
