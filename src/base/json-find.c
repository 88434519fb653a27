/* SPDX-License-Identifier: MIT */
#include "base/json-find.h"

#include "base/alloc.h"
#include "base/json.h"

#include <string.h>

static void forget(char **value)
{
	if (*value)
		explicit_bzero(*value, strlen(*value));
	free(steal(value));
}

/* The value that begins with this token. */
static char *take_value(const struct sfs_json *json, enum sfs_json_token token)
{
	const struct sfs_strbuf *text = &json->text;
	bool is_text = (token == SFS_JSON_STRING || token == SFS_JSON_NUMBER) &&
		       text->n > 0 && !memchr(text->s, 0, text->n);

	return sfs_strdup(is_text ? text->s : "");
}

/* An object has begun: read it to its end.  Recursion goes as deep as the path. */
static void find_in(struct sfs_json *json, const char *path, char **value)
{
	size_t n = strcspn(path, ".");
	enum sfs_json_token token;
	bool is_it;

	while (sfs_json_next(json) == SFS_JSON_KEY) {
		is_it = json->text.n == n && memcmp(json->text.s, path, n) == 0;
		token = sfs_json_next(json);
		if (is_it && path[n] == '.' && token == SFS_JSON_OBJECT) {
			find_in(json, path + n + 1, value);
			continue;
		}
		if (is_it && !path[n] && token != SFS_JSON_BAD) {
			forget(value);
			*value = take_value(json, token);
		}
		if (!sfs_json_skip(json, token))
			return;
	}
}

enum sfs_json_token sfs_json_seek(struct sfs_json *json, const char *path)
{
	enum sfs_json_token token = sfs_json_next(json);
	size_t n;
	bool is_it;

	while (token == SFS_JSON_OBJECT && sfs_json_next(json) == SFS_JSON_KEY) {
		n = strcspn(path, ".");
		is_it = json->text.n == n && memcmp(json->text.s, path, n) == 0;
		token = sfs_json_next(json);
		if (is_it && !path[n])
			return token;
		if (is_it && token == SFS_JSON_OBJECT) {
			path += n + 1;
		} else {
			if (!sfs_json_skip(json, token))
				break;
			token = SFS_JSON_OBJECT;
		}
	}
	return SFS_JSON_BAD;
}

char *sfs_json_find(const void *bytes, size_t n, const char *path, bool is_whole)
{
	struct sfs_json json;
	char *value = NULL;

	sfs_json_init(&json, bytes, n);
	if (sfs_json_next(&json) == SFS_JSON_OBJECT)
		find_in(&json, path, &value);
	if (is_whole && sfs_json_next(&json) != SFS_JSON_END)
		forget(&value);
	if (json.text.s)
		explicit_bzero(json.text.s, json.text.n);
	sfs_json_done(&json);
	return value;
}
