/* SPDX-License-Identifier: MIT */
/* source - where bytes come from.
 *
 * An object is one shard as its source knows it.  A request asks for an object's size, or
 * for a range of its bytes; it ends once, with its done(), on a thread of the source.  A
 * source retries what is worth retrying, for about as long as a reader may wait, so an
 * error is final for this request; a later request tries anew.  The bytes are of that
 * version of the object that was asked for its size; if there is another, the request
 * ends with -ESTALE.
 */
#ifndef SFS_SOURCE_H
#define SFS_SOURCE_H

#include "base/cause.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/list.h"
#include "memory/slab.h"
#include "source/netpath.h"
#include "source/uri.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#define SFS_SIZE_UNKNOWN UINT64_MAX
#define SFS_READY_BYTES	 SFS_SLAB_BYTES /* the unit in which memory is borrowed */
#define SFS_HEAD_BYTES	 512

struct sfs_source;

struct sfs_object {
	const char *name; /* the shard's, for logs and the ledger; borrowed */
	struct sfs_uri uri;
	struct sfs_source *source;

	/* Set before the done() of a successful ask, or of a listing with the tag, and
	 * never again. */
	uint64_t size;	 /* bytes; SFS_SIZE_UNKNOWN until asked */
	int64_t mtime_s; /* seconds since 1970; 0 if the source doesn't say */

	/* The version of the object: the source's own. */
	bool has_strong_tag; /* objects with the same tag are the same, byte for byte */
	char *tag, *modified;
	/* Where the server's last redirect led: the source's own, or NULL. */
	char *redirected;
	char *linked_tag; /* and which bytes it said are there (hf://), or NULL */
	/* Why the last try failed, a sentence; NULL: there was none, or none failed.  See
	 * sfs_object_note_failure(). */
	char *_Atomic failure;
	/* With which error reads were given up last, since none succeeded, and when: the
	 * source's own. */
	int given_up_err;
	uint64_t given_up_ns;
	/* The path to the server that gave bytes last: the source's; NULL: none has. */
	const struct sfs_netpath_record *_Atomic path;
};

/* An object for `uri`, which it takes over (and leaves empty). */
void sfs_object_init(struct sfs_object *object, struct sfs_uri *uri,
		     struct sfs_source *source);
void sfs_object_done(struct sfs_object *object);

/* A listing says this of it, so that it need not be asked.  Does nothing if the tag (NULL:
 * there is none) does not tell versions apart. */
void sfs_object_set_listed(struct sfs_object *object, uint64_t size, const char *tag,
			   int64_t mtime_s);

enum sfs_request_kind { SFS_REQUEST_ASK, SFS_REQUEST_READ };

struct sfs_request {
	enum sfs_request_kind kind;
	struct sfs_object *object;
	bool is_urgent;	  /* a reader waits: goes before prefetching */
	bool is_probe;	  /* while mounting: fail at once where waiting does not help */
	bool may_be_tiny; /* ASK: the object need not be a tar */
	bool is_ahead;	  /* READ: nobody waits for it; hurry() says that somebody does */

	/* ASK: if not NULL, gets the first bytes of the object, SFS_HEAD_BYTES at most;
	 * n_got says how many. */
	unsigned char *head;

	/* READ: n_bytes from `offset` on go into the n_iov pieces of memory, which
	 * have just that room and are borrowed (and not changed) until done(). */
	uint64_t offset, n_bytes;
	struct iovec *iov;
	int n_iov;

	/* READ: if not NULL, pieces that begin here are gaps, whose bytes nobody wants; a
	 * source may leave them unread.  n_skipped says how many it did. */
	const void *gap;
	uint64_t n_skipped;

	/* At the end, failed or not: how many of the bytes, from the first
	 * on, are there. */
	uint64_t n_got;

	/* 0, or -ENOENT, -EACCES, -ESTALE, -EOPNOTSUPP (no ranges), -ECANCELED,
	 * -ETIMEDOUT and others that mean EIO to a reader.  Called once, on a thread
	 * of the source, without locks; must not wait.  The request is the caller's
	 * again, memory and all. */
	void (*done)(struct sfs_request *request, int err);
	struct sfs_error *error; /* if not NULL, gets a sentence when err < 0; that of a
				  * READ is in the ledger as well (unless it was only
				  * ahead, and an outage lasted too long) */
	_Atomic uint64_t *begun_ns; /* if not NULL and 0, gets sfs_clock_ns() of the first
				     * byte of a READ that comes over a network */

	/* Meanwhile, of a READ with a ready(): how many bytes, from the first on, are in
	 * their place for good, so that the source no longer touches their memory.  Grows
	 * by multiples of SFS_READY_BYTES, if at all.  After sfs_request_await(), ready()
	 * is called once when it has grown, on a thread of the source, before done(). */
	_Atomic uint64_t n_ready;
	void (*ready)(struct sfs_request *request);

	/* The source's own. */
	bool is_silent; /* its failure has no line in the ledger, as nobody lost anything */
	atomic_bool is_cancelled, is_needed, is_awaited;
	atomic_bool is_sent; /* over a network; for good: what is sent once more has had
			      * its turn, and its server is why */
	struct sfs_link link;
	void *state;
};

struct sfs_source_ops {
	const char *name;
	bool skips_gaps; /* a gap costs it no more than a system call */
	void (*submit)(struct sfs_source *source, struct sfs_request *request);
	void (*wake)(struct sfs_source *source);
	void (*stop)(struct sfs_source *source);
	void (*free)(struct sfs_source *source);
};

/* Counted since the start.  n_failed are those that have a line in the ledger. */
struct sfs_source_counts {
	uint64_t n_requests, n_failed, n_bytes;
	uint64_t n_hedges, hedged_bytes; /* asked for again, and received twice */
};

struct sfs_source {
	const struct sfs_source_ops *ops;
	bool has_stores; /* it was started with stores, see http/dialect.h */
	_Atomic uint64_t n_requests, n_failed, n_bytes; /* see sfs_source_count() */
	_Atomic uint64_t n_hedges, hedged_bytes;
	struct sfs_netpath_record path; /* see sfs_source_path() */
};

/* The paths to all its servers together, as they are now. */
struct sfs_netpath sfs_source_path(const struct sfs_source *source);

/* The path to the server that has the object, as it is now; where that is not known yet,
 * or there is no network, its source's.  A dataset may mix local, near and far shards:
 * decide by this what concerns one shard (the sizes of parts), and by the sources how
 * many reads are of use in all.  Any thread; never waits. */
struct sfs_netpath sfs_object_netpath(const struct sfs_object *object);

/* For sources: a request for it will be tried again, because of this; or (NULL) one has
 * succeeded.  Any thread. */
void sfs_object_note_failure(struct sfs_object *object, const char *why);

/* Somebody waits for `what` of the object, at byte `offset`: say from where, and why the
 * last try failed. */
void sfs_object_explain(const struct sfs_object *object, uint64_t offset,
			const char *what, struct sfs_cause *cause);

/* Hand the request to its object's source.  Never waits; done() may be called
 * before this returns, on another thread. */
void sfs_request_submit(struct sfs_request *request);

/* Ask for done(-ECANCELED) soon; it may also end as it would have.  The request
 * must still be alive. */
void sfs_request_cancel(struct sfs_request *request);

/* A reader waits for these bytes now: get them sooner, if the source can. */
void sfs_request_hurry(struct sfs_request *request);

/* A reader waits for the next of these bytes.  Returns n_ready; as soon as it has grown,
 * ready() is called, or done(). */
uint64_t sfs_request_await(struct sfs_request *request);

/* End all requests with -ECANCELED and stop the threads; waits for them.  What is
 * submitted from now on ends at once with -ECANCELED.  Threads that wait for a dead disk
 * are abandoned: see sfs_threads_are_left(). */
void sfs_source_stop(struct sfs_source *source);

/* Free a stopped source; NULL is fine. */
void sfs_source_free(struct sfs_source *source);

/* A source of local files: `n_threads` of them read at a time.  `verify_size_only`:
 * another file of the same size counts as the same version. */
struct sfs_source *sfs_source_file_start(int n_threads, bool verify_size_only);

/* For sources: bytes of it have come over a network; may be called repeatedly. */
static inline void sfs_request_begun(const struct sfs_request *request)
{
	if (request->begun_ns && atomic_load(request->begun_ns) == 0)
		atomic_store(request->begun_ns, sfs_clock_ns());
}

/* For sources: its turn has come to be sent over a network. */
static inline void sfs_request_sent(struct sfs_request *request)
{
	atomic_store(&request->is_sent, true);
}

/* For sources: the first n_bytes are ready. */
void sfs_request_make_ready(struct sfs_request *request, uint64_t n_bytes);

/* For sources: the request has ended.  Counts it and calls its done(). */
void sfs_request_end(struct sfs_request *request, int err);

/* A failed ASK is reported by who made it, if that is worth a line: count it with the
 * line. */
void sfs_source_count_failed_ask(struct sfs_source *source);

/* Add what this source has done to *counts; NULL adds nothing. */
void sfs_source_count(struct sfs_source *source, struct sfs_source_counts *counts);

struct sfs_store;

struct sfs_http_options {
	int n_connections;	     /* reads at a time of one server, at most */
	bool expects_streams; /* soon: connect to a far server before they begin */
	int n_retries;		     /* after responses that are of no use */
	unsigned connect_timeout_ms; /* to connect, names included */
	unsigned stall_timeout_ms;   /* without a byte */
	uint64_t low_speed_limit; /* bytes a second, at least; during stall_timeout_ms */
	uint64_t read_timeout_ms; /* how long a reader waits, and an outage may last */
	bool verify_size_only;
	char **headers; /* n_headers of them, see user-headers.h; borrowed */
	int n_headers;
	/* More headers; NULL: none. */
	const char *bearer_file, *header_command, *bearer_command;
	const char *proxy, *netrc_file, *ca_file, *ca_path, *cert,
		*key; /* NULL: default */
	/* For objects of other schemes, see http/dialect.h; they live longer than the
	 * source. */
	struct sfs_store *const *stores;
	int n_stores;
};

/* A source of http and https URLs, and of what its stores are for.  One thread.  NULL
 * and *err: libcurl refused an option. */
struct sfs_source *sfs_source_http_start(const struct sfs_http_options *options,
					 struct sfs_error *err);

#endif
