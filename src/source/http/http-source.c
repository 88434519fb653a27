/* SPDX-License-Identifier: MIT */
#include "source/http/http-source.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "source/http/transfer.h"

#define N_SMALL 128 /* sizes and small pieces asked for at a time */
#define START	16  /* reads at a time that are of use, before it is known */

/* Whose is the object? */
static struct sfs_store *store_of(struct sfs_http_source *s,
				  const struct sfs_object *object)
{
	int i;

	for (i = 0; i < s->options.n_stores; i++)
		if (s->options.stores[i]->scheme == object->uri.scheme)
			return s->options.stores[i];
	return &s->plain;
}

static void submit(struct sfs_source *source, struct sfs_request *r)
{
	struct sfs_job *job = sfs_calloc(1, sizeof *job);

	job->source = sfs_container(source, struct sfs_http_source, base);
	job->store = store_of(job->source, r->object);
	job->dialect = job->store->dialect;
	job->request = r;
	job->begun_ns = sfs_clock_ns();
	job->is_needed = r->is_urgent;
	sfs_list_init(&job->legs);
	r->n_got = 0;
	sfs_transfer_begin(job);
}

static void wake(struct sfs_source *source)
{
	sfs_fetch_wake(sfs_container(source, struct sfs_http_source, base)->fetch);
}

static void stop(struct sfs_source *source)
{
	sfs_fetch_stop(sfs_container(source, struct sfs_http_source, base)->fetch);
}

static void free_source(struct sfs_source *source)
{
	struct sfs_http_source *s = sfs_container(source, struct sfs_http_source, base);

	sfs_fetch_free(s->fetch);
	free(s);
}

static void on_path_changed(void *ctx, const struct sfs_netpath *path)
{
	struct sfs_http_source *s = ctx;

	sfs_netpath_store(&s->base.path, path);
}

struct sfs_fetch_options sfs_http_fetch_options(const struct sfs_http_options *options)
{
	return (struct sfs_fetch_options){
		.n_connections = options->n_connections,
		.n_small = N_SMALL,
		.n_ahead = options->expects_streams ? options->n_connections : 0,
		.connect_timeout_ms = options->connect_timeout_ms,
		.stall_timeout_ms = options->stall_timeout_ms,
		.low_speed_limit = options->low_speed_limit,
		.headers = options->headers,
		.n_headers = options->n_headers,
		.bearer_file = options->bearer_file,
		.header_command = options->header_command,
		.bearer_command = options->bearer_command,
		.command_ms = options->read_timeout_ms,
		.proxy = options->proxy,
		.netrc_file = options->netrc_file,
		.ca_file = options->ca_file,
		.ca_path = options->ca_path,
		.cert = options->cert,
		.key = options->key,
	};
}

struct sfs_source *sfs_source_http_start(const struct sfs_http_options *options,
					 struct sfs_error *err)
{
	static const struct sfs_source_ops ops = {.name = "http",
						  .submit = submit,
						  .wake = wake,
						  .stop = stop,
						  .free = free_source};
	struct sfs_http_source *s = sfs_calloc(1, sizeof *s);
	struct sfs_fetch_options fetch_options = sfs_http_fetch_options(options);

	fetch_options.path_changed = on_path_changed;
	fetch_options.ctx = s;
	s->base.ops = &ops;
	s->base.has_stores = options->n_stores > 0;
	s->base.path.n_parallel =
		options->n_connections < START ? options->n_connections : START;
	s->options = *options;
	s->plain.dialect = &sfs_dialect_plain;
	s->rng.state = sfs_clock_ns();
	s->fetch = sfs_fetch_start(&fetch_options, err);
	if (!s->fetch) {
		free(s);
		return NULL;
	}
	return &s->base;
}
