/* SPDX-License-Identifier: MIT */
#include "engine/stores.h"

#include "base/alloc.h"
#include "source/ais/ais.h"
#include "source/azure/azure.h"
#include "source/hf/hf.h"
#include "source/s3/s3.h"
#include "source/webhdfs/webhdfs.h"

#include <errno.h>

struct sfs_http_options sfs_stores_http_options(const struct sfs_options *o)
{
	return (struct sfs_http_options){
		.n_connections = (int)o->connections,
		.expects_streams = o->expects_streams,
		.n_retries = (int)o->retries,
		.connect_timeout_ms = (unsigned)o->connect_timeout_ms,
		.stall_timeout_ms = (unsigned)o->stall_timeout_ms,
		.low_speed_limit = o->low_speed_limit,
		.read_timeout_ms = o->read_timeout_ms,
		.verify_size_only = o->verify == SFS_VERIFY_SIZE,
		.headers = o->header_specs.s,
		.n_headers = o->header_specs.n,
		.bearer_file = o->bearer_file,
		.header_command = o->header_command,
		.bearer_command = o->bearer_command,
		.proxy = o->proxy,
		.netrc_file = o->netrc_file,
		.ca_file = o->cacert,
		.ca_path = o->capath,
		.cert = o->cert,
		.key = o->key,
	};
}

/* ---- the kinds ---- */

static struct sfs_store *start_s3(const struct sfs_options *o,
				  const struct sfs_http_options *http,
				  struct sfs_error *err)
{
	const struct sfs_s3_options options = {
		.kind = &sfs_s3_aws,
		.endpoint = o->endpoint,
		.region = o->region,
		.style = (enum sfs_s3_style)o->s3_style,
		.is_anonymous = o->anonymous,
		.requester_pays = o->requester_pays,
		.http = http,
	};

	return sfs_s3_start(&options, err);
}

static struct sfs_store *start_gs(const struct sfs_options *o,
				  const struct sfs_http_options *http,
				  struct sfs_error *err)
{
	const struct sfs_s3_options options = {
		.kind = &sfs_s3_google,
		.endpoint = o->endpoint,
		.style = (enum sfs_s3_style)o->s3_style,
		.is_anonymous = o->anonymous,
		.user_project = o->user_project,
		.http = http,
	};

	return sfs_s3_start(&options, err);
}

static struct sfs_store *start_ais(const struct sfs_options *o,
				   const struct sfs_http_options *http,
				   struct sfs_error *err)
{
	const struct sfs_ais_options options = {.endpoint = o->endpoint,
						.provider = o->provider,
						.http = http};

	return sfs_ais_start(&options, err);
}

static struct sfs_store *start_az(const struct sfs_options *o,
				  const struct sfs_http_options *http,
				  struct sfs_error *err)
{
	const struct sfs_azure_options options = {.endpoint = o->endpoint,
						  .sas_file = o->sas_file,
						  .is_anonymous = o->anonymous,
						  .http = http};

	return sfs_azure_start(&options, err);
}

static struct sfs_store *start_webhdfs(const struct sfs_options *o,
				       const struct sfs_http_options *http,
				       struct sfs_error *err)
{
	const struct sfs_webhdfs_options options = {.endpoint = o->endpoint,
						    .http = http};

	return sfs_webhdfs_start(&options, err);
}

static struct sfs_store *start_hf(const struct sfs_options *o,
				  const struct sfs_http_options *http,
				  struct sfs_error *err)
{
	const struct sfs_hf_options options = {.endpoint = o->endpoint, .http = http};

	return sfs_hf_start(&options, err);
}

static const struct kind {
	enum sfs_scheme scheme;
	struct sfs_store *(*start)(const struct sfs_options *o,
				   const struct sfs_http_options *http,
				   struct sfs_error *err);
} kinds[] = {
	{SFS_SCHEME_S3, start_s3},
	{SFS_SCHEME_AIS, start_ais},
	{SFS_SCHEME_GS, start_gs},
	{SFS_SCHEME_AZ, start_az},
	{SFS_SCHEME_WEBHDFS, start_webhdfs},
	{SFS_SCHEME_HF, start_hf},
};

_Static_assert(SFS_COUNT(kinds) <= SFS_STORES_MOST, "raise SFS_STORES_MOST");

/* ---- those that are started ---- */

struct sfs_store *sfs_stores_find(const struct sfs_stores *s, enum sfs_scheme scheme)
{
	int i;

	for (i = 0; i < s->n; i++)
		if (s->stores[i]->scheme == scheme)
			return s->stores[i];
	return NULL;
}

int sfs_stores_start(struct sfs_stores *s, enum sfs_scheme scheme, struct sfs_error *err)
{
	const struct sfs_http_options http = sfs_stores_http_options(s->options);
	struct sfs_store *store;
	size_t i;

	for (i = 0; i < SFS_COUNT(kinds); i++) {
		if (kinds[i].scheme != scheme || sfs_stores_find(s, scheme))
			continue;
		store = kinds[i].start(s->options, &http, err);
		if (!store)
			return -EINVAL;
		s->stores[s->n++] = store;
	}
	return 0;
}

int sfs_stores_meet(struct sfs_stores *s, const struct sfs_uri *uri,
		    struct sfs_error *err)
{
	int code = sfs_stores_start(s, uri->scheme, err);
	struct sfs_store *store = sfs_stores_find(s, uri->scheme);

	return code < 0 || !store || !store->meet ? code : store->meet(store, uri, err);
}

int sfs_stores_list(struct sfs_stores *s, const struct sfs_uri *uri,
		    struct sfs_listing *ret, struct sfs_error *err)
{
	int code = sfs_stores_start(s, uri->scheme, err);
	struct sfs_store *store = sfs_stores_find(s, uri->scheme);

	if (code < 0)
		return code;
	return store ? store->list(store, uri, ret, err) : -ENOTDIR;
}

void sfs_stores_done(struct sfs_stores *s)
{
	while (s->n > 0) {
		s->n--;
		s->stores[s->n]->stop(s->stores[s->n]);
	}
}
