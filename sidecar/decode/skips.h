/* SPDX-License-Identifier: MIT */
/* skips - broken samples that are left out: says which, and when they are too many.
 *
 * The first ten are logged.  A share that is exceeded is an error at the end of a stream,
 * or as soon as 1,000 samples were read: a dataset that is broken as a whole is not read
 * to its end.
 */
#ifndef SFS_SKIPS_H
#define SFS_SKIPS_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct sfs_skips {
	uint32_t most; /* of a million */
	uint64_t n;
	struct sfs_error last;
};

void sfs_skips_init(struct sfs_skips *s, uint32_t most);
void sfs_skips_add(struct sfs_skips *s, const struct sfs_error *why); /* logs it */

/* Beside those, `n_good` were not broken.  -EBADMSG, with an error: they are too many. */
int sfs_skips_check(const struct sfs_skips *s, uint64_t n_good, bool is_end,
		    struct sfs_error *err);

#endif
