/* SPDX-License-Identifier: MIT */
#include "source/http/response.h"

#include "base/alloc.h"
#include "base/keyhash.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define TAR_BLOCK 512
#define LEAST_TAR 1024 /* two blocks of zeros */
#define MOST_TAR  ((uint64_t)1 << 40) /* as far as shards may be that large */
#define MOST_ODD  3 /* sizes that are odd and differ, until one is believed */

int sfs_response_again(struct sfs_response_error *error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error->why, sizeof error->why, format, args);
	va_end(args);
	error->err = 0;
	error->is_later = false;
	return SFS_RESPONSE_AGAIN;
}

int sfs_response_doubt(struct sfs_response_error *error, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error->why, sizeof error->why, format, args);
	va_end(args);
	error->err = err;
	error->is_later = false;
	return SFS_RESPONSE_AGAIN;
}

int sfs_response_final(struct sfs_response_error *error, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error->why, sizeof error->why, format, args);
	va_end(args);
	error->err = err;
	error->is_later = false;
	return SFS_RESPONSE_FINAL;
}

static const char *or_none(const char *s)
{
	return s && *s ? s : "none";
}

static int changed(struct sfs_response_error *error, const char *what, const char *was,
		   const char *is, const char *hint)
{
	return sfs_response_doubt(
		error, -ESTALE,
		"the object changed since the mount began: %s was %s, is %s%s", what,
		or_none(was), or_none(is), hint);
}

static int changed_size(struct sfs_response_error *error, uint64_t size, uint64_t total)
{
	char was[32], is[32];

	snprintf(was, sizeof was, "%llu", (unsigned long long)size);
	snprintf(is, sizeof is, "%llu", (unsigned long long)total);
	return changed(error, "its size", was, is, "");
}

static int changed_validator(struct sfs_response_error *error, const char *what,
			     const char *was, const char *is)
{
	return changed(error, what, was, is,
		       "; for replicas that disagree, use verify=size");
}

static bool is_same(const char *was, const char *is)
{
	return strcmp(was ? was : "", is) == 0;
}

/* Is it of the version that was asked for its size? */
static int check_version(const struct sfs_http_query *q, const struct sfs_http_headers *a,
			 struct sfs_response_error *error)
{
	const struct sfs_object *o = q->object;

	if (a->total != SFS_HTTP_UNKNOWN && a->total != o->size)
		return changed_size(error, o->size, a->total);
	if (q->verify_size_only)
		return 0;
	if (!is_same(o->tag, a->etag))
		return changed_validator(error, "its ETag", o->tag, a->etag);
	if (!sfs_http_etag_is_strong(a->etag) && !is_same(o->modified, a->last_modified))
		return changed_validator(error, "Last-Modified", o->modified,
					 a->last_modified);
	return 0;
}

/* 206 to a read. */
static int check_range(const struct sfs_http_query *q, const struct sfs_http_headers *a,
		       struct sfs_response_error *error)
{
	if (a->is_multipart || !a->has_range)
		return sfs_response_again(error,
					  "HTTP 206 without a usable Content-Range");
	if (a->first != q->first || a->last > q->last)
		return sfs_response_again(error,
					  "asked for bytes %llu-%llu, got %llu-%llu",
					  (unsigned long long)q->first,
					  (unsigned long long)q->last,
					  (unsigned long long)a->first,
					  (unsigned long long)a->last);
	if (a->length != SFS_HTTP_UNKNOWN && a->length != a->last - a->first + 1)
		return sfs_response_again(
			error, "Content-Length %llu does not match Content-Range",
			(unsigned long long)a->length);
	return check_version(q, a, error);
}

/* 200 to a read: the whole object, which is right only if all was asked for. */
static int check_whole(const struct sfs_http_query *q, const struct sfs_http_headers *a,
		       struct sfs_response_error *error)
{
	struct sfs_http_headers whole = *a;

	if (a->length != q->object->size || q->first != 0 || q->last + 1 != a->length)
		return sfs_response_again(
			error, "HTTP 200 for a range: the server ignores Range");
	whole.total = a->length;
	return check_version(q, &whole, error);
}

/* ---- the size ---- */

static uint64_t version_of(const struct sfs_http_headers *a)
{
	uint64_t hash = sfs_keyhash(a->last_modified, strlen(a->last_modified));

	return a->etag[0] || a->last_modified[0]
		       ? sfs_keyhash_prepend(hash, a->etag, strlen(a->etag))
		       : 0;
}

static int take_claim(const struct sfs_http_headers *a, uint64_t size,
		      struct sfs_response_error *error)
{
	error->claim = (struct sfs_claim){
		.size = size,
		.version = a->status == 416 ? 0 : version_of(a),
		.is_explicit = a->status == 416 && a->total == 0,
	};
	return SFS_RESPONSE_TINY;
}

/* 200 to a request for the whole of an object that is said to be tiny. */
static int confirm(const struct sfs_http_query *q, const struct sfs_http_headers *a,
		   struct sfs_response_error *error)
{
	const struct sfs_claim *claim = q->claim;
	uint64_t version = version_of(a);

	if (a->status == 200 && a->length == claim->size &&
	    (version != 0 || claim->is_explicit) &&
	    (claim->version == 0 || claim->version == version))
		return SFS_RESPONSE_BYTES;
	return sfs_response_again(
		error,
		"the server claimed a size of %llu bytes, which no tar has, and did not "
		"confirm it",
		(unsigned long long)claim->size);
}

/* A tar consists of whole blocks, and not of too many.  If this one does not, the server
 * says so again; but it need not be a tar for ever. */
static bool is_odd(const struct sfs_http_query *q, uint64_t size)
{
	return (size % TAR_BLOCK != 0 || size > MOST_TAR) && !q->may_be_tiny &&
	       size != q->odd_size && q->n_odd < MOST_ODD;
}

/* 206 or 200 to an ask. */
static int take_ask(const struct sfs_http_query *q, const struct sfs_http_headers *a,
		    struct sfs_response_error *error)
{
	if (q->claim)
		return confirm(q, a, error);
	if (a->status == 200 && a->length == 0)
		return take_claim(a, 0, error);
	if (a->status == 200 && q->may_be_tiny)
		return sfs_response_final(
			error, -EOPNOTSUPP,
			"HTTP 200 for a range: the server ignores Range");
	if (a->status == 200 && a->is_page)
		return sfs_response_doubt(
			error, -EOPNOTSUPP,
			"a web page (HTTP 200, text/html), perhaps a log-in "
			"or error page, instead of a file with ranges");
	if (a->status == 200)
		return sfs_response_doubt(
			error, -EOPNOTSUPP,
			"the server does not serve ranges (it answered "
			"HTTP 200 to a request for %d bytes); shufflefs needs them",
			(int)(q->last + 1));
	if (a->is_multipart || !a->has_range || a->first != 0 || a->last > q->last ||
	    (q->is_exact && a->last < q->last))
		return sfs_response_again(error,
					  "HTTP 206 without a usable Content-Range");
	if (a->total == SFS_HTTP_UNKNOWN)
		return sfs_response_doubt(
			error, -EOPNOTSUPP,
			"the server does not say how large the object is "
			"(Content-Range without a total)");
	if (a->total < LEAST_TAR && !q->may_be_tiny)
		return take_claim(a, a->total, error);
	if (is_odd(q, a->total)) {
		error->claim.size = a->total;
		return SFS_RESPONSE_ODD;
	}
	return SFS_RESPONSE_BYTES;
}

/* 416: there are no such bytes. */
static int take_unsatisfied(const struct sfs_http_query *q,
			    const struct sfs_http_headers *a,
			    struct sfs_response_error *error)
{
	bool says_empty = a->total == 0 || a->total == SFS_HTTP_UNKNOWN;

	if (q->is_ask && q->claim)
		return confirm(q, a, error);
	if (q->is_ask && says_empty)
		return take_claim(a, 0, error);
	if (!q->is_ask && a->total != SFS_HTTP_UNKNOWN && a->total != q->object->size)
		return changed_size(error, q->object->size, a->total);
	return sfs_response_again(error, "HTTP 416 to a range within the object");
}

/* 412: the object is not the one that If-Match named. */
static int take_mismatch(const struct sfs_http_query *q, const struct sfs_http_headers *a,
			 struct sfs_response_error *error)
{
	if (!q->if_match)
		return sfs_response_again(error,
					  "HTTP 412 to a request without a condition");
	if (strcmp(q->if_match, a->etag) == 0)
		return sfs_response_again(error,
					  "HTTP 412, though the ETag is the right one");
	return changed_validator(error, "its ETag", q->if_match,
				 a->etag[0] ? a->etag : "another");
}

bool sfs_response_is_later(int status)
{
	return status == 408 || status == 425 || status == 429 ||
	       (status >= 500 && status != 501 && status != 505);
}

enum sfs_response_outcome sfs_response_told(bool says_later, int status,
					    enum sfs_response_outcome outcome)
{
	if (says_later)
		return SFS_RESPONSE_AGAIN;
	return sfs_response_is_later(status) ? outcome : SFS_RESPONSE_FINAL;
}

/* S3 hides what there is from those who may not list the bucket. */
static int take_forbidden(const struct sfs_http_query *q,
			  const struct sfs_http_headers *a,
			  struct sfs_response_error *error)
{
	return sfs_response_final(error, -EACCES, "HTTP 403%s",
				  q->is_ask && a->is_like_s3 ? " (S3 says so of a missing object, too, to "
					      "those who may not list its bucket)"
					    : "");
}

/* A read is of an object that was there. */
static int take_missing(const struct sfs_http_query *q, const struct sfs_http_headers *a,
			struct sfs_response_error *error)
{
	return q->is_ask ? sfs_response_final(error, -ENOENT, "HTTP %d", a->status)
			 : sfs_response_doubt(error, -ENOENT, "HTTP %d", a->status);
}

static int take_failure(const struct sfs_http_query *q, const struct sfs_http_headers *a,
			struct sfs_response_error *error)
{
	switch (a->status) {
	case 301:
	case 302:
	case 303:
	case 307:
	case 308: return SFS_RESPONSE_REDIRECT;
	case 416: return take_unsatisfied(q, a, error);
	case 412: return take_mismatch(q, a, error);
	case 403: return take_forbidden(q, a, error);
	case 401:
	case 407: return sfs_response_final(error, -EACCES, "HTTP %d", a->status);
	case 404:
	case 410: return take_missing(q, a, error);
	case 0: return sfs_response_again(error, "a response without an HTTP status");
	}
	if (a->status >= 500 || sfs_response_is_later(a->status))
		return sfs_response_again(error, "HTTP %d", a->status);
	return sfs_response_doubt(error, -EIO, "HTTP %d", a->status);
}

enum sfs_response_outcome sfs_response_judge(const struct sfs_http_query *q,
					     const struct sfs_http_headers *a,
					     struct sfs_response_error *error)
{
	if (a->status != 206 && a->status != 200)
		return take_failure(q, a, error);
	if (a->encoding[0])
		return sfs_response_doubt(
			error, -EIO,
			"the server sent Content-Encoding '%s', which was not asked for",
			a->encoding);
	if (a->is_ambiguous)
		return sfs_response_again(error, "HTTP %d with two lengths or two ranges",
					  a->status);
	if (q->is_ask)
		return take_ask(q, a, error);
	return a->status == 206 ? check_range(q, a, error) : check_whole(q, a, error);
}

enum sfs_response_outcome sfs_response_judge_listed(const struct sfs_http_query *q,
						    const struct sfs_http_headers *a,
						    struct sfs_response_error *error)
{
	enum sfs_response_outcome outcome = sfs_response_judge(q, a, error);
	const struct sfs_object *o = q->object;

	if (outcome == SFS_RESPONSE_BYTES && q->is_ask && a->status == 206 &&
	    o->size != SFS_SIZE_UNKNOWN &&
	    (a->total != o->size ||
	     (!q->verify_size_only && o->tag && strcmp(o->tag, a->etag) != 0)))
		return (enum sfs_response_outcome)sfs_response_doubt(
			error, -ESTALE, "the object changed since it was listed");
	return outcome;
}

void sfs_response_learn(struct sfs_object *o, const struct sfs_http_headers *a)
{
	struct tm tm = {0};

	free(o->tag);
	free(o->modified);
	o->tag = a->etag[0] ? sfs_strdup(a->etag) : NULL;
	o->has_strong_tag = sfs_http_etag_is_strong(a->etag);
	o->modified = a->last_modified[0] ? sfs_strdup(a->last_modified) : NULL;
	if (strptime(a->last_modified, "%a, %d %b %Y %H:%M:%S GMT", &tm))
		o->mtime_s = timegm(&tm);
	o->size = a->status == 206 ? a->total : a->length;
}
