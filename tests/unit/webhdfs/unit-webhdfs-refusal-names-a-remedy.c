/* SPDX-License-Identifier: MIT */
/* The bodies are those of Hadoop 3.4.2. */
#include "check.h"
#include "source/webhdfs/webhdfs-refusal.h"

#include <errno.h>
#include <string.h>

#define EXCEPTION(name, message)                      \
	"{\"RemoteException\":{\"exception\":\"" name \
	"\",\"javaClassName\":\"java.io." name "\",\"message\":\"" message "\"}}"

static struct sfs_webhdfs_asked asked = {.path = "a/b.tar", .user = "me"};

static void says(int status, const char *body, int err, bool is_later, const char *words)
{
	struct sfs_webhdfs_refusal r;
	char why[768];

	sfs_webhdfs_refusal_read(status, body, strlen(body), &r);
	CHECK_EQ(sfs_webhdfs_refusal_err(&r), err);
	CHECK_EQ(sfs_webhdfs_refusal_is_later(&r), is_later);
	sfs_webhdfs_refusal_describe(&r, &asked, why, sizeof why);
	CHECK_HAS(why, words);
	CHECK(!strchr(why, '\n') && !strstr(why, "SECRET") && !strstr(why, "org.apache"));
}

int main(void)
{
	static const char missing[] =
		EXCEPTION("FileNotFoundException", "File /x not found.");
	struct sfs_webhdfs_refusal r;

	says(404, missing, -ENOENT, false,
	     "HTTP 404 FileNotFoundException: no such file");
	asked.path = "a";
	says(404, missing, -ENOENT, false, "to name all *.tar below a folder, put a '/'");
	asked.path = "a/";
	says(404, missing, -ENOENT, false, "there is no folder /a/");
	says(404,
	     EXCEPTION("FileNotFoundException",
		       "Path is not a file: /x\\n\\tat org.apache.hadoop.hdfs"),
	     -ENOENT, false, "it is a folder");
	says(404, "<html>Not Found</html>", -EIO, false, "there is no WebHDFS here");
	says(404,
	     "It looks like you are making an HTTP request to a Hadoop IPC port. This is",
	     -EIO, false, "this is the port of Hadoop's RPC");
	says(400,
	     EXCEPTION("IllegalArgumentException", "Invalid operation GETFILESTATUS"),
	     -EIO, false, "this is a datanode");

	says(403,
	     EXCEPTION("AccessControlException",
		       "Permission denied: user=me, access=EXECUTE"),
	     -EACCES, false, "the user 'me' may not read it: name another");
	says(403, EXCEPTION("StandbyException", "Operation category READ"), -EIO, true,
	     "a standby one: name all namenodes, as in endpoint='");
	asked.has_more = true;
	says(403, EXCEPTION("StandbyException", "Operation category READ"), -EIO, true,
	     "HTTP 403 StandbyException: the namenode is a standby one");
	says(403, EXCEPTION("SafeModeException", "Zero blocklocations for /x."), -EIO,
	     true, "safe mode and does not know yet");
	says(403, EXCEPTION("IOException", "No active nodes contain this block"), -EIO,
	     true, "No active nodes contain this block");
	says(500, EXCEPTION("NullPointerException", "x?delegation=SECRET"), -EIO, false,
	     "HTTP 500 NullPointerException: x");
	says(503, "", -EIO, false, "HTTP 503");

	says(401, "<html/>", -EACCES, false, "which this libcurl is not made for");
	asked.can_negotiate = true;
	says(401, "<html/>", -EACCES, false, "wants Kerberos, and there is no ticket");
	asked.has_negotiated = true;
	says(401, "<html/>", -EACCES, false, "refused the ticket, or there is none");
	asked.token_from = "the file 'x'";
	says(401, "<html/>", -EACCES, false, "the delegation token from the file 'x' is");
	says(403, EXCEPTION("InvalidToken", "token (x?SECRET) can't be found"), -EACCES,
	     false, "is not valid, or has expired");

	sfs_webhdfs_refusal_read(
		403, EXCEPTION("IOException", "Offset=5 out of the range [0, 3); OPEN"),
		sizeof EXCEPTION("IOException",
				 "Offset=5 out of the range [0, 3); OPEN") -
			1,
		&r);
	CHECK(sfs_webhdfs_refusal_is_of_range(&r) && !sfs_webhdfs_refusal_is_later(&r));
	sfs_webhdfs_refusal_read(
		403, EXCEPTION("EOFException", "Cannot seek after EOF"),
		sizeof EXCEPTION("EOFException", "Cannot seek after EOF") - 1, &r);
	CHECK(sfs_webhdfs_refusal_is_of_range(&r) && !sfs_webhdfs_refusal_is_later(&r));
	sfs_webhdfs_refusal_read(500, NULL, 0, &r);
	CHECK(!r.exception[0] && !r.is_of_rpc);
	return 0;
}
