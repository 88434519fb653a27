/* SPDX-License-Identifier: MIT */
/* How this works: options.def expands to the rows of a table.  A row knows its kind, and
 * each kind has one function that reads a value.  All numbers are uint64_t, so a row
 * needs just an offset.  options-value.c reads values, options-print.c shows them. */
#include "config/options-internal.h"

#include "base/alloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define OPTION(group, name, kind, field, initial, argument, help) \
	{group, name, kind, offsetof(struct sfs_options, field), initial, argument, help},
const struct sfs_option_row sfs_option_rows[N_OPTIONS] = {
#include "config/options.def"
};

/* Options of mount(8), which it hands on from fstab and adds to: passed to the kernel, or
 * without meaning for files that are never written, and are no programs with privileges,
 * devices or links. */
static const char *const kernel_flags[] = {"noexec",	"exec",	      "noatime",
					   "context",	"fscontext",  "defcontext",
					   "rootcontext"};
static const char *const idle_flags[] = {
	"ro",	       "rw",	      "defaults",    "auto",	      "noauto",
	"nofail",      "_netdev",     "_rnetdev",    "user",	      "nouser",
	"users",       "nousers",     "owner",	     "noowner",	      "group",
	"nogroup",     "sync",	      "async",	     "dirsync",	      "atime",
	"diratime",    "nodiratime", /* (which libfuse does not know) */
	"relatime",    "norelatime",  "strictatime",   "nostrictatime",
	"lazytime",    "nolazytime",  "iversion",    "noiversion",    "mand",
	"nomand",      "silent",      "loud",	     "suid",	      "nosuid",
	"dev",	       "nodev",	      "symfollow",   "nosymfollow",   "comment",
	"helper",      "uhelper",     "subtype",     "default_permissions",
	"pri",	       "encryption"};

void sfs_strings_add(struct sfs_strings *list, const char *s)
{
	list->s = sfs_reallocarray(list->s, (size_t)list->n + 1, sizeof *list->s);
	list->s[list->n++] = sfs_strdup(s);
}

void sfs_strings_done(struct sfs_strings *list)
{
	while (list->n > 0)
		free(list->s[--list->n]);
	free(steal(&list->s));
}

/* ---- names ---- */

static const struct sfs_option_row *find_row(const char *name)
{
	size_t i;

	for (i = 0; i < N_OPTIONS; i++)
		if (strcmp(sfs_option_rows[i].name, name) == 0)
			return &sfs_option_rows[i];
	return NULL;
}

static int no_such(const char *name, struct sfs_error *err)
{
	const char *nearest = NULL;
	size_t i, d, least = 3;

	for (i = 0; i < N_OPTIONS; i++) {
		d = sfs_strbuf_distance(name, sfs_option_rows[i].name);
		if (d < least) {
			least = d;
			nearest = sfs_option_rows[i].name;
		}
	}
	if (nearest)
		return sfs_error_set(err, -EINVAL, "no option '%s'; did you mean '%s'?",
				     name, nearest);
	/* A value with a comma, which may be a secret. */
	if (name[strcspn(name, ": ")])
		return sfs_error_set(
			err, -EINVAL,
			"no option '%.*s...'; write a comma in a value as '\\,'",
			(int)strcspn(name, ": "), name);
	return sfs_error_set(err, -EINVAL, "no option '%s'", name);
}

/* As the kernel's options want a value that has commas. */
static char *escape_commas(const char *s)
{
	char *out = sfs_malloc(2 * strlen(s) + 1), *p = out;

	for (; *s; s++) {
		if (*s == ',' || *s == '\\')
			*p++ = '\\';
		*p++ = *s;
	}
	*p = 0;
	return out;
}

static bool is_one_of(const char *name, const char *const *names, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/* Handle an option of mount(8).  false: it is none. */
static bool set_mount_option(struct sfs_options *o, const char *name, const char *value)
{
	char *all;

	if (is_one_of(name, idle_flags, SFS_COUNT(idle_flags)) ||
	    strncasecmp(name, "x-", 2) == 0)
		return true;
	if (!is_one_of(name, kernel_flags, SFS_COUNT(kernel_flags)))
		return false;
	sfs_autofree char *escaped = value ? escape_commas(value) : NULL;

	all = sfs_asprintf("%s%s%s%s%s", o->kernel ? o->kernel : "", o->kernel ? "," : "",
			   name, escaped ? "=" : "", escaped ? escaped : "");
	free(o->kernel);
	o->kernel = all;
	return true;
}

int sfs_options_set(struct sfs_options *o, const char *name, const char *value,
		    const char *origin, struct sfs_error *err)
{
	const struct sfs_option_row *row = find_row(name);
	char **was;
	int ret;

	if (o->only && strcmp(name, o->only) != 0)
		return 0;
	if (!row && strcmp(name, "remount") == 0)
		return sfs_error_set(err, -EINVAL,
				     "a mount cannot be changed by 'remount'; unmount "
				     "it, and mount it again");
	if (!row && set_mount_option(o, name, value))
		return 0;
	if (!row)
		return no_such(name, err);
	if (!value && row->kind != FLAG)
		return sfs_error_set(err, -EINVAL, "option '%s' needs a value: %s=%s",
				     name, name, row->argument);
	ret = sfs_option_set_value(o, row, value ? value : "yes", err);
	if (ret < 0)
		return ret;
	was = &o->origins[row - sfs_option_rows];
	free(*was);
	*was = sfs_strdup(origin);
	return 0;
}

/* Cut the next item from a list, at a comma without a backslash. */
static char *next_item(const char **list)
{
	char *item = sfs_malloc(strlen(*list) + 1), *p = item;
	const char *s = *list;

	for (; *s && *s != ','; s++) {
		if (*s == '\\' && (s[1] == ',' || s[1] == '\\'))
			s++;
		*p++ = *s;
	}
	*p = 0;
	*list = *s ? s + 1 : s;
	return item;
}

int sfs_options_set_list(struct sfs_options *o, const char *list, const char *origin,
			 struct sfs_error *err)
{
	char *equals;
	int ret = 0;

	while (ret == 0 && *list) {
		sfs_autofree char *item = next_item(&list);

		if (!*item)
			continue;
		equals = strchr(item, '=');
		if (equals)
			*equals++ = 0;
		ret = sfs_options_set(o, item, equals, origin, err);
	}
	return ret;
}

int sfs_options_has_argument(const char *name, struct sfs_error *err)
{
	const struct sfs_option_row *row = find_row(name);

	return row ? row->kind != FLAG : no_such(name, err);
}

void sfs_options_init(struct sfs_options *o)
{
	size_t i;

	*o = (struct sfs_options){0};
	o->origins = sfs_calloc(N_OPTIONS, sizeof *o->origins);
	for (i = 0; i < N_OPTIONS; i++) {
		sfs_option_set_value(o, &sfs_option_rows[i], sfs_option_rows[i].initial,
				     NULL);
		o->origins[i] = sfs_strdup("default");
	}
}

void sfs_options_done(struct sfs_options *o)
{
	size_t i;

	for (i = 0; i < N_OPTIONS; i++) {
		if (sfs_option_rows[i].kind >= STRING &&
		    sfs_option_rows[i].kind <= IDENTITY)
			free(steal(sfs_option_string(o, &sfs_option_rows[i])));
		else if (sfs_option_rows[i].kind == LIST)
			sfs_strings_done(sfs_option_list(o, &sfs_option_rows[i]));
		if (o->origins)
			free(o->origins[i]);
	}
	free(steal(&o->origins));
	free(steal(&o->kernel));
	free(steal(&o->index_to));
	sfs_strings_done(&o->header_specs);
}
