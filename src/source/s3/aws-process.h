/* SPDX-License-Identifier: MIT */
/* aws-process - runs the credential_process of a profile, for its output.
 *
 * Waits for it: a minute at most, and while *is_stopped is false.
 */
#ifndef SFS_AWS_PROCESS_H
#define SFS_AWS_PROCESS_H

#include "base/error.h"
#include "base/strbuf.h"

#include <stdatomic.h>
#include <stdbool.h>

/* Add what it writes to *text, which may be a secret.  -ETIMEDOUT, -EIO, ...: with an
 * error, which names the profile. */
int sfs_aws_process_run(const char *command, const char *profile,
			const atomic_bool *is_stopped, struct sfs_strbuf *text,
			struct sfs_error *err);

#endif
