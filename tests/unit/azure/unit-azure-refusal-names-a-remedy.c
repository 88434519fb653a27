/* SPDX-License-Identifier: MIT */
#include "check.h"
#include "source/azure/azure-refusal.h"

#include <errno.h>

static struct sfs_azure_asked asked = {
	.container = "c",
	.key = "x.tar",
	.url = "https://acct.blob.core.windows.net",
	.account = "acct",
	.by = SFS_AZURE_BY_SAS,
	.from = "the file 's'",
	.now_s = 1795698911,
};
static struct sfs_http_headers headers;
static struct sfs_azure_refusal refusal;
static char why[768];

static const char *say(int status, const char *body)
{
	headers.status = status;
	sfs_azure_refusal_read(&headers, body, body ? strlen(body) : 0, &refusal);
	sfs_azure_refusal_describe(&refusal, &asked, why, sizeof why);
	CHECK(!strchr(why, '\n'));
	return why;
}

#define CODE(code)                                                                \
	"\xef\xbb\xbf<?xml version=\"1.0\"?><Error><Code>" code "</Code><Message>" \
	"sig=SECRET</Message></Error>"

int main(void)
{
	/* A SAS, and its time. */
	CHECK_HAS(say(403, CODE("AuthenticationFailed")),
		  "HTTP 403 AuthenticationFailed: the SAS from the file 's' is not valid");
	CHECK(!strstr(why, "SECRET"));
	CHECK_EQ(sfs_azure_refusal_err(&refusal), -EACCES);
	asked.end_s = asked.now_s - 1;
	CHECK_HAS(say(403, CODE("AuthenticationFailed")),
		  "has expired at 2026-11-26 13:15:10 UTC");
	asked.end_s = asked.now_s + 60;
	headers.date_s = asked.now_s + 3600;
	CHECK_HAS(say(403, CODE("AuthenticationFailed")), "has expired at");
	headers.date_s = 0;
	asked.start_s = asked.now_s + 30;
	CHECK_HAS(say(403, CODE("AuthenticationFailed")), "only from 2026-11-26 13:15:41");
	CHECK_HAS(say(403, CODE("AuthorizationPermissionMismatch")), "it needs sp=rl");
	CHECK_HAS(say(403, CODE("KeyBasedAuthenticationNotPermitted")), "access token");

	/* A key, and the clock. */
	asked.by = SFS_AZURE_BY_KEY;
	asked.from = "AZURE_STORAGE_KEY";
	CHECK_HAS(say(403, CODE("AuthenticationFailed")), "not that of the account 'acct'");
	CHECK(!sfs_azure_refusal_is_of_clock(&refusal, asked.by, asked.now_s));
	headers.date_s = asked.now_s + 1200;
	CHECK_HAS(say(403, CODE("AuthenticationFailed")), "is 1200 s behind that");
	CHECK(sfs_azure_refusal_is_of_clock(&refusal, asked.by, asked.now_s));
	CHECK(!sfs_azure_refusal_is_of_clock(&refusal, SFS_AZURE_BY_SAS, asked.now_s));
	headers.date_s = 0;
	CHECK_HAS(say(403, CODE("AuthorizationFailure")), "firewall");

	/* A token. */
	asked.by = SFS_AZURE_BY_TOKEN;
	CHECK_HAS(say(401, CODE("InvalidAuthenticationInfo")), "storage.azure.com");
	CHECK_HAS(say(401, NULL), "has expired");
	CHECK_HAS(say(403, CODE("AuthorizationPermissionMismatch")), "Blob Data Reader");
	CHECK_HAS(say(404, CODE("ResourceNotFound")), "no container 'c'");
	CHECK(!strstr(why, "everybody"));

	/* None of these. */
	asked.by = SFS_AZURE_BY_NOTHING;
	asked.from = NULL;
	CHECK_HAS(say(404, CODE("ResourceNotFound")), "set AZURE_STORAGE_SAS_TOKEN");
	CHECK_EQ(sfs_azure_refusal_err(&refusal), -EACCES);
	CHECK_HAS(say(409, CODE("PublicAccessNotPermitted")), "set AZURE_STORAGE_SAS");
	CHECK_HAS(say(401, CODE("NoAuthenticationInformation")), "set AZURE_STORAGE_SAS");
	CHECK_HAS(say(403, CODE("AuthenticationFailed")), "set AZURE_STORAGE_SAS");
	asked.is_anonymous = true;
	asked.key = NULL;
	CHECK_HAS(say(404, CODE("ResourceNotFound")),
		  "does not let everybody list it: leave out 'anonymous'");

	/* What there is. */
	CHECK_HAS(say(404, "Not Found"), "no container 'c'");
	CHECK_HAS(say(404, CODE("ContainerNotFound")), "no container 'c' at https://acct");
	CHECK_EQ(sfs_azure_refusal_err(&refusal), -ENOENT);
	asked.key = "x.tar";
	CHECK_STR(say(404, CODE("BlobNotFound")), "HTTP 404 BlobNotFound: no such blob");
	CHECK_EQ(sfs_azure_refusal_err(&refusal), -ENOENT);
	asked.key = "folder";
	CHECK_HAS(say(404, NULL), "a '/' at its end");
	CHECK_HAS(say(409, CODE("BlobArchived")), "rehydrate");
	CHECK_EQ(sfs_azure_refusal_err(&refusal), -EIO);

	say(503, CODE("ServerBusy"));
	CHECK_EQ(refusal.reason, SFS_AZURE_LATER);
	CHECK_STR(say(400, "<Error><Code>X\x7f</Code><Message>a</Message></Error>"),
		  "HTTP 400 X.");
	CHECK_STR(say(500, "no XML"), "HTTP 500");
	return 0;
}
