/* SPDX-License-Identifier: MIT */
#include "source/http/header-lines.h"

#include "base/alloc.h"
#include "source/http/token-json.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

bool sfs_header_lines_is_one(const char *line)
{
	size_t n = strcspn(line, ":");

	return n > 0 && line[n] == ':' && !strpbrk(line, "\r\n") &&
	       strcspn(line, " \t") >= n;
}

static void forget(char *line)
{
	explicit_bzero(line, strlen(line));
	free(line);
}

void sfs_header_lines_done(struct sfs_header_lines *lines)
{
	while (lines->n > 0)
		forget(lines->s[--lines->n]);
	free(steal(&lines->s));
}

static void add(struct sfs_header_lines *lines, char *line)
{
	lines->s = sfs_reallocarray(lines->s, (size_t)lines->n + 1, sizeof *lines->s);
	lines->s[lines->n++] = line;
}

struct sfs_header_lines sfs_header_lines_split(char *text)
{
	struct sfs_header_lines lines = {0};
	char *line, *rest = text;
	size_t n;

	while ((line = strsep(&rest, "\n")) != NULL) {
		for (n = strlen(line); n > 0 && isspace((unsigned char)line[n - 1]);)
			line[--n] = 0;
		if (n > 0)
			add(&lines, sfs_strdup(line));
	}
	return lines;
}

/* Of what goes into a header as a token. */
static bool is_token(const char *s)
{
	for (; *s > ' ' && *s < 0x7f; s++)
		;
	return *s == 0;
}

static int read_bearer(struct sfs_header_lines *lines, struct sfs_error *err)
{
	char *token = lines->n > 0 ? lines->s[0] : NULL;

	if (!token)
		return 0;
	token += strspn(token, " \t");
	if (lines->n > 1 || !is_token(token))
		return sfs_error_set(err, -EINVAL,
				     "it has more in it than a token: a blank, another "
				     "line, or a byte that no token has");
	token = sfs_asprintf("Authorization: Bearer %s", token);
	forget(lines->s[0]);
	lines->s[0] = token;
	return 0;
}

static int check(const struct sfs_header_lines *lines, struct sfs_error *err)
{
	int i;

	for (i = 0; i < lines->n; i++)
		if (!sfs_header_lines_is_one(lines->s[i]))
			return sfs_error_set(err, -EINVAL,
					     "expected 'Name: value' on each line");
	return 0;
}

static void add_json_line(void *ctx, char *line)
{
	add(ctx, line);
}

/* JSON that has headers, where these are wanted, or a token. */
static int read_json(const char *text, size_t n, bool is_bearer, int64_t now_s,
		     struct sfs_header_lines *lines, struct sfs_error *err)
{
	char *token;
	int code = -ENOENT;

	if (!is_bearer)
		code = sfs_token_json_read_headers(text, n, now_s, add_json_line, lines,
						   &lines->expires_s, err);
	if (code == 0)
		return check(lines, err);
	if (code != -ENOENT)
		return code;
	code = sfs_token_json_read(text, n, now_s, &token, &lines->expires_s, err);
	if (code < 0)
		return code;
	add(lines, sfs_asprintf("Authorization: Bearer %s", token));
	forget(token);
	return 0;
}

int sfs_header_lines_read(char *text, size_t n, bool is_bearer, int64_t now_s,
			  struct sfs_header_lines *ret, struct sfs_error *err)
{
	struct sfs_header_lines lines = {0};
	int code;

	if (memchr(text, 0, n))
		return sfs_error_set(err, -EINVAL, "it has a NUL in it");
	if (sfs_token_json_is(text)) {
		code = read_json(text, n, is_bearer, now_s, &lines, err);
	} else {
		lines = sfs_header_lines_split(text);
		code = is_bearer ? read_bearer(&lines, err) : check(&lines, err);
	}
	if (code < 0)
		sfs_header_lines_done(&lines);
	else
		*ret = lines;
	return code;
}

bool sfs_header_lines_are_same(const struct sfs_header_lines *a,
			       const struct sfs_header_lines *b)
{
	int i;

	if (a->n != b->n)
		return false;
	for (i = 0; i < a->n; i++)
		if (strcmp(a->s[i], b->s[i]) != 0)
			return false;
	return true;
}

struct sfs_header_lines sfs_header_lines_copy(const struct sfs_header_lines *lines)
{
	struct sfs_header_lines copy = {.expires_s = lines->expires_s};
	int i;

	for (i = 0; i < lines->n; i++)
		add(&copy, sfs_strdup(lines->s[i]));
	return copy;
}
