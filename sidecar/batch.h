/* SPDX-License-Identifier: MIT */
/* batch - decodes a stream with a pool of workers, and sends it as batches.
 *
 * Samples are committed in the stream's order, so the batches are the same whatever the
 * number of workers.  window.h says how many are in memory, with their rows, beside the
 * transport's slots; both together are bounded by `memory`.  Data that need no decoding go
 * from the sample to the slot.
 */
#ifndef SFS_BATCH_H
#define SFS_BATCH_H

#include "decode/decode.h"
#include "decode/sample.h"
#include "transport/transport.h"

#include <stdbool.h>
#include <stdint.h>

struct sfs_batch_settings {
	const struct sfs_spec *spec;		 /* borrowed */
	const struct sfs_transport_ops *ops;	 /* borrowed */
	struct sfs_transport_settings transport; /* what it points to is borrowed */
	uint32_t n_samples;			 /* of a batch */
	uint32_t n_workers;
	uint64_t memory; /* bytes for slots, samples and what decoding them takes */
	uint64_t stream; /* names the command and its files; 0: nothing does */
	int report_fd;	 /* closed at its other end: who writes the stream is dead; -1 */
	bool drops_last; /* a short last batch is not sent; else it is */
	bool skips;	 /* broken samples are counted, the first ten logged */
	uint32_t max_skip; /* of a million; if more are broken, the stream has failed */
};

enum sfs_batch_wait {
	SFS_BATCH_READER,
	SFS_BATCH_DECODER,
	SFS_BATCH_TRANSPORT,
	SFS_BATCH_WAITS
};

struct sfs_batch_progress {
	uint64_t n_batches, n_samples, n_skipped, n_bytes; /* sent; bytes of rows */
	uint64_t next; /* ordinal after the last batch that was sent */
	uint64_t wait_ns[SFS_BATCH_WAITS]; /* who the committer has waited for, until now */
	bool is_open;			   /* the transport */
};

struct sfs_batcher;

struct sfs_batcher *sfs_batcher_new(const struct sfs_batch_settings *settings);
void sfs_batcher_free(struct sfs_batcher *b); /* closes the transport; NULL is fine */

/* Send the samples of `fd`, the first of which is `first` of `epoch`: in turn, for each
 * stream of a session, from one thread, which waits.  All have the layout of the first.
 * -ECANCELED: stopped.  Others: with an error that names the sample; the transport has
 * told its peers, unless it was stopped meanwhile. */
int sfs_batcher_run(struct sfs_batcher *b, int fd, enum sfs_input_kind kind,
		    uint64_t epoch, uint64_t first, struct sfs_error *err);

/* Wait until all was consumed, or has at least arrived (see transport.h).  -ENODATA:
 * there was no batch at all, though the stream was read from its beginning.  If it fails,
 * it has passed the error to the transport. */
int sfs_batcher_finish(struct sfs_batcher *b, struct sfs_error *err);

/* Any thread: */
void sfs_batcher_stop(struct sfs_batcher *b); /* run and finish end soon */
void sfs_batcher_look(struct sfs_batcher *b, struct sfs_batch_progress *ret);
/* What the transport has to tell, as members of an object; nothing if it is not open. */
void sfs_batcher_describe(struct sfs_batcher *b, struct sfs_json_writer *json);

#endif
