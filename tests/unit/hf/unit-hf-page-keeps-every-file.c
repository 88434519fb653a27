/* SPDX-License-Identifier: MIT */
/* A page of the Hub's tree gives each file with its size and the hash of its bytes; the
 * next page is where the header says.  What is no such page is refused, wherever it ends.
 */
#include "base/alloc.h"
#include "check.h"
#include "source/hf/hf-page.h"

#include <errno.h>

#define SHA "0123456789abcdef0123456789abcdef01234567"

static const char page[] =
	"[{\"type\":\"directory\",\"oid\":\"d\",\"size\":0,\"path\":\"train\"},"
	" {\"type\":\"file\",\"oid\":\"g\",\"size\":10240,\"path\":\"train/a b.tar\","
	"  "
	"\"lfs\":{\"oid\":\"9be7\",\"size\":10240,\"pointerSize\":134},\"xetHash\":\"x\"}"
	","
	" {\"type\":\"file\",\"oid\":\"7b2e\",\"size\":0,\"path\":\"\\u00e9.txt\","
	"  \"lastCommit\":{\"id\":\"1\",\"path\":\"no\"},\"lfs\":null}]";

static void keeps_all(void)
{
	struct sfs_listing listing = {0};
	struct sfs_error err = {0};

	CHECK_EQ(sfs_hf_page_read(page, strlen(page), "o/n/", &listing, &err), 0);
	CHECK_EQ(listing.n, 2);
	CHECK_STR(listing.items[0].key, "o/n/train/a b.tar");
	CHECK_EQ(listing.items[0].size, 10240);
	CHECK_STR(listing.items[0].tag, "\"9be7\"");
	CHECK_STR(listing.items[1].key, "o/n/\303\251.txt");
	CHECK_EQ(listing.items[1].size, 0);
	CHECK_STR(listing.items[1].tag, "\"7b2e\"");
	CHECK(!listing.next);
	sfs_listing_done(&listing);
	CHECK_EQ(sfs_hf_page_read("[]", 2, "", &listing, &err), 0);
	CHECK_EQ(listing.n, 0);
}

static void refuses(const char *text, size_t n, const char *why)
{
	struct sfs_listing listing = {0};
	struct sfs_error err = {0};

	CHECK_EQ(sfs_hf_page_read(text, n, "", &listing, &err), -EBADMSG);
	CHECK_HAS(err.text, why);
	CHECK(listing.n == 0 && !listing.items);
}

static void refuses_others(void)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{"", ""},
		{"<html>", ""},
		{"{\"error\":\"x\"}", "not an array"},
		{"[1]", "does not end as it should"},
		{"[] []", "something follows"},
		{"[{\"type\":\"file\",\"size\":1}]", "without its path"},
		{"[{\"type\":\"file\",\"path\":\"a\"}]", "without its size"},
		{"[{\"type\":\"file\",\"path\":\"a\",\"size\":-1}]", "without its size"},
		{"[{\"type\":\"file\",\"path\":\"a\",\"size\":18446744073709551615}]",
		 "without its size"},
		{"[{\"type\":\"file\",\"path\":\"a\\u0000b\",\"size\":1}]", "a NUL"},
		{"[{\"type\":\"file\",\"path\":\"a\",\"size\":1,\"lfs\":{1}}]", ""},
	};
	size_t i;

	for (i = 0; i < SFS_COUNT(cases); i++)
		refuses(cases[i].text, strlen(cases[i].text), cases[i].why);
	for (i = 0; i + 1 < sizeof page; i++)
		refuses(page, i, "");
}

static void next_is(const char *head, const char *wanted)
{
	sfs_autofree char *next = sfs_hf_page_next(head);

	if (wanted)
		CHECK_STR(next, wanted);
	else
		CHECK(!next);
}

static void finds_the_next(void)
{
	next_is(NULL, NULL);
	next_is("HTTP/1.1 200 OK\r\nDate: x\r\n\r\n", NULL);
	next_is("HTTP/1.1 200 OK\r\nLink: "
		"<https://evil/api?recursive=true&cursor=a%3D>; rel=\"next\"\r\n\r\n",
		"recursive=true&cursor=a%3D");
	next_is("link:</a?x=1>;rel=prev, </a?x=3> ; title=\"t\" ; REL=next\r\n", "x=3");
	next_is("Link: </a?x=1>; rel=\"prev\"\r\nLink: </a?x=2>; rel=next\r\n", "x=2");
	next_is("Link: </a?x=1>; rel=\"nextish\"\r\n", NULL);
	next_is("Link: </a?x=1>\r\n", NULL);
	next_is("Link: </a>; rel=\"next\"\r\n", NULL);
	next_is("Link: </a?>; rel=\"next\"\r\n", NULL);
	next_is("Link: </a?x=1; rel=\"next\"\r\n", NULL);
	next_is("Link: </a?x y>; rel=\"next\"\r\n", NULL);
	next_is("Link:", NULL);
}

static void commit_is(const char *text, const char *wanted)
{
	sfs_autofree char *commit = sfs_hf_commit_read(text, strlen(text));

	if (wanted)
		CHECK_STR(commit, wanted);
	else
		CHECK(!commit);
}

static void tag_is(const char *sent, const char *wanted)
{
	char tag[SFS_HF_TAG_BYTES];

	sfs_hf_tag(sent, tag);
	CHECK_STR(tag, wanted);
}

int main(void)
{
	sfs_autofree char *longest = sfs_calloc(1, 1000);

	keeps_all();
	refuses_others();
	finds_the_next();

	commit_is("{\"id\":\"o/n\",\"siblings\":[{\"sha\":\"x\"}],\"sha\":\"" SHA "\"}",
		  SHA);
	commit_is("{\"sha\":\"main\"}", NULL);
	commit_is("{\"sha\":\"" SHA "\\u0000\"}", NULL);
	commit_is("{\"error\":\"x\"}", NULL);
	commit_is("<html>", NULL);

	tag_is("abc", "\"abc\"");
	tag_is("\"abc\"", "\"abc\"");
	tag_is("W/\"abc\"", "\"abc\"");
	tag_is("sha256:abc", "\"abc\"");
	tag_is("", "");
	tag_is("\"\"", "");
	tag_is("\"", "");
	tag_is("a b", "");
	tag_is("\"a\", \"b\"", "");
	memset(longest, 'a', SFS_HF_TAG_BYTES - 3);
	CHECK_EQ(strlen(longest), SFS_HF_TAG_BYTES - 3);
	{
		sfs_autofree char *quoted = sfs_asprintf("\"%s\"", longest);

		tag_is(longest, quoted);
	}
	longest[SFS_HF_TAG_BYTES - 3] = 'a';
	tag_is(longest, "");
	return 0;
}
