/* SPDX-License-Identifier: MIT */
/* How this works: a dataset's bucket may be named after it in the text, and the prefix at
 * the end, so shards are made when all was read. */
#include "catalog/wds-spec.h"

#include "base/alloc.h"
#include "base/json.h"
#include "catalog/braces.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct names {
	char **s;
	size_t n;
};

struct dataset {
	char *name, *bucket; /* NULL: none */
	bool has_bucket;
	struct names shards;	    /* as they are written */
	uint64_t chosen, resampled; /* 0: all, once */
};

struct reader {
	struct sfs_json json;
	struct sfs_error *err;
	char *prefix, *bucket;
	bool has_datasets;
	struct dataset *datasets;
	size_t n;
	struct names all;
};

static void add(struct names *names, char *name)
{
	if ((names->n & (names->n - 1)) == 0) /* a power of two: full */
		names->s = sfs_reallocarray(names->s, 2 * names->n + 1, sizeof *names->s);
	names->s[names->n++] = name;
}

static void names_done(struct names *names)
{
	while (names->n > 0)
		free(names->s[--names->n]);
	free(names->s);
}

static int wds_refuse(struct reader *r, const char *why)
{
	return sfs_json_refuse(&r->json, r->err, "%s", why);
}

/* The STRING that was read. */
static int take_string(struct reader *r, enum sfs_json_token token, char **ret)
{
	const struct sfs_strbuf *text = &r->json.text;
	const char *s = text->s ? text->s : "";

	if (token != SFS_JSON_STRING || strlen(s) != text->n)
		return wds_refuse(r, "expected a text");
	if (strchr(s, '$') || *s == '~')
		return sfs_json_refuse(&r->json, r->err,
				       "'%s': variables of the environment and '~' are "
				       "not expanded; write what they stand for",
				       s);
	*ret = sfs_strdup(s);
	return 0;
}

static int read_string(struct reader *r, char **to)
{
	free(steal(to));
	return take_string(r, sfs_json_next(&r->json), to);
}

/* A string, or a list of them. */
static int read_strings(struct reader *r, struct names *to)
{
	enum sfs_json_token token = sfs_json_next(&r->json);
	bool is_list = token == SFS_JSON_ARRAY;
	char *s = NULL;
	int ret = 0;

	if (is_list)
		token = sfs_json_next(&r->json);
	while (ret == 0 && token != SFS_JSON_ARRAY_END) {
		ret = take_string(r, token, &s);
		if (ret == 0)
			add(to, steal(&s));
		if (!is_list)
			break;
		if (ret == 0)
			token = sfs_json_next(&r->json);
	}
	return ret;
}

static int read_bucket(struct reader *r, char **to)
{
	struct names buckets = {0};
	int ret = read_strings(r, &buckets);

	if (ret == 0 && buckets.n > 1)
		ret = wds_refuse(r, "several buckets are more than WebDataset takes");
	free(steal(to));
	if (ret == 0 && buckets.n == 1)
		*to = sfs_strdup(buckets.s[0]);
	names_done(&buckets);
	return ret;
}

/* A number; one that is negative means none. */
static int read_number(struct reader *r, uint64_t *ret)
{
	if (sfs_json_next(&r->json) != SFS_JSON_NUMBER)
		return wds_refuse(r, "expected a number");
	if (r->json.text.s[0] == '-')
		*ret = 0;
	else if (!sfs_json_uint(&r->json, ret))
		return wds_refuse(r, "expected a whole number");
	return 0;
}

static int not_understood(struct reader *r)
{
	const char *key = r->json.text.s ? r->json.text.s : "";

	if (strcmp(key, "__module__") == 0 || strcmp(key, "__class__") == 0)
		return wds_refuse(r, "this is for energon, which mixes datasets as they "
				     "are read: name one of its datasets, with split=");
	return sfs_json_refuse(&r->json, r->err, "'%s' is not understood", key);
}

/* A member of a dataset; its key was read. */
static int read_member(struct reader *r, struct dataset *d)
{
	if (sfs_json_is(&r->json, "shards"))
		return read_strings(r, &d->shards);
	if (sfs_json_is(&r->json, "name"))
		return read_string(r, &d->name);
	if (sfs_json_is(&r->json, "choose"))
		return read_number(r, &d->chosen);
	if (sfs_json_is(&r->json, "resample"))
		return read_number(r, &d->resampled);
	if (!sfs_json_is(&r->json, "buckets"))
		return not_understood(r);
	d->has_bucket = true;
	return read_bucket(r, &d->bucket);
}

static int read_dataset(struct reader *r)
{
	enum sfs_json_token token;
	struct dataset *d;
	int ret = 0;

	r->datasets = sfs_reallocarray(r->datasets, r->n + 1, sizeof *r->datasets);
	d = &r->datasets[r->n++];
	*d = (struct dataset){0};
	while (ret == 0 && (token = sfs_json_next(&r->json)) == SFS_JSON_KEY)
		ret = read_member(r, d);
	if (ret < 0)
		return ret;
	if (token != SFS_JSON_OBJECT_END)
		return wds_refuse(r, "");
	return d->shards.n > 0 ? 0 : wds_refuse(r, "a dataset has no 'shards'");
}

static int read_datasets(struct reader *r)
{
	enum sfs_json_token token;
	int ret = 0;

	if (sfs_json_next(&r->json) != SFS_JSON_ARRAY)
		return wds_refuse(r, "'datasets' is no list");
	r->has_datasets = true;
	while (ret == 0 && (token = sfs_json_next(&r->json)) == SFS_JSON_OBJECT)
		ret = read_dataset(r);
	if (ret < 0)
		return ret;
	return token == SFS_JSON_ARRAY_END ? 0 : wds_refuse(r, "a dataset is no map");
}

static int read_all(struct reader *r)
{
	enum sfs_json_token token = sfs_json_next(&r->json);
	int ret = 0;

	if (token != SFS_JSON_OBJECT)
		return wds_refuse(r, "it is no map with 'datasets'");
	while (ret == 0 && (token = sfs_json_next(&r->json)) == SFS_JSON_KEY) {
		if (sfs_json_is(&r->json, "prefix"))
			ret = read_string(r, &r->prefix);
		else if (sfs_json_is(&r->json, "buckets"))
			ret = read_bucket(r, &r->bucket);
		else if (sfs_json_is(&r->json, "datasets"))
			ret = read_datasets(r);
		else
			ret = not_understood(r);
	}
	if (ret < 0)
		return ret;
	if (token != SFS_JSON_OBJECT_END || sfs_json_next(&r->json) != SFS_JSON_END)
		return wds_refuse(r, "");
	return r->has_datasets ? 0 : wds_refuse(r, "it has no 'datasets'");
}

/* As os.path.join() does. */
static char *place(const struct reader *r, const char *bucket, const char *name)
{
	size_t n = strlen(bucket);
	bool is_alone = n == 0 || *name == '/';

	return sfs_asprintf("%s%s%s%s", r->prefix ? r->prefix : "",
			    is_alone ? "" : bucket,
			    is_alone || bucket[n - 1] == '/' ? "" : "/", name);
}

static int expand(struct reader *r, const struct dataset *d, const char *spec)
{
	const char *bucket = d->has_bucket ? d->bucket : r->bucket;
	char **names;
	size_t n, i;
	int ret = sfs_braces_expand(spec, &names, &n, r->err);

	if (ret < 0)
		return sfs_error_wrap(r->err, ret, "'%s'", spec);
	for (i = 0; i < n; i++)
		add(&r->all, place(r, bucket ? bucket : "", names[i]));
	sfs_braces_free(names, n);
	return 0;
}

/* Is each shard read once an epoch? */
static int check_chance(struct reader *r, const struct dataset *d, size_t n)
{
	const char *name = d->name ? d->name : "a dataset";

	if (d->resampled > 0)
		return sfs_error_set(
			r->err, -EOPNOTSUPP,
			"%s: 'resample' draws shards by chance, some of "
			"them twice, and shufflefs gives each sample once "
			"an epoch: remove it, or draw where samples are read",
			name);
	if (d->chosen > n)
		return sfs_error_set(r->err, -EBADMSG,
				     "%s: 'choose' is %llu, but it has %zu shards", name,
				     (unsigned long long)d->chosen, n);
	if (d->chosen > 0 && d->chosen < n)
		return sfs_error_set(r->err, -EOPNOTSUPP,
				     "%s: 'choose' draws other shards for each epoch, "
				     "and an epoch of shufflefs has all of them: remove "
				     "it, or name the shards that are to be read",
				     name);
	return 0;
}

static int expand_all(struct reader *r)
{
	size_t i, k, n_before;
	int ret = 0;

	for (i = 0; i < r->n && ret == 0; i++) {
		n_before = r->all.n;
		for (k = 0; k < r->datasets[i].shards.n && ret == 0; k++)
			ret = expand(r, &r->datasets[i], r->datasets[i].shards.s[k]);
		if (ret == 0)
			ret = check_chance(r, &r->datasets[i], r->all.n - n_before);
	}
	return ret;
}

static void reader_done(struct reader *r)
{
	while (r->n > 0) {
		struct dataset *d = &r->datasets[--r->n];

		names_done(&d->shards);
		free(d->name);
		free(d->bucket);
	}
	free(r->datasets);
	free(r->prefix);
	free(r->bucket);
	sfs_json_done(&r->json);
}

int sfs_wds_spec_read(const char *json, size_t n, char ***ret_shards, size_t *ret_n,
		      struct sfs_error *err)
{
	struct reader r = {.err = err};
	int ret;

	sfs_json_init(&r.json, json, n);
	ret = read_all(&r);
	if (ret == 0)
		ret = expand_all(&r);
	if (ret == 0) {
		*ret_shards = r.all.s;
		*ret_n = r.all.n;
	} else {
		names_done(&r.all);
	}
	reader_done(&r);
	return ret;
}
