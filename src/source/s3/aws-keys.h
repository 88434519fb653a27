/* SPDX-License-Identifier: MIT */
/* aws-keys - the present credentials of AWS, which http/renewal.h renews.
 *
 * Any thread may call.
 */
#ifndef SFS_AWS_KEYS_H
#define SFS_AWS_KEYS_H

#include "source/http/renewal.h"
#include "source/s3/aws-credentials.h"

#include <stdint.h>

struct sfs_aws_keys;

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
enum sfs_renewal sfs_aws_keys_renew(struct sfs_aws_keys *keys, unsigned edition,
				    uint64_t signed_ns, bool may_wait);

#endif
