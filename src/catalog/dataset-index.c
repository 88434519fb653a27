/* SPDX-License-Identifier: MIT */
/* How this works: a file is read whole, by the format that its name ends in, and each of
 * its shards is added as a line of a list would be.  What it says of sizes and counts is
 * kept beside them, and believed of nothing that is read.  Names of files and folders are
 * absolute paths or URLs. */
#include "catalog/dataset-internal.h"

#include "base/alloc.h"
#include "catalog/braces.h"
#include "catalog/energon.h"
#include "catalog/wds-spec.h"
#include "catalog/wids.h"
#include "catalog/yaml.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#define META "/.nv-meta/"

static bool ends_in(const char *name, const char *end)
{
	size_t n = strlen(name), n_end = strlen(end);

	return n > n_end && strcmp(name + n - n_end, end) == 0;
}

/* A query is no part of the name. */
static bool is_yaml(const char *name)
{
	bool has_query = strncasecmp(name, "http", 4) == 0 && sfs_uri_has_scheme(name);
	sfs_autofree char *end =
		sfs_strndup(name, has_query ? strcspn(name, "?#") : strlen(name));

	return ends_in(end, ".yaml") || ends_in(end, ".yml");
}

bool sfs_loader_is_index(const char *name)
{
	return ends_in(name, ".json") || is_yaml(name);
}

/* Add the text of a file, if it is YAML as JSON. */
static int read_json(const struct sfs_loader *l, const char *name,
		     struct sfs_strbuf *json, struct sfs_error *err)
{
	sfs_autofree char *shown = sfs_uri_redact(name);
	struct sfs_strbuf text = {0};
	bool is_pipe;
	int ret;

	ret = sfs_loader_read(l, name, &text, &is_pipe, err);
	if (ret == 0 && is_yaml(name)) {
		ret = sfs_yaml_to_json(text.s ? text.s : "", text.n, json, err);
		if (ret < 0)
			sfs_error_wrap(err, ret, "%s", shown);
	} else if (ret == 0) {
		sfs_strbuf_add(json, text.s ? text.s : "", text.n);
	}
	sfs_strbuf_done(&text);
	return ret;
}

/* ---- wids ---- */

static int read_wids(const struct sfs_loader *l, const char *path, struct sfs_wids *ret,
		     struct sfs_error *err)
{
	sfs_autofree char *shown = sfs_uri_redact(path);
	struct sfs_strbuf json = {0};
	int code = read_json(l, path, &json, err);

	if (code == 0) {
		code = sfs_wids_read(json.s, json.n, ret, err);
		if (code < 0)
			sfs_error_wrap(err, code, "%s is no index of shards (wids)",
				       shown);
	}
	sfs_strbuf_done(&json);
	return code;
}

static int add_wids_shards(struct sfs_loader *l, const struct sfs_wids_part *part,
			   const char *base, struct sfs_error *err)
{
	const struct sfs_wids_shard *shard;
	struct sfs_said said;
	size_t i;
	int ret = 0;

	for (i = 0; i < part->n && ret == 0; i++) {
		shard = &part->shards[i];
		said = (struct sfs_said){shard->n_bytes, shard->n_samples};
		sfs_autofree char *where = sfs_wids_resolve(base, shard->url);

		ret = sfs_loader_add(l, "/", where, &said, err);
	}
	return ret;
}

/* Where the shards of a part are, if its file is at `folder`.  The caller frees it. */
static char *base_of(const struct sfs_wids_part *part, const char *folder)
{
	return part->base ? sfs_wids_resolve(folder, part->base) : sfs_strdup(folder);
}

/* A dataset in another file, which names no others. */
static int add_source_url(struct sfs_loader *l, const char *where, struct sfs_error *err)
{
	sfs_autofree char *folder = sfs_loader_folder_of(where), *base = NULL,
			  *shown = sfs_uri_redact(where);
	struct sfs_wids wids;
	bool has_entered;
	int ret;

	ret = read_wids(l, where, &wids, err);
	if (ret < 0)
		return ret;
	has_entered = sfs_loader_enter(l, where);
	base = base_of(&wids.parts[0], folder);
	if (wids.n > 1)
		ret = sfs_error_set(err, -EBADMSG,
				    "%s: it names datasets itself, which wids does not "
				    "read",
				    shown);
	else
		ret = add_wids_shards(l, &wids.parts[0], base, err);
	if (has_entered)
		sfs_loader_leave(l);
	sfs_wids_done(&wids);
	return ret;
}

static int add_wids_part(struct sfs_loader *l, const struct sfs_wids_part *part,
			 const char *folder, struct sfs_error *err)
{
	sfs_autofree char *base = base_of(part, folder), *where = NULL;

	if (!part->source_url)
		return add_wids_shards(l, part, base, err);
	where = sfs_wids_resolve(folder, part->source_url);
	return add_source_url(l, where, err);
}

static int add_wids(struct sfs_loader *l, const char *path, struct sfs_error *err)
{
	sfs_autofree char *folder = sfs_loader_folder_of(path), *base = NULL;
	struct sfs_wids wids;
	size_t i;
	int ret;

	ret = read_wids(l, path, &wids, err);
	if (ret < 0)
		return ret;
	base = base_of(&wids.parts[0], folder);
	for (i = 0; i < wids.n && ret == 0; i++)
		ret = add_wids_part(l, &wids.parts[i], i == 0 ? folder : base, err);
	sfs_wids_done(&wids);
	return ret;
}

/* ---- WebDataset ---- */

/* As WebDataset has it, names in a local spec count from the current folder. */
static int add_wds_spec(struct sfs_loader *l, const char *path, struct sfs_error *err)
{
	sfs_autofree char *folder = sfs_uri_has_scheme(path) ? sfs_loader_folder_of(path)
							     : sfs_strdup(l->disk->cwd),
			  *shown = sfs_uri_redact(path);
	struct sfs_strbuf json = {0};
	char **shards;
	size_t n, i;
	int ret;

	ret = read_json(l, path, &json, err);
	if (ret == 0) {
		ret = sfs_wds_spec_read(json.s, json.n, &shards, &n, err);
		if (ret < 0)
			sfs_error_wrap(err, ret, "%s", shown);
	}
	sfs_strbuf_done(&json);
	if (ret < 0)
		return ret;
	for (i = 0; i < n && ret == 0; i++)
		ret = sfs_loader_add(l, folder, shards[i], NULL, err);
	sfs_braces_free(shards, n);
	return ret;
}

int sfs_loader_add_index(struct sfs_loader *l, const char *path, struct sfs_error *err)
{
	uint32_t n_before = l->d.n;
	int ret;

	sfs_loader_enter(l, path);
	ret = is_yaml(path) ? add_wds_spec(l, path, err) : add_wids(l, path, err);
	sfs_loader_leave(l);

	if (ret == 0 && l->d.n == n_before) {
		sfs_autofree char *shown = sfs_uri_redact(path);

		return sfs_error_set(err, -ENOENT, "%s: it names no shards", shown);
	}
	return ret;
}

/* ---- energon ---- */

static const char *const splits[] = {"split.yaml", "split.json"};

/* Read the first of these files that is there, as JSON.  *ret_shown is its name, for
 * sentences; it stays NULL if there is none.  The caller frees it. */
static int read_meta(const struct sfs_loader *l, const char *folder,
		     const char *const names[2], struct sfs_strbuf *json,
		     char **ret_shown, struct sfs_error *err)
{
	bool is_remote = sfs_uri_has_scheme(folder);
	int i, ret;

	for (i = 0; i < 2; i++) {
		sfs_autofree char *path = sfs_asprintf("%s" META "%s", folder, names[i]);

		if (!is_remote && !l->disk->exists(path))
			continue;
		ret = read_json(l, path, json, err);
		/* Some stores say of what is not there that it may not be read. */
		if (is_remote && (ret == -ENOENT || ret == -EACCES))
			continue;
		*ret_shown = sfs_uri_redact(path);
		return ret;
	}
	return 0;
}

bool sfs_loader_has_parts(const struct sfs_loader *l, const char *folder)
{
	sfs_autofree char *yaml = sfs_asprintf("%s" META "%s", folder, splits[0]),
			  *json = sfs_asprintf("%s" META "%s", folder, splits[1]);

	return l->disk->exists(yaml) || l->disk->exists(json);
}

/* How many samples each has; it need not be said. */
static int read_counts(const struct sfs_loader *l, const char *folder,
		       const struct sfs_energon_part *part, uint64_t *counts,
		       struct sfs_error *err)
{
	static const char *const infos[] = {".info.json", ".info.yaml"};
	sfs_autofree char *shown = NULL;
	struct sfs_strbuf json = {0};
	int ret;

	ret = read_meta(l, folder, infos, &json, &shown, err);
	if (ret == 0 && shown) {
		ret = sfs_energon_read_info(json.s, json.n, part, counts, err);
		if (ret < 0)
			sfs_error_wrap(err, ret, "%s", shown);
	}
	sfs_strbuf_done(&json);
	return ret;
}

static int add_part_shards(struct sfs_loader *l, const char *folder,
			   const struct sfs_energon_part *part, struct sfs_error *err)
{
	sfs_autofree uint64_t *counts =
		sfs_reallocarray(NULL, part->n + 1, sizeof *counts);
	struct sfs_said said;
	size_t i;
	int ret;

	for (i = 0; i < part->n; i++)
		counts[i] = UINT64_MAX;
	ret = read_counts(l, folder, part, counts, err);
	for (i = 0; i < part->n && ret == 0; i++) {
		said = (struct sfs_said){UINT64_MAX, counts[i]};
		ret = sfs_loader_add(l, folder, part->names[i], &said, err);
	}
	return ret;
}

int sfs_loader_refuse_split(const struct sfs_loader *l, const char *what,
			    struct sfs_error *err)
{
	sfs_autofree char *shown = sfs_uri_redact(what);

	return sfs_error_set(err, -EINVAL,
			     "split=%s: '%s' is no folder that energon has prepared, so "
			     "it has no parts",
			     l->disk->split, shown);
}

int sfs_loader_add_part(struct sfs_loader *l, const char *folder, struct sfs_error *err)
{
	sfs_autofree char *shown = NULL;
	struct sfs_energon_part part;
	struct sfs_strbuf json = {0};
	int ret;

	ret = read_meta(l, folder, splits, &json, &shown, err);
	if (ret == 0 && !shown)
		return sfs_loader_refuse_split(l, folder, err);
	if (ret == 0) {
		ret = sfs_energon_read_split(json.s, json.n, l->disk->split, &part, err);
		if (ret < 0)
			sfs_error_wrap(err, ret, "%s", shown);
	}
	sfs_strbuf_done(&json);
	if (ret < 0)
		return ret;
	l->is_part = true;
	sfs_loader_enter(l, folder);
	ret = add_part_shards(l, folder, &part, err);
	sfs_loader_leave(l);
	l->is_part = false;
	sfs_energon_part_done(&part);
	return ret;
}
