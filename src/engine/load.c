/* SPDX-License-Identifier: MIT */
/* How this works: listing runs in a thread of its own.  If a disk does not respond, the
 * thread is left running with all of struct loading. */
#include "engine/load.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/ledger.h"
#include "base/localfile.h"
#include "base/stall.h"
#include "base/threadpool.h"
#include "source/folder.h"
#include "source/http/key-url.h"
#include "source/http/whole.h"
#include "source/key-pattern.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define MAX_LIST ((uint64_t)256 << 20)

struct loading {
	struct sfs_stores stores; /* with the options */
	struct sfs_http_options http;
	struct sfs_whole *whole; /* NULL: nothing was to be got at a URL */
	struct sfs_strings specs;
	struct sfs_dataset dataset;
	struct sfs_error error;
	int ret;
};

static int read_list(const char *path, struct sfs_strbuf *text, bool *ret_is_pipe,
		     struct sfs_error *err)
{
	return sfs_localfile_append(path, MAX_LIST, text, ret_is_pipe, err);
}

static int list_objects(void *ctx, const struct sfs_uri *uri,
			struct sfs_listed **ret_objects, size_t *ret_n,
			struct sfs_error *err)
{
	struct loading *l = ctx;
	struct sfs_listing listing = {0};
	struct sfs_listing_item *item;
	size_t i;
	int ret;

	ret = sfs_stores_list(&l->stores, uri, &listing, err);
	if (ret < 0)
		return ret;
	*ret_objects = sfs_calloc(listing.n + 1, sizeof **ret_objects);
	*ret_n = listing.n;
	for (i = 0; i < listing.n; i++) {
		item = &listing.items[i];
		(*ret_objects)[i] = (struct sfs_listed){
			.url = sfs_asprintf("%s/%s", uri->origin, item->key),
			.size = item->size,
			.tag = steal(&item->tag),
			.mtime_s = item->mtime_s,
		};
	}
	sfs_listing_done(&listing);
	return 0;
}

/* Is it the URL of one object? */
static int check_object(const struct sfs_uri *uri, struct sfs_error *err)
{
	sfs_autofree char *bucket = NULL;
	const char *key;

	if (!sfs_scheme_has_keys(uri->scheme))
		return 0;
	bucket = sfs_key_split(uri->location, &key);
	return sfs_key_pattern_is(key)
		       ? sfs_error_set(err, -EINVAL,
				       "it is a pattern or a folder; name one object")
		       : 0;
}

static int fetch(void *ctx, const struct sfs_uri *uri, struct sfs_strbuf *text,
		 struct sfs_error *err)
{
	struct loading *l = ctx;
	int ret = check_object(uri, err);

	if (ret == 0)
		ret = sfs_stores_meet(&l->stores, uri, err);
	if (ret < 0)
		return ret;
	if (!l->whole) {
		l->http = sfs_stores_http_options(l->stores.options);
		l->whole = sfs_whole_start(&l->http, err);
	}
	if (!l->whole)
		return -EINVAL;
	return sfs_whole_get(l->whole, sfs_stores_find(&l->stores, uri->scheme), uri,
			     MAX_LIST, text, err);
}

/* Names in lists and indexes were not listed. */
static int meet_all(struct loading *l)
{
	const struct sfs_dataset *d = &l->dataset;
	uint32_t i;
	int ret = 0;

	for (i = 0; i < d->n && ret == 0; i++)
		if (!d->listed[i].tag && sfs_scheme_has_keys(d->uris[i].scheme))
			ret = sfs_stores_meet(&l->stores, &d->uris[i], &l->error);
	return ret;
}

static void *load_run(void *arg)
{
	struct loading *l = arg;
	sfs_autofree char *cwd = getcwd(NULL, 0);
	const struct sfs_dataset_disk disk = {.cwd = cwd ? cwd : "/",
					      .split = l->stores.options->split,
					      .exists = sfs_folder_has,
					      .list = sfs_folder_list,
					      .match = sfs_folder_match,
					      .read = read_list,
					      .list_objects = list_objects,
					      .fetch = fetch,
					      .ctx = l};

	l->ret = sfs_dataset_load(l->specs.s, l->specs.n, &disk, &l->dataset, &l->error);
	if (l->ret == 0) {
		l->ret = meet_all(l);
		if (l->ret < 0)
			sfs_dataset_done(&l->dataset);
	}
	sfs_whole_stop(l->whole);
	return NULL;
}

/* false: it did not end in time. */
static bool wait_for_list(pthread_t thread, const struct sfs_strings *specs)
{
	uint64_t until_ns = sfs_stall_deadline(sfs_clock_ns()),
		 say_ns = sfs_stall_say_at();
	struct sfs_cause cause;

	if (say_ns < until_ns && !sfs_thread_try_join_until(thread, say_ns)) {
		sfs_autofree char *shown = sfs_uri_redact(specs->s[0]);

		sfs_cause_set(&cause, NULL, SFS_NO_OFFSET,
			      "the list of the shards of %s%s", shown,
			      specs->n > 1 ? ", ..." : "");
		sfs_stall_say(&cause, until_ns, "gives up");
	} else if (say_ns < until_ns) {
		return true;
	}
	return sfs_thread_join_until(thread, until_ns);
}

int sfs_load(const struct sfs_options *options, const struct sfs_strings *specs,
	     struct sfs_dataset *ret_dataset, struct sfs_stores *ret_stores,
	     struct sfs_error *err)
{
	struct loading *l = sfs_calloc(1, sizeof *l);
	pthread_t thread;
	int ret, i;

	l->stores.options = options;
	for (i = 0; i < specs->n; i++)
		sfs_strings_add(&l->specs, specs->s[i]);
	thread = sfs_thread_start("sfs-load", load_run, l);
	if (!wait_for_list(thread, specs))
		return sfs_error_set(err, -ETIMEDOUT,
				     "cannot list the shards: the disk or the server did "
				     "not respond, or a list did not end, within %llu s "
				     "(read-timeout)",
				     (unsigned long long)(sfs_stall_limit_ns() /
							  SFS_NS_PER_S));
	ret = l->ret;
	if (ret < 0)
		sfs_error_set(err, ret, "%s", l->error.text);
	else
		*ret_dataset = l->dataset;
	if (ret < 0)
		sfs_stores_done(&l->stores);
	else
		*ret_stores = l->stores;
	sfs_strings_done(&l->specs);
	free(l);
	return ret;
}
