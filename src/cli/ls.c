/* SPDX-License-Identifier: MIT */
#include "cli/ls.h"

#include "base/alloc.h"
#include "base/json-writer.h"
#include "engine/engine.h"

#include <inttypes.h>
#include <string.h>

/* A missing shard that counts as an empty one has a size, too. */
static bool has_size(const struct sfs_shard *shard)
{
	return shard->object->size != SFS_SIZE_UNKNOWN && shard->size_err == 0;
}

static void print_lines(const struct sfs_shards *shards, struct sfs_strbuf *text)
{
	const struct sfs_shard *shard;
	uint32_t i;

	for (i = 0; i < shards->n; i++) {
		shard = &shards->shards[i];
		if (has_size(shard))
			sfs_strbuf_printf(text, "%14" PRIu64 "  %s\n",
					  shard->object->size, shard->name);
		else
			sfs_strbuf_printf(text, "%14s  %s\n", "-", shard->name);
	}
}

static void print_shard(struct sfs_json_writer *w, const struct sfs_shard *shard)
{
	sfs_autofree char *shown = sfs_uri_redact(shard->object->uri.location);

	sfs_json_newline(w);
	sfs_json_open(w, NULL, '{');
	sfs_json_put_string(w, "name", shard->name);
	sfs_json_put_string(w, "source", shown);
	if (has_size(shard))
		sfs_json_put_uint(w, "bytes", shard->object->size);
	else
		sfs_json_put_string(w, "bytes", NULL);
	if (shard->said_samples != UINT64_MAX)
		sfs_json_put_uint(w, "samples", shard->said_samples);
	if (shard->size_err < 0)
		sfs_json_put_string(w, "error", strerror(-shard->size_err));
	sfs_json_close(w, '}');
}

static void print_json(const struct sfs_shards *shards, struct sfs_strbuf *text)
{
	struct sfs_json_writer w = {.text = text};
	uint64_t n_bytes = 0;
	uint32_t i;

	sfs_json_open(&w, NULL, '{');
	sfs_json_open(&w, "shards", '[');
	for (i = 0; i < shards->n; i++) {
		print_shard(&w, &shards->shards[i]);
		if (has_size(&shards->shards[i]))
			n_bytes += shards->shards[i].object->size;
	}
	sfs_json_close(&w, ']');
	sfs_json_newline(&w);
	sfs_json_put_uint(&w, "n_shards", shards->n);
	sfs_json_put_uint(&w, "n_bytes", n_bytes);
	sfs_json_close(&w, '}');
	sfs_strbuf_puts(text, "\n");
}

int sfs_ls(struct sfs_options *options, const struct sfs_strings *specs, bool as_json,
	   struct sfs_strbuf *text, struct sfs_error *err)
{
	struct sfs_engine *engine;
	int ret;

	ret = sfs_engine_start(options, specs, true, &engine, err);
	if (ret < 0)
		return ret;
	sfs_engine_warn_of_folders(engine);
	ret = sfs_engine_wait_for_sizes(engine, NULL, NULL, err);
	if (as_json)
		print_json(&engine->runtime.shards, text);
	else
		print_lines(&engine->runtime.shards, text);
	sfs_engine_stop(engine);
	sfs_engine_free(engine);
	return ret;
}
