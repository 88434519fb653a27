/* SPDX-License-Identifier: MIT */
#include "source/source.h"

#include "base/alloc.h"
#include "base/lock.h"
#include "base/stall.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

void sfs_object_init(struct sfs_object *object, struct sfs_uri *uri,
		     struct sfs_source *source)
{
	*object = (struct sfs_object){.uri = *uri,
				      .source = source,
				      .size = SFS_SIZE_UNKNOWN};
	*uri = (struct sfs_uri){0};
}

void sfs_object_set_listed(struct sfs_object *object, uint64_t size, const char *tag,
			   int64_t mtime_s)
{
	size_t n = tag ? strlen(tag) : 0;

	if (n < 3 || tag[0] != '"' || strchr(tag + 1, '"') != tag + n - 1)
		return;
	object->size = size;
	object->mtime_s = mtime_s;
	object->tag = sfs_strdup(tag);
	object->has_strong_tag = true;
}

void sfs_object_done(struct sfs_object *object)
{
	sfs_uri_done(&object->uri);
	free(object->tag);
	free(object->modified);
	free(object->redirected);
	free(object->linked_tag);
	free(object->failure);
	*object = (struct sfs_object){0};
}

/* Guards what failures of objects point to. */
static pthread_mutex_t failures_lock = PTHREAD_MUTEX_INITIALIZER;

void sfs_object_note_failure(struct sfs_object *object, const char *why)
{
	if (!why && !atomic_load(&object->failure))
		return;
	pthread_mutex_lock(&failures_lock);
	free(object->failure);
	object->failure = why ? sfs_strdup(why) : NULL;
	pthread_mutex_unlock(&failures_lock);
}

void sfs_object_explain(const struct sfs_object *object, uint64_t offset,
			const char *what, struct sfs_cause *cause)
{
	const struct sfs_uri *uri = &object->uri;
	const char *why;

	pthread_mutex_lock(&failures_lock);
	why = object->failure;
	sfs_cause_set(cause, object->name, offset, "%s from %s%s%s%s", what,
		      uri->origin     ? uri->origin
		      : uri->location ? uri->location
				      : "its source",
		      why ? " (last try: " : "", why ? why : "", why ? ")" : "");
	pthread_mutex_unlock(&failures_lock);
}

struct sfs_netpath sfs_source_path(const struct sfs_source *source)
{
	struct sfs_netpath path = sfs_netpath_load(&source->path);

	path.has_costly_requests = source->has_stores;
	return path;
}

struct sfs_netpath sfs_object_netpath(const struct sfs_object *object)
{
	const struct sfs_netpath_record *record = atomic_load(&object->path);
	struct sfs_netpath path = {0};

	if (record)
		path = sfs_netpath_load(record);
	if (path.n_parallel == 0)
		path = sfs_source_path(object->source);
	path.has_costly_requests = sfs_scheme_has_keys(object->uri.scheme);
	return path;
}

void sfs_request_submit(struct sfs_request *request)
{
	struct sfs_source *source = request->object->source;

	sfs_lock_check_none("a source is asked");
	source->ops->submit(source, request);
}

void sfs_request_cancel(struct sfs_request *request)
{
	struct sfs_source *source = request->object->source;

	atomic_store(&request->is_cancelled, true);
	source->ops->wake(source);
}

void sfs_request_hurry(struct sfs_request *request)
{
	struct sfs_source *source = request->object->source;

	if (!atomic_exchange(&request->is_needed, true))
		source->ops->wake(source);
}

uint64_t sfs_request_await(struct sfs_request *request)
{
	atomic_store(&request->is_awaited, true);
	return atomic_load(&request->n_ready);
}

void sfs_request_make_ready(struct sfs_request *request, uint64_t n_bytes)
{
	atomic_store(&request->n_ready, n_bytes);
	if (atomic_exchange(&request->is_awaited, false))
		request->ready(request);
}

void sfs_source_stop(struct sfs_source *source)
{
	if (source)
		source->ops->stop(source);
}

void sfs_source_free(struct sfs_source *source)
{
	if (source)
		source->ops->free(source);
}

void sfs_request_end(struct sfs_request *request, int err)
{
	struct sfs_source *source = request->object->source;

	atomic_fetch_add(&source->n_requests, 1);
	if (request->kind == SFS_REQUEST_READ && err == 0)
		atomic_fetch_add(&source->n_bytes,
				 request->n_bytes - request->n_skipped);
	else if (request->kind == SFS_REQUEST_READ && err != -ECANCELED)
		atomic_fetch_add(&source->n_failed, !request->is_silent);
	sfs_lock_check_none("a request ends");
	sfs_stall_note_answer();
	request->done(request, err);
}

void sfs_source_count_failed_ask(struct sfs_source *source)
{
	atomic_fetch_add(&source->n_failed, 1);
}

void sfs_source_count(struct sfs_source *source, struct sfs_source_counts *counts)
{
	if (!source)
		return;
	counts->n_requests += atomic_load(&source->n_requests);
	counts->n_failed += atomic_load(&source->n_failed);
	counts->n_bytes += atomic_load(&source->n_bytes);
	counts->n_hedges += atomic_load(&source->n_hedges);
	counts->hedged_bytes += atomic_load(&source->hedged_bytes);
}
