/* SPDX-License-Identifier: MIT */
#include "source/ais/ais-token.h"

#include "base/alloc.h"
#include "base/json-find.h"

#include <string.h>

#define DEFAULT_FILE ".config/ais/cli/auth.token"

/* If it is not whole, it is being written. */
char *sfs_ais_token_unwrap(const char *text)
{
	return sfs_json_find(text, strlen(text), "token", true);
}

struct sfs_bearer *sfs_ais_token_start(struct sfs_error *err)
{
	static const char *const variables[] = {"AIS_AUTHN_TOKEN", NULL};
	const char *path = getenv("AIS_AUTHN_TOKEN_FILE"), *home = getenv("HOME");
	sfs_autofree char *own = home ? sfs_asprintf("%s/" DEFAULT_FILE, home) : NULL;
	const struct sfs_bearer_places places = {
		.variables = variables,
		.path = path && *path ? path : own,
		.must_exist = path && *path,
		.unwrap = sfs_ais_token_unwrap,
		.forms = "neither as it is nor as {\"token\": ...}",
	};

	return sfs_bearer_start(&places, err);
}
