/* SPDX-License-Identifier: MIT */
#include "check.h"
#include "source/ais/ais-refusal.h"

#include <errno.h>

static struct sfs_ais_asked asked = {
	.bucket = "b",
	.key = "x.tar",
	.endpoint = "https://host",
	.token_from = "the file 't'",
};
static struct sfs_ais_refusal refusal;
static char why[768];

static const char *say(int status, const char *body)
{
	sfs_ais_refusal_read(status, body, body ? strlen(body) : 0, &refusal);
	sfs_ais_refusal_describe(&refusal, &asked, why, sizeof why);
	CHECK(!strchr(why, '\n'));
	return why;
}

int main(void)
{
	CHECK_HAS(say(401, "{\"tcode\":\"ErrX\",\"message\":\"m\",\"status\":401}"),
		  "HTTP 401 ErrX: the token from the file 't' is not valid");
	CHECK_EQ(sfs_ais_refusal_err(&refusal), -EACCES);
	CHECK_HAS(say(403, NULL), "may not read objects of the bucket 'b'");
	asked.token_from = NULL;
	CHECK_HAS(say(403, "x"), "set AIS_AUTHN_TOKEN");

	CHECK_STR(say(404, "{\"tcode\":\"ErrNotFound\"}"),
		  "HTTP 404 ErrNotFound: no such object");
	CHECK_EQ(sfs_ais_refusal_err(&refusal), -ENOENT);
	CHECK_HAS(say(404, "{\"tcode\":\"ErrBckNotFound\"}"),
		  "no bucket 'b' at https://host: check its name, endpoint=");
	asked.provider = "gcp";
	asked.key = NULL;
	CHECK_HAS(say(404, NULL), "no bucket 'b' of the provider gcp");

	/* A query may be a redirect's, which is a credential; and text
	 * may be anything. */
	CHECK_STR(say(500, "{\"message\":\"a\\nb http://t/x?pid=1&sig=SECRET\"}"),
		  "HTTP 500: a.b http://t/x");
	CHECK_EQ(sfs_ais_refusal_err(&refusal), -EIO);
	CHECK_STR(say(503, "no JSON"), "HTTP 503");
	return 0;
}
