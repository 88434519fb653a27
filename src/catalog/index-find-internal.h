/* SPDX-License-Identifier: MIT */
/* index-find-internal - what index-find.c (the search), index-find-file.c (local files)
 * and index-find-url.c (files at URLs) share. */
#ifndef SFS_INDEX_FIND_INTERNAL_H
#define SFS_INDEX_FIND_INTERNAL_H

#include "catalog/index-find.h"

#include <pthread.h>

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

struct sfs_index_finder {
	struct sfs_index_cache *store; /* the cache */
	struct sfs_index_cache *named; /* a folder that keeps them by name; or NULL */
	char *place;		       /* without a slash at its end; or NULL */
	bool is_url, has_keys;	       /* the place */
	bool verify_size_only;
	struct sfs_source *http;
	struct sfs_account *account;
	pthread_t thread;

	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t wake;
	struct sfs_link queue; /* searches to continue */
	bool is_stopped;
	int n_missed[N_PLACES], n_hit[N_PLACES]; /* next to shards at URLs */
	uint64_t n_lost; /* not saved since the last flush: the shard has no version */
};

/* Read the index of this search from a local file.  0, or an error with a sentence. */
int sfs_index_search_read(struct sfs_index_search *f, const char *path,
			  struct sfs_error *err);

/* Fetch it at a URL.  -EINPROGRESS: the search will be resumed, and then
 * take_fetched() takes what came.  -ENOENT: there can be none. */
int sfs_index_search_fetch(struct sfs_index_search *f, const char *url, const char *user);

/* Take what was fetched.  -EINPROGRESS: more bytes are being read. */
int sfs_index_search_take_fetched(struct sfs_index_search *f);

/* Continue the search on the finder's thread; any thread may call.  `err` is that of the
 * request. */
void sfs_index_search_resume(struct sfs_index_search *f, int err);

/* Does the search look for the index of another tool now? */
bool sfs_index_search_is_import(const struct sfs_index_search *f);

/* Does the index match the object as it is now?  -ESTALE: no. */
int sfs_index_search_check(const struct sfs_index_search *f,
			   const struct sfs_index *index, struct sfs_error *err);

/* How many bytes of the index's file, which has n_file, does the search want? */
uint64_t sfs_index_search_wanted(const struct sfs_index_search *f,
				 const struct sfs_index *index, uint64_t n_file);

/* Charge and allocate n bytes.  `is_more`: for members or claims, which may take half of
 * the budget; samples may take all of it, as their table would. */
int sfs_index_search_hold(const struct sfs_index_search *f, struct sfs_charge *held,
			  uint64_t n, bool is_more, struct sfs_error *err);

/* Open an index and take its bytes: all n_file of them, or those that are wanted. */
int sfs_index_search_open(struct sfs_index_search *f, struct sfs_charge *bytes,
			  uint64_t n_file, struct sfs_error *err);

/* The same for the index of another tool; the bytes stay the caller's. */
int sfs_index_search_open_claims(struct sfs_index_search *f, struct sfs_charge *bytes,
				 struct sfs_error *err);

/* Note why an index is not used, unless it is missing.  -ENOENT, always. */
int sfs_index_search_skip(const struct sfs_index_search *f, const char *where, int ret,
			  const struct sfs_error *why);

#endif
