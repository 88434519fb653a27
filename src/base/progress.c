/* SPDX-License-Identifier: MIT */
#include "base/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define BAR_WIDTH   24
#define MAX_COLUMNS 200
#define TAKE_AWAY   "\r\033[K"

void sfs_progress_init(struct sfs_progress *p, int fd)
{
	*p = (struct sfs_progress){.fd = fd, .is_shown = isatty(fd)};
}

/* How much of a line has room: a longer one would go on in the next, which \r does not
 * come back from. */
static size_t n_columns(int fd)
{
	struct winsize size;

	if (ioctl(fd, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
		return 79;
	return size.ws_col <= MAX_COLUMNS ? size.ws_col - 1U : MAX_COLUMNS;
}

static size_t draw_bar(double done, char *to)
{
	int full = (int)(BAR_WIDTH * (done < 1 ? done : 1)), i;

	if (done < 0)
		return 0;
	to[0] = '[';
	for (i = 0; i < BAR_WIDTH; i++)
		to[1 + i] = i < full ? '#' : '.';
	memcpy(to + 1 + BAR_WIDTH, "] ", 2);
	return BAR_WIDTH + 3;
}

/* A terminal that takes nothing misses a line, and no more. */
static void put(const struct sfs_progress *p, const char *bytes, size_t n)
{
	ssize_t n_written = write(p->fd, bytes, n);

	(void)n_written;
}

void sfs_progress_show(const struct sfs_progress *p, double done, const char *format, ...)
{
	char line[1 + MAX_COLUMNS + sizeof TAKE_AWAY] = "\r";
	size_t room, n = 1;
	va_list args;

	if (!p->is_shown)
		return;
	room = n_columns(p->fd);
	n += draw_bar(done, line + n);
	va_start(args, format);
	vsnprintf(line + n, MAX_COLUMNS + 2 - n, format, args);
	va_end(args);
	n = strlen(line);
	n = n <= 1 + room ? n : 1 + room;
	memcpy(line + n, "\033[K", 3);
	put(p, line, n + 3);
}

void sfs_progress_clear(const struct sfs_progress *p)
{
	if (p->is_shown)
		put(p, TAKE_AWAY, strlen(TAKE_AWAY));
}
