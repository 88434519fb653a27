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
#include "catalog/index-find.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/keyhash.h"
#include "base/ledger.h"
#include "base/localfile.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/threadpool.h"
#include "catalog/index-cache.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

#define SUFFIX	    ".index"
#define IMPORTED    ".idx"
#define MAX_MISSES  4
#define FIRST_BYTES ((uint64_t)64 << 10) /* of an index at a URL; mostly that is all */

/* The places, in the order of the search.  ENERGON and DALI: claims. */
enum place {
	BESIDE,
	PLACE,
	CACHE,
	BESIDE_ENERGON,
	BESIDE_DALI,
	PLACE_ENERGON,
	PLACE_DALI,
	N_PLACES
};

#define STOP_NS (3 * SFS_NS_PER_S) /* for a disk to answer the last request */

struct sfs_index_finder {
	struct sfs_index_cache *store,
		*named; /* the cache; and the folder that keeps them by name */
	char *place;	/* without a slash at its end; or NULL */
	bool is_url;	/* the place */
	bool verify_size_only;
	struct sfs_source *http;
	struct sfs_account *account;
	pthread_t thread;

	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t wake;
	struct sfs_link queue; /* searches to continue */
	bool is_stopped;
	int n_missed[N_PLACES], n_hit[N_PLACES]; /* next to shards at URLs */
	uint64_t
		n_lost; /* since the last flush: not saved, as the shard has no version */
};

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

/* The URL in the key.  The signature in a query changes each time, and a tag is enough.
 */
static char *url_of(const struct sfs_object *o)
{
	char *url = sfs_strdup(o->uri.location);

	if (o->uri.scheme != SFS_SCHEME_FILE && o->has_strong_tag)
		url[strcspn(url, "?")] = 0;
	return url;
}

/* Does the index match the object as it is now?  -ESTALE: no. */
static int check(const struct sfs_index_finder *ix, const struct sfs_object *o,
		 const struct sfs_index *index, struct sfs_error *err)
{
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

/* Continue after an index that is missing or unusable, and note why it is unusable. */
static int skip_index(const struct sfs_object *o, const char *where, int ret,
		      const struct sfs_error *why)
{
	if (ret != -ENOENT && ret != -ENOTDIR)
		sfs_ledger_add(SFS_EVENT_INDEX, o->name, SFS_NO_OFFSET,
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

static int hold(const struct sfs_index_finder *ix, struct sfs_charge *held, uint64_t n,
		bool is_more, struct sfs_error *err)
{
	int ret = sfs_charge_take(held, ix->account, (size_t)n, most(ix, is_more));

	return ret < 0 ? no_room(n, err) : 0;
}

/* ---- checking what was read ---- */

/* The index of another tool. */
static int open_claims(const struct sfs_index_finder *ix, struct sfs_index_search *f,
		       struct sfs_charge *bytes, struct sfs_error *err)
{
	int ret = sfs_index_import_parse(bytes->bytes, bytes->n, f->object->size,
					 &f->claims, err);

	uint64_t n = ret == 0 ? sfs_index_import_memory(&f->claims) : 0;

	if (ret == 0 &&
	    sfs_charge_count(&f->claims_held, ix->account, n, most(ix, true)) < 0) {
		sfs_index_import_done(&f->claims);
		return no_room(n, err);
	}
	return ret;
}

/* How many bytes of its file does the search want? */
static uint64_t wanted_bytes(const struct sfs_index_search *f,
			     const struct sfs_index *index, uint64_t n_file)
{
	return f->wants_members ? n_file : index->order_end;
}

/* Open an index and take its bytes: all n_file of them, or those that are wanted. */
static int open_index(struct sfs_index_search *f, struct sfs_charge *bytes,
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

/* Read our index in an open file into f. */
static int read_index(const struct sfs_index_finder *ix, struct sfs_index_search *f,
		      const struct sfs_localfile *file, struct sfs_error *err)
{
	char header[SFS_INDEX_HEADER_BYTES];
	size_t first = file->n < sizeof header ? (size_t)file->n : sizeof header;
	struct sfs_charge bytes = {0};
	struct sfs_index index;
	uint64_t n;
	int ret;

	ret = sfs_localfile_read(file, 0, header, first);
	if (ret == 0)
		ret = sfs_index_look(header, first, file->n, &index, err);
	if (ret == 0)
		ret = check(ix, f->object, &index, err);
	if (ret < 0)
		return ret;
	n = wanted_bytes(f, &index, file->n);
	ret = hold(ix, &bytes, n, f->wants_members, err);
	if (ret < 0)
		return ret;
	memcpy(bytes.bytes, header, sizeof header);
	ret = sfs_localfile_read(file, sizeof header, (char *)bytes.bytes + sizeof header,
				 (size_t)n - sizeof header);
	if (ret == 0)
		ret = open_index(f, &bytes, file->n, err);
	sfs_charge_done(&bytes);
	return ret;
}

static int read_claims(const struct sfs_index_finder *ix, struct sfs_index_search *f,
		       const struct sfs_localfile *file, struct sfs_error *err)
{
	struct sfs_charge bytes = {0};
	int ret;

	if (file->n > sfs_index_import_bytes_max(f->object->size))
		return sfs_error_set(err, -EFBIG,
				     "it is too large for an index of this shard");
	ret = hold(ix, &bytes, file->n, true, err);
	if (ret == 0)
		ret = sfs_localfile_read(file, 0, bytes.bytes, bytes.n);
	if (ret == 0)
		ret = open_claims(ix, f, &bytes, err);
	sfs_charge_done(&bytes);
	return ret;
}

/* 0, or an error with a sentence. */
static int read_file(const struct sfs_index_finder *ix, struct sfs_index_search *f,
		     const char *path, struct sfs_error *err)
{
	struct sfs_localfile file;
	int ret;

	ret = sfs_localfile_open(path, &file, err);
	if (ret < 0)
		return ret;
	err->text[0] = 0;
	ret = is_import(f->place) ? read_claims(ix, f, &file, err)
				  : read_index(ix, f, &file, err);
	sfs_localfile_close(&file);
	if (ret < 0 && !err->text[0])
		sfs_error_set(err, ret, "%s",
			      ret == -ESTALE ? "it is being written" : strerror(-ret));
	return ret;
}

static int look_into_file(const struct sfs_index_finder *ix, struct sfs_index_search *f,
			  const char *path)
{
	struct sfs_error why = {0};
	int ret = read_file(ix, f, path, &why);

	if (ret < 0)
		return skip_index(f->object, path, ret, &why);
	if (is_import(f->place))
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
	ret = read_file(ix, f, path, &why);
	if (ret < 0 && ret != -ENOENT)
		sfs_info("index of %s: %s: %s", f->object->name, path, why.text);
	return ret < 0 ? -ENOENT : 0;
}

/* ---- indexes at URLs ---- */

/* Continue the search on our thread. */
static void put_back(struct sfs_index_search *f, int err)
{
	struct sfs_index_finder *ix = f->indexes;

	f->fetch_err = err;
	pthread_mutex_lock(&ix->lock);
	sfs_list_push(&ix->queue, &f->link);
	pthread_cond_signal(&ix->wake);
	pthread_mutex_unlock(&ix->lock);
}

static void on_read(struct sfs_request *request, int err)
{
	put_back(sfs_container(request, struct sfs_index_search, request), err);
}

/* Read the wanted bytes from `from` on. */
static void read_remote(struct sfs_index_search *f, uint64_t from)
{
	f->iov = (struct iovec){.iov_base = (char *)f->bytes.bytes + from,
				.iov_len = f->bytes.n - (size_t)from};
	f->request = (struct sfs_request){.kind = SFS_REQUEST_READ,
					  .object = &f->remote,
					  .is_probe = true,
					  .offset = from,
					  .n_bytes = f->bytes.n - from,
					  .iov = &f->iov,
					  .n_iov = 1,
					  .done = on_read,
					  .error = &f->error};
	sfs_request_submit(&f->request);
}

/* The size of the index is known: is it possible for the shard?  Then read it. */
static void on_size(struct sfs_request *request, int err)
{
	struct sfs_index_search *f =
		sfs_container(request, struct sfs_index_search, request);
	uint64_t n = f->remote.size, shard_bytes = f->object->size;
	uint64_t most = is_import(f->place) ? sfs_index_import_bytes_max(shard_bytes)
					    : sfs_index_bytes_max(shard_bytes);

	if (err == 0 && n > most)
		err = sfs_error_set(&f->error, -EFBIG,
				    "its %llu bytes are too many for a shard of %llu",
				    (unsigned long long)n,
				    (unsigned long long)shard_bytes);
	else if (err == 0 && n == 0)
		err = sfs_error_set(&f->error, -EBADMSG, "it is empty");
	if (err == 0)
		err = hold(f->indexes, &f->bytes,
			   n < FIRST_BYTES || is_import(f->place) ? n : FIRST_BYTES,
			   f->wants_members || is_import(f->place), &f->error);
	if (err < 0)
		put_back(f, err);
	else
		read_remote(f, 0);
}

/* Fetch the index at a URL.  -EINPROGRESS, or -ENOENT: there can be none. */
static int fetch(struct sfs_index_finder *ix, struct sfs_index_search *f, const char *url,
		 const char *user)
{
	struct sfs_uri uri;

	if (!ix->http || sfs_uri_parse(url, &uri, NULL) < 0)
		return -ENOENT;
	if (user && !uri.user)
		uri.user = sfs_strdup(user);
	sfs_object_init(&f->remote, &uri, ix->http);
	f->remote.name = f->object->name;
	f->request = (struct sfs_request){.kind = SFS_REQUEST_ASK,
					  .object = &f->remote,
					  .is_probe = true,
					  .may_be_tiny = true,
					  .done = on_size,
					  .error = &f->error};
	sfs_request_submit(&f->request);
	return -EINPROGRESS;
}

/* Make f->bytes the wanted n bytes.  -EINPROGRESS: the rest is being read. */
static int want(const struct sfs_index_finder *ix, struct sfs_index_search *f, uint64_t n,
		struct sfs_error *err)
{
	struct sfs_charge first = f->bytes;
	size_t n_first = first.n < n ? first.n : (size_t)n;
	int ret;

	if (first.n == n)
		return 0;
	f->bytes = (struct sfs_charge){0};
	ret = hold(ix, &f->bytes, n, f->wants_members, err);
	if (ret == 0)
		memcpy(f->bytes.bytes, first.bytes, n_first);
	sfs_charge_done(&first);
	if (ret < 0 || n_first == n)
		return ret;
	read_remote(f, n_first);
	return -EINPROGRESS;
}

/* Take our index, of which the start or all wanted bytes are here. */
static int take_index(const struct sfs_index_finder *ix, struct sfs_index_search *f,
		      struct sfs_error *err)
{
	struct sfs_charge bytes;
	struct sfs_index index;
	int ret;

	ret = sfs_index_look(f->bytes.bytes, f->bytes.n, f->remote.size, &index, err);
	if (ret == 0)
		ret = check(ix, f->object, &index, err);
	if (ret == 0)
		ret = want(ix, f, wanted_bytes(f, &index, f->remote.size), err);
	if (ret < 0)
		return ret;
	bytes = f->bytes;
	f->bytes = (struct sfs_charge){0};
	ret = open_index(f, &bytes, f->remote.size, err);
	sfs_charge_done(&bytes);
	return ret;
}

static int take_claims(const struct sfs_index_finder *ix, struct sfs_index_search *f,
		       struct sfs_error *err)
{
	int ret = open_claims(ix, f, &f->bytes, err);

	sfs_charge_done(&f->bytes);
	return ret;
}

/* A request to a URL has ended.  -EINPROGRESS: more bytes are being read. */
static int take_fetched(struct sfs_index_finder *ix, struct sfs_index_search *f)
{
	sfs_autofree char *shown = sfs_uri_redact(f->remote.uri.location);
	int ret = f->fetch_err;
	struct sfs_error why = f->error;

	if (ret == 0)
		ret = is_import(f->place) ? take_claims(ix, f, &why)
					  : take_index(ix, f, &why);
	if (ret == -EINPROGRESS)
		return ret;
	if (ret == 0 && is_import(f->place))
		f->claimed_by = steal(&shown);
	if (ret < 0)
		sfs_charge_done(&f->bytes);
	/* The source has noted failed requests in the ledger. */
	if (ret < 0 && (f->fetch_err == 0 || ret == -EFBIG || ret == -ENOMEM))
		ret = skip_index(f->object, shown, ret, &why);
	pthread_mutex_lock(&ix->lock);
	ix->n_hit[f->place] += ret == 0;
	ix->n_missed[f->place] += ret < 0;
	pthread_mutex_unlock(&ix->lock);
	sfs_object_done(&f->remote);
	f->remote = (struct sfs_object){0};
	return ret;
}

/* A shard's name as a path of a URL.  (sfs_uri_parse() encodes what no URL may contain.)
 */
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
 * before a query; for DALI ".tar" is removed first. */
static char *name_index(const char *name, int place, bool is_url)
{
	size_t n = is_url ? strcspn(name, "?") : strlen(name), kept = n;

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

static int look_beside(struct sfs_index_finder *ix, struct sfs_index_search *f)
{
	const struct sfs_uri *uri = &f->object->uri;
	bool is_url = uri->scheme != SFS_SCHEME_FILE;
	sfs_autofree char *where = name_index(uri->location, f->place, is_url);

	if (!is_url)
		return look_into_file(ix, f, where);
	return is_worth_asking(ix, f->place) ? fetch(ix, f, where, uri->user) : -ENOENT;
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
		return look_into_file(ix, f, where);
	}
	escaped = escape_for_url(name);
	for (n = strcspn(ix->place, "?"); n > 0 && ix->place[n - 1] == '/';)
		n--;
	where = sfs_asprintf("%.*s/%s%s", (int)n, ix->place, escaped,
			     strchrnul(ix->place, '?'));
	return fetch(ix, f, where, NULL);
}

/* Look in one place after another.  -EINPROGRESS: the search will return to the queue. */
static int search(struct sfs_index_finder *ix, struct sfs_index_search *f)
{
	int ret = -ENOENT;

	if (f->remote.source)
		ret = take_fetched(ix, f);
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

static void check_place(const struct sfs_index_finder *ix)
{
	struct stat st;

	if (ix->place && !ix->is_url && stat(ix->place, &st) == 0 && !S_ISDIR(st.st_mode))
		sfs_warning("index: '%s' is not a folder; it is ignored", ix->place);
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
