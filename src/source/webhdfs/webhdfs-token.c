/* SPDX-License-Identifier: MIT */
/* How this works: Hadoop's file is "HDTS", a version (0), the number of tokens, and for
 * each an alias and the token: identifier, password, kind, service.  Each of these is its
 * length, as Hadoop's Writables have it, and that many bytes.  A query has the bytes of
 * one token in base64. */
#include "source/webhdfs/webhdfs-token.h"

#include "base/alloc.h"
#include "base/json.h"
#include "base/localfile.h"
#include "base/log.h"
#include "base/reload.h"
#include "base/strbuf.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#define MOST_BYTES  (1 << 20)
#define MAGIC	    "HDTS"
#define MOST_TOKENS 1000

struct sfs_webhdfs_token {
	char *path; /* NULL: none is named */
	char *value, *from;
	unsigned reload; /* the request of which it was read */
	bool has_warned;
};

static void forget(char **value)
{
	if (*value)
		explicit_bzero(*value, strlen(*value));
	free(steal(value));
}

/* ---- Hadoop's file ---- */

struct bytes {
	const unsigned char *p, *end;
};

/* A length: one byte below 128, or a byte that says how many follow. */
static bool take_length(struct bytes *b, uint64_t *ret)
{
	int first, n;

	if (b->p == b->end)
		return false;
	first = (signed char)*b->p++;
	if (first >= 0) {
		*ret = (uint64_t)first;
		return true;
	}
	n = -112 - first;
	if (n < 1 || n > 4 || b->end - b->p < n)
		return false;
	for (*ret = 0; n > 0; n--)
		*ret = *ret << 8 | *b->p++;
	return true;
}

/* A length and as many bytes: *ret is them alone. */
static bool take_field(struct bytes *b, struct bytes *ret)
{
	uint64_t n;

	if (!take_length(b, &n) || n > (uint64_t)(b->end - b->p))
		return false;
	*ret = (struct bytes){b->p, b->p + n};
	b->p += n;
	return true;
}

static bool is_of_hdfs(const struct bytes *kind)
{
	static const char *const kinds[] = {"HDFS_DELEGATION_TOKEN", "WEBHDFS delegation",
					    "SWEBHDFS delegation"};
	size_t n = (size_t)(kind->end - kind->p), i;

	for (i = 0; i < SFS_COUNT(kinds); i++)
		if (strlen(kinds[i]) == n && memcmp(kinds[i], kind->p, n) == 0)
			return true;
	return false;
}

static char *encode(const unsigned char *p, const unsigned char *end)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		"0123456789-_";
	char *text = sfs_malloc((size_t)(end - p) / 3 * 4 + 5), *to = text;
	unsigned bits = 0;
	int n_bits = 0;

	for (; p < end; p++) {
		bits = (bits << 8 | *p) & 0xffff;
		for (n_bits += 8; n_bits >= 6; n_bits -= 6)
			*to++ = digits[bits >> (n_bits - 6) & 63];
	}
	if (n_bits > 0)
		*to++ = digits[bits << (6 - n_bits) & 63];
	*to = 0;
	return text;
}

static bool read_binary(const char *text, size_t n, char **ret)
{
	struct bytes b = {(const unsigned char *)text + strlen(MAGIC),
			  (const unsigned char *)text + n};
	struct bytes alias, field, kind;
	const unsigned char *begin;
	uint64_t n_tokens;

	if (b.p == b.end || *b.p++ != 0 || !take_length(&b, &n_tokens) ||
	    n_tokens > MOST_TOKENS)
		return false;
	for (; n_tokens > 0; n_tokens--) {
		if (!take_field(&b, &alias))
			return false;
		begin = b.p;
		if (!take_field(&b, &field) || !take_field(&b, &field) ||
		    !take_field(&b, &kind) || !take_field(&b, &field))
			return false;
		if (is_of_hdfs(&kind) && !*ret)
			*ret = encode(begin, b.p);
	}
	return true;
}

/* ---- a text ---- */

/* {"Token":{"urlString":"..."}} */
static char *read_json(const char *text, size_t n)
{
	struct sfs_json json;
	char *value = NULL;

	sfs_json_init(&json, text, n);
	if (sfs_json_next(&json) == SFS_JSON_OBJECT &&
	    sfs_json_next(&json) == SFS_JSON_KEY && sfs_json_is(&json, "Token") &&
	    sfs_json_next(&json) == SFS_JSON_OBJECT &&
	    sfs_json_next(&json) == SFS_JSON_KEY && sfs_json_is(&json, "urlString") &&
	    sfs_json_next(&json) == SFS_JSON_STRING)
		value = sfs_strdup(json.text.s ? json.text.s : "");
	sfs_json_done(&json);
	return value;
}

static bool is_token(const char *s)
{
	const char *p;

	for (p = s; *p; p++)
		if (!isalnum((unsigned char)*p) && *p != '-' && *p != '_')
			return false;
	return p > s;
}

bool sfs_webhdfs_token_read(const char *text, size_t n, char **ret)
{
	char *value = NULL;

	*ret = NULL;
	if (n >= strlen(MAGIC) && memcmp(text, MAGIC, strlen(MAGIC)) == 0) {
		if (!read_binary(text, n, &value)) {
			forget(&value);
			return false;
		}
		*ret = value;
		return true;
	}
	while (n > 0 && isspace((unsigned char)*text)) {
		text++;
		n--;
	}
	while (n > 0 && isspace((unsigned char)text[n - 1]))
		n--;
	value = n > 0 && *text == '{' ? read_json(text, n) : sfs_strndup(text, n);
	if (value && !is_token(value))
		forget(&value);
	*ret = value;
	return value;
}

/* ---- the present one ---- */

static int read_file(const struct sfs_webhdfs_token *t, char **ret, struct sfs_error *err)
{
	struct sfs_strbuf text = {0};
	bool is_pipe;
	int code = sfs_localfile_append(t->path, MOST_BYTES, &text, &is_pipe, err);

	if (code == 0 && (!text.s || !sfs_webhdfs_token_read(text.s, text.n, ret)))
		code = sfs_error_set(err, -EINVAL,
				     "it holds no token, neither in Hadoop's format "
				     "(version 0), nor as text");
	if (text.s)
		explicit_bzero(text.s, text.n);
	sfs_strbuf_done(&text);
	return code;
}

const char *sfs_webhdfs_token_get(struct sfs_webhdfs_token *t)
{
	if (t->path && t->reload != sfs_reload_edition())
		sfs_webhdfs_token_renew(t);
	return t->value;
}

void sfs_webhdfs_token_renew(struct sfs_webhdfs_token *t)
{
	struct sfs_error err;
	char *value = NULL;

	if (!t->path)
		return;
	t->reload = sfs_reload_edition();
	if (read_file(t, &value, &err) < 0) {
		if (!t->has_warned)
			sfs_warning("the delegation token from %s: %s; shufflefs keeps "
				    "sending the old one",
				    t->from, err.text);
		t->has_warned = true;
		return;
	}
	t->has_warned = false;
	forget(&t->value);
	t->value = value;
}

const char *sfs_webhdfs_token_from(const struct sfs_webhdfs_token *t)
{
	return t->value ? t->from : NULL;
}

/* ---- life ---- */

struct sfs_webhdfs_token *sfs_webhdfs_token_start(struct sfs_error *err)
{
	struct sfs_webhdfs_token *t = sfs_calloc(1, sizeof *t);
	const char *path = getenv("HADOOP_TOKEN_FILE_LOCATION");

	t->reload = sfs_reload_edition();
	if (!path || !*path)
		return t;
	t->path = sfs_strdup(path);
	t->from = sfs_asprintf("the file '%s'", path);
	if (read_file(t, &t->value, err) == 0)
		return t;
	sfs_error_wrap(err, -EINVAL, "the delegation token from %s", t->from);
	sfs_webhdfs_token_stop(t);
	return NULL;
}

void sfs_webhdfs_token_stop(struct sfs_webhdfs_token *t)
{
	if (!t)
		return;
	forget(&t->value);
	free(t->path);
	free(t->from);
	free(t);
}
