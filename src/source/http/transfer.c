/* SPDX-License-Identifier: MIT */
/* How this works: a request is a job of one or several legs; a leg fetches a range of it
 * by GETs, one behind the other until its bytes are there.  The job is done as soon as
 * the legs together have all its bytes.  All of it runs on the fetch thread, so a job has
 * one owner.  What an answer means, answer.h says.
 *
 * A new connection to a far server begins slowly: it sends some 14 KB, and doubles that
 * with each round trip.  So the first requests to such a server are cut into legs of that
 * size, which go over many connections at once.
 *
 * A GET that is late is *hedged*: what its leg has not got is asked for by other legs, on
 * other connections, into the same memory, where all write the same bytes.  Late is what
 * takes longer than 99 of 100 do (tail.h), or, where a reader waits, than half of them.
 * While nothing is known of its size, late is what brings next to nothing.  What hedging
 * costs is at most a twentieth of what is fetched, or some hundred KiB.
 *
 * What fails as passing (no connection, a reset, silence, a 5xx) is asked for again until
 * a reader cannot wait any longer, and waits for its server meanwhile (outage.h).  An
 * answer that is of no use may come `retries` times more.
 *
 * Redirects are followed here, one hop a GET: only to the origin that the user
 * named do the user's headers and password go.  Where they end is remembered
 * for the object, so that a range costs one round trip; when that place fails,
 * the object's own URL is asked again. */
#include "source/source.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/ledger.h"
#include "base/rng.h"
#include "source/http/curl-url.h"
#include "source/http/fetch.h"
#include "source/http/latency.h"
#include "source/http/response.h"
#include "source/retry.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define ASK_BYTES     SFS_HEAD_BYTES
#define MAX_REDIRECTS 10
#define N_SMALL	      128 /* sizes and small pieces asked for at a time */
#define CONFIRM_MS    500 /* until a size that is hard to believe is asked for again */

/* The first bytes from a far server. */
#define SMALL_BYTES                                                         \
	(13 << 10) /* what a new connection sends at once, with its headers \
		    */
#define SPLIT_MAX  (512 << 10)
#define COLD_BYTES (8 << 20)
#define SMALL_MAX  (256 << 10) /* what counts as small */

#define HEDGE_PART 20	       /* at most one byte in so many, */
#define HEDGE_FREE (512 << 10) /* or so many bytes */
#define MAX_HEDGES 3	       /* of one request */
#define HEDGE_LEG  (128 << 10) /* if a reader waits, it comes in legs of this, */
#define HEDGE_LEGS 8	       /* at most so many */
#define UNKNOWN_NS SFS_NS_PER_S

struct http_source {
	struct sfs_source base;
	struct sfs_http_options options;
	struct sfs_fetch *fetch;

	/* The fetch thread's own. */
	struct sfs_rng chance;
	struct sfs_latency tail, asks;
	uint64_t got_bytes, hedged_bytes; /* by GETs; of these twice, or perhaps so */
	bool has_warned;		  /* of a server without validators */
};

/* A request on its way. */
struct job {
	struct http_source *source;
	struct sfs_request *request;
	struct sfs_link legs; /* all there ever were */
	int n_hedges;
	uint64_t hedge_cost; /* counted for it so far */
	bool has_size;	     /* of an ask: it was answered */
	uint64_t begun_ns;   /* when it was submitted, or found to be needed since; or the
			      * last failure with progress */
	bool is_needed;
};

/* GETs, one behind the other, for the bytes `first` to `end` - 1 of a request. */
struct leg {
	struct sfs_get get; /* first, so that a get is its leg */
	struct job *job;
	struct sfs_link link;
	uint64_t first, end;
	uint64_t at; /* bytes below are in place */
	bool is_over, is_hedge;

	/* This GET. */
	uint64_t begun_at; /* where `at` was */
	size_t n_head;	   /* ASK: bytes of the object's head that have come */
	char *url;	   /* of this hop */
	int n_redirects;
	bool is_remembered;		     /* url is where an earlier redirect led */
	bool has_forgotten;		     /* such a URL failed: use none again */
	bool met_silence;		     /* the last one did */
	struct sfs_retry failures, refusals; /* those that pass, and the others */
	int n_renewed; /* GETs that were refused, and sent again with other headers */
	struct sfs_claim claim;
	struct sfs_http_query question;
	struct sfs_response_error verdict;
};

static void init_get(struct leg *leg);
static void begin_get(struct leg *leg, uint64_t delay_ms);

static bool is_ask(const struct job *job)
{
	return job->request->kind == SFS_REQUEST_ASK;
}

static uint64_t n_wanted(const struct job *job)
{
	return is_ask(job) ? 0 : job->request->n_bytes;
}

/* ---- jobs and legs ---- */

static struct leg *add_leg(struct job *job, uint64_t first, uint64_t end)
{
	struct leg *leg = sfs_calloc(1, sizeof *leg);

	leg->job = job;
	leg->first = leg->at = first;
	leg->end = end;
	leg->claim.size = SFS_SIZE_UNKNOWN;
	sfs_list_push(&job->legs, &leg->link);
	return leg;
}

/* From byte `from` of the request on, how far are all bytes in place? */
static uint64_t in_place(const struct job *job, uint64_t from)
{
	uint64_t before;

	do {
		before = from;
		SFS_EACH (leg, &job->legs, struct leg, link) {
			if (leg->first <= from && from < leg->at)
				from = leg->at;
		}
	} while (from != before);
	return from;
}

static bool is_whole(const struct job *job)
{
	return is_ask(job) ? job->has_size : in_place(job, 0) == n_wanted(job);
}

/* So many bytes of the request, from the first on, are in place, and nobody will write
 * them again.  An answer of no known length may be too long: then all of it is void. */
static uint64_t settled(const struct job *job)
{
	uint64_t n = in_place(job, 0), at;

	SFS_EACH (leg, &job->legs, struct leg, link) {
		at = leg->get.answer.length == SFS_HTTP_UNKNOWN ? leg->begun_at : leg->at;
		if (!leg->is_over && at < n)
			n = at;
	}
	return n;
}

/* Where a leg that is late has been hedged, nothing more is ready before it ends. */
static void tell_ready(struct job *job)
{
	struct sfs_request *r = job->request;
	uint64_t n = settled(job) / SFS_READY_BYTES * SFS_READY_BYTES;

	if (n > atomic_load(&r->n_ready))
		sfs_request_make_ready(r, n);
}

/* Is all that the leg has not got in place, or asked for by others? */
static bool is_spare(const struct leg *leg)
{
	uint64_t from = leg->at, before;

	SFS_EACH (other, &leg->job->legs, struct leg, link) {
		if (is_ask(leg->job) && other != leg && !other->is_over)
			return true;
	}
	if (is_ask(leg->job))
		return false;
	do {
		before = from;
		SFS_EACH (other, &leg->job->legs, struct leg, link) {
			uint64_t end = other->is_over ? other->at : other->end;

			if (other != leg && other->first <= from && from < end)
				from = end;
		}
	} while (from != before);
	return from >= leg->end;
}

/* The leg has no GET any more, and needs none. */
static void end_leg(struct leg *leg)
{
	leg->is_over = true;
	free(steal(&leg->url));
}

static void drop_leg(struct leg *leg)
{
	if (!leg->is_over)
		sfs_fetch_drop(leg->job->source->fetch, &leg->get);
	end_leg(leg);
}

/* What the job's hedges have cost is known now.  (A request that comes when all has been
 * stopped has none, and ends on any thread.) */
static void settle_hedges(struct job *job)
{
	uint64_t n_got = 0, n_twice, n_wanted = job->request->n_bytes;

	if (job->n_hedges == 0)
		return;
	SFS_EACH (leg, &job->legs, struct leg, link)
		n_got += leg->at - leg->first;
	n_twice = n_got > n_wanted ? n_got - n_wanted : 0;
	job->source->hedged_bytes -= job->hedge_cost - n_twice;
	atomic_fetch_add(&job->source->base.hedged_bytes, n_twice);
}

/* The request is over, whatever else is on its way for it. */
static void end_job(struct job *job, int err)
{
	struct sfs_request *r = job->request;
	struct sfs_link *link;
	struct leg *leg;

	if (!is_ask(job))
		r->n_got = in_place(job, 0);
	settle_hedges(job);
	while ((link = sfs_list_pop(&job->legs)) != NULL) {
		leg = sfs_container(link, struct leg, link);
		drop_leg(leg);
		free(leg);
	}
	free(job);
	sfs_request_end(r, err);
}

static void fail_as(struct leg *leg, int err, bool is_told)
{
	struct job *job = leg->job;
	struct sfs_request *r = job->request;
	enum sfs_event event = err == -ESTALE ? SFS_EVENT_CHANGED : SFS_EVENT_LOST;

	if (err < 0 && err != -ECANCELED) {
		sfs_autofree char *shown =
			sfs_uri_redact(leg->url ? leg->url : r->object->uri.location);

		sfs_error_set(r->error, err, "%s: %s", shown, leg->verdict.why);
		if (is_told)
			sfs_ledger_add(event, r->object->name, r->offset + leg->at, "",
				       "%s: %s", shown, leg->verdict.why);
	}
	end_job(job, err);
}

/* This leg cannot go on, and with it the request.  The leg's GET is over. */
static void fail(struct leg *leg, int err)
{
	fail_as(leg, err, !is_ask(leg->job));
}

/* For so long it was tried in vain.  Where nobody waits, nothing is lost. */
static void give_up(struct leg *leg, int err, uint64_t now_ns)
{
	struct job *job = leg->job;
	char *why = leg->verdict.why;
	size_t n = strlen(why);

	snprintf(why + n, sizeof leg->verdict.why - n, " (given up after %llu s)",
		 (unsigned long long)((now_ns - job->begun_ns) / SFS_NS_PER_S));
	fail_as(leg, err, !is_ask(job) && (job->is_needed || !job->request->is_ahead));
}

/* ---- hedges ---- */

/* May so many bytes be asked for twice? */
static bool may_hedge(const struct http_source *s, uint64_t n_bytes)
{
	uint64_t most = s->got_bytes / HEDGE_PART;

	return s->hedged_bytes + n_bytes <= (most > HEDGE_FREE ? most : HEDGE_FREE);
}

static struct sfs_latency *tail_of(const struct leg *leg)
{
	return is_ask(leg->job) ? &leg->job->source->asks : &leg->job->source->tail;
}

/* How many bytes does the leg lack, which nobody has got?  Those from *ret_from on. */
static uint64_t n_missing(const struct leg *leg, uint64_t *ret_from)
{
	*ret_from = is_ask(leg->job) ? 0 : in_place(leg->job, leg->at);
	if (is_ask(leg->job))
		return ASK_BYTES;
	return *ret_from < leg->end ? leg->end - *ret_from : 0;
}

/* Has the leg's GET brought next to nothing until now? */
static bool is_dripping(const struct leg *leg, uint64_t now_ns)
{
	uint64_t got = leg->at - leg->begun_at, ns = now_ns - leg->get.sent_ns;
	uint64_t low = leg->job->source->options.low_speed_limit;

	return got == 0 || got < low * (ns / SFS_NS_PER_MS) / 1000;
}

/* Ask for the n bytes from `from` on that the leg has not got once more, in n legs. */
static void hedge(struct leg *leg, uint64_t from, uint64_t n, uint64_t n_legs)
{
	struct job *job = leg->job;
	uint64_t first = from, end, i;
	struct leg *other;

	job->n_hedges++;
	job->hedge_cost += n;
	job->source->hedged_bytes += n;
	atomic_fetch_add(&job->source->base.n_hedges, 1);
	for (i = 0; i < n_legs; i++, first = end) {
		end = is_ask(job) ? 0 : from + n * (i + 1) / n_legs;
		other = add_leg(job, first, end);
		other->is_hedge = true;
		begin_get(other, 0);
	}
}

/* From when on the leg's GET is late: if nothing is known yet, it is looked at again.
 * Where all take nearly as long as each other, none is late for being the last; and one
 * on a new connection, which begins slowly, would only be put onto another. */
static void be_patient(struct leg *leg)
{
	const struct sfs_latency *tail = tail_of(leg);
	uint64_t from, n = n_missing(leg, &from), now = sfs_clock_ns();
	uint64_t late_ns = sfs_latency_late_ns(tail, n), median_ns = UNKNOWN_NS;

	if (late_ns > 0)
		median_ns = sfs_latency_median_ns(tail, n);
	leg->get.late_ns = now + (late_ns > 4 * median_ns ? late_ns : 4 * median_ns);
	leg->get.needed_late_ns = now + median_ns + median_ns / 2;
}

/* The leg takes longer than nearly all do; or than most, and a reader waits for it.
 * Should the hedge be late as well, there may be another. */
static void on_late(struct sfs_get *get)
{
	struct leg *leg = (struct leg *)get;
	struct job *job = leg->job;
	uint64_t from, n_legs = 1, n = n_missing(leg, &from);
	bool is_late = sfs_latency_late_ns(tail_of(leg), n) > 0 ||
		       is_dripping(leg, sfs_clock_ns());

	if (is_late && n > 0 && job->n_hedges < MAX_HEDGES && may_hedge(job->source, n)) {
		if (atomic_load(&job->request->is_needed))
			n_legs = n / HEDGE_LEG;
		hedge(leg, from, n,
		      n_legs < 1	    ? 1
		      : n_legs > HEDGE_LEGS ? HEDGE_LEGS
					    : n_legs);
	}
	be_patient(leg);
}

/* Bytes have come, and perhaps the last: end the GETs that are of no use any more, and
 * the request when all is there. */
static void tidy(struct job *job)
{
	if (is_whole(job)) {
		end_job(job, 0);
		return;
	}
	SFS_EACH (leg, &job->legs, struct leg, link) {
		if (!is_ask(job) && !leg->is_over && in_place(job, leg->at) >= leg->end)
			drop_leg(leg);
	}
}

/* ---- the bytes ---- */

static int on_head(struct sfs_get *get, const struct sfs_http_headers *a)
{
	struct leg *leg = (struct leg *)get;

	return (int)sfs_response_judge(&leg->question, a, &leg->verdict);
}

static void put(const struct sfs_request *r, uint64_t at, const char *bytes, size_t n)
{
	const struct iovec *iov = r->iov;
	size_t part;

	/* The pieces of memory are few (slabs), and chunks are large: finding the place
	 * anew each time costs nothing. */
	while (at >= iov->iov_len)
		at -= (iov++)->iov_len;
	while (n > 0) {
		part = iov->iov_len - at < n ? iov->iov_len - at : n;
		memcpy((char *)iov->iov_base + at, bytes, part);
		bytes += part;
		n -= part;
		at = 0;
		iov++;
	}
}

/* Room for the first bytes of an object that is asked for its size. */
static size_t head_room(const struct leg *leg)
{
	return leg->job->request->head ? SFS_HEAD_BYTES - leg->n_head : 0;
}

/* They came; bytes NULL: they are in place. */
static void take_head(struct leg *leg, const char *bytes, size_t n)
{
	n = n < head_room(leg) ? n : head_room(leg);
	if (bytes && n > 0)
		memcpy(leg->job->request->head + leg->n_head, bytes, n);
	leg->n_head += n;
}

static int on_body(struct sfs_get *get, const char *bytes, size_t n)
{
	struct leg *leg = (struct leg *)get;
	struct job *job = leg->job;

	if (is_ask(job)) {
		take_head(leg, bytes, n);
		return 0;
	}
	sfs_request_begun(job->request);
	if (n > leg->end - leg->at) {
		/* If those asked for are all there, which ones are they? */
		if (leg->at == leg->end)
			leg->at = leg->begun_at;
		sfs_response_again(&leg->verdict, "more bytes than were asked for");
		return -EPROTO;
	}
	if (bytes)
		put(job->request, leg->at, bytes, n);
	leg->at += n;
	job->source->got_bytes += n;
	if (job->request->ready)
		tell_ready(job);
	/* What others have got behind here may be all that was left. */
	return job->n_hedges > 0 && leg->at < leg->end && is_whole(job) ? -EALREADY : 0;
}

/* The same, and they are in place. */
static int on_took(struct sfs_get *get, size_t n)
{
	return on_body(get, NULL, n);
}

static int on_room(struct sfs_get *get, struct iovec *pieces, int n_max)
{
	struct leg *leg = (struct leg *)get;
	const struct iovec *iov = leg->job->request->iov;
	uint64_t skip = leg->at, n = leg->end - leg->at;
	int i;

	if (is_ask(leg->job) && head_room(leg) > 0) {
		pieces[0] = (struct iovec){leg->job->request->head + leg->n_head,
					   head_room(leg)};
		return 1;
	}
	if (is_ask(leg->job) || n == 0)
		return 0;
	while (skip >= iov->iov_len)
		skip -= (iov++)->iov_len;
	for (i = 0; i < n_max && n > 0; i++, iov++, skip = 0) {
		pieces[i].iov_base = (char *)iov->iov_base + skip;
		pieces[i].iov_len = iov->iov_len - skip < n ? iov->iov_len - skip : n;
		n -= pieces[i].iov_len;
	}
	return i;
}

/* ---- the end of a GET ---- */

/* ---- retries ---- */

/* Until when it is of use to try: a second less than a reader waits, or a twentieth less,
 * for the reader is to get the cause, not only to hear that time is up. */
static uint64_t deadline_ns(const struct job *job)
{
	uint64_t ms = job->source->options.read_timeout_ms, less = ms / 20;

	if (less < 1000)
		less = ms < 4000 ? ms / 4 : 1000;
	return job->begun_ns + (ms - less) * SFS_NS_PER_MS;
}

/* From when on does the time count?  A reader's begins when the reader comes; and bytes
 * that have come are what others waited for. */
static void note_time(struct job *job, uint64_t n_new, uint64_t now_ns)
{
	bool is_needed = job->request->is_urgent || atomic_load(&job->request->is_needed);

	if (n_new >= SFS_RETRY_PROGRESS || (is_needed && !job->is_needed))
		job->begun_ns = now_ns;
	job->is_needed = is_needed;
}

static void tell_retry(struct leg *leg, const struct sfs_retry *retry, int limit,
		       uint64_t delay_ms)
{
	struct sfs_request *r = leg->job->request;
	char then[80], of[24] = "";

	if (limit < INT_MAX)
		snprintf(of, sizeof of, " of %d", limit);
	snprintf(then, sizeof then, "retry %d%s in %llu ms", retry->n_failed, of,
		 (unsigned long long)delay_ms);
	sfs_ledger_add(SFS_EVENT_RETRY, r->object->name,
		       is_ask(leg->job) ? SFS_NO_OFFSET : r->offset + leg->at, then, "%s",
		       leg->verdict.why);
}

/* Ask for what is left. */
static void begin_again(struct leg *leg, uint64_t delay_ms, bool waits_for_server)
{
	bool is_at_home = leg->n_redirects == 0 && !leg->is_remembered;

	if (leg->n_redirects > 0) { /* another place may do it */
		free(steal(&leg->url));
		leg->n_redirects = 0;
	}
	leg->claim.size = SFS_SIZE_UNKNOWN;
	init_get(leg);
	leg->get.is_retry = waits_for_server && is_at_home;
	leg->get.latest_ns = deadline_ns(leg->job);
	sfs_fetch_add(leg->job->source->fetch, &leg->get, delay_ms);
}

/* How often a user who mounts has it tried. */
static int probe_limit(const struct job *job, enum sfs_fetch_outcome verdict)
{
	int limit = job->source->options.n_retries;

	return verdict == SFS_FETCH_REFUSED ? 1 : limit < 2 ? limit : 2;
}

/* The answer was of no use, or this is a probe. */
static void try_again(struct leg *leg, int err, int limit, int64_t retry_after_s)
{
	struct job *job = leg->job;
	uint64_t delay_ms;

	if (!sfs_retry_next(&leg->refusals, limit, leg->at - leg->begun_at, retry_after_s,
			    sfs_rng_next(&job->source->chance), &delay_ms)) {
		fail(leg, err);
		return;
	}
	if (!job->request->is_probe)
		tell_retry(leg, &leg->refusals, limit, delay_ms);
	begin_again(leg, delay_ms, false);
}

/* A try failed in a way that passes.  A line for each would be many: the first of a
 * server that did well until now is told, and of a leg the 1st, 2nd, 4th, 8th... */
static void wait_and_try_again(struct leg *leg, int err, int64_t retry_after_s)
{
	struct job *job = leg->job;
	uint64_t now = sfs_clock_ns(), n_new = leg->at - leg->begun_at, delay_ms, left_ms;
	bool is_news = leg->get.is_news;

	note_time(job, n_new, now);
	if (now >= deadline_ns(job)) {
		give_up(leg, err, now);
		return;
	}
	sfs_retry_next(&leg->failures, INT_MAX, n_new, retry_after_s,
		       sfs_rng_next(&job->source->chance), &delay_ms);
	left_ms = (deadline_ns(job) - now) / SFS_NS_PER_MS + 1;
	if (delay_ms > left_ms)
		delay_ms = left_ms;
	if (is_news && (leg->failures.n_failed & (leg->failures.n_failed - 1)) == 0)
		tell_retry(leg, &leg->failures, INT_MAX, delay_ms);
	else
		sfs_ledger_tally(SFS_EVENT_RETRY);
	begin_again(leg, delay_ms, retry_after_s < 0);
}

/* Begin again at the object's own URL. */
static void forget_redirect(struct leg *leg)
{
	struct sfs_object *o = leg->job->request->object;

	free(steal(&o->redirected));
	free(steal(&leg->url));
	leg->has_forgotten = true;
	leg->n_redirects = 0;
}

static void follow(struct leg *leg)
{
	const char *location = leg->get.answer.location;
	char *to = *location ? sfs_url_resolve(leg->url, location) : NULL;
	bool is_downgrade = to && sfs_url_is_downgrade(leg->url, to);

	if (!to || is_downgrade || ++leg->n_redirects > MAX_REDIRECTS) {
		sfs_response_final(
			&leg->verdict, -EIO,
			!to ? "a redirect to nowhere"
			: is_downgrade
				? "a redirect from https to http, which is not followed"
				: "more than 10 redirects");
		free(to);
		fail(leg, leg->verdict.err);
		return;
	}
	free(leg->url);
	leg->url = to;
	begin_get(leg, 0);
}

static void remember_redirect(struct leg *leg)
{
	struct sfs_object *o = leg->job->request->object;

	if (leg->n_redirects == 0)
		return;
	free(o->redirected);
	o->redirected = sfs_strdup(leg->url);
}

/* Without a tag or a date, only the size tells versions apart: say so once. */
static void warn_of_no_validator(struct http_source *s, const struct sfs_object *o)
{
	sfs_autofree char *shown = NULL;

	if (o->tag || o->modified || s->options.verify_size_only || s->has_warned)
		return;
	s->has_warned = true;
	shown = sfs_uri_redact(o->uri.location);
	sfs_warning(
		"%s: the server sends neither ETag nor Last-Modified, so a shard that "
		"changes without changing its size will not be noticed",
		shown);
}

/* All that the GET asked for has come, or the size. */
static void succeed(struct leg *leg)
{
	struct job *job = leg->job;

	sfs_latency_add(tail_of(leg), is_ask(job) ? ASK_BYTES : leg->end - leg->begun_at,
			sfs_clock_ns() - leg->get.sent_ns);
	if (is_ask(job)) {
		job->has_size = true;
		job->request->n_got = leg->n_head;
		sfs_response_learn(job->request->object, &leg->get.answer);
		if (!job->request->may_be_tiny)
			warn_of_no_validator(job->source, job->request->object);
	}
	remember_redirect(leg);
	end_leg(leg);
	tidy(job);
}

/* Ask for the whole of the object, which is said to be tiny. */
static void confirm(struct leg *leg)
{
	leg->claim = leg->verdict.claim;
	begin_get(leg, CONFIRM_MS);
}

/* It was refused: is there another token by now? */
static bool may_renew(struct leg *leg)
{
	const struct http_source *s = leg->job->source;
	int status = leg->get.answer.status;

	return (status == 401 || status == 403) && leg->get.has_headers &&
	       leg->n_renewed <= s->options.n_retries &&
	       sfs_fetch_has_new_headers(s->fetch, &leg->get);
}

/* The GET of a leg ended without all that it asked for, and may be tried again. */
static void take_passing(struct leg *leg, int err, enum sfs_fetch_outcome verdict,
			 const char *why)
{
	struct job *job = leg->job;
	const struct sfs_http_headers *a = &leg->get.answer;
	bool is_no = err == 0 || err == -EPROTO || verdict == SFS_FETCH_NONSENSE ||
		     (err == SFS_RESPONSE_AGAIN && !sfs_response_is_later(a->status));
	int64_t retry_after_s = err == SFS_RESPONSE_AGAIN ? a->retry_after_s : -1;

	if (err == 0)
		sfs_response_again(&leg->verdict, "the body ended %llu bytes early",
				   (unsigned long long)(leg->end - leg->at));
	else if (err != SFS_RESPONSE_AGAIN && err != -EPROTO)
		sfs_response_again(&leg->verdict, "%s", why);
	err = err < 0 ? err : -EIO;
	if (job->request->is_probe)
		try_again(leg, err, probe_limit(job, verdict), retry_after_s);
	else if (is_no)
		try_again(leg, err, job->source->options.n_retries, retry_after_s);
	else
		wait_and_try_again(leg, err, retry_after_s);
}

/* The GET of a leg ended without all that it asked for. */
static void take_failure(struct leg *leg, int err, enum sfs_fetch_outcome verdict,
			 const char *why)
{
	if (is_spare(leg)) {
		end_leg(leg);
		tidy(leg->job);
	} else if (err != 0 && leg->is_remembered && err != SFS_RESPONSE_AGAIN) {
		/* A signature may have expired, a target gone: ask the first again. */
		forget_redirect(leg);
		begin_get(leg, 0);
	} else if (err == SFS_RESPONSE_FINAL && may_renew(leg)) {
		leg->n_renewed++;
		begin_again(leg, 0, false);
	} else if (err == SFS_RESPONSE_FINAL) {
		fail(leg, leg->verdict.err);
	} else if (err < 0 && verdict == SFS_FETCH_FINAL) {
		sfs_response_again(&leg->verdict, "%s", why);
		fail(leg, err);
	} else {
		take_passing(leg, err, verdict, why);
	}
}

static void on_end(struct sfs_get *get, int err, enum sfs_fetch_outcome verdict,
		   const char *why)
{
	struct leg *leg = (struct leg *)get;
	struct job *job = leg->job;
	bool is_done = err == 0 && (is_ask(job) || leg->at == leg->end);

	leg->met_silence = get->met_silence;
	if (err == -ECANCELED)
		fail(leg, err);
	else if (err == SFS_RESPONSE_REDIRECT)
		follow(leg);
	else if (err == SFS_RESPONSE_TINY)
		confirm(leg);
	else if (is_done)
		succeed(leg);
	else if (err == 0 && leg->at > leg->begun_at && get->answer.has_range &&
		 job->request->offset + leg->at == get->answer.last + 1)
		begin_get(leg, 0); /* the server gives less at a time, as it may */
	else
		take_failure(leg, err, verdict, why);
}

/* ---- the beginning of a GET ---- */

/* The first bytes of a far server come sooner over many connections. */
static void split(struct leg *leg)
{
	struct job *job = leg->job;
	uint64_t end = leg->end, first, next;

	if (is_ask(job) || leg->get.rtt_ns < SFS_NETPATH_LONG_NS ||
	    leg->get.served_bytes > COLD_BYTES || end > SPLIT_MAX || leg->at > 0 ||
	    end != n_wanted(job))
		return;
	leg->get.is_small = true;
	if (end <= SMALL_BYTES)
		return;
	leg->end = SMALL_BYTES;
	for (first = leg->end; first < end; first = next) {
		next = end - first < SMALL_BYTES ? end : first + SMALL_BYTES;
		begin_get(add_leg(job, first, next), 0);
	}
}

/* A hedge's turn has come, and the other leg has not rested meanwhile. */
static void catch_up(struct leg *leg)
{
	uint64_t at = in_place(leg->job, leg->at);

	at = at < leg->end ? at : leg->end - 1;
	if (leg->at == leg->first)
		leg->first = at;
	leg->at = at;
}

static void on_place(struct sfs_get *get)
{
	struct leg *leg = (struct leg *)get;
	const struct sfs_object *o = leg->job->request->object;

	if (!leg->url) {
		leg->is_remembered = o->redirected != NULL && !leg->has_forgotten;
		leg->url =
			sfs_strdup(leg->is_remembered ? o->redirected : o->uri.location);
	}
	get->url = leg->url;
}

static const char *if_match(const struct sfs_object *o)
{
	return o->tag && sfs_http_etag_can_be_sent(o->tag) ? o->tag : NULL;
}

static void on_start(struct sfs_get *get)
{
	struct leg *leg = (struct leg *)get;
	struct job *job = leg->job;
	struct sfs_request *r = job->request;
	const struct sfs_object *o = r->object;
	bool is_ours = sfs_url_same_origin(leg->url, o->uri.location);
	bool verify_size_only = job->source->options.verify_size_only;

	leg->n_head = 0;
	if (leg->is_hedge && !is_ask(job))
		catch_up(leg);
	else if (!leg->is_hedge)
		split(leg);
	leg->begun_at = leg->at;
	leg->question = (struct sfs_http_query){
		.object = r->object,
		.is_ask = is_ask(job),
		.may_be_tiny = r->may_be_tiny,
		.claim = leg->claim.size == SFS_SIZE_UNKNOWN ? NULL : &leg->claim,
		.first = is_ask(job) ? 0 : r->offset + leg->at,
		.last = is_ask(job) ? ASK_BYTES - 1 : r->offset + leg->end - 1,
		.if_match = is_ask(job) || verify_size_only ? NULL : if_match(o),
		.verify_size_only = verify_size_only,
	};
	get->user = is_ours ? o->uri.user : NULL;
	get->has_headers = is_ours;
	get->if_match = leg->question.if_match;
	get->first = leg->question.first;
	get->last = leg->question.last;
	get->is_whole = leg->question.claim != NULL;
	if (!leg->is_hedge)
		be_patient(leg);
}

static void init_get(struct leg *leg)
{
	struct job *job = leg->job;
	struct sfs_request *r = job->request;
	bool is_part = leg->is_hedge || leg->first > 0 || leg->end < n_wanted(job);

	leg->get = (struct sfs_get){
		.is_small = is_ask(job) || (is_part && leg->end - leg->at <= SMALL_MAX),
		.is_urgent = r->is_urgent || is_part || atomic_load(&r->is_needed),
		.is_wary = leg->met_silence,
		.is_probe = r->is_probe,
		.is_cancelled = &r->is_cancelled,
		.is_needed = &r->is_needed,
		.place = on_place,
		.start = on_start,
		.head = on_head,
		.body = on_body,
		.room = on_room,
		.took = on_took,
		.late = on_late,
		.end = on_end,
	};
}

static void begin_get(struct leg *leg, uint64_t delay_ms)
{
	init_get(leg);
	sfs_fetch_add(leg->job->source->fetch, &leg->get, delay_ms);
}

static void submit(struct sfs_source *source, struct sfs_request *r)
{
	struct job *job = sfs_calloc(1, sizeof *job);

	job->source = sfs_container(source, struct http_source, base);
	job->request = r;
	job->begun_ns = sfs_clock_ns();
	job->is_needed = r->is_urgent;
	sfs_list_init(&job->legs);
	begin_get(add_leg(job, 0, n_wanted(job)), 0);
}

static void wake(struct sfs_source *source)
{
	sfs_fetch_wake(sfs_container(source, struct http_source, base)->fetch);
}

static void stop(struct sfs_source *source)
{
	sfs_fetch_stop(sfs_container(source, struct http_source, base)->fetch);
}

static void free_source(struct sfs_source *source)
{
	struct http_source *s = sfs_container(source, struct http_source, base);

	sfs_fetch_free(s->fetch);
	free(s);
}

static void on_paced(void *ctx, const struct sfs_netpath *path)
{
	struct http_source *s = ctx;

	sfs_source_set_path(&s->base, path);
}

struct sfs_source *sfs_source_http_start(const struct sfs_http_options *options,
					 struct sfs_error *err)
{
	static const struct sfs_source_ops ops = {.name = "http",
						  .submit = submit,
						  .wake = wake,
						  .stop = stop,
						  .free = free_source};
	struct http_source *s = sfs_calloc(1, sizeof *s);
	const struct sfs_fetch_options fetch_options = {
		.n_connections = options->n_connections,
		.n_small = N_SMALL,
		.paced = on_paced,
		.ctx = s,
		.connect_timeout_ms = options->connect_timeout_ms,
		.stall_timeout_ms = options->stall_timeout_ms,
		.low_speed_limit = options->low_speed_limit,
		.headers = options->headers,
		.n_headers = options->n_headers,
		.proxy = options->proxy,
		.netrc_file = options->netrc_file,
		.ca_file = options->ca_file,
		.ca_path = options->ca_path,
		.cert = options->cert,
		.key = options->key,
	};

	s->base.ops = &ops;
	s->base.n_parallel = options->n_connections < 16 ? options->n_connections : 16;
	s->options = *options;
	s->chance.state = sfs_clock_ns();
	s->fetch = sfs_fetch_start(&fetch_options, err);
	if (!s->fetch) {
		free(s);
		return NULL;
	}
	return &s->base;
}
