/* SPDX-License-Identifier: MIT */
/* How this works: whether keys are percent-encoded is said somewhere on the page, and
 * perhaps behind them, so they are decoded when all of it was read. */
#include "source/s3/s3-page.h"

#include "base/alloc.h"
#include "base/xml.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

struct reader {
	struct sfs_listing page;
	struct sfs_listing_item item;
	bool has_generations, has_size, is_truncated, has_truncated, is_encoded;
};

static void replace(char **field, const char *value)
{
	free(*field);
	*field = sfs_strdup(value);
}

/* "2026-11-25T08:00:00.000Z" */
static int64_t read_time(const char *s)
{
	struct tm tm = {0};

	return strptime(s, "%Y-%m-%dT%H:%M:%S", &tm) ? (int64_t)timegm(&tm) : 0;
}

static void take_generation(struct sfs_listing_item *item, const char *text)
{
	free(item->tag);
	item->tag = sfs_asprintf(SFS_S3_GENERATION_TAG, text);
}

/* An element has closed.  NULL, or what is wrong. */
static const char *s3_page_take(struct reader *r, const struct sfs_xml *xml)
{
	const char *text = xml->text.s;
	uint64_t generation;

	if (sfs_xml_at(xml, "ListBucketResult/Contents")) {
		if (!r->item.key || !r->has_size)
			return "an object without its Key or Size";
		sfs_listing_add(&r->page, &r->item);
		r->has_size = false;
	} else if (sfs_xml_at(xml, "ListBucketResult/Contents/Key")) {
		replace(&r->item.key, text);
	} else if (sfs_xml_at(xml, "ListBucketResult/Contents/Size")) {
		r->has_size = sfs_listing_read_size(text, &r->item.size);
		if (!r->has_size)
			return "a Size that is not a number";
	} else if (sfs_xml_at(xml, "ListBucketResult/Contents/ETag")) {
		if (*text && !r->has_generations)
			replace(&r->item.tag, text);
	} else if (sfs_xml_at(xml, "ListBucketResult/Contents/Generation")) {
		if (r->has_generations && sfs_listing_read_size(text, &generation))
			take_generation(&r->item, text);
	} else if (sfs_xml_at(xml, "ListBucketResult/Contents/LastModified")) {
		r->item.mtime_s = read_time(text);
	} else if (sfs_xml_at(xml, "ListBucketResult/NextContinuationToken")) {
		if (*text)
			replace(&r->page.next, text);
	} else if (sfs_xml_at(xml, "ListBucketResult/EncodingType")) {
		r->is_encoded = strcmp(text, "url") == 0;
	} else if (sfs_xml_at(xml, "ListBucketResult/IsTruncated")) {
		r->is_truncated = strcmp(text, "true") == 0;
		r->has_truncated = r->is_truncated || strcmp(text, "false") == 0;
	}
	return NULL;
}

static int hex_value(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

/* As forms have it: '+' is a space.  In place; false: there is a NUL, or
 * half an escape. */
static bool decode(char *s)
{
	char *to = s;

	for (; *s; s++) {
		if (*s == '%') {
			if (!isxdigit((unsigned char)s[1]) ||
			    !isxdigit((unsigned char)s[2]))
				return false;
			*to = (char)(hex_value(s[1]) * 16 + hex_value(s[2]));
			if (*to++ == 0)
				return false;
			s += 2;
		} else {
			*to++ = *s == '+' ? ' ' : *s;
		}
	}
	*to = 0;
	return true;
}

static const char *finish(struct reader *r, const struct sfs_xml *xml)
{
	size_t i;

	/* Emulators of Google's do not say it. */
	if (!r->has_truncated && r->has_generations)
		r->is_truncated = r->page.next != NULL;
	else if (!r->has_truncated)
		return "it does not say whether it is the last page (IsTruncated)";
	if (r->is_truncated && !r->page.next)
		return "more pages, but no NextContinuationToken";
	if (!r->is_truncated)
		free(steal(&r->page.next));
	for (i = 0; r->is_encoded && i < r->page.n; i++)
		if (!decode(r->page.items[i].key))
			return "a Key that is not percent-encoded as it should be";
	return NULL;
}

int sfs_s3_page_read(const char *bytes, size_t n, bool has_generations,
		     struct sfs_listing *ret, struct sfs_error *err)
{
	enum sfs_xml_token token = SFS_XML_BAD;
	const char *why = NULL;
	struct reader r = {.has_generations = has_generations};
	struct sfs_xml xml;

	sfs_xml_init(&xml, bytes, n);
	while (!why && (token = sfs_xml_next(&xml)) > SFS_XML_END) {
		if (token == SFS_XML_CLOSE)
			why = s3_page_take(&r, &xml);
		else if (xml.depth == 1 && !sfs_xml_at(&xml, "ListBucketResult"))
			why = "it is not a ListBucketResult";
	}
	if (!why)
		why = token == SFS_XML_BAD ? xml.error.text : finish(&r, &xml);
	if (why)
		sfs_error_set(err, -EBADMSG, "%s", why);
	sfs_xml_done(&xml);
	sfs_listing_item_done(&r.item);
	if (why) {
		sfs_listing_done(&r.page);
		return -EBADMSG;
	}
	*ret = r.page;
	return 0;
}
