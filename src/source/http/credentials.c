/* SPDX-License-Identifier: MIT */
#include "source/http/credentials.h"

#include "base/alloc.h"
#include "base/json.h"
#include "base/localfile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BYTES (1 << 20) /* of a file */
#define MOST_S	   (366 * 86400) /* that a token lives */

static void forget(char **secret)
{
	if (*secret)
		explicit_bzero(*secret, strlen(*secret));
	free(steal(secret));
}

void sfs_credentials_done(struct sfs_credentials *c)
{
	forget(&c->secret);
	forget(&c->token);
	forget(&c->query);
	free(c->key_id);
	free(c->from);
	*c = (struct sfs_credentials){0};
}

static char *copy(const char *s)
{
	return s ? sfs_strdup(s) : NULL;
}

struct sfs_credentials sfs_credentials_copy(const struct sfs_credentials *c)
{
	return (struct sfs_credentials){
		.key_id = copy(c->key_id),
		.secret = copy(c->secret),
		.token = copy(c->token),
		.query = copy(c->query),
		.expires_s = c->expires_s,
		.from = copy(c->from),
	};
}

bool sfs_credentials_exist(const struct sfs_credentials *c)
{
	return c->key_id || c->token || c->query;
}

static bool is_same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

bool sfs_credentials_are_same(const struct sfs_credentials *a,
			      const struct sfs_credentials *b)
{
	return is_same(a->key_id, b->key_id) && is_same(a->secret, b->secret) &&
	       is_same(a->token, b->token) && is_same(a->query, b->query);
}

bool sfs_credentials_is_clean(const char *s)
{
	for (; s && *s; s++)
		if ((unsigned char)*s <= ' ' || (unsigned char)*s >= 0x7f)
			return false;
	return true;
}

const char *sfs_credentials_variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

/* ---- files ---- */

char *sfs_credentials_read_file(const char *path, int *ret_err, struct sfs_error *err)
{
	struct sfs_localfile file;
	char *text = NULL, *whole = realpath(path, NULL); /* a link is fine */
	size_t n;
	int ret;

	if (!whole) {
		*ret_err = sfs_error_set(err, -errno, "%s: %s", path, strerror(errno));
		return NULL;
	}
	ret = sfs_localfile_open(whole, &file, err);
	free(whole);
	if (ret == 0) {
		if (file.n > MOST_BYTES) {
			ret = sfs_error_set(err, -EFBIG, "%s: more than 1 MiB", path);
		} else {
			text = sfs_calloc(1, (size_t)file.n + 1);
			ret = sfs_localfile_read(&file, 0, text, (size_t)file.n);
			if (ret < 0)
				sfs_error_set(err, ret, "%s: %s", path, strerror(-ret));
		}
		if (ret == 0 && strlen(text) != file.n)
			ret = sfs_error_set(err, -EINVAL, "%s: it holds a NUL", path);
		sfs_localfile_close(&file);
	}
	if (ret < 0) {
		free(steal(&text));
		*ret_err = ret;
		return NULL;
	}
	for (n = strlen(text); n > 0 && strchr("\r\n", text[n - 1]);)
		text[--n] = 0;
	return text;
}

/* ---- JSON ---- */

char *sfs_credentials_member(const char *text, const char *name)
{
	enum sfs_json_token token;
	struct sfs_json json;
	char *value = NULL;
	bool is_it;

	sfs_json_init(&json, text, strlen(text));
	token = sfs_json_next(&json);
	while (token == SFS_JSON_OBJECT && sfs_json_next(&json) == SFS_JSON_KEY) {
		is_it = sfs_json_is(&json, name);
		token = sfs_json_next(&json);
		if (is_it) {
			forget(&value);
			value = sfs_strdup((token == SFS_JSON_STRING ||
					    token == SFS_JSON_NUMBER) && json.text.s
						   ? json.text.s
						   : "");
		}
		if (!sfs_json_skip(&json, token))
			break;
		token = SFS_JSON_OBJECT;
	}
	if (token != SFS_JSON_OBJECT || sfs_json_next(&json) != SFS_JSON_END)
		forget(&value);
	if (json.text.s)
		explicit_bzero(json.text.s, json.text.n);
	sfs_json_done(&json);
	return value;
}

int sfs_credentials_read_grant(const char *text, const char *from, int64_t now_s,
			       struct sfs_credentials *ret, struct sfs_error *err)
{
	char *token = sfs_credentials_member(text, "access_token");
	sfs_autofree char *expires_in = sfs_credentials_member(text, "expires_in");
	long left_s = expires_in ? strtol(expires_in, NULL, 10) : 0;

	if (!token || !*token || !sfs_credentials_is_clean(token)) {
		forget(&token);
		return sfs_error_set(err, -EBADMSG, "the token from %s: none came", from);
	}
	*ret = (struct sfs_credentials){.token = token, .from = sfs_strdup(from)};
	if (left_s > 0 && left_s < MOST_S)
		ret->expires_s = now_s + left_s;
	return 0;
}
