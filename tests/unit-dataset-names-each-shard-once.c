/* SPDX-License-Identifier: MIT */
/* Specs become a list of shards in the order in which they were written, each with a
 * name of its own: its path without the folders that all have in common. */
#include "base/alloc.h"
#include "catalog/dataset.h"
#include "check.h"

#include <errno.h>

/* A disk with a folder /data/ds of three tars, an empty one, and one that is shut. */
static int list(const char *folder, char ***ret_names, size_t *ret_n,
		struct sfs_error *err)
{
	static const char *const names[] = {"a.tar", "b{1}.tar", "c d.tar"};
	size_t i;

	CHECK(folder[0] == '/');
	if (strcmp(folder, "/data/shut") == 0)
		return sfs_error_set(err, -EACCES, "%s: Permission denied", folder);
	if (strcmp(folder, "/data/ds") != 0 && strcmp(folder, "/data/empty") != 0 &&
	    strcmp(folder, "/") != 0)
		return -ENOTDIR;
	*ret_n = strcmp(folder, "/data/ds") == 0 ? SFS_COUNT(names) : 0;
	*ret_names = sfs_calloc(SFS_COUNT(names), sizeof **ret_names);
	for (i = 0; i < *ret_n; i++)
		(*ret_names)[i] = sfs_strdup(names[i]);
	return 0;
}

static const struct sfs_dataset_disk disk = {.cwd = "/data", .list = list};

#define SPECS(...)                \
	(char *[])                \
	{                         \
		__VA_ARGS__, NULL \
	}

static int load(char **specs, struct sfs_dataset *d, struct sfs_error *err)
{
	int n = 0;

	while (specs[n])
		n++;
	return sfs_dataset_load(specs, n, &disk, d, err);
}

/* Each shard as "NAME<LOCATION#SPEC ", in their order. */
static void gives(char **specs, const char *wanted)
{
	struct sfs_dataset d = {0};
	struct sfs_error err = {0};
	char got[4096] = "";
	uint32_t i;

	if (load(specs, &d, &err) < 0) {
		fprintf(stderr, "'%s' is refused: %s\n", specs[0], err.text);
		exit(1);
	}
	for (i = 0; i < d.n; i++)
		snprintf(got + strlen(got), sizeof got - strlen(got), "%s<%s#%u ",
			 d.names[i], d.uris[i].location, d.spec_of[i]);
	CHECK_STR(got, wanted);
	sfs_dataset_done(&d);
	sfs_dataset_done(&d);
}

static void local(void)
{
	gives(SPECS("a.tar"), "a.tar</data/a.tar#0 ");
	gives(SPECS("/x/y/a.tar"), "a.tar</x/y/a.tar#0 ");
	gives(SPECS("./a.tar", ".//b.tar"), "a.tar</data/a.tar#0 b.tar</data/b.tar#1 ");
	gives(SPECS("/x//y/./a.tar"), "a.tar</x/y/a.tar#0 ");
	/* ".." may lead through a link, so it stays. */
	gives(SPECS("../x/a.tar"), "a.tar</data/../x/a.tar#0 ");
	gives(SPECS("x-{000..002}.tar"),
	      "x-000.tar</data/x-000.tar#0 x-001.tar</data/x-001.tar#0 "
	      "x-002.tar</data/x-002.tar#0 ");
	gives(SPECS("file:///x/a%20b.tar"), "a b.tar</x/a b.tar#0 ");
	gives(SPECS("no-extension"), "no-extension</data/no-extension#0 ");
}

static void folders(void)
{
	gives(SPECS("ds"), "a.tar</data/ds/a.tar#0 b{1}.tar</data/ds/b{1}.tar#0 "
			   "c d.tar</data/ds/c d.tar#0 ");
	gives(SPECS("ds/"), "a.tar</data/ds/a.tar#0 b{1}.tar</data/ds/b{1}.tar#0 "
			    "c d.tar</data/ds/c d.tar#0 ");
	gives(SPECS("x.tar", "/data/./ds"),
	      "x.tar</data/x.tar#0 ds/a.tar</data/ds/a.tar#1 "
	      "ds/b{1}.tar</data/ds/b{1}.tar#1 ds/c d.tar</data/ds/c d.tar#1 ");
}

static void urls(void)
{
	gives(SPECS("http://host/p/x-{0..1}.tar"),
	      "x-0.tar<http://host/p/x-0.tar#0 x-1.tar<http://host/p/x-1.tar#0 ");
	gives(SPECS("https://u:p@host/p/x.tar?sig=1"),
	      "x.tar<https://host/p/x.tar?sig=1#0 ");
	gives(SPECS("https://host/a%20b.tar"), "a b.tar<https://host/a%20b.tar#0 ");
}

/* What all have in common goes, as far as whole folders do. */
static void names(void)
{
	gives(SPECS("/d/a/x-0.tar", "/d/b/x-0.tar"),
	      "a/x-0.tar</d/a/x-0.tar#0 b/x-0.tar</d/b/x-0.tar#1 ");
	gives(SPECS("/d/train/0.tar", "/d/trial/0.tar"),
	      "train/0.tar</d/train/0.tar#0 trial/0.tar</d/trial/0.tar#1 ");
	gives(SPECS("/d/x.tar", "/d/e/x.tar"), "x.tar</d/x.tar#0 e/x.tar</d/e/x.tar#1 ");
	gives(SPECS("/x.tar", "/y.tar"), "x.tar</x.tar#0 y.tar</y.tar#1 ");
	gives(SPECS("/a/x.tar", "http://host/b/y.tar"),
	      "a/x.tar</a/x.tar#0 b/y.tar<http://host/b/y.tar#1 ");
	gives(SPECS("/a/b/x.tar", "http://host/a/b/y.tar"),
	      "x.tar</a/b/x.tar#0 y.tar<http://host/a/b/y.tar#1 ");
	gives(SPECS("http://h/b/x.tar", "http://i/b/y.tar"),
	      "x.tar<http://h/b/x.tar#0 y.tar<http://i/b/y.tar#1 ");
	/* In the order in which they were written, not by name. */
	gives(SPECS("z.tar", "a.tar", "m-{2..1}.tar"),
	      "z.tar</data/z.tar#0 a.tar</data/a.tar#1 m-2.tar</data/m-2.tar#2 "
	      "m-1.tar</data/m-1.tar#2 ");
}

static void refused(char **specs, int wanted, const char *words)
{
	struct sfs_dataset d = {.n = 77};
	struct sfs_error err = {0};

	CHECK_EQ(load(specs, &d, &err), wanted);
	CHECK_HAS(err.text, words);
	CHECK(d.n == 77 && !d.uris && !d.names);
	CHECK(!strstr(err.text, "SECRET"));
	CHECK_EQ(load(specs, &d, NULL), wanted);
}

static void bad_ones(void)
{
	struct sfs_error err = {0};
	struct sfs_dataset d;

	CHECK_EQ(sfs_dataset_load(NULL, 0, &disk, &d, &err), -EINVAL);
	CHECK_HAS(err.text, "no shards");
	refused(SPECS("x-{0..y}.tar"), -EINVAL,
		"'x-{0..y}.tar': '{0..y}' is neither a range");
	refused(SPECS("https://u:SECRET@host/{0..y}.tar?SECRET"), -EINVAL,
		"is neither a range");
	refused(SPECS("s3://bucket/x.tar"), -EINVAL, "'s3://' is not understood");
	refused(SPECS("good.tar", ""), -EINVAL, "empty");
	refused(SPECS("empty"), -ENOENT, "no *.tar in the folder /data/empty");
	refused(SPECS("good.tar", "shut"), -EACCES, "/data/shut: Permission denied");
	refused(SPECS("http://host/folder/"), -EINVAL, "is a folder, not a shard");
	refused(SPECS("http://u:SECRET@host/?x=SECRET"), -EINVAL,
		"is a folder, not a shard");
	refused(SPECS("a.tar", "a.tar"), -EEXIST, "two shards are named 'a.tar'");
	refused(SPECS("a.tar", "./a.tar"), -EEXIST, "two shards are named 'a.tar'");
	refused(SPECS("{a,b,a}.tar"), -EEXIST, "'a.tar'");
	refused(SPECS("ds", "/data/ds/a.tar"), -EEXIST, "'a.tar'");
	refused(SPECS("http://h/x.tar", "http://i/x.tar"), -EEXIST, "'x.tar'");
	refused(SPECS("http://h/x.tar?v=1", "http://h/x.tar?v=2"), -EEXIST, "'x.tar'");
}

/* More than a few: each spec's number is its own. */
static void many(void)
{
	struct sfs_dataset d;
	uint32_t i;

	CHECK_EQ(load(SPECS("one.tar", "http://host/{00000..19999}.tar", "two.tar"), &d,
		      NULL),
		 0);
	CHECK_EQ(d.n, 20002);
	for (i = 0; i < d.n; i++)
		CHECK_EQ(d.spec_of[i], i == 0 ? 0 : i == 20001 ? 2 : 1);
	CHECK_STR(d.names[0], "data/one.tar");
	CHECK_STR(d.names[1], "00000.tar");
	CHECK_STR(d.names[20000], "19999.tar");
	CHECK_STR(d.uris[20000].origin, "http://host:80");
	sfs_dataset_done(&d);
}

int main(void)
{
	local();
	folders();
	urls();
	names();
	bad_ones();
	many();
	return 0;
}
