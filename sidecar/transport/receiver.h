/* SPDX-License-Identifier: MIT */
/* receiver - where `shufflefs-sidecar recv` gets batches from, to put them into a ring.
 *
 * A plug-in's symbol is `sfs_receiver_plugin` (see transport.h).
 */
#ifndef SFS_RECEIVER_H
#define SFS_RECEIVER_H

#include "ring/ring.h"

#include "base/error.h"
#include "base/json-writer.h"

#include <stdbool.h>
#include <stdint.h>

#define SFS_RECEIVER_VERSION 4

struct sfs_receiver;
struct sfs_secret;

struct sfs_receiver_settings {
	const char *source;	       /* the URL, as the user wrote it */
	struct sfs_ring_settings ring; /* made when the layout is known */
	uint32_t n_senders;	       /* end when so many have ended; 0: never */
	uint32_t give_up_ms;	       /* senders, and trainers, are waited for this long */
	int stop_fd;		       /* readable: stop */
	const struct sfs_secret *secret; /* that senders must have; NULL: none */
	bool is_insecure; /* may listen to a network without a secret: guard.h */
};

struct sfs_receiver_ops {
	uint32_t version;    /* SFS_RECEIVER_VERSION */
	const char *schemes; /* "tcp" or "zpull zsub ...", without the ":" */
	bool is_endless;     /* its senders have no end: a stop is its end */

	/* A card can write its batches into a GPU's memory; else the ring's placement is
	 * STAGED. */
	bool has_direct;

	/* Bind or connect. */
	int (*open)(const struct sfs_receiver_settings *settings,
		    struct sfs_receiver **ret, struct sfs_error *err);

	/* Receive until all senders have ended and every batch was consumed.  0;
	 * -ECANCELED: stop_fd; others with an error.  The ring ends, or fails with that
	 * error; if the receiver is endless, a stop ends it. */
	int (*run)(struct sfs_receiver *r, struct sfs_error *err);

	/* The ring, for who asks from another thread; NULL: none yet. */
	struct sfs_ring *(*ring)(struct sfs_receiver *r);

	/* Members of a JSON object: "source", with the port that it has; and counts. */
	void (*describe)(struct sfs_receiver *r, struct sfs_json_writer *json);
	void (*close)(struct sfs_receiver *r); /* frees it */

	/* How many connections were refused, or dropped before they had a session.  Any
	 * thread. */
	uint64_t (*refused)(struct sfs_receiver *r);
};

/* As sfs_transport_find(). */
int sfs_receiver_find(const char *source, const struct sfs_receiver_ops **ret_ops,
		      struct sfs_error *err);

extern const struct sfs_receiver_ops sfs_tcp_receiver_ops;

#endif
