/* SPDX-License-Identifier: MIT */
#include "source/ais/ais-refusal.h"

#include "base/alloc.h"
#include "base/json.h"
#include "source/http/headers.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Keep text of the server's that may be shown: what follows a '?' may be the query of a
 * redirect, which is a credential. */
static void keep(char *to, size_t size, const char *text)
{
	size_t n = 0;

	for (; *text && *text != '?' && n + 1 < size; text++)
		to[n++] = isprint((unsigned char)*text) ? *text : '.';
	to[n] = 0;
}

void sfs_ais_refusal_read(int status, const char *body, size_t n,
			  struct sfs_ais_refusal *ret)
{
	struct sfs_ais_refusal r = {.status = status};
	enum sfs_json_token token;
	bool is_code, is_message;
	struct sfs_json json;

	sfs_json_init(&json, body ? body : "", body ? n : 0);
	token = sfs_json_next(&json);
	while (token == SFS_JSON_OBJECT && sfs_json_next(&json) == SFS_JSON_KEY) {
		is_code = sfs_json_is(&json, "tcode");
		is_message = sfs_json_is(&json, "message");
		token = sfs_json_next(&json);
		if (is_code && token == SFS_JSON_STRING)
			keep(r.code, sizeof r.code, json.text.s ? json.text.s : "");
		else if (is_message && token == SFS_JSON_STRING)
			keep(r.message, sizeof r.message, json.text.s ? json.text.s : "");
		else if (!sfs_json_skip(&json, token))
			break;
		token = SFS_JSON_OBJECT;
	}
	sfs_json_done(&json);
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
	default: keep(remedy, sizeof remedy, r->message);
	}
	snprintf(why, size, "HTTP %d%s%s%s%s", r->status, r->code[0] ? " " : "", r->code,
		 remedy[0] ? ": " : "", remedy);
}
