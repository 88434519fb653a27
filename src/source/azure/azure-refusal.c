/* SPDX-License-Identifier: MIT */
#include "source/azure/azure-refusal.h"

#include "base/alloc.h"
#include "base/xml.h"
#include "source/http/server-clock.h"
#include "source/http/show-words.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define MOST_OFF_S 600 /* Azure takes 15 minutes */

static const struct {
	const char *code;
	enum sfs_azure_reason reason;
} codes[] = {
	{"AuthenticationFailed", SFS_AZURE_SIGNATURE},
	{"InvalidAuthenticationInfo", SFS_AZURE_TOKEN},
	{"NoAuthenticationInformation", SFS_AZURE_PRIVATE},
	{"AuthorizationFailure", SFS_AZURE_DENIED},
	{"AuthorizationPermissionMismatch", SFS_AZURE_DENIED},
	{"AuthorizationProtocolMismatch", SFS_AZURE_DENIED},
	{"AuthorizationResourceTypeMismatch", SFS_AZURE_DENIED},
	{"AuthorizationServiceMismatch", SFS_AZURE_DENIED},
	{"AuthorizationSourceIPMismatch", SFS_AZURE_DENIED},
	{"InsufficientAccountPermissions", SFS_AZURE_DENIED},
	{"KeyBasedAuthenticationNotPermitted", SFS_AZURE_NO_KEYS},
	{"ContainerNotFound", SFS_AZURE_NO_CONTAINER},
	{"BlobNotFound", SFS_AZURE_NO_BLOB},
	{"PublicAccessNotPermitted", SFS_AZURE_PRIVATE},
	{"ResourceNotFound", SFS_AZURE_PRIVATE},
	{"BlobArchived", SFS_AZURE_ARCHIVED},
	{"ServerBusy", SFS_AZURE_LATER},
	{"InternalError", SFS_AZURE_LATER},
	{"OperationTimedOut", SFS_AZURE_LATER},
};

static enum sfs_azure_reason reason_of(const struct sfs_azure_refusal *r)
{
	size_t i;

	for (i = 0; i < SFS_COUNT(codes); i++)
		if (strcmp(codes[i].code, r->code) == 0)
			return codes[i].reason;
	if (r->code[0])
		return SFS_AZURE_OTHER;
	return r->status == 401	  ? SFS_AZURE_TOKEN
	       : r->status == 403 ? SFS_AZURE_DENIED
	       : r->status == 404 ? SFS_AZURE_NO_BLOB
				  : SFS_AZURE_OTHER;
}

void sfs_azure_refusal_read(const struct sfs_http_headers *headers, const char *body,
			    size_t n, struct sfs_azure_refusal *ret)
{
	struct sfs_azure_refusal r = {.status = headers->status,
				      .date_s = headers->date_s};
	enum sfs_xml_token token;
	struct sfs_xml xml;

	sfs_xml_init(&xml, body ? body : "", body ? n : 0);
	while ((token = sfs_xml_next(&xml)) > SFS_XML_END)
		if (token == SFS_XML_CLOSE && sfs_xml_at(&xml, "Error/Code"))
			sfs_show_words(xml.text.s, "", r.code, sizeof r.code);
	sfs_xml_done(&xml);
	r.reason = reason_of(&r);
	*ret = r;
}

int sfs_azure_refusal_err(const struct sfs_azure_refusal *r)
{
	switch (r->reason) {
	case SFS_AZURE_NO_CONTAINER:
	case SFS_AZURE_NO_BLOB: return -ENOENT;
	case SFS_AZURE_SIGNATURE:
	case SFS_AZURE_TOKEN:
	case SFS_AZURE_DENIED:
	case SFS_AZURE_NO_KEYS:
	case SFS_AZURE_PRIVATE: return -EACCES;
	default: return r->status == 401 || r->status == 403 ? -EACCES : -EIO;
	}
}

bool sfs_azure_refusal_is_of_clock(const struct sfs_azure_refusal *r,
				   enum sfs_azure_by by, int64_t now_s)
{
	int64_t off = r->date_s - now_s;

	return r->reason == SFS_AZURE_SIGNATURE && by == SFS_AZURE_BY_KEY &&
	       r->date_s != 0 && (off > MOST_OFF_S || off < -MOST_OFF_S);
}

/* ---- the sentences ---- */

#define SAY "set AZURE_STORAGE_SAS_TOKEN, AZURE_STORAGE_KEY or sas-file="

static const char *what(enum sfs_azure_by by)
{
	return by == SFS_AZURE_BY_KEY	? "key"
	       : by == SFS_AZURE_BY_SAS ? "SAS"
					: "access token";
}

static void describe_missing(const struct sfs_azure_asked *a, bool is_blob, char *to,
			     size_t size)
{
	if (!is_blob)
		snprintf(to, size,
			 "there is no container '%s' at %s: check its name, and "
			 "endpoint=",
			 a->container, a->url);
	else
		snprintf(to, size, "no such blob%s",
			 strstr(a->key, ".tar") ? ""
						: "; to name all *.tar below a prefix, "
						  "put a '/' at its end");
}

static void describe_private(const struct sfs_azure_asked *a, char *to, size_t size)
{
	if (a->by != SFS_AZURE_BY_NOTHING)
		describe_missing(a, false, to, size);
	else
		snprintf(to, size,
			 "there is no container '%s' at %s, or it does not let everybody "
			 "%s: %s",
			 a->container, a->url, a->key ? "read this" : "list it",
			 a->is_anonymous ? "leave out 'anonymous'" : SAY);
}

static const char *show_time(int64_t s, char buf[32])
{
	time_t t = (time_t)s;
	struct tm tm;

	if (!gmtime_r(&t, &tm) || strftime(buf, 32, "%Y-%m-%d %H:%M:%S UTC", &tm) == 0)
		buf[0] = 0;
	return buf;
}

static void describe_signature(const struct sfs_azure_refusal *r,
			       const struct sfs_azure_asked *a, char *to, size_t size)
{
	int64_t now_s = r->date_s ? r->date_s : a->now_s;
	char at[32];

	if (a->by == SFS_AZURE_BY_NOTHING)
		describe_private(a, to, size);
	else if (sfs_azure_refusal_is_of_clock(r, a->by, a->now_s))
		sfs_server_clock_describe(r->date_s, a->now_s, to, size);
	else if (a->by == SFS_AZURE_BY_KEY)
		snprintf(to, size,
			 "the key from %s is not that of the account '%s': check it, and "
			 "AZURE_STORAGE_ACCOUNT",
			 a->from, a->account);
	else if (a->by == SFS_AZURE_BY_SAS && a->end_s && a->end_s <= now_s)
		snprintf(to, size, "the SAS from %s has expired at %s: get a new one",
			 a->from, show_time(a->end_s, at));
	else if (a->by == SFS_AZURE_BY_SAS && a->start_s > now_s)
		snprintf(to, size, "the SAS from %s is valid only from %s on", a->from,
			 show_time(a->start_s, at));
	else
		snprintf(to, size,
			 "the %s from %s is not valid for this account or container: get "
			 "a new one, and give it whole and as it is",
			 what(a->by), a->from);
}

static void describe_denied(const struct sfs_azure_asked *a, char *to, size_t size)
{
	const char *does = a->key ? "read blobs of" : "list";

	if (a->by == SFS_AZURE_BY_NOTHING)
		describe_private(a, to, size);
	else if (a->by == SFS_AZURE_BY_SAS)
		snprintf(to, size,
			 "the SAS from %s may not %s the container '%s': it needs sp=rl "
			 "for the container, and this machine's address and protocol",
			 a->from, does, a->container);
	else if (a->by == SFS_AZURE_BY_TOKEN)
		snprintf(to, size,
			 "the access token from %s may not %s the container '%s': it "
			 "needs the role Storage Blob Data Reader, and the account's "
			 "firewall to let this machine in",
			 a->from, does, a->container);
	else
		snprintf(to, size,
			 "the account '%s' does not let this machine %s the container "
			 "'%s': check the key from %s, and the account's firewall",
			 a->account, does, a->container, a->from);
}

/* What to do about it; "" if that is not known. */
static void describe_remedy(const struct sfs_azure_refusal *r,
			    const struct sfs_azure_asked *a, char *to, size_t size)
{
	switch (r->reason) {
	case SFS_AZURE_SIGNATURE: describe_signature(r, a, to, size); break;
	case SFS_AZURE_TOKEN:
		if (a->by == SFS_AZURE_BY_NOTHING)
			describe_private(a, to, size);
		else
			snprintf(to, size,
				 "the %s from %s has expired, or is not for "
				 "https://storage.azure.com: get a new one",
				 what(a->by), a->from);
		break;
	case SFS_AZURE_DENIED: describe_denied(a, to, size); break;
	case SFS_AZURE_NO_KEYS:
		snprintf(to, size,
			 "the account '%s' takes neither keys nor SAS made of them: use "
			 "an access token, or a user delegation SAS",
			 a->account);
		break;
	case SFS_AZURE_PRIVATE: describe_private(a, to, size); break;
	case SFS_AZURE_NO_CONTAINER: describe_missing(a, false, to, size); break;
	case SFS_AZURE_NO_BLOB: describe_missing(a, a->key != NULL, to, size); break;
	case SFS_AZURE_ARCHIVED:
		snprintf(to, size,
			 "the blob is archived: rehydrate it to the hot or cool tier");
		break;
	default: break;
	}
}

void sfs_azure_refusal_describe(const struct sfs_azure_refusal *r,
				const struct sfs_azure_asked *a, char *why, size_t size)
{
	char remedy[600] = "";

	describe_remedy(r, a, remedy, sizeof remedy);
	snprintf(why, size, "HTTP %d%s%s%s%s", r->status, r->code[0] ? " " : "", r->code,
		 remedy[0] ? ": " : "", remedy);
}
