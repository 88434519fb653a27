/* SPDX-License-Identifier: MIT */
/* failure - what follows when a GET has ended without all that it asked for.
 *
 * - What is final (403, a certificate, a 404 to an ask) fails the request at once.
 * - What passes (no connection, a reset, silence, a 5xx) is tried again until a reader
 *   cannot wait any longer, and waits for its server meanwhile (outage.h).
 * - A response that is of no use or that contradicts those before (another range or
 *   version, no range, nonsense) may come `retries` times more, as far as there is time:
 *   what a server says once may be one cache's, and what it says steadily is so.
 * - Credentials that were refused may have been renewed: then the GET is sent again.
 * - A leg whose bytes others fetch as well ends in silence.
 *
 * The fetch thread's own. */
#ifndef SFS_FAILURE_H
#define SFS_FAILURE_H

#include "source/http/job.h"

#include <stdbool.h>
#include <stdint.h>

struct sfs_failure {
	enum {
		SFS_FAILURE_SPARE, /* end the leg: others fetch what it lacks */
		SFS_FAILURE_AGAIN, /* begin another GET, after delay_ms */
		SFS_FAILURE_FINAL, /* fail the request, with err */
	} action;
	int err;
	uint64_t delay_ms;
	bool waits_for_server; /* while the server is out of order, wait for a turn */
	bool is_silent;	       /* nothing is lost, so report nothing */
};

/* The leg's GET ended with `err`, see end() of struct sfs_get; leg->error has the
 * sentence of a response that was refused, `why` that of any other failure.  Reports
 * retries. */
struct sfs_failure sfs_failure_judge(struct sfs_leg *leg, int err,
				     enum sfs_fetch_outcome outcome, const char *why);

/* Fail the request and end the job.  leg->error says why, unless it was cancelled. */
void sfs_failure_end(struct sfs_leg *leg, int err, bool is_silent);

/* Until when it is of use to try: sfs_clock_ns(). */
uint64_t sfs_failure_deadline_ns(const struct sfs_job *job);

#endif
