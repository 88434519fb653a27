/* SPDX-License-Identifier: MIT */
/* Of several processes that begin to listen at one path at the same time, one does, also
 * where one has died there; the others are told, and no file of theirs is left. */
#include "check.h"
#include "ring/local-socket.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define N      12
#define ROUNDS 40

static char folder[] = "/tmp/unit-local-socket.XXXXXX";
static char path[64];

/* Begins when `start` closes, says how it went, and dies without closing when it may. */
static void child(int start, int said, int may_die)
{
	struct sfs_local_socket s;
	struct sfs_error err = {""};
	char byte;
	int ret;

	CHECK_EQ(read(start, &byte, 1), 0);
	ret = sfs_local_socket_open(path, 1, &s, &err);
	CHECK(ret == 0 || ret == -EADDRINUSE);
	CHECK_EQ(write(said, ret == 0 ? "+" : "-", 1), 1);
	CHECK_EQ(read(may_die, &byte, 1), 0);
	_exit(0);
}

static int run_round(void)
{
	int start[2], said[2], may_die[2], i, n = 0;
	pid_t pids[N];
	char byte;

	CHECK_EQ(pipe(start) | pipe(said) | pipe(may_die), 0);
	for (i = 0; i < N; i++) {
		pids[i] = fork();
		if (pids[i] > 0)
			continue;
		close(start[1]);
		close(may_die[1]);
		child(start[0], said[1], may_die[0]);
	}
	close(start[1]);
	for (i = 0; i < N; i++) {
		CHECK_EQ(read(said[0], &byte, 1), 1);
		n += byte == '+';
	}
	close(may_die[1]);
	for (i = 0; i < N; i++)
		waitpid(pids[i], NULL, 0);
	close(start[0]);
	close(said[0]);
	close(said[1]);
	close(may_die[0]);
	return n;
}

static int count_files(void)
{
	DIR *d = opendir(folder);
	int n = -2; /* . and .. */

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

int main(void)
{
	int i;

	CHECK(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/ring", folder);
	for (i = 0; i < ROUNDS; i++)
		CHECK_EQ(run_round(), 1);
	CHECK_EQ(count_files(), 1); /* of the one that died there last */
	unlink(path);
	rmdir(folder);
	return 0;
}
