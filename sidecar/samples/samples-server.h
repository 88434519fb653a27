/* SPDX-License-Identifier: MIT */
/* samples-server - gives samples to trainers that attach to a UNIX socket, each sample to
 * one of them, and gets them back (samples-wire.h).
 *
 * It listens, and has a thread of its own, which does all that trainers see.  One thread
 * puts samples, in the order in which trainers get them.  Nothing that a trainer says is
 * believed: one that says what cannot be is cut off, as if it had died.
 */
#ifndef SFS_SAMPLES_SERVER_H
#define SFS_SAMPLES_SERVER_H

#include "ring/ring-policy.h"

#include "base/error.h"
#include "base/json-writer.h"
#include "base/list.h"

#include <stdbool.h>
#include <stdint.h>

struct sfs_samples_item {
	struct sfs_link link;
	unsigned char *wire; /* from sfs_samples_pack() */
	size_t n_wire;
	uint64_t n_bytes; /* of its fields */
	uint64_t ordinal;
	bool was_sent;
};

struct sfs_samples_server_settings {
	const char *path; /* of the socket; one that nobody listens on is replaced */
	enum sfs_ring_policy policy;
	uint32_t give_up_ms; /* without a trainer for this long: fail; 0: never */
	/* Is no more to be put until something was released?  Must not wait. */
	bool (*is_full)(void *arg);
	/* Nobody needs the item any more.  Any thread; may call nothing of the server. */
	void (*release)(void *arg, struct sfs_samples_item *item);
	void *arg;
};

struct sfs_samples_server;

int sfs_samples_server_new(const struct sfs_samples_server_settings *settings,
			   struct sfs_samples_server **ret, struct sfs_error *err);
/* Trainers that have not heard of an end or a failure see that we died. */
void sfs_samples_server_free(struct sfs_samples_server *s); /* NULL is fine */

/* Where samples will lie; `fds` are duplicated.  Once, before anything is put, ended or
 * failed: trainers get their hello now. */
void sfs_samples_server_begin(struct sfs_samples_server *s, const int *fds,
			      const uint64_t *n_bytes, uint32_t n_memories);

/* Append the items; the list is empty then. */
void sfs_samples_server_put(struct sfs_samples_server *s, struct sfs_link *items);

/* Wait until more should be put.  -ETIMEDOUT: not yet.  -EIO, with an error: a trainer
 * died, and the policy is to fail, or there was none for too long. */
int sfs_samples_server_wait(struct sfs_samples_server *s, int timeout_ms,
			    struct sfs_error *err);

/* All was put.  Trainers hear it when nothing is left for them. */
void sfs_samples_server_end(struct sfs_samples_server *s);

/* There will be no more, for this reason.  Trainers hear it after what was put before,
 * or at once.  The first reason counts. */
void sfs_samples_server_fail(struct sfs_samples_server *s, const char *why, bool at_once);

/* After one of these two: wait until all trainers have heard it, and have released all.
 * -ETIMEDOUT: not yet; -EIO: as above. */
int sfs_samples_server_finish(struct sfs_samples_server *s, int timeout_ms,
			      struct sfs_error *err);

struct sfs_samples_progress {
	uint64_t n_samples, n_bytes; /* given to trainers, each counted once */
	uint64_t next;		     /* ordinal after the last of these */
	bool is_attached;	     /* a trainer has attached, now or before */
};
void sfs_samples_server_look(struct sfs_samples_server *s,
			     struct sfs_samples_progress *ret);
void sfs_samples_server_describe(struct sfs_samples_server *s,
				 struct sfs_json_writer *json);

#endif
