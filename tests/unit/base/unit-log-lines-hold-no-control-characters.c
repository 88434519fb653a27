/* SPDX-License-Identifier: MIT */
/* A log line is one line without control characters, whatever a name holds. */
#include "base/log.h"
#include "check.h"

#include <ctype.h>
#include <unistd.h>

static int captured[2], terminal;

/* Lines of the log go to a pipe from here, */
static void capture(void)
{
	CHECK(pipe(captured) == 0);
	terminal = dup(STDERR_FILENO);
	CHECK(terminal >= 0 && dup2(captured[1], STDERR_FILENO) >= 0);
}

/* to here.  What was written is in *buf then. */
static void end_capture(char *buf, size_t size)
{
	ssize_t n;

	CHECK(dup2(terminal, STDERR_FILENO) >= 0);
	close(terminal);
	close(captured[1]);
	n = read(captured[0], buf, size - 1);
	CHECK(n >= 0);
	buf[n] = 0;
	close(captured[0]);
}

static void check_one_line(const char *line)
{
	size_t n = strlen(line), i;

	CHECK(n > 0 && line[n - 1] == '\n');
	CHECK(strncmp(line, "shufflefs: ", 11) == 0);
	for (i = 0; i + 1 < n; i++)
		CHECK(!iscntrl((unsigned char)line[i]));
}

static void control_characters(void)
{
	char got[4096], name[256];
	int i;

	for (i = 0; i < 255; i++)
		name[i] = (char)(i + 1);
	name[255] = 0;
	capture();
	sfs_error("%s", name);
	end_capture(got, sizeof got);
	check_one_line(got);
	CHECK_EQ(strlen(got), 11 + 255 + 1);
	CHECK_EQ(strspn(got + 11, "?"), 31);
	CHECK(strncmp(got + 11 + 31, " !\"#", 4) == 0);

	capture();
	sfs_warning("%s: gone\n[2J\x1b[31m", "t\xc3\xbcr.tar");
	end_capture(got, sizeof got);
	CHECK_STR(got, "shufflefs: t\xc3\xbcr.tar: gone?[2J?[31m\n");
}

static void long_lines(void)
{
	static char name[10000], got[20000];

	memset(name, 'n', sizeof name - 1);
	capture();
	sfs_error("%s", name);
	end_capture(got, sizeof got);
	check_one_line(got);
	CHECK(strlen(got) > 1000);
}

static void levels(void)
{
	char got[4096];

	capture();
	sfs_info("not at first");
	sfs_debug("nor this");
	sfs_log_set_level(SFS_LOG_ERROR);
	sfs_warning("nor this");
	sfs_error("%s", "one");
	sfs_log_set_level(SFS_LOG_DEBUG);
	sfs_debug("%s", "two");
	sfs_info("%s", "");
	end_capture(got, sizeof got);
	CHECK_STR(got, "shufflefs: one\nshufflefs: two\nshufflefs: \n");
	sfs_log_set_level(SFS_LOG_WARNING);
}

/* A terminal that has gone must not end the process. */
static void nobody_listens(void)
{
	int saved = dup(STDERR_FILENO);

	close(STDERR_FILENO);
	sfs_error("into the void");
	CHECK(dup2(saved, STDERR_FILENO) >= 0);
	close(saved);
}

int main(void)
{
	control_characters();
	long_lines();
	levels();
	nobody_listens();
	return 0;
}
