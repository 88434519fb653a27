/* SPDX-License-Identifier: MIT */
/* Pages as AWS, MinIO and others write them: where IsTruncated and EncodingType come, and
 * whether keys are encoded, differs. */
#include "base/alloc.h"
#include "check.h"
#include "source/s3/s3-page.h"

#include <errno.h>
#include <stdbool.h>

#define LIST(inner)                                                   \
	"<?xml version=\"1.0\"?><ListBucketResult xmlns=\"x\">" inner \
	"</ListBucketResult>"
#define LAST  "<IsTruncated>false</IsTruncated>"
#define A_TAR "<Contents><Key>a.tar</Key><Size>5</Size></Contents>"

static struct sfs_listing page;

static void read_page_of(const char *text, bool has_generations)
{
	struct sfs_error err = {0};

	sfs_listing_done(&page);
	if (sfs_s3_page_read(text, strlen(text), has_generations, &page, &err) < 0)
		fprintf(stderr, "%s\n", err.text);
	CHECK(!err.text[0]);
}

static void read_page(const char *text)
{
	read_page_of(text, false);
}

static void refused(const char *text, const char *why)
{
	struct sfs_listing untouched = {.n = 7};
	struct sfs_error err = {0};

	CHECK_EQ(sfs_s3_page_read(text, strlen(text), false, &untouched, &err), -EBADMSG);
	CHECK_HAS(err.text, why);
	CHECK_EQ(untouched.n, 7);
}

int main(void)
{
	read_page(LIST("<IsTruncated>true</IsTruncated>"
		       "<NextContinuationToken>a+b/c==</NextContinuationToken>"
		       "<Contents><Key>x/a+b%20c%2B%C3%A9%25.tar</Key>"
		       "<LastModified>2026-11-25T08:00:01.000Z</LastModified>"
		       "<ETag>&#34;abc-2&#34;</ETag><Size>9007199254740993</Size>"
		       "<StorageClass>STANDARD</StorageClass><Owner><ID>1</ID></Owner>"
		       "</Contents>" A_TAR
		       "<CommonPrefixes><Prefix>x/</Prefix></CommonPrefixes>"
		       "<EncodingType>url</EncodingType>"));
	CHECK_EQ(page.n, 2);
	CHECK_STR(page.items[0].key, "x/a b c+é%.tar");
	CHECK_EQ(page.items[0].size, 9007199254740993);
	CHECK_STR(page.items[0].tag, "\"abc-2\"");
	CHECK_EQ(page.items[0].mtime_s, 1795593601);
	CHECK_STR(page.items[1].key, "a.tar");
	CHECK(!page.items[1].tag && page.items[1].mtime_s == 0);
	CHECK_STR(page.next, "a+b/c==");

	/* The last page may have a token all the same. */
	read_page(
		LIST("<EncodingType></EncodingType><Contents><Key>a+b%20.tar</Key><ETag/>"
		     "<Size>0</Size></Contents><NextContinuationToken>x"
		     "</NextContinuationToken>" LAST));
	CHECK_EQ(page.n, 1);
	CHECK_STR(page.items[0].key, "a+b%20.tar");
	CHECK(!page.items[0].tag && !page.next);
	read_page(LIST(LAST));
	CHECK_EQ(page.n, 0);

	/* Google's: the generation is the version, and not the tag; keys are as they are. */
	{
		static const char text[] = LIST(
			LAST "<Contents><Key>a+b%20\xc3\xa9.tar</Key><Generation>1763573194345500"
			     "</Generation><MetaGeneration>1</MetaGeneration>"
			     "<LastModified>2026-11-25T08:00:01.383Z</LastModified>"
			     "<ETag>\"27\"</ETag><Size>36</Size></Contents>" A_TAR);

		read_page_of(text, true);
		CHECK_EQ(page.n, 2);
		CHECK_STR(page.items[0].key, "a+b%20\xc3\xa9.tar");
		CHECK_STR(page.items[0].tag, "\"generation 1763573194345500\"");
		CHECK(!page.items[1].tag);
		read_page(text);
		CHECK_STR(page.items[0].tag, "\"27\"");
		read_page_of(LIST(A_TAR), true);
		CHECK(page.n == 1 && !page.next);
		read_page_of(LIST(A_TAR "<NextContinuationToken>x</NextContinuationToken>"),
			     true);
		CHECK_STR(page.next, "x");
	}
	sfs_listing_done(&page);

	refused("", "ends too early");
	refused("<html><body/></html>", "not a ListBucketResult");
	refused("<Error><Code>x</Code></Error>", "not a ListBucketResult");
	refused(LIST(""), "IsTruncated");
	refused(LIST("<IsTruncated>maybe</IsTruncated>"), "IsTruncated");
	refused(LIST("<IsTruncated>true</IsTruncated>"), "NextContinuationToken");
	refused(LIST(LAST "<Contents><Key>a</Key></Contents>"), "Size");
	refused(LIST(LAST "<Contents><Size>1</Size></Contents>"), "Key");
	refused(LIST(LAST "<Contents><Key>a</Key><Size>-1</Size></Contents>"), "Size");
	refused(LIST(LAST "<Contents><Key>a</Key><Size>99999999999999999999</Size>"
			  "</Contents>"),
		"Size");
	refused(LIST(LAST "<EncodingType>url</EncodingType>"
			  "<Contents><Key>a%00b</Key><Size>1</Size></Contents>"),
		"percent-encoded");
	refused(LIST(LAST "<EncodingType>url</EncodingType>"
			  "<Contents><Key>a%2</Key><Size>1</Size></Contents>"),
		"percent-encoded");
	refused(LIST(A_TAR "<Contents>"), "closes nothing");
	return 0;
}
