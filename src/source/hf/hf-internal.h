/* SPDX-License-Identifier: MIT */
/* hf-internal - what hf.c (the dialect: GETs of the fetch thread) and hf-listing.c (what
 * the thread that lists asks the Hub before the source starts) share. */
#ifndef SFS_HF_INTERNAL_H
#define SFS_HF_INTERNAL_H

#include "base/list.h"
#include "source/hf/hf-name.h"
#include "source/hf/hf-refusal.h"
#include "source/hf/hf-token.h"
#include "source/hf/hf.h"
#include "source/http/curl-call.h"

struct sfs_hf {
	struct sfs_store store; /* first */
	char *endpoint;
	struct sfs_http_options http; /* its strings are the caller's */
	struct sfs_hf_token *token;
	struct sfs_curl_caller *caller; /* of the thread that lists */
	struct sfs_link pins, folders;	/* hf-listing.c's own */
};

static inline struct sfs_hf *sfs_hf_of(struct sfs_store *store)
{
	return sfs_container(store, struct sfs_hf, store);
}

/* Add "ENDPOINT/KIND/OWNER/NAME/WHAT/REVISION". */
void sfs_hf_add_url(struct sfs_strbuf *url, const struct sfs_hf *hf, const char *kind,
		    const char *repo, const char *what, const char *revision);

/* Does the URL lead to the Hub, which may see the token? */
bool sfs_hf_is_own(const struct sfs_hf *hf, const char *url);

/* Add the token's header line.  Returns the edition of the token; 0: there is none. */
unsigned sfs_hf_add_token(struct sfs_hf *hf, struct sfs_strbuf *lines);

/* Write why a request for a path was refused; NULL: for the dataset itself. */
void sfs_hf_describe(const struct sfs_hf *hf, const struct sfs_hf_name *name,
		     const char *path, bool is_folder,
		     const struct sfs_hf_refusal *refusal, char *why, size_t size);

/* meet() and list() of the store. */
int sfs_hf_meet(struct sfs_store *store, const struct sfs_uri *uri,
		struct sfs_error *err);
int sfs_hf_list(struct sfs_store *store, const struct sfs_uri *uri,
		struct sfs_listing *ret, struct sfs_error *err);

/* The commit, if list() has pinned the revision. */
const char *sfs_hf_commit_of(const struct sfs_hf *hf, const struct sfs_hf_name *name);

void sfs_hf_listing_init(struct sfs_hf *hf);
void sfs_hf_listing_done(struct sfs_hf *hf);

#endif
