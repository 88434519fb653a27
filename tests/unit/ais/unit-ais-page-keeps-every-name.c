/* SPDX-License-Identifier: MIT */
/* Pages as AIStore writes them: a size is a string, and left out when it is 0. */
#include "base/alloc.h"
#include "check.h"
#include "source/ais/ais-page.h"

#include <errno.h>

static const struct sfs_ais_props props = {.has_versions = true, .has_checksums = true};
static struct sfs_listing page;

static void read_page(const char *text)
{
	struct sfs_error err = {0};

	sfs_listing_done(&page);
	if (sfs_ais_page_read(text, strlen(text), &props, &page, &err) < 0)
		fprintf(stderr, "%s\n", err.text);
	CHECK(!err.text[0]);
}

static void refused(const char *text, const char *why)
{
	struct sfs_listing untouched = {.n = 7};
	struct sfs_error err = {0};

	CHECK_EQ(sfs_ais_page_read(text, strlen(text), &props, &untouched, &err),
		 -EBADMSG);
	CHECK_HAS(err.text, why);
	CHECK_EQ(untouched.n, 7);
}

int main(void)
{
	struct sfs_strbuf body = {0};

	read_page("{\"uuid\":\"u\",\"continuation_token\":\"b/\\u00e9.tar\",\"entries\":["
		  "{\"name\":\"a b+%.tar\",\"size\":\"9007199254740993\",\"checksum\":"
		  "\"ab12\",\"version\":\"3\",\"flags\":64},"
		  "{\"name\":\"b/\\u00e9.tar\",\"flags\":64,\"custom\":{\"x\":[1]}}],"
		  "\"flags\":0}");
	CHECK_EQ(page.n, 2);
	CHECK_STR(page.items[0].key, "a b+%.tar");
	CHECK_EQ(page.items[0].size, 9007199254740993);
	CHECK_STR(page.items[0].tag, "\"3-ab12\"");
	CHECK_STR(page.items[1].key, "b/é.tar");
	CHECK_EQ(page.items[1].size, 0);
	CHECK(!page.items[1].tag);
	CHECK_STR(page.next, "b/é.tar");

	read_page("{\"entries\":null,\"continuation_token\":\"\"}");
	CHECK_EQ(page.n, 0);
	CHECK(!page.next);
	sfs_listing_done(&page);

	refused("", "line 1");
	refused("<html/>", "line 1");
	refused("[]", "it is not an object");
	refused("{}", "no 'entries'");
	refused("{\"entries\":{}}", "not an array");
	refused("{\"entries\":[1]}", "not an object");
	refused("{\"entries\":[{\"size\":\"1\"}]}", "without its name");
	refused("{\"entries\":[{\"name\":\"a\",\"size\":\"-1\"}]}", "not a number");
	refused("{\"entries\":[{\"name\":\"a\",\"size\":\"99999999999999999999\"}]}",
		"not a number");
	refused("{\"entries\":[{\"name\":\"a\\u0000b\"}]}", "a NUL");
	refused("{\"entries\":[{\"name\":\"a\"}]", "line 1");
	refused("{\"entries\":[]} x", "line 1");

	sfs_ais_page_ask(&body, "a\"b/", "t");
	CHECK_HAS(body.s, "\"action\"");
	CHECK_HAS(body.s, "a\\\"b/");
	CHECK_HAS(body.s, "\"continuation_token\"");
	CHECK_HAS(body.s, "1000");
	sfs_strbuf_done(&body);
	return 0;
}
