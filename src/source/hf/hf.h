/* SPDX-License-Identifier: MIT */
/* hf - datasets of the Hugging Face Hub, as a store of the HTTP source.
 *
 * A revision is pinned to its commit before the source starts; all that is listed and
 * read is of that commit.  A GET goes to the Hub, which sends the file, or redirects to a
 * signed URL of its storage; that the source remembers for the object, until it expires.
 * The token goes to the Hub only: the redirect is itself the key to the storage, and
 * never shown.
 */
#ifndef SFS_HF_H
#define SFS_HF_H

#include "source/http/dialect.h"

struct sfs_hf_options {
	const char *endpoint; /* NULL: as HF_ENDPOINT says, or https://huggingface.co */
	const struct sfs_http_options *http; /* for requests of its own: strings are
					      * borrowed */
};

/* NULL and *err: a setting is wrong. */
struct sfs_store *sfs_hf_start(const struct sfs_hf_options *options,
			       struct sfs_error *err);

#endif
