/* SPDX-License-Identifier: MIT */
/* How this works: a shard's name is its path without the folders that all have in common.
 * Only if two were the same then, the hosts of URLs are put before all paths, and URLs
 * that differ in their queries alone are numbered.  So no name changes that was good. */
#include "catalog/dataset-internal.h"

#include "base/alloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- shards that are named more than once ---- */

struct place {
	const char *location;
	uint32_t index;
};

static int by_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	int order = strcmp(x->location, y->location);

	return order ? order : x->index < y->index ? -1 : x->index > y->index;
}

/* Mark those that were named before; the first of them is *ret_first. */
static uint32_t find_repeated(const struct sfs_dataset *d, bool *is_repeated,
			      uint32_t *ret_first)
{
	sfs_autofree struct place *places = sfs_calloc(d->n, sizeof *places);
	uint32_t i, n = 0;

	for (i = 0; i < d->n; i++)
		places[i] = (struct place){d->uris[i].location, i};
	qsort(places, d->n, sizeof *places, by_place);
	for (i = 1; i < d->n; i++) {
		if (strcmp(places[i - 1].location, places[i].location) != 0)
			continue;
		is_repeated[places[i].index] = true;
		if (n++ == 0 || places[i].index < *ret_first)
			*ret_first = places[i].index;
	}
	return n;
}

void sfs_dataset_drop_repeated(struct sfs_dataset *d)
{
	sfs_autofree bool *is_repeated = sfs_calloc(d->n, sizeof *is_repeated);
	uint32_t first = 0, i, n_kept = 0, n = find_repeated(d, is_repeated, &first);

	if (n == 0)
		return;
	sfs_autofree char *shown = sfs_uri_redact(d->uris[first].location);
	if (n == 1)
		sfs_error_set(&d->repeated, 0,
			      "a shard is named more than once, and taken once: %s",
			      shown);
	else
		sfs_error_set(&d->repeated, 0,
			      "shards are named again %u times, and each is taken once; "
			      "the first: %s",
			      n, shown);
	for (i = 0; i < d->n; i++) {
		if (is_repeated[i]) {
			sfs_uri_done(&d->uris[i]);
			free(d->listed[i].tag);
			continue;
		}
		d->listed[n_kept] = d->listed[i];
		d->said[n_kept] = d->said[i];
		d->spec_of[n_kept] = d->spec_of[i];
		d->uris[n_kept++] = d->uris[i];
	}
	d->n = n_kept;
}

/* ---- names ---- */

/* A name has no "..": the path as it reads, wherever links lead.  (What is opened is the
 * location, which stays.) */
static void drop_dots(struct sfs_uri *uri)
{
	struct sfs_strbuf text = {0};
	const char *p = uri->path;
	size_t n;

	if (uri->scheme != SFS_SCHEME_FILE || !strstr(p, "/.."))
		return;
	sfs_strbuf_puts(&text, "");
	for (; *p; p += n) {
		p += strspn(p, "/");
		n = strcspn(p, "/");
		if (n == 2 && memcmp(p, "..", 2) == 0) {
			while (text.n > 0 && text.s[--text.n] != '/')
				;
			text.s[text.n] = 0;
		} else if (n > 0) {
			sfs_strbuf_printf(&text, "/%.*s", (int)n, p);
		}
	}
	free(uri->path);
	uri->path = text.s;
}

/* The path of each that its name is made of.  With hosts, that of a URL begins with its
 * host, or bucket, as if that were a folder. */
static char **list_paths(const struct sfs_dataset *d, bool has_hosts)
{
	char **paths = sfs_calloc(d->n, sizeof *paths);
	const char *host, *port;
	uint32_t i;
	size_t n;

	for (i = 0; i < d->n; i++) {
		host = d->uris[i].origin ? strstr(d->uris[i].origin, "://") + 3 : "";
		port = strrchr(host, ':');
		n = strlen(host);
		if (port && (strcmp(port, ":80") == 0 || strcmp(port, ":443") == 0))
			n = (size_t)(port - host);
		paths[i] = has_hosts && n > 0
				   ? sfs_asprintf("/%.*s/%s", (int)n, host,
						  d->uris[i].path +
							  (*d->uris[i].path == '/'))
				   : sfs_strdup(d->uris[i].path);
	}
	return paths;
}

static void free_names(char **names, uint32_t n)
{
	while (names && n > 0)
		free(names[--n]);
	free(names);
}

/* How many bytes of folders ("a/b/") do all paths have in common? */
static size_t common_folders(char *const *paths, uint32_t n_paths)
{
	const char *first = paths[0], *slash = strrchr(first, '/');
	size_t n = slash ? (size_t)(slash - first) + 1 : 0;
	uint32_t i;

	for (i = 1; i < n_paths; i++)
		while (n > 0 && strncmp(first, paths[i], n) != 0)
			for (n--; n > 0 && first[n - 1] != '/';)
				n--;
	return n;
}

static int refuse_folder(const struct sfs_uri *uri, struct sfs_error *err)
{
	sfs_autofree char *shown = sfs_uri_redact(uri->location);

	return sfs_error_set(err, -EINVAL,
			     "'%s' is a folder, not a shard: name the shards, as in "
			     "%s%strain-{000000..000099}.tar",
			     shown, shown, shown[strlen(shown) - 1] == '/' ? "" : "/");
}

static int name_all(struct sfs_dataset *d, bool has_hosts, struct sfs_error *err)
{
	char **paths = list_paths(d, has_hosts);
	size_t skip = common_folders(paths, d->n);
	const char *name;
	uint32_t i;
	int ret = 0;

	free_names(d->names, d->n);
	d->names = sfs_calloc(d->n, sizeof *d->names);
	for (i = 0; i < d->n && ret == 0; i++) {
		name = paths[i] + skip;
		name += strspn(name, "/");
		if (!*name || name[strlen(name) - 1] == '/')
			ret = refuse_folder(&d->uris[i], err);
		else
			d->names[i] = sfs_strdup(name);
	}
	free_names(paths, d->n);
	return ret;
}

/* ---- names that are the same ---- */

struct named {
	const char *name;
	uint32_t index;
};

static int by_name(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : x->index < y->index ? -1 : x->index > y->index;
}

/* All names, sorted, and where they are the same as they are named.  The caller frees. */
static struct named *sort_names(const struct sfs_dataset *d)
{
	struct named *sorted = sfs_reallocarray(NULL, d->n, sizeof *sorted);
	uint32_t i;

	for (i = 0; i < d->n; i++)
		sorted[i] = (struct named){d->names[i], i};
	qsort(sorted, d->n, sizeof *sorted, by_name);
	return sorted;
}

static int check_unique(const struct sfs_dataset *d, struct sfs_error *err)
{
	sfs_autofree struct named *sorted = sort_names(d);
	uint32_t i;

	for (i = 1; i < d->n; i++)
		if (strcmp(sorted[i - 1].name, sorted[i].name) == 0)
			return sfs_error_set(
				err, -EEXIST,
				"two shards are named '%s'; names in a dataset must "
				"be unique",
				sorted[i].name);
	return 0;
}

/* Are they URLs that differ in nothing but their queries? */
static bool differ_in_query(const struct sfs_uri *a, const struct sfs_uri *b)
{
	size_t n = strcspn(a->location, "?");

	return (a->scheme == SFS_SCHEME_HTTP || a->scheme == SFS_SCHEME_HTTPS) &&
	       a->scheme == b->scheme && strcspn(b->location, "?") == n &&
	       strncmp(a->location, b->location, n) == 0;
}

/* "x.tar" as "x~2.tar".  The query itself may be a signature. */
static char *numbered(const char *name, unsigned number)
{
	const char *slash = strrchr(name, '/'),
		   *dot = strrchr(slash ? slash + 1 : name, '.');
	size_t n = dot ? (size_t)(dot - name) : strlen(name);

	return sfs_asprintf("%.*s~%u%s", (int)n, name, number, name + n);
}

static void number_queries(struct sfs_dataset *d)
{
	sfs_autofree struct named *sorted = sort_names(d);
	const struct sfs_uri *first;
	uint32_t i, at, from;
	char *name;

	for (from = 0; from < d->n; from = i) {
		first = &d->uris[sorted[from].index];
		for (i = from + 1;
		     i < d->n && strcmp(sorted[i].name, sorted[from].name) == 0; i++) {
			at = sorted[i].index;
			if (!differ_in_query(first, &d->uris[at]))
				continue;
			name = numbered(sorted[from].name, i - from + 1);
			free(d->names[at]);
			d->names[at] = name;
			sorted[i].name = sorted[from].name;
		}
	}
}

int sfs_dataset_make_names(struct sfs_dataset *d, struct sfs_error *err)
{
	uint32_t i;
	int ret;

	for (i = 0; i < d->n; i++)
		drop_dots(&d->uris[i]);
	ret = name_all(d, false, err);
	if (ret < 0 || check_unique(d, NULL) == 0)
		return ret;
	ret = name_all(d, true, err);
	if (ret < 0)
		return ret;
	number_queries(d);
	return check_unique(d, err);
}
