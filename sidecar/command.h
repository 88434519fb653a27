/* SPDX-License-Identifier: MIT */
/* command - the commands of `shufflefs-sidecar`.
 *
 * Each reads its own options (options/options.h; argv[0] is the command's name), prints
 * its errors with sfs_error(), and returns an exit status: 0, 1 (failed), 2 (wrong
 * usage).
 */
#ifndef SFS_SIDECAR_COMMAND_H
#define SFS_SIDECAR_COMMAND_H

struct sfs_sidecar_values;

struct sfs_command {
	const char *name;
	const char *usage; /* lines: of the arguments, without the name */
	const char *help;  /* lines: a sentence: what it does; and its arguments */
	unsigned options;  /* SFS_SIDECAR_SEND, ... */
	int (*run)(int argc, char **argv);
};

extern const struct sfs_command sfs_send_command, sfs_recv_command;

/* sfs_sidecar_options_parse(), which see; but prints the error. */
int sfs_command_options(unsigned options, int argc, char **argv,
			struct sfs_sidecar_values *ret);

/* Print all of that, and the options.  Returns the exit status. */
int sfs_command_help(const struct sfs_command *command);

/* Print to standard error how it is used, and where there is help. */
void sfs_command_misused(const struct sfs_command *command);

#endif
