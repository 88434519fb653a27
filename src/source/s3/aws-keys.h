/* SPDX-License-Identifier: MIT */
/* aws-keys - the present credentials, renewed in time by a thread of their own.
 *
 * Those that expire are replaced five minutes before; any that a server refuses are
 * looked for again, because somebody may have renewed them.  While a renewal fails, the
 * old ones stay in use and a warning says why.  Any thread may call.
 */
#ifndef SFS_AWS_KEYS_H
#define SFS_AWS_KEYS_H

#include "source/s3/aws-credentials.h"

#include <stdint.h>

struct sfs_aws_keys;

enum sfs_aws_renewal {
	SFS_AWS_SAME,	/* they were looked for since, or just now: no others */
	SFS_AWS_OTHERS, /* there are others by now */
	SFS_AWS_SOON,	/* they are being looked for */
};

/* Find the first ones, and start the thread.  Waits.  `options` are borrowed.  There need
 * be none.  NULL and *err: where there should be some, there are none. */
struct sfs_aws_keys *sfs_aws_keys_start(const struct sfs_http_options *options,
					struct sfs_error *err);
void sfs_aws_keys_stop(struct sfs_aws_keys *keys); /* and free; NULL is fine */

/* The present ones, a copy, and the number of their edition.  key_id NULL:
 * there are none. */
unsigned sfs_aws_keys_get(struct sfs_aws_keys *keys, struct sfs_aws_credentials *ret);

/* Those of `edition` were refused, of a request that was signed at `signed_ns`.  With
 * may_wait, it waits until they were looked for. */
enum sfs_aws_renewal sfs_aws_keys_renew(struct sfs_aws_keys *keys, unsigned edition,
					uint64_t signed_ns, bool may_wait);

#endif
