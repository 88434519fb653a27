/* SPDX-License-Identifier: MIT */
#include "source/s3/s3-refusal.h"

#include "base/alloc.h"
#include "base/xml.h"
#include "source/http/server-clock.h"
#include "source/http/show-words.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const struct sfs_s3_words sfs_s3_words_aws = {
	.no_credentials = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
			  "AWS_PROFILE, or write ~/.aws/credentials",
	.token = "session token",
	.new_token = "get new credentials",
	.may_read = "s3:GetObject (without s3:ListBucket a missing object is denied, "
		    "too)",
	.may_list = "s3:ListBucket",
	.payer = "set requester-pays",
};

const struct sfs_s3_words sfs_s3_words_google = {
	.no_credentials = "log in with gcloud auth application-default login, or set "
			  "bearer-token-command=, or GS_ACCESS_KEY_ID and "
			  "GS_SECRET_ACCESS_KEY",
	.token = "access token",
	.new_token = "get a new one, as with gcloud auth print-access-token",
	.may_read = "storage.objects.get (without storage.objects.list a missing object "
		    "is denied, too)",
	.may_list = "storage.objects.list",
	.payer = "set user-project= to the project that is to pay",
};

static const struct {
	const char *code;
	enum sfs_s3_reason reason;
} codes[] = {
	{"ExpiredToken", SFS_S3_EXPIRED},
	{"ExpiredTokenException", SFS_S3_EXPIRED},
	{"TokenRefreshRequired", SFS_S3_EXPIRED},
	{"InvalidToken", SFS_S3_EXPIRED},
	{"InvalidTokenId", SFS_S3_EXPIRED},
	{"AuthenticationRequired", SFS_S3_EXPIRED}, /* Google's, as the next two */
	{"InvalidAccessKeyId", SFS_S3_NO_ACCESS_KEY},
	{"InvalidSecurity", SFS_S3_NO_ACCESS_KEY},
	{"UserProjectMissing", SFS_S3_PAYER},
	{"SignatureDoesNotMatch", SFS_S3_WRONG_SECRET},
	{"AccessDenied", SFS_S3_DENIED},
	{"AllAccessDisabled", SFS_S3_DENIED},
	{"NoSuchBucket", SFS_S3_NO_BUCKET},
	{"NoSuchKey", SFS_S3_NO_KEY},
	{"PermanentRedirect", SFS_S3_WRONG_REGION},
	{"AuthorizationHeaderMalformed", SFS_S3_WRONG_REGION},
	{"IllegalLocationConstraintException", SFS_S3_WRONG_REGION},
	{"RequestTimeTooSkewed", SFS_S3_CLOCK},
	{"SlowDown", SFS_S3_LATER},
	{"InternalError", SFS_S3_LATER},
	{"ServiceUnavailable", SFS_S3_LATER},
	{"RequestTimeout", SFS_S3_LATER},
};

/* A region goes into the name of a host. */
static void keep_region(char *to, size_t size, const char *text)
{
	size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-");

	if (text[n] == 0 && n > 0 && n < size)
		memcpy(to, text, n + 1);
}

static enum sfs_s3_reason reason_of(const struct sfs_s3_refusal *r)
{
	size_t i;

	for (i = 0; i < SFS_COUNT(codes); i++)
		if (strcmp(codes[i].code, r->code) == 0)
			return codes[i].reason;
	if (r->code[0])
		return SFS_S3_OTHER;
	return r->status == 301	  ? SFS_S3_WRONG_REGION
	       : r->status == 401 ? SFS_S3_EXPIRED
	       : r->status == 403 ? SFS_S3_DENIED
	       : r->status == 404 ? SFS_S3_NO_KEY
				  : SFS_S3_OTHER;
}

void sfs_s3_refusal_read(const struct sfs_http_headers *headers, const char *body,
			 size_t n, struct sfs_s3_refusal *ret)
{
	struct sfs_s3_refusal r = {.status = headers->status, .date_s = headers->date_s};
	enum sfs_xml_token token;
	struct sfs_xml xml;

	keep_region(r.region, sizeof r.region, headers->bucket_region);
	sfs_xml_init(&xml, body ? body : "", body ? n : 0);
	while ((token = sfs_xml_next(&xml)) > SFS_XML_END) {
		if (token != SFS_XML_CLOSE)
			continue;
		if (sfs_xml_at(&xml, "Error/Code"))
			sfs_show_words(xml.text.s, "", r.code, sizeof r.code);
		else if (sfs_xml_at(&xml, "Error/Message"))
			sfs_show_words(xml.text.s, "", r.message, sizeof r.message);
		else if (sfs_xml_at(&xml, "Error/Region"))
			keep_region(r.region, sizeof r.region, xml.text.s);
	}
	sfs_xml_done(&xml);
	r.reason = reason_of(&r);
	*ret = r;
}

int sfs_s3_refusal_err(const struct sfs_s3_refusal *r)
{
	switch (r->reason) {
	case SFS_S3_NO_BUCKET:
	case SFS_S3_NO_KEY: return -ENOENT;
	case SFS_S3_EXPIRED:
	case SFS_S3_NO_ACCESS_KEY:
	case SFS_S3_WRONG_SECRET:
	case SFS_S3_DENIED:
	case SFS_S3_PAYER:
	case SFS_S3_CLOCK: return -EACCES;
	default: return r->status == 401 || r->status == 403 ? -EACCES : -EIO;
	}
}

/* ---- the sentences ---- */

static void describe_denied(const struct sfs_s3_asked *a, char *to, size_t size)
{
	if (a->is_anonymous)
		snprintf(to, size,
			 "the bucket '%s' does not let everybody %s: leave out "
			 "'anonymous', so that requests are signed%s",
			 a->bucket, a->key ? "read this" : "list it",
			 a->key ? " (who may not list the bucket is also denied a "
				  "missing object)"
				: "");
	else if (!a->credentials)
		snprintf(to, size,
			 "the request was not signed, because no credentials were found: "
			 "%s",
			 a->words->no_credentials);
	else
		snprintf(
			to, size,
			"the credentials from %s may not %s: they need %s for the bucket "
			"'%s'",
			a->credentials, a->key ? "read this" : "list it",
			a->key ? a->words->may_read : a->words->may_list, a->bucket);
}

static void describe_region(const struct sfs_s3_refusal *r, const struct sfs_s3_asked *a,
			    char *to, size_t size)
{
	if (r->region[0] && strcmp(r->region, a->region) != 0)
		snprintf(to, size,
			 "the bucket '%s' is in the region %s, not in %s: set region=%s",
			 a->bucket, r->region, a->region, r->region);
	else
		snprintf(to, size,
			 "the bucket '%s' is in another region than %s, and the server "
			 "does not say in which: set region=",
			 a->bucket, a->region);
}

/* MinIO forgets temporary keys when they expire. */
static void describe_access_key(const struct sfs_s3_asked *a, const char *from, char *to,
				size_t size)
{
	if (a->is_temporary)
		snprintf(to, size,
			 "the server does not know the temporary access key from %s: it "
			 "has expired, or is another server's; get new credentials, or "
			 "check endpoint=",
			 from);
	else
		snprintf(to, size,
			 "the server does not know the access key from %s: check it, and "
			 "endpoint=",
			 from);
}

static void describe_expired(const struct sfs_s3_asked *a, char *to, size_t size)
{
	if (!a->credentials)
		describe_denied(a, to, size);
	else
		snprintf(to, size, "the %s from %s has expired or is not valid: %s",
			 a->words->token, a->credentials, a->words->new_token);
}

static void describe_missing(const struct sfs_s3_asked *a, bool is_object, char *to,
			     size_t size)
{
	if (!is_object)
		snprintf(to, size,
			 "there is no bucket '%s' at %s: check its name, and endpoint=",
			 a->bucket, a->url);
	else
		snprintf(to, size, "no such object%s",
			 strstr(a->key, ".tar") ? ""
						: "; to name all *.tar below a prefix, "
						  "put a '/' at its end");
}

/* What to do about it; "" if that is not known. */
static void describe_remedy(const struct sfs_s3_refusal *r, const struct sfs_s3_asked *a,
			    char *to, size_t size)
{
	const char *from = a->credentials ? a->credentials : "nowhere";

	switch (r->reason) {
	case SFS_S3_EXPIRED: describe_expired(a, to, size); break;
	case SFS_S3_NO_ACCESS_KEY: describe_access_key(a, from, to, size); break;
	case SFS_S3_WRONG_SECRET:
		snprintf(to, size,
			 "the secret access key from %s is not that of its access key: "
			 "check it",
			 from);
		break;
	case SFS_S3_DENIED: describe_denied(a, to, size); break;
	case SFS_S3_NO_BUCKET: describe_missing(a, false, to, size); break;
	case SFS_S3_NO_KEY: describe_missing(a, a->key != NULL, to, size); break;
	case SFS_S3_WRONG_REGION: describe_region(r, a, to, size); break;
	case SFS_S3_CLOCK:
		sfs_server_clock_describe(r->date_s, a->now_s, to, size);
		break;
	case SFS_S3_PAYER:
		snprintf(to, size, "the requester pays for the bucket '%s': %s",
			 a->bucket, a->words->payer);
		break;
	default: sfs_show_words(r->message, "", to, size);
	}
}

void sfs_s3_refusal_describe(const struct sfs_s3_refusal *r, const struct sfs_s3_asked *a,
			     char *why, size_t size)
{
	char remedy[600] = "";

	describe_remedy(r, a, remedy, sizeof remedy);
	snprintf(why, size, "HTTP %d%s%s%s%s", r->status, r->code[0] ? " " : "", r->code,
		 remedy[0] ? ": " : "", remedy);
}
