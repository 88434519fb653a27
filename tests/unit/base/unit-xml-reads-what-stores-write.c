/* SPDX-License-Identifier: MIT */
#include "base/xml.h"

#include "check.h"

#include <stdbool.h>

/* The text of the element at `path`, or NULL if the XML is bad; "-" if there is none. */
static const char *text_at(const char *text, const char *path)
{
	static char found[256];
	enum sfs_xml_token token;
	struct sfs_xml xml;

	strcpy(found, "-");
	sfs_xml_init(&xml, text, strlen(text));
	while ((token = sfs_xml_next(&xml)) > SFS_XML_END)
		if (token == SFS_XML_CLOSE && sfs_xml_at(&xml, path))
			snprintf(found, sizeof found, "%s", xml.text.s);
	if (token == SFS_XML_BAD) {
		CHECK_HAS(xml.error.text, "line ");
		CHECK_EQ(sfs_xml_next(&xml), SFS_XML_BAD);
	}
	sfs_xml_done(&xml);
	return token == SFS_XML_END ? found : NULL;
}

static void is_bad(const char *text)
{
	const char *found = text_at(text, "a");

	if (found)
		fprintf(stderr, "'%s' was read\n", text);
	CHECK(!found);
}

static void check_good(void)
{
	CHECK_STR(text_at("<a>x</a>", "a"), "x");
	CHECK_STR(
		text_at("<?xml version='1.0'?>\n<a b='c>' d=\"e\"><b/>\n<c>y</c ></a>\n",
			"a/c"),
		"y");
	CHECK_STR(text_at("<a><b/></a>", "a/b"), "");
	CHECK_STR(text_at("<a>&lt;&gt;&amp;&quot;&apos;</a>", "a"), "<>&\"'");
	CHECK_STR(text_at("<a>&#34;&#x26;&#xe9;&#x65e5;&#128512;</a>", "a"), "\"&é日😀");
	CHECK_STR(text_at("<a>x<!-- <b> -->y<![CDATA[<&]]>z</a>", "a"), "xy<&z");
	CHECK_STR(text_at("\xef\xbb\xbf<a>x</a>", "a"), "x");
	CHECK_STR(text_at("<a><b>x</b><b>y</b></a>", "a/b"), "y");
	CHECK_STR(text_at("<a><b>x</b></a>", "a/bb"), "-");
	CHECK_STR(text_at("<a><b>x</b></a>", "b"), "-");
	CHECK_STR(text_at("<a><b><c>x</c></b></a>", "a/b"), "");
}

static void check_bad(void)
{
	static const char *const texts[] = {
		"",
		" ",
		"x",
		"<a>",
		"<a",
		"</a>",
		"<a></b>",
		"<a><b></a></b>",
		"<a/><b/>",
		"<a/>x",
		"x<a/>",
		"<a>&bad;</a>",
		"<a>&#0;</a>",
		"<a>&#xd800;</a>",
		"<a>&#x110000;</a>",
		"<a>&#99999999999;</a>",
		"<a>&#;</a>",
		"<a>&#1a;</a>",
		"<a>\x01</a>",
		"<a>\xff</a>",
		"<a>\xc3</a>",
		"<a>&</a>",
		"<a b></a>",
		"<a b=c></a>",
		"<a b='></a>",
		"<a b='<'></a>",
		"<!DOCTYPE a><a/>",
		"<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>",
		"<a><!-- </a>",
		"<a><![CDATA[</a>",
		"<? <a/>",
		"< a/>",
		"<a / >",
	};
	size_t i;

	for (i = 0; i < sizeof texts / sizeof texts[0]; i++)
		is_bad(texts[i]);
}

static void check_depth(void)
{
	char text[7 * SFS_XML_DEPTH + 16] = "";
	int n, i;

	for (n = SFS_XML_DEPTH; n <= SFS_XML_DEPTH + 1; n++) {
		text[0] = 0;
		for (i = 0; i < n; i++)
			strcat(text, "<a>");
		for (i = 0; i < n; i++)
			strcat(text, "</a>");
		CHECK((text_at(text, "a") != NULL) == (n == SFS_XML_DEPTH));
	}
}

int main(void)
{
	check_good();
	check_bad();
	check_depth();
	return 0;
}
