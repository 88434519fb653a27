/* SPDX-License-Identifier: MIT */
/* Which folders are asked for a pattern, and what is taken from their pages. */
#include "base/alloc.h"
#include "check.h"
#include "source/webhdfs/webhdfs-walk.h"

#include <errno.h>

static struct sfs_webhdfs_walk walk;
static struct sfs_listing got;

/* Names, with a '/' at the end of folders; `n_left` are on other pages. */
static int take(const char *const *names, uint64_t n_left)
{
	struct sfs_webhdfs_status items[4];
	struct sfs_webhdfs_page page = {.items = items, .n_left = n_left};
	struct sfs_error err = {0};
	int ret;

	for (; *names; names++) {
		size_t n = strlen(*names);
		bool is_folder = n > 0 && (*names)[n - 1] == '/';

		items[page.n++] =
			(struct sfs_webhdfs_status){.name = sfs_strndup(*names,
									n - is_folder),
						    .is_folder = is_folder,
						    .is_file = !is_folder,
						    .length = 7,
						    .mtime_ms = 5999,
						    .id = 3};
	}
	sfs_listing_done(&got);
	ret = sfs_webhdfs_walk_take(&walk, &page, &got, &err);
	CHECK((ret < 0) == (err.text[0] != 0));
	while (page.n > 0)
		free(items[--page.n].name);
	return ret;
}

#define TAKE(n_left, ...) take((const char *const[]){__VA_ARGS__, NULL}, n_left)

static void begin(const char *pattern)
{
	sfs_webhdfs_walk_done(&walk);
	sfs_webhdfs_walk_init(&walk, pattern);
}

int main(void)
{
	begin("a/b/");
	CHECK_STR(sfs_webhdfs_walk_folder(&walk), "a/b/");
	CHECK_EQ(TAKE(2, "c/", "x.tar"), 0);
	CHECK_EQ(got.n, 1);
	CHECK_STR(got.items[0].key, "a/b/x.tar");
	CHECK_STR(got.items[0].tag, "\"3-5999-7\"");
	CHECK_EQ(got.items[0].size, 7);
	CHECK_EQ(got.items[0].mtime_s, 5);
	CHECK(got.next);
	CHECK_STR(walk.after, "x.tar");
	CHECK_EQ(TAKE(1, "x.tar"), -EBADMSG);
	CHECK_EQ(TAKE(0, "y.tar", "z/"), 0);
	CHECK(got.next && !walk.after);
	CHECK_STR(sfs_webhdfs_walk_folder(&walk), "a/b/c/");
	CHECK_EQ(TAKE(0, "d.tar"), 0);
	CHECK_STR(sfs_webhdfs_walk_folder(&walk), "a/b/z/");
	CHECK_EQ(take((const char *const[]){NULL}, 0), 0);
	CHECK(!got.next);

	begin("");
	CHECK_STR(sfs_webhdfs_walk_folder(&walk), "");
	CHECK_EQ(TAKE(0, "c/"), 0);
	CHECK_STR(sfs_webhdfs_walk_folder(&walk), "c/");

	/* Only folders that the pattern may mean. */
	begin("set/y=*/m=1/x-*.tar");
	CHECK_STR(sfs_webhdfs_walk_folder(&walk), "set/");
	CHECK_EQ(TAKE(0, "y=1/", "z=1/", "y=2/"), 0);
	CHECK_STR(sfs_webhdfs_walk_folder(&walk), "set/y=1/");
	CHECK_EQ(TAKE(0, "m=1/", "m=2/"), 0);
	CHECK_STR(sfs_webhdfs_walk_folder(&walk), "set/y=2/");
	CHECK_EQ(TAKE(0, "m=2/"), 0);
	CHECK_STR(sfs_webhdfs_walk_folder(&walk), "set/y=1/m=1/");
	CHECK_EQ(TAKE(0, "x-1.tar", "below/"), 0);
	CHECK(!got.next);

	begin("a/**/x*.tar");
	CHECK_STR(sfs_webhdfs_walk_folder(&walk), "a/");
	CHECK_EQ(TAKE(0, "any/"), 0);
	CHECK_STR(sfs_webhdfs_walk_folder(&walk), "a/any/");
	CHECK_EQ(TAKE(0, "depth/"), 0);
	CHECK_STR(sfs_webhdfs_walk_folder(&walk), "a/any/depth/");

	/* It is a file. */
	begin("a/x.tar/");
	CHECK_EQ(TAKE(0, ""), -EINVAL);
	sfs_webhdfs_walk_done(&walk);
	sfs_listing_done(&got);
	return 0;
}
