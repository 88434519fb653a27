/* SPDX-License-Identifier: MIT */
/* How this works: a request is a job (job.h) of one or several legs, and a leg is fetched
 * by GETs, one after another.  All of it runs on the fetch thread, so a job has one
 * owner.  How a GET is written and what its response means, the dialect says (dialect.h);
 * which GETs are asked for once more, hedge.h; what follows when one fails, failure.h.
 *
 * A new connection to a far server begins slowly: it sends some 14 KB, and doubles that
 * with each round trip.  So the first requests to such a server are cut into legs of that
 * size, which go over many connections at once.
 *
 * Where responses do not say of which version their bytes are, a last leg of the job asks
 * for the object's status when all of them are in place.  Until then nobody may use them.
 *
 * Redirects are followed here, one hop a GET.  Where they end is remembered for the
 * object, so that a range costs one round trip; when that place fails, the object's own
 * URL is asked again. */
#include "source/http/transfer.h"

#include "base/alloc.h"
#include "base/log.h"
#include "source/http/curl-url.h"
#include "source/http/failure.h"
#include "source/http/hedge.h"

#include <errno.h>
#include <string.h>

#define MAX_REDIRECTS 10
#define CONFIRM_MS    500 /* until a size that is hard to believe is asked for again */

#define MOST_REFUSED (64 << 10) /* of an error's body, to keep the connection */

#define SPLIT_MAX (512 << 10)
#define SMALL_MAX (256 << 10) /* what counts as small */

static void begin_get(struct sfs_leg *leg, uint64_t delay_ms);
static void begin_again(struct sfs_leg *leg, uint64_t delay_ms, bool waits_for_server);
static void handle_failure(struct sfs_leg *leg, int err, enum sfs_fetch_outcome outcome,
			   const char *why);

/* ---- a refusal ---- */

/* Does this response have a body that says why it is of no use, or all that it says? */
static bool is_explained(const struct sfs_leg *leg, int outcome)
{
	if (outcome == SFS_RESPONSE_IN_BODY)
		return true;
	return (outcome == SFS_RESPONSE_AGAIN || outcome == SFS_RESPONSE_FINAL) &&
	       leg->job->dialect->explain && leg->get.response.headers.status >= 300;
}

/* n bytes of it have come; `bytes` NULL: they are in place already. */
static int keep_refusal(struct sfs_leg *leg, const char *bytes, size_t n)
{
	size_t room = SFS_REFUSAL_BYTES - leg->n_refusal, n_kept = n < room ? n : room;

	if (bytes)
		memcpy(leg->refusal + leg->n_refusal, bytes, n_kept);
	leg->n_refusal += n_kept;
	leg->n_refusal_bytes += n;
	return leg->n_refusal_bytes > MOST_REFUSED ? -EALREADY : 0;
}

/* Where the next of it goes. */
static int refusal_room(const struct sfs_leg *leg, struct iovec *piece)
{
	size_t room = SFS_REFUSAL_BYTES - leg->n_refusal;

	*piece = (struct iovec){leg->refusal + leg->n_refusal, room};
	return room > 0;
}

/* The response has ended: what does it mean, now that all is known? */
static int transfer_explain(struct sfs_leg *leg, int outcome)
{
	struct sfs_job *job = leg->job;
	const char *body = leg->refusal ? leg->refusal : "";

	if (leg->refusal)
		leg->refusal[leg->n_refusal] = 0;
	if (outcome == SFS_RESPONSE_IN_BODY)
		return (int)job->dialect->read_status(job->store, &leg->query, body,
						      &leg->get.response.headers,
						      &leg->error);
	return (int)job->dialect->explain(job->store, &leg->query, &leg->get, body,
					  (enum sfs_response_outcome)outcome,
					  &leg->error);
}

/* ---- the body ---- */

static int on_head(struct sfs_get *get, const struct sfs_http_headers *a)
{
	struct sfs_leg *leg = (struct sfs_leg *)get;
	int outcome = (int)leg->job->dialect->judge(leg->job->store, &leg->query, a,
						    &leg->error);

	if (!is_explained(leg, outcome) || a->length == 0)
		return outcome;
	leg->refused = (enum sfs_response_outcome)outcome;
	if (!leg->refusal)
		leg->refusal = sfs_malloc(SFS_REFUSAL_BYTES + 1);
	return 0;
}

/* Where the body ends, if it has the length that its headers promise. */
static uint64_t body_end(const struct sfs_leg *leg)
{
	const struct sfs_http_headers *a = &leg->get.response.headers;

	return a->status == 206 ? a->last + 1 - leg->job->request->offset : leg->end;
}

static int on_body(struct sfs_get *get, const char *bytes, size_t n)
{
	struct sfs_leg *leg = (struct sfs_leg *)get;
	struct sfs_job *job = leg->job;

	if (leg->refused)
		return keep_refusal(leg, bytes, n);
	if (sfs_job_is_ask(job)) {
		sfs_leg_take_head(leg, bytes, n);
		return 0;
	}
	sfs_request_begun(job->request);
	if (n > body_end(leg) - leg->at) {
		/* Nobody knows which of them are those that were asked for. */
		leg->at = leg->begun_at;
		sfs_response_again(&leg->error, "more bytes than its headers promised");
		return -EPROTO;
	}
	if (bytes)
		sfs_leg_put(leg, bytes, n);
	leg->at += n;
	job->source->got_bytes += n;
	if (job->request->ready && !job->dialect->read_status)
		sfs_job_report_ready(job);
	/* What hedges have got may be all that was left. */
	return job->n_hedges > 0 && leg->at < leg->end && sfs_job_is_whole(job)
		       ? -EALREADY
		       : 0;
}

/* The same, and the bytes are in place. */
static int on_received(struct sfs_get *get, size_t n)
{
	return on_body(get, NULL, n);
}

static int on_room(struct sfs_get *get, struct iovec *pieces, int n_max)
{
	struct sfs_leg *leg = (struct sfs_leg *)get;

	return leg->refused ? refusal_room(leg, pieces)
			    : sfs_leg_room(leg, pieces, n_max);
}

/* Ask again, in other legs.  Should they be late as well, there may be more. */
static void on_late(struct sfs_get *get)
{
	struct sfs_leg *leg = (struct sfs_leg *)get, *other;
	uint64_t first = 0, n_bytes = 0, at, next;
	int n = sfs_hedge_plan(leg, &first, &n_bytes), i;

	for (i = 0, at = first; i < n; i++, at = next) {
		next = sfs_job_is_ask(leg->job)
			       ? 0
			       : first + n_bytes * (uint64_t)(i + 1) / (uint64_t)n;
		other = sfs_leg_add(leg->job, at, next);
		other->is_hedge = true;
		other->is_status = leg->is_status;
		begin_get(other, 0);
	}
	sfs_hedge_set_deadline(leg);
}

/* ---- the end of a GET ---- */

static void follow_redirect(struct sfs_leg *leg)
{
	char *to = leg->job->dialect->redirect(leg->url, &leg->get.response.headers,
					       &leg->error);

	if (!to) {
		handle_failure(leg, SFS_RESPONSE_AGAIN, SFS_FETCH_PASSING, "");
		return;
	}
	if (++leg->n_redirects > MAX_REDIRECTS) {
		free(to);
		sfs_response_final(&leg->error, -EIO, "more than %d redirects",
				   MAX_REDIRECTS);
		sfs_failure_end(leg, leg->error.err, false);
		return;
	}
	free(leg->url);
	leg->url = to;
	begin_get(leg, 0);
}

static void remember_redirect(struct sfs_leg *leg)
{
	struct sfs_object *o = leg->job->request->object;

	if (leg->n_redirects == 0)
		return;
	free(o->redirected);
	o->redirected = sfs_strdup(leg->url);
}

/* Without a tag or a date, only the size shows a change: warn once. */
static void warn_of_no_validator(struct sfs_http_source *s, const struct sfs_object *o)
{
	sfs_autofree char *shown = NULL;

	if (o->tag || o->modified || s->options.verify_size_only || s->has_warned)
		return;
	s->has_warned = true;
	shown = sfs_uri_redact(o->uri.location);
	sfs_warning("%s: the server sends neither ETag nor Last-Modified, so shufflefs "
		    "will not notice if a shard changes and keeps its size",
		    shown);
}

/* Are all bytes in place that a status has to confirm? */
static bool wants_status(const struct sfs_job *job)
{
	return job->dialect->read_status && !job->is_confirmed && !sfs_job_is_ask(job) &&
	       sfs_job_is_whole(job);
}

static void begin_status(struct sfs_job *job)
{
	struct sfs_leg *leg;

	sfs_job_drop_legs(job);
	leg = sfs_leg_add(job, 0, 0);
	leg->is_status = true;
	begin_get(leg, 0);
}

/* A leg is over. */
static void go_on(struct sfs_job *job)
{
	if (wants_status(job))
		begin_status(job);
	else
		sfs_job_tidy(job);
}

static void take_size(struct sfs_leg *leg)
{
	struct sfs_job *job = leg->job;

	job->has_size = true;
	job->dialect->learn(job->store, job->request->object, &leg->get.response.headers);
	if (!job->request->may_be_tiny)
		warn_of_no_validator(job->source, job->request->object);
}

/* All that the GET asked for has come, or the size. */
static void succeed(struct sfs_leg *leg)
{
	struct sfs_job *job = leg->job;
	bool is_ask = sfs_job_is_ask(job),
	     is_head = is_ask && job->dialect->read_status && !leg->is_status;

	if (is_ask || !leg->is_status)
		sfs_hedge_note_time(leg);
	if (!leg->is_status) {
		remember_redirect(leg);
		atomic_store(&job->request->object->path, leg->get.path);
	}
	if (is_ask && !leg->is_status)
		job->request->n_got = leg->n_head;
	if (is_ask && !is_head)
		take_size(leg);
	job->is_confirmed |= leg->is_status;
	sfs_leg_end(leg);
	if (is_head)
		begin_status(job);
	else
		go_on(job);
}

/* Ask for the whole of the object, which is said to be tiny. */
static void confirm(struct sfs_leg *leg)
{
	leg->claim = leg->error.claim;
	begin_get(leg, CONFIRM_MS);
}

/* Its size is that of no tar: one cache of many may be ill, once. */
static void doubt_size(struct sfs_leg *leg)
{
	leg->odd_size = leg->error.claim.size;
	leg->n_odd++;
	begin_again(leg, 0, false);
}

static void handle_failure(struct sfs_leg *leg, int err, enum sfs_fetch_outcome outcome,
			   const char *why)
{
	struct sfs_failure failure = sfs_failure_judge(leg, err, outcome, why);

	switch (failure.action) {
	case SFS_FAILURE_SPARE:
		sfs_leg_end(leg);
		go_on(leg->job);
		break;
	case SFS_FAILURE_AGAIN:
		if (leg->job->dialect->avoid && leg->url)
			leg->job->dialect->avoid(leg->job->store, leg->url);
		begin_again(leg, failure.delay_ms, failure.waits_for_server);
		break;
	case SFS_FAILURE_FINAL:
		sfs_failure_end(leg, failure.err, failure.is_silent);
		break;
	}
}

/* A redirect or a failure does not say what it responds to. */
static bool may_be_of_another(const struct sfs_leg *leg, int err)
{
	return leg->get.http1.is_shared && err > 0 && !sfs_leg_is_spare(leg) &&
	       !sfs_response_is_later(leg->get.response.headers.status);
}

static void on_end(struct sfs_get *get, int err, enum sfs_fetch_outcome outcome,
		   const char *why)
{
	struct sfs_leg *leg = (struct sfs_leg *)get;
	struct sfs_job *job = leg->job;
	bool is_done;

	if (leg->refused && err != -ECANCELED)
		err = (int)leg->refused;
	if (is_explained(leg, err))
		err = transfer_explain(leg, err);
	is_done = err == 0 && (sfs_job_is_ask(job) || leg->at == leg->end);
	leg->has_stalled = get->has_stalled;
	if (err == -ECANCELED)
		sfs_failure_end(leg, err, false);
	else if (may_be_of_another(leg, err))
		begin_again(leg, 0, false);
	else if (err == SFS_RESPONSE_REDIRECT)
		follow_redirect(leg);
	else if (err == SFS_RESPONSE_TINY)
		confirm(leg);
	else if (err == SFS_RESPONSE_ODD)
		doubt_size(leg);
	else if (is_done)
		succeed(leg);
	else if (err == 0 && leg->at > leg->begun_at && get->response.headers.has_range &&
		 job->request->offset + leg->at == get->response.headers.last + 1)
		begin_get(leg, 0); /* the server gives less at a time */
	else
		handle_failure(leg, err, outcome, why);
}

/* ---- the beginning of a GET ---- */

/* May the leg be cut into several?  Only a whole job's, that has got nothing yet. */
static bool may_be_split(const struct sfs_leg *leg)
{
	return !sfs_job_is_ask(leg->job) && leg->end <= SPLIT_MAX && leg->at == 0 &&
	       leg->end == sfs_job_n_wanted(leg->job) && !leg->job->dialect->read_status;
}

/* The first bytes of a far server come sooner over many connections. */
static void split(struct sfs_leg *leg)
{
	uint64_t end = leg->end, n = leg->get.cold_bytes, first, next;

	if (n == 0 || !may_be_split(leg))
		return;
	leg->get.is_small = true;
	if (end <= n)
		return;
	leg->end = n;
	for (first = leg->end; first < end; first = next) {
		next = end - first < n ? end : first + n;
		begin_get(sfs_leg_add(leg->job, first, next), 0);
	}
}

/* A hedge's turn has come, and meanwhile the leg that was late has got more. */
static void catch_up(struct sfs_leg *leg)
{
	uint64_t at = sfs_job_in_place(leg->job, leg->at);

	at = at < leg->end ? at : leg->end - 1;
	if (leg->at == leg->first)
		leg->first = at;
	leg->at = at;
}

static void on_set_url(struct sfs_get *get)
{
	struct sfs_leg *leg = (struct sfs_leg *)get;
	const struct sfs_object *o = leg->job->request->object;
	sfs_autofree char *own = NULL;

	if (!leg->url) {
		leg->is_remembered =
			o->redirected != NULL && !leg->has_forgotten && !leg->is_status;
		leg->url = leg->is_remembered
				   ? sfs_strdup(o->redirected)
				   : leg->job->dialect->url(leg->job->store, o);
	}
	get->url = leg->url;
	get->is_foreign = o->uri.is_foreign;
	if (!sfs_leg_is_redirected(leg))
		return;
	own = leg->job->dialect->url(leg->job->store, o);
	get->is_elsewhere = !sfs_url_same_origin(leg->url, own);
}

static void on_start(struct sfs_get *get)
{
	struct sfs_leg *leg = (struct sfs_leg *)get;
	struct sfs_job *job = leg->job;
	struct sfs_request *r = job->request;
	bool is_ask = sfs_job_is_ask(job);

	sfs_request_sent(r);
	leg->n_head = 0;
	leg->refused = 0;
	leg->n_refusal = leg->n_refusal_bytes = 0;
	if (leg->is_hedge && !is_ask)
		catch_up(leg);
	else if (!leg->is_hedge)
		split(leg);
	leg->begun_at = leg->at;
	leg->query = (struct sfs_http_query){
		.object = r->object,
		.is_ask = is_ask,
		.is_status = leg->is_status,
		.may_be_tiny = r->may_be_tiny,
		.claim = leg->claim.size == SFS_SIZE_UNKNOWN ? NULL : &leg->claim,
		.odd_size = leg->odd_size,
		.n_odd = leg->n_odd,
		.first = is_ask ? 0 : r->offset + leg->at,
		/* Of asks over one connection no two are for as many bytes: so none takes
		 * the response to another for its own. */
		.last = is_ask ? SFS_ASK_BYTES - 1 + get->http1.n_before
			       : r->offset + leg->end - 1,
		.is_exact = get->http1.n_before > 0,
		.verify_size_only = job->source->options.verify_size_only,
	};
	sfs_strbuf_done(&leg->lines);
	job->dialect->request(job->store, &leg->query, leg->url, &leg->lines, get);
	if (!leg->is_hedge && (is_ask || !leg->is_status))
		sfs_hedge_set_deadline(leg);
}

static void init_get(struct sfs_leg *leg)
{
	struct sfs_job *job = leg->job;
	struct sfs_request *r = job->request;
	bool is_part =
		leg->is_hedge || leg->first > 0 || leg->end < sfs_job_n_wanted(job);

	sfs_http_headers_done(&leg->get.response.headers);
	leg->get = (struct sfs_get){
		.is_small = sfs_job_is_ask(job) || leg->is_status ||
			    (is_part && leg->end - leg->at <= SMALL_MAX),
		.is_urgent = r->is_urgent || leg->is_hedge || atomic_load(&r->is_needed),
		.may_be_split = may_be_split(leg),
		.may_follow = sfs_job_is_ask(job) && !r->may_be_tiny && !leg->is_hedge &&
			      !job->dialect->read_status && !leg->has_stalled &&
			      leg->claim.size == SFS_SIZE_UNKNOWN,
		.wants_new_connection = leg->has_stalled,
		.is_probe = r->is_probe,
		.is_cancelled = &r->is_cancelled,
		.is_needed = &r->is_needed,
		.latest_ns = sfs_failure_deadline_ns(job),
		.set_url = on_set_url,
		.start = on_start,
		.head = on_head,
		.body = on_body,
		.room = on_room,
		.received = on_received,
		.late = on_late,
		.end = on_end,
	};
}

static void begin_get(struct sfs_leg *leg, uint64_t delay_ms)
{
	init_get(leg);
	sfs_fetch_add(leg->job->source->fetch, &leg->get, delay_ms);
}

/* At the object's own URL, if redirects have led elsewhere: another place may do it. */
static void begin_again(struct sfs_leg *leg, uint64_t delay_ms, bool waits_for_server)
{
	bool is_redirected = sfs_leg_is_redirected(leg);
	const struct sfs_dialect *dialect = leg->job->dialect;

	if (leg->n_redirects > 0 || dialect->avoid) {
		free(steal(&leg->url));
		leg->n_redirects = 0;
	}
	leg->claim.size = SFS_SIZE_UNKNOWN;
	init_get(leg);
	leg->get.may_follow = false;
	leg->get.is_retry = waits_for_server && !is_redirected;
	sfs_fetch_add(leg->job->source->fetch, &leg->get, delay_ms);
}

void sfs_transfer_begin(struct sfs_job *job)
{
	struct sfs_leg *leg = sfs_leg_add(job, 0, sfs_job_n_wanted(job));

	leg->is_status = job->dialect->read_status && sfs_job_is_ask(job) &&
			 !job->request->head;
	begin_get(leg, 0);
}
