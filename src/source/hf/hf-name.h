/* SPDX-License-Identifier: MIT */
/* hf-name - what a URL hf://datasets/OWNER/NAME[@REVISION]/PATH names.
 *
 * The revision is a branch, a tag or a commit.  What has a '/' in it is written with %2F,
 * or as refs/convert/NAME and refs/pr/NUMBER; without any it is "main".  All else is as
 * it is: nothing of the path is encoded.  Pure.
 */
#ifndef SFS_HF_NAME_H
#define SFS_HF_NAME_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct sfs_hf_name {
	char *repo;	/* "OWNER/NAME" */
	char *revision; /* decoded */
	char *root; /* "OWNER/NAME@REVISION/" as it is written: what keys begin with */
	const char *path; /* what follows, "" if nothing does: points into the URL */
};

/* -EINVAL: it names no dataset; *err says what to write. */
int sfs_hf_name_parse(const char *location, struct sfs_hf_name *ret,
		      struct sfs_error *err);
void sfs_hf_name_done(struct sfs_hf_name *name);

/* Is the revision a whole commit, which cannot change? */
bool sfs_hf_is_commit(const char *revision);

#endif
