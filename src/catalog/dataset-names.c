/* SPDX-License-Identifier: MIT */
/* How this works: a shard's name is its path without the folders that all
 * have in common. */
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

/* How many bytes of folders ("a/b/") do all paths have in common? */
static size_t common_folders(const struct sfs_dataset *d)
{
	const char *first = d->uris[0].path, *slash = strrchr(first, '/');
	size_t n = slash ? (size_t)(slash - first) + 1 : 0;
	uint32_t i;

	for (i = 1; i < d->n; i++)
		while (n > 0 && strncmp(first, d->uris[i].path, n) != 0)
			for (n--; n > 0 && first[n - 1] != '/';)
				n--;
	return n;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int check_unique(const struct sfs_dataset *d, struct sfs_error *err)
{
	sfs_autofree char **sorted = sfs_reallocarray(NULL, d->n, sizeof *sorted);
	uint32_t i;

	memcpy(sorted, d->names, d->n * sizeof *sorted);
	qsort(sorted, d->n, sizeof *sorted, by_name);
	for (i = 1; i < d->n; i++)
		if (strcmp(sorted[i - 1], sorted[i]) == 0)
			return sfs_error_set(
				err, -EEXIST,
				"two shards are named '%s'; names in a dataset must "
				"be unique",
				sorted[i]);
	return 0;
}

int sfs_dataset_make_names(struct sfs_dataset *d, struct sfs_error *err)
{
	size_t skip;
	uint32_t i;

	for (i = 0; i < d->n; i++)
		drop_dots(&d->uris[i]);
	skip = common_folders(d);
	d->names = sfs_calloc(d->n, sizeof *d->names);
	for (i = 0; i < d->n; i++) {
		const char *name = d->uris[i].path + skip;

		name += strspn(name, "/");
		if (!*name || name[strlen(name) - 1] == '/') {
			sfs_autofree char *shown = sfs_uri_redact(d->uris[i].location);

			return sfs_error_set(err, -EINVAL,
					     "'%s' is a folder, not a shard: name the "
					     "shards, as in %s%strain-{000000..000099}"
					     ".tar",
					     shown, shown,
					     shown[strlen(shown) - 1] == '/' ? "" : "/");
		}
		d->names[i] = sfs_strdup(name);
	}
	return check_unique(d, err);
}
