/* SPDX-License-Identifier: MIT */
/* window - the samples between the reader of a stream, its workers and the committer.
 *
 * Samples go through in the order in which they were put, and the workers decode any of
 * them.  At most 256 are in the window and, beyond four a worker, at most 4 MiB of
 * samples and rows: about what stays in the CPU's cache.  Whatever the number of workers,
 * samples, rows and the memory that decoding takes are bounded by a limit, which only the
 * oldest sample may exceed: workers wait for memory.
 */
#ifndef SFS_WINDOW_H
#define SFS_WINDOW_H

#include "decode/sample.h"

#include <stdbool.h>
#include <stdint.h>

struct sfs_window_item {
	struct sfs_sample *sample;
	unsigned char *rows; /* the user's: malloc'ed, kept for the next sample */
	int ret;	     /* the user's, as err */
	struct sfs_error err;
	uint64_t n_bytes; /* the window's, as what follows */
	uint64_t n_work, n_held;
	bool is_decoded;
};

struct sfs_window;

struct sfs_window *sfs_window_new(uint32_t n_workers);
void sfs_window_free(struct sfs_window *w); /* nobody uses it; NULL is fine */

/* Make it empty, for the next stream.  Nobody else uses it. */
void sfs_window_begin(struct sfs_window *w);

/* Bytes of memory; at first there is no limit. */
void sfs_window_limit(struct sfs_window *w, uint64_t n_bytes);

/* The reader: a sample, for which a worker needs `n_work` bytes beside its rows.
 * Samples may be held back until sfs_window_flush(), which is to be called before the
 * reader waits for anything else. */
bool sfs_window_put(struct sfs_window *w, struct sfs_sample *sample,
		    uint64_t n_work); /* takes it; false: closed */
void sfs_window_flush(struct sfs_window *w);
void sfs_window_end(struct sfs_window *w, int ret, const struct sfs_error *err);

/* A worker: the next item to decode; NULL: closed. */
struct sfs_window_item *sfs_window_take(struct sfs_window *w);
void sfs_window_give(struct sfs_window *w, struct sfs_window_item *item); /* decoded */

/* The committer: wait for the oldest item, decoded if `is_decoded`, at most `timeout_ms`
 * (< 0: for ever).  1; 0: the stream has ended; -ETIMEDOUT.  *ret_is_decoding: was it a
 * worker that it waited for last?  Others, with an error: what the reader ended with, or
 * -ECANCELED after sfs_window_stop(). */
int sfs_window_oldest(struct sfs_window *w, bool is_decoded, int timeout_ms,
		      struct sfs_window_item **ret_item, bool *ret_is_decoding,
		      struct sfs_error *err);
void sfs_window_release(struct sfs_window *w); /* it, and its sample */

/* From now on, each sample has rows of n bytes. */
void sfs_window_weigh(struct sfs_window *w, uint64_t n_row_bytes);

/* Have the reader and the workers end. */
void sfs_window_close(struct sfs_window *w);

/* Has the reader called sfs_window_end()?  Waits for it 10 ms. */
bool sfs_window_has_ended(struct sfs_window *w);

/* Any thread. */
void sfs_window_stop(struct sfs_window *w);
bool sfs_window_is_stopped(struct sfs_window *w);

#endif
