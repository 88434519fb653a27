/* SPDX-License-Identifier: MIT */
#include "base/alloc.h"
#include "check.h"
#include "source/azure/azure-page.h"

#include <errno.h>

#define LIST(inner)                                                               \
	"\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"utf-8\"?><EnumerationResults " \
	"ServiceEndpoint=\"https://a/\" ContainerName=\"c\">" inner "</EnumerationResults>"
#define BLOB(name, properties) \
	"<Blob><Name>" name "</Name><Properties>" properties "</Properties></Blob>"

static struct sfs_listing page;

static void read_page(const char *text)
{
	struct sfs_error err = {0};

	sfs_listing_done(&page);
	if (sfs_azure_page_read(text, strlen(text), &page, &err) < 0)
		fprintf(stderr, "%s\n", err.text);
	CHECK(!err.text[0]);
}

static void refused(const char *text, const char *why)
{
	struct sfs_listing untouched = {.n = 7};
	struct sfs_error err = {0};

	CHECK_EQ(sfs_azure_page_read(text, strlen(text), &untouched, &err), -EBADMSG);
	CHECK_HAS(err.text, why);
	CHECK_EQ(untouched.n, 7);
}

int main(void)
{
	/* Tags have no quotes; a folder of a hierarchical namespace is no blob. */
	read_page(
		LIST("<Prefix>x</Prefix><Blobs>" BLOB(
			"x/a+b%20 &amp;\xc3\xa9.tar",
			"<Creation-Time>Wed, 25 Nov 2026 07:00:00 GMT</Creation-Time>"
			"<Last-Modified>Wed, 25 Nov 2026 08:00:01 GMT</Last-Modified>"
			"<Etag>0x8CBFF45D8A29A19</Etag>"
			"<Content-Length>9007199254740993</Content-Length>")
			     BLOB("f.tar", "<ResourceType>directory</ResourceType>"
					   "<Etag>0x1</Etag>")
				     BLOB("b.tar", "<Content-Length>0</Content-Length>"
						   "<Etag>\"0x2\"</Etag>")
					     BLOB("c.tar", "<Content-Length>1"
							   "</Content-Length><Etag/>")
		     "<BlobPrefix><Name>p/</Name></BlobPrefix></Blobs>"
		     "<NextMarker>2!4-&lt;</NextMarker>"));
	CHECK_EQ(page.n, 3);
	CHECK_STR(page.items[0].key, "x/a+b%20 &\xc3\xa9.tar");
	CHECK_EQ(page.items[0].size, 9007199254740993);
	CHECK_STR(page.items[0].tag, "\"0x8CBFF45D8A29A19\"");
	CHECK_EQ(page.items[0].mtime_s, 1795593601);
	CHECK_STR(page.items[1].key, "b.tar");
	CHECK_EQ(page.items[1].size, 0);
	CHECK_STR(page.items[1].tag, "\"0x2\"");
	CHECK_STR(page.items[2].key, "c.tar");
	CHECK(!page.items[2].tag);
	CHECK_STR(page.next, "2!4-<");

	read_page(LIST("<Blobs /><NextMarker />"));
	CHECK_EQ(page.n, 0);
	CHECK(!page.next);
	sfs_listing_done(&page);

	refused("", "ends too early");
	refused("<html><body/></html>", "not an EnumerationResults");
	refused("<Error><Code>x</Code></Error>", "not an EnumerationResults");
	refused(LIST("<Blobs>" BLOB("a", "") "</Blobs>"), "Content-Length");
	refused(LIST("<Blobs>" BLOB("", "<Content-Length>1</Content-Length>") "</Blobs>"),
		"Name");
	refused(LIST("<Blobs>" BLOB("a",
				    "<Content-Length>-1</Content-Length>") "</Blobs>"),
		"not a number");
	refused(LIST("<Blobs><Blob>"), "closes");
	return 0;
}
