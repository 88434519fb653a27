/* SPDX-License-Identifier: MIT */
#include "command.h"

#include "options/options.h"

#include "base/log.h"

#include <stdio.h>

int sfs_command_options(unsigned options, int argc, char **argv,
			struct sfs_sidecar_values *ret)
{
	struct sfs_error err = {""};
	int first = sfs_sidecar_options_parse(ret, options, argc, argv, &err);

	if (first < 0 && err.text[0])
		sfs_error("%s", err.text);
	return first;
}

int sfs_command_help(const struct sfs_command *command)
{
	struct sfs_strbuf text = {0};

	sfs_sidecar_options_help(command->options, false, &text);
	printf("usage: shufflefs-sidecar %s %s\n%s\n%s\nSee the manual for details: "
	       "man shufflefs-sidecar\n",
	       command->name, command->usage, command->help, text.s);
	sfs_strbuf_done(&text);
	return 0;
}

void sfs_command_misused(const struct sfs_command *command)
{
	fprintf(stderr,
		"usage: shufflefs-sidecar %s %s"
		"Try 'shufflefs-sidecar %s --help' for more information.\n",
		command->name, command->usage, command->name);
}
