/* SPDX-License-Identifier: MIT */
/* Memory is there or the process says so and ends; locals that own are freed, but for
 * what was given away. */
#include "base/alloc.h"
#include "check.h"

#include <stdint.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void gives(void)
{
	char *p = sfs_malloc(10);
	int *q, i;

	memset(p, 'x', 10);
	p = sfs_realloc(p, 100000);
	CHECK(memcmp(p, "xxxxxxxxxx", 10) == 0);
	memset(p, 'y', 100000);
	free(p);

	q = sfs_calloc(1000, sizeof *q);
	for (i = 0; i < 1000; i++)
		CHECK_EQ(q[i], 0);
	q[999] = 5;
	q = sfs_reallocarray(q, 2000, sizeof *q);
	CHECK_EQ(q[999], 5);
	free(q);
	free(sfs_reallocarray(NULL, 3, 4));

	/* Nothing is no failure, whatever the C library makes of it. */
	free(sfs_malloc(0));
	free(sfs_calloc(0, 8));
	free(sfs_calloc(8, 0));
	free(sfs_reallocarray(NULL, 0, 8));
}

static void makes_room(void)
{
	size_t n = 0;
	unsigned char *p = sfs_make_room(NULL, &n, 100, 2), *old;

	CHECK_EQ(n, 100);
	CHECK(p[0] == 0 && p[199] == 0);
	old = p;
	p = sfs_make_room(p, &n, 99, 2);
	CHECK(p == old && n == 100);
	p = sfs_make_room(p, &n, 50000, 2);
	CHECK(n == 50000 && p[99999] == 0);
	free(p);
}

static void strings(void)
{
	sfs_autofree char *a = sfs_strdup("abc"), *b = sfs_strndup("abcdef", 3);
	sfs_autofree char *c = sfs_strndup("ab", 100), *d = sfs_strndup("abc", 0);
	sfs_autofree char *e = sfs_asprintf("%s-%d-%5.1f", "x", -7, 2.25);
	sfs_autofree char *f = sfs_asprintf("%s", ""), *g = NULL;
	char unended[3] = {'a', 'b', 'c'};

	CHECK_STR(a, "abc");
	CHECK_STR(b, "abc");
	CHECK_STR(c, "ab");
	CHECK_STR(d, "");
	CHECK_STR(e, "x--7-  2.2");
	CHECK_STR(f, "");
	free(b);
	b = sfs_strndup(unended, 3); /* looks at no fourth byte */
	CHECK_STR(b, "abc");
	g = sfs_asprintf("%*s", 100000, "x");
	CHECK_EQ(strlen(g), 100000);
}

/* LeakSanitizer sees what is not freed, AddressSanitizer what is freed twice. */
static char *give_away(void)
{
	sfs_autofree char *kept = sfs_strdup("kept"), *given = sfs_strdup("given");
	sfs_autofree char *none = NULL;

	CHECK(steal(&none) == NULL);
	CHECK_STR(kept, "kept");
	return steal(&given);
}

static void ownership(void)
{
	struct {
		int before;
		char item;
	} outer = {0};
	char *s = give_away(), *t;

	CHECK_STR(s, "given");
	t = steal(&s);
	CHECK(!s);
	free(t);
	CHECK(sfs_container(&outer.item, __typeof__(outer), item) == &outer);
	CHECK_EQ(SFS_COUNT(((int[]){1, 2, 3})), 3);
}

static void ask_too_much(int how)
{
	volatile size_t much = SIZE_MAX / 2 - 100, two = 2;

	switch (how) {
	case 0: free(sfs_malloc(much)); break;
	case 1: free(sfs_calloc(much, 1)); break;
	case 2: free(sfs_calloc(much, two + 2)); break; /* more than size_t holds */
	case 3: free(sfs_realloc(NULL, much)); break;
	case 4: free(sfs_reallocarray(NULL, much, two + 2)); break;
	}
}

/* In a process of its own, whose words go to a pipe: an end with a message. */
static void ends(int how)
{
	char said[4096];
	int fds[2], status;
	ssize_t n;
	pid_t pid;

	CHECK_EQ(pipe(fds), 0);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		dup2(fds[1], STDERR_FILENO);
		close(fds[0]);
		close(fds[1]);
		setrlimit(RLIMIT_CORE, &(struct rlimit){0});
		ask_too_much(how);
		_exit(0);
	}
	close(fds[1]);
	n = read(fds[0], said, sizeof said);
	while (read(fds[0], said + 2048, 2048) > 0)
		;
	close(fds[0]);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(!WIFEXITED(status) || WEXITSTATUS(status) != 0);
	CHECK(n > 0);
	CHECK(n > 24 && memcmp(said, "shufflefs: out of memory", 24) == 0);
}

int main(void)
{
	int how = 0;

	(void)how;
	(void)ends;
	gives();
	makes_room();
	strings();
	ownership();
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	for (how = 0; how < 5; how++) /* (sanitizers count that as a finding) */
		ends(how);
#endif
	return 0;
}
