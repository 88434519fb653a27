/* SPDX-License-Identifier: MIT */
/* URLs of WebHDFS, their credentials, and the range that goes in and out of them. */
#include "base/alloc.h"
#include "check.h"
#include "source/uri.h"
#include "source/webhdfs/webhdfs-url.h"

#include <errno.h>
#include <string.h>

/* What users type: a path is any text, and a user is kept apart. */
static void parses(const char *text, const char *location, const char *user)
{
	sfs_autofree char *shown = sfs_uri_redact(text);
	struct sfs_error err = {0};
	struct sfs_uri uri = {0};

	CHECK_EQ(sfs_uri_parse(text, &uri, &err), 0);
	CHECK_EQ(uri.scheme, SFS_SCHEME_WEBHDFS);
	CHECK_STR(uri.location, location);
	CHECK(strncmp(uri.location, uri.origin, strlen(uri.origin)) == 0);
	CHECK_STR(uri.path, strchr(strstr(location, "://") + 3, '/'));
	if (user)
		CHECK_STR(uri.user, user);
	else
		CHECK(!uri.user);
	CHECK(!user || !strstr(shown, user));
	sfs_uri_done(&uri);
}

static void refuses(const char *text, const char *why)
{
	struct sfs_error err = {0};
	struct sfs_uri uri = {0};

	CHECK_EQ(sfs_uri_parse(text, &uri, &err), -EINVAL);
	CHECK_HAS(err.text, why);
}

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
	parses("webhdfs://NN/a b?%20#.tar", "webhdfs://nn:9870/a b?%20#.tar", NULL);
	parses("SWEBHDFS://nn:14000/é", "swebhdfs://nn:14000/é", NULL);
	parses("webhdfs://al%20ice@nn/x@y", "webhdfs://nn:9870/x@y", "al ice");
	parses("webhdfs://me:pass@nn:1/x", "webhdfs://nn:1/x", "me:pass");
	parses("hdfs://cluster", "hdfs://cluster:8020/", NULL);
	parses("hdfs:///x/", "hdfs:///x/", NULL);
	parses("hdfs://me@/x", "hdfs:///x", "me");
	refuses("webhdfs://nn:0/x", "no valid port");
	refuses("webhdfs://n n/x", "that no host name has");
	refuses("webhdfs://nn/a/../x", "component '.' or '..'");
	refuses("webhdfs://nn/a\nx", "control character");
	refuses("whdfs://nn/x", "webhdfs://, swebhdfs:// and hdfs://");

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
