/* SPDX-License-Identifier: MIT */
/* transport - where a sender's batches go: a ring on this host, a socket, ZeroMQ.
 *
 * One thread calls take() and send() in turn; a transport may have threads of its own.
 * What take() gives is memory for one batch: where the batch is decoded to is where it is
 * sent from.  Errors come with a sentence, and are final: a transport that can go on
 * (reconnect, wait) does so by itself.
 *
 * A plug-in is a shared object `PKGLIBDIR/NAME.so` with a symbol `sfs_transport_plugin`,
 * a `const struct sfs_transport_ops`.
 */
#ifndef SFS_TRANSPORT_H
#define SFS_TRANSPORT_H

#include "ring/layout.h"
#include "ring/ring-policy.h"

#include "base/error.h"
#include "base/json-writer.h"

#include <stdbool.h>
#include <stdint.h>

#define SFS_TRANSPORT_VERSION 4

struct sfs_transport; /* each kind has its own */
struct sfs_secret;

struct sfs_transport_settings {
	const char *target;   /* the URL, as the user wrote it */
	uint32_t n_slots;     /* batches that it may hold: at least 2 */
	uint32_t give_up_ms;  /* without a peer for this long: fail; 0: never */
	uint64_t seed;	      /* of the stream */
	uint64_t session;     /* the same for a command that is run again; 0: unknown */
	enum sfs_ring_policy on_consumer_death; /* of local: */
	bool has_crc;
	const struct sfs_secret *secret; /* that the receiver must have; NULL: none */
};

/* The batch that take() gave memory for. */
struct sfs_batch_info {
	uint64_t epoch;
	uint64_t first, end; /* see struct shufflefs_batch */
	uint32_t n_samples;
};

/* The session of the settings, or a random one if they have none. */
uint64_t sfs_transport_session(const struct sfs_transport_settings *settings);

struct sfs_transport_ops {
	uint32_t version;    /* SFS_TRANSPORT_VERSION */
	const char *schemes; /* "zpush zpub ...", without the ":" */

	/* Open: check the URL, bind or begin to connect; need not wait for a peer. */
	int (*open)(const struct sfs_transport_settings *settings,
		    const struct shufflefs_layout *layout, struct sfs_transport **ret,
		    struct sfs_error *err);

	/* Memory of layout->slot_bytes for the next batch, aligned to 4096; its bytes are
	 * undefined.  Waits while all slots are in use, at most `timeout_ms`; -ETIMEDOUT
	 * (without an error) then: ask again. */
	int (*take)(struct sfs_transport *t, int timeout_ms, void **ret_slot,
		    struct sfs_error *err);

	/* Send what was taken last.  Does not wait for the peer. */
	int (*send)(struct sfs_transport *t, const struct sfs_batch_info *info,
		    struct sfs_error *err);

	/* All batches were sent: wait until they have arrived (tcp, local: until they
	 * were consumed), at most `timeout_ms`; -ETIMEDOUT: not yet, ask again. */
	int (*finish)(struct sfs_transport *t, int timeout_ms, struct sfs_error *err);

	/* Tell the peers that the stream has failed, if they can be told: another process
	 * that sends it would fail, too. */
	void (*fail)(struct sfs_transport *t, const char *why);

	void (*close)(struct sfs_transport *t); /* frees it; ends what is still open */

	/* Members of a JSON object: what it has to tell ("peers", "resumed", ...).  Any
	 * thread, until close(). */
	void (*describe)(struct sfs_transport *t, struct sfs_json_writer *json);

	/* Tell the peers that this process ends before its stream does, and that one
	 * that is started anew can go on.  NULL: as fail(). */
	void (*leave)(struct sfs_transport *t, const char *why);

	/* After fail(): wait until the peers know, at most `timeout_ms`; -ETIMEDOUT: not
	 * yet, ask again; other errors: they cannot be told.  NULL: they know. */
	int (*wait_told)(struct sfs_transport *t, int timeout_ms);

	/* While there is nothing to send: would take() fail?  With its error.  NULL: that
	 * is not known. */
	int (*check)(struct sfs_transport *t, struct sfs_error *err);
};

/* The ops for a URL's scheme.  -EINVAL: there is no such scheme.  -ENOENT: its plug-in is
 * not installed; *err says which file. */
int sfs_transport_find(const char *target, const struct sfs_transport_ops **ret_ops,
		       struct sfs_error *err);

extern const struct sfs_transport_ops sfs_local_ops; /* local:PATH */
extern const struct sfs_transport_ops sfs_tcp_ops;   /* tcp://HOST:PORT */

#endif
