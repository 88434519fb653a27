/* SPDX-License-Identifier: MIT */
/* main - the `shufflefs-sidecar` program: finds the command and runs it. */
#include "command.h"
#include "options/options.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/stack.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#define FILES_MIN 64

/* (main.c of fusefs/ links the same file.) */
extern const char sfs_commit[];

static const struct sfs_command *const commands[] = {
	&sfs_send_command,
	&sfs_recv_command,
};

static void print_help(void)
{
	size_t i;

	for (i = 0; i < SFS_COUNT(commands); i++)
		printf("%s shufflefs-sidecar %s %s", i == 0 ? "usage:" : "      ",
		       commands[i]->name, commands[i]->usage);
	printf("       shufflefs-sidecar COMMAND --help\n"
	       "       shufflefs-sidecar --help | --version\n"
	       "\n"
	       "Decode streams of samples into batches of tensors, and hand them to trainers\n"
	       "on this host or others.\n"
	       "\n"
	       "Commands:\n");
	for (i = 0; i < SFS_COUNT(commands); i++)
		printf("  %s    %.*s\n", commands[i]->name,
		       (int)strcspn(commands[i]->help, "\n"), commands[i]->help);
	printf("\nSee the manual for details: man shufflefs-sidecar\n");
}

static void print_version(void)
{
	printf("shufflefs " VERSION "%s%s%s\n", *sfs_commit ? " (commit " : "",
	       sfs_commit, *sfs_commit ? ")" : "");
}

static int refuse(const char *name)
{
	if (name)
		sfs_error("there is no command '%s'; see shufflefs-sidecar --help", name);
	else
		sfs_error("no command given; see shufflefs-sidecar --help");
	return 2;
}

/* Each trainer takes two descriptors, so let there be as many as there may. */
static bool ensure_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return true;
	if (limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	if (limit.rlim_max >= FILES_MIN)
		return true;
	sfs_error("the limit of open files is %llu, but at least %d are needed: raise "
		  "it (ulimit -n)",
		  (unsigned long long)limit.rlim_max, FILES_MIN);
	return false;
}

/* For the manual's build: the list of a command's options. */
static int print_mdoc(const struct sfs_command *command)
{
	struct sfs_strbuf text = {0};

	sfs_sidecar_options_help(command->options, true, &text);
	printf("%s", text.s);
	sfs_strbuf_done(&text);
	return 0;
}

static int run_command(const struct sfs_command *command, int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--mdoc") == 0)
		return print_mdoc(command);
	return ensure_files() ? command->run(argc, argv) : 1;
}

/* `shufflefs-sidecar help [COMMAND]` */
static int run_help(const char *name)
{
	size_t i;

	for (i = 0; name && i < SFS_COUNT(commands); i++)
		if (strcmp(commands[i]->name, name) == 0)
			return sfs_command_help(commands[i]);
	if (name)
		return refuse(name);
	print_help();
	return 0;
}

static int main_run(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;
	size_t i;

	if (name && strcmp(name, "help") == 0)
		return run_help(argc > 2 ? argv[2] : NULL);
	if (!name)
		return refuse(NULL);
	for (i = 0; i < SFS_COUNT(commands); i++)
		if (strcmp(commands[i]->name, name) == 0)
			return run_command(commands[i], argc - 1, argv + 1);
	if (strcmp(name, "--help") == 0)
		print_help();
	else if (strcmp(name, "--version") == 0)
		print_version();
	else
		return refuse(name);
	return 0;
}

int main(int argc, char **argv)
{
	struct sfs_error err;
	int status;

	if (sfs_stack_ensure(&err) < 0) {
		sfs_error("%s", err.text);
		return 1;
	}
	status = main_run(argc, argv);
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	sfs_error("cannot write: %s", strerror(errno));
	return status == 0 ? 1 : status;
}
