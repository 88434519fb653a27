/* SPDX-License-Identifier: MIT */
#include "cause.h"

#include <stdarg.h>
#include <stdio.h>

void sfs_cause_set(struct sfs_cause *cause, const char *shard, uint64_t offset,
		   const char *format, ...)
{
	va_list args;

	cause->shard = shard;
	cause->offset = offset;
	va_start(args, format);
	vsnprintf(cause->text, sizeof cause->text, format, args);
	va_end(args);
}
