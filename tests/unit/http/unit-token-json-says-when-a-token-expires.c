/* SPDX-License-Identifier: MIT */
/* A token, or header lines, in the JSON of the tools that people have is found, with the time at
 * which it expires.  A time that is past, far off or not understood is none; what holds no token is
 * refused, without a word of it. */
#include "base/alloc.h"
#include "check.h"
#include "source/http/header-lines.h"
#include "source/http/token-json.h"

#include <errno.h>

#define NOW   1764169200 /* 2025-11-26T15:00:00Z */
#define LATER (NOW + 3600)
#define DATE  "2025-11-26T16:00:00Z"

static void gives(const char *json, const char *token, int64_t expires_s)
{
	struct sfs_header_lines lines;
	sfs_autofree char *wanted = sfs_asprintf("Authorization: Bearer %s", token);
	sfs_autofree char *found = NULL, *copy = sfs_strdup(json);
	struct sfs_error err;
	int64_t at_s = -1;

	CHECK(sfs_token_json_is(json));
	CHECK_EQ(sfs_token_json_read(json, strlen(json), NOW, &found, &at_s, &err), 0);
	CHECK_STR(found, token);
	CHECK_EQ(at_s, expires_s);
	/* As a line of a header, too. */
	CHECK_EQ(sfs_header_lines_read(copy, strlen(copy), true, NOW, &lines, &err), 0);
	CHECK_EQ(lines.n, 1);
	CHECK_STR(lines.s[0], wanted);
	CHECK_EQ(lines.expires_s, expires_s);
	sfs_header_lines_done(&lines);
}

static void refuses(const char *json, bool is_bearer)
{
	struct sfs_header_lines lines;
	sfs_autofree char *copy = sfs_strdup(json);
	struct sfs_error err = {0};

	CHECK_EQ(sfs_header_lines_read(copy, strlen(copy), is_bearer, NOW, &lines, &err),
		 -EINVAL);
	CHECK(err.text[0] && !strstr(err.text, "SECRET"));
}

static void headers(const char *json, const char *const *wanted, int64_t expires_s)
{
	struct sfs_header_lines lines;
	sfs_autofree char *copy = sfs_strdup(json);
	struct sfs_error err;
	int i;

	CHECK_EQ(sfs_header_lines_read(copy, strlen(copy), false, NOW, &lines, &err), 0);
	for (i = 0; wanted[i]; i++)
		CHECK_STR(lines.s[i], wanted[i]);
	CHECK_EQ(lines.n, i);
	CHECK_EQ(lines.expires_s, expires_s);
	sfs_header_lines_done(&lines);
}

int main(void)
{
	static const char *const two[] = {"Authorization: Bearer T", "X-Other: 1",
					  "X-Other: 2", NULL};
	static const char *const one[] = {"Authorization: Bearer T", NULL};

	gives("{\"access_token\": \"T.1\", \"expires_in\": 3600, \"token_type\": \"x\"}",
	      "T.1", LATER);
	gives("{\"access_token\": \"T\", \"expires_in\": \"3600\"}", "T", LATER);
	gives("{\"access_token\": \"T\", \"expires_at\": 1764172800.75}", "T", LATER);
	gives("{\"access_token\": \"T\", \"expires_on\": \"1764172800\"}", "T", LATER);
	gives(" \n{\"accessToken\": \"T\", \"expiresOn\": \"2025-11-26 17:00:00.000000\",\n"
	      "\"expires_on\": 1764172800, \"subscription\": \"s\", \"tokenType\": \"Bearer\"}\n",
	      "T", LATER);
	gives("{\"token\": \"T\", \"expires_at\": \"" DATE "\"}", "T", LATER);
	gives("{\"kind\": \"ExecCredential\", \"spec\": {}, \"status\": "
	      "{\"expirationTimestamp\": \"" DATE "\", \"token\": \"T\"}}",
	      "T", LATER);
	gives("{\"configuration\": {\"access_token\": 1}, \"credential\": {\"access_token\": "
	      "\"T\", \"id_token\": \"I\", \"token_expiry\": \"" DATE "\"}}",
	      "T", LATER);
	gives("{\"token\": \"T\", \"expires_at\": \"2025-11-26T18:30:00.123+02:30\"}", "T",
	      LATER);
	gives("{\"token\": \"T\", \"expires_at\": \"2025-11-26T15:00:00-01:00\"}", "T", LATER);
	gives("{\"token\": \"T\", \"expires_at\": \"2025-11-26T16:00:00\"}", "T", LATER);

	/* No time that is of use. */
	gives("{\"access_token\": \"T\"}", "T", 0);
	gives("{\"access_token\": \"T\", \"expires_in\": 0}", "T", 0);
	gives("{\"access_token\": \"T\", \"expires_in\": -1}", "T", 0);
	gives("{\"access_token\": \"T\", \"expires_in\": 1e99}", "T", 0);
	gives("{\"access_token\": \"T\", \"expires_in\": \"soon\"}", "T", 0);
	gives("{\"access_token\": \"T\", \"expires_on\": 1764169199}", "T", 0);
	gives("{\"access_token\": \"T\", \"expires_on\": 1764172800000}", "T", 0);
	gives("{\"token\": \"T\", \"expires_at\": \"2025-11-26T16:00:00+1\"}", "T", 0);
	gives("{\"token\": \"T\", \"expires_at\": \"2025-11-26T16:00:00Z!\"}", "T", 0);
	gives("{\"token\": \"T\", \"expires_at\": [1]}", "T", 0);

	refuses("{\"access_token\": \"SECRET x\"}", true);
	refuses("{\"access_token\": \"SECRET\\r\\nX: y\"}", true);
	refuses("{\"access_token\": \"\"}", true);
	refuses("{\"access_token\": [\"SECRET\"]}", true);
	refuses("{\"access_token\": \"SECRET\"", true);
	refuses("{\"access_token\": \"SECRET\"} x", true);
	refuses("{\"Version\": 1, \"AccessKeyId\": \"SECRET\", \"SecretAccessKey\": \"x\"}", true);
	refuses("{}", true);
	refuses("{", false);

	headers("{\"headers\": {\"Authorization\": [\"Bearer T\"], \"X-Other\": [\"1\", "
		"\"2\"]}, \"expires\": \"" DATE "\"}",
		two, LATER);
	headers("{\"expires\": \"never\", \"headers\": {\"Authorization\": \"Bearer T\"}}", one,
		0);
	headers("{\"access_token\": \"T\", \"expires_in\": 3600}", one, LATER);
	refuses("{\"headers\": {}}", false);
	refuses("{\"headers\": [\"SECRET\"]}", false);
	refuses("{\"headers\": {\"A\": 1}}", false);
	refuses("{\"headers\": {\"A\": [\"SECRET\", {}]}}", false);
	refuses("{\"headers\": {\"A\": \"SECRET\\nB: x\"}}", false);
	refuses("{\"headers\": {\"A\\nB\": \"SECRET\"}}", false);
	refuses("{\"headers\": {\"A\": \"SECRET\"}", false);
	return 0;
}
