/* SPDX-License-Identifier: MIT */
/* A folder has its *.tar, and what else is in it; a pattern finds what a shell would,
 * with
 * "**" as in bash (globstar); all in the order of their bytes. */
#include "base/alloc.h"
#include "base/strbuf.h"
#include "check.h"
#include "source/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static char *top;

static void make(const char *name)
{
	sfs_autofree char *path = sfs_asprintf("%s/%s", top, name);
	int fd;

	if (name[strlen(name) - 1] == '/') {
		CHECK_EQ(mkdir(path, 0700), 0);
		return;
	}
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	CHECK(fd >= 0);
	close(fd);
}

/* The names with a blank after each; frees them. */
static char *joined(char **names, size_t n)
{
	struct sfs_strbuf text = {0};
	size_t i;

	sfs_strbuf_puts(&text, "");
	for (i = 0; i < n; i++) {
		sfs_strbuf_printf(&text, "%s ", names[i]);
		free(names[i]);
	}
	free(names);
	return text.s ? text.s : sfs_strdup("");
}

static void holds(const char *name, const char *shards, const char *others)
{
	sfs_autofree char *path = sfs_asprintf("%s/%s", top, name);
	struct sfs_folder f;

	CHECK_EQ(sfs_folder_list(path, &f, NULL), 0);
	sfs_autofree char *got_shards = joined(f.shards, f.n_shards);
	sfs_autofree char *got_others = joined(f.others, f.n_others);

	CHECK_STR(got_shards, shards);
	CHECK_STR(got_others, others);
	f = (struct sfs_folder){0};
	sfs_folder_done(&f);
}

static void lists_a_folder(void)
{
	sfs_autofree char *file = sfs_asprintf("%s/d/a.tar", top);
	sfs_autofree char *none = sfs_asprintf("%s/none", top);
	struct sfs_folder f;

	holds("d", "B.tar a.tar b.tar \xff.tar ", "a.tar.idx b.tar.gz link sub.tar/ x/ ");
	holds("d/x", "", "");
	CHECK_EQ(sfs_folder_list(file, &f, NULL), -ENOTDIR);
	CHECK_EQ(sfs_folder_list(none, &f, NULL), -ENOTDIR);
	CHECK(sfs_folder_has(file) && !sfs_folder_has(none));
}

/* What matches the pattern below the top, without the top. */
static void finds(const char *pattern, const char *wanted)
{
	sfs_autofree char *whole = sfs_asprintf("%s/%s", top, pattern);
	struct sfs_error err = {0};
	struct sfs_strbuf got = {0};
	char **paths;
	size_t n, i;

	if (sfs_folder_match(whole, &paths, &n, &err) < 0) {
		CHECK_HAS(err.text, "nothing matches");
		CHECK_STR("", wanted);
		return;
	}
	for (i = 0; i < n; i++) {
		CHECK(strncmp(paths[i], top, strlen(top)) == 0);
		sfs_strbuf_printf(&got, "%s ", paths[i] + strlen(top) + 1);
		free(paths[i]);
	}
	free(paths);
	CHECK_STR(got.s, wanted);
	sfs_strbuf_done(&got);
}

static void matches_as_a_shell(void)
{
	finds("d/a.tar", "d/a.tar ");
	finds("d/*.tar", "d/B.tar d/a.tar d/b.tar d/sub.tar d/\xff.tar ");
	finds("d/?.tar", "d/B.tar d/a.tar d/b.tar d/\xff.tar ");
	finds("d/[ab].tar", "d/a.tar d/b.tar ");
	finds("d/[!a].ta?", "d/B.tar d/b.tar d/\xff.tar ");
	finds("*/a.tar", "d/a.tar e/a.tar ");
	finds("*/x", "d/x ");
	finds("*/x/*", "");
	finds("d/a.tar/*", "");
	finds("d/.*.tar", "d/.hidden.tar ");
	finds("d/\\*", "");
	finds("d/../e/*.tar", "d/../e/a.tar d/../e/z*.tar ");
	finds("e/z\\*.tar", "e/z*.tar ");
	finds("e/z\\*.*", "e/z*.tar ");
	finds("none/*", "");
}

static void stars_stand_for_folders(void)
{
	finds("**", "d/B.tar d/a.tar d/b.tar d/sub.tar/in.tar d/\xff.tar e/a.tar "
		    "e/f/g/deep.tar e/z*.tar top.tar ");
	finds("e/**", "e/a.tar e/f/g/deep.tar e/z*.tar ");
	finds("**/**", "d/B.tar d/a.tar d/b.tar d/sub.tar/in.tar d/\xff.tar e/a.tar "
		       "e/f/g/deep.tar e/z*.tar top.tar ");
	finds("**/a.tar", "d/a.tar e/a.tar ");
	finds("**/*p.tar", "e/f/g/deep.tar top.tar ");
	finds("e/**/g/**/*.tar", "e/f/g/deep.tar ");
	finds("**/g", "e/f/g ");
	finds("d/x/**", "");
}

/* Then the answer would not be whole. */
static void a_folder_that_cannot_be_read_is_an_error(void)
{
	sfs_autofree char *shut = sfs_asprintf("%s/d", top);
	sfs_autofree char *pattern = sfs_asprintf("%s/**", top);
	bool is_root = geteuid() == 0; /* who may read anything */
	struct sfs_error err = {0};
	char **paths;
	size_t n;

	CHECK_EQ(is_root ? seteuid(65534) : chmod(shut, 0), 0);
	CHECK_EQ(sfs_folder_match(pattern, &paths, &n, &err), -EACCES);
	CHECK_HAS(err.text, "Permission denied");
	CHECK_EQ(is_root ? seteuid(0) : chmod(shut, 0700), 0);
}

int main(void)
{
	static const char *const names[] = {"d/",
					    "e/",
					    "d/x/",
					    "d/sub.tar/",
					    "e/f/",
					    "e/f/g/",
					    "d/b.tar",
					    "d/a.tar",
					    "d/B.tar",
					    "d/\xff.tar",
					    "d/.hidden.tar",
					    "d/a.tar.idx",
					    "d/b.tar.gz",
					    "d/sub.tar/in.tar",
					    "e/a.tar",
					    "e/z*.tar",
					    "e/f/g/deep.tar",
					    "top.tar",
					    "e/f/readme"};
	const char *tmp = getenv("TMPDIR");
	size_t i;

	top = sfs_asprintf("%s/shufflefs-folder.XXXXXX", tmp ? tmp : "/tmp");
	CHECK(mkdtemp(top) != NULL);
	for (i = 0; i < SFS_COUNT(names); i++)
		make(names[i]);
	sfs_autofree char *link = sfs_asprintf("%s/d/link", top);
	CHECK_EQ(symlink("../e", link), 0);
	lists_a_folder();
	matches_as_a_shell();
	stars_stand_for_folders();
	a_folder_that_cannot_be_read_is_an_error();
	CHECK_EQ(unlink(link), 0);
	for (i = SFS_COUNT(names); i-- > 0;) {
		sfs_autofree char *path = sfs_asprintf("%s/%s", top, names[i]);

		CHECK_EQ(remove(path), 0);
	}
	CHECK_EQ(rmdir(top), 0);
	free(top);
	return 0;
}
