/* SPDX-License-Identifier: MIT */
/* samples - reads streams, and gives their samples to trainers, as they lie in memory:
 * what `send FILE samples:PATH` does.
 *
 * A sample stays in the memory of the mount that has handed it out, or is copied once,
 * into memory of ours that trainers map, too (pool.h).  So much may be in that, and no
 * more is read until trainers release some.
 */
#ifndef SFS_SAMPLES_H
#define SFS_SAMPLES_H

#include "decode/input.h"
#include "samples/samples-server.h"

#include "ring/ring-policy.h"

#include "base/error.h"
#include "base/json-writer.h"

#include <stdbool.h>
#include <stdint.h>

struct sfs_samples_settings {
	const char *target;  /* "samples:PATH" or "samples:PATH?memory=MIB" */
	enum sfs_ring_policy on_consumer_death;
	uint32_t give_up_ms; /* without a trainer; 0: never */
	bool skips;	   /* samples that cannot be sent are counted, the first ten logged */
	uint32_t max_skip; /* see batch.h */
};

struct sfs_samples;

/* Is it samples:... at all? */
bool sfs_samples_is_target(const char *target);

/* Listens at once. */
int sfs_samples_new(const struct sfs_samples_settings *settings, struct sfs_samples **ret,
		    struct sfs_error *err);
void sfs_samples_free(struct sfs_samples *s); /* NULL is fine */

/* Read a stream, whose first sample is `first` of `epoch`, to its end: in turn, for each
 * stream, from one thread, which waits.  -ECANCELED: stopped.  -EIO: also if a trainer
 * died, and the policy is to fail.  Others: see sample.h. */
int sfs_samples_run(struct sfs_samples *s, int fd, enum sfs_input_kind kind,
		    uint64_t epoch, uint64_t first, struct sfs_error *err);

/* All streams were read: wait until all was released.  -ENODATA: there was no sample. */
int sfs_samples_finish(struct sfs_samples *s, struct sfs_error *err);

/* Reading or finishing has failed: tell trainers, after the samples before that, and wait
 * until they have released all, so that nothing changes under them. */
void sfs_samples_fail(struct sfs_samples *s, const char *why);

/* End what waits; trainers hear of it.  Any thread; again and again
 * until it has ended. */
void sfs_samples_stop(struct sfs_samples *s);

enum { SFS_SAMPLES_READER, SFS_SAMPLES_TRAINERS, SFS_SAMPLES_WAITS };

struct sfs_samples_status {
	struct sfs_samples_progress given;
	uint64_t n_skipped;
	uint64_t wait_ns[SFS_SAMPLES_WAITS]; /* who was waited for */
};
void sfs_samples_look(struct sfs_samples *s, struct sfs_samples_status *ret);
/* Members of a JSON object. */
void sfs_samples_describe(struct sfs_samples *s, struct sfs_json_writer *json);

#endif
