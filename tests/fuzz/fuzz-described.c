/* SPDX-License-Identifier: MIT */
/* Files that say which shards a dataset has: wids, energon, WebDataset, as JSON or as
 * YAML. What is checked beyond "does not crash": YAML that is taken is JSON, of about the
 * same size; what is taken names shards, and what is refused is explained. */
#include "fuzz.h"

#include "base/json.h"
#include "base/strbuf.h"
#include "catalog/braces.h"
#include "catalog/energon.h"
#include "catalog/wds-spec.h"
#include "catalog/wids.h"
#include "catalog/yaml.h"

#include <errno.h>

static void must_explain(int ret, const struct sfs_error *err)
{
	MUST(ret == 0 || (ret < 0 && err->text[0]));
}

static void read_wids(const char *text, size_t n)
{
	struct sfs_error err = {0};
	struct sfs_wids wids;
	size_t i, k;
	char *where;
	int ret;

	ret = sfs_wids_read(text, n, &wids, &err);
	must_explain(ret, &err);
	if (ret < 0)
		return;
	MUST(wids.n > 0);
	for (i = 0; i < wids.n; i++) {
		for (k = 0; k < wids.parts[i].n; k++) {
			where = sfs_wids_resolve(wids.parts[i].base ? wids.parts[i].base
								    : "/folder",
						 wids.parts[i].shards[k].url);
			MUST(*where);
			free(where);
		}
	}
	sfs_wids_done(&wids);
}

static void read_energon(const char *text, size_t n)
{
	struct sfs_energon_part part = {0};
	struct sfs_error err = {0};
	uint64_t *counts;
	size_t i;
	int ret;

	ret = sfs_energon_read_split(text, n, "train", &part, &err);
	must_explain(ret, &err);
	MUST(ret < 0 || part.n > 0);
	counts = calloc(part.n + 1, sizeof *counts);
	for (i = 0; i < part.n; i++)
		MUST(part.names[i]);
	err.text[0] = 0;
	must_explain(sfs_energon_read_info(text, n, &part, counts, &err), &err);
	free(counts);
	sfs_energon_part_done(&part);
}

static void read_spec(const char *text, size_t n)
{
	struct sfs_error err = {0};
	char **shards;
	size_t n_shards;
	int ret;

	ret = sfs_wds_spec_read(text, n, &shards, &n_shards, &err);
	must_explain(ret, &err);
	if (ret == 0)
		sfs_braces_free(shards, n_shards);
}

static void read_all(const char *text, size_t n)
{
	read_wids(text, n);
	read_energon(text, n);
	read_spec(text, n);
}

/* Can it be read to its end? */
static void must_be_json(const char *text, size_t n)
{
	enum sfs_json_token token;
	struct sfs_json json;

	sfs_json_init(&json, text, n);
	while ((token = sfs_json_next(&json)) > SFS_JSON_END)
		;
	MUST(token == SFS_JSON_END);
	sfs_json_done(&json);
}

/* Few braces mean millions of names. */
static bool is_long(const uint8_t *data, size_t n)
{
	size_t i, n_braces = 0, n_digits = 0;

	for (i = 0; i < n; i++) {
		n_braces += data[i] == '{';
		n_digits += data[i] >= '0' && data[i] <= '9';
	}
	return n > 4096 || n_braces > 12 || n_digits > 12;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_data)
{
	struct sfs_strbuf json = {0};
	struct sfs_error err = {0};
	void *copy;
	int ret;

	if (is_long(data, n_data))
		return 0;
	copy = fuzz_copy(data, n_data);
	read_all(copy, n_data);
	ret = sfs_yaml_to_json(copy, n_data, &json, &err);
	must_explain(ret, &err);
	MUST(json.n <= 16 * n_data + 64);
	if (ret == 0) {
		must_be_json(json.s, json.n);
		read_all(json.s, json.n);
	}
	sfs_strbuf_done(&json);
	free(copy);
	return 0;
}
