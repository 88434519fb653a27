/* SPDX-License-Identifier: MIT */
#include "source/hf/hf-token.h"

#include "base/alloc.h"

#include <string.h>
#include <strings.h>

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

struct sfs_bearer *sfs_hf_token_start(struct sfs_error *err)
{
	static const char *const none[] = {NULL};
	static const char *const variables[] = {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN",
						NULL};
	bool is_off = is_true(variable("HF_HUB_DISABLE_IMPLICIT_TOKEN"));
	sfs_autofree char *path = token_path();
	const struct sfs_bearer_places places = {
		.variables = is_off ? none : variables,
		.path = is_off ? NULL : path,
		.forms = "which is a word in one line",
	};

	return sfs_bearer_start(&places, err);
}
