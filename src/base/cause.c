/* SPDX-License-Identifier: MIT */
#include "base/cause.h"

#include "base/clock.h"
#include "base/ledger.h"

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

void sfs_cause_note(const struct sfs_cause *cause, uint64_t limit_ns, const char *then)
{
	sfs_ledger_add(SFS_EVENT_LOST, cause->shard ? cause->shard : "(no shard)",
		       cause->offset, then,
		       "timed out after %.4g s (read-timeout) waiting for %s",
		       (double)limit_ns / SFS_NS_PER_S,
		       cause->text[0] ? cause->text
				      : "a thread of this process, which is busy or "
					"stopped");
}
