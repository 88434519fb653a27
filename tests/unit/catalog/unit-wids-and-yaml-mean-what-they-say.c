/* SPDX-License-Identifier: MIT */
/* An index of wids gives its shards, as written; URLs are resolved as wids resolves them;
 * and YAML becomes the JSON that says the same, or is refused. */
#include "base/alloc.h"
#include "base/strbuf.h"
#include "catalog/wids.h"
#include "catalog/yaml.h"
#include "check.h"

#include <errno.h>

static void resolves(const char *base, const char *url, const char *wanted)
{
	sfs_autofree char *got = sfs_wids_resolve(base, url);

	CHECK_STR(got, wanted);
}

static void check_urls(void)
{
	resolves("/d", "a.tar", "/d/a.tar");
	resolves("/d/e", "../a.tar", "/d/a.tar");
	resolves("/d", "../../a.tar", "/a.tar");
	resolves("/d", "/x/a.tar", "/x/a.tar");
	resolves("", "a.tar", "/a.tar");
	resolves("/d", "s3://b/a.tar", "s3://b/a.tar");
	resolves("/d", "pipe:cat a.tar", "pipe:cat a.tar");
	resolves("http://h/d", "a.tar", "http://h/d/a.tar");
	resolves("http://h/d/", "./e//a.tar?b=/../c", "http://h/d/e/a.tar?b=/../c");
	resolves("http://h/d", "../../../a.tar", "http://h/a.tar");
	resolves("http://h", "a.tar", "http://h/a.tar");
	resolves("http://u:p@h:80/d?x=1#y", "/a.tar", "http://u:p@h:80/a.tar");
	resolves("s3://b/p", "a.tar", "s3://b/p/a.tar");
}

static void check_index(void)
{
	static const char text[] = "{\"wids_version\": 1, \"datasets\": [{\"base\": "
				   "\"x\", \"shardlist\": []}, "
				   "{\"source_url\": \"y.json\"}], \"shardlist\": "
				   "[{\"nsamples\": 7, \"md5sum\": "
				   "\"z\", \"url\": \"a.tar\"}, {\"url\": \"b.tar\", "
				   "\"filesize\": 18446744073709551614}], "
				   "\"base\": \"s3://b\"}";
	struct sfs_wids w;

	CHECK_EQ(sfs_wids_read(text, strlen(text), &w, NULL), 0);
	CHECK_EQ(w.n, 3);
	CHECK_EQ(w.parts[0].n, 2);
	CHECK_STR(w.parts[0].base, "s3://b");
	CHECK_STR(w.parts[0].shards[0].url, "a.tar");
	CHECK_EQ(w.parts[0].shards[0].n_samples, 7);
	CHECK(w.parts[0].shards[0].n_bytes == SFS_WIDS_UNKNOWN);
	CHECK(w.parts[0].shards[1].n_bytes == UINT64_MAX - 1);
	CHECK(w.parts[1].n == 0 && !w.parts[1].source_url);
	CHECK_STR(w.parts[2].source_url, "y.json");
	sfs_wids_done(&w);
}

static void index_fails(const char *text, const char *words)
{
	struct sfs_error err = {0};
	struct sfs_wids w;

	CHECK_EQ(sfs_wids_read(text, strlen(text), &w, &err), -EBADMSG);
	CHECK_HAS(err.text, words);
}

static void check_bad_indexes(void)
{
	index_fails("", "line 1");
	index_fails("[]", "there is no object");
	index_fails("{\"shardlist\": []}", "it has no 'wids_version'");
	index_fails("{\"wids_version\": -1}", "no number");
	index_fails("{\"wids_version\": 1, \"shardlist\": {}}", "'shardlist' is no list");
	index_fails("{\"shardlist\": [3]}", "a shard is no object");
	index_fails("{\"shardlist\": [{\"url\": \"\"}]}", "'url' is no string");
	index_fails("{\"shardlist\": [{\"url\": \"a\\u0000b\"}]}", "'url' is no string");
	index_fails("{\"shardlist\": [{\"url\": \"a\", \"filesize\": -1}]}",
		    "'filesize'");
	index_fails("{\"shardlist\": [{\"url\": \"a\"}], \"shardlist\": []}",
		    "two lists");
	index_fails("{\"datasets\": [{\"name\": \"x\"}]}", "neither");
	index_fails("{\"wids_version\": 1, \"shardlist\": []} x", "line 1");
}

static void becomes(const char *yaml, const char *wanted)
{
	struct sfs_strbuf json = {0};
	struct sfs_error err = {0};

	if (sfs_yaml_to_json(yaml, strlen(yaml), &json, &err) < 0) {
		fprintf(stderr, "'%s' is refused: %s\n", yaml, err.text);
		exit(1);
	}
	CHECK_STR(json.s, wanted);
	sfs_strbuf_done(&json);
}

static void yaml_fails(const char *yaml, const char *words)
{
	struct sfs_strbuf json = {0};
	struct sfs_error err = {0};

	CHECK_EQ(sfs_yaml_to_json(yaml, strlen(yaml), &json, &err), -EBADMSG);
	CHECK_HAS(err.text, words);
	sfs_strbuf_done(&json);
}

static void check_yaml(void)
{
	becomes("a", "\"a\"");
	becomes("{a: [1, -2, 007, 1.5, 'x', \"y\\t\", ], b: }",
		"{\"a\":[1,-2,\"007\",\"1.5\",\"x\",\"y\\u0009\"],\"b\":null}");
	becomes("a:\n- b: yes\n  c: 'no'\n- []\n- {}\n1: ~\n",
		"{\"a\":\n[{\"b\":true,\n\"c\":\"no\"},\n[],\n{}],\n\"1\":null}");
	becomes("--- # x\nfrom: |\n  a\n  b\n...\n", "\n{\"from\":\"a\\u000ab\\u000a\"}");
	yaml_fails("", "it is empty");
	yaml_fails("a: &x 1\nb: *x", "line 1: anchors and aliases");
	yaml_fails("a: *x", "line 1: anchors and aliases");
	yaml_fails("- 1\n- !!python/name:os.system x", "line 2: tags");
	yaml_fails("a: 1\n<<: {}", "line 2: merged maps");
	yaml_fails("? [a]\n: b", "a key is no plain text");
	yaml_fails("a\n--- \nb", "a second document");
	yaml_fails("\"a\\0b\"", "NUL");
	yaml_fails("a: b: c", "line 1: ");
	yaml_fails("[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
		   "too deep");
}

int main(void)
{
	check_urls();
	check_index();
	check_bad_indexes();
	if (sfs_yaml_version())
		check_yaml();
	return 0;
}
