/* SPDX-License-Identifier: MIT */
#include "source/http/credentials.h"

#include "base/alloc.h"
#include "base/json-find.h"
#include "base/localfile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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
	return sfs_json_find(text, strlen(text), name, true);
}

int64_t sfs_credentials_read_time(const char *text)
{
	int hours = 0, minutes = 0, n = 0;
	const char *rest;
	struct tm tm = {0};
	char sign = '+';

	rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	if (!rest)
		rest = strptime(text, "%Y-%m-%d %H:%M:%S", &tm);
	if (!rest)
		return 0;
	if (*rest == '.')
		rest += 1 + strspn(rest + 1, "0123456789");
	if (*rest == '+' || *rest == '-') {
		if (sscanf(rest, "%c%2d:%2d%n", &sign, &hours, &minutes, &n) != 3 ||
		    hours < 0 || minutes < 0)
			return 0;
		rest += n;
	} else {
		rest += *rest == 'Z';
	}
	if (*rest)
		return 0;
	return (int64_t)timegm(&tm) -
	       (sign == '-' ? -60 : 60) * (60 * (int64_t)hours + minutes);
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
