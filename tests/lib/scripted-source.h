/* SPDX-License-Identifier: MIT */
/* scripted-source - a source whose requests end when and how the test says.
 *
 * It has no thread.  A request that was submitted stays pending until the test ends it,
 * on the test's own thread: in any order, as late as it likes, with all bytes, with some,
 * or with any error.  A request that was cancelled stays pending like the others, because
 * a real source may take its time with that, too.
 *
 * Requests are named by their number in the order of submission, among those that are
 * pending: 0 is the oldest.
 */
#ifndef SFS_TESTS_SCRIPTED_SOURCE_H
#define SFS_TESTS_SCRIPTED_SOURCE_H

#include "source/source.h"

#include <pthread.h>

struct scripted_source {
	struct sfs_source base;

	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t changed;
	struct sfs_link pending, contents;
	size_t n_pending;
	uint64_t n_submitted, n_wakes; /* ever */
	uint64_t n_bytes, n_gap_bytes; /* requested, ever; and what nobody wants of it */
	bool is_stopped;
};

struct scripted_source *scripted_start(void);

/* End everything with -ECANCELED, as sfs_source_stop() does, and free it. */
void scripted_free(struct scripted_source *s);

/* Make `object` one of this source's, whose content is n bytes that stay the caller's.
 * Its size is known at once; set it to SFS_SIZE_UNKNOWN to have it asked for. */
void scripted_have(struct scripted_source *s, struct sfs_object *object, const char *name,
		   const void *bytes, uint64_t n);

/* How many requests are pending.  The first waits until there are n at least; use it
 * where other threads submit. */
size_t scripted_wait(struct scripted_source *s, size_t n);
size_t scripted_n(struct scripted_source *s);

/* A pending request: by its number, or the oldest that reads the byte at `offset`.  NULL:
 * none. */
struct sfs_request *scripted_nth(struct scripted_source *s, size_t number);
struct sfs_request *scripted_find(struct scripted_source *s,
				  const struct sfs_object *object, uint64_t offset);
bool scripted_is_cancelled(const struct sfs_request *request);

/* The first n bytes of a pending read are there now (n_ready). */
void scripted_bring(struct scripted_source *s, struct sfs_request *request, uint64_t n);

/* End a pending request.  err 0: a read gets all its bytes, an ask the size. */
void scripted_end(struct scripted_source *s, struct sfs_request *request, int err);

/* End a read with an error after its first n_got bytes. */
void scripted_end_short(struct scripted_source *s, struct sfs_request *request,
			uint64_t n_got, int err);

/* End the oldest with err until none is pending.  Returns how many that were. */
size_t scripted_end_all(struct scripted_source *s, int err);

#endif
