/* SPDX-License-Identifier: MIT */
/* stream-world - all that streams work with, over a scripted source: for unit tests of
 * what reads them.
 *
 * With one thread in the pool (the default) a test is its own clock: whatever it begins
 * goes on until world_settle() returns, and then rests until the test does something.
 */
#ifndef SFS_TESTS_STREAM_WORLD_H
#define SFS_TESTS_STREAM_WORLD_H

#include "naive-epoch.h"
#include "scripted-runtime.h"
#include "stream/next-epoch.h"
#include "stream/stream.h"

/* Memory for everything but the streams: range reads, and tables. */
#define WORLD_BASE_BYTES ((uint64_t)10 << 20)

struct world_settings {
	struct naive_settings epoch;
	uint64_t stream_bytes; /* of the budget, beyond WORLD_BASE_BYTES */
	int n_threads;	       /* 0: one */
	struct sfs_netpath path; /* n_parallel 0: 8 requests at a time to a near server */
	enum sfs_choice_next_epoch next_epoch;
	bool has_no_tables; /* with random segments: only whole epochs are read */
};

struct world {
	struct sfs_runtime runtime;
	struct sfs_header_scanner scanner;
	struct sfs_streams streams;
	struct sfs_next_epoch next_epoch;
	struct scripted_source *source;
	bool has_pins;
	struct sfs_task barrier;
	int n_rounds;
	const void *file; /* whose reads the next ones are: see request.h */

	/* Held by who answers a read, and by who takes one back (request.h). */
	pthread_mutex_t lock;
};

void world_start(struct world *w, const struct world_settings *settings);

/* Everything must have been closed.  Checks that all memory was given back. */
void world_stop(struct world *w);

/* Start it, and open the whole of epoch 0, which must be *ret_epoch. */
struct sfs_stream *world_open(struct world *w, const struct world_settings *settings,
			      struct naive_epoch *ret_epoch);

/* Read all of it, `step` bytes at a time, and end each request: all must be right. */
void world_read_all(struct world *w, struct sfs_stream *stream,
		    const struct naive_epoch *epoch, uint64_t step);

/* How many cursors it has that are not closed, once the world has settled. */
int world_n_cursors(struct world *w, struct sfs_stream *stream);

/* Close that stream, and stop. */
void world_close(struct world *w, struct sfs_stream *stream, struct naive_epoch *epoch);

/* The pool's only thread has done what was posted so far, and what followed from that. */
void world_settle(struct world *w);

/* A read, and what became of it. */
struct world_read {
	struct sfs_read read;
	struct world *world;
	int err;
	int n_done; /* how often it was answered */
};

/* Begin a read.  *r must stay until it was answered (and released) or taken back. */
void world_read(struct world *w, struct world_read *r, struct sfs_stream *stream,
		uint64_t offset, size_t n_bytes);

bool world_is_answered(struct world_read *r);

/* Take it back.  false: it was answered. */
bool world_cancel(struct world_read *r);

/* Its answer, which must be there by now: an error, or 0 and the bytes of the epoch. */
int world_result(struct world_read *r, const struct naive_epoch *epoch);

/* Do the pieces of an answer hold the bytes of the epoch? */
bool world_is_right(const struct sfs_read *read, const struct naive_epoch *epoch);

/* The oldest pending request of another object than `late`; NULL: none. */
struct sfs_request *world_other_than(struct world *w, const struct sfs_object *late);

/* End what is pending, oldest first, until nothing is. */
void world_end_all(struct world *w, int err);

#endif
