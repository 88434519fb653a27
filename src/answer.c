/* SPDX-License-Identifier: MIT */
#include "answer.h"

#include "mem.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

int sfs_answer_again(struct sfs_answer_verdict *v, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(v->why, sizeof v->why, format, args);
	va_end(args);
	return SFS_ANSWER_AGAIN;
}

int sfs_answer_final(struct sfs_answer_verdict *v, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(v->why, sizeof v->why, format, args);
	va_end(args);
	v->err = err;
	return SFS_ANSWER_FINAL;
}

static int changed(struct sfs_answer_verdict *v, const char *what, const char *was,
		   const char *is)
{
	return sfs_answer_final(
		v, -ESTALE, "the object changed since the mount began: %s was %s, is %s",
		what, *was ? was : "none", *is ? is : "none");
}

/* Is the answer of the version that was asked for its size? */
static int check_version(const struct sfs_question *q, const struct sfs_http_answer *a,
			 struct sfs_answer_verdict *v)
{
	const struct sfs_object *o = q->object;
	char was[32], is[32];

	if (a->total != SFS_HTTP_UNKNOWN && a->total != o->size) {
		snprintf(was, sizeof was, "%llu", (unsigned long long)o->size);
		snprintf(is, sizeof is, "%llu", (unsigned long long)a->total);
		return changed(v, "its size", was, is);
	}
	if (q->verify_size_only)
		return 0;
	if (o->tag && sfs_http_etag_is_strong(a->etag)) {
		if (strcmp(o->tag, a->etag) != 0)
			return changed(v, "its ETag", o->tag, a->etag);
	} else if (strcmp(o->modified ? o->modified : "", a->last_modified) != 0) {
		return changed(v, "Last-Modified", o->modified ? o->modified : "",
			       a->last_modified);
	}
	return 0;
}

/* 206 to a read. */
static int check_range(const struct sfs_question *q, const struct sfs_http_answer *a,
		       struct sfs_answer_verdict *v)
{
	if (a->is_multipart || !a->has_range)
		return sfs_answer_again(v, "HTTP 206 without a usable Content-Range");
	if (a->first != q->first || a->last > q->last)
		return sfs_answer_again(v, "asked for bytes %llu-%llu, got %llu-%llu",
					(unsigned long long)q->first,
					(unsigned long long)q->last,
					(unsigned long long)a->first,
					(unsigned long long)a->last);
	if (a->length != SFS_HTTP_UNKNOWN && a->length != a->last - a->first + 1)
		return sfs_answer_again(
			v, "Content-Length %llu does not match Content-Range",
			(unsigned long long)a->length);
	return check_version(q, a, v);
}

/* 200 to a read: the whole object, which is right only if all was asked for. */
static int check_whole(const struct sfs_question *q, const struct sfs_http_answer *a,
		       struct sfs_answer_verdict *v)
{
	struct sfs_http_answer whole = *a;

	if (a->length != q->object->size || q->first != 0 || q->last + 1 != a->length)
		return sfs_answer_again(v,
					"HTTP 200 for a range: the server ignores Range");
	whole.total = a->length;
	return check_version(q, &whole, v);
}

/* 206 or 200 to an ask. */
static int take_ask(const struct sfs_question *q, const struct sfs_http_answer *a,
		    struct sfs_answer_verdict *v)
{
	if (a->status == 200 && a->length == 0)
		return SFS_ANSWER_EMPTY;
	if (a->status == 200 && a->is_page)
		return sfs_answer_final(
			v, -EOPNOTSUPP,
			"a web page (HTTP 200, text/html), perhaps a log-in "
			"or error page, instead of a file with ranges");
	if (a->status == 200)
		return sfs_answer_final(
			v, -EOPNOTSUPP,
			"the server does not serve ranges (it answered "
			"HTTP 200 to a request for %d bytes); shufflefs needs them",
			(int)(q->last + 1));
	if (a->is_multipart || !a->has_range || a->first != 0 || a->last > q->last)
		return sfs_answer_again(v, "HTTP 206 without a usable Content-Range");
	if (a->total == SFS_HTTP_UNKNOWN)
		return sfs_answer_final(v, -EOPNOTSUPP,
					"the server does not say how large the object is "
					"(Content-Range without a total)");
	return 0;
}

static int take_failure(const struct sfs_question *q, const struct sfs_http_answer *a,
			struct sfs_answer_verdict *v)
{
	switch (a->status) {
	case 301:
	case 302:
	case 303:
	case 307:
	case 308: return SFS_ANSWER_REDIRECT;
	case 416:
		if (q->is_ask && (a->total == 0 || a->total == SFS_HTTP_UNKNOWN))
			return SFS_ANSWER_EMPTY;
		return sfs_answer_final(v, -ESTALE,
					"HTTP 416: the object became shorter");
	case 412:
		return changed(v, "its ETag", q->if_match ? q->if_match : "",
			       a->etag[0] ? a->etag : "another");
	case 401:
	case 403:
	case 407: return sfs_answer_final(v, -EACCES, "HTTP %d", a->status);
	case 404:
	case 410: return sfs_answer_final(v, -ENOENT, "HTTP %d", a->status);
	case 408:
	case 425:
	case 429: return sfs_answer_again(v, "HTTP %d", a->status);
	}
	if (a->status >= 500)
		return sfs_answer_again(v, "HTTP %d", a->status);
	return sfs_answer_final(v, -EIO, "HTTP %d", a->status);
}

enum sfs_answer_outcome sfs_answer_judge(const struct sfs_question *q,
					 const struct sfs_http_answer *a,
					 struct sfs_answer_verdict *v)
{
	if (a->status != 206 && a->status != 200)
		return take_failure(q, a, v);
	if (a->encoding[0])
		return sfs_answer_final(
			v, -EIO,
			"the server sent Content-Encoding '%s', which was not asked for",
			a->encoding);
	if (q->is_ask)
		return take_ask(q, a, v);
	return a->status == 206 ? check_range(q, a, v) : check_whole(q, a, v);
}

void sfs_answer_learn(struct sfs_object *o, const struct sfs_http_answer *a)
{
	struct tm tm = {0};

	free(o->tag);
	free(o->modified);
	o->tag = sfs_http_etag_is_strong(a->etag) ? sfs_strdup(a->etag) : NULL;
	o->modified = a->last_modified[0] ? sfs_strdup(a->last_modified) : NULL;
	if (strptime(a->last_modified, "%a, %d %b %Y %H:%M:%S GMT", &tm))
		o->mtime_s = timegm(&tm);
	o->size = a->status == 206 ? a->total : 0;
}
