/* SPDX-License-Identifier: MIT */
#include "source/hf/hf-refusal.h"

#include "source/http/show-words.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void sfs_hf_refusal_read(const struct sfs_http_headers *headers, const char *body,
			 size_t n, struct sfs_hf_refusal *ret)
{
	struct sfs_hf_refusal r = {.status = headers->status};

	sfs_show_words(headers->error_code, "?", r.code, sizeof r.code);
	sfs_show_member(body, n, "error", "?", r.message, sizeof r.message);
	*ret = r;
}

int sfs_hf_refusal_err(const struct sfs_hf_refusal *r)
{
	return sfs_http_status_err(r->status);
}

static bool is_code(const struct sfs_hf_refusal *r, const char *code)
{
	return strcmp(r->code, code) == 0;
}

#define LOG_IN "set HF_TOKEN, or log in with hf auth login"

static void describe_gated(const struct sfs_hf_asked *a, char *to, size_t size)
{
	if (a->token_from)
		snprintf(to, size,
			 "the dataset '%s' is gated, and the token from %s may not read "
			 "it: accept its terms at %s/datasets/%s as the user of the "
			 "token, which must be allowed to read gated datasets",
			 a->repo, a->token_from, a->endpoint, a->repo);
	else
		snprintf(to, size,
			 "the dataset '%s' is gated: accept its terms at "
			 "%s/datasets/%s, and use a token that may read it (" LOG_IN ")",
			 a->repo, a->endpoint, a->repo);
}

static void describe_no_repo(const struct sfs_hf_asked *a, char *to, size_t size)
{
	if (a->token_from)
		snprintf(to, size,
			 "there is no dataset '%s' at %s, or it is private and the token "
			 "from %s may not read it: check the name, or use another token",
			 a->repo, a->endpoint, a->token_from);
	else
		snprintf(to, size,
			 "there is no dataset '%s' at %s, or it is private and needs a "
			 "token: check the name, or " LOG_IN,
			 a->repo, a->endpoint);
}

/* A 401 or 403 that says nothing else. */
static void describe_denied(const struct sfs_hf_refusal *r, const struct sfs_hf_asked *a,
			    char *to, size_t size)
{
	if (!a->token_from)
		describe_no_repo(a, to, size);
	else if (r->status == 401)
		snprintf(to, size,
			 "the token from %s is not valid, or has expired: make a new one "
			 "at %s/settings/tokens, or log in with hf auth login",
			 a->token_from, a->endpoint);
	else
		snprintf(to, size,
			 "the token from %s may not read the dataset '%s': give it that "
			 "permission at %s/settings/tokens",
			 a->token_from, a->repo, a->endpoint);
}

static void describe_missing(const struct sfs_hf_refusal *r, const struct sfs_hf_asked *a,
			     char *to, size_t size)
{
	if (is_code(r, "EntryNotFound") || (!r->code[0] && a->path && *a->path))
		snprintf(to, size,
			 "the dataset '%s' has no %s '%s' at the revision '%s'%s",
			 a->repo, a->is_folder ? "folder" : "file",
			 a->path ? a->path : "", a->revision,
			 a->is_folder || !a->path || strstr(a->path, ".tar")
				 ? ""
				 : "; to name all *.tar of a folder, put a '/' at "
				   "its end");
	else if (is_code(r, "RevisionNotFound") && a->path && !a->is_folder)
		snprintf(to, size,
			 "the commit that the revision '%s' was when the mount began has "
			 "gone from the dataset '%s': mount it anew",
			 a->revision, a->repo);
	else if (!r->code[0])
		snprintf(
			to, size,
			"%s knows no revision '%s' of the dataset '%s': check the names, "
			"and endpoint= or HF_ENDPOINT",
			a->endpoint, a->revision, a->repo);
	else
		snprintf(to, size,
			 "the dataset '%s' has no revision '%s': check what follows the "
			 "'@' (a branch, a tag or a commit)",
			 a->repo, a->revision);
}

void sfs_hf_refusal_describe(const struct sfs_hf_refusal *r, const struct sfs_hf_asked *a,
			     char *why, size_t size)
{
	char remedy[640] = "";
	int err = sfs_hf_refusal_err(r);

	if (is_code(r, "GatedRepo"))
		describe_gated(a, remedy, sizeof remedy);
	else if (is_code(r, "RepoNotFound"))
		describe_no_repo(a, remedy, sizeof remedy);
	else if (strstr(r->message, "disabled"))
		snprintf(remedy, sizeof remedy,
			 "the Hub has disabled the dataset '%s': see %s/datasets/%s",
			 a->repo, a->endpoint, a->repo);
	else if (err == -EACCES)
		describe_denied(r, a, remedy, sizeof remedy);
	else if (err == -ENOENT)
		describe_missing(r, a, remedy, sizeof remedy);
	else if (r->status == 429 && !a->token_from)
		snprintf(remedy, sizeof remedy,
			 "too many requests; with a token more are allowed (" LOG_IN ")");
	else
		sfs_show_words(r->message, "?", remedy, sizeof remedy);
	snprintf(why, size, "HTTP %d%s%s%s%s", r->status, r->code[0] ? " " : "", r->code,
		 remedy[0] ? ": " : "", remedy);
}
