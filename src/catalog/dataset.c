/* SPDX-License-Identifier: MIT */
#include "catalog/dataset.h"

#include "base/alloc.h"
#include "base/strbuf.h"
#include "catalog/braces.h"
#include "catalog/dataset-internal.h"
#include "catalog/shard-list.h"
#include "catalog/wids.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_SHARDS (1 << 27)
#define N_SHOWN	   3 /* of the entries that a folder has besides its shards */

void sfs_dataset_done(struct sfs_dataset *d)
{
	uint32_t i;

	for (i = 0; i < d->n; i++) {
		if (d->uris)
			sfs_uri_done(&d->uris[i]);
		if (d->names)
			free(d->names[i]);
		free(d->listed[i].tag);
	}
	free(d->uris);
	free(d->names);
	free(d->spec_of);
	free(d->listed);
	free(d->said);
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

/* Is it a local path that exists, whatever its characters would mean otherwise? */
static bool is_there(const struct sfs_loader *l, const char *name)
{
	sfs_autofree char *path = NULL;

	if (sfs_uri_has_scheme(name))
		return false;
	path = absolute_path(l->disk->cwd, name);
	return l->disk->exists(path);
}

static int add_uri(struct sfs_loader *l, struct sfs_uri *uri, struct sfs_error *err)
{
	struct sfs_dataset *d = &l->d;

	if (l->disk->split && !l->is_part)
		return sfs_loader_refuse_split(l, uri->location, err);
	if (d->n == MAX_SHARDS)
		return sfs_error_set(err, -E2BIG, "more than %d shards", MAX_SHARDS);
	if ((d->n & (d->n - 1)) == 0) { /* a power of two: full */
		d->uris = sfs_reallocarray(d->uris, 2 * d->n + 1, sizeof *d->uris);
		d->spec_of =
			sfs_reallocarray(d->spec_of, 2 * d->n + 1, sizeof *d->spec_of);
		d->listed = sfs_reallocarray(d->listed, 2 * d->n + 1, sizeof *d->listed);
		d->said = sfs_reallocarray(d->said, 2 * d->n + 1, sizeof *d->said);
	}
	d->spec_of[d->n] = l->source;
	d->listed[d->n] = (struct sfs_listed){0};
	d->said[d->n] = (struct sfs_said){UINT64_MAX, UINT64_MAX};
	d->uris[d->n++] = *uri;
	*uri = (struct sfs_uri){0};
	return 0;
}

static int add_file(struct sfs_loader *l, const char *path, struct sfs_error *err)
{
	struct sfs_uri file = {0};
	int ret = sfs_uri_parse(path, &file, err);

	if (ret == 0)
		ret = add_uri(l, &file, err);
	sfs_uri_done(&file);
	return ret;
}

static void place_at(struct sfs_uri *uri, char *path)
{
	free(uri->location);
	free(uri->path);
	uri->location = path;
	uri->path = sfs_strdup(path);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Is it an index or the like: "x.tar.idx" or "x.idx" beside "x.tar"? */
static bool belongs_to_shard(const struct sfs_folder *f, const char *name)
{
	const char *dot;

	for (dot = strchr(name, '.'); dot; dot = strchr(dot + 1, '.')) {
		sfs_autofree char *shard =
			sfs_asprintf("%.*s.tar", (int)(dot - name), name);

		if (bsearch(&shard, f->shards, f->n_shards, sizeof *f->shards, by_name))
			return true;
	}
	return false;
}

/* Note what was not taken. */
static void note_others(struct sfs_loader *l, const char *path,
			const struct sfs_folder *f)
{
	bool is_first = l->others.n == 0;
	struct sfs_strbuf names = {0};
	size_t n = 0, i;

	for (i = 0; i < f->n_others; i++) {
		if (belongs_to_shard(f, f->others[i]))
			continue;
		if (is_first && n <= N_SHOWN)
			sfs_strbuf_printf(&names, "%s%s", n ? ", " : "",
					  n < N_SHOWN ? f->others[i] : "...");
		n++;
	}
	if (n > 0 && is_first) {
		sfs_strbuf_printf(&l->others, "%zu %s of %s %s not taken: %s", n,
				  n == 1 ? "entry" : "entries", path,
				  n == 1 ? "was" : "were", names.s);
	} else if (n > 0) {
		l->n_others_elsewhere += n;
		l->n_folders_elsewhere++;
	}
	sfs_strbuf_done(&names);
}

static int add_folder(struct sfs_loader *l, const char *path, const struct sfs_folder *f,
		      struct sfs_error *err)
{
	bool has_folders = false, has_parts = sfs_loader_has_parts(l, path);
	int ret = 0;
	size_t i;

	note_others(l, path, f);
	for (i = 0; i < f->n_others; i++)
		has_folders |= f->others[i][strlen(f->others[i]) - 1] == '/';
	if (f->n_shards == 0 && has_parts)
		return sfs_error_set(err, -ENOENT,
				     "energon has prepared the folder %s: say which part "
				     "of it, as in split=train",
				     path);
	if (has_parts && !l->parted)
		l->parted = sfs_strdup(path);
	if (f->n_shards == 0)
		return sfs_error_set(err, -ENOENT, "no *.tar in the folder %s%s%s%s",
				     path,
				     has_folders ? "; those of its folders are " : "",
				     has_folders ? path : "", has_folders ? "/**" : "");
	for (i = 0; i < f->n_shards && ret == 0; i++) {
		sfs_autofree char *whole = sfs_asprintf("%s/%s", path, f->shards[i]);

		ret = add_file(l, whole, err);
	}
	return ret;
}

/* A path that may be a folder's. */
static int add_path(struct sfs_loader *l, const char *path, struct sfs_error *err)
{
	struct sfs_folder folder;
	int ret = l->disk->list(path, &folder, err);

	if (ret == -ENOTDIR)
		return sfs_loader_is_index(path) ? sfs_loader_add_index(l, path, err)
						 : add_file(l, path, err);
	if (ret < 0)
		return ret;
	if (l->disk->split)
		ret = sfs_loader_add_part(l, path, err);
	else
		ret = add_folder(l, path, &folder, err);
	sfs_folder_done(&folder);
	return ret;
}

static int add_pattern(struct sfs_loader *l, const char *pattern, struct sfs_error *err)
{
	char **paths;
	size_t n, i;
	int ret;

	ret = l->disk->match(pattern, &paths, &n, err);
	if (ret < 0)
		return ret;
	for (i = 0; i < n && ret == 0; i++)
		ret = add_path(l, paths[i], err);
	sfs_braces_free(paths, n);
	return ret;
}

/* ---- buckets ---- */

/* An object that was listed for this user: its name as a URL. */
static int add_listed(struct sfs_loader *l, const char *user, struct sfs_listed *object,
		      struct sfs_error *err)
{
	struct sfs_uri uri = {0};
	int ret = sfs_uri_parse(object->url, &uri, err);

	if (ret < 0)
		return ret;
	uri.user = user ? sfs_strdup(user) : NULL;
	ret = sfs_loader_check(l, &uri, err);
	if (ret == 0)
		ret = add_uri(l, &uri, err);
	sfs_uri_done(&uri);
	if (ret < 0)
		return ret;
	free(steal(&object->url));
	l->d.listed[l->d.n - 1] = *object;
	object->tag = NULL;
	return 0;
}

static int add_objects(struct sfs_loader *l, struct sfs_uri *uri, struct sfs_error *err)
{
	struct sfs_listed *objects = NULL;
	size_t n = 0, i;
	int ret = -ENOTDIR;

	if (l->disk->list_objects)
		ret = l->disk->list_objects(l->disk->ctx, uri, &objects, &n, err);
	if (ret == -ENOTDIR)
		return add_uri(l, uri, err);
	for (i = 0; i < n && ret == 0; i++)
		ret = add_listed(l, uri->user, &objects[i], err);
	for (i = 0; i < n; i++) {
		free(objects[i].url);
		free(objects[i].tag);
	}
	free(objects);
	return ret;
}

/* ---- lists ---- */

/* Is it in a store, and no pattern?  (In a list no character means anything; but a store
 * would take it for one.) */
static bool is_one_object(const struct sfs_uri *uri)
{
	size_t n = strlen(uri->location);

	return sfs_scheme_has_keys(uri->scheme) && !strpbrk(uri->location, "*?[") &&
	       uri->location[n - 1] != '/';
}

int sfs_loader_add(struct sfs_loader *l, const char *folder, const char *name,
		   const struct sfs_said *said, struct sfs_error *err)
{
	sfs_autofree char *at_url =
		sfs_uri_has_scheme(folder) ? sfs_wids_resolve(folder, name) : NULL;
	struct sfs_uri uri = {0};
	int ret = sfs_uri_parse(at_url ? at_url : name, &uri, err);

	if (ret == 0 && uri.scheme == SFS_SCHEME_FILE)
		place_at(&uri, absolute_path(folder, uri.location));
	if (ret == 0)
		ret = sfs_loader_check(l, &uri, err);
	if (ret == 0)
		ret = is_one_object(&uri) ? add_objects(l, &uri, err)
					  : add_uri(l, &uri, err);
	if (ret == 0 && said)
		l->d.said[l->d.n - 1] = *said;
	sfs_uri_done(&uri);
	return ret;
}

static int add_lines(struct sfs_loader *l, const char *shown, const char *folder,
		     const struct sfs_strbuf *text, struct sfs_error *err)
{
	struct sfs_shard_list list;
	uint32_t n_before = l->d.n;
	char *line;
	int ret;

	sfs_shard_list_init(&list, text->s, text->n);
	while ((ret = sfs_shard_list_next(&list, &line, err)) > 0) {
		ret = sfs_loader_add(l, folder, line, NULL, err);
		free(line);
		if (ret < 0)
			return sfs_error_wrap(err, ret, "%s:%u", shown, list.n_lines);
	}
	if (ret < 0)
		return sfs_error_wrap(err, ret, "%s", shown);
	if (l->d.n == n_before)
		return sfs_error_set(err, -ENOENT, "%s: the list is empty", shown);
	return 0;
}

/* The absolute path of a list, or its URL.  NULL: with an error. */
static char *place_of_list(const struct sfs_loader *l, const char *name,
			   struct sfs_error *err)
{
	struct sfs_uri uri;
	char *place;

	if (strcmp(name, "-") == 0)
		return sfs_strdup(name);
	if (!sfs_uri_has_scheme(name))
		return absolute_path(l->disk->cwd, name);
	if (sfs_uri_parse(name, &uri, err) < 0)
		return NULL;
	place = sfs_strdup(uri.scheme == SFS_SCHEME_FILE ? uri.location : name);
	sfs_uri_done(&uri);
	return place;
}

/* "-", or the path or URL of a list. */
static int add_list(struct sfs_loader *l, const char *name, struct sfs_error *err)
{
	sfs_autofree char *where = place_of_list(l, name, err), *shown = NULL,
			  *folder = NULL;
	struct sfs_strbuf text = {0};
	bool is_pipe = false;
	int ret;

	if (!where)
		return -EINVAL;
	shown = strcmp(where, "-") == 0 ? sfs_strdup("standard input")
					: sfs_uri_redact(where);
	ret = sfs_loader_read(l, where, &text, &is_pipe, err);
	folder = is_pipe ? sfs_strdup(l->disk->cwd) : sfs_loader_folder_of(where);
	if (ret == 0) {
		sfs_loader_enter(l, where);
		ret = add_lines(l, shown, folder, &text, err);
		sfs_loader_leave(l);
	}
	sfs_strbuf_done(&text);
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

/* Of a folder at a URL a part is wanted. */
static int add_remote_part(struct sfs_loader *l, const char *name, struct sfs_error *err)
{
	bool has_query = strncasecmp(name, "http", 4) == 0;
	sfs_autofree char *folder =
		sfs_strndup(name, has_query ? strcspn(name, "?#") : strlen(name));
	size_t n = strlen(folder);

	if (strpbrk(folder, "*?[") || (n > 4 && strcmp(folder + n - 4, ".tar") == 0))
		return sfs_loader_refuse_split(l, name, err);
	while (n > 0 && folder[n - 1] == '/')
		folder[--n] = 0;
	return sfs_loader_add_part(l, folder, err);
}

/* One name, as the braces give it. */
static int add_name(struct sfs_loader *l, const char *name, struct sfs_error *err)
{
	struct sfs_uri uri = {0};
	int ret;

	if (strcmp(name, "-") == 0)
		return add_list(l, name, err);
	if (*name == '@' && !is_there(l, name))
		return add_list(l, name + 1, err);
	ret = sfs_uri_parse(name, &uri, err);
	if (ret == 0 && uri.scheme != SFS_SCHEME_FILE && sfs_loader_is_index(uri.path)) {
		ret = sfs_loader_add_index(l, name, err);
	} else if (ret == 0 && uri.scheme != SFS_SCHEME_FILE && l->disk->split) {
		ret = add_remote_part(l, name, err);
	} else if (ret == 0 && uri.scheme == SFS_SCHEME_FILE) {
		sfs_autofree char *path = absolute_path(l->disk->cwd, uri.location);
		bool is_pattern = !sfs_uri_has_scheme(name) && strpbrk(name, "*?[") &&
				  !l->disk->exists(path);

		ret = is_pattern ? add_pattern(l, path, err) : add_path(l, path, err);
	} else if (ret == 0 && sfs_scheme_has_keys(uri.scheme)) {
		ret = add_objects(l, &uri, err);
	} else if (ret == 0) {
		ret = add_uri(l, &uri, err);
	}
	sfs_uri_done(&uri);
	return ret;
}

/* Is this '@' the end of what sfs_uri_redact() hides?  Then a password
 * comes before it. */
static bool is_after_user(const char *source, const char *at, size_t n_digits)
{
	sfs_autofree char *shown = sfs_uri_redact(source);
	const char *hidden = strstr(shown, "***@");

	return hidden && strncmp(hidden + 4, at + 1, n_digits) == 0;
}

/* "train-@001282.tar", as dlinputs writes it, as "train-{000000..001281}.tar"; NULL: it
 * has no such number.  Without a leading zero an '@' is only a character, as in the name
 * of a stream that begins at a sample. */
static char *count_as_braces(const char *source)
{
	size_t end = sfs_uri_has_scheme(source) ? strcspn(source, "?#") : strlen(source);
	const char *at = memrchr(source, '@', end), *rest;
	unsigned long count;
	int n_digits;

	if (!at || at == source || at[1] != '0')
		return NULL;
	n_digits = (int)strspn(at + 1, "0123456789");
	rest = at + 1 + n_digits;
	if (n_digits > 9 || (*rest != '.' && rest != source + end) ||
	    memchr(rest, '/', (size_t)(source + end - rest)))
		return NULL;
	count = strtoul(at + 1, NULL, 10);
	if (count == 0 || is_after_user(source, at, (size_t)n_digits))
		return NULL;
	return sfs_asprintf("%.*s{%0*d..%0*lu}%s", (int)(at - source), source, n_digits,
			    0, n_digits, count - 1, rest);
}

static int add_source(struct sfs_loader *l, const char *source, struct sfs_error *err)
{
	sfs_autofree char *counted = count_as_braces(source);
	const char *braces = counted && !is_there(l, source) ? counted : source;
	char **names;
	size_t n, i;
	int ret;

	ret = sfs_braces_expand(braces, &names, &n, err);
	if (ret < 0)
		return refuse_braces(source, ret, err);
	for (i = 0; i < n && ret == 0; i++)
		ret = add_name(l, names[i], err);
	sfs_braces_free(names, n);
	l->source++;
	return ret;
}

/* The "::" after the source that begins at s; NULL: there is none.  In what comes between
 * "://" and the next slash it is part of an IPv6 address. */
static const char *find_separator(const char *s)
{
	while (*s) {
		if (strncmp(s, "://", 3) == 0)
			s += 3 + strcspn(s + 3, "/");
		else if (strncmp(s, "::", 2) == 0)
			return s;
		else
			s++;
	}
	return NULL;
}

/* How many user parts of URLs does sfs_uri_redact() hide? */
static size_t count_users(const char *text)
{
	sfs_autofree char *shown = sfs_uri_redact(text);
	const char *p = shown;
	size_t n = 0;

	for (; (p = strstr(p, "***@")) != NULL; p++)
		n++;
	return n;
}

/* The source at *s, which the caller frees; *s is then the next one, or NULL. */
static char *take_source(const char **s)
{
	const char *end = find_separator(*s);
	char *source = end ? sfs_strndup(*s, (size_t)(end - *s)) : sfs_strdup(*s);

	*s = end ? end + 2 : NULL;
	return source;
}

/* Nothing may be empty, and no password may be cut apart: half of one would be shown. */
static int check_sources(const char *spec, struct sfs_error *err)
{
	sfs_autofree char *shown = sfs_uri_redact(spec);
	const char *s = spec;
	size_t n_users = 0;
	bool has_empty = false;

	while (s) {
		sfs_autofree char *source = take_source(&s);

		n_users += count_users(source);
		has_empty |= !*source;
	}
	if (n_users < count_users(spec))
		return sfs_error_set(err, -EINVAL,
				     "'%s': '::' in the hidden part; in a password write "
				     "%%3A%%3A",
				     shown);
	if (has_empty)
		return sfs_error_set(err, -EINVAL, "'%s': nothing is named beside '::'",
				     shown);
	return 0;
}

static int add_spec(struct sfs_loader *l, const char *spec, struct sfs_error *err)
{
	const char *s = spec;
	int ret;

	if (sfs_uri_is_pipe(spec)) /* whatever else its command looks like */
		return add_name(l, spec, err);
	if (!find_separator(spec) || is_there(l, spec))
		return add_source(l, spec, err);
	ret = check_sources(spec, err);
	while (s && ret == 0) {
		sfs_autofree char *source = take_source(&s);

		ret = add_source(l, source, err);
	}
	return ret;
}

static void finish_notes(struct sfs_loader *l)
{
	if (l->parted)
		sfs_strbuf_printf(&l->others,
				  "%senergon has divided %s into parts, and all were "
				  "taken: split=train takes one",
				  l->others.n ? "; " : "", l->parted);
	free(steal(&l->parted));
	if (l->others.n == 0)
		return;
	if (l->n_others_elsewhere > 0)
		sfs_strbuf_printf(&l->others, "; nor %zu of %zu other %s",
				  l->n_others_elsewhere, l->n_folders_elsewhere,
				  l->n_folders_elsewhere == 1 ? "folder" : "folders");
	sfs_error_set(&l->d.not_taken, 0, "%s", l->others.s);
}

int sfs_dataset_load(char *const *specs, int n_specs, const struct sfs_dataset_disk *disk,
		     struct sfs_dataset *ret_dataset, struct sfs_error *err)
{
	struct sfs_loader l = {.disk = disk};
	int i, ret = 0;

	for (i = 0; i < n_specs && ret == 0; i++)
		ret = add_spec(&l, specs[i], err);
	if (ret == 0 && l.d.n == 0)
		ret = sfs_error_set(err, -EINVAL, "no shards");
	if (ret == 0) {
		sfs_dataset_drop_repeated(&l.d);
		ret = sfs_dataset_make_names(&l.d, err);
	}
	finish_notes(&l);
	sfs_strbuf_done(&l.others);
	if (ret < 0)
		sfs_dataset_done(&l.d);
	else
		*ret_dataset = l.d;
	return ret;
}
