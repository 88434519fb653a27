/* SPDX-License-Identifier: MIT */
/* The ledger keeps the newest 10,000 lines, or 4 MiB of them, counts all, and every line
 * is JSON; it tells why a command has failed. */
#include "base/alloc.h"
#include "base/ledger.h"
#include "base/threadpool.h"
#include "check.h"

#include <errno.h>
#include <string.h>

#define KEPT 10000

static size_t count_lines(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += *s == '\n';
	return n;
}

static void one_of_each(void)
{
	struct sfs_strbuf t = {0};

	sfs_ledger_print(&t);
	CHECK_EQ(t.n, 0);
	sfs_ledger_add(SFS_EVENT_RETRY, "train-000123.tar", 73400320,
		       "retry 2 of 5 in 400 ms", "HTTP %d", 503);
	sfs_ledger_add(SFS_EVENT_LOST, "a\"b\n.tar", SFS_NO_OFFSET, "", "%s",
		       "no \xff such");
	sfs_ledger_print(&t);
	CHECK_EQ(count_lines(t.s), 2);
	CHECK(strncmp(t.s, "{\"time\":\"20", 11) == 0);
	CHECK_HAS(t.s, "\"event\":\"retry\",\"shard\":\"train-000123.tar\","
		       "\"offset\":73400320,\"cause\":\"HTTP 503\","
		       "\"then\":\"retry 2 of 5 in 400 ms\"}\n{");
	CHECK_HAS(t.s, "\"event\":\"lost\",\"shard\":\"a\\\"b\\u000a.tar\","
		       "\"cause\":\"no \xef\xbf\xbd such\"}\n");
	CHECK_EQ(sfs_ledger_count(SFS_EVENT_RETRY), 1);
	CHECK_EQ(sfs_ledger_count(SFS_EVENT_LOST), 1);
	CHECK_EQ(sfs_ledger_count(SFS_EVENT_SKIP), 0);
	sfs_strbuf_done(&t);

	sfs_ledger_clear();
	sfs_ledger_print(&t);
	CHECK_EQ(t.n, 0);
	CHECK_EQ(sfs_ledger_count(SFS_EVENT_RETRY), 0);
	sfs_strbuf_done(&t);
}

static size_t n_kept(void)
{
	struct sfs_strbuf t = {0};
	size_t n;

	sfs_ledger_print(&t);
	n = t.n > 0 ? count_lines(t.s) : 0;
	sfs_strbuf_done(&t);
	return n;
}

static void refuse(const char *name, const char *why)
{
	sfs_ledger_add(SFS_EVENT_REFUSED, name, SFS_NO_OFFSET, "", "%s", why);
}

/* What is looked up again and again is refused again and again. */
static void one_line_for_each_refused_name(void)
{
	int i;

	for (i = 0; i < 100; i++) {
		refuse("epochs/0/rank-0-of-7.tar", "7 does not divide 16");
		refuse("epochs/1/rank-0-of-7.tar", "7 does not divide 16");
		refuse("epochs/0/rank-0-of-7.tar", "there are too many names");
	}
	CHECK_EQ(n_kept(), 3);
	CHECK_EQ(sfs_ledger_count(SFS_EVENT_REFUSED), 300);
	/* What was lost twice has two lines. */
	for (i = 0; i < 2; i++)
		sfs_ledger_add(SFS_EVENT_LOST, "a.tar", 512, "", "gone");
	CHECK_EQ(n_kept(), 5);
	/* When the line has gone, there is another one. */
	for (i = 0; i < KEPT; i++)
		sfs_ledger_add(SFS_EVENT_RETRY, "a.tar", 512, "", "HTTP 503");
	CHECK_EQ(n_kept(), KEPT + 1);
	refuse("epochs/0/rank-0-of-7.tar", "7 does not divide 16");
	refuse("epochs/0/rank-0-of-7.tar", "7 does not divide 16");
	{
		struct sfs_strbuf t = {0};

		sfs_ledger_print(&t);
		CHECK(strstr(t.s, "rank-0-of-7") &&
		      !strstr(strstr(t.s, "rank-0-of-7") + 1, "rank-0-of-7"));
		sfs_strbuf_done(&t);
	}
	sfs_ledger_clear();
	refuse("epochs/0/rank-0-of-7.tar", "7 does not divide 16");
	CHECK_EQ(n_kept(), 1);
	sfs_ledger_clear();
}

/* Causes come from servers and files: they may be long, but not break a line. */
static void long_cause(void)
{
	static char cause[5000];
	struct sfs_strbuf t = {0};

	memset(cause, '"', sizeof cause - 1);
	sfs_ledger_add(SFS_EVENT_SKIP, cause, 0, cause, "%s", cause);
	sfs_ledger_print(&t);
	CHECK_EQ(count_lines(t.s), 1);
	CHECK_HAS(t.s, "\"offset\":0,");
	sfs_strbuf_done(&t);
	sfs_ledger_clear();
}

static void newest(void)
{
	struct sfs_strbuf t = {0};
	int i;

	for (i = 0; i < KEPT; i++)
		sfs_ledger_add(SFS_EVENT_SKIP, "s.tar", (uint64_t)i, "", "x");
	sfs_ledger_print(&t);
	CHECK_EQ(count_lines(t.s), KEPT);
	CHECK(strstr(t.s, "dropped") == NULL);
	CHECK_HAS(t.s, "\"offset\":0,");
	sfs_strbuf_done(&t);

	for (i = KEPT; i < KEPT + 123; i++)
		sfs_ledger_add(SFS_EVENT_SKIP, "s.tar", (uint64_t)i, "", "x");
	sfs_ledger_print(&t);
	CHECK_EQ(count_lines(t.s), 1 + KEPT);
	CHECK(strncmp(t.s, "{\"event\":\"dropped\",\"lines\":123}\n", 32) == 0);
	CHECK(strstr(t.s, "\"offset\":122,") == NULL);
	CHECK_HAS(t.s, "\"offset\":123,");
	CHECK(strstr(t.s, "\"offset\":10122,") > strstr(t.s, "\"offset\":10121,"));
	CHECK_EQ(sfs_ledger_count(SFS_EVENT_SKIP), KEPT + 123);
	sfs_strbuf_done(&t);
	sfs_ledger_clear();
}

/* The view is as it was, in pieces of any size, as long as its lines are kept. */
static void viewed(void)
{
	struct sfs_strbuf t = {0}, more = {0};
	struct sfs_ledger_view view;
	char piece[700];
	uint64_t at;
	size_t n, sizes[] = {1, 7, 64, 699};
	int i, k;

	view = sfs_ledger_look();
	CHECK_EQ(view.n_bytes, 0);
	for (i = 0; i < KEPT + 50; i++)
		sfs_ledger_add(SFS_EVENT_SKIP, "s.tar", (uint64_t)i, "", "x%d", i % 7);
	sfs_ledger_print(&t);
	view = sfs_ledger_look();
	CHECK_EQ(view.n_bytes, t.n);
	sfs_ledger_add(SFS_EVENT_SKIP, "s.tar", 1, "", "one more: the first one goes");
	for (k = 0; k < 4; k++)
		for (at = view.n_head + strlen(strchr(t.s, '\n') + 1) -
			  strlen(strchr(strchr(t.s, '\n') + 1, '\n') + 1);
		     at < t.n && (k > 0 || at < 3000); at += n) {
			n = t.n - at < sizes[k] ? t.n - at : sizes[k];
			CHECK_EQ(sfs_ledger_read(&view, at, piece, n), 0);
			CHECK(memcmp(piece, t.s + at, n) == 0);
		}
	CHECK_EQ(sfs_ledger_read(&view, 0, piece, 10), 0); /* that some are missing */
	CHECK(memcmp(piece, t.s, 10) == 0);
	CHECK_EQ(sfs_ledger_read(&view, 0, piece, 100), -ESTALE);
	view = sfs_ledger_look();
	CHECK_EQ(sfs_ledger_read(&view, 0, piece, 100), 0);
	sfs_ledger_print(&more);
	CHECK(memcmp(piece, more.s, 100) == 0);
	sfs_strbuf_done(&t);
	sfs_strbuf_done(&more);
	sfs_ledger_clear();
}

/* However long the lines, they have 4 MiB together. */
static void bounded(void)
{
	static char name[20000];
	struct sfs_strbuf t = {0};
	int i;

	memset(name, 'n', sizeof name - 1);
	for (i = 0; i < 1000; i++)
		sfs_ledger_add(SFS_EVENT_SKIP, name, (uint64_t)i, "", "x");
	CHECK(sfs_ledger_look().n_bytes <= (4 << 20) + 100);
	CHECK(sfs_ledger_look().n_bytes > (4 << 20) - 25000);
	sfs_ledger_print(&t);
	CHECK_HAS(t.s, "\"offset\":999,");
	CHECK(strncmp(t.s, "{\"event\":\"dropped\",\"lines\":7", 28) == 0);
	sfs_strbuf_done(&t);
	sfs_ledger_clear();
}

static void *add_many(void *arg)
{
	int i;

	for (i = 0; i < 500; i++)
		sfs_ledger_add(SFS_EVENT_HIDDEN, arg, (uint64_t)i, "", "x");
	return NULL;
}

static void many_threads(void)
{
	static char name[] = "s.tar";
	struct sfs_strbuf t = {0};
	pthread_t threads[4];
	size_t i;

	for (i = 0; i < SFS_COUNT(threads); i++)
		threads[i] = sfs_thread_start("adds", add_many, name);
	sfs_ledger_print(&t);
	sfs_strbuf_done(&t);
	for (i = 0; i < SFS_COUNT(threads); i++)
		pthread_join(threads[i], NULL);
	sfs_ledger_print(&t);
	CHECK_EQ(count_lines(t.s), 2000);
	CHECK_EQ(sfs_ledger_count(SFS_EVENT_HIDDEN), 2000);
	sfs_strbuf_done(&t);
	sfs_ledger_clear();
}

static const char *why(const char *path, int err)
{
	static struct sfs_error error;

	sfs_ledger_why(path, err, &error);
	return error.text;
}

/* A command that fails says the cause: of the newest shard that failed, at its first
 * byte; of a wrong path only what was said of that path. */
static void causes(void)
{
	CHECK_STR(why("epochs/0.tar", -EIO), strerror(EIO));
	sfs_ledger_keep_errors();
	sfs_ledger_add(SFS_EVENT_LOST, "a.tar", 512, "streams get EIO there; skip helps",
		       "bad");
	CHECK_STR(why("epochs/0.tar", -EIO), "a.tar @ 512: bad; skip helps");
	sfs_ledger_add(SFS_EVENT_LOST, "b.tar", 1024, "", "HTTP 404");
	sfs_ledger_add(SFS_EVENT_CHANGED, "b.tar", 0, "readers get ESTALE",
		       "its size was 3");
	sfs_ledger_add(SFS_EVENT_LOST, "b.tar", 2048, "", "HTTP 404");
	sfs_ledger_add(SFS_EVENT_RETRY, "a.tar", 0, "retry 1", "HTTP 503");
	CHECK_STR(why("epochs/0.tar", -EIO), "b.tar @ 0: its size was 3");
	sfs_ledger_note(SFS_EVENT_LOST, "c.tar", SFS_NO_OFFSET, "streams get EIO",
			"/c.tar: gone");
	CHECK_STR(why("epochs/0.tar", -EIO), "c.tar: /c.tar: gone");
	CHECK_STR(why("shards/c.tar", -ENOENT), "/c.tar: gone");
	CHECK_STR(why("shards/d.tar", -ENOENT), strerror(ENOENT));
	sfs_ledger_add(SFS_EVENT_REFUSED, "(epochs)", SFS_NO_OFFSET, "wait", "too slow");
	CHECK_STR(why("epochs/0.tar", -ENODATA), "too slow; wait");
	CHECK_STR(why("epochs/x.tar", -ENOENT), strerror(ENOENT));
	sfs_ledger_clear();
	CHECK_STR(why("epochs/0.tar", -EIO), strerror(EIO));
}

int main(void)
{
	int i, j;

	sfs_log_set_level(SFS_LOG_ERROR);
	for (i = 0; i < SFS_N_EVENTS; i++)
		for (j = 0; j < i; j++)
			CHECK(strcmp(sfs_event_name((enum sfs_event)i),
				     sfs_event_name((enum sfs_event)j)) != 0);
	one_of_each();
	one_line_for_each_refused_name();
	long_cause();
	newest();
	viewed();
	bounded();
	many_threads();
	causes();
	return 0;
}
