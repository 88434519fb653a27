/* SPDX-License-Identifier: MIT */
/* Names in a list, an index or a spec at a URL count from that URL, whatever kind it is of, and keep its
 * password; its query is its own.  Who is named by such a file, at another server, is foreign. */
#include "base/alloc.h"
#include "catalog/dataset.h"
#include "catalog/yaml.h"
#include "check.h"

#include <errno.h>

#define INFO "{\"shard_counts\": {\"y.tar\": 7}}"

/* A NULL text: it may not be read. */
static const struct {
	const char *url, *text;
} files[] = {
	{"http://h/l/list.txt", "x.tar\n../y.tar\n/z.tar?sig=1\n./a/b/../w.tar"},
	{"http://h/l/list.txt?sig=2", "x.tar\n"},
	{"http://h/list.txt", "x.tar\nhttps://h/y.tar\nhttp://H:80/z.tar\ns3://h/w.tar\n/data/v.tar\n"},
	{"s3://b/l#1/list.txt", "x.tar\n../y?z.tar\n/w.tar\n"},
	{"hf://datasets/o/n@v1/list.txt", "a/x.tar"},
	{"webhdfs://h:9870/d/list.txt", "x.tar"},
	{"http://h/page", " <!DOCTYPE html>"},
	{"http://h/d/i.json", "{\"wids_version\": 1, \"base\": \"../e\", \"shardlist\": [{\"url\": \"x.tar\"}],"
			      "\"datasets\": [{\"source_url\": \"http://other/j.json\"}]}"},
	{"http://other/j.json", "{\"wids_version\": 1, \"shardlist\": [{\"url\": \"y.tar\"}, "
				"{\"url\": \"http://h/z.tar\"}]}"},
	{"https://h/s.yaml?sig=3", "datasets: [{shards: 'x-{0..1}.tar', buckets: b}]"},
	{"https://h/ds/.nv-meta/split.json", "{\"split_parts\": {\"train\": [\"x.tar\", \"y.tar\"]}}"},
	{"https://h/ds/.nv-meta/.info.json", INFO},
	{"s3://b/ds/.nv-meta/split.yaml", NULL},
	{"s3://b/ds/.nv-meta/split.json", "{\"split_parts\": {\"train\": [\"p/x.tar\"]}}"},
	{"s3://b/ds/.nv-meta/.info.json", NULL},
	{"https://h/broken/.nv-meta/split.yaml", "split_parts: {train: [x.tar"},
};

static char foreign[256]; /* what was fetched from servers that are */

static int fetch(void *ctx, const struct sfs_uri *uri, struct sfs_strbuf *text,
		 struct sfs_error *err)
{
	size_t i;

	if (uri->is_foreign)
		snprintf(foreign, sizeof foreign, "%s", uri->location);
	for (i = 0; i < SFS_COUNT(files); i++) {
		if (strcmp(uri->location, files[i].url) != 0)
			continue;
		if (!files[i].text)
			return sfs_error_set(err, -EACCES, "HTTP 403");
		sfs_strbuf_puts(text, files[i].text);
		return 0;
	}
	return sfs_error_set(err, -ENOENT, "HTTP 404");
}

static bool exists(const char *path)
{
	return false;
}

static int list(const char *folder, struct sfs_folder *ret, struct sfs_error *err)
{
	return -ENOTDIR;
}

static int load(const char *spec, const char *split, struct sfs_dataset *d,
		struct sfs_error *err)
{
	const struct sfs_dataset_disk disk = {.cwd = "/data",
					      .split = split,
					      .exists = exists,
					      .list = list,
					      .fetch = fetch};
	char *specs[] = {(char *)spec};

	foreign[0] = 0;
	return sfs_dataset_load(specs, 1, &disk, d, err);
}

/* Each shard as "LOCATION ", with '!' if it is foreign, and its user. */
static void part_gives(const char *spec, const char *split, const char *wanted)
{
	struct sfs_dataset d = {0};
	struct sfs_error err = {0};
	char got[1024] = "";
	uint32_t i;

	if (load(spec, split, &d, &err) < 0) {
		fprintf(stderr, "'%s' is refused: %s\n", spec, err.text);
		exit(1);
	}
	for (i = 0; i < d.n; i++)
		snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s%s%s ",
			 d.uris[i].is_foreign ? "!" : "",
			 d.uris[i].user ? d.uris[i].user : "",
			 d.uris[i].user ? "@" : "", d.uris[i].location);
	CHECK_STR(got, wanted);
	sfs_dataset_done(&d);
}

static void gives(const char *spec, const char *wanted)
{
	part_gives(spec, NULL, wanted);
}

static void refuses(const char *spec, const char *split, int wanted, const char *words)
{
	struct sfs_dataset d = {0};
	struct sfs_error err = {0};

	CHECK_EQ(load(spec, split, &d, &err), wanted);
	CHECK_HAS(err.text, words);
	CHECK(!strstr(err.text, "SECRET"));
}

int main(void)
{
	struct sfs_dataset d = {0};

	gives("@http://h/l/list.txt",
	      "http://h/l/x.tar http://h/y.tar http://h/z.tar?sig=1 http://h/l/a/w.tar ");
	gives("@http://u:p@h/l/list.txt?sig=2", "u:p@http://h/l/x.tar ");
	gives("@http://h/list.txt", "http://h/x.tar !https://h/y.tar http://H:80/z.tar !s3://h/w.tar "
				    "http://h/data/v.tar ");
	gives("@s3://b/l#1/list.txt", "s3://b/l#1/x.tar s3://b/y?z.tar s3://b/w.tar ");
	gives("@hf://datasets/o/n@v1/list.txt", "hf://datasets/o/n@v1/a/x.tar ");
	gives("@webhdfs://h:9870/d/list.txt", "webhdfs://h:9870/d/x.tar ");

	gives("http://h/d/i.json", "http://h/e/x.tar !http://other/y.tar http://h/z.tar ");
	CHECK_STR(foreign, "http://other/j.json");
	gives("http://other/j.json", "http://other/y.tar !http://h/z.tar ");
	CHECK_STR(foreign, "");

	if (sfs_yaml_version())
		gives("https://h/s.yaml?sig=3", "https://h/b/x-0.tar https://h/b/x-1.tar ");

	part_gives("https://h/ds//", "train", "https://h/ds/x.tar https://h/ds/y.tar ");
	part_gives("https://h/ds?sig=SECRET", "train", "https://h/ds/x.tar https://h/ds/y.tar ");
	part_gives("s3://b/ds", "train", "s3://b/ds/p/x.tar ");
	CHECK_EQ(load("https://h/ds", "train", &d, NULL), 0);
	CHECK(d.said[0].n_samples == UINT64_MAX && d.said[1].n_samples == 7);
	sfs_dataset_done(&d);

	refuses("@http://u:SECRET@h/none.txt?SECRET", NULL, -ENOENT,
		"cannot read http://***@h/none.txt?***: HTTP 404");
	refuses("http://h/none.json", NULL, -ENOENT, "cannot read http://h/none.json: HTTP 404");
	refuses("@http://h/page", NULL, -EBADMSG, "a web page is there");
	refuses("@ftp://h/list.txt", NULL, -EINVAL, "'ftp://' is not understood");
	refuses("https://h/none/", "train", -EINVAL,
		"split=train: 'https://h/none' is no folder that energon has prepared");
	refuses("https://h/x.tar", "train", -EINVAL, "is no folder that energon has prepared");
	refuses("s3://b/ds/*", "train", -EINVAL, "is no folder that energon has prepared");
	refuses("https://h/ds", "val", -EINVAL, "it has no part 'val', only: train");
	refuses("https://h/broken", "train", sfs_yaml_version() ? -EBADMSG : -EOPNOTSUPP,
		"https://h/broken/.nv-meta/split.yaml");
	return 0;
}
