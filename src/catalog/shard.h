/* SPDX-License-Identifier: MIT */
/* shard - the shards of a dataset and what is known of each: its size, and the
 * table of its samples as far as anybody has read it.
 *
 * Every reader of a shard's bytes feeds them: a stream, or a header scan.  The table
 * grows only at its frontier, so the order of readers does not matter.  Tables are
 * charged to the budget; when it runs short, unpinned tables are dropped, the longest
 * unused first.
 *
 * Any thread may call.  Nothing here waits or reads from a source.
 */
#ifndef SFS_SHARD_H
#define SFS_SHARD_H

#include "base/list.h"
#include "catalog/members.h"
#include "memory/budget.h"
#include "memory/charge.h"
#include "order/block.h"
#include "order/samples.h"
#include "source/source.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct sfs_stretch_set { /* stretches.h */
	struct sfs_shards *shards;
	uint64_t epoch;
	uint32_t first, n; /* in sfs_shards.shards */
	uint32_t n_users;
	uint64_t released; /* when, if nobody uses it: a count */
	atomic_bool is_wrong;
	_Atomic uint64_t n_waits; /* how often a stretch began to wait for its shard */
	_Atomic uint64_t n_feeds; /* of its stretches: they are being read */
};

struct sfs_index_search;
struct sfs_index;
struct sfs_index_finder;
struct sfs_growth; /* the scan and the table of one shard; see shard.c */

/* A stretch of a shard (stretches.h): its table has the samples that start at or after
 * byte `begin` and before `end`. */
struct sfs_shard_part {
	struct sfs_shard *whole;	 /* NULL: it is no stretch */
	uint64_t begin, end;		 /* multiples of 512; end > begin */
	struct sfs_shard *before, *next; /* of the same shard; NULL at its ends */
	struct sfs_stretch_set *set;
	/* The starts of the first samples from `begin` and from `end` on, as far as they
	 * are known, else SFS_NOT_FOUND; the shard's padded size, if there is none. */
	_Atomic uint64_t first, stop;
	atomic_bool is_sure;	    /* `first` is known from the headers before it */
	_Atomic uint32_t n_readers; /* streams that have it */
};
#define SFS_NOT_FOUND UINT64_MAX

struct sfs_shard {
	uint32_t index;
	char *name;   /* under shards/ and samples/: "train-000000.tar" */
	char *folder; /* what keys=auto puts before a name: "train-000000" */
	struct sfs_object *object;

	struct sfs_shard_part part;

	/* Set when the size was requested: 0, or why it is unknown; -ENOENT of a shard
	 * that is missing and counts as empty. */
	int size_err;

	/* What an index of the dataset says of it, which may be wrong; UINT64_MAX:
	 * nothing. */
	uint64_t said_bytes, said_samples;

	atomic_bool was_sought; /* its index: it is known, or there is none */
	_Atomic uint64_t noted; /* 1 + the byte of damage that the ledger has; or 0 */

	/* Of its first bytes, which were looked at (shard-stretch.c): the longest
	 * member. */
	atomic_bool was_looked_at;
	_Atomic uint64_t longest_member;

	pthread_mutex_t lock;	   /* guards all below */
	struct sfs_growth *growth; /* NULL: no table in memory */
	int n_pins;
	bool is_damaged; /* for good, and damage is not skipped */
	bool has_lied;	 /* its index was wrong */
	bool has_totals;
	uint64_t n_samples, sample_bytes; /* if has_totals */
	struct sfs_link lru; /* in sfs_shards.lru if it has a growth and no pins */

	/* The header scanner's (io/header-scan.h), under its lock. */
	struct sfs_cached_directory *listed;
	struct sfs_header_scan *header_scan;
};

/* A request for a header, which lies somewhere ahead, has so many bytes. */
#define SFS_HEADER_BYTES ((uint64_t)64 << 10)

/* Of a shard's first bytes, which are looked at before anything is guessed in it. */
#define SFS_STRETCH_LOOK_BYTES ((uint64_t)16 << 10)

#define SFS_STRETCH_SETS 16 /* epochs of random segments that may be open */

struct sfs_shards {
	uint32_t n;
	struct sfs_shard *shards;	  /* behind the n there is room for stretches */
	struct sfs_object *objects;	  /* of each */
	bool skip_damaged;		  /* on-error=skip */
	struct sfs_index_finder *indexes; /* where whole tables are kept; may be NULL */
	bool saves_members;	    /* indexes are kept with members, or not at all */
	struct sfs_account account; /* for tables and members */

	/* Held for reading while tables are read without a pin, for writing while
	 * one is dropped. */
	pthread_rwlock_t drop_lock;
	pthread_mutex_t lru_lock; /* guards lru and every shard's lru link */
	struct sfs_link lru;

	pthread_mutex_t sets_lock; /* guards the sets */
	int n_sets;		    /* there is room for */
	struct sfs_stretch_set *sets[SFS_STRETCH_SETS];
	uint64_t n_released;
	atomic_bool was_wrong; /* one was: readers may have got wrong bytes of its epoch */

	/* For looking back from a cut (shard-stretch.c): the samples of tables that are
	 * whole, and whether a member was seen to hold what looks like headers. */
	_Atomic uint64_t n_seen, seen_bytes;
	atomic_bool has_hidden;
};

/* Takes n names and n initialised objects.  There is room for n_sets of stretches
 * (stretches.h), at most SFS_STRETCH_SETS: 0.3 KiB for each shard and each cut, touched
 * only when it is used. */
void sfs_shards_init(struct sfs_shards *s, uint32_t n, char **names,
		     struct sfs_object *objects, bool skip_damaged, int n_sets,
		     struct sfs_budget *budget);
void sfs_shards_done(struct sfs_shards *s); /* after sfs_stretches_done() */

/* Of one of its objects: the number of the shard. */
static inline uint32_t sfs_shards_number(const struct sfs_shards *s,
					 const struct sfs_object *object)
{
	return (uint32_t)(object - s->objects);
}

/* The size of each shard in bytes; all are known.  The caller frees them. */
uint64_t *sfs_shards_sizes(const struct sfs_shards *s);

/* A stretch of shard `whole`; its name, its folder and its object are borrowed. */
void sfs_shard_init_stretch(struct sfs_shard *shard, uint32_t index,
			    struct sfs_shard *whole, uint64_t begin, uint64_t end);
void sfs_shard_done_stretch(struct sfs_shards *s, struct sfs_shard *shard);

/* Does the stretch end where the next one begins, or its shard ends?  false: no, or not
 * both places are known yet. */
bool sfs_stretch_meets_next(const struct sfs_shard *stretch);

/* Is it certain that the stretch begins with a sample of its shard?  Either the headers
 * from the shard's start on say so, or all stretches before it were read and meet. */
bool sfs_stretch_is_sure(struct sfs_shard *stretch);

/* Does it wait for the table of its shard?  In a dataset with hidden headers nothing
 * is guessed: somebody must scan it. */
bool sfs_stretch_waits(struct sfs_shard *stretch);

/* The table of its shard has grown: take what it says, and compare it with what was
 * guessed. */
void sfs_stretch_catch_up(struct sfs_shards *s, struct sfs_shard *stretch);

/* Keep the table of the shard, or start an empty one, until unpinned.  Its size must be
 * known. */
void sfs_shard_pin(struct sfs_shards *s, struct sfs_shard *shard);
void sfs_shard_unpin(struct sfs_shards *s, struct sfs_shard *shard);

/* The table of a pinned shard; or, with drop_lock held for reading, of any shard
 * (NULL if it has none). */
const struct sfs_sample_table *sfs_shard_table(struct sfs_shard *shard);

/* The byte that the table needs next; UINT64_MAX: none, as it is whole or damaged;
 * SFS_WANTED_LATER: none now, as it waits for the table of its shard.  The shard is
 * pinned. */
uint64_t sfs_shard_wanted(struct sfs_shard *shard);
#define SFS_WANTED_LATER (UINT64_MAX - 1)

/* What is known of a pinned shard, all at one moment: others may scan it meanwhile. */
struct sfs_shard_progress {
	uint64_t n_samples; /* of its table */
	/* The start of the sample that is not complete yet, or of the next one: all bytes
	 * before are in those samples or in none.  UINT64_MAX: no sample will follow. */
	uint64_t frontier;
	uint64_t wanted; /* as sfs_shard_wanted() */

	/* Of a stretch: no sample of it begins before `from`, or so it seems.  While its
	 * first one is looked for, bytes from `wanted` to `wanted_end` are worth
	 * requesting, wherever they are; after that, wanted_end is 0. */
	uint64_t from, wanted_end;
};
struct sfs_shard_progress sfs_shard_progress(struct sfs_shard *shard);

/* Scan n bytes at `offset`, as far as they are wanted.  Returns the next wanted byte, as
 * sfs_shard_wanted().  The shard is pinned.  Damage is noted in the ledger once.  n = 0
 * is for empty shards. */
uint64_t sfs_shard_feed(struct sfs_shards *s, struct sfs_shard *shard, uint64_t offset,
			const void *bytes, size_t n);

/* Complete the table from the index that was found.  Takes its bytes in any case.  The
 * shard is pinned. -ESTALE: the index contradicts what was read of the shard; the ledger
 * has it. */
int sfs_shard_adopt(struct sfs_shards *s, struct sfs_shard *shard,
		    struct sfs_index_search *found);

/* The same with a copy: the table does not borrow the bytes of the index. */
int sfs_shard_adopt_copy(struct sfs_shards *s, struct sfs_shard *shard,
			 const struct sfs_index *index);

/* A stretch of a shard has a whole table now; if all of them have, and agree, so has the
 * shard, and its index is saved. */
void sfs_shard_adopt_stretches(struct sfs_shards *s, struct sfs_shard *stretch);

/* The members of a pinned shard, if they were read; they stay as long as its table, and
 * so as long as it is pinned.  NULL: not in memory.  With drop_lock held for reading
 * instead of a pin, they stay until it is released. */
const struct sfs_members *sfs_shard_members(struct sfs_shard *shard);

/* Set the members of a pinned shard; takes them and their charge. */
void sfs_shard_keep_members(struct sfs_shard *shard, struct sfs_members *members,
			    struct sfs_charge *held);

/* Bytes of the budget that members may take, together with all tables. */
static inline uint64_t sfs_shards_members_most(const struct sfs_shards *s)
{
	return s->account.budget->total_bytes / 2;
}

/* The shard was read to its end for its members: save an index with members. */
void sfs_shard_save(struct sfs_shards *s, struct sfs_shard *shard);

/* Bytes of memory that its table takes. */
uint64_t sfs_shard_memory(struct sfs_shard *shard);

/* Its index was wrong about the sample at byte `at`: note it in the ledger, once. */
void sfs_shard_note_lie(struct sfs_shard *shard, uint64_t at, const char *why);

/* The number of its samples and the sum of their extents.  false: the shard was never
 * read to its end, or is damaged and that is not skipped. */
bool sfs_shard_totals(struct sfs_shard *shard, uint64_t *ret_n, uint64_t *ret_bytes);

/* The sum of the extents of an order's samples.  false: not all are known. */
bool sfs_shards_sum(struct sfs_shards *s, const struct sfs_order *order,
		    uint64_t *ret_bytes);

/* Is the shard, or one of an order's, known to be damaged, with damage that is not
 * skipped? */
bool sfs_shard_is_damaged(struct sfs_shard *shard);
bool sfs_shards_damaged(struct sfs_shards *s, const struct sfs_order *order);

/* Drop the table that was unused for longest.  false: all are in use. */
bool sfs_shards_drop_oldest(struct sfs_shards *s);

/* Drop unused tables: their memory is needed. */
void sfs_shards_drop_unused(struct sfs_shards *s);

/* For sfs_sample_tables and sfs_locator: ctx is a struct sfs_shards. */
const struct sfs_sample_table *sfs_shards_table(void *ctx, uint32_t shard);
uint64_t sfs_shards_size(void *ctx, uint32_t shard);
static inline struct sfs_sample_tables sfs_shards_tables(struct sfs_shards *s)
{
	return (struct sfs_sample_tables){.ctx = s,
					  .get = sfs_shards_table,
					  .size = sfs_shards_size};
}
bool sfs_shards_totals(void *ctx, uint32_t shard, uint64_t *ret_n, uint64_t *ret_bytes);

#endif
