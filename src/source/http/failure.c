/* SPDX-License-Identifier: MIT */
#include "source/http/failure.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/ledger.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define GIVEN_UP_NS (2 * SFS_NS_PER_S) /* in which the kernel repeats a read */
#define RENEWAL_MS  250 /* until a GET is sent again while credentials are renewed */

void sfs_failure_end(struct sfs_leg *leg, int err, bool is_silent)
{
	struct sfs_job *job = leg->job;
	struct sfs_request *r = job->request;
	enum sfs_event event = err == -ESTALE ? SFS_EVENT_CHANGED : SFS_EVENT_LOST;

	if (err < 0 && err != -ECANCELED) {
		sfs_autofree char *shown =
			sfs_uri_redact(leg->url ? leg->url : r->object->uri.location);

		sfs_error_set(r->error, err, "%s: %s", shown, leg->error.why);
		r->is_silent = is_silent;
		if (!is_silent && !sfs_job_is_ask(job))
			sfs_ledger_add(event, r->object->name, r->offset + leg->at, "",
				       "%s: %s", shown, leg->error.why);
	}
	sfs_job_end(job, err);
}

static struct sfs_failure final(int err)
{
	return (struct sfs_failure){.action = SFS_FAILURE_FINAL, .err = err};
}

/* Who waits for it meanwhile is told why. */
static struct sfs_failure again_because(struct sfs_leg *leg, uint64_t delay_ms,
					bool waits_for_server)
{
	sfs_object_note_failure(leg->job->request->object, leg->error.why);
	return (struct sfs_failure){.action = SFS_FAILURE_AGAIN,
				    .delay_ms = delay_ms,
				    .waits_for_server = waits_for_server};
}

static struct sfs_failure again(uint64_t delay_ms)
{
	return (struct sfs_failure){.action = SFS_FAILURE_AGAIN, .delay_ms = delay_ms};
}

/* ---- retries ---- */

/* A second less than a reader waits, or a twentieth less: the reader is to get the cause,
 * not only to hear that time is up. */
uint64_t sfs_failure_deadline_ns(const struct sfs_job *job)
{
	uint64_t ms = job->source->options.read_timeout_ms, less = ms / 20;

	if (less < 1000)
		less = ms < 4000 ? ms / 4 : 1000;
	return job->begun_ns + (ms - less) * SFS_NS_PER_MS;
}

/* A reader's time begins when the reader comes to wait; and progress begins it anew. */
static void note_time(struct sfs_job *job, uint64_t n_new, uint64_t now_ns)
{
	bool is_needed = job->request->is_urgent || atomic_load(&job->request->is_needed);

	if (n_new >= SFS_RETRY_PROGRESS || (is_needed && !job->is_needed))
		job->begun_ns = now_ns;
	job->is_needed = is_needed;
}

static void report_retry(struct sfs_leg *leg, const struct sfs_retry *retry, int limit,
			 uint64_t delay_ms)
{
	struct sfs_request *r = leg->job->request;
	char then[80], of[24] = "";

	if (limit < INT_MAX)
		snprintf(of, sizeof of, " of %d", limit);
	snprintf(then, sizeof then, "retry %d%s in %llu ms", retry->n_failed, of,
		 (unsigned long long)delay_ms);
	sfs_ledger_add(SFS_EVENT_RETRY, r->object->name,
		       sfs_job_is_ask(leg->job) ? SFS_NO_OFFSET : r->offset + leg->at,
		       then, "%s", leg->error.why);
}

/* Did its server say, after too many requests, when it wants the next one? */
static bool is_told(const struct sfs_leg *leg)
{
	const struct sfs_http_headers *a = &leg->get.response.headers;

	return a->status == 429 && sfs_http_headers_after_s(a) >= 0;
}

/* While mounting, a user waits for the error; but a server that says when to ask again is
 * asked again then, as far as there is time. */
static int probe_limit(const struct sfs_leg *leg, enum sfs_fetch_outcome outcome)
{
	int limit = leg->job->source->options.n_retries;

	if (is_told(leg))
		return INT_MAX;
	return outcome == SFS_FETCH_REFUSED ? 1 : limit < 2 ? limit : 2;
}

/* The time is up, or will be before the server wants to be asked again.  Where nobody
 * waits, nothing is lost. */
static struct sfs_failure give_up(struct sfs_leg *leg, int err, int64_t retry_after_s,
				  uint64_t now_ns)
{
	struct sfs_job *job = leg->job;
	char *why = leg->error.why;
	size_t n = strlen(why);
	char after[48] = "";

	if (retry_after_s >= 0)
		snprintf(after, sizeof after, "Retry-After: %lld s; ",
			 (long long)retry_after_s);
	snprintf(why + n, sizeof leg->error.why - n, " (%sgiven up after %llu s)", after,
		 (unsigned long long)((now_ns - job->begun_ns) / SFS_NS_PER_S));
	return (struct sfs_failure){.action = SFS_FAILURE_FINAL,
				    .err = err,
				    .is_silent =
					    !job->is_needed && job->request->is_ahead};
}

/* Was it given up a moment ago, because the server went on saying that it is gone or
 * another version?  The kernel repeats a read that has failed, page by page: a reader is
 * not to wait for all retries several times. */
static bool was_given_up(const struct sfs_object *o, int err, uint64_t now_ns)
{
	return (err == -ESTALE || err == -ENOENT) && err == o->given_up_err &&
	       now_ns < o->given_up_ns + GIVEN_UP_NS;
}

static struct sfs_failure give_object_up(struct sfs_object *o, int err, uint64_t now_ns)
{
	o->given_up_err = err;
	o->given_up_ns = now_ns;
	return final(err);
}

/* The response was of no use, or this is a probe. */
static struct sfs_failure try_again(struct sfs_leg *leg, int err, int limit,
				    int64_t retry_after_s)
{
	struct sfs_job *job = leg->job;
	struct sfs_object *o = job->request->object;
	uint64_t now = sfs_clock_ns(), n_new = leg->at - leg->begun_at, delay_ms,
		 after_ms = retry_after_s > 0 ? (uint64_t)retry_after_s * 1000 : 0;

	note_time(job, n_new, now);
	if (was_given_up(o, err, now))
		return final(err);
	if (!sfs_retry_next(&leg->refusals, limit, n_new, retry_after_s,
			    sfs_rng_next(&job->source->rng), &delay_ms))
		return give_object_up(o, err, now);
	if (delay_ms < after_ms)
		delay_ms = after_ms;
	if (now + delay_ms * SFS_NS_PER_MS >= sfs_failure_deadline_ns(job))
		return give_up(leg, err, retry_after_s, now);
	if (!job->request->is_probe)
		report_retry(leg, &leg->refusals, limit, delay_ms);
	else if (is_told(leg))
		sfs_ledger_tally(SFS_EVENT_RETRY);
	return again_because(leg, delay_ms, false);
}

/* A GET failed in a way that passes.  A line for each would be many: reported are the
 * first of a server that did well until now, and of a leg the 1st, 2nd, 4th, 8th... */
static struct sfs_failure wait_and_try_again(struct sfs_leg *leg, int err,
					     int64_t retry_after_s)
{
	struct sfs_job *job = leg->job;
	uint64_t now = sfs_clock_ns(), n_new = leg->at - leg->begun_at, delay_ms, left_ms;
	bool is_news = leg->get.is_news;

	note_time(job, n_new, now);
	if (now >= sfs_failure_deadline_ns(job))
		return give_up(leg, err, retry_after_s, now);
	sfs_retry_next(&leg->failures, INT_MAX, n_new, retry_after_s,
		       sfs_rng_next(&job->source->rng), &delay_ms);
	left_ms = (sfs_failure_deadline_ns(job) - now) / SFS_NS_PER_MS + 1;
	if (delay_ms > left_ms)
		delay_ms = left_ms;
	if (is_news && (leg->failures.n_failed & (leg->failures.n_failed - 1)) == 0)
		report_retry(leg, &leg->failures, INT_MAX, delay_ms);
	else
		sfs_ledger_tally(SFS_EVENT_RETRY);
	return again_because(leg, delay_ms, retry_after_s < 0);
}

static struct sfs_failure judge_passing(struct sfs_leg *leg, int err,
					enum sfs_fetch_outcome outcome, const char *why)
{
	struct sfs_job *job = leg->job;
	const struct sfs_http_headers *a = &leg->get.response.headers;
	bool is_of_no_use =
		err == 0 || err == -EPROTO || outcome == SFS_FETCH_NONSENSE ||
		(err == SFS_RESPONSE_AGAIN && !leg->error.is_later &&
		 !sfs_response_is_later(a->status));
	int64_t retry_after_s =
		err == SFS_RESPONSE_AGAIN ? sfs_http_headers_after_s(a) : -1;

	if (err == 0)
		sfs_response_again(&leg->error, "the body ended %llu bytes early",
				   (unsigned long long)(leg->end - leg->at));
	else if (err != SFS_RESPONSE_AGAIN && err != -EPROTO)
		sfs_response_again(&leg->error, "%s", why);
	if (err == SFS_RESPONSE_AGAIN) {
		err = leg->error.err;
		/* An index need not be there: what is odd is none. */
		if (err < 0 && job->request->may_be_tiny)
			return final(err);
	}
	err = err < 0 ? err : -EIO;
	if (job->request->is_probe)
		return try_again(leg, err, probe_limit(leg, outcome), retry_after_s);
	if (is_of_no_use)
		return try_again(leg, err, job->source->options.n_retries, retry_after_s);
	return wait_and_try_again(leg, err, retry_after_s);
}

/* ---- which of these it is ---- */

/* Go back to the object's own URL. */
static void forget_redirect(struct sfs_leg *leg)
{
	struct sfs_object *o = leg->job->request->object;

	free(steal(&o->redirected));
	free(steal(&leg->url));
	leg->has_forgotten = true;
	leg->n_redirects = 0;
}

/* Are there other credentials than those that were refused, or will there be? */
static enum sfs_renewal renew(struct sfs_leg *leg)
{
	struct sfs_job *job = leg->job;
	enum sfs_renewal renewal =
		job->dialect->renew(job->store, job->source->fetch, &leg->query,
				    &leg->get, leg->refused ? leg->refusal : NULL);

	if (renewal == SFS_RENEWAL_NOW &&
	    leg->n_renewed++ > job->source->options.n_retries)
		return SFS_RENEWAL_NO;
	if (renewal == SFS_RENEWAL_SOON &&
	    sfs_clock_ns() >= sfs_failure_deadline_ns(job))
		return SFS_RENEWAL_NO;
	return renewal;
}

/* Send it again: from the object's own URL on, which may be another one now. */
static struct sfs_failure send_anew(struct sfs_leg *leg, enum sfs_renewal renewal)
{
	free(steal(&leg->url));
	leg->n_redirects = 0;
	return again(renewal == SFS_RENEWAL_SOON ? RENEWAL_MS : 0);
}

struct sfs_failure sfs_failure_judge(struct sfs_leg *leg, int err,
				     enum sfs_fetch_outcome outcome, const char *why)
{
	enum sfs_renewal renewal;

	if (sfs_leg_is_spare(leg))
		return (struct sfs_failure){.action = SFS_FAILURE_SPARE};
	if (err != 0 && leg->is_remembered &&
	    (err != SFS_RESPONSE_AGAIN || leg->error.err < 0)) {
		/* A signature may have expired, or a target may be gone. */
		forget_redirect(leg);
		return again(0);
	}
	if (err == SFS_RESPONSE_FINAL) {
		renewal = renew(leg);
		return renewal == SFS_RENEWAL_NO ? final(leg->error.err)
						 : send_anew(leg, renewal);
	}
	if (err < 0 && outcome == SFS_FETCH_FINAL) {
		sfs_response_again(&leg->error, "%s", why);
		return final(err);
	}
	return judge_passing(leg, err, outcome, why);
}
