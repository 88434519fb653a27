/* SPDX-License-Identifier: MIT */
/* cmdline - reads the command line: options in any place, then the arguments.
 *
 * `-o a=b,c`, `--a=b`, `--a b`, `-f`; what they mean is options.h's business. */
#ifndef SFS_CMDLINE_H
#define SFS_CMDLINE_H

#include "base/log.h"
#include "config/options.h"

#include <stdbool.h>

struct sfs_setting {
	char *name, *value, *origin; /* value NULL: none; name NULL: value is a -o list */
};

/* An option of one command alone: "--name" (and "-letter"), with a value or without. */
struct sfs_command_option {
	const char *name;
	bool has_value;
	char *value; /* NULL: was not given; "" if it has none */
	char letter; /* 0: none */
};

struct sfs_cmdline {
	/* Set before parsing; the last has no name.  NULL: none. */
	struct sfs_command_option *own;

	struct sfs_setting *settings;
	int n_settings;
	struct sfs_strings arguments;
	bool wants_help, wants_version, is_lazy, is_forced;
};

/* Parse argv[first..argc).  -EINVAL, with an error.  Zero the command first. */
int sfs_cmdline_parse(struct sfs_cmdline *command, int argc, char **argv, int first,
		      struct sfs_error *err);
void sfs_cmdline_done(struct sfs_cmdline *command);

/* Append the settings and the arguments as words that, parsed again, mean the same; but
 * not the command's own options. */
void sfs_cmdline_repeat(const struct sfs_cmdline *command, struct sfs_strings *words);

/* Make the options and the list of specs of the arguments [0, n_sources): the ini
 * files first, then the command line.  A single argument may be a section's name. */
int sfs_cmdline_resolve(const struct sfs_cmdline *command, int n_sources,
			struct sfs_options *options, struct sfs_strings *specs,
			struct sfs_error *err);

/* The log level that the command line and the ini files give now; relative paths are meant
 * from `folder`. */
int sfs_cmdline_log_level(const struct sfs_cmdline *command, int n_sources,
			  const char *folder, enum sfs_log_level *ret,
			  struct sfs_error *err);

#endif
