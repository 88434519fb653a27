/* SPDX-License-Identifier: MIT */
#include "source/http/job.h"

#include "base/alloc.h"

#include <string.h>

bool sfs_job_is_ask(const struct sfs_job *job)
{
	return job->request->kind == SFS_REQUEST_ASK;
}

uint64_t sfs_job_n_wanted(const struct sfs_job *job)
{
	return sfs_job_is_ask(job) ? 0 : job->request->n_bytes;
}

/* ---- which bytes are in place ---- */

uint64_t sfs_job_in_place(const struct sfs_job *job, uint64_t from)
{
	uint64_t before;

	do {
		before = from;
		SFS_EACH (leg, &job->legs, struct sfs_leg, link) {
			if (leg->first <= from && from < leg->at)
				from = leg->at;
		}
	} while (from != before);
	return from;
}

bool sfs_job_is_whole(const struct sfs_job *job)
{
	if (sfs_job_is_ask(job))
		return job->has_size;
	return sfs_job_in_place(job, 0) == sfs_job_n_wanted(job);
}

/* How many bytes, from the first on, are in place and will not be written again.  A body
 * of unknown length may turn out too long, and then nothing of it counts. */
static uint64_t n_settled(const struct sfs_job *job)
{
	uint64_t n = sfs_job_in_place(job, 0), at;

	SFS_EACH (leg, &job->legs, struct sfs_leg, link) {
		at = leg->get.response.headers.length == SFS_HTTP_UNKNOWN ? leg->begun_at
									  : leg->at;
		if (!leg->is_over && at < n)
			n = at;
	}
	return n;
}

/* A late leg that was hedged holds this up until it ends. */
void sfs_job_report_ready(struct sfs_job *job)
{
	struct sfs_request *r = job->request;
	uint64_t n = n_settled(job) / SFS_READY_BYTES * SFS_READY_BYTES;

	if (n > atomic_load(&r->n_ready))
		sfs_request_make_ready(r, n);
}

bool sfs_leg_is_spare(const struct sfs_leg *leg)
{
	bool is_ask = sfs_job_is_ask(leg->job);
	uint64_t from = leg->at, before, end;

	if (leg->is_status && !is_ask)
		return false;
	do {
		before = from;
		SFS_EACH (other, &leg->job->legs, struct sfs_leg, link) {
			if (other == leg)
				continue;
			if (is_ask && !other->is_over)
				return true;
			end = other->is_over ? other->at : other->end;
			if (other->first <= from && from < end)
				from = end;
		}
	} while (from != before);
	return !is_ask && from >= leg->end;
}

/* ---- legs and their end ---- */

struct sfs_leg *sfs_leg_add(struct sfs_job *job, uint64_t first, uint64_t end)
{
	struct sfs_leg *leg = sfs_calloc(1, sizeof *leg);

	leg->job = job;
	leg->first = leg->at = first;
	leg->end = end;
	leg->claim.size = SFS_SIZE_UNKNOWN;
	sfs_list_push(&job->legs, &leg->link);
	return leg;
}

void sfs_leg_end(struct sfs_leg *leg)
{
	leg->is_over = true;
	free(steal(&leg->url));
	free(steal(&leg->refusal));
	sfs_strbuf_done(&leg->lines);
}

static void drop(struct sfs_leg *leg)
{
	if (!leg->is_over)
		sfs_fetch_drop(leg->job->source->fetch, &leg->get);
	sfs_leg_end(leg);
}

void sfs_job_drop_legs(struct sfs_job *job)
{
	SFS_EACH (leg, &job->legs, struct sfs_leg, link) {
		if (!leg->is_over)
			drop(leg);
	}
}

/* What the job's hedges have cost is known now.  (A request that is submitted after all
 * has stopped has none, and ends on any thread.) */
static void settle_hedges(struct sfs_job *job)
{
	uint64_t n_got = 0, n_twice, n_wanted = sfs_job_n_wanted(job);

	if (job->n_hedges == 0)
		return;
	SFS_EACH (leg, &job->legs, struct sfs_leg, link)
		n_got += leg->at - leg->first;
	n_twice = n_got > n_wanted ? n_got - n_wanted : 0;
	job->source->hedged_bytes -= job->hedge_cost - n_twice;
	atomic_fetch_add(&job->source->base.hedged_bytes, n_twice);
}

void sfs_job_end(struct sfs_job *job, int err)
{
	struct sfs_request *r = job->request;
	struct sfs_link *link;
	struct sfs_leg *leg;

	/* Bytes that may be of another version are none. */
	if (!sfs_job_is_ask(job))
		r->n_got = job->dialect->read_status && !job->is_confirmed
				   ? 0
				   : sfs_job_in_place(job, 0);
	settle_hedges(job);
	while ((link = sfs_list_pop(&job->legs)) != NULL) {
		leg = sfs_container(link, struct sfs_leg, link);
		drop(leg);
		sfs_http_headers_done(&leg->get.response.headers);
		free(leg);
	}
	free(job);
	if (err == 0) {
		sfs_object_note_failure(r->object, NULL);
		r->object->given_up_err = 0;
	}
	sfs_request_end(r, err);
}

void sfs_job_tidy(struct sfs_job *job)
{
	if (sfs_job_is_whole(job)) {
		sfs_job_end(job, 0);
		return;
	}
	SFS_EACH (leg, &job->legs, struct sfs_leg, link) {
		if (!sfs_job_is_ask(job) && !leg->is_over &&
		    sfs_job_in_place(job, leg->at) >= leg->end)
			drop(leg);
	}
}

/* ---- memory ---- */

/* The request's pieces are few, some hundreds at most, and what libcurl or a socket gives
 * at a time is large: looking for the place each time costs nothing.  Returns the piece
 * that holds byte *at, and makes *at the offset in it. */
static const struct iovec *piece_of(const struct sfs_request *r, uint64_t *at)
{
	const struct iovec *iov = r->iov;

	while (*at >= iov->iov_len)
		*at -= (iov++)->iov_len;
	return iov;
}

void sfs_leg_put(struct sfs_leg *leg, const char *bytes, size_t n)
{
	uint64_t at = leg->at;
	const struct iovec *iov = piece_of(leg->job->request, &at);
	size_t n_piece;

	while (n > 0) {
		n_piece = iov->iov_len - at < n ? iov->iov_len - at : n;
		memcpy((char *)iov->iov_base + at, bytes, n_piece);
		bytes += n_piece;
		n -= n_piece;
		at = 0;
		iov++;
	}
}

/* Room for the first bytes of an object that is asked for its size. */
static size_t head_room(const struct sfs_leg *leg)
{
	return leg->job->request->head ? SFS_HEAD_BYTES - leg->n_head : 0;
}

void sfs_leg_take_head(struct sfs_leg *leg, const char *bytes, size_t n)
{
	n = n < head_room(leg) ? n : head_room(leg);
	if (bytes && n > 0)
		memcpy(leg->job->request->head + leg->n_head, bytes, n);
	leg->n_head += n;
}

int sfs_leg_room(const struct sfs_leg *leg, struct iovec *pieces, int n_max)
{
	uint64_t skip = leg->at, n = leg->end - leg->at;
	const struct iovec *iov;
	int i;

	if (sfs_job_is_ask(leg->job) && head_room(leg) > 0) {
		pieces[0] = (struct iovec){leg->job->request->head + leg->n_head,
					   head_room(leg)};
		return 1;
	}
	if (sfs_job_is_ask(leg->job) || n == 0)
		return 0;
	iov = piece_of(leg->job->request, &skip);
	for (i = 0; i < n_max && n > 0; i++, iov++, skip = 0) {
		pieces[i].iov_base = (char *)iov->iov_base + skip;
		pieces[i].iov_len = iov->iov_len - skip < n ? iov->iov_len - skip : n;
		n -= pieces[i].iov_len;
	}
	return i;
}
