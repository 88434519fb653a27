/* SPDX-License-Identifier: MIT */
#include "base/alloc.h"
#include "check.h"
#include "source/http/credentials.h"

#include <errno.h>

static void has(const char *json, const char *name, const char *wanted)
{
	sfs_autofree char *value = sfs_credentials_member(json, name);

	if (wanted)
		CHECK_STR(value, wanted);
	else
		CHECK(!value);
}

static void grants(const char *json, const char *token, int64_t expires_s)
{
	struct sfs_credentials c = {0}, copy;
	struct sfs_error err;

	CHECK_EQ(sfs_credentials_read_grant(json, "there", 1000, &c, &err), 0);
	CHECK_STR(c.token, token);
	CHECK_STR(c.from, "there");
	CHECK_EQ(c.expires_s, expires_s);
	copy = sfs_credentials_copy(&c);
	CHECK(sfs_credentials_are_same(&c, &copy) && sfs_credentials_exist(&copy));
	sfs_credentials_done(&c);
	CHECK(!sfs_credentials_are_same(&c, &copy) && !sfs_credentials_exist(&c));
	sfs_credentials_done(&copy);
}

static void refuses(const char *json)
{
	struct sfs_credentials c = {0};
	struct sfs_error err;

	CHECK_EQ(sfs_credentials_read_grant(json, "there", 1000, &c, &err), -EBADMSG);
	CHECK_HAS(err.text, "there");
	CHECK(!strstr(err.text, "SECRET"));
	CHECK(!c.token && !c.from);
}

int main(void)
{
	has("{\"a\": \"x\\u0041\", \"b\": 12, \"c\": {\"a\": \"no\"}, \"d\": [1]}", "a", "xA");
	has("{\"a\": \"x\", \"b\": 12}", "b", "12");
	has("{\"a\": {\"b\": 1}, \"b\": null}", "b", "");
	has("{\"a\": {\"b\": 1}}", "b", NULL);
	has("{\"a\": \"x\"", "a", NULL);
	has("{\"a\": \"x\"} y", "a", NULL);
	has("[\"a\"]", "a", NULL);
	has("", "a", NULL);

	/* Google writes a number, a machine at Azure a string. */
	grants("{\"access_token\": \"T.1\", \"expires_in\": 3599}", "T.1", 4599);
	grants("{\"access_token\": \"T\", \"expires_in\": \"60\", \"x\": []}", "T", 1060);
	grants("{\"access_token\": \"T\"}", "T", 0);
	grants("{\"access_token\": \"T\", \"expires_in\": -5}", "T", 0);
	grants("{\"access_token\": \"T\", \"expires_in\": 1e300}", "T", 1001);
	grants("{\"access_token\": \"T\", \"expires_in\": 99999999999999999999}", "T", 0);
	refuses("{\"access_token\": \"SECRET x\"}");
	refuses("{\"access_token\": \"SECRET\\r\\nX: y\"}");
	refuses("{\"access_token\": \"\"}");
	refuses("{\"access_token\": [\"SECRET\"]}");
	refuses("{\"error\": \"SECRET\"}");
	refuses("<html>");
	return 0;
}
