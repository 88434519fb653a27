/* SPDX-License-Identifier: MIT */
#include "base/alloc.h"
#include "check.h"
#include "source/http/listing.h"

#include <errno.h>

/* Pages of two keys each; it fails `n_failures` times first. */
static const char *const keys[] = {"b/2.tar", "b/1.tar", "a.tar", "b/x.txt", "b/c/3.tar"};
static int n_failures, n_asked;
static enum sfs_renewal again;
static bool is_stuck;

static int get(void *ctx, const struct sfs_listing_ask *ask, struct sfs_listing *ret,
	       enum sfs_renewal *ret_again, struct sfs_error *err)
{
	size_t first = ask->token ? (size_t)atoi(ask->token) : 0, i;

	CHECK_STR(ask->bucket, "b");

	n_asked++;
	if (n_failures > 0) {
		n_failures--;
		*ret_again = again;
		return sfs_error_set(err, -EIO, "broken");
	}
	for (i = first; i < first + 2 && i < SFS_COUNT(keys); i++) {
		struct sfs_listing_item item = {.key = sfs_strdup(keys[i]), .size = i};

		sfs_listing_add(ret, &item);
	}
	if (i < SFS_COUNT(keys))
		ret->next = sfs_asprintf("%zu", is_stuck ? 2 : i);
	return 0;
}

static int list(const char *pattern, int n_retries, struct sfs_listing *ret,
		struct sfs_error *err)
{
	sfs_autofree char *url = sfs_asprintf("x://b/%s", pattern);
	const struct sfs_uri uri = {.location = url, .origin = (char *)"x://b"};

	return sfs_listing_read(&uri, n_retries, get, NULL, ret, err);
}

/* The keys that are meant, with bars between them. */
static void lists(const char *pattern, const char *wanted)
{
	struct sfs_listing listing = {0};
	struct sfs_strbuf all = {0};
	struct sfs_error err = {0};
	size_t i;

	CHECK_EQ(list(pattern, 2, &listing, &err), 0);
	for (i = 0; i < listing.n; i++)
		sfs_strbuf_printf(&all, "%s%s", i ? "|" : "", listing.items[i].key);
	CHECK_STR(all.s, wanted);
	sfs_strbuf_done(&all);
	sfs_listing_done(&listing);
}

static void fails(const char *pattern, int code, const char *why)
{
	struct sfs_listing listing = {0};
	struct sfs_error err = {0};

	CHECK_EQ(list(pattern, 0, &listing, &err), code);
	CHECK_HAS(err.text, why);
	CHECK(!listing.items);
}

int main(void)
{
	lists("", "a.tar|b/1.tar|b/2.tar|b/c/3.tar");
	lists("b/*.tar", "b/1.tar|b/2.tar");
	lists("?/?.t*", "b/1.tar|b/2.tar|b/x.txt");
	lists("*/[13].tar", "b/1.tar");
	lists("b/**", "b/1.tar|b/2.tar|b/c/3.tar");
	fails("a.tar", -ENOTDIR, "");
	CHECK_EQ(n_asked, 5 * 3);
	fails("b/*.zip", -ENOENT,
	      "no object matches x://b/b/*.zip, only 5 other objects");

	/* A page that fails is asked for again, if that is of use. */
	n_failures = 3;
	again = SFS_RENEWAL_NOW;
	lists("a*", "a.tar");
	n_failures = 1;
	n_asked = 0;
	again = SFS_RENEWAL_NO;
	fails("", -EIO, "cannot list x://b/: broken");
	CHECK_EQ(n_asked, 1);
	n_failures = 100;
	n_asked = 0;
	again = SFS_RENEWAL_NOW;
	fails("", -EIO, "broken");
	CHECK_EQ(n_asked, 8);
	n_failures = 0;
	is_stuck = true;
	fails("", -EBADMSG, "the same page");
	return 0;
}
