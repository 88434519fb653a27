/* SPDX-License-Identifier: MIT */
/* Pages and statuses as a namenode of Hadoop 3.4.2 wrote them. */
#include "base/alloc.h"
#include "check.h"
#include "source/webhdfs/webhdfs-page.h"

#include <errno.h>

#define LIST(items, n)                                                                 \
	"{\"DirectoryListing\":{\"partialListing\":{\"FileStatuses\":{\"FileStatus\":" \
	"[" items "]}},\"remainingEntries\":" n "}}"
#define FILE_1                                                                   \
	"{\"accessTime\":1795697796589,\"blockSize\":1048576,\"childrenNum\":0," \
	"\"fileId\":16387,\"group\":\"supergroup\",\"length\":9007199254740993," \
	"\"modificationTime\":1795697797888,\"owner\":\"root\",\"pathSuffix\":"  \
	"\"a b+%\\u00e9.tar\",\"permission\":\"644\",\"replication\":1,"         \
	"\"storagePolicy\":0,\"type\":\"FILE\"}"
#define STATUS(members) "{\"FileStatus\":{" members "}}"

static void refused(const char *text, const char *why)
{
	struct sfs_webhdfs_page untouched = {.n = 7};
	struct sfs_error err = {0};

	CHECK_EQ(sfs_webhdfs_page_read(text, strlen(text), &untouched, &err), -EBADMSG);
	CHECK_HAS(err.text, why);
	CHECK_EQ(untouched.n, 7);
}

static void refused_status(const char *text, const char *why)
{
	struct sfs_webhdfs_status untouched = {.id = 7};
	struct sfs_error err = {0};

	CHECK_EQ(sfs_webhdfs_status_read(text, strlen(text), &untouched, &err), -EBADMSG);
	CHECK_HAS(err.text, why);
	CHECK_EQ(untouched.id, 7);
}

static struct sfs_webhdfs_status status_of(const char *text)
{
	struct sfs_webhdfs_status s = {0};
	struct sfs_error err = {0};

	CHECK_EQ(sfs_webhdfs_status_read(text, strlen(text), &s, &err), 0);
	CHECK(!s.name);
	return s;
}

int main(void)
{
	static const char two[] =
		LIST(FILE_1
		     ",{\"fileId\":2,\"length\":0,\"modificationTime\":0,"
		     "\"pathSuffix\":\"b\",\"type\":\"DIRECTORY\",\"x\":{\"y\":[1]}}",
		     "41");
	struct sfs_webhdfs_page page;
	struct sfs_webhdfs_status s;
	struct sfs_error err = {0};
	char tag[SFS_WEBHDFS_TAG_BYTES];

	CHECK_EQ(sfs_webhdfs_page_read(two, strlen(two), &page, &err), 0);
	CHECK_EQ(page.n, 2);
	CHECK_EQ(page.n_left, 41);
	CHECK_STR(page.items[0].name, "a b+%é.tar");
	CHECK_EQ(page.items[0].length, 9007199254740993);
	CHECK(page.items[0].is_file && !page.items[0].is_folder);
	CHECK_STR(page.items[1].name, "b");
	CHECK(page.items[1].is_folder && !page.items[1].is_file);
	sfs_webhdfs_tag(&page.items[0], tag);
	CHECK_STR(tag, "\"16387-1795697797888-9007199254740993\"");
	sfs_webhdfs_page_done(&page);

	CHECK_EQ(sfs_webhdfs_page_read(LIST("", "0"), strlen(LIST("", "0")), &page, &err),
		 0);
	CHECK_EQ(page.n, 0);
	CHECK_EQ(page.n_left, 0);

	refused("", "line 1");
	refused("<html/>", "line 1");
	refused("[]", "it is not an object");
	refused("{}", "no list of files");
	refused("{\"DirectoryListing\":{\"partialListing\":{}}}", "no list of files");
	refused(LIST("1", "0"), "not an object");
	refused(LIST("{\"pathSuffix\":\"a\"}", "0"), "without a length or a type");
	refused(LIST("{\"length\":1,\"type\":\"FILE\"}", "0"), "without its name");
	refused(LIST("{\"length\":-1,\"pathSuffix\":\"a\"}", "0"), "that is none");
	refused(LIST("{\"length\":18446744073709551615,\"pathSuffix\":\"a\"}", "0"),
		"that is none");
	refused(LIST("{\"length\":1,\"pathSuffix\":\"a/b\"}", "0"), "no file has");
	refused(LIST("{\"length\":1,\"pathSuffix\":\"..\"}", "0"), "no file has");
	refused(LIST("{\"length\":1,\"pathSuffix\":\"a\\u0000b\"}", "0"), "no file has");
	refused(LIST("{\"length\":1,\"pathSuffix\":7}", "0"), "no file has");
	refused(LIST("", "7"), "an empty page");
	refused(LIST("", "-7"), "is no number");
	refused(LIST("", "0") " x", "line 1");

	s = status_of(STATUS("\"fileId\":16387,\"length\":5,\"modificationTime\":17,"
			     "\"pathSuffix\":\"\",\"type\":\"FILE\""));
	CHECK(s.is_file && s.length == 5 && s.mtime_ms == 17 && s.id == 16387);
	s = status_of(STATUS("\"length\":0,\"type\":\"DIRECTORY\""));
	CHECK(s.is_folder && !s.is_file);
	refused_status("", "line 1");
	refused_status("{\"FileStatuses\":{}}", "not a FileStatus");
	refused_status(STATUS("\"type\":\"FILE\""), "without a length or a type");
	refused_status(STATUS("\"length\":1"), "without a length or a type");
	refused_status(STATUS("\"length\":1,\"type\":\"FILE\"") "x", "line 1");
	return 0;
}
