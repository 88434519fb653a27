/* SPDX-License-Identifier: MIT */
#include "source/azure/azure-page.h"

#include "base/alloc.h"
#include "base/xml.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#define BLOB	   "EnumerationResults/Blobs/Blob"
#define PROPERTIES BLOB "/Properties/"

struct reader {
	struct sfs_listing page;
	struct sfs_listing_item item;
	bool has_size, is_folder;
};

static void replace(char **field, char *value)
{
	free(*field);
	*field = value;
}

/* "Wed, 25 Nov 2026 08:00:00 GMT" */
static int64_t read_time(const char *s)
{
	struct tm tm = {0};

	return strptime(s, "%a, %d %b %Y %H:%M:%S", &tm) ? (int64_t)timegm(&tm) : 0;
}

/* In a listing a tag has no quotes. */
static char *read_tag(const char *s)
{
	if (!*s)
		return NULL;
	return *s == '"' || strncmp(s, "W/", 2) == 0 ? sfs_strdup(s)
						     : sfs_asprintf("\"%s\"", s);
}

/* With a hierarchical namespace, folders are listed like blobs. */
static const char *take_blob(struct reader *r)
{
	const char *why = !r->item.key || !*r->item.key ? "a blob without its Name"
			  : !r->has_size && !r->is_folder
				  ? "a blob without its Content-Length"
				  : NULL;

	if (!why && !r->is_folder)
		sfs_listing_add(&r->page, &r->item);
	sfs_listing_item_done(&r->item);
	r->has_size = r->is_folder = false;
	return why;
}

/* An element has closed.  NULL, or what is wrong. */
static const char *azure_page_take(struct reader *r, const struct sfs_xml *xml)
{
	const char *text = xml->text.s;

	if (sfs_xml_at(xml, BLOB))
		return take_blob(r);
	if (sfs_xml_at(xml, BLOB "/Name")) {
		replace(&r->item.key, sfs_strdup(text));
	} else if (sfs_xml_at(xml, PROPERTIES "Content-Length")) {
		r->has_size = sfs_listing_read_size(text, &r->item.size);
		if (!r->has_size)
			return "a Content-Length that is not a number";
	} else if (sfs_xml_at(xml, PROPERTIES "Etag")) {
		replace(&r->item.tag, read_tag(text));
	} else if (sfs_xml_at(xml, PROPERTIES "Last-Modified")) {
		r->item.mtime_s = read_time(text);
	} else if (sfs_xml_at(xml, PROPERTIES "ResourceType")) {
		r->is_folder = strcmp(text, "directory") == 0;
	} else if (sfs_xml_at(xml, "EnumerationResults/NextMarker")) {
		if (*text)
			replace(&r->page.next, sfs_strdup(text));
	}
	return NULL;
}

int sfs_azure_page_read(const char *bytes, size_t n, struct sfs_listing *ret,
			struct sfs_error *err)
{
	enum sfs_xml_token token = SFS_XML_BAD;
	const char *why = NULL;
	struct reader r = {0};
	struct sfs_xml xml;

	sfs_xml_init(&xml, bytes, n);
	while (!why && (token = sfs_xml_next(&xml)) > SFS_XML_END) {
		if (token == SFS_XML_CLOSE)
			why = azure_page_take(&r, &xml);
		else if (xml.depth == 1 && !sfs_xml_at(&xml, "EnumerationResults"))
			why = "it is not an EnumerationResults";
	}
	if (!why && token == SFS_XML_BAD)
		why = xml.error.text;
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
