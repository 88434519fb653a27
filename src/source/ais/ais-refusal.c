/* SPDX-License-Identifier: MIT */
#include "source/ais/ais-refusal.h"

#include "base/alloc.h"
#include "source/http/headers.h"
#include "source/http/show-words.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

void sfs_ais_refusal_read(int status, const char *body, size_t n,
			  struct sfs_ais_refusal *ret)
{
	struct sfs_ais_refusal r = {.status = status};

	sfs_show_member(body, n, "tcode", "?", r.code, sizeof r.code);
	sfs_show_member(body, n, "message", "?", r.message, sizeof r.message);
	*ret = r;
}

int sfs_ais_refusal_err(const struct sfs_ais_refusal *r)
{
	return sfs_http_status_err(r->status);
}

static bool is_of_bucket(const struct sfs_ais_refusal *r)
{
	return strcmp(r->code, "ErrBckNotFound") == 0 ||
	       strcmp(r->code, "ErrRemoteBckNotFound") == 0;
}

static void describe_denied(const struct sfs_ais_refusal *r,
			    const struct sfs_ais_asked *a, char *to, size_t size)
{
	if (!a->token_from)
		snprintf(to, size,
			 "the cluster wants a token: set AIS_AUTHN_TOKEN, or "
			 "AIS_AUTHN_TOKEN_FILE, or log in with ais auth login");
	else if (r->status == 401)
		snprintf(to, size,
			 "the token from %s is not valid, or has expired: get a new one, "
			 "as with ais auth login",
			 a->token_from);
	else
		snprintf(to, size,
			 "the token from %s may not %s the bucket '%s': ask for a role "
			 "that may",
			 a->token_from, a->key ? "read objects of" : "list", a->bucket);
}

static void describe_missing(const struct sfs_ais_refusal *r,
			     const struct sfs_ais_asked *a, char *to, size_t size)
{
	if (is_of_bucket(r) || !a->key)
		snprintf(to, size,
			 "there is no bucket '%s'%s%s at %s: check its name, endpoint=, "
			 "and provider= (of a bucket in a cloud)",
			 a->bucket, a->provider ? " of the provider " : "",
			 a->provider ? a->provider : "", a->endpoint);
	else
		snprintf(to, size, "no such object%s",
			 strstr(a->key, ".tar") ? ""
						: "; to name all *.tar below a prefix, "
						  "put a '/' at its end");
}

void sfs_ais_refusal_describe(const struct sfs_ais_refusal *r,
			      const struct sfs_ais_asked *a, char *why, size_t size)
{
	char remedy[500] = "";

	switch (sfs_ais_refusal_err(r)) {
	case -EACCES: describe_denied(r, a, remedy, sizeof remedy); break;
	case -ENOENT: describe_missing(r, a, remedy, sizeof remedy); break;
	default: sfs_show_words(r->message, "?", remedy, sizeof remedy);
	}
	snprintf(why, size, "HTTP %d%s%s%s%s", r->status, r->code[0] ? " " : "", r->code,
		 remedy[0] ? ": " : "", remedy);
}
