/* SPDX-License-Identifier: MIT */
#include "source/webhdfs/webhdfs-refusal.h"

#include "base/alloc.h"
#include "source/http/show-words.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- what came ---- */

/* The first line, without a stack of Java's. */
#define STOPS "?\n"

void sfs_webhdfs_refusal_read(int status, const char *body, size_t n,
			      struct sfs_webhdfs_refusal *ret)
{
	struct sfs_webhdfs_refusal r = {.status = status};

	sfs_show_member(body, n, "RemoteException.exception", STOPS, r.exception,
			sizeof r.exception);
	sfs_show_member(body, n, "RemoteException.message", STOPS, r.message,
			sizeof r.message);
	r.is_of_rpc = body && memmem(body, n, "Hadoop IPC port", 15);
	*ret = r;
}

/* ---- what it means ---- */

static bool is_a(const struct sfs_webhdfs_refusal *r, const char *exception)
{
	return strcmp(r->exception, exception) == 0;
}

bool sfs_webhdfs_refusal_is_of_range(const struct sfs_webhdfs_refusal *r)
{
	return (is_a(r, "IOException") && strstr(r->message, "out of the range")) ||
	       is_a(r, "EOFException");
}

static bool is_of_token(const struct sfs_webhdfs_refusal *r)
{
	return is_a(r, "InvalidToken") || is_a(r, "SecurityException");
}

/* (A datanode's IOException has status 403 as well.) */
bool sfs_webhdfs_refusal_is_later(const struct sfs_webhdfs_refusal *r)
{
	return is_a(r, "StandbyException") || is_a(r, "RetriableException") ||
	       is_a(r, "SafeModeException") ||
	       (r->status == 403 && r->exception[0] && !is_of_token(r) &&
		!is_a(r, "AccessControlException") &&
		!sfs_webhdfs_refusal_is_of_range(r));
}

int sfs_webhdfs_refusal_err(const struct sfs_webhdfs_refusal *r)
{
	if (sfs_webhdfs_refusal_is_later(r))
		return -EIO;
	switch (r->status) {
	case 401:
	case 403: return -EACCES;
	case 404:
	case 410: return r->exception[0] ? -ENOENT : -EIO;
	default: return -EIO;
	}
}

/* ---- the sentence ---- */

static void describe_denied(const struct sfs_webhdfs_refusal *r,
			    const struct sfs_webhdfs_asked *a, char *to, size_t size)
{
	if (a->token_from && (r->status == 401 || is_of_token(r)))
		snprintf(to, size,
			 "the delegation token from %s is not valid, or has expired: get "
			 "a new one, as with hdfs fetchdt",
			 a->token_from);
	else if (r->status == 401 && !a->can_negotiate)
		snprintf(to, size,
			 "the namenode wants Kerberos, which this libcurl is not made "
			 "for: set HADOOP_TOKEN_FILE_LOCATION to a file with a "
			 "delegation token");
	else if (r->status == 401)
		snprintf(to, size,
			 "the namenode wants Kerberos, and %s: run kinit, or set "
			 "HADOOP_TOKEN_FILE_LOCATION to a file with a delegation token",
			 a->has_negotiated ? "refused the ticket, or there is none"
					   : "there is no ticket");
	else if (a->token_from || !a->user)
		snprintf(to, size, "the user may not read it (%s)", r->message);
	else
		snprintf(to, size,
			 "the user '%s' may not read it: name another, as in "
			 "webhdfs://NAME@..., or set HADOOP_USER_NAME (%s)",
			 a->user, r->message);
}

static void describe_missing(const struct sfs_webhdfs_refusal *r,
			     const struct sfs_webhdfs_asked *a, char *to, size_t size)
{
	size_t n = strlen(a->path);
	bool is_folder = n == 0 || a->path[n - 1] == '/';

	if (strstr(r->message, "is not a file"))
		snprintf(to, size,
			 "it is a folder; to name all *.tar below it, put a '/' at its "
			 "end");
	else if (is_folder)
		snprintf(to, size, "there is no folder /%s: check its name", a->path);
	else
		snprintf(to, size, "no such file%s",
			 strstr(a->path, ".tar") ? ""
						 : "; to name all *.tar below a folder, "
						   "put a '/' at its end");
}

static void describe_later(const struct sfs_webhdfs_refusal *r,
			   const struct sfs_webhdfs_asked *a, char *to, size_t size)
{
	if (is_a(r, "StandbyException"))
		snprintf(to, size, "the namenode is a standby one%s",
			 a->has_more ? ""
				     : ": name all namenodes, as in "
				       "endpoint='http://NN1:9870;http://NN2:9870'");
	else if (is_a(r, "SafeModeException") || strstr(r->message, "safe mode"))
		snprintf(to, size,
			 "the namenode is in safe mode and does not know yet where the "
			 "blocks are (%s)",
			 r->message);
	else
		snprintf(to, size, "%s", r->message);
}

void sfs_webhdfs_refusal_describe(const struct sfs_webhdfs_refusal *r,
				  const struct sfs_webhdfs_asked *a, char *why,
				  size_t size)
{
	char remedy[600] = "";

	if (r->is_of_rpc)
		snprintf(remedy, sizeof remedy,
			 "this is the port of Hadoop's RPC: name that of the namenode's "
			 "HTTP (9870; 9871 with TLS), or set endpoint=");
	else if (r->status == 400 && strncmp(r->message, "Invalid operation", 17) == 0)
		snprintf(remedy, sizeof remedy,
			 "this is a datanode: name the namenode, by the port of its "
			 "HTTP (9870; 9871 with TLS), or set endpoint=");
	else if (r->status == 404 && !r->exception[0])
		snprintf(remedy, sizeof remedy,
			 "there is no WebHDFS here: check the port, which is that of a "
			 "namenode's HTTP (9870; 9871 with TLS), and endpoint=");
	else if (sfs_webhdfs_refusal_is_later(r))
		describe_later(r, a, remedy, sizeof remedy);
	else if (sfs_webhdfs_refusal_err(r) == -EACCES)
		describe_denied(r, a, remedy, sizeof remedy);
	else if (sfs_webhdfs_refusal_err(r) == -ENOENT)
		describe_missing(r, a, remedy, sizeof remedy);
	else
		sfs_show_words(r->message, STOPS, remedy, sizeof remedy);
	snprintf(why, size, "HTTP %d%s%s%s%s", r->status, r->exception[0] ? " " : "",
		 r->exception, remedy[0] ? ": " : "", remedy);
}
