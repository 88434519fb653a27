/* SPDX-License-Identifier: MIT */
#include "cmdline.h"

#include "base/alloc.h"
#include "config/ini.h"
#include "source/uri.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static void add_setting(struct sfs_cmdline *c, const char *name, const char *value,
			const char *origin)
{
	struct sfs_setting *s;

	c->settings = sfs_reallocarray(c->settings, (size_t)c->n_settings + 1, sizeof *s);
	s = &c->settings[c->n_settings++];
	s->name = name ? sfs_strdup(name) : NULL;
	s->value = value ? sfs_strdup(value) : NULL;
	s->origin = sfs_strdup(origin);
}

void sfs_cmdline_done(struct sfs_cmdline *c)
{
	struct sfs_command_option *own;

	for (own = c->own; own && own->name; own++)
		free(steal(&own->value));
	while (c->n_settings > 0) {
		struct sfs_setting *s = &c->settings[--c->n_settings];

		free(s->name);
		free(s->value);
		free(s->origin);
	}
	free(c->settings);
	sfs_strings_done(&c->arguments);
}

static struct sfs_command_option *find_own(const struct sfs_cmdline *c, const char *name)
{
	struct sfs_command_option *own = c->own;

	while (own && own->name && strcmp(own->name, name) != 0)
		own++;
	return own && own->name ? own : NULL;
}

static struct sfs_command_option *find_letter(const struct sfs_cmdline *c, char letter)
{
	struct sfs_command_option *own = c->own;

	while (own && own->name && own->letter != letter)
		own++;
	return own && own->name ? own : NULL;
}

/* *err is set, unless there is a better guess here. */
static int no_such(const struct sfs_cmdline *c, const char *name, struct sfs_error *err)
{
	const struct sfs_command_option *own;

	for (own = c->own; own && own->name; own++)
		if (sfs_strbuf_distance(name, own->name) < 3)
			return sfs_error_set(err, -EINVAL,
					     "no option '%s'; did you mean '%s'?", name,
					     own->name);
	return -EINVAL;
}

static void set_own(struct sfs_command_option *own, const char *value)
{
	free(own->value);
	own->value = sfs_strdup(value ? value : "");
}

/* --name, --name=value, --name value; returns how many words it took. */
static int take_long(struct sfs_cmdline *c, char **argv, int n_left,
		     struct sfs_error *err)
{
	const char *equals = strchr(argv[0], '='), *value;
	sfs_autofree char *name =
		equals ? sfs_strndup(argv[0] + 2, (size_t)(equals - argv[0] - 2))
		       : sfs_strdup(argv[0] + 2);
	sfs_autofree char *origin = sfs_asprintf("--%s", name);
	struct sfs_command_option *own = find_own(c, name);
	int ret;

	if (strcmp(name, "help") == 0 || strcmp(name, "version") == 0 ||
	    strcmp(name, "lazy") == 0 || strcmp(name, "force") == 0) {
		c->wants_help |= *name == 'h';
		c->wants_version |= *name == 'v';
		c->is_lazy |= *name == 'l';
		c->is_forced |= *name == 'f';
		return 1;
	}
	ret = own ? own->has_value : sfs_options_has_argument(name, err);
	if (ret < 0)
		return no_such(c, name, err);
	if (own && equals && !own->has_value)
		return sfs_error_set(err, -EINVAL, "%s takes no value", origin);
	if (!equals && ret > 0 && n_left < 2)
		return sfs_error_set(err, -EINVAL, "%s needs a value", origin);
	value = equals ? equals + 1 : ret > 0 ? argv[1] : NULL;
	if (own)
		set_own(own, value);
	else
		add_setting(c, name, value, origin);
	return equals || ret == 0 ? 1 : 2;
}

/* -x, -x VALUE, -xVALUE */
static int take_letter(struct sfs_command_option *own, char **argv, int n_left,
		       struct sfs_error *err)
{
	bool is_joined = argv[0][2] != 0;

	if (is_joined && !own->has_value)
		return sfs_error_set(err, -EINVAL, "-%c takes no value", own->letter);
	if (own->has_value && !is_joined && n_left < 2)
		return sfs_error_set(err, -EINVAL, "-%c needs a value", own->letter);
	set_own(own, !own->has_value ? NULL : is_joined ? argv[0] + 2 : argv[1]);
	return own->has_value && !is_joined ? 2 : 1;
}

/* -f, -h, -V, -l, -o LIST, -oLIST */
static int take_short(struct sfs_cmdline *c, char **argv, int n_left,
		      struct sfs_error *err)
{
	struct sfs_command_option *own = find_letter(c, argv[0][1]);

	if (own)
		return take_letter(own, argv, n_left, err);
	switch (argv[0][1]) {
	case 'o':
		if (argv[0][2] || n_left > 1) {
			add_setting(c, NULL, argv[0][2] ? argv[0] + 2 : argv[1], "-o");
			return argv[0][2] ? 1 : 2;
		}
		return sfs_error_set(err, -EINVAL, "-o needs a list of options");
	case 'f':
	case 'h':
	case 'V':
	case 'l':
		if (argv[0][2])
			break;
		if (argv[0][1] == 'f')
			add_setting(c, "foreground", NULL, "-f");
		c->wants_help |= argv[0][1] == 'h';
		c->wants_version |= argv[0][1] == 'V';
		c->is_lazy |= argv[0][1] == 'l';
		return 1;
	}
	return sfs_error_set(err, -EINVAL, "no option '%s'", argv[0]);
}

int sfs_cmdline_parse(struct sfs_cmdline *c, int argc, char **argv, int first,
		      struct sfs_error *err)
{
	bool is_over = false; /* after "--" */
	int i = first, ret;

	while (i < argc) {
		if (!is_over && strcmp(argv[i], "--") == 0) {
			is_over = true;
			i++;
		} else if (!is_over && strncmp(argv[i], "--", 2) == 0) {
			ret = take_long(c, argv + i, argc - i, err);
			if (ret < 0)
				return ret;
			i += ret;
		} else if (!is_over && argv[i][0] == '-' && argv[i][1]) {
			ret = take_short(c, argv + i, argc - i, err);
			if (ret < 0)
				return ret;
			i += ret;
		} else {
			sfs_strings_add(&c->arguments, argv[i++]);
		}
	}
	return 0;
}

void sfs_cmdline_repeat(const struct sfs_cmdline *c, struct sfs_strings *words)
{
	const struct sfs_setting *s;
	int i;

	for (i = 0; i < c->n_settings; i++) {
		s = &c->settings[i];
		sfs_autofree char *word =
			s->name ? sfs_asprintf("--%s%s%s", s->name, s->value ? "=" : "",
					       s->value ? s->value : "")
				: NULL;

		if (!s->name)
			sfs_strings_add(words, "-o");
		sfs_strings_add(words, s->name ? word : s->value);
	}
	sfs_strings_add(words, "--");
	for (i = 0; i < c->arguments.n; i++)
		sfs_strings_add(words, c->arguments.s[i]);
}

/* ---- settings to options ---- */

static int apply_settings(const struct sfs_cmdline *c, struct sfs_options *o,
			  struct sfs_error *err)
{
	const struct sfs_setting *s;
	int i, ret = 0;

	for (i = 0; i < c->n_settings && ret == 0; i++) {
		s = &c->settings[i];
		if (s->name)
			ret = sfs_options_set(o, s->name, s->value, s->origin, err);
		else
			ret = sfs_options_set_list(o, s->value, s->origin, err);
	}
	return ret;
}

/* It was not opened for this reason.  A HOME that may not be entered, or is no folder, is
 * as one that has no such file; a file that is there and may not be read is an error. */
static bool is_absent(const char *path, int err)
{
	return err == -ENOENT || err == -ENOTDIR ||
	       (err == -EACCES && access(path, F_OK) < 0);
}

/* The ini files that count: the one of config=, or those of the system and the user. */
static int read_files(const char *only, const char *name, struct sfs_options *o,
		      struct sfs_strings *sources, bool *has_section,
		      struct sfs_error *err)
{
	struct sfs_strings paths = {0};
	int i, ret = 0;

	if (only)
		sfs_strings_add(&paths, only);
	else
		sfs_ini_paths(&paths);
	for (i = 0; i < paths.n && ret == 0; i++) {
		ret = sfs_ini_read(paths.s[i], name, o, sources, has_section, err);
		if (ret == -ENOENT && only)
			sfs_error_set(err, ret, "config=%s: %s", only, strerror(ENOENT));
		else if (!only && is_absent(paths.s[i], ret))
			ret = 0;
	}
	sfs_strings_done(&paths);
	return ret;
}

/* A word that can only be a section's name, and is none.  `only`: the file of config=. */
static int check_name(const char *name, const char *only, struct sfs_error *err)
{
	if (strpbrk(name, "/{:.@*?[") || strcmp(name, "-") == 0 ||
	    access(name, F_OK) == 0)
		return 0;
	if (only)
		return sfs_error_set(
			err, -ENOENT,
			"'%s' is neither a file nor a section in the ini file %s", name,
			only);
	return sfs_error_set(
		err, -ENOENT,
		"'%s' is neither a file nor a section in an ini file (" SYSCONFDIR
		"/shufflefs.conf, ~/.config/shufflefs.conf)",
		name);
}

int sfs_cmdline_resolve(const struct sfs_cmdline *c, int n_sources, struct sfs_options *o,
			struct sfs_strings *specs, struct sfs_error *err)
{
	const char *name = n_sources == 1 ? c->arguments.s[0] : NULL;
	struct sfs_strings sources = {0};
	struct sfs_options first;
	bool has_section = false;
	int ret, i;

	/* Once for config= alone, and to know that the command line is right. */
	sfs_options_init(&first);
	ret = apply_settings(c, &first, err);
	sfs_options_init(o);
	if (ret == 0)
		ret = read_files(first.config, name, o, &sources, &has_section, err);
	if (ret == 0)
		ret = apply_settings(c, o, err);
	if (ret == 0 && has_section && sources.n == 0)
		ret = sfs_error_set(err, -EINVAL, "section [%s] has no 'source ='", name);
	if (ret == 0 && name && !has_section)
		ret = check_name(name, first.config, err);
	for (i = 0; ret == 0 && has_section && i < sources.n; i++)
		sfs_strings_add(specs, sources.s[i]);
	for (i = 0; ret == 0 && !has_section && i < n_sources; i++)
		sfs_strings_add(specs, c->arguments.s[i]);
	sfs_options_done(&first);
	sfs_strings_done(&sources);
	return ret;
}

int sfs_cmdline_log_level(const struct sfs_cmdline *c, int n_sources, const char *folder,
			  enum sfs_log_level *ret, struct sfs_error *err)
{
	const char *name = n_sources == 1 ? c->arguments.s[0] : NULL;
	struct sfs_strings sources = {0};
	struct sfs_options first, now;
	bool has_section = false;
	char *config = NULL;
	int status;

	/* Others may not be read a second time: a header line from a pipe, say. */
	sfs_options_init(&first);
	first.only = "config";
	sfs_options_init(&now);
	now.only = "log-level";
	status = apply_settings(c, &first, err);
	if (first.config)
		config = first.config[0] == '/'
				 ? sfs_strdup(first.config)
				 : sfs_asprintf("%s/%s", folder, first.config);
	if (status == 0)
		status = read_files(config, name, &now, &sources, &has_section, err);
	if (status == 0)
		status = apply_settings(c, &now, err);
	if (status == 0)
		*ret = (enum sfs_log_level)now.log_level;
	free(config);
	sfs_strings_done(&sources);
	sfs_options_done(&first);
	sfs_options_done(&now);
	return status;
}
