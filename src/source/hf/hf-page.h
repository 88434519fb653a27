/* SPDX-License-Identifier: MIT */
/* hf-page - what the Hub says of a dataset: pages of its tree, and its commit.
 *
 * Every byte comes from a server.  Pure.
 */
#ifndef SFS_HF_PAGE_H
#define SFS_HF_PAGE_H

#include "base/strbuf.h"
#include "source/http/listing.h"

#define SFS_HF_TAG_BYTES 160

/* The files of a page, an array in JSON; keys are `root` and the path.  Its `next` is
 * left alone.  -EBADMSG: it is no such page; *err says why. */
int sfs_hf_page_read(const char *json, size_t n, const char *root,
		     struct sfs_listing *ret, struct sfs_error *err);

/* The query of the URL of the next page, from the header lines of this one; the caller
 * frees it.  NULL: it is the last.  (Where that URL leads does not count.) */
char *sfs_hf_page_next(const char *head);

/* The commit that a revision is, as "sha" in a JSON object; the caller frees it.  NULL:
 * there is none. */
char *sfs_hf_commit_read(const char *json, size_t n);

/* A hash or an ETag of the Hub, which names the bytes, as a strong tag with its quotes;
 * "" if it cannot be one. */
void sfs_hf_tag(const char *sent, char ret[SFS_HF_TAG_BYTES]);

#endif
