/* SPDX-License-Identifier: MIT */
/* A URL names the owner and name of a dataset, a revision, which may be encoded or one of
 * the Hub's own refs, and a path, which is as it is written.  What else is there is
 * refused with what to write. */
#include "base/alloc.h"
#include "check.h"
#include "source/hf/hf-name.h"

#include <errno.h>

static void names(const char *rest, const char *repo, const char *revision,
		  const char *root, const char *path)
{
	sfs_autofree char *url = sfs_asprintf("hf://datasets/%s", rest);
	struct sfs_error err = {0};
	struct sfs_hf_name name;

	CHECK_EQ(sfs_hf_name_parse(url, &name, &err), 0);
	CHECK_STR(name.repo, repo);
	CHECK_STR(name.revision, revision);
	CHECK_STR(name.root, root);
	CHECK_STR(name.path, path);
	sfs_hf_name_done(&name);
}

static void refuses(const char *url, const char *why)
{
	struct sfs_hf_name name = {.path = "kept"};
	struct sfs_error err = {0};

	CHECK_EQ(sfs_hf_name_parse(url, &name, &err), -EINVAL);
	CHECK_HAS(err.text, why);
	CHECK_HAS(err.text, "write hf://datasets/OWNER/NAME/");
	CHECK_STR(name.path, "kept");
}

int main(void)
{
	names("o/n/a/x.tar", "o/n", "main", "o/n/", "a/x.tar");
	names("o/n", "o/n", "main", "o/n/", "");
	names("o/n/", "o/n", "main", "o/n/", "");
	names("o/n@v1", "o/n", "v1", "o/n@v1/", "");
	names("My-Org/my_set.v2@v1.0/**/x-*.tar", "My-Org/my_set.v2", "v1.0",
	      "My-Org/my_set.v2@v1.0/", "**/x-*.tar");
	names("o/n@refs%2Fconvert%2Fparquet/d/x", "o/n", "refs/convert/parquet",
	      "o/n@refs%2Fconvert%2Fparquet/", "d/x");
	names("o/n@refs/convert/parquet/d/x", "o/n", "refs/convert/parquet",
	      "o/n@refs/convert/parquet/", "d/x");
	names("o/n@refs/pr/3", "o/n", "refs/pr/3", "o/n@refs/pr/3/", "");
	names("o/n@refs/heads/x", "o/n", "refs", "o/n@refs/", "heads/x");
	names("o/n/a@b%2Fc?d#e", "o/n", "main", "o/n/", "a@b%2Fc?d#e");
	names("o/n@100%/x", "o/n", "100%", "o/n@100%/", "x");

	refuses("hf://models/o/n/", "is not a dataset");
	refuses("hf://datasets", "is not a dataset");
	refuses("hf://datasets/", "lacks the owner or the name");
	refuses("hf://datasets/o", "lacks the owner or the name");
	refuses("hf://datasets/o/", "lacks the owner or the name");
	refuses("hf://datasets//n/", "lacks the owner or the name");
	refuses("hf://datasets/o/@main/", "lacks the owner or the name");
	refuses("hf://datasets/o/n*/x", "has a character that");
	refuses("hf://datasets/o/n x/x", "has a character that");
	refuses("hf://datasets/o/n@", "has an '@' without");
	refuses("hf://datasets/o/n@/x", "has an '@' without");
	refuses("hf://datasets/o/n@v*/x", "has an '@' without");
	refuses("hf://datasets/o/n@a%0Ab/x", "has an '@' without");
	refuses("hf://datasets/o/n@a%00b/x", "has an '@' without");
	refuses("hf://datasets/o/n//x", "has a folder without a name");
	refuses("hf://datasets/o/n/a//x", "has a folder without a name");

	CHECK(sfs_hf_is_commit("0123456789abcdef0123456789abcdef01234567"));
	CHECK(!sfs_hf_is_commit("0123456789ABCDEF0123456789abcdef01234567"));
	CHECK(!sfs_hf_is_commit("0123456"));
	return 0;
}
