/* SPDX-License-Identifier: MIT */
#include "catalog/dataset.h"

#include "base/alloc.h"
#include "base/strbuf.h"
#include "catalog/braces.h"

#include <errno.h>
#include <string.h>

#define MAX_SHARDS (1 << 27)

void sfs_dataset_done(struct sfs_dataset *d)
{
	uint32_t i;

	for (i = 0; i < d->n; i++) {
		if (d->uris)
			sfs_uri_done(&d->uris[i]);
		if (d->names)
			free(d->names[i]);
	}
	free(d->uris);
	free(d->names);
	free(d->spec_of);
	*d = (struct sfs_dataset){0};
}

/* ---- local paths ---- */

/* The absolute path, without "." and empty components.  ".." stays: it may lead through a
 * symbolic link. */
static char *absolute_path(const char *cwd, const char *path)
{
	sfs_autofree char *whole = sfs_asprintf("%s/%s", *path == '/' ? "" : cwd, path);
	struct sfs_strbuf t = {0};
	const char *p = whole;
	size_t n;

	for (; *p; p += n) {
		p += strspn(p, "/");
		n = strcspn(p, "/");
		if (n > 0 && !(n == 1 && *p == '.'))
			sfs_strbuf_printf(&t, "/%.*s", (int)n, p);
	}
	return t.s ? t.s : sfs_strdup("/");
}

static int add_uri(struct sfs_dataset *d, struct sfs_uri *uri, uint32_t spec,
		   struct sfs_error *err)
{
	if (d->n == MAX_SHARDS)
		return sfs_error_set(err, -E2BIG, "more than %d shards", MAX_SHARDS);
	if ((d->n & (d->n - 1)) == 0) { /* a power of two: full */
		d->uris = sfs_reallocarray(d->uris, 2 * d->n + 1, sizeof *d->uris);
		d->spec_of =
			sfs_reallocarray(d->spec_of, 2 * d->n + 1, sizeof *d->spec_of);
	}
	d->spec_of[d->n] = spec;
	d->uris[d->n++] = *uri;
	*uri = (struct sfs_uri){0};
	return 0;
}

static int add_local(struct sfs_dataset *d, const struct sfs_dataset_disk *disk,
		     struct sfs_uri *uri, uint32_t spec, struct sfs_error *err)
{
	char *path = absolute_path(disk->cwd, uri->location), **names;
	struct sfs_uri file = {0};
	size_t n, i;
	int ret;

	free(uri->location);
	free(uri->path);
	uri->location = path;
	uri->path = sfs_strdup(path);
	ret = disk->list(path, &names, &n, err);
	if (ret == -ENOTDIR)
		return add_uri(d, uri, spec, err);
	if (ret < 0)
		return ret;
	if (n == 0)
		ret = sfs_error_set(err, -ENOENT, "no *.tar in the folder %s", path);
	for (i = 0; i < n && ret == 0; i++) {
		sfs_autofree char *whole = sfs_asprintf("%s/%s", path, names[i]);

		ret = sfs_uri_parse(whole, &file, err);
		if (ret == 0)
			ret = add_uri(d, &file, spec, err);
	}
	sfs_braces_free(names, n);
	return ret;
}

/* ---- specs ---- */

/* err has a sentence, which may show a part of a password. */
static int refuse_braces(const char *spec, int code, struct sfs_error *err)
{
	sfs_autofree char *shown = sfs_uri_redact(spec);
	char **names;
	size_t n;

	if (strcmp(shown, spec) != 0 && sfs_braces_expand(shown, &names, &n, err) == 0) {
		sfs_braces_free(names, n);
		sfs_error_set(err, code,
			      "wrong braces in the hidden part; in a password write %%7B "
			      "for '{' and %%7D for '}'");
	}
	return sfs_error_wrap(err, code, "'%s'", shown);
}

static int add_spec(struct sfs_dataset *d, const struct sfs_dataset_disk *disk,
		    const char *spec, uint32_t number, struct sfs_error *err)
{
	struct sfs_uri uri = {0};
	char **names;
	size_t n, i;
	int ret;

	ret = sfs_braces_expand(spec, &names, &n, err);
	if (ret < 0)
		return refuse_braces(spec, ret, err);
	for (i = 0; i < n && ret == 0; i++) {
		ret = sfs_uri_parse(names[i], &uri, err);
		if (ret == 0 && uri.scheme == SFS_SCHEME_FILE)
			ret = add_local(d, disk, &uri, number, err);
		else if (ret == 0)
			ret = add_uri(d, &uri, number, err);
		sfs_uri_done(&uri);
	}
	sfs_braces_free(names, n);
	return ret;
}

/* ---- names ---- */

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

static int make_names(struct sfs_dataset *d, struct sfs_error *err)
{
	size_t skip = common_folders(d);
	uint32_t i;

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

int sfs_dataset_load(char *const *specs, int n_specs, const struct sfs_dataset_disk *disk,
		     struct sfs_dataset *ret_dataset, struct sfs_error *err)
{
	struct sfs_dataset d = {0};
	int i, ret = 0;

	for (i = 0; i < n_specs && ret == 0; i++)
		ret = add_spec(&d, disk, specs[i], (uint32_t)i, err);
	if (ret == 0 && d.n == 0)
		ret = sfs_error_set(err, -EINVAL, "no shards");
	if (ret == 0)
		ret = make_names(&d, err);
	if (ret < 0)
		sfs_dataset_done(&d);
	else
		*ret_dataset = d;
	return ret;
}
