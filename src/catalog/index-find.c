/* SPDX-License-Identifier: MIT */
/* How this works: a thread, "sfs-index", goes through the places for each search in turn,
 * because reading a file waits for the disk.  An index at a URL is fetched through the
 * source meanwhile, and the search returns to the queue with its bytes.
 *
 * Whoever can write an index can write anything, at any time.  So it is never mapped, but
 * read into memory before it is checked; its header first, which says whether it is for
 * this shard and how much of the rest is needed.  That memory is charged to an account,
 * and bounded by the size that an index of such a shard can have.
 *
 * Next to shards at URLs there is mostly no index: after a few misses without a hit that
 * place is skipped. */
#include "catalog/index-find-internal.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/keyhash.h"
#include "base/ledger.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/threadpool.h"
#include "catalog/index-cache.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define SUFFIX	   ".index"
#define IMPORTED   ".idx"
#define MAX_MISSES 4
#define STOP_NS	   (3 * SFS_NS_PER_S) /* for a disk to answer the last request */

/* ---- does an index match a shard? ---- */

/* A number for the version of the object; 0: unknown.  If the tag is weak or missing, the
 * date counts too. */
static uint64_t version_of(const struct sfs_index_finder *ix, const struct sfs_object *o)
{
	uint64_t hash = SFS_KEYHASH_EMPTY;

	if (ix->verify_size_only || (!o->tag && !o->modified))
		return 0;
	if (o->modified && !o->has_strong_tag)
		hash = sfs_keyhash(o->modified, strlen(o->modified));
	return o->tag ? sfs_keyhash_prepend(hash, o->tag, strlen(o->tag)) : hash;
}

static bool has_query(const struct sfs_uri *uri)
{
	return uri->scheme == SFS_SCHEME_HTTP || uri->scheme == SFS_SCHEME_HTTPS;
}

/* The URL in the key.  The signature in a query changes each time, and a
 * tag is enough. */
static char *url_of(const struct sfs_object *o)
{
	char *url = sfs_strdup(o->uri.location);

	if (has_query(&o->uri) && o->has_strong_tag)
		url[strcspn(url, "?")] = 0;
	return url;
}

int sfs_index_search_check(const struct sfs_index_search *f,
			   const struct sfs_index *index, struct sfs_error *err)
{
	const struct sfs_index_finder *ix = f->indexes;
	const struct sfs_object *o = f->object;

	if (index->shard_bytes != o->size)
		return sfs_error_set(err, -ESTALE,
				     "it is for a shard of %llu bytes, but this one has "
				     "%llu",
				     (unsigned long long)index->shard_bytes,
				     (unsigned long long)o->size);
	if (!ix->verify_size_only && index->version != version_of(ix, o))
		return sfs_error_set(err, -ESTALE,
				     "it is for another version of the shard");
	return 0;
}

int sfs_index_search_skip(const struct sfs_index_search *f, const char *where, int ret,
			  const struct sfs_error *why)
{
	if (ret != -ENOENT && ret != -ENOTDIR)
		sfs_ledger_add(SFS_EVENT_INDEX, f->object->name, SFS_NO_OFFSET,
			       ret == -ENOMEM ? "its headers are read instead; raise "
						"budget="
					      : "its headers are read instead; index it "
						"again",
			       "the index %s is not used: %s", where, why->text);
	return -ENOENT;
}

static bool is_import(int place)
{
	return place > CACHE;
}

bool sfs_index_search_is_import(const struct sfs_index_search *f)
{
	return is_import(f->place);
}

/* ---- memory ---- */

/* Samples may take all of the budget, as their table would; members and claims half of
 * it. */
static uint64_t most(const struct sfs_index_finder *ix, bool is_more)
{
	uint64_t n = ix->account ? ix->account->budget->total_bytes : UINT64_MAX;

	return is_more ? n / 2 : n;
}

static int no_room(uint64_t n, struct sfs_error *err)
{
	return sfs_error_set(err, -ENOMEM, "its %llu bytes do not fit the budget",
			     (unsigned long long)n);
}

int sfs_index_search_hold(const struct sfs_index_search *f, struct sfs_charge *held,
			  uint64_t n, bool is_more, struct sfs_error *err)
{
	int ret = sfs_charge_take(held, f->indexes->account, (size_t)n,
				  most(f->indexes, is_more));

	return ret < 0 ? no_room(n, err) : 0;
}

/* ---- checking what was read ---- */

int sfs_index_search_open_claims(struct sfs_index_search *f, struct sfs_charge *bytes,
				 struct sfs_error *err)
{
	int ret = sfs_index_import_parse(bytes->bytes, bytes->n, f->object->size,
					 &f->claims, err);
	uint64_t n = ret == 0 ? sfs_index_import_memory(&f->claims) : 0;

	if (ret == 0 && sfs_charge_count(&f->claims_held, f->indexes->account, n,
					 most(f->indexes, true)) < 0) {
		sfs_index_import_done(&f->claims);
		return no_room(n, err);
	}
	return ret;
}

uint64_t sfs_index_search_wanted(const struct sfs_index_search *f,
				 const struct sfs_index *index, uint64_t n_file)
{
	return f->wants_members ? n_file : index->order_end;
}

int sfs_index_search_open(struct sfs_index_search *f, struct sfs_charge *bytes,
			  uint64_t n_file, struct sfs_error *err)
{
	int ret = sfs_index_open(bytes->bytes, bytes->n, n_file, &f->index, err);

	if (ret < 0)
		return ret;
	f->bytes = *bytes;
	*bytes = (struct sfs_charge){0};
	return 0;
}

/* ---- places ---- */

static int look_into_file(struct sfs_index_search *f, const char *path)
{
	struct sfs_error why = {0};
	int ret = sfs_index_search_read(f, path, &why);

	if (ret < 0)
		return sfs_index_search_skip(f, path, ret, &why);
	if (sfs_index_search_is_import(f))
		f->claimed_by = sfs_strdup(path);
	return 0;
}

static int look_into_cache(const struct sfs_index_finder *ix, struct sfs_index_search *f)
{
	sfs_autofree char *url = url_of(f->object);
	const struct sfs_index_cache_key key = {.url = url,
						.shard_bytes = f->object->size,
						.version = version_of(ix, f->object)};
	sfs_autofree char *path = NULL;
	struct sfs_error why = {0};
	int ret;

	if (key.version == 0 && !ix->verify_size_only)
		return -ENOENT;
	path = sfs_index_cache_path(ix->store, &key);
	if (!path)
		return -ENOENT;
	ret = sfs_index_search_read(f, path, &why);
	if (ret < 0 && ret != -ENOENT)
		sfs_info("index of %s: %s: %s", f->object->name, path, why.text);
	return ret < 0 ? -ENOENT : 0;
}

/* A shard's name as a path of a URL.  (sfs_uri_parse() encodes what no
 * URL may contain.) */
static char *escape_for_url(const char *name)
{
	struct sfs_strbuf text = {0};

	for (; *name; name++)
		if (strchr("%?#", *name))
			sfs_strbuf_printf(&text, "%%%02X", (unsigned)*name);
		else
			sfs_strbuf_add(&text, name, 1);
	return text.s;
}

/* ---- the search ---- */

/* The name (or URL) of the index of a shard with this name (or URL): a suffix is added,
 * before a query, if it may have one; for DALI ".tar" is removed first. */
static char *name_index(const char *name, int place, bool may_have_query)
{
	size_t n = may_have_query ? strcspn(name, "?") : strlen(name), kept = n;

	if ((place == BESIDE_DALI || place == PLACE_DALI) && n > 4 &&
	    strncmp(name + n - 4, ".tar", 4) == 0)
		kept -= 4;
	return sfs_asprintf("%.*s%s%s", (int)kept, name,
			    is_import(place) ? IMPORTED : SUFFIX, name + n);
}

/* Is an index next to shards at URLs likely? */
static bool is_worth_asking(struct sfs_index_finder *ix, int place)
{
	bool is_worth;

	pthread_mutex_lock(&ix->lock);
	is_worth = ix->n_hit[place] > 0 || ix->n_missed[place] < MAX_MISSES;
	pthread_mutex_unlock(&ix->lock);
	return is_worth;
}

static void count(struct sfs_index_finder *ix, int place, int ret)
{
	pthread_mutex_lock(&ix->lock);
	ix->n_hit[place] += ret == 0;
	ix->n_missed[place] += ret < 0 && ret != -EINPROGRESS;
	pthread_mutex_unlock(&ix->lock);
}

static int look_beside(struct sfs_index_finder *ix, struct sfs_index_search *f)
{
	const struct sfs_uri *uri = &f->object->uri;
	bool is_url = uri->scheme != SFS_SCHEME_FILE;
	sfs_autofree char *where = name_index(uri->location, f->place, has_query(uri));

	if (!is_url)
		return look_into_file(f, where);
	return is_worth_asking(ix, f->place) ? sfs_index_search_fetch(f, where, uri->user)
					     : -ENOENT;
}

static int look_at_place(struct sfs_index_finder *ix, struct sfs_index_search *f)
{
	sfs_autofree char *name = NULL, *escaped = NULL, *where = NULL;
	size_t n;

	if (!ix->place)
		return -ENOENT;
	name = name_index(f->object->name, f->place, false);
	if (!ix->is_url) {
		where = sfs_asprintf("%s/%s", ix->place, name);
		return look_into_file(f, where);
	}
	if (ix->has_keys) {
		where = sfs_asprintf("%s/%s", ix->place, name);
		return sfs_index_search_fetch(f, where, NULL);
	}
	escaped = escape_for_url(name);
	for (n = strcspn(ix->place, "?"); n > 0 && ix->place[n - 1] == '/';)
		n--;
	where = sfs_asprintf("%.*s/%s%s", (int)n, ix->place, escaped,
			     strchrnul(ix->place, '?'));
	return sfs_index_search_fetch(f, where, NULL);
}

/* Look in one place after another.  -EINPROGRESS: the search will return to the queue. */
static int search(struct sfs_index_finder *ix, struct sfs_index_search *f)
{
	int ret = -ENOENT;

	if (f->remote.source) {
		ret = sfs_index_search_take_fetched(f);
		count(ix, f->place, ret);
	}
	while (ret < 0 && ret != -EINPROGRESS && f->place + 1 < N_PLACES) {
		switch (++f->place) {
		case BESIDE:
		case BESIDE_ENERGON:
		case BESIDE_DALI: ret = look_beside(ix, f); break;
		case CACHE: ret = look_into_cache(ix, f); break;
		default: ret = look_at_place(ix, f);
		}
	}
	return ret;
}

/* The finder has stopped. */
static void give_up(struct sfs_index_search *f)
{
	sfs_index_search_done(f);
	if (f->remote.source)
		sfs_object_done(&f->remote);
	f->done(f, -ECANCELED);
}

/* A folder of --to may not exist yet, and sfs_index_finder_try() checks it. */
static void check_place(const struct sfs_index_finder *ix)
{
	struct stat st;

	if (!ix->place || ix->is_url || ix->named)
		return;
	if (stat(ix->place, &st) < 0)
		sfs_warning("option 'index': %s: %s; no index is found there for now",
			    ix->place, strerror(errno));
	else if (!S_ISDIR(st.st_mode))
		sfs_warning("option 'index': %s: not a folder; no index is found there "
			    "for now",
			    ix->place);
}

static void *work(void *arg)
{
	struct sfs_index_finder *ix = arg;
	struct sfs_index_search *f;
	struct sfs_link *link;
	bool is_stopped;
	int ret;

	check_place(ix);
	pthread_mutex_lock(&ix->lock);
	for (;;) {
		link = sfs_list_pop(&ix->queue);
		is_stopped = ix->is_stopped;
		if (!link && is_stopped)
			break;
		if (!link) {
			pthread_cond_wait(&ix->wake, &ix->lock);
			continue;
		}
		pthread_mutex_unlock(&ix->lock);
		f = sfs_container(link, struct sfs_index_search, link);
		if (is_stopped)
			give_up(f);
		else if ((ret = search(ix, f)) != -EINPROGRESS)
			f->done(f, ret < 0 || f->claimed_by ? -ENOENT : 0);
		pthread_mutex_lock(&ix->lock);
	}
	pthread_mutex_unlock(&ix->lock);
	return NULL;
}

void sfs_index_search_resume(struct sfs_index_search *f, int err)
{
	struct sfs_index_finder *ix = f->indexes;

	f->fetch_err = err;
	pthread_mutex_lock(&ix->lock);
	sfs_list_push(&ix->queue, &f->link);
	pthread_cond_signal(&ix->wake);
	pthread_mutex_unlock(&ix->lock);
}

void sfs_index_search_done(struct sfs_index_search *f)
{
	sfs_charge_done(&f->bytes);
	sfs_charge_done(&f->claims_held);
	sfs_index_import_done(&f->claims);
	free(steal(&f->claimed_by));
}

void sfs_index_finder_find(struct sfs_index_finder *ix, struct sfs_index_search *f)
{
	bool is_stopped;

	f->indexes = ix;
	f->place = -1;
	pthread_mutex_lock(&ix->lock);
	is_stopped = ix->is_stopped;
	if (!is_stopped) {
		sfs_list_push(&ix->queue, &f->link);
		pthread_cond_signal(&ix->wake);
	}
	pthread_mutex_unlock(&ix->lock);
	if (is_stopped)
		f->done(f, -ECANCELED);
}

/* ---- keeping ---- */

void sfs_index_finder_keep(struct sfs_index_finder *ix, const struct sfs_object *o,
			   const struct sfs_sample_table *table,
			   const struct sfs_members *members)
{
	uint64_t version = version_of(ix, o);
	sfs_autofree char *url = url_of(o), *name = NULL;
	const struct sfs_index_cache_key key = {.url = url,
						.shard_bytes = o->size,
						.version = version};
	void *bytes;
	size_t n;

	if (!ix->named && version == 0 && !ix->verify_size_only) {
		/* Another version of the shard could not be recognised. */
		pthread_mutex_lock(&ix->lock);
		ix->n_lost++;
		pthread_mutex_unlock(&ix->lock);
		return;
	}
	bytes = sfs_index_write(table, o->size, version, members, &n);
	if (ix->named) {
		name = sfs_asprintf("%s" SUFFIX, o->name);
		sfs_index_cache_save_as(ix->named, name, bytes, n);
	} else {
		sfs_index_cache_save(ix->store, &key, bytes, n);
	}
}

int sfs_index_finder_try(struct sfs_index_finder *ix, struct sfs_error *err)
{
	int ret = ix->named ? sfs_index_cache_try(ix->named) : 0;

	if (ret == 0)
		return 0;
	return sfs_error_set(err, ret,
			     "cannot save indexes in %s: %s; use another folder with "
			     "--to=",
			     ix->place, strerror(-ret));
}

uint64_t sfs_index_finder_flush(struct sfs_index_finder *ix)
{
	uint64_t n_lost;

	pthread_mutex_lock(&ix->lock);
	n_lost = ix->n_lost;
	ix->n_lost = 0;
	pthread_mutex_unlock(&ix->lock);
	return n_lost + sfs_index_cache_flush(ix->named ? ix->named : ix->store);
}

/* ---- life ---- */

/* index= or --to=: a URL, or a folder, which may not exist yet. */
static int set_place(struct sfs_index_finder *ix, const char *place,
		     struct sfs_error *err)
{
	struct sfs_uri uri;
	size_t n;
	int ret;

	if (sfs_uri_has_scheme(place)) {
		ret = sfs_uri_parse(place, &uri, err);
		if (ret < 0)
			return sfs_error_wrap(err, ret, "index");
		ix->is_url = uri.scheme != SFS_SCHEME_FILE;
		ix->has_keys = sfs_scheme_has_keys(uri.scheme);
		ix->place = sfs_strdup(ix->is_url ? place : uri.location);
		sfs_uri_done(&uri);
	} else {
		ix->place = sfs_strdup(place);
	}
	for (n = strlen(ix->place); n > 1 && ix->place[n - 1] == '/';)
		ix->place[--n] = 0;
	return 0;
}

int sfs_index_finder_new(const struct sfs_index_finder_options *options,
			 struct sfs_index_finder **ret_indexes, struct sfs_error *err)
{
	struct sfs_index_finder *ix = sfs_calloc(1, sizeof *ix);
	int ret = options->place ? set_place(ix, options->place, err) : 0;

	if (ret < 0) {
		free(ix);
		return ret;
	}
	ix->verify_size_only = options->verify_size_only;
	ix->http = options->http;
	ix->account = options->account;
	ix->store = sfs_index_cache_new(options->cache, true);
	if (options->to)
		ix->named = sfs_index_cache_new(options->to, false);
	pthread_mutex_init(&ix->lock, NULL);
	pthread_cond_init(&ix->wake, NULL);
	sfs_list_init(&ix->queue);
	ix->thread = sfs_thread_start("sfs-index", work, ix);
	*ret_indexes = ix;
	return 0;
}

void sfs_index_finder_stop(struct sfs_index_finder *ix)
{
	if (!ix || ix->is_stopped)
		return;
	pthread_mutex_lock(&ix->lock);
	ix->is_stopped = true;
	pthread_cond_signal(&ix->wake);
	pthread_mutex_unlock(&ix->lock);
	sfs_thread_join_until(ix->thread, sfs_clock_ns() + STOP_NS);
}

void sfs_index_finder_free(struct sfs_index_finder *ix)
{
	if (!ix)
		return;
	sfs_index_cache_free(ix->named);
	sfs_index_cache_free(ix->store);
	pthread_mutex_destroy(&ix->lock);
	pthread_cond_destroy(&ix->wake);
	free(ix->place);
	free(ix);
}
