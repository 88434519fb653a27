/* SPDX-License-Identifier: MIT */
#include "source/hf/hf-page.h"

#include "base/alloc.h"
#include "base/json.h"
#include "base/json-find.h"
#include "source/hf/hf-name.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- tags ---- */

void sfs_hf_tag(const char *sent, char ret[SFS_HF_TAG_BYTES])
{
	size_t n, i;

	/* A hash of the bytes is as good when something on the way made it weak. */
	if (strncmp(sent, "W/", 2) == 0)
		sent += 2;
	n = strlen(sent);
	if (n >= 2 && sent[0] == '"' && sent[n - 1] == '"') {
		sent++;
		n -= 2;
	}
	if (strncmp(sent, "sha256:", 7) == 0) {
		sent += 7;
		n -= 7;
	}
	ret[0] = 0;
	for (i = 0; i < n; i++)
		if (sent[i] <= ' ' || sent[i] >= 0x7f || sent[i] == '"')
			return;
	if (n > 0 && n + 3 <= SFS_HF_TAG_BYTES)
		snprintf(ret, SFS_HF_TAG_BYTES, "\"%.*s\"", (int)n, sent);
}

/* ---- a page ---- */

struct entry {
	char *path, *oid, *lfs_oid;
	uint64_t size;
	bool is_file, has_size;
};

static void entry_done(struct entry *e)
{
	free(e->path);
	free(e->oid);
	free(e->lfs_oid);
	*e = (struct entry){0};
}

static int replace(char **field, const struct sfs_json *json, struct sfs_error *err)
{
	if (json->text.n > 0 && memchr(json->text.s, 0, json->text.n))
		return sfs_json_refuse(json, err, "a NUL in an entry");
	free(*field);
	*field = sfs_strdup(json->text.s ? json->text.s : "");
	return 0;
}

/* The object at "lfs". */
static int read_lfs(struct sfs_json *json, struct entry *e, struct sfs_error *err)
{
	enum sfs_json_token token;
	bool is_oid;
	int code;

	while ((token = sfs_json_next(json)) == SFS_JSON_KEY) {
		is_oid = sfs_json_is(json, "oid");
		token = sfs_json_next(json);
		if (is_oid && token == SFS_JSON_STRING) {
			code = replace(&e->lfs_oid, json, err);
			if (code < 0)
				return code;
		} else if (!sfs_json_skip(json, token)) {
			return sfs_json_refuse(json, err, "no JSON");
		}
	}
	return token == SFS_JSON_OBJECT_END ? 0 : sfs_json_refuse(json, err, "no 'lfs'");
}

/* The value of a member whose name was read. */
static int read_member(struct sfs_json *json, struct entry *e, struct sfs_error *err)
{
	bool is_type = sfs_json_is(json, "type"), is_size = sfs_json_is(json, "size"),
	     is_lfs = sfs_json_is(json, "lfs");
	char **field = sfs_json_is(json, "path")  ? &e->path
		       : sfs_json_is(json, "oid") ? &e->oid
						  : NULL;
	enum sfs_json_token token = sfs_json_next(json);

	if (field && token == SFS_JSON_STRING)
		return replace(field, json, err);
	if (is_type && token == SFS_JSON_STRING) {
		e->is_file = sfs_json_is(json, "file");
		return 0;
	}
	if (is_size && token == SFS_JSON_NUMBER) {
		e->has_size = sfs_json_uint(json, &e->size) && e->size <= UINT64_MAX >> 1;
		return 0;
	}
	if (is_lfs && token == SFS_JSON_OBJECT)
		return read_lfs(json, e, err);
	return sfs_json_skip(json, token) ? 0 : sfs_json_refuse(json, err, "no JSON");
}

static int read_entry(struct sfs_json *json, struct entry *e, struct sfs_error *err)
{
	enum sfs_json_token token;
	int code = 0;

	while (code == 0 && (token = sfs_json_next(json)) == SFS_JSON_KEY)
		code = read_member(json, e, err);
	if (code == 0 && token != SFS_JSON_OBJECT_END)
		code = sfs_json_refuse(json, err, "no entry");
	return code;
}

static int keep_entry(struct sfs_listing *page, const char *root, struct entry *e,
		      const struct sfs_json *json, struct sfs_error *err)
{
	struct sfs_listing_item item = {.size = e->size};
	char tag[SFS_HF_TAG_BYTES];

	if (!e->is_file)
		return 0;
	if (!e->path || !*e->path)
		return sfs_json_refuse(json, err, "a file without its path");
	if (!e->has_size)
		return sfs_json_refuse(json, err, "a file without its size");
	sfs_hf_tag(e->lfs_oid ? e->lfs_oid : e->oid ? e->oid : "", tag);
	item.key = sfs_asprintf("%s%s", root, e->path);
	item.tag = tag[0] ? sfs_strdup(tag) : NULL;
	sfs_listing_add(page, &item);
	return 0;
}

int sfs_hf_page_read(const char *text, size_t n, const char *root,
		     struct sfs_listing *ret, struct sfs_error *err)
{
	struct sfs_listing page = {0};
	enum sfs_json_token token;
	struct entry entry = {0};
	struct sfs_json json;
	int code = 0;

	sfs_json_init(&json, text, n);
	token = sfs_json_next(&json);
	if (token != SFS_JSON_ARRAY)
		code = sfs_json_refuse(&json, err, "it is not an array");
	while (code == 0 && (token = sfs_json_next(&json)) == SFS_JSON_OBJECT) {
		code = read_entry(&json, &entry, err);
		if (code == 0)
			code = keep_entry(&page, root, &entry, &json, err);
		entry_done(&entry);
	}
	if (code == 0 &&
	    (token != SFS_JSON_ARRAY_END || sfs_json_next(&json) != SFS_JSON_END))
		code = sfs_json_refuse(&json, err, "it does not end as it should");
	sfs_json_done(&json);
	if (code < 0) {
		sfs_listing_done(&page);
		return code;
	}
	*ret = page;
	return 0;
}

/* ---- the next page ---- */

/* Do the parameters of a link, up to `end`, say that it leads to the next? */
static bool is_next(const char *s, const char *end)
{
	size_t n;

	for (; s < end; s++) {
		if (*s != ';')
			continue;
		s += 1 + strspn(s + 1, " \t");
		if (strncasecmp(s, "rel=", 4) == 0) {
			s += 4 + (s[4] == '"');
			n = strcspn(s, "\"; \t,\r\n");
			return n == 4 && strncasecmp(s, "next", 4) == 0;
		}
		s--;
	}
	return false;
}

/* The query of the link with rel="next" in one value of Link (RFC 8288). */
static char *find_next(const char *s, const char *end)
{
	const char *url, *close, *after, *query, *p;

	while ((url = memchr(s, '<', (size_t)(end - s))) != NULL) {
		close = memchr(url, '>', (size_t)(end - url));
		if (!close)
			return NULL;
		after = close + 1;
		s = memchr(after, '<', (size_t)(end - after));
		s = s ? s : end;
		query = memchr(url, '?', (size_t)(close - url));
		if (!query || !is_next(after, s))
			continue;
		for (p = ++query; p < close; p++) /* it goes into a request line */
			if (*p <= ' ' || *p >= 0x7f || *p == '#')
				return NULL;
		return close > query ? sfs_strndup(query, (size_t)(close - query)) : NULL;
	}
	return NULL;
}

char *sfs_hf_page_next(const char *head)
{
	const char *line, *end;
	char *next;

	for (line = head; line && *line; line = *end ? end + 1 : end) {
		end = strchrnul(line, '\n');
		if (strncasecmp(line, "link:", 5) != 0)
			continue;
		next = find_next(line + 5, end);
		if (next)
			return next;
	}
	return NULL;
}

/* ---- the commit ---- */

char *sfs_hf_commit_read(const char *text, size_t n)
{
	char *commit = sfs_json_find(text, n, "sha", false);

	if (commit && !sfs_hf_is_commit(commit))
		free(steal(&commit));
	return commit;
}
