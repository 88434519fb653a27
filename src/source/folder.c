/* SPDX-License-Identifier: MIT */
/* How this works: a pattern is walked component by component.  One without a special
 * character is appended; one with some is compared with all entries of the folder so far;
 * "**" is tried with this folder, and with each folder in it.  What matches is sorted at
 * the end, whole paths by their bytes: the order must not depend on the disk, and is the
 * one in which object stores list their keys. */
#include "source/folder.h"

#include "base/alloc.h"
#include "source/key-pattern.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static int is_any(const struct dirent *entry)
{
	return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void free_entries(struct dirent **entries, int n)
{
	while (n > 0)
		free(entries[--n]);
	free(entries);
}

/* A folder itself, not a link to one. */
static bool is_real_folder(const char *folder, const struct dirent *entry)
{
	sfs_autofree char *path = NULL;
	struct stat st;

	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type == DT_DIR;
	path = sfs_asprintf("%s/%s", folder, entry->d_name);
	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* ---- one folder ---- */

void sfs_folder_done(struct sfs_folder *f)
{
	while (f->n_shards > 0)
		free(f->shards[--f->n_shards]);
	while (f->n_others > 0)
		free(f->others[--f->n_others]);
	free(f->shards);
	free(f->others);
	*f = (struct sfs_folder){0};
}

bool sfs_folder_has(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

int sfs_folder_list(const char *path, struct sfs_folder *ret, struct sfs_error *err)
{
	struct dirent **entries;
	struct sfs_folder f = {0};
	struct stat st;
	int n, i;

	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return -ENOTDIR;
	n = scandir(path, &entries, is_visible, by_bytes);
	if (n < 0)
		return sfs_error_set(err, -errno, "%s: %s", path, strerror(errno));
	f.shards = sfs_reallocarray(NULL, (size_t)n + 1, sizeof *f.shards);
	f.others = sfs_reallocarray(NULL, (size_t)n + 1, sizeof *f.others);
	for (i = 0; i < n; i++) {
		const char *name = entries[i]->d_name;

		if (is_real_folder(path, entries[i]))
			f.others[f.n_others++] = sfs_asprintf("%s/", name);
		else if (sfs_is_tar_name(name))
			f.shards[f.n_shards++] = sfs_strdup(name);
		else
			f.others[f.n_others++] = sfs_strdup(name);
	}
	free_entries(entries, n);
	*ret = f;
	return 0;
}

/* ---- patterns ---- */

struct walk {
	char **paths;
	size_t n, capacity;
	struct sfs_error *err;
};

static int walk(struct walk *w, const char *folder, const char *rest);

static int add(struct walk *w, const char *folder, const char *name)
{
	if (w->n == SFS_FOLDER_PATHS_MAX)
		return sfs_error_set(w->err, -E2BIG, "more than %d paths match",
				     SFS_FOLDER_PATHS_MAX);
	if (w->n == w->capacity) {
		w->capacity = 2 * w->capacity + 16;
		w->paths = sfs_reallocarray(w->paths, w->capacity, sizeof *w->paths);
	}
	w->paths[w->n++] = sfs_asprintf("%s/%s", folder, name);
	return 0;
}

/* What is not there, or no folder, matches nothing. */
static int scan(struct walk *w, const char *folder, int (*filter)(const struct dirent *),
		struct dirent ***ret_entries, int *ret_n)
{
	const char *path = *folder ? folder : "/";
	int n = scandir(path, ret_entries, filter, by_bytes);

	*ret_n = n < 0 ? 0 : n;
	if (n >= 0)
		return 0;
	*ret_entries = NULL;
	return errno == ENOENT || errno == ENOTDIR
		       ? 0
		       : sfs_error_set(w->err, -errno, "%s: %s", path, strerror(errno));
}

/* Take a name that matches a component: the last one if `next` is NULL. */
static int step(struct walk *w, const char *folder, const char *name, const char *next)
{
	sfs_autofree char *path = NULL;
	struct stat st;

	if (!next)
		return add(w, folder, name);
	path = sfs_asprintf("%s/%s", folder, name);
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode) ? walk(w, path, next) : 0;
}

/* A component with special characters. */
static int match_names(struct walk *w, const char *folder, const char *component,
		       const char *next)
{
	struct dirent **entries;
	int n, i, ret;

	ret = scan(w, folder, is_any, &entries, &n);
	for (i = 0; i < n && ret == 0; i++)
		if (fnmatch(component, entries[i]->d_name, FNM_PERIOD) == 0)
			ret = step(w, folder, entries[i]->d_name, next);
	free_entries(entries, n);
	return ret;
}

/* "**": `rest` begins with it, `next` is what follows. */
static int match_folders(struct walk *w, const char *folder, const char *rest,
			 const char *next)
{
	struct dirent **entries;
	int n, i, ret;

	ret = next ? walk(w, folder, next) : 0;
	if (ret < 0)
		return ret;
	ret = scan(w, folder, is_visible, &entries, &n);
	for (i = 0; i < n && ret == 0; i++) {
		const char *name = entries[i]->d_name;

		if (is_real_folder(folder, entries[i])) {
			sfs_autofree char *path = sfs_asprintf("%s/%s", folder, name);

			ret = walk(w, path, rest);
		} else if (!next && sfs_is_tar_name(name)) {
			ret = add(w, folder, name);
		}
	}
	free_entries(entries, n);
	return ret;
}

/* A component without special characters: its backslashes go, as in fnmatch(). */
static char *plain_name(const char *component)
{
	char *name = sfs_strdup(component), *p = name;

	for (; *component; component++) {
		if (*component == '\\' && component[1])
			component++;
		*p++ = *component;
	}
	*p = 0;
	return name;
}

static int match_one(struct walk *w, const char *folder, const char *component,
		     const char *next)
{
	sfs_autofree char *name = plain_name(component), *path = NULL;
	struct stat st;

	path = sfs_asprintf("%s/%s", folder, name);
	return lstat(path, &st) == 0 ? step(w, folder, name, next) : 0;
}

/* Add what matches `rest` in the folder, a path without a slash at its end. */
static int walk(struct walk *w, const char *folder, const char *rest)
{
	size_t n = strcspn(rest, "/");
	sfs_autofree char *component = sfs_strndup(rest, n);
	const char *next = rest[n] ? rest + n + 1 : NULL;

	if (strcmp(component, "**") != 0)
		return strpbrk(component, "*?[") ? match_names(w, folder, component, next)
						 : match_one(w, folder, component, next);
	while (next && strncmp(next, "**", 2) == 0 && (!next[2] || next[2] == '/')) {
		rest = next; /* several in a row are as good as one */
		next = next[2] ? next + 3 : NULL;
	}
	return match_folders(w, folder, rest, next);
}

static int by_path(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Two "**" may find a path in two ways. */
static void sort(struct walk *w)
{
	size_t i, n = 0;

	if (w->n == 0)
		return;
	qsort(w->paths, w->n, sizeof *w->paths, by_path);
	for (i = 1; i < w->n; i++) {
		if (strcmp(w->paths[n], w->paths[i]) == 0)
			free(w->paths[i]);
		else
			w->paths[++n] = w->paths[i];
	}
	w->n = n + 1;
}

int sfs_folder_match(const char *pattern, char ***ret_paths, size_t *ret_n,
		     struct sfs_error *err)
{
	struct walk w = {.err = err};
	int ret = walk(&w, "", pattern + 1);

	if (ret == 0 && w.n == 0)
		ret = sfs_error_set(err, -ENOENT, "nothing matches '%s'", pattern);
	if (ret < 0) {
		while (w.n > 0)
			free(w.paths[--w.n]);
		free(w.paths);
		return ret;
	}
	sort(&w);
	*ret_paths = w.paths;
	*ret_n = w.n;
	return 0;
}
