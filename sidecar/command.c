/* SPDX-License-Identifier: MIT */
#include "command.h"

#include "base/log.h"
#include "config/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_SIZE ((uint64_t)16 << 20)

int sfs_command_help(const struct sfs_command *command)
{
	printf("usage: shufflefs-sidecar %s %s\n%s\nSee the manual for details: "
	       "man shufflefs-sidecar\n",
	       command->name, command->usage, command->help);
	return 0;
}

void sfs_command_misused(const struct sfs_command *command)
{
	fprintf(stderr,
		"usage: shufflefs-sidecar %s %s"
		"Try 'shufflefs-sidecar %s --help' for more information.\n",
		command->name, command->usage, command->name);
}

bool sfs_command_number(const char *option, const char *text, uint64_t least,
			uint64_t most, uint64_t *ret)
{
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end || errno || n < least || n > most) {
		sfs_error("--%s: '%s' is not a number from %llu to %llu", option, text,
			  (unsigned long long)least, (unsigned long long)most);
		return false;
	}
	*ret = n;
	return true;
}

bool sfs_command_percent(const char *option, const char *text, uint32_t *ret)
{
	char *end;
	double n = strtod(text, &end);

	if (text[0] < '0' || text[0] > '9' || (*end && strcmp(end, "%") != 0) ||
	    !(n >= 0 && n <= 100)) {
		sfs_error("--%s: '%s' is not a percentage from 0 to 100", option, text);
		return false;
	}
	*ret = (uint32_t)(n * 10000 + 0.5);
	return true;
}

bool sfs_command_size(const char *option, const char *text, uint64_t *ret)
{
	if (sfs_options_parse_size(text, ret) == 0 && *ret >= LEAST_SIZE)
		return true;
	sfs_error("--%s: '%s' is not a size of at least 16M, such as 512M or 4G", option,
		  text);
	return false;
}
