/* SPDX-License-Identifier: MIT */
#include "base/alloc.h"
#include "check.h"
#include "source/http/key-url.h"
#include "source/s3/s3-url.h"
#include "source/uri.h"

#include <errno.h>

static void encodes(const char *key, const char *wanted)
{
	struct sfs_strbuf text = {0};

	sfs_key_encode(&text, key, true);
	CHECK_STR(text.s, wanted);
	sfs_strbuf_done(&text);
}

static void leads_to(const char *endpoint, enum sfs_s3_style style, const char *bucket,
		     const char *wanted)
{
	struct sfs_s3_service service = {.style = style};
	sfs_autofree char *url = NULL;

	if (endpoint)
		CHECK_EQ(sfs_s3_service_set(&service, endpoint, NULL), 0);
	url = sfs_s3_url_of_bucket(&service, bucket, "eu-west-1");
	CHECK_STR(url, wanted);
	sfs_s3_service_done(&service);
}

static void refuses(const char *endpoint)
{
	struct sfs_s3_service service = {0};
	struct sfs_error err = {0};

	CHECK_EQ(sfs_s3_service_set(&service, endpoint, &err), -EINVAL);
	CHECK(err.text[0] && !strstr(err.text, "secret"));
	CHECK(!service.endpoint);
}

static void has_host(const char *url, const char *host, const char *path)
{
	const char *found;
	sfs_autofree char *got = sfs_s3_host(url, &found);

	CHECK_STR(got, host);
	CHECK_STR(found, path);
}

static void check_uri(void)
{
	static const char *const bad[] = {
		"s3://",      "s3:///x.tar",	"s3://a:b@c/x.tar",
		"s3://a b/x", "s3://a/x\n.tar", "s3://a/../x.tar"};
	struct sfs_error err = {0};
	struct sfs_uri uri = {0};
	const char *key;
	char *bucket;
	size_t i;

	CHECK_EQ(sfs_uri_parse("S3://my-bucket/a b/c+%25#d?é.tar", &uri, NULL), 0);
	CHECK_EQ(uri.scheme, SFS_SCHEME_S3);
	CHECK_STR(uri.location, "s3://my-bucket/a b/c+%25#d?é.tar");
	CHECK_STR(uri.path, "/a b/c+%25#d?é.tar");
	CHECK_STR(uri.origin, "s3://my-bucket");
	bucket = sfs_key_split(uri.location, &key);
	CHECK_STR(bucket, "my-bucket");
	CHECK_STR(key, "a b/c+%25#d?é.tar");
	free(bucket);
	sfs_uri_done(&uri);
	CHECK_EQ(sfs_uri_parse("s3://b", &uri, NULL), 0);
	CHECK_STR(uri.location, "s3://b/");
	sfs_uri_done(&uri);
	for (i = 0; i < SFS_COUNT(bad); i++)
		CHECK_EQ(sfs_uri_parse(bad[i], &uri, &err), -EINVAL);
}

static void check_redacted(void)
{
	static const char *const texts[][2] = {
		{"s3://b/train-?.tar", "s3://b/train-?.tar"},
		{"s3://b/a#1.tar", "s3://b/a#1.tar"},
		{"s3://key:secret@b/x", "s3://***@b/x"},
		{"s3://b/x?token=secret", "s3://b/x?***"},
		{"http://h/s3://b?secret", "http://h/s3://b?***"},
	};
	size_t i;

	for (i = 0; i < SFS_COUNT(texts); i++) {
		sfs_autofree char *shown = sfs_uri_redact(texts[i][0]);

		CHECK_STR(shown, texts[i][1]);
	}
}

int main(void)
{
	encodes("a/b-c_d.e~f", "a/b-c_d.e~f");
	encodes(" +%?#&=*'()!@:$,;[]",
		"%20%2B%25%3F%23%26%3D%2A%27%28%29%21%40%3A%24%2C%3B%"
		"5B%5D");
	encodes("é日", "%C3%A9%E6%97%A5");
	leads_to(NULL, SFS_S3_STYLE_AUTO, "my-bucket",
		 "https://my-bucket.s3.eu-west-1.amazonaws.com/");
	leads_to(NULL, SFS_S3_STYLE_AUTO, "my.bucket",
		 "https://s3.eu-west-1.amazonaws.com/my.bucket/");
	leads_to(NULL, SFS_S3_STYLE_PATH, "b", "https://s3.eu-west-1.amazonaws.com/b/");
	leads_to("http://Host:9000/", SFS_S3_STYLE_AUTO, "b", "http://Host:9000/b/");
	leads_to("http://host:9000/s3", SFS_S3_STYLE_AUTO, "b", "http://host:9000/s3/b/");
	leads_to("https://host", SFS_S3_STYLE_VIRTUAL, "b", "https://b.host/");
	refuses("host:9000");
	refuses("ftp://host");
	refuses("s3://host");
	refuses("https://user:secret@host");
	refuses("https://host/?secret");
	has_host("http://host:80/x?y", "host", "/x?y");
	has_host("http://host:443/", "host:443", "/");
	has_host("https://host:443/x", "host", "/x");
	has_host("https://host:9000/x", "host:9000", "/x");
	check_uri();
	check_redacted();
	return 0;
}
