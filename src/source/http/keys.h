/* SPDX-License-Identifier: MIT */
/* keys - a store's present credentials, which renewal.h renews.
 *
 * Where they come from, the store's function says, unless the user's options name a
 * bearer's token.  Any thread may call.
 */
#ifndef SFS_KEYS_H
#define SFS_KEYS_H

#include "source/http/credentials.h"
#include "source/http/renewal.h"
#include "source/source.h"

struct sfs_curl_caller;

/* Look for credentials.  May wait: for files, a program, a server; but not for long once
 * *is_stopped is true.  0; -ENOENT: there are none anywhere; others: where there should
 * be some, there are none, or they cannot be read; *err says why, without any part of
 * them. */
typedef int sfs_keys_find(const void *ctx, struct sfs_curl_caller *caller,
			  const atomic_bool *is_stopped, struct sfs_credentials *ret,
			  struct sfs_error *err);

struct sfs_keys_options {
	const char *name; /* of the store, for warnings; borrowed */
	bool takes_bearer; /* those of bearer-token-command= and -file= are for it, too */
	sfs_keys_find *find;
	const void *ctx;		     /* of find(); borrowed */
	const struct sfs_http_options *http; /* borrowed */
};

struct sfs_keys;

/* Find the first ones, and start the thread.  Waits.  There need be none.  NULL and *err:
 * where there should be some, there are none. */
struct sfs_keys *sfs_keys_start(const struct sfs_keys_options *options,
				struct sfs_error *err);
void sfs_keys_stop(struct sfs_keys *keys); /* and free; NULL is fine */

/* The present ones, a copy, and the number of their edition.  They may be none. */
unsigned sfs_keys_get(struct sfs_keys *keys, struct sfs_credentials *ret);

/* Those of `edition` were refused, of a request that was signed at `signed_ns`; see
 * sfs_renewer_renew(). */
enum sfs_renewal sfs_keys_renew(struct sfs_keys *keys, unsigned edition,
				uint64_t signed_ns, bool may_wait);

#endif
