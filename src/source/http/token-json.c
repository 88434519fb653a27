/* SPDX-License-Identifier: MIT */
#include "source/http/token-json.h"

#include "base/alloc.h"
#include "base/json-find.h"
#include "source/http/credentials.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_S (366 * 86400) /* that a token lives */

/* Where a token may be, and beside it when it expires: the first that is there counts. */
static const struct form {
	const char *token, *expires[3];
} forms[] = {
	{"access_token", {"expires_in", "expires_on", "expires_at"}},
	{"accessToken", {"expires_on"}},
	{"token", {"expires_in", "expires_at"}},
	{"status.token", {"status.expirationTimestamp"}},
	{"credential.access_token", {"credential.token_expiry"}},
};

bool sfs_token_json_is(const char *text)
{
	return text[strspn(text, " \t\r\n")] == '{';
}

static void forget(char **value)
{
	if (*value)
		explicit_bzero(*value, strlen(*value));
	free(steal(value));
}

/* ---- times ---- */

/* Seconds since 1970, or a date. */
static int64_t read_time(const char *s)
{
	char *end;
	double seconds = strtod(s, &end);

	if (end > s && !*end)
		return seconds > 0 && seconds < 1e12 ? (int64_t)seconds : 0;
	return sfs_credentials_read_time(s);
}

static int64_t find_expiry(const char *text, size_t n, const char *path, int64_t now_s)
{
	sfs_autofree char *value = sfs_json_find(text, n, path, true);
	const char *dot = strrchr(path, '.'), *name = dot ? dot + 1 : path;
	int64_t at_s = value ? read_time(value) : 0;

	if (at_s > 0 && strcmp(name, "expires_in") == 0)
		at_s = at_s < MOST_S ? at_s + now_s : 0;
	return at_s > now_s && at_s < now_s + MOST_S ? at_s : 0;
}

/* ---- tokens ---- */

int sfs_token_json_read(const char *text, size_t n, int64_t now_s, char **ret_token,
			int64_t *ret_expires_s, struct sfs_error *err)
{
	const struct form *form = NULL;
	char *token = NULL;
	int64_t at_s = 0;
	size_t i;

	for (i = 0; i < SFS_COUNT(forms) && !token; i++) {
		form = &forms[i];
		token = sfs_json_find(text, n, form->token, true);
	}
	if (!token || !*token || !sfs_credentials_is_clean(token)) {
		forget(&token);
		return sfs_error_set(err, -EINVAL,
				     "no token is in its JSON: one would be a string at "
				     "access_token, accessToken, token, status.token or "
				     "credential.access_token");
	}
	for (i = 0; i < SFS_COUNT(form->expires) && form->expires[i] && at_s == 0; i++)
		at_s = find_expiry(text, n, form->expires[i], now_s);
	*ret_token = token;
	*ret_expires_s = at_s;
	return 0;
}

/* ---- headers ---- */

struct lines {
	struct sfs_json json;
	void (*add)(void *ctx, char *line);
	void *ctx;
	int n;
};

/* The last token is a value of this header. */
static bool add_line(struct lines *l, const char *name)
{
	const struct sfs_strbuf *text = &l->json.text;

	if (text->n == 0 || memchr(text->s, 0, text->n))
		return false;
	l->add(l->ctx, sfs_asprintf("%s: %s", name, text->s));
	l->n++;
	return true;
}

/* The values of a header: a string, or a list of strings. */
static bool read_values(struct lines *l, const char *name)
{
	enum sfs_json_token token = sfs_json_next(&l->json);

	if (token == SFS_JSON_STRING)
		return add_line(l, name);
	if (token != SFS_JSON_ARRAY)
		return false;
	while ((token = sfs_json_next(&l->json)) == SFS_JSON_STRING)
		if (!add_line(l, name))
			return false;
	return token == SFS_JSON_ARRAY_END;
}

/* The object of headers has begun. */
static bool read_headers(struct lines *l)
{
	enum sfs_json_token token;

	while ((token = sfs_json_next(&l->json)) == SFS_JSON_KEY) {
		sfs_autofree char *name =
			sfs_strdup(l->json.text.s ? l->json.text.s : "");

		if (!read_values(l, name))
			return false;
	}
	return token == SFS_JSON_OBJECT_END;
}

int sfs_token_json_read_headers(const char *text, size_t n, int64_t now_s,
				void (*add)(void *ctx, char *line), void *ctx,
				int64_t *ret_expires_s, struct sfs_error *err)
{
	sfs_autofree char *headers = sfs_json_find(text, n, "headers", true);
	struct lines l = {.add = add, .ctx = ctx};
	bool is_good;

	if (!headers)
		return -ENOENT;
	sfs_json_init(&l.json, text, n);
	is_good = sfs_json_seek(&l.json, "headers") == SFS_JSON_OBJECT &&
		  read_headers(&l) && l.n > 0;
	if (l.json.text.s)
		explicit_bzero(l.json.text.s, l.json.text.n);
	sfs_json_done(&l.json);
	if (!is_good)
		return sfs_error_set(err, -EINVAL,
				     "the \"headers\" in its JSON are not an object of "
				     "strings, or of lists of them");
	*ret_expires_s = find_expiry(text, n, "expires", now_s);
	return 0;
}
