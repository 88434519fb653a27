/* SPDX-License-Identifier: MIT */
/* Each part of an epoch has one name, which is printed as it was read; a part that an
 * epoch does not have is refused with a sentence that says which it has. */
#include "base/alloc.h"
#include "check.h"
#include "order/name.h"

#include <errno.h>

/* Read a path below epochs/. */
static int parse(const char *path, struct sfs_name *name)
{
	sfs_autofree char *copy = sfs_strdup(path);
	char *rest = copy, *component;
	struct sfs_name folder;
	bool has_folder = false;
	int ret = -ENOENT;

	while ((component = strsep(&rest, "/")) != NULL) {
		ret = sfs_name_parse(has_folder ? &folder : NULL, component, name);
		if (ret < 0 || (rest && !name->is_folder))
			return -ENOENT;
		folder = *name;
		has_folder = true;
	}
	return ret;
}

static struct sfs_name good(const char *path)
{
	struct sfs_strbuf text = {0};
	struct sfs_name name;

	CHECK_EQ(parse(path, &name), 0);
	sfs_name_print_path(&name, &text);
	CHECK_STR(text.s, path);
	sfs_strbuf_done(&text);
	return name;
}

static void bad(const char *path)
{
	struct sfs_name name;

	if (parse(path, &name) != -ENOENT) {
		fprintf(stderr, "'%s' is taken for a name\n", path);
		exit(1);
	}
}

static void names(void)
{
	struct sfs_name a = good("0.tar"), folder;

	CHECK(!a.is_folder && a.epoch == 0 && a.n_ranks == 0 && !a.has_first);
	CHECK(!sfs_name_parent(&a, &folder));
	a = good("72057594037927935.tar");
	CHECK_EQ(a.epoch, SFS_EPOCH_MAX);
	a = good("17");
	CHECK(a.is_folder && a.epoch == 17);
	a = good("17/rank-3-of-8.tar");
	CHECK(!a.is_folder && a.epoch == 17 && a.rank == 3 && a.n_ranks == 8);
	CHECK(sfs_name_parent(&a, &folder) && folder.is_folder && folder.n_ranks == 0);
	a = good("17/rank-3-of-8");
	CHECK(a.is_folder);
	a = good("17/rank-3-of-8/worker-0-of-4@9223372036854775807.tar");
	CHECK(a.has_first && a.first == INT64_MAX && a.n_workers == 4);
	CHECK(sfs_name_parent(&a, &folder) && folder.rank == 3 && folder.n_ranks == 8);
	CHECK(good("5@0.tar").has_first);
	CHECK_EQ(good("4294967295/rank-4294967294-of-4294967295@7.tar").rank, 4294967294);

	CHECK(!sfs_name_equal(&a, &folder) && sfs_name_equal(&a, &a));
	folder = good("5.tar");
	a = good("5@0.tar");
	CHECK(!sfs_name_equal(&a, &folder));
}

static void nothing_else(void)
{
	static const char *const names[] = {"",
					    ".tar",
					    "00.tar",
					    "007.tar",
					    "-1.tar",
					    "+1.tar",
					    " 1.tar",
					    "1.TAR",
					    "1.tar ",
					    "1.tarx",
					    "1.",
					    "1@.tar",
					    "1@01.tar",
					    "1@-1.tar",
					    "1@1",
					    "1@1@2.tar",
					    "1@9223372036854775808.tar",
					    "72057594037927936.tar",
					    "1.tar/rank-0-of-1.tar",
					    "1/0.tar",
					    "1/rank-0.tar",
					    "1/rank--of-1.tar",
					    "1/rank-0-of-.tar",
					    "1/rank-0-of-0.tar",
					    "1/rank-00-of-1.tar",
					    "1/rank-0-of-01.tar",
					    "1/rank-4294967296-of-4294967297.tar",
					    "1/rank-0-of-1.ta",
					    "1/Rank-0-of-1.tar",
					    "1/worker-0-of-1.tar",
					    "1/rank-0-of-2/worker-0-of-1",
					    "1/rank-0-of-2/rank-0-of-2.tar",
					    "1/rank-0-of-2@3",
					    "1/rank-0-of-2@3/worker-0-of-1.tar",
					    "1@2/rank-0-of-1.tar",
					    "99999999999999999999999.tar"};
	size_t i;

	for (i = 0; i < SFS_COUNT(names); i++)
		bad(names[i]);
}

/* Such a part of 10 shards in so many lanes: NULL, or what is said against it. */
static void check_in(uint32_t lanes, const char *path, const char *words)
{
	struct sfs_name name = good(path);
	struct sfs_error err = {0};
	int ret = sfs_name_check(&name, lanes, (struct sfs_dealt){10, "shard"}, &err);

	CHECK_EQ(ret, words ? -EINVAL : 0);
	if (words)
		CHECK_HAS(err.text, words);
}

static void check(const char *path, const char *words)
{
	check_in(12, path, words);
}

/* Ranks that do not divide the lanes: the multiples of them on both sides. */
static void lanes_that_do(void)
{
	check_in(384, "0/rank-0-of-56.tar",
		 "56 ranks do not divide 384 lanes: mount with lanes=392 (or 336), "
		 "which is another order");
	check("0/rank-0-of-5.tar", "mount with lanes=15 (or 10), ");
	check("0/rank-0-of-24.tar", "mount with lanes=24, ");
	check("0/rank-0-of-65536.tar", "mount with lanes=65536, ");
	check_in(65535, "0/rank-0-of-2.tar", "mount with lanes=65536 (or 65534), ");
	check_in(65535, "0/rank-0-of-1000.tar", "mount with lanes=65000, ");
	check_in(1, "0/rank-0-of-40000.tar", "mount with lanes=40000, ");
	check_in(40001, "0/rank-0-of-40000.tar", "mount with lanes=40000, ");
	check("0/rank-0-of-65537.tar",
	      "65537 ranks are too many: there can be at most 65536");
	check("0/rank-0-of-4294967295.tar", "at most 65536");
	CHECK_EQ(sfs_name_ranks_most(384, 100), 96);
	CHECK_EQ(sfs_name_ranks_most(384, 1), 1);
	CHECK_EQ(sfs_name_ranks_most(384, UINT64_MAX), 384);
	CHECK_EQ(sfs_name_ranks_most(7, 6), 1);
}

static void parts(void)
{
	struct sfs_name name;
	struct sfs_share share;

	check("0.tar", NULL);
	check("0", NULL);
	check("0/rank-0-of-1.tar", NULL);
	check("0/rank-9-of-12.tar", NULL);
	check("0/rank-9-of-12/worker-99-of-100.tar", NULL);
	check("0/rank-12-of-12.tar", "numbered from 0 to 11");
	check("0/rank-2-of-2", "numbered from 0 to 1");
	check("0/rank-10-of-12.tar",
	      "there are only 10; use 6 ranks at most, or mount with segment=SIZE");
	check("0/rank-0-of-2/worker-3-of-3.tar", "numbered from 0 to 2");

	name = good("0.tar");
	share = sfs_name_share(&name);
	CHECK(share.first == 0 && share.step == 1);
	name = good("0/rank-1-of-3.tar");
	share = sfs_name_share(&name);
	CHECK(share.first == 1 && share.step == 3);
	name = good("0/rank-1-of-3/worker-2-of-4.tar");
	share = sfs_name_share(&name);
	CHECK(share.first == 7 && share.step == 12);
	name = good("0/rank-1-of-4294967295/worker-4294967293-of-4294967295.tar");
	share = sfs_name_share(&name);
	CHECK(share.first == 1 + 4294967293ULL * 4294967295ULL);
}

/* Where a job may go on depends on the lanes. */
static void resuming(void)
{
	struct sfs_order_settings settings = {.lanes = 384};
	struct sfs_strbuf text = {0};

	sfs_name_print_resume(&settings, &text);
	CHECK_STR(text.s, "mid-epoch only with the same number of ranks");
	sfs_strbuf_done(&text);
	settings.equal = SFS_EQUAL_PAD;
	text = (struct sfs_strbuf){0};
	sfs_name_print_resume(&settings, &text);
	CHECK_STR(text.s,
		  "mid-epoch with any number of ranks that divides lanes=384");
	sfs_strbuf_done(&text);
}

int main(void)
{
	names();
	nothing_else();
	lanes_that_do();
	parts();
	resuming();
	return 0;
}
