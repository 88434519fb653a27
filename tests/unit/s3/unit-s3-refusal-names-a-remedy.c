/* SPDX-License-Identifier: MIT */
#include "check.h"
#include "source/s3/s3-refusal.h"

#include <errno.h>

static struct sfs_s3_asked asked = {
	.words = &sfs_s3_words_aws,
	.bucket = "b",
	.key = "x.tar",
	.url = "https://host/b/",
	.region = "us-east-1",
	.credentials = "profile 'p'",
	.now_s = 1000000,
};
static struct sfs_http_headers headers;
static struct sfs_s3_refusal refusal;
static char why[768];

static const char *say(int status, const char *body)
{
	headers.status = status;
	sfs_s3_refusal_read(&headers, body, body ? strlen(body) : 0, &refusal);
	sfs_s3_refusal_describe(&refusal, &asked, why, sizeof why);
	CHECK(!strchr(why, '\n'));
	return why;
}

#define CODE(code) "<?xml version='1.0'?><Error><Code>" code "</Code></Error>"

int main(void)
{
	CHECK_HAS(say(403, CODE("InvalidAccessKeyId")), "HTTP 403 InvalidAccessKeyId: ");
	CHECK_HAS(why, "profile 'p'");
	CHECK(!strstr(why, "expired"));
	asked.is_temporary = true;
	CHECK_HAS(say(403, CODE("InvalidAccessKeyId")), "profile 'p': it has expired");
	asked.is_temporary = false;
	CHECK_EQ(sfs_s3_refusal_err(&refusal), -EACCES);
	CHECK_HAS(say(403, CODE("SignatureDoesNotMatch")), "secret access key from");
	CHECK_HAS(say(400, CODE("ExpiredToken")), "expired");
	CHECK_EQ(sfs_s3_refusal_err(&refusal), -EACCES);
	CHECK_HAS(say(404, CODE("NoSuchBucket")), "no bucket 'b' at https://host/b/");
	CHECK_EQ(sfs_s3_refusal_err(&refusal), -ENOENT);
	CHECK_HAS(say(404, CODE("NoSuchKey")), "no such object");
	CHECK(!strstr(why, "prefix"));
	asked.key = "folder";
	CHECK_HAS(say(404, NULL), "a '/' at its end");
	CHECK_EQ(sfs_s3_refusal_err(&refusal), -ENOENT);

	CHECK_HAS(say(403, CODE("AccessDenied")), "s3:GetObject");
	asked.key = NULL;
	CHECK_HAS(say(403, CODE("AccessDenied")), "s3:ListBucket");
	CHECK_HAS(say(404, "Not Found"), "no bucket 'b'");
	asked.credentials = NULL;
	CHECK_HAS(say(403, NULL), "no credentials were found");
	asked.is_anonymous = true;
	CHECK_HAS(say(403, NULL), "'anonymous'");
	asked.key = "key.tar";
	CHECK_HAS(say(403, NULL), "also denied a missing object");
	asked.key = NULL;

	/* A wrong region, with and without a hint; one that is no name of
	 * a host is none. */
	CHECK_HAS(say(301, CODE("PermanentRedirect")), "does not say in which");
	strcpy(headers.bucket_region, "eu-west-1");
	CHECK_HAS(say(301, NULL), "set region=eu-west-1");
	strcpy(headers.bucket_region, "evil.example/");
	CHECK_HAS(say(301, NULL), "does not say in which");
	CHECK_HAS(say(400, "<Error><Code>AuthorizationHeaderMalformed</Code>"
			   "<Region>ap-south-1</Region></Error>"),
		  "set region=ap-south-1");

	CHECK_HAS(say(403, CODE("RequestTimeTooSkewed")),
		  "clock of this machine is wrong");
	headers.date_s = 1000000 + 1200;
	CHECK_HAS(say(403, CODE("RequestTimeTooSkewed")), "is 1200 s behind that");
	headers.date_s = 1000000 - 7200;
	CHECK_HAS(say(403, CODE("RequestTimeTooSkewed")), "is 7200 s ahead of that");

	/* Google's words. */
	asked.words = &sfs_s3_words_google;
	asked.is_anonymous = false;
	asked.credentials = "the file 'x'";
	CHECK_HAS(say(401, CODE("AuthenticationRequired")), "access token from the file 'x'");
	CHECK_EQ(refusal.reason, SFS_S3_EXPIRED);
	CHECK_EQ(sfs_s3_refusal_err(&refusal), -EACCES);
	CHECK_HAS(say(401, NULL), "has expired or is not valid");
	CHECK_HAS(say(403, CODE("InvalidSecurity")), "does not know the access key");
	CHECK_HAS(say(403, CODE("AccessDenied")), "storage.objects.list");
	CHECK_HAS(say(400, CODE("UserProjectMissing")), "requester pays");
	CHECK_EQ(sfs_s3_refusal_err(&refusal), -EACCES);
	asked.credentials = NULL;
	CHECK_HAS(say(401, NULL), "gcloud auth application-default login");

	say(503, CODE("SlowDown"));
	CHECK_EQ(refusal.reason, SFS_S3_LATER);
	CHECK_STR(say(400, "<Error><Code>X\x7f</Code><Message>a&#10;b</Message></Error>"),
		  "HTTP 400 X.: a.b");
	CHECK_STR(say(500, "no XML"), "HTTP 500");
	return 0;
}
