/* SPDX-License-Identifier: MIT */
/* JSON: a text that is accepted, written again from its tokens, gives the same tokens.
 * What a name leads to in a whole text, it leads to in any; and what a command printed are
 * header lines, or an error. */
#include "fuzz.h"

#include "base/alloc.h"
#include "base/json-find.h"
#include "base/json.h"
#include "source/http/header-lines.h"

/* Write the tokens of a text as JSON.  false: it is none. */
static bool rewrite(const char *bytes, size_t n, struct sfs_strbuf *to)
{
	static const char *const written[] = {
		[SFS_JSON_OBJECT] = "{",  [SFS_JSON_OBJECT_END] = "}",
		[SFS_JSON_ARRAY] = "[",	  [SFS_JSON_ARRAY_END] = "]",
		[SFS_JSON_TRUE] = "true", [SFS_JSON_FALSE] = "false",
		[SFS_JSON_NULL] = "null",
	};
	enum sfs_json_token token, was = SFS_JSON_ARRAY;
	struct sfs_json json;

	sfs_json_init(&json, bytes, n);
	while ((token = sfs_json_next(&json)) > SFS_JSON_END) {
		MUST(json.p > json.begin && json.p <= json.end);
		MUST(json.depth <= SFS_JSON_DEPTH);
		if (was != SFS_JSON_OBJECT && was != SFS_JSON_ARRAY &&
		    was != SFS_JSON_KEY && token != SFS_JSON_OBJECT_END &&
		    token != SFS_JSON_ARRAY_END)
			sfs_strbuf_puts(to, ", ");
		was = token;
		if (token == SFS_JSON_KEY || token == SFS_JSON_STRING)
			sfs_strbuf_json(to, json.text.s); /* up to its first NUL */
		else if (token == SFS_JSON_NUMBER)
			sfs_strbuf_add(to, json.text.s, json.text.n);
		else
			sfs_strbuf_puts(to, written[token]);
		if (token == SFS_JSON_KEY)
			sfs_strbuf_puts(to, " : ");
	}
	MUST(sfs_json_next(&json) == token);
	MUST((token == SFS_JSON_BAD) == (json.error.text[0] != 0));
	MUST(token == SFS_JSON_BAD || (json.p == json.end && json.depth == 0));
	sfs_json_done(&json);
	return token == SFS_JSON_END;
}

static void check_json(const char *bytes, size_t n)
{
	struct sfs_strbuf once = {0}, twice = {0};

	if (rewrite(bytes, n, &once)) {
		MUST(rewrite(once.s, once.n, &twice));
		MUST(once.n == twice.n && memcmp(once.s, twice.s, once.n) == 0);
	}
	sfs_strbuf_done(&once);
	sfs_strbuf_done(&twice);
}

static void check_find(const char *bytes, size_t n, const char *path)
{
	sfs_autofree char *whole = sfs_json_find(bytes, n, path, true),
			  *part = sfs_json_find(bytes, n, path, false);
	enum sfs_json_token token;
	struct sfs_json json;

	MUST(!whole || (part && strcmp(whole, part) == 0));
	sfs_json_init(&json, bytes, n);
	token = sfs_json_seek(&json, path);
	MUST(token == SFS_JSON_BAD || token > SFS_JSON_END);
	MUST(!whole || token != SFS_JSON_BAD || strchr(path, '.'));
	sfs_json_done(&json);
}

static void check_lines(const char *bytes, size_t n, bool is_bearer)
{
	sfs_autofree char *text = sfs_strndup(bytes, n);
	struct sfs_header_lines lines = {0};
	struct sfs_error err;
	int i;

	if (sfs_header_lines_read(text, strlen(text), is_bearer, 1764169200, &lines,
				  &err) < 0) {
		MUST(err.text[0] && lines.n == 0);
		return;
	}
	MUST(!is_bearer || lines.n <= 1);
	MUST(lines.expires_s == 0 || lines.expires_s > 1764169200);
	for (i = 0; i < lines.n; i++)
		MUST(sfs_header_lines_is_one(lines.s[i]));
	sfs_header_lines_done(&lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *bytes = fuzz_copy(data, n);

	check_json(bytes, n);
	check_find(bytes, n, "a");
	check_find(bytes, n, "status.token");
	check_lines(bytes, n, true);
	check_lines(bytes, n, false);
	free(bytes);
	return 0;
}
