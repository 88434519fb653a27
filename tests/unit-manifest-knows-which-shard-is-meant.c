/* SPDX-License-Identifier: MIT */
/* Descriptions of datasets by Energon and wids are read, and what they say of a shard is
 * found by whatever path it has. */
#include "catalog/manifest.h"

#include "base/alloc.h"
#include "check.h"

#include <errno.h>

static int parse(const char *text, struct sfs_manifest *c, struct sfs_error *err)
{
	size_t n = strlen(text);
	/* In memory of just its size, so that nobody looks behind its end unseen. */
	sfs_autofree char *exact = sfs_malloc(n ? n : 1);

	memcpy(exact, text, n);
	return sfs_manifest_parse(exact, n, c, err);
}

static void found(const struct sfs_manifest *c, const char *name, uint64_t wanted)
{
	struct sfs_error err = {0};
	uint64_t n = UINT64_MAX;

	CHECK_EQ(sfs_manifest_find(c, name, &n, &err), 0);
	CHECK_STR(err.text, "");
	CHECK_EQ(n, wanted);
}

static void lost(const struct sfs_manifest *c, const char *name, int code, const char *why)
{
	struct sfs_error err;
	uint64_t n = 77;

	CHECK_EQ(sfs_manifest_find(c, name, &n, &err), code);
	CHECK_HAS(err.text, why);
	CHECK_EQ(n, 77);
}

/* As Energon 7.4 writes it: json.dump(..., indent=2). */
static void energon(void)
{
	static const char text[] = "{\n  \"energon_version\": \"7.4.0\",\n"
				   "  \"shard_counts\": {\n"
				   "    \"train/000.tar\": 1223,\n"
				   "    \"train/001.tar\": 1420,\n"
				   "    \"val/000.tar\": 7,\n"
				   "    \"val/t\\u00fcr.tar\": 0\n  }\n}";
	struct sfs_manifest c;
	struct sfs_error err;

	CHECK_EQ(parse(text, &c, &err), 0);
	CHECK_EQ(c.n, 4);
	found(&c, "001.tar", 1420);
	found(&c, "train/000.tar", 1223);
	found(&c, "val/000.tar", 7);
	found(&c, "/data/set/val/000.tar", 7);
	found(&c, "t\xc3\xbcr.tar", 0);
	lost(&c, "000.tar", -ENOTUNIQ, "either may be '000.tar'");
	lost(&c, "test/000.tar", -ENOTUNIQ, "either may be");
	lost(&c, "002.tar", -ENOENT, "does not name '002.tar'");
	lost(&c, "00.tar", -ENOENT, "does not name");
	lost(&c, "train", -ENOENT, "does not name");
	sfs_manifest_done(&c);
	sfs_manifest_done(&c);
}

/* As widsindex create writes it. */
static void wids(void)
{
	static const char text[] =
		"{\n  \"__kind__\": \"wids-shard-index-v1\",\n  \"wids_version\": 1,\n"
		"  \"shardlist\": [\n    {\n"
		"      \"url\": \"https://h/x/a.tar?sig=b/c.tar\",\n"
		"      \"md5sum\": \"d41d8cd98f00b204e9800998ecf8427e\",\n"
		"      \"nsamples\": 10,\n      \"filesize\": 10240\n    },\n    {\n"
		"      \"nsamples\": 47, \"url\": \"gs://bucket/y/b#1.tar\"\n    },\n"
		"    {\"url\": \"what?.tar\", \"nsamples\": 3, \"dataset\": {\"url\": "
		"[{}]}}\n"
		"  ],\n  \"name\": \"train\",\n  \"info\": {\"nsamples\": 3}\n}";
	struct sfs_manifest c;
	struct sfs_error err;

	CHECK_EQ(parse(text, &c, &err), 0);
	CHECK_EQ(c.n, 3);
	found(&c, "a.tar", 10);
	found(&c, "x/a.tar", 10);
	found(&c, "b", 47);
	found(&c, "what?.tar", 3);
	lost(&c, "c.tar", -ENOENT, "does not name");
	sfs_manifest_done(&c);
}

static void datasets(void)
{
	struct sfs_manifest c;
	struct sfs_error err;

	CHECK_EQ(parse("{\"wids_version\":1,\"datasets\":[{\"name\":\"a\",\"shardlist\":["
		       "{\"url\":\"a/0.tar\",\"nsamples\":5}]},{\"source_url\":\"x\"},"
		       "{\"shardlist\":[{\"url\":\"b/0.tar\",\"nsamples\":5},"
		       "{\"url\":\"b/0.tar\",\"nsamples\":5}],\"weight\":2.5}]}",
		       &c, &err),
		 0);
	CHECK_EQ(c.n, 3);
	found(&c, "0.tar", 5); /* which one is meant does not matter */
	found(&c, "b/0.tar", 5);
	sfs_manifest_done(&c);

	CHECK_EQ(parse("{\"shard_counts\":{}}", &c, &err), 0);
	lost(&c, "0.tar", -ENOENT, "does not name");
	sfs_manifest_done(&c);
}

static void components(void)
{
	struct sfs_manifest c;
	struct sfs_error err;

	CHECK_EQ(parse("{\"shard_counts\":{\"/a.tar\":1,\"x/a.tar\":2,\"w/x/a.tar\":3,"
		       "\"wx/a.tar\":4,\"aa.tar\":5,\"a.tar/\":6,\"\":7}}",
		       &c, &err),
		 0);
	found(&c, "w/x/a.tar", 3);
	found(&c, "v/w/x/a.tar", 3);
	found(&c, "wx/a.tar", 4);
	found(&c, "aa.tar", 5);
	lost(&c, "y/a.tar", -ENOTUNIQ, "either may be");
	lost(&c, "x/a.tar", -ENOTUNIQ, "has 2 samples"); /* w/x/a.tar ends so, too */
	sfs_manifest_done(&c);
}

static void refused(const char *text, const char *why)
{
	struct sfs_manifest c = {.n = 77};
	struct sfs_error err;
	int ret = parse(text, &c, &err);

	if (ret != -EBADMSG)
		fprintf(stderr, "taken: %s\n", text);
	CHECK_EQ(ret, -EBADMSG);
	CHECK_HAS(err.text, why);
	CHECK_EQ(c.n, 77);
}

static void wrong(void)
{
	refused("", "line 1: it ends too early");
	refused("[]", "line 1: no object");
	refused("{}", "neither \"shard_counts\" nor");
	refused("{\"000000\": {\"num_samples\": 47}}", "neither \"shard_counts\" nor");
	refused("{\"shard_counts\":[]}", "is no object");
	refused("{\"shard_counts\":{\"a.tar\":\n\"1\"}}", "line 2: a number of samples");
	refused("{\"shard_counts\":{\"a.tar\":1.0}}", "no whole number");
	refused("{\"shard_counts\":{\"a.tar\":-1}}", "no whole number");
	refused("{\"shard_counts\":{\"a.tar\":18446744073709551616}}", "no whole number");
	refused("{\"shard_counts\":{\"a\\u0000.tar\":1}}", "holds a NUL");
	refused("{\"shard_counts\":{\"a.tar\":1,}}", "a name in quotes");
	refused("{\"shard_counts\":{\"a.tar\":1}", "it ends too early");
	refused("{\"shard_counts\":{\"a.tar\":1}} x", "something follows");
	refused("{\"wids_version\":2,\"shardlist\":[]}", "a version of wids");
	refused("{\"shardlist\":{}}", "\"shardlist\" is no list");
	refused("{\"shardlist\":[1]}", "\"shardlist\" holds what is no object");
	refused("{\"shardlist\":[{\"url\":\"a\"}]}", "a shard without");
	refused("{\"shardlist\":[{\"nsamples\":1}]}", "a shard without");
	refused("{\"shardlist\":[{\"url\":1,\"nsamples\":1}]}", "\"url\" is no string");
	refused("{\"shardlist\":[{\"url\":\"a\",\"url\":\"b\",\"nsamples\":1}]}",
		"told twice");
	refused("{\"shardlist\":[{\"url\":\"a\",\"nsamples\":null}]}", "no whole number");
	refused("{\"shardlist\":[{\"url\":\"a\",\"x\":[", "it ends too early");
	refused("{\"datasets\":[[]]}", "\"datasets\" holds what is no object");
	refused("{\"datasets\":[{\"shardlist\":[}]}", "not a value");
}

int main(void)
{
	energon();
	wids();
	datasets();
	components();
	wrong();
	return 0;
}
