/* SPDX-License-Identifier: MIT */
/* URLs of WebHDFS, their credentials, and the range that goes in and out of them. */
#include "base/alloc.h"
#include "check.h"
#include "source/webhdfs/webhdfs-url.h"

static void endpoint_is(const char *location, const char *want)
{
	sfs_autofree char *got = sfs_webhdfs_endpoint(location);

	if (want)
		CHECK_STR(got, want);
	else
		CHECK(!got);
}

static void read_is(const char *url, const char *want)
{
	struct sfs_strbuf got = {0};

	sfs_webhdfs_add_read(&got, url, 5, 10);
	CHECK_STR(got.s, want);
	sfs_strbuf_done(&got);
}

static void without_range(const char *url, const char *want)
{
	sfs_autofree char *got = sfs_strdup(url);

	sfs_webhdfs_drop_range(got);
	CHECK_STR(got, want);
	CHECK(!sfs_webhdfs_url_is_own(got));
}

static void url_is(const char *user, const char *token, const char *want)
{
	sfs_autofree char *got =
		sfs_webhdfs_url("http://nn:9870", "a b+%/é?.tar", user, token);

	CHECK_STR(got, want);
	CHECK(sfs_webhdfs_url_is_own(got));
}

#define PATH "http://nn:9870/webhdfs/v1/a%20b%2B%25/%C3%A9%3F.tar?"

int main(void)
{
	endpoint_is("webhdfs://nn:9870/x", "http://nn:9870");
	endpoint_is("swebhdfs://nn:9871/x", "https://nn:9871");
	endpoint_is("webhdfs://[::1]:50070/x", "http://[::1]:50070");
	endpoint_is("hdfs://nn:8020/x", "http://nn:9870");
	endpoint_is("hdfs://[::1]:8020/x", "http://[::1]:9870");
	endpoint_is("hdfs:///x", NULL);

	url_is("al ice&x", NULL, PATH "user.name=al%20ice%26x&");
	url_is("alice", "T-_1", PATH "delegation=T-_1&");
	url_is(NULL, NULL, PATH);
	read_is(PATH, PATH "op=OPEN&offset=5&length=10");
	read_is("http://dn/x?op=OPEN&a=b", "http://dn/x?op=OPEN&a=b&offset=5&length=10");
	read_is("http://dn/x", "http://dn/x?offset=5&length=10");

	without_range(
		"http://dn/x?op=OPEN&user.name=a&namenoderpcaddress=nn:8020&length=10&"
		"offset=5",
		"http://dn/x?op=OPEN&user.name=a&namenoderpcaddress=nn:8020");
	without_range("http://dn/x?offset=5&LENGTH=1&op=OPEN&&xoffset=7&",
		      "http://dn/x?op=OPEN&xoffset=7");
	without_range("http://dn/offset=5?length=1&", "http://dn/offset=5");
	without_range("http://dn/x", "http://dn/x");
	without_range("http://dn/x?", "http://dn/x");
	without_range("http://dn/x&", "http://dn/x&");
	without_range("http://dn/x?a=?&b?&", "http://dn/x?a=?&b");
	return 0;
}
