/* SPDX-License-Identifier: MIT */
/* xml - reads an XML text element by element, from memory: as much of XML as the servers
 * of stores write.
 *
 * Strict about that: one root, each tag closed by its own, nested at most SFS_XML_DEPTH
 * deep, UTF-8, only the five entities and characters by number.  There is no DOCTYPE, so
 * nothing can expand.  Attributes are checked and skipped.  It builds nothing.
 *
 *	struct sfs_xml xml;
 *
 *	sfs_xml_init(&xml, bytes, n);
 *	while ((token = sfs_xml_next(&xml)) > SFS_XML_END)
 *		if (token == SFS_XML_CLOSE && sfs_xml_at(&xml, "Error/Code"))
 *			... xml.text.s
 *	sfs_xml_done(&xml);
 *
 * Pure; one thread.
 */
#ifndef SFS_XML_H
#define SFS_XML_H

#include "base/error.h"
#include "base/strbuf.h"

#include <stdbool.h>
#include <stddef.h>

#define SFS_XML_DEPTH 16

enum sfs_xml_token {
	SFS_XML_BAD, /* `error` says in which line and why; all that follow are BAD */
	SFS_XML_END, /* after the root */
	SFS_XML_OPEN,
	SFS_XML_CLOSE, /* `text` holds the characters since the last tag; never NULs */
};

struct sfs_xml {
	struct sfs_strbuf text;
	struct sfs_error error;

	const char *begin, *p, *end;
	struct {
		const char *name;
		size_t n;
	} open[SFS_XML_DEPTH];
	int depth;	 /* how many are open; at CLOSE with the one that closes */
	bool closes;	 /* at OPEN of "<a/>": its CLOSE is next */
	bool has_closed; /* the last token was CLOSE */
	bool has_root;
};

/* The n bytes are borrowed until sfs_xml_done(). */
void sfs_xml_init(struct sfs_xml *xml, const char *bytes, size_t n);
void sfs_xml_done(struct sfs_xml *xml);

enum sfs_xml_token sfs_xml_next(struct sfs_xml *xml);

/* Is the element that was opened or closed last at this path: "Error/Code"? */
bool sfs_xml_at(const struct sfs_xml *xml, const char *path);

#endif
