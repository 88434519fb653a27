/* SPDX-License-Identifier: MIT */
/* How this works: a part is one request.  Most bring bytes that are kept, in slabs of a
 * slice buffer, and are used slab by slab as they come.  Others bring a header only, for
 * the shard's table, in the range reader's memory. */
#include "stream/prefetch-internal.h"

#include "base/alloc.h"

#define HEADER_BYTES ((uint64_t)64 << 10)

struct sfs_link *sfs_part_link(struct sfs_part *part)
{
	return &part->ended;
}

struct sfs_part *sfs_part_of(struct sfs_link *link)
{
	return sfs_container(link, struct sfs_part, ended);
}

static void on_request(struct sfs_request *request, int err)
{
	struct sfs_part *part = sfs_container(request, struct sfs_part, request);

	part->err = err;
	part->prefetch->owner.ended(part->prefetch->owner.ctx, part);
}

static void on_ready(struct sfs_request *request)
{
	struct sfs_part *part = sfs_container(request, struct sfs_part, request);

	part->prefetch->owner.ready(part->prefetch->owner.ctx);
}

static void on_range(struct sfs_range *range, int err)
{
	struct sfs_part *part = sfs_container(range, struct sfs_part, range);

	part->err = err;
	part->prefetch->owner.ended(part->prefetch->owner.ctx, part);
}

static struct sfs_part *new_part(struct sfs_prefetch *p, struct sfs_prefetch_lane *lane,
				 struct sfs_slice_buffer *buffer)
{
	struct sfs_part *part = sfs_calloc(1, sizeof *part);

	part->prefetch = p;
	part->lane = lane->at.lane;
	part->buffer = buffer;
	part->needed = sfs_prefetch_lane_needed(p, lane);
	sfs_list_push(&p->parts, &part->link);
	buffer->n_in_flight++;
	lane->n_in_flight++;
	p->n_in_flight++;
	return part;
}

static void free_part(struct sfs_part *part)
{
	struct sfs_prefetch *p = part->prefetch;

	sfs_link_remove(&part->link);
	part->buffer->n_in_flight--;
	p->lanes[part->lane].n_in_flight--;
	p->n_in_flight--;
	free(part->slabs);
	free(part->iov);
	free(part);
}

static void submit(struct sfs_deferred_call *job)
{
	struct sfs_part *part = sfs_container(job, struct sfs_part, job);

	if (part->is_header)
		sfs_range_start(&part->prefetch->runtime->range_reader, &part->range,
				NULL);
	else
		sfs_request_submit(&part->request);
}

bool sfs_part_request(struct sfs_prefetch *p, struct sfs_prefetch_lane *lane,
		      const struct sfs_prefetch_want *want, bool is_urgent,
		      struct sfs_deferred *out)
{
	size_t n_slabs = (size_t)sfs_slab_count(want->n_bytes), i;
	struct sfs_part *part;

	p->is_refused = sfs_account_take(p->account, n_slabs * SFS_SLAB_BYTES) < 0;
	if (p->is_refused)
		return false;
	part = new_part(p, lane, want->buffer);
	part->n_slabs = n_slabs;
	part->slabs = sfs_calloc(n_slabs, sizeof *part->slabs);
	part->iov = sfs_calloc(n_slabs, sizeof *part->iov);
	sfs_slabs_get(p->runtime->slabs, part->slabs, n_slabs);
	for (i = 0; i < n_slabs; i++) {
		part->iov[i].iov_base = part->slabs[i];
		part->iov[i].iov_len = SFS_SLAB_BYTES;
	}
	part->iov[n_slabs - 1].iov_len = want->n_bytes - (n_slabs - 1) * SFS_SLAB_BYTES;
	part->request = (struct sfs_request){
		.kind = SFS_REQUEST_READ,
		.object = &want->buffer->shard->object,
		.is_urgent = is_urgent,
		.is_ahead = !is_urgent,
		.offset = want->offset,
		.n_bytes = want->n_bytes,
		.iov = part->iov,
		.n_iov = (int)n_slabs,
		.done = on_request,
		.ready = on_ready,
		.begun_ns = &part->begun_ns,
	};
	if (is_urgent)
		sfs_request_await(&part->request);
	sfs_slice_buffer_expect(want->buffer, want->offset, want->n_bytes);
	lane->requested_bytes += want->n_bytes;
	sfs_deferred_add(out, &part->job, submit);
	return true;
}

void sfs_part_request_header(struct sfs_prefetch *p, struct sfs_prefetch_lane *lane,
			     const struct sfs_prefetch_want *want, bool is_urgent,
			     struct sfs_deferred *out)
{
	struct sfs_part *part = new_part(p, lane, want->buffer);
	uint64_t left = want->buffer->shard->object.size - want->offset;

	part->is_header = true;
	part->range = (struct sfs_range){
		.shard = want->buffer->shard,
		.offset = want->offset,
		.n_bytes = left < HEADER_BYTES ? left : HEADER_BYTES,
		.is_urgent = is_urgent,
		.done = on_range,
	};
	sfs_deferred_add(out, &part->job, submit);
}

static void take_header(struct sfs_prefetch *p, struct sfs_part *part)
{
	uint64_t at = part->range.offset;
	int i;

	for (i = 0; part->err == 0 && i < part->range.n_iov; i++) {
		sfs_shard_feed(&p->runtime->shards, part->buffer->shard, at,
			       part->range.iov[i].iov_base, part->range.iov[i].iov_len);
		at += part->range.iov[i].iov_len;
	}
	sfs_range_drop(&part->range);
}

/* The first n slabs of a part are here. */
static void take_slabs(struct sfs_prefetch *p, struct sfs_part *part, size_t n)
{
	if (n <= part->n_here)
		return;
	p->arrived_bytes += (n - part->n_here) * SFS_SLAB_BYTES;
	sfs_slice_buffer_arrive(part->buffer,
				part->request.offset + part->n_here * SFS_SLAB_BYTES,
				part->slabs + part->n_here, n - part->n_here);
	part->n_here = n;
}

/* What a failed part brought is kept, in whole slabs: the next try begins after it. */
static void take_bytes(struct sfs_prefetch *p, struct sfs_part *part)
{
	size_t n_lost;

	take_slabs(p, part,
		   part->err == 0 ? part->n_slabs
				  : (size_t)(part->request.n_got / SFS_SLAB_BYTES));
	n_lost = part->n_slabs - part->n_here;
	if (n_lost == 0)
		return;
	sfs_slice_buffer_fail(part->buffer,
			      part->request.offset + part->n_here * SFS_SLAB_BYTES,
			      n_lost);
	sfs_slabs_put(p->runtime->slabs, part->slabs + part->n_here, n_lost);
	sfs_account_give(p->account, n_lost * SFS_SLAB_BYTES);
}

bool sfs_part_take_ready(struct sfs_prefetch *p, struct sfs_part *part)
{
	size_t n = (size_t)(sfs_request_await(&part->request) / SFS_SLAB_BYTES);

	if (n <= part->n_here)
		return false;
	take_slabs(p, part, n);
	sfs_prefetch_lane_feed(p, part->buffer);
	sfs_prefetch_lane_update(p, &p->lanes[part->lane]);
	return true;
}

uint64_t sfs_part_first_byte(const struct sfs_part *part)
{
	if (part->is_header)
		return part->range.offset;
	return part->request.offset + part->n_here * SFS_SLAB_BYTES;
}

static uint64_t end_byte(const struct sfs_part *part)
{
	if (part->is_header)
		return part->range.offset + part->range.n_bytes;
	return part->request.offset + part->request.n_bytes;
}

void sfs_prefetch_arrive(struct sfs_prefetch *p, struct sfs_part *part,
			 struct sfs_prefetch_loss *ret_loss)
{
	struct sfs_prefetch_lane *lane = &p->lanes[part->lane];
	int err = part->err;

	lane->has_failed |= err < 0;
	if (err < 0 && !lane->has_ended)
		sfs_prefetch_lane_set_requested(p, lane, false);
	if (part->is_header)
		take_header(p, part);
	else
		take_bytes(p, part);
	sfs_prefetch_lane_feed(p, part->buffer);
	*ret_loss = (struct sfs_prefetch_loss){.err = err,
					       .lane = part->lane,
					       .m = part->buffer->m,
					       .start = sfs_part_first_byte(part),
					       .end = end_byte(part)};
	free_part(part);
	sfs_prefetch_lane_drop(p, lane);
	sfs_prefetch_lane_update(p, lane);
}

bool sfs_part_is_in_flight(const struct sfs_prefetch *p,
			   const struct sfs_slice_buffer *buffer, uint64_t byte)
{
	SFS_EACH (part, &p->parts, struct sfs_part, link) {
		if (part->buffer == buffer && byte >= sfs_part_first_byte(part) &&
		    byte < end_byte(part))
			return true;
	}
	return false;
}
