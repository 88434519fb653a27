/* SPDX-License-Identifier: MIT */
/* How this works: a line is built in a local buffer and leaves in one write,
 * so lines of several threads never mix.  Control characters become '?': names
 * from tars and servers are data, and a log is read in a terminal. */
#include "base/log.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

static _Atomic int max_level = SFS_LOG_WARNING;
static atomic_bool to_syslog;

void sfs_log_set_level(enum sfs_log_level level)
{
	max_level = (int)level;
}

void sfs_log_use_syslog(void)
{
	openlog("shufflefs", LOG_PID, LOG_DAEMON);
	to_syslog = true;
}

void sfs_log(enum sfs_log_level level, const char *format, ...)
{
	static const int priority[] = {LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG};
	char line[2048] = "shufflefs: ";
	const size_t head = strlen(line);
	va_list args;
	size_t n, i;

	if ((int)level > max_level)
		return;
	va_start(args, format);
	vsnprintf(line + head, sizeof line - head - 1, format, args);
	va_end(args);
	n = strlen(line);
	for (i = head; i < n; i++)
		if (iscntrl((unsigned char)line[i]))
			line[i] = '?';
	if (to_syslog) {
		syslog(priority[level], "%s", line + head);
		return;
	}
	line[n++] = '\n';
	if (write(STDERR_FILENO, line, n) < 0)
		return; /* there is nowhere to report this */
}
