/* SPDX-License-Identifier: MIT */
/* command - the commands of `shufflefs-sidecar`.
 *
 * Each parses its own options (getopt_long, argv[0] is the command's name), prints its
 * errors with sfs_error(), and returns an exit status: 0, 1 (failed), 2 (wrong usage).
 */
#ifndef SFS_SIDECAR_COMMAND_H
#define SFS_SIDECAR_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

struct sfs_command {
	const char *name;
	const char *usage; /* lines: of the arguments, without the name */
	const char *help;  /* lines: a sentence that says what it does, and its options */
	int (*run)(int argc, char **argv);
};

extern const struct sfs_command sfs_send_command, sfs_recv_command;

/* Print all of that.  Returns the exit status. */
int sfs_command_help(const struct sfs_command *command);

/* Print to standard error how it is used, and where there is help. */
void sfs_command_misused(const struct sfs_command *command);

/* Is `text`, of an option, a number from `least` to `most`?  Prints why not. */
bool sfs_command_number(const char *option, const char *text, uint64_t least,
			uint64_t most, uint64_t *ret);

/* "0.5" or "0.5%" in millionths: 5000; at most 100 %. */
bool sfs_command_percent(const char *option, const char *text, uint32_t *ret);

/* "512M": bytes, at least 16 MiB. */
bool sfs_command_size(const char *option, const char *text, uint64_t *ret);

#endif
