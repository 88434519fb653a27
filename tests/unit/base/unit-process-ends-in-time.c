/* SPDX-License-Identifier: MIT */
/* A program's output is read to its end; whatever a program does, it ends in time, with
 * all that it started; and its last words are the error. */
#include "base/clock.h"
#include "base/process.h"
#include "check.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

static struct sfs_strbuf text;
static struct sfs_error err;
static atomic_bool is_stopped;

static int run(const char *command, uint64_t limit_ms)
{
	sfs_strbuf_done(&text);
	sfs_strbuf_add(&text, "", 0);
	err.text[0] = 0;
	return sfs_process_run(command, "/", limit_ms, &is_stopped, &text, &err);
}

static void fails(int code, const char *command, uint64_t limit_ms, const char *words)
{
	CHECK_EQ(run(command, limit_ms), code);
	CHECK_HAS(err.text, words);
}

#define LONG_MS 600000

static void check_outputs(void)
{
	CHECK_EQ(run("echo token; echo noise >&2", LONG_MS), 0);
	CHECK_STR(text.s, "token\n");
	CHECK_EQ(run("pwd; cat", LONG_MS), 0); /* no standard input */
	CHECK_STR(text.s, "/\n");
	CHECK_EQ(run("exec >&- 2>&-", LONG_MS), 0);
	CHECK_STR(text.s, "");
	CHECK_EQ(run("printf 'a\\0b'", LONG_MS), 0);
	CHECK_EQ(text.n, 3);
	CHECK_EQ(run("head -c 65536 /dev/zero", LONG_MS), 0);
	CHECK_EQ(text.n, 65536);
	fails(-EMSGSIZE, "head -c 65537 /dev/zero", LONG_MS, "more than 64 KiB");
	/* Much on standard error blocks nothing. */
	CHECK_EQ(run("head -c 1000000 /dev/zero >&2; echo x", LONG_MS), 0);
	CHECK_STR(text.s, "x\n");
}

static void check_errors(void)
{
	fails(-EIO, "exit 3", LONG_MS, "exit status 3");
	CHECK_STR(err.text, "exit status 3");
	fails(-EIO, "echo one >&2; printf 'two\\tthree\\r\\n\\n' >&2; exit 1", LONG_MS,
	      "");
	CHECK_STR(err.text, "exit status 1: two three");
	fails(-EIO,
	      "head -c 5000 /dev/zero | tr '\\0' y >&2; echo >&2; echo end >&2; exit 1",
	      LONG_MS, "exit status 1: end");
	fails(-EIO, "kill -TERM $$", LONG_MS, "killed by signal 15");
	CHECK_EQ(sfs_process_run("echo", "/nowhere/at/all", LONG_MS, NULL, &text, &err),
		 -ENOENT);
}

static void check_time(void)
{
	uint64_t began_ns = sfs_clock_ns();

	fails(-ETIMEDOUT, "sleep 1000", 200, "within 1 s");
	fails(-ETIMEDOUT, "exec >&- 2>&-; exec sleep 1000", 200, "within 1 s");
	/* A child that keeps the output open. */
	fails(-ETIMEDOUT, "sleep 1000 & echo $! >&2", 200, "within 1 s");
	fails(-ETIMEDOUT, "trap '' TERM INT; while :; do sleep 1; done", 200, "within");
	is_stopped = true;
	fails(-ETIMEDOUT, "sleep 1000", LONG_MS, "within");
	is_stopped = false;
	CHECK(sfs_clock_ns() - began_ns < 500 * SFS_NS_PER_S);
}

/* What a mount ignores is not ignored by what it starts. */
static void check_signals(void)
{
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	fails(-EIO, "kill -HUP $$; echo no", LONG_MS, "killed by signal 1");
}

int main(void)
{
	check_outputs();
	check_errors();
	check_time();
	check_signals();
	sfs_strbuf_done(&text);
	return 0;
}
