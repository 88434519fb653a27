/* SPDX-License-Identifier: MIT */
/* How this works: inih calls back for each name = value, in the order of the file.
 *
 * Many builds of inih, Debian's too, read at most 199 bytes of a line and take the rest
 * for a line of its own, but URLs are longer.  So read_line() cuts a long line into
 * pieces that look like continuation lines; inih passes these as further values of the
 * same name, and on_setting() joins them again. */
#include "config/ini.h"

#include "base/alloc.h"

#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct reader {
	FILE *file;
	const char *path, *wanted;
	struct sfs_options *options;
	struct sfs_strings *sources;
	bool *has_section;
	struct sfs_error *err;
	int ret;

	int line_number;
	char *line; /* the rest of a long line begins at `at` */
	size_t line_capacity, at, n;
	bool is_rest; /* inih has the rest of a line */

	/* The setting that the rest of its line may continue. */
	char *section, *name, *value;
	int name_line;
};

/* Where to cut: inih must not trim either side or take it for a comment.  0: nowhere. */
static size_t cut_point(const char *s, size_t n, size_t room)
{
	size_t i;

	if (n <= room)
		return n;
	for (i = room; i > 1; i--)
		if (!isspace((unsigned char)s[i]) && !isspace((unsigned char)s[i - 1]) &&
		    !strchr(";#", s[i]))
			return i;
	return 0;
}

/* The length of the line without its comment, which starts with ';' or '#' at the
 * beginning of the line, or with ';' after a blank. */
static size_t content_length(const char *line)
{
	size_t i = strspn(line, " \t");

	if (line[i] == ';' || line[i] == '#')
		return 0;
	for (i = 0; line[i]; i++)
		if (line[i] == ';' && i > 0 && isspace((unsigned char)line[i - 1]))
			break;
	return i;
}

/* fgets() for inih. */
static char *read_line(char *buf, int size, void *stream)
{
	struct reader *r = stream;
	/* Room for a blank before, a newline and a NUL after. */
	size_t room = (size_t)size - 3, n;
	ssize_t got;
	char *p = buf;

	r->is_rest = r->at < r->n;
	if (!r->is_rest) {
		got = getline(&r->line, &r->line_capacity, r->file);
		if (got < 0)
			return NULL;
		while (got > 0 && (r->line[got - 1] == '\n' || r->line[got - 1] == '\r'))
			got--;
		r->line[got] = 0;
		r->n = content_length(r->line);
		r->at = 0;
		r->line_number++;
	}
	n = cut_point(r->line + r->at, r->n - r->at, room);
	if (n == 0 && r->at < r->n) {
		r->ret = sfs_error_set(r->err, -EINVAL,
				       "%s:%d: too many spaces in a long line", r->path,
				       r->line_number);
		return NULL;
	}
	if (r->is_rest)
		*p++ = ' ';
	memcpy(p, r->line + r->at, n);
	p[n] = '\n';
	p[n + 1] = 0;
	r->at += n;
	return buf;
}

static bool is_wanted(const struct reader *r, const char *section)
{
	return !*section || (r->wanted && strcmp(section, r->wanted) == 0);
}

/* `source` is not in the table of options, so its error messages do not propose it. */
static bool is_nearly_source(const char *name)
{
	return sfs_strbuf_distance(name, "source") < 3;
}

/* The setting is complete: use it. */
static void apply(struct reader *r)
{
	sfs_autofree char *origin = NULL;
	struct sfs_error why = {0};
	int ret;

	if (!r->name)
		return;
	origin = sfs_asprintf("%s:%d", r->path, r->name_line);
	if (!is_wanted(r, r->section)) {
		ret = 0;
	} else if (strcmp(r->name, "source") == 0) {
		sfs_strings_add(r->sources, r->value);
		ret = 0;
	} else if (strcmp(r->name, "config") == 0) {
		ret = sfs_error_set(&why, -EINVAL, "'config' is not allowed in a file");
	} else {
		ret = sfs_options_set(r->options, r->name, r->value, origin, &why);
		if (ret < 0 && is_nearly_source(r->name))
			sfs_error_set(&why, ret, "no option '%s'; did you mean 'source'?",
				      r->name);
	}
	if (ret < 0 && r->ret == 0)
		r->ret = sfs_error_set(r->err, ret, "%s: %s", origin, why.text);
	free(steal(&r->section));
	free(steal(&r->name));
	free(steal(&r->value));
}

static int on_setting(void *user, const char *section, const char *name,
		      const char *value)
{
	struct reader *r = user;
	char *joined;

	if (r->is_rest && r->name) {
		joined = sfs_asprintf("%s%s", r->value, value);
		free(r->value);
		r->value = joined;
		return 1;
	}
	apply(r);
	if (r->wanted && strcmp(section, r->wanted) == 0)
		*r->has_section = true;
	r->section = sfs_strdup(section);
	r->name = sfs_strdup(name);
	r->value = sfs_strdup(value);
	r->name_line = r->line_number;
	return 1;
}

int sfs_ini_read(const char *path, const char *name, struct sfs_options *o,
		 struct sfs_strings *sources, bool *has_section, struct sfs_error *err)
{
	struct reader r = {.path = path,
			   .wanted = name,
			   .options = o,
			   .sources = sources,
			   .has_section = has_section,
			   .err = err};
	struct stat st;
	int line;

	r.file = fopen(path, "re");
	if (!r.file && errno == ENOENT)
		return -ENOENT;
	if (r.file && fstat(fileno(r.file), &st) == 0 && S_ISDIR(st.st_mode)) {
		fclose(r.file);
		return sfs_error_set(err, -EISDIR, "%s: %s", path, strerror(EISDIR));
	}
	if (!r.file)
		return sfs_error_set(err, -errno, "%s: %s", path, strerror(errno));
	line = ini_parse_stream(read_line, &r, on_setting, &r);
	apply(&r);
	if (r.ret == 0 && line != 0)
		r.ret = sfs_error_set(
			err, -EINVAL,
			"%s: near line %d: expected '[section]' or 'name = value'", path,
			line);
	fclose(r.file);
	free(r.line);
	return r.ret;
}

void sfs_ini_paths(struct sfs_strings *paths)
{
	const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	sfs_autofree char *mine = NULL;

	sfs_strings_add(paths, SYSCONFDIR "/shufflefs.conf");
	if (xdg && *xdg == '/')
		mine = sfs_asprintf("%s/shufflefs.conf", xdg);
	else if (home && *home)
		mine = sfs_asprintf("%s/.config/shufflefs.conf", home);
	if (mine)
		sfs_strings_add(paths, mine);
}
