/* SPDX-License-Identifier: MIT */
/* How this works: names are those after braces are expanded.  What is excluded is a shard
 * if it is the name of one; else it is a sample, "SHARD/KEY", and counts only where SHARD
 * is of this part. */
#include "catalog/energon.h"

#include "base/alloc.h"
#include "base/json.h"
#include "catalog/braces.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Names that grow. */
struct names {
	char **s;
	size_t n, capacity;
};

struct reader {
	struct sfs_json json;
	struct sfs_error *err;
	const char *part;
	bool has_parts, has_part;
	struct names taken, excluded;
	struct sfs_strbuf parts; /* the names of all, for a sentence */
};

static void names_done(struct names *names)
{
	while (names->n > 0)
		free(names->s[--names->n]);
	free(names->s);
	*names = (struct names){0};
}

void sfs_energon_part_done(struct sfs_energon_part *part)
{
	while (part->n > 0)
		free(part->names[--part->n]);
	free(part->names);
	*part = (struct sfs_energon_part){0};
}

static int energon_refuse(struct reader *r, const char *why)
{
	return sfs_json_refuse(&r->json, r->err, "%s", why);
}

/* The STRING that was read, with its braces expanded. */
static int add_names(struct reader *r, struct names *to)
{
	const struct sfs_strbuf *text = &r->json.text;
	char **names;
	size_t n, i;
	int ret;

	if (text->n == 0 || memchr(text->s, 0, text->n))
		return energon_refuse(r, "a name is empty, or has a NUL in it");
	ret = sfs_braces_expand(text->s, &names, &n, r->err);
	if (ret < 0)
		return sfs_error_wrap(r->err, ret, "'%s'", text->s);
	if (to->n + n > to->capacity) {
		to->capacity = 2 * (to->n + n);
		to->s = sfs_reallocarray(to->s, to->capacity, sizeof *to->s);
	}
	for (i = 0; i < n; i++)
		to->s[to->n++] = names[i];
	free(names);
	return 0;
}

/* A list of names is next; NULL: they are not wanted. */
static int read_names(struct reader *r, struct names *to)
{
	enum sfs_json_token token = sfs_json_next(&r->json);
	int ret = 0;

	if (token != SFS_JSON_ARRAY)
		return energon_refuse(r, "expected a list of names");
	while (ret == 0 && (token = sfs_json_next(&r->json)) == SFS_JSON_STRING)
		ret = to ? add_names(r, to) : 0;
	if (ret < 0)
		return ret;
	return token == SFS_JSON_ARRAY_END ? 0 : energon_refuse(r, "expected a name");
}

static int read_parts(struct reader *r)
{
	enum sfs_json_token token = sfs_json_next(&r->json);
	bool is_it;
	int ret = 0;

	if (token != SFS_JSON_OBJECT)
		return energon_refuse(r, "'split_parts' is no map");
	r->has_parts = true;
	while (ret == 0 && (token = sfs_json_next(&r->json)) == SFS_JSON_KEY) {
		is_it = sfs_json_is(&r->json, r->part);
		if (is_it && r->has_part)
			return energon_refuse(r, "this part is there twice");
		r->has_part |= is_it;
		sfs_strbuf_printf(&r->parts, "%s%s", r->parts.n ? ", " : "",
				  r->json.text.s ? r->json.text.s : "");
		ret = read_names(r, is_it ? &r->taken : NULL);
	}
	if (ret < 0)
		return ret;
	return token == SFS_JSON_OBJECT_END ? 0 : energon_refuse(r, "");
}

static int read_split(struct reader *r)
{
	enum sfs_json_token token = sfs_json_next(&r->json);
	int ret = 0;

	if (token != SFS_JSON_OBJECT)
		return energon_refuse(r, "it is no map");
	while (ret == 0 && (token = sfs_json_next(&r->json)) == SFS_JSON_KEY) {
		if (sfs_json_is(&r->json, "split_parts"))
			ret = read_parts(r);
		else if (sfs_json_is(&r->json, "exclude"))
			ret = read_names(r, &r->excluded);
		else
			ret = sfs_json_refuse(&r->json, r->err, "'%s' is not understood",
					      r->json.text.s ? r->json.text.s : "");
	}
	if (ret < 0)
		return ret;
	if (token != SFS_JSON_OBJECT_END || sfs_json_next(&r->json) != SFS_JSON_END)
		return energon_refuse(r, "");
	return r->has_parts ? 0 : energon_refuse(r, "it has no 'split_parts'");
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool has_name(const struct names *sorted, const char *name)
{
	return sorted->n > 0 &&
	       bsearch(&name, sorted->s, sorted->n, sizeof *sorted->s, by_bytes);
}

/* Is it a sample of one of these shards? */
static bool is_sample_of(const struct names *sorted, const char *excluded)
{
	const char *slash;

	for (slash = strchr(excluded, '/'); slash; slash = strchr(slash + 1, '/')) {
		sfs_autofree char *shard =
			sfs_strndup(excluded, (size_t)(slash - excluded));

		if (has_name(sorted, shard))
			return true;
	}
	return false;
}

/* Take out the shards that are excluded. */
static void drop_excluded(struct reader *r)
{
	size_t i, n = 0;

	if (r->excluded.n > 0)
		qsort(r->excluded.s, r->excluded.n, sizeof *r->excluded.s, by_bytes);
	for (i = 0; i < r->taken.n; i++) {
		if (has_name(&r->excluded, r->taken.s[i]))
			free(r->taken.s[i]);
		else
			r->taken.s[n++] = r->taken.s[i];
	}
	r->taken.n = n;
}

/* No sample of what is left may be excluded. */
static int check_samples(struct reader *r)
{
	struct names sorted = {.n = r->taken.n};
	int ret = 0;
	size_t i;

	sorted.s = sfs_reallocarray(NULL, sorted.n + 1, sizeof *sorted.s);
	if (sorted.n > 0)
		memcpy(sorted.s, r->taken.s, sorted.n * sizeof *sorted.s);
	qsort(sorted.s, sorted.n, sizeof *sorted.s, by_bytes);
	for (i = 0; i < r->excluded.n && ret == 0; i++)
		if (is_sample_of(&sorted, r->excluded.s[i]))
			ret = sfs_error_set(r->err, -EOPNOTSUPP,
					    "the sample '%s' is excluded, but shufflefs "
					    "leaves out whole shards only: remove it "
					    "from 'exclude', and drop it where samples "
					    "are read",
					    r->excluded.s[i]);
	free(sorted.s);
	return ret;
}

static int choose(struct reader *r)
{
	int ret;

	if (!r->has_part)
		return sfs_error_set(r->err, -EINVAL, "it has no part '%s', only: %s",
				     r->part, r->parts.n ? r->parts.s : "none");
	drop_excluded(r);
	ret = check_samples(r);
	if (ret == 0 && r->taken.n == 0)
		return sfs_error_set(r->err, -EINVAL, "the part '%s' has no shards",
				     r->part);
	return ret;
}

int sfs_energon_read_split(const char *json, size_t n, const char *part,
			   struct sfs_energon_part *ret, struct sfs_error *err)
{
	struct reader r = {.err = err, .part = part};
	int code;

	sfs_json_init(&r.json, json, n);
	code = read_split(&r);
	sfs_json_done(&r.json);
	if (code == 0)
		code = choose(&r);
	if (code == 0)
		*ret = (struct sfs_energon_part){steal(&r.taken.s), r.taken.n};
	else
		names_done(&r.taken);
	names_done(&r.excluded);
	sfs_strbuf_done(&r.parts);
	return code;
}

/* ---- counts ---- */

struct numbered {
	const char *name;
	size_t i;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct numbered *)a)->name,
		      ((const struct numbered *)b)->name);
}

static int read_counts(struct reader *r, const struct numbered *sorted, size_t n,
		       uint64_t *counts)
{
	enum sfs_json_token token = sfs_json_next(&r->json);
	const struct numbered *found;
	struct numbered wanted;
	uint64_t count;

	if (token != SFS_JSON_OBJECT)
		return energon_refuse(r, "'shard_counts' is no map");
	while ((token = sfs_json_next(&r->json)) == SFS_JSON_KEY) {
		wanted.name = r->json.text.s ? r->json.text.s : "";
		found = n ? bsearch(&wanted, sorted, n, sizeof *sorted, by_name) : NULL;
		if (sfs_json_next(&r->json) != SFS_JSON_NUMBER ||
		    !sfs_json_uint(&r->json, &count))
			return energon_refuse(r, "a count is no number");
		if (found)
			counts[found->i] = count;
	}
	return token == SFS_JSON_OBJECT_END ? 0 : energon_refuse(r, "");
}

static int read_info(struct reader *r, const struct numbered *sorted, size_t n,
		     uint64_t *counts)
{
	enum sfs_json_token token = sfs_json_next(&r->json);
	int ret = 0;

	if (token != SFS_JSON_OBJECT)
		return energon_refuse(r, "it is no map");
	while (ret == 0 && (token = sfs_json_next(&r->json)) == SFS_JSON_KEY) {
		if (sfs_json_is(&r->json, "shard_counts"))
			ret = read_counts(r, sorted, n, counts);
		else if (!sfs_json_skip(&r->json, sfs_json_next(&r->json)))
			ret = energon_refuse(r, "");
	}
	if (ret < 0)
		return ret;
	return token == SFS_JSON_OBJECT_END && sfs_json_next(&r->json) == SFS_JSON_END
		       ? 0
		       : energon_refuse(r, "");
}

int sfs_energon_read_info(const char *json, size_t n, const struct sfs_energon_part *part,
			  uint64_t *counts, struct sfs_error *err)
{
	struct numbered *sorted = sfs_reallocarray(NULL, part->n + 1, sizeof *sorted);
	struct reader r = {.err = err};
	size_t i;
	int code;

	for (i = 0; i < part->n; i++)
		sorted[i] = (struct numbered){part->names[i], i};
	qsort(sorted, part->n, sizeof *sorted, by_name);
	sfs_json_init(&r.json, json, n);
	code = read_info(&r, sorted, part->n, counts);
	sfs_json_done(&r.json);
	free(sorted);
	return code;
}
