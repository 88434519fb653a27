/* SPDX-License-Identifier: MIT */
/* sizes-internal - what sizes.c (requests, and who waits) and sizes-faults.c (what is
 * wrong with shards, and how to say it) share. */
#ifndef SFS_SIZES_INTERNAL_H
#define SFS_SIZES_INTERNAL_H

#include "catalog/sizes.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* MISSING: known to be missing, which counts as an empty shard.  FOREIGN: the size is
 * known, and it is no tar. */
enum {
	SFS_SIZES_WAITING,
	SFS_SIZES_IN_FLIGHT,
	SFS_SIZES_KNOWN,
	SFS_SIZES_MISSING,
	SFS_SIZES_FOREIGN,
	SFS_SIZES_FAILED,
	SFS_SIZES_HELD
};

struct sfs_sizes_slot; /* see sizes.c */

struct sfs_sizes {
	struct sfs_shards *shards;

	pthread_mutex_t lock; /* guards all below, and the waiters' links */
	unsigned char *state; /* of each shard */
	uint32_t stride;
	uint32_t next;	    /* a turn: no WAITING shard comes before it */
	uint32_t n_pending; /* WAITING or IN_FLIGHT */
	uint32_t n_known;
	uint32_t n_early;    /* requested before it was settled */
	uint32_t n_local;    /* local files that were looked at */
	uint32_t n_first;    /* shards that begin with the plain header of a file, */
	uint64_t first_bytes; /* and how long these files are */
	int failure;	     /* the latest error, if a shard FAILED */
	uint64_t failed_ns;  /* when that was */
	uint32_t first_bad;  /* the first shard that is bad: see sfs_size_is_bad() */
	char *why;	     /* why it is bad; NULL: there is none */
	uint32_t n_reported; /* bad shards that the user knows of, */
	bool has_reported;   /* if this is true; else nothing is logged */
	bool has_compared;   /* the sizes with those that an index says */
	pthread_cond_t all_ended;
	bool is_closed, is_settled;
	struct sfs_link waiters, idle;
	uint32_t *wanted; /* shards to request first: a stack */
	size_t n_wanted, wanted_capacity;
	uint32_t n_slots;
	struct sfs_sizes_slot *slots;
};

bool sfs_size_is_too_large(const struct sfs_shard *shard);
bool sfs_size_is_bad(unsigned char state);

/* The request for its size has failed with `err`, or the size is known (0): note errors
 * in the ledger.  Returns the error; none for a missing shard that counts as empty. */
int sfs_size_check(struct sfs_sizes *s, struct sfs_shard *shard, int err,
		   const char *why);

/* ---- locked ---- */

/* Keep why the first shard is bad, a sentence that names it; or that this one is too
 * large. */
void sfs_sizes_keep_why(struct sfs_sizes *s, uint32_t shard, const char *why);
void sfs_sizes_keep_too_large(struct sfs_sizes *s, const struct sfs_shard *shard);

/* The size of the shard is known, and it may begin with these bytes: if it is no tar,
 * note that. */
void sfs_sizes_look_at(struct sfs_sizes *s, const struct sfs_shard *shard,
		       const unsigned char *head, size_t n);

/* See sfs_sizes_tally(). */
void sfs_sizes_count(const struct sfs_sizes *s, uint32_t first, uint32_t end,
		     struct sfs_sizes_tally *ret);
uint32_t sfs_sizes_n_bad(const struct sfs_sizes_tally *t);

/* If shards have other sizes than an index of the dataset says: a sentence about that. */
void sfs_sizes_compare_said(const struct sfs_sizes *s, struct sfs_error *ret);

#endif
