/* SPDX-License-Identifier: MIT */
/* job - a request in flight: its legs, and which of its bytes are in place.
 *
 * A leg is a range of the request.  It is fetched by GETs, one after another, until its
 * bytes are in place.  Legs of a job may overlap (hedges do): they are of one version of
 * the object, so they write the same bytes to the same memory.  The job is done as soon
 * as its legs together have all its bytes.
 *
 * The fetch thread's own.  Offsets and ranges are bytes of the request, not of the
 * object.
 */
#ifndef SFS_JOB_H
#define SFS_JOB_H

#include "base/list.h"
#include "base/rng.h"
#include "source/http/dialect.h"
#include "source/http/fetch.h"
#include "source/http/latency.h"
#include "source/http/response.h"
#include "source/retry.h"
#include "source/source.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#define SFS_ASK_BYTES SFS_HEAD_BYTES /* what an ask gets of the object */

struct sfs_http_source {
	struct sfs_source base;
	struct sfs_http_options options;
	struct sfs_fetch *fetch;

	/* The fetch thread's own. */
	struct sfs_rng rng;
	struct sfs_store plain; /* of objects that have no other */
	struct sfs_latency read_latency, ask_latency;
	uint64_t got_bytes, hedged_bytes; /* by GETs; of these twice, or perhaps so */
	bool has_warned;		  /* of a server without validators */
};

struct sfs_job {
	struct sfs_http_source *source;
	struct sfs_store *store;
	const struct sfs_dialect *dialect; /* the store's */
	struct sfs_request *request;
	struct sfs_link legs; /* all there ever were */
	int n_hedges;
	uint64_t hedge_cost; /* bytes counted for them so far */
	bool has_size;	     /* of an ask: it was answered */
	bool is_confirmed;   /* the version of its bytes is known; see read_status() */
	uint64_t begun_ns;   /* when it was submitted; or a reader came to wait for it; or
			      * there was progress and a failure */
	bool is_needed;
};

struct sfs_leg {
	struct sfs_get get; /* first, so that a get is its leg */
	struct sfs_job *job;
	struct sfs_link link;
	uint64_t first, end; /* the range; `end` is not in it */
	uint64_t at;	     /* bytes of the range below this are in place */
	bool is_over, is_hedge;
	bool is_status; /* it has no bytes: it gets the object's status */

	/* The present GET. */
	uint64_t begun_at; /* where `at` was */
	size_t n_head;	   /* ASK: bytes of the object's head that have come */
	char *url;	   /* of this hop */
	struct sfs_strbuf lines; /* of its header */
	/* Not 0: it was refused, and its body says why, as far as it is kept. */
	enum sfs_response_outcome refused;
	char *refusal;
	size_t n_refusal, n_refusal_bytes; /* kept; and received */
	int n_redirects;
	bool is_remembered;		     /* url is where an earlier redirect led */
	bool has_forgotten;		     /* such a URL failed: use none again */
	bool has_stalled;		     /* the GET before did */
	struct sfs_retry failures, refusals; /* those that pass, and the others */
	int n_renewed; /* GETs that were refused, and sent again with new credentials */
	struct sfs_claim claim;
	uint64_t odd_size; /* see struct sfs_http_query */
	unsigned n_odd;
	struct sfs_http_query query;
	struct sfs_response_error error;
};

bool sfs_job_is_ask(const struct sfs_job *job);

/* How many bytes the request is for; 0 for an ask. */
uint64_t sfs_job_n_wanted(const struct sfs_job *job);

/* The end of the bytes in place that begin with byte `from`; `from` if it is missing. */
uint64_t sfs_job_in_place(const struct sfs_job *job, uint64_t from);

/* Has it got all that was asked for? */
bool sfs_job_is_whole(const struct sfs_job *job);

/* Tell the request's owner of what is ready by now. */
void sfs_job_report_ready(struct sfs_job *job);

/* End the request, and all GETs for it.  Frees the job and its legs. */
void sfs_job_end(struct sfs_job *job, int err);

/* Bytes or the size have come: end the job if they were the last, else the GETs that
 * are of no use any more. */
void sfs_job_tidy(struct sfs_job *job);

/* A new leg, without a GET; the job's. */
struct sfs_leg *sfs_leg_add(struct sfs_job *job, uint64_t first, uint64_t end);

/* The leg's GET is over, and it needs none. */
void sfs_leg_end(struct sfs_leg *leg);

/* Drop the GETs of all legs that are not over. */
void sfs_job_drop_legs(struct sfs_job *job);

/* Is all that the leg lacks in place, or asked for by others? */
bool sfs_leg_is_spare(const struct sfs_leg *leg);

/* Does the leg's GET go to where a redirect led? */
static inline bool sfs_leg_is_redirected(const struct sfs_leg *leg)
{
	return leg->n_redirects > 0 || leg->is_remembered;
}

/* The memory for the leg's next bytes: at most n_max pieces.  0: there is none. */
int sfs_leg_room(const struct sfs_leg *leg, struct iovec *ret_pieces, int n_max);

/* Copy the next n bytes of the leg into place. */
void sfs_leg_put(struct sfs_leg *leg, const char *bytes, size_t n);

/* n bytes more of a head have come; `bytes` NULL: they are in place already. */
void sfs_leg_take_head(struct sfs_leg *leg, const char *bytes, size_t n);

#endif
