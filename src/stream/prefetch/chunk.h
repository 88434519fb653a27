/* SPDX-License-Identifier: MIT */
/* chunk - some megabytes of a stream of single samples: laid out in slabs as they will be
 * read, and the runs of neighbours by which they are fetched.
 *
 * It requests nothing.  Called with the stream's lock held.
 */
#ifndef SFS_CHUNK_H
#define SFS_CHUNK_H

#include "stream/prefetch/prefetch-internal.h"

#include <stdint.h>

#define SFS_NOWHERE UINT64_MAX

struct sfs_single {
	uint64_t at;  /* its first byte in the chunk; or SFS_NOWHERE */
	uint32_t nth; /* which one it is in by_place; */
	uint32_t run; /* and its run */
};

enum sfs_run_state { SFS_RUN_WANTED, SFS_RUN_IN_FLIGHT, SFS_RUN_HERE, SFS_RUN_FAILED };

/* Neighbours: `n` samples from chunk->by_place[first] on. */
struct sfs_run {
	uint32_t first, n;
	uint32_t n_here; /* the first of them that are here */
	enum sfs_run_state state;
	void *part; /* the user's: that is in flight; or NULL */
};

struct sfs_chunk {
	struct sfs_chunk *next;
	struct sfs_slice_buffer *buffer; /* NULL: it holds none of its samples */
	uint64_t n_bytes;		 /* of the buffer */
	uint32_t n;
	struct sfs_block_sample *samples; /* in the order of the stream */
	struct sfs_single *singles;		  /* the same */
	uint32_t *by_place;		  /* the n_held of them that it holds */
	uint32_t n_held;
	struct sfs_run *runs;
	uint32_t n_runs, next_run; /* no run before that is WANTED */
	uint32_t n_failed, n_in_flight;
	uint64_t target, most;	/* about how large it is; and its largest sample */
	uint64_t fetched_bytes; /* of all runs, with what lies between */
};

/* Look up the samples from `position` in the part of the epoch on, about
 * n_bytes of them. */
struct sfs_chunk *sfs_chunk_new(const struct sfs_prefetch *p, uint64_t position,
				uint64_t n_bytes);
void sfs_chunk_free(struct sfs_chunk *c);

/* Keep the first samples only, about n_bytes of them and at least one. */
void sfs_chunk_cut(struct sfs_chunk *c, uint64_t n_bytes);

/* Say where its samples lie in the chunk, one after the other.  Those larger than `most`
 * do not, and are not in by_place any more. */
void sfs_chunk_lay_out(struct sfs_chunk *c, uint64_t most);

/* Give the chunk its slabs, for which the account was charged. */
void sfs_chunk_fill(struct sfs_chunk *c, const struct sfs_prefetch *p);

/* Make runs of neighbours, by a path of `rate` (0: not known). */
void sfs_chunk_make_runs(struct sfs_chunk *c, const struct sfs_prefetch *p,
			 uint64_t rate);

/* The k-th sample of a run. */
const struct sfs_block_sample *sfs_chunk_sample(const struct sfs_chunk *c,
						const struct sfs_run *run, uint32_t k);

/* The mean size of the epoch's samples. */
uint64_t sfs_chunk_mean_sample(const struct sfs_prefetch *p);

#endif
