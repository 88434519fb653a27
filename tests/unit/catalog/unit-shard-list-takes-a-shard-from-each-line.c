/* SPDX-License-Identifier: MIT */
/* Each line of a list is a shard, without the blanks at its ends; blank lines and
 * comments are none.  Nothing beyond the last byte is read. */
#include "base/alloc.h"
#include "base/strbuf.h"
#include "catalog/shard-list.h"
#include "check.h"

#include <errno.h>

/* Each as "LINE<NUMBER ". */
static void gives(const char *text, size_t n, const char *wanted)
{
	char *copy = malloc(n ? n : 1), *line; /* of just that size, for sanitizers */
	struct sfs_strbuf got = {0};
	struct sfs_shard_list list;
	struct sfs_error err = {0};
	int ret;

	memcpy(copy, text, n);
	sfs_shard_list_init(&list, copy, n);
	while ((ret = sfs_shard_list_next(&list, &line, &err)) > 0) {
		sfs_strbuf_printf(&got, "%s<%u ", line, list.n_lines);
		free(line);
	}
	if (ret < 0)
		sfs_strbuf_printf(&got, "%d %s", ret, err.text);
	CHECK_STR(got.s ? got.s : "", wanted);
	sfs_strbuf_done(&got);
	free(copy);
}

#define GIVES(text, wanted) gives(text, sizeof text - 1, wanted)

static void takes_lines(void)
{
	GIVES("", "");
	GIVES("\n\n", "");
	GIVES("a.tar", "a.tar<1 ");
	GIVES("a.tar\nb.tar\n", "a.tar<1 b.tar<2 ");
	GIVES("a.tar\r\n\r\nb.tar\r\n", "a.tar<1 b.tar<3 ");
	GIVES(" \t a.tar \t\r\n\tb c.tar", "a.tar<1 b c.tar<2 ");
	GIVES("# one\n  # two\na#3.tar\n#", "a#3.tar<3 ");
	GIVES("\xef\xbb\xbf"
	      "a.tar\n",
	      "a.tar<1 ");
	GIVES("\xef\xbb\xbf", "");
	GIVES("a\n\xef\xbb\xbf"
	      "b\n",
	      "a<1 \xef\xbb\xbf"
	      "b<2 ");
	GIVES("{0..9}*?::@x -\n", "{0..9}*?::@x -<1 ");
	GIVES("https://h/a b.tar?s=1#2\n", "https://h/a b.tar?s=1#2<1 ");
}

static void refuses_what_is_no_text(void)
{
	char wanted[100];

	snprintf(wanted, sizeof wanted,
		 "a.tar<1 %d line 2 has a NUL in it: this is not a list of shards",
		 -EBADMSG);
	GIVES("a.tar\nb\0c\nd\n", wanted);
}

static void takes_a_hundred_thousand(void)
{
	struct sfs_strbuf text = {0};
	struct sfs_shard_list list;
	char *line, wanted[32];
	unsigned i, n = 0;

	for (i = 0; i < 100000; i++)
		sfs_strbuf_printf(&text, "train-%06u.tar\n", i);
	sfs_shard_list_init(&list, text.s, text.n);
	while (sfs_shard_list_next(&list, &line, NULL) > 0) {
		snprintf(wanted, sizeof wanted, "train-%06u.tar", n++);
		CHECK_STR(line, wanted);
		free(line);
	}
	CHECK_EQ(n, 100000);
	CHECK_EQ(list.n_lines, 100000);
	sfs_strbuf_done(&text);
}

int main(void)
{
	takes_lines();
	refuses_what_is_no_text();
	takes_a_hundred_thousand();
	return 0;
}
