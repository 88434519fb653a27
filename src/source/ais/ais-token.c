/* SPDX-License-Identifier: MIT */
#include "source/ais/ais-token.h"

#include "base/alloc.h"
#include "base/json.h"

#include <string.h>

#define DEFAULT_FILE ".config/ais/cli/auth.token"

static void forget(char **value)
{
	if (*value)
		explicit_bzero(*value, strlen(*value));
	free(steal(value));
}

char *sfs_ais_token_unwrap(const char *text)
{
	enum sfs_json_token token;
	struct sfs_json json;
	char *value = NULL;
	bool is_it;

	sfs_json_init(&json, text, strlen(text));
	token = sfs_json_next(&json);
	while (token == SFS_JSON_OBJECT && sfs_json_next(&json) == SFS_JSON_KEY) {
		is_it = sfs_json_is(&json, "token");
		token = sfs_json_next(&json);
		if (is_it && token == SFS_JSON_STRING) {
			forget(&value);
			value = sfs_strdup(json.text.s ? json.text.s : "");
		} else if (!sfs_json_skip(&json, token)) {
			break;
		}
		token = SFS_JSON_OBJECT;
	}
	if (token != SFS_JSON_OBJECT || sfs_json_next(&json) != SFS_JSON_END)
		forget(&value); /* it is being written */
	sfs_json_done(&json);
	return value;
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
