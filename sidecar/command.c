/* SPDX-License-Identifier: MIT */
#include "command.h"

#include "base/log.h"

#include <errno.h>
#include <stdlib.h>

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
