/* SPDX-License-Identifier: MIT */
/* main - the `shufflefs` program: parses the command line and runs a command. */
#include "commands.h"
#include "help.h"
#include "mount-helper.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/stack.h"
#include "base/threadpool.h"
#include "config/conceal.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* There is no command where it should be. */
static int refuse(const struct sfs_cmdline *c)
{
	const char *name = c->arguments.n ? c->arguments.s[0] : NULL;
	const struct sfs_command *guess;

	if (!name)
		return sfs_command_misused("no command given");
	if (sfs_command_find(name))
		return sfs_command_misused(
			"the command must come before its options: shufflefs %s ...",
			name);
	guess = sfs_command_guess(name);
	if (guess)
		return sfs_command_misused("there is no command '%s'; did you mean '%s'?",
					   name, guess->name);
	return sfs_command_misused("there is no command '%s'", name);
}

static int main_run(const struct sfs_command *command, const struct sfs_cmdline *c)
{
	if (!command)
		return refuse(c);
	if (!command->has_source && c->n_settings > 0)
		return sfs_command_misused("%s does not take %s", command->name,
					   c->settings[0].origin);
	if ((c->is_lazy || c->is_forced) && !command->is_umount)
		return sfs_command_misused("%s does not take --%s", command->name,
					   c->is_lazy ? "lazy" : "force");
	return command->run(c);
}

/* `shufflefs help [COMMAND]`.  The Makefile asks for lists of options, "--mdoc...". */
static int run_help(const char *what)
{
	if (!*what || *what == '-')
		sfs_help_print(what);
	else if (sfs_command_find(what))
		sfs_help_print_command(what);
	else
		return sfs_command_misused("there is no command '%s'", what);
	return SFS_EXIT_OK;
}

/* Run a command, NULL if there is none, on the words from argv[first] on. */
static int parse_and_run(const struct sfs_command *command, int argc, char **argv,
			 int first)
{
	struct sfs_cmdline c = {.own = command ? command->options : NULL};
	struct sfs_error err = {0};
	int status = SFS_EXIT_OK, ret;

	ret = sfs_cmdline_parse(&c, argc, argv, first, &err);
	sfs_conceal_args(argc, argv, first);
	if (ret < 0)
		status = sfs_command_misused("%s", err.text);
	else if (c.wants_help && command)
		sfs_help_print_command(command->name);
	else if (c.wants_help)
		sfs_help_print("");
	else if (c.wants_version)
		sfs_version_print();
	else
		status = main_run(command, &c);
	sfs_cmdline_done(&c);
	return status;
}

/* What was printed is not written yet: report if it cannot be. */
static int flush(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	sfs_error("cannot write: %s", strerror(errno));
	return status == SFS_EXIT_OK ? SFS_EXIT_FAILED : status;
}

static int run_as_helper(int argc, char **argv)
{
	bool is_fake;

	sfs_mount_helper_strip(argc, argv, &argc, &is_fake);
	if (is_fake)
		return SFS_EXIT_OK;
	return parse_and_run(sfs_command_find("mount"), argc, argv, 1);
}

int main(int argc, char **argv)
{
	const struct sfs_command *command = argc > 1 ? sfs_command_find(argv[1]) : NULL;
	int status = SFS_EXIT_OK;
	struct sfs_error err;

	mallopt(M_ARENA_MAX, 2); /* small memory is small; keep it so */
	if (sfs_stack_ensure(&err) < 0) {
		sfs_error("%s", err.text);
		return SFS_EXIT_FAILED;
	}
	if (sfs_mount_helper_is(argc, argv))
		status = run_as_helper(argc, argv);
	else if (argc > 1 && strcmp(argv[1], "help") == 0)
		status = run_help(argc > 2 ? argv[2] : "");
	else
		status = parse_and_run(command, argc, argv, command ? 2 : 1);
	status = flush(status);
	if (sfs_threads_are_left()) /* they may use what an exit would free */
		_exit(status);
	return status;
}
