/* SPDX-License-Identifier: MIT */
/* Progress is one line that is written over, never longer than the terminal is wide; and
 * nothing at all where there is no terminal. */
#include "base/progress.h"
#include "check.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static char got[1000];

/* What the other end of the terminal or pipe has got by now. */
static const char *taken(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	ssize_t n = poll(&p, 1, 0) > 0 ? read(fd, got, sizeof got - 1) : 0;

	got[n > 0 ? n : 0] = 0;
	return got;
}

int main(void)
{
	struct winsize size = {.ws_row = 24, .ws_col = 40};
	struct sfs_progress p;
	struct termios raw;
	int pipes[2], ours, theirs;

	CHECK(pipe(pipes) == 0);
	sfs_progress_init(&p, pipes[1]);
	sfs_progress_show(&p, 0.5, "half");
	sfs_progress_clear(&p);
	CHECK_STR(taken(pipes[0]), "");

	ours = posix_openpt(O_RDWR | O_NOCTTY);
	if (ours < 0 || grantpt(ours) < 0 || unlockpt(ours) < 0)
		return 77;
	theirs = open(ptsname(ours), O_RDWR | O_NOCTTY);
	if (theirs < 0)
		return 77;
	tcgetattr(theirs, &raw);
	cfmakeraw(&raw);
	tcsetattr(theirs, TCSANOW, &raw);
	CHECK(ioctl(theirs, TIOCSWINSZ, &size) == 0);
	sfs_progress_init(&p, theirs);
	sfs_progress_show(&p, 0.5, "half of %d", 8);
	CHECK_STR(taken(ours), "\r[############............] half of 8\033[K");
	sfs_progress_show(&p, 7, "too much");
	CHECK_STR(taken(ours), "\r[########################] too much\033[K");
	sfs_progress_show(&p, -1, "no bar");
	CHECK_STR(taken(ours), "\rno bar\033[K");
	sfs_progress_show(&p, 0, "%0500d", 1);
	CHECK_STR(taken(ours), "\r[........................] 000000000000\033[K");
	size.ws_col = 1000;
	CHECK(ioctl(theirs, TIOCSWINSZ, &size) == 0);
	sfs_progress_show(&p, -1, "%0500d", 1);
	CHECK_EQ(strlen(taken(ours)), 1 + 200 + 3);
	sfs_progress_clear(&p);
	CHECK_STR(taken(ours), "\r\033[K");
	return 0;
}
