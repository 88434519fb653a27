/* SPDX-License-Identifier: MIT */
/* commands - the commands of `shufflefs`: each reads its own options and arguments, runs,
 * and prints its result or its error. */
#ifndef SFS_COMMANDS_H
#define SFS_COMMANDS_H

#include "cmdline.h"

enum { SFS_EXIT_OK = 0, SFS_EXIT_FAILED = 1, SFS_EXIT_USAGE = 2 };

struct sfs_command {
	const char *name;
	int (*run)(const struct sfs_cmdline *cmdline); /* returns an exit status */
	bool has_source;		    /* takes the options of options.def */
	bool is_umount;			    /* takes --lazy, --force */
	struct sfs_command_option *options; /* of this command alone; NULL: none */
};

/* NULL: there is none of that name. */
const struct sfs_command *sfs_command_find(const char *name);

/* The command whose name is most like `name`; NULL if none is like it. */
const struct sfs_command *sfs_command_guess(const char *name);

/* The command line is wrong: print why, and where to find help.  Returns
 * SFS_EXIT_USAGE. */
int sfs_command_misused(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
