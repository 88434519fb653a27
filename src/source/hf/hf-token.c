/* SPDX-License-Identifier: MIT */
#include "source/hf/hf-token.h"

#include "base/alloc.h"
#include "source/http/bearer.h"
#include "source/http/keys.h"
#include "source/http/token-json.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <time.h>

/* One of these. */
struct sfs_hf_token {
	struct sfs_bearer *bearer;
	struct sfs_keys *keys; /* of the command */
};

/* The variable, if it has a value. */
static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

static bool is_true(const char *value)
{
	return value && (strcmp(value, "1") == 0 || strcasecmp(value, "on") == 0 ||
			 strcasecmp(value, "yes") == 0 || strcasecmp(value, "true") == 0);
}

/* A leading "~/" is the user's home, as the Hub's tools have it.  The caller frees it. */
static char *expand(const char *path)
{
	const char *home = variable("HOME");

	return path[0] == '~' && path[1] == '/' && home
		       ? sfs_asprintf("%s%s", home, path + 1)
		       : sfs_strdup(path);
}

/* NULL: there is no home. */
static char *token_path(void)
{
	const char *path = variable("HF_TOKEN_PATH"), *base = variable("HF_HOME"),
		   *cache = variable("XDG_CACHE_HOME"), *home = variable("HOME");
	sfs_autofree char *folder = NULL;

	if (path)
		return expand(path);
	if (base)
		folder = expand(base);
	else if (cache)
		folder = sfs_asprintf("%s/huggingface", cache);
	else if (home)
		folder = sfs_asprintf("%s/.cache/huggingface", home);
	return folder ? sfs_asprintf("%s/token", folder) : NULL;
}

/* What another tool than the Hub's has written may be JSON. */
static char *unwrap(const char *text)
{
	int64_t expires_s;
	char *token;

	return sfs_token_json_read(text, strlen(text), (int64_t)time(NULL), &token,
				   &expires_s, NULL) == 0
		       ? token
		       : NULL;
}

static struct sfs_bearer *start_bearer(const char *file, struct sfs_error *err)
{
	static const char *const none[] = {NULL};
	static const char *const variables[] = {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN",
						NULL};
	bool is_off = file || is_true(variable("HF_HUB_DISABLE_IMPLICIT_TOKEN"));
	sfs_autofree char *path = file ? sfs_strdup(file) : is_off ? NULL : token_path();
	const struct sfs_bearer_places places = {
		.variables = is_off ? none : variables,
		.path = path,
		.must_exist = file != NULL,
		.unwrap = file ? unwrap : NULL,
		.forms = "which is a word in one line",
	};

	return sfs_bearer_start(&places, err);
}

/* There is nothing but the command. */
static int find_none(const void *ctx, struct sfs_curl_caller *caller,
		     const atomic_bool *is_stopped, struct sfs_credentials *ret,
		     struct sfs_error *err)
{
	return -ENOENT;
}

struct sfs_hf_token *sfs_hf_token_start(const struct sfs_http_options *http,
					struct sfs_error *err)
{
	const struct sfs_keys_options keys = {.name = "Hugging Face",
					      .takes_bearer = true,
					      .find = find_none,
					      .http = http};
	struct sfs_hf_token *t = sfs_calloc(1, sizeof *t);

	if (http->bearer_command)
		t->keys = sfs_keys_start(&keys, err);
	else
		t->bearer = start_bearer(http->bearer_file, err);
	if (t->keys || t->bearer)
		return t;
	free(t);
	return NULL;
}

void sfs_hf_token_stop(struct sfs_hf_token *t)
{
	if (!t)
		return;
	sfs_keys_stop(t->keys);
	sfs_bearer_stop(t->bearer);
	free(t);
}

char *sfs_hf_token_get(struct sfs_hf_token *t, unsigned *ret_edition)
{
	struct sfs_credentials c;
	const char *value;
	char *token;

	if (!t->keys) {
		value = sfs_bearer_get(t->bearer, ret_edition);
		return value ? sfs_strdup(value) : NULL;
	}
	*ret_edition = sfs_keys_get(t->keys, &c);
	token = steal(&c.token);
	sfs_credentials_done(&c);
	return token;
}

enum sfs_renewal sfs_hf_token_renew(struct sfs_hf_token *t, unsigned edition,
				    uint64_t made_ns, bool may_wait)
{
	if (t->keys)
		return sfs_keys_renew(t->keys, edition, made_ns, may_wait);
	return sfs_bearer_renew(t->bearer, edition) ? SFS_RENEWAL_NOW : SFS_RENEWAL_NO;
}

const char *sfs_hf_token_from(const struct sfs_hf_token *t)
{
	return t->keys ? "bearer-token-command" : sfs_bearer_from(t->bearer);
}
