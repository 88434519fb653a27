/* SPDX-License-Identifier: MIT */
#include "catalog/manifest.h"

#include "base/alloc.h"
#include "base/json.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

struct reader {
	struct sfs_json json;
	struct sfs_manifest *ret;
	size_t capacity;
	struct sfs_error *err;
};

#define refuse(r, ...) sfs_json_refuse(&(r)->json, (r)->err, __VA_ARGS__)

void sfs_manifest_done(struct sfs_manifest *counts)
{
	size_t i;

	for (i = 0; i < counts->n; i++)
		free(counts->counts[i].name);
	free(counts->counts);
	*counts = (struct sfs_manifest){0};
}

static const char *last_component(const char *name)
{
	const char *slash = strrchr(name, '/');

	return slash ? slash + 1 : name;
}

/* Takes the name. */
static void add(struct reader *r, char *name, uint64_t n_samples)
{
	struct sfs_manifest *c = r->ret;

	if (c->n == r->capacity) {
		r->capacity = 2 * r->capacity + 64;
		c->counts = sfs_reallocarray(c->counts, r->capacity, sizeof *c->counts);
	}
	c->counts[c->n++] = (struct sfs_manifest_count){
		.name = name,
		.last = last_component(name),
		.n_samples = n_samples,
	};
}

/* The string that was just read, as a shard's name.  NULL: it holds a NUL. */
static char *name_of(const struct sfs_json *json)
{
	const char *s = json->text.s;
	size_t n = json->text.n;

	if (strlen(s) != n)
		return NULL;
	if (strstr(s, "://"))
		n = strcspn(s, "?#");
	return sfs_strndup(s, n);
}

static int read_count(struct reader *r, uint64_t *ret)
{
	if (sfs_json_next(&r->json) != SFS_JSON_NUMBER || !sfs_json_uint(&r->json, ret))
		return refuse(r, "a number of samples that is no whole number");
	return 0;
}

/* The value of "shard_counts". */
static int read_shard_counts(struct reader *r)
{
	enum sfs_json_token token;
	uint64_t n_samples;
	int ret;

	if (sfs_json_next(&r->json) != SFS_JSON_OBJECT)
		return refuse(r, "\"shard_counts\" is no object");
	while ((token = sfs_json_next(&r->json)) == SFS_JSON_KEY) {
		sfs_autofree char *name = name_of(&r->json);

		if (!name)
			return refuse(r, "a shard's name holds a NUL");
		ret = read_count(r, &n_samples);
		if (ret < 0)
			return ret;
		add(r, steal(&name), n_samples);
	}
	return token == SFS_JSON_OBJECT_END ? 0 : refuse(r, "not JSON");
}

/* One of "shardlist", behind its opening bracket. */
static int read_shard(struct reader *r)
{
	sfs_autofree char *url = NULL;
	enum sfs_json_token token;
	bool has_count = false;
	uint64_t n_samples = 0;
	int ret = 0;

	while (ret == 0 && (token = sfs_json_next(&r->json)) == SFS_JSON_KEY) {
		if (sfs_json_is(&r->json, "nsamples")) {
			ret = read_count(r, &n_samples);
			has_count = true;
		} else if (!sfs_json_is(&r->json, "url")) {
			if (!sfs_json_skip(&r->json, token))
				ret = refuse(r, "not JSON");
		} else if (sfs_json_next(&r->json) == SFS_JSON_STRING && !url) {
			url = name_of(&r->json);
		} else {
			ret = refuse(r, "\"url\" is no string, or told twice");
		}
	}
	if (ret < 0)
		return ret;
	if (token != SFS_JSON_OBJECT_END)
		return refuse(r, "not JSON");
	if (!url || !has_count)
		return refuse(r, "a shard without \"url\" or \"nsamples\"");
	add(r, steal(&url), n_samples);
	return 0;
}

/* The value of "shardlist" or "datasets": a list of objects that `item` reads. */
static int read_list(struct reader *r, const char *what, int (*item)(struct reader *r))
{
	enum sfs_json_token token;
	int ret = 0;

	if (sfs_json_next(&r->json) != SFS_JSON_ARRAY)
		return refuse(r, "\"%s\" is no list", what);
	while (ret == 0 && (token = sfs_json_next(&r->json)) == SFS_JSON_OBJECT)
		ret = item(r);
	if (ret < 0)
		return ret;
	return token == SFS_JSON_ARRAY_END
		       ? 0
		       : refuse(r, "\"%s\" holds what is no object", what);
}

/* One of "datasets". */
static int read_dataset(struct reader *r)
{
	enum sfs_json_token token;
	int ret = 0;

	while (ret == 0 && (token = sfs_json_next(&r->json)) == SFS_JSON_KEY) {
		if (sfs_json_is(&r->json, "shardlist"))
			ret = read_list(r, "shardlist", read_shard);
		else if (!sfs_json_skip(&r->json, token))
			ret = refuse(r, "not JSON");
	}
	if (ret < 0)
		return ret;
	return token == SFS_JSON_OBJECT_END ? 0 : refuse(r, "not JSON");
}

static int read_version(struct reader *r)
{
	uint64_t version;

	if (sfs_json_next(&r->json) != SFS_JSON_NUMBER ||
	    !sfs_json_uint(&r->json, &version) || version != 1)
		return refuse(r, "a version of wids that we do not know");
	return 0;
}

/* A value of the outermost object, behind its name.  1: it was about shards. */
static int read_value(struct reader *r)
{
	const struct sfs_json *json = &r->json;
	int ret;

	if (sfs_json_is(json, "wids_version"))
		return read_version(r);
	if (sfs_json_is(json, "shard_counts"))
		ret = read_shard_counts(r);
	else if (sfs_json_is(json, "shardlist"))
		ret = read_list(r, "shardlist", read_shard);
	else if (sfs_json_is(json, "datasets"))
		ret = read_list(r, "datasets", read_dataset);
	else
		return sfs_json_skip(&r->json, SFS_JSON_KEY) ? 0 : refuse(r, "not JSON");
	return ret < 0 ? ret : 1;
}

static int read_all(struct reader *r)
{
	enum sfs_json_token token;
	bool has_shards = false;
	int ret;

	if (sfs_json_next(&r->json) != SFS_JSON_OBJECT)
		return refuse(r, "no object");
	while ((token = sfs_json_next(&r->json)) == SFS_JSON_KEY) {
		ret = read_value(r);
		if (ret < 0)
			return ret;
		has_shards |= ret > 0;
	}
	if (token != SFS_JSON_OBJECT_END || sfs_json_next(&r->json) != SFS_JSON_END)
		return refuse(r, "not JSON");
	return has_shards ? 0 : refuse(r, "neither \"shard_counts\" nor \"shardlist\"");
}

static int by_last(const void *a, const void *b)
{
	return strcmp(((const struct sfs_manifest_count *)a)->last,
		      ((const struct sfs_manifest_count *)b)->last);
}

int sfs_manifest_parse(const void *json, size_t n, struct sfs_manifest *ret,
		       struct sfs_error *err)
{
	struct sfs_manifest counts = {0};
	struct reader r = {.ret = &counts, .err = err};
	int code;

	sfs_json_init(&r.json, json, n);
	code = read_all(&r);
	sfs_json_done(&r.json);
	if (code < 0) {
		sfs_manifest_done(&counts);
		return code;
	}
	if (counts.n > 0)
		qsort(counts.counts, counts.n, sizeof *counts.counts, by_last);
	*ret = counts;
	return 0;
}

/* ---- which entry is meant ---- */

/* How many whole components do both end in? */
static size_t n_common(const char *a, const char *b)
{
	size_t i = strlen(a), j = strlen(b), n = 0;

	for (; i > 0 && j > 0 && a[i - 1] == b[j - 1]; i--, j--)
		n += a[i - 1] == '/';
	/* What was matched in front of the first of these slashes is a component if it is
	 * one in both. */
	if (a[i] != '/' && (i == 0 || a[i - 1] == '/') && (j == 0 || b[j - 1] == '/'))
		n++;
	return n;
}

/* The first entry whose last component does not come before this one. */
static size_t lower_bound(const struct sfs_manifest *c, const char *last)
{
	size_t low = 0, high = c->n, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (strcmp(c->counts[middle].last, last) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int sfs_manifest_find(const struct sfs_manifest *counts, const char *shard_name,
		      uint64_t *ret_n_samples, struct sfs_error *err)
{
	const char *last = last_component(shard_name);
	const struct sfs_manifest_count *c = counts->counts + lower_bound(counts, last);
	const struct sfs_manifest_count *best = NULL, *rival = NULL;
	size_t n, n_best = 0;

	for (; c < counts->counts + counts->n && strcmp(c->last, last) == 0; c++) {
		n = n_common(c->name, shard_name);
		if (!best || n > n_best) {
			best = c;
			n_best = n;
			rival = NULL;
		} else if (n == n_best && c->n_samples != best->n_samples) {
			rival = c;
		}
	}
	if (!best)
		return sfs_error_set(err, -ENOENT, "it does not name '%s'", shard_name);
	if (rival)
		return sfs_error_set(err, -ENOTUNIQ,
				     "it has %" PRIu64 " samples for '%s' and %" PRIu64
				     " for '%s': either may be '%s'",
				     best->n_samples, best->name, rival->n_samples,
				     rival->name, shard_name);
	*ret_n_samples = best->n_samples;
	return 0;
}
