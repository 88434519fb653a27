/* SPDX-License-Identifier: MIT */
/* How this works: `want` says what the grammar allows next, and one bit for each open
 * bracket says which kind it is; there is no recursion.  A token moves p past itself.
 * After the first byte that is wrong nothing is wanted any more. */
#include "base/json.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
	WANT_VALUE,
	WANT_FIRST, /* just opened: an item, or the closing bracket */
	WANT_MORE,  /* after an item: a comma, or the closing bracket */
	WANT_NOTHING,
};

void sfs_json_init(struct sfs_json *json, const void *bytes, size_t n)
{
	*json = (struct sfs_json){
		.begin = bytes,
		.p = bytes,
		.end = n > 0 ? (const char *)bytes + n : bytes,
		.want = WANT_VALUE,
	};
}

void sfs_json_done(struct sfs_json *json)
{
	sfs_strbuf_done(&json->text);
}

static size_t line(const struct sfs_json *j)
{
	const char *p = j->begin;
	size_t n = 1;

	while (p < j->p && (p = memchr(p, '\n', (size_t)(j->p - p)))) {
		n++;
		p++;
	}
	return n;
}

static enum sfs_json_token bad(struct sfs_json *j, const char *why)
{
	j->want = WANT_NOTHING;
	sfs_error_set(&j->error, 0, "line %zu: %s", line(j), why);
	return SFS_JSON_BAD;
}

static bool is_next(const struct sfs_json *j, char c)
{
	return j->p < j->end && *j->p == c;
}

static bool is_digit(const struct sfs_json *j)
{
	return j->p < j->end && *j->p >= '0' && *j->p <= '9';
}

static bool in_object(const struct sfs_json *j)
{
	return j->depth > 0 && (j->objects >> (j->depth - 1) & 1);
}

static void skip_space(struct sfs_json *j)
{
	while (is_next(j, ' ') || is_next(j, '\t') || is_next(j, '\n') ||
	       is_next(j, '\r'))
		j->p++;
}

static enum sfs_json_token open_bracket(struct sfs_json *j)
{
	uint64_t is_object = *j->p == '{';

	if (j->depth == SFS_JSON_DEPTH)
		return bad(j, "too deeply nested");
	j->objects &= ~((uint64_t)1 << j->depth);
	j->objects |= is_object << j->depth++;
	j->p++;
	j->want = WANT_FIRST;
	return is_object ? SFS_JSON_OBJECT : SFS_JSON_ARRAY;
}

static enum sfs_json_token close_bracket(struct sfs_json *j)
{
	bool is_object = in_object(j);

	j->depth--;
	j->p++;
	j->want = WANT_MORE;
	return is_object ? SFS_JSON_OBJECT_END : SFS_JSON_ARRAY_END;
}

/* ---- strings ---- */

static void add_utf8(struct sfs_strbuf *t, uint32_t c)
{
	char s[4];
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4, i;

	for (i = n - 1; i > 0; i--, c >>= 6)
		s[i] = (char)(0x80 | (c & 0x3f));
	s[0] = (char)(n == 1 ? c : (0xf00U >> n & 0xff) | c);
	sfs_strbuf_add(t, s, n);
}

static bool hex4(struct sfs_json *j, uint32_t *ret)
{
	static const char digits[] = "0123456789abcdef0123456789ABCDEF";
	const char *digit;
	int i;

	*ret = 0;
	for (i = 0; i < 4; i++, j->p++) {
		if (j->p == j->end)
			return false;
		digit = memchr(digits, *j->p, sizeof digits - 1);
		if (!digit)
			return false;
		*ret = *ret << 4 | ((uint32_t)(digit - digits) & 15);
	}
	return true;
}

/* After "\u".  NULL: fine; else what is wrong. */
static const char *unicode(struct sfs_json *j)
{
	uint32_t c, low;

	if (!hex4(j, &c))
		return "\\u wants four hexadecimal digits";
	if (c >= 0xd800 && c < 0xdc00) {
		if (j->end - j->p < 2 || j->p[0] != '\\' || j->p[1] != 'u')
			return "half of a surrogate pair";
		j->p += 2;
		if (!hex4(j, &low) || low < 0xdc00 || low > 0xdfff)
			return "half of a surrogate pair";
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	} else if (c >= 0xdc00 && c <= 0xdfff) {
		return "half of a surrogate pair";
	}
	add_utf8(&j->text, c);
	return NULL;
}

/* After a backslash. */
static const char *escape(struct sfs_json *j)
{
	static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
	const char *letter;

	if (j->p == j->end)
		return "a string has no end";
	letter = memchr(letters, *j->p, sizeof letters - 1);
	if (letter) {
		sfs_strbuf_add(&j->text, meant + (letter - letters), 1);
		j->p++;
		return NULL;
	}
	if (*j->p != 'u')
		return "an escape that JSON does not know";
	j->p++;
	return unicode(j);
}

/* The string at p into `text`.  NULL: fine; else what is wrong. */
static const char *string(struct sfs_json *j)
{
	const char *wrong;
	size_t n;

	j->text.n = 0;
	sfs_strbuf_puts(&j->text, "");
	for (j->p++; j->p < j->end && *j->p != '"';) {
		if (*j->p == '\\') {
			j->p++;
			wrong = escape(j);
			if (wrong)
				return wrong;
			continue;
		}
		n = sfs_strbuf_utf8(j->p, (size_t)(j->end - j->p));
		if (n == 0)
			return "a string is not UTF-8";
		if ((unsigned char)*j->p < 0x20)
			return "a control character in a string";
		sfs_strbuf_add(&j->text, j->p, n);
		j->p += n;
	}
	if (j->p == j->end)
		return "a string has no end";
	j->p++;
	return NULL;
}

/* ---- values ---- */

static bool digits(struct sfs_json *j)
{
	if (!is_digit(j))
		return false;
	while (is_digit(j))
		j->p++;
	return true;
}

/* -?(0|[1-9][0-9]*)([.][0-9]+)?([eE][-+]?[0-9]+)? */
static bool number(struct sfs_json *j)
{
	const char *begin = j->p;

	j->p += is_next(j, '-');
	if (is_next(j, '0'))
		j->p++;
	else if (!digits(j))
		return false;
	if (is_next(j, '.')) {
		j->p++;
		if (!digits(j))
			return false;
	}
	if (is_next(j, 'e') || is_next(j, 'E')) {
		j->p++;
		j->p += is_next(j, '-') || is_next(j, '+');
		if (!digits(j))
			return false;
	}
	j->text.n = 0;
	sfs_strbuf_add(&j->text, begin, (size_t)(j->p - begin));
	return true;
}

static enum sfs_json_token word(struct sfs_json *j, const char *w,
				enum sfs_json_token token)
{
	size_t n = strlen(w);

	if ((size_t)(j->end - j->p) < n || memcmp(j->p, w, n) != 0)
		return bad(j, "not a value");
	j->p += n;
	j->want = WANT_MORE;
	return token;
}

static enum sfs_json_token value(struct sfs_json *j)
{
	const char *wrong;

	switch (*j->p) {
	case '{':
	case '[': return open_bracket(j);
	case 't': return word(j, "true", SFS_JSON_TRUE);
	case 'f': return word(j, "false", SFS_JSON_FALSE);
	case 'n': return word(j, "null", SFS_JSON_NULL);
	case '"':
		wrong = string(j);
		if (wrong)
			return bad(j, wrong);
		j->want = WANT_MORE;
		return SFS_JSON_STRING;
	}
	if (!is_next(j, '-') && !is_digit(j))
		return bad(j, "not a value");
	if (!number(j))
		return bad(j, "not a number");
	j->want = WANT_MORE;
	return SFS_JSON_NUMBER;
}

static enum sfs_json_token key(struct sfs_json *j)
{
	const char *wrong;

	if (!is_next(j, '"'))
		return bad(j, "expected a name in quotes");
	wrong = string(j);
	if (wrong)
		return bad(j, wrong);
	skip_space(j);
	if (!is_next(j, ':'))
		return bad(j, "expected a colon");
	j->p++;
	j->want = WANT_VALUE;
	return SFS_JSON_KEY;
}

enum sfs_json_token sfs_json_next(struct sfs_json *json)
{
	struct sfs_json *j = json;
	int want = j->want;

	if (want == WANT_NOTHING)
		return SFS_JSON_BAD;
	skip_space(j);
	if (want == WANT_MORE && j->depth == 0)
		return j->p == j->end ? SFS_JSON_END
				      : bad(j, "something follows the value");
	if (want != WANT_VALUE && is_next(j, in_object(j) ? '}' : ']'))
		return close_bracket(j);
	if (want == WANT_MORE) {
		if (j->p < j->end && !is_next(j, ','))
			return bad(j, "expected a comma or a closing bracket");
		j->p += j->p < j->end;
		skip_space(j);
	}
	if (j->p == j->end)
		return bad(j, "it ends too early");
	return want != WANT_VALUE && in_object(j) ? key(j) : value(j);
}

bool sfs_json_skip(struct sfs_json *json, enum sfs_json_token token)
{
	unsigned depth = json->depth;

	if (token == SFS_JSON_KEY)
		return sfs_json_skip(json, sfs_json_next(json));
	if (token == SFS_JSON_OBJECT || token == SFS_JSON_ARRAY)
		while (token != SFS_JSON_BAD && json->depth >= depth)
			token = sfs_json_next(json);
	return token != SFS_JSON_BAD;
}

bool sfs_json_is(const struct sfs_json *json, const char *text)
{
	return json->text.s && json->text.n == strlen(text) &&
	       memcmp(json->text.s, text, json->text.n) == 0;
}

bool sfs_json_uint(const struct sfs_json *json, uint64_t *ret)
{
	uint64_t v = 0;
	size_t i;

	for (i = 0; i < json->text.n; i++) {
		if (json->text.s[i] < '0' || json->text.s[i] > '9' ||
		    __builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(json->text.s[i] - '0'), &v))
			return false;
	}
	*ret = v;
	return i > 0;
}

int sfs_json_refuse(const struct sfs_json *json, struct sfs_error *err,
		    const char *format, ...)
{
	char why[512];
	va_list args;

	if (json->error.text[0])
		return sfs_error_set(err, -EBADMSG, "%s", json->error.text);
	va_start(args, format);
	vsnprintf(why, sizeof why, format, args);
	va_end(args);
	return sfs_error_set(err, -EBADMSG, "line %zu: %s", line(json), why);
}
