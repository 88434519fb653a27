/* SPDX-License-Identifier: MIT */
#include "catalog/wids.h"

#include "base/alloc.h"
#include "base/json.h"
#include "source/uri.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define KIND "wids-shard-index-v1"

struct reader {
	struct sfs_json json;
	struct sfs_wids wids;
	bool has_version, has_list;
	struct sfs_error *err;
};

static void part_done(struct sfs_wids_part *part)
{
	while (part->n > 0)
		free(part->shards[--part->n].url);
	free(part->shards);
	free(part->base);
	free(part->source_url);
}

void sfs_wids_done(struct sfs_wids *w)
{
	while (w->n > 0)
		part_done(&w->parts[--w->n]);
	free(w->parts);
	*w = (struct sfs_wids){0};
}

static int refuse(struct reader *r, const char *why)
{
	return sfs_json_refuse(&r->json, r->err, "%s", why);
}

/* The value is next: a string.  *ret gets it, and what it had is freed. */
static int read_string(struct reader *r, const char *what, char **ret)
{
	const struct sfs_strbuf *text = &r->json.text;

	if (sfs_json_next(&r->json) != SFS_JSON_STRING || text->n == 0 ||
	    memchr(text->s, 0, text->n))
		return sfs_json_refuse(&r->json, r->err, "'%s' is no string of letters",
				       what);
	free(*ret);
	*ret = sfs_strdup(text->s);
	return 0;
}

static int read_count(struct reader *r, const char *what, uint64_t *ret)
{
	if (sfs_json_next(&r->json) == SFS_JSON_NUMBER && sfs_json_uint(&r->json, ret))
		return 0;
	return sfs_json_refuse(&r->json, r->err, "'%s' is no number of things", what);
}

static int skip(struct reader *r)
{
	return sfs_json_skip(&r->json, sfs_json_next(&r->json)) ? 0 : refuse(r, "");
}

/* An object of the list; it has begun. */
static int read_shard(struct reader *r, struct sfs_wids_shard *shard)
{
	enum sfs_json_token token;
	int ret = 0;

	while (ret == 0 && (token = sfs_json_next(&r->json)) == SFS_JSON_KEY) {
		if (sfs_json_is(&r->json, "url"))
			ret = read_string(r, "url", &shard->url);
		else if (sfs_json_is(&r->json, "nsamples"))
			ret = read_count(r, "nsamples", &shard->n_samples);
		else if (sfs_json_is(&r->json, "filesize"))
			ret = read_count(r, "filesize", &shard->n_bytes);
		else
			ret = skip(r);
	}
	if (ret < 0)
		return ret;
	if (token != SFS_JSON_OBJECT_END)
		return refuse(r, "");
	return shard->url ? 0 : refuse(r, "a shard has no 'url'");
}

static int read_list(struct reader *r, struct sfs_wids_part *part)
{
	enum sfs_json_token token;
	int ret = 0;

	if (part->has_list)
		return refuse(r, "there are two lists of the same shards");
	if (sfs_json_next(&r->json) != SFS_JSON_ARRAY)
		return refuse(r, "'shardlist' is no list");
	r->has_list = part->has_list = true;
	while (ret == 0 && (token = sfs_json_next(&r->json)) == SFS_JSON_OBJECT) {
		if ((part->n & (part->n - 1)) == 0) /* a power of two: full */
			part->shards = sfs_reallocarray(part->shards, 2 * part->n + 1,
							sizeof *part->shards);
		part->shards[part->n++] =
			(struct sfs_wids_shard){NULL, SFS_WIDS_UNKNOWN, SFS_WIDS_UNKNOWN};
		ret = read_shard(r, &part->shards[part->n - 1]);
	}
	if (ret < 0)
		return ret;
	return token == SFS_JSON_ARRAY_END ? 0 : refuse(r, "a shard is no object");
}

static struct sfs_wids_part *add_part(struct reader *r)
{
	struct sfs_wids *w = &r->wids;

	w->parts = sfs_reallocarray(w->parts, w->n + 1, sizeof *w->parts);
	w->parts[w->n] = (struct sfs_wids_part){0};
	return &w->parts[w->n++];
}

/* The key has been read.  1: it is none of those that a dataset has. */
static int read_member(struct reader *r, struct sfs_wids_part *part)
{
	if (sfs_json_is(&r->json, "shardlist"))
		return read_list(r, part);
	if (sfs_json_is(&r->json, "base"))
		return read_string(r, "base", &part->base);
	return 1;
}

static int read_dataset(struct reader *r)
{
	struct sfs_wids_part *part = add_part(r);
	enum sfs_json_token token;
	int ret = 0;

	while (ret == 0 && (token = sfs_json_next(&r->json)) == SFS_JSON_KEY) {
		if (sfs_json_is(&r->json, "source_url"))
			ret = read_string(r, "source_url", &part->source_url);
		else
			ret = read_member(r, part);
		if (ret == 1)
			ret = skip(r);
	}
	if (ret < 0)
		return ret;
	if (token != SFS_JSON_OBJECT_END)
		return refuse(r, "");
	return part->source_url || part->has_list
		       ? 0
		       : refuse(r, "a dataset has neither 'shardlist' nor 'source_url'");
}

static int read_datasets(struct reader *r)
{
	enum sfs_json_token token;
	int ret = 0;

	if (sfs_json_next(&r->json) != SFS_JSON_ARRAY)
		return refuse(r, "'datasets' is no list");
	r->has_list = true;
	while (ret == 0 && (token = sfs_json_next(&r->json)) == SFS_JSON_OBJECT)
		ret = read_dataset(r);
	if (ret < 0)
		return ret;
	return token == SFS_JSON_ARRAY_END ? 0 : refuse(r, "a dataset is no object");
}

static int read_version(struct reader *r)
{
	uint64_t version = 0;
	int ret = read_count(r, "wids_version", &version);

	if (ret == 0 && version != 1)
		return refuse(r, "'wids_version' is not 1, the only one that is known");
	r->has_version = true;
	return ret;
}

static int read_kind(struct reader *r)
{
	sfs_autofree char *kind = NULL;
	int ret = read_string(r, "__kind__", &kind);

	if (ret == 0 && strcmp(kind, KIND) != 0)
		return refuse(r, "'__kind__' is not " KIND);
	r->has_version = true;
	return ret;
}

static int read_all(struct reader *r)
{
	enum sfs_json_token token;
	int ret = 0;

	add_part(r);
	if (sfs_json_next(&r->json) != SFS_JSON_OBJECT)
		return refuse(r, "there is no object");
	while (ret == 0 && (token = sfs_json_next(&r->json)) == SFS_JSON_KEY) {
		if (sfs_json_is(&r->json, "wids_version"))
			ret = read_version(r);
		else if (sfs_json_is(&r->json, "__kind__"))
			ret = read_kind(r);
		else if (sfs_json_is(&r->json, "datasets"))
			ret = read_datasets(r);
		else
			ret = read_member(r, &r->wids.parts[0]);
		if (ret == 1)
			ret = skip(r);
	}
	if (ret < 0)
		return ret;
	if (token != SFS_JSON_OBJECT_END || sfs_json_next(&r->json) != SFS_JSON_END)
		return refuse(r, "");
	if (!r->has_list)
		return refuse(r, "it has no 'shardlist'");
	return r->has_version ? 0 : refuse(r, "it has no 'wids_version'");
}

int sfs_wids_read(const char *bytes, size_t n, struct sfs_wids *ret,
		  struct sfs_error *err)
{
	struct reader r = {.err = err};
	int code;

	sfs_json_init(&r.json, bytes, n);
	code = read_all(&r);
	sfs_json_done(&r.json);
	if (code < 0)
		sfs_wids_done(&r.wids);
	else
		*ret = r.wids;
	return code;
}

/* ---- URLs ---- */

/* Add a path without "." and "..", as wids does: a store's keys have none, and names of
 * shards neither. */
static void add_path(struct sfs_strbuf *to, const char *path)
{
	size_t start = to->n, n;

	for (; *path; path += n) {
		path += strspn(path, "/");
		n = strcspn(path, "/");
		if (n == 0 || (n == 1 && path[0] == '.'))
			continue;
		if (n == 2 && memcmp(path, "..", 2) == 0) {
			while (to->n > start && to->s[--to->n] != '/')
				;
			to->s[to->n] = 0;
			continue;
		}
		sfs_strbuf_printf(to, "/%.*s", (int)n, path);
	}
}

/* The base is a URL.  What follows '?' in `url` is a query, and no path. */
static char *at_url(const char *base, const char *url)
{
	const char *ends = strncasecmp(base, "http", 4) == 0 ? "?#" : "";
	size_t n_host = strcspn(strstr(base, "://") + 3, "/?#");
	const char *path = strstr(base, "://") + 3 + n_host;
	sfs_autofree char *folder = sfs_strndup(path, strcspn(path, ends));
	size_t n = strcspn(url, "?");
	sfs_autofree char *whole =
		sfs_asprintf("%s/%.*s", *url == '/' ? "" : folder, (int)n, url);
	struct sfs_strbuf text = {0};

	sfs_strbuf_add(&text, base, (size_t)(path - base));
	add_path(&text, whole);
	sfs_strbuf_puts(&text, url + n);
	return text.s;
}

static char *at_path(const char *base, const char *url)
{
	sfs_autofree char *whole = sfs_asprintf("%s/%s", *url == '/' ? "" : base, url);
	struct sfs_strbuf text = {0};

	sfs_strbuf_puts(&text, "");
	add_path(&text, whole);
	if (text.n == 0)
		sfs_strbuf_puts(&text, "/");
	return text.s;
}

char *sfs_wids_resolve(const char *base, const char *url)
{
	if (sfs_uri_has_scheme(url) || sfs_uri_is_pipe(url))
		return sfs_strdup(url);
	if (sfs_uri_has_scheme(base))
		return at_url(base, url);
	return at_path(base, url);
}
