/* SPDX-License-Identifier: MIT */
/* How this works: a part is one request.  Most bring bytes that are kept, in slabs of a
 * slice buffer, and are used slab by slab as they come.  Others bring a header only, for
 * the shard's table, in the range reader's memory. */
#include "stream/prefetch/prefetch-lanes.h"

#include "base/alloc.h"

static void on_range(struct sfs_range *range, int err)
{
	struct sfs_part *part = &sfs_container(range, struct sfs_lane_part, range)->base;

	part->err = err;
	part->prefetch->owner.ended(part->prefetch->owner.ctx, part);
}

static struct sfs_lane_part *new_part(struct sfs_prefetch_lanes *p,
				      struct sfs_prefetch_lane *lane,
				      struct sfs_slice_buffer *buffer)
{
	struct sfs_lane_part *part = sfs_calloc(1, sizeof *part);

	sfs_part_begin(&p->base, &part->base);
	part->lane = lane->at.lane;
	part->buffer = buffer;
	part->needed = sfs_prefetch_lane_needed(p, lane);
	buffer->n_in_flight++;
	lane->n_in_flight++;
	return part;
}

static void free_part(struct sfs_prefetch_lanes *p, struct sfs_lane_part *part)
{
	sfs_part_end(&part->base);
	part->buffer->n_in_flight--;
	p->lanes[part->lane].n_in_flight--;
	free(part->slabs);
	free(part->base.iov);
	free(part);
}

bool sfs_lane_part_request(struct sfs_prefetch_lanes *p, struct sfs_prefetch_lane *lane,
			   const struct sfs_prefetch_want *want, bool is_urgent,
			   struct sfs_deferred *out)
{
	size_t n_slabs = (size_t)sfs_slab_count(want->n_bytes), i;
	struct sfs_lane_part *part;

	p->base.is_refused =
		sfs_account_take(p->base.account, n_slabs * SFS_SLAB_BYTES) < 0;
	if (p->base.is_refused)
		return false;
	part = new_part(p, lane, want->buffer);
	part->n_slabs = n_slabs;
	part->slabs = sfs_calloc(n_slabs, sizeof *part->slabs);
	part->base.iov = sfs_calloc(n_slabs, sizeof *part->base.iov);
	sfs_slabs_get(p->base.runtime->slabs, part->slabs, n_slabs);
	for (i = 0; i < n_slabs; i++) {
		part->base.iov[i].iov_base = part->slabs[i];
		part->base.iov[i].iov_len = SFS_SLAB_BYTES;
	}
	part->base.iov[n_slabs - 1].iov_len =
		want->n_bytes - (n_slabs - 1) * SFS_SLAB_BYTES;
	part->base.request = (struct sfs_request){
		.object = want->buffer->shard->object,
		.is_urgent = is_urgent,
		.offset = want->offset,
		.n_bytes = want->n_bytes,
		.n_iov = (int)n_slabs,
		.ready = sfs_part_ready,
	};
	sfs_slice_buffer_expect(want->buffer, want->offset, want->n_bytes);
	lane->requested_bytes += want->n_bytes;
	sfs_part_submit(&part->base, out);
	return true;
}

static void start_range(struct sfs_deferred_call *job)
{
	struct sfs_lane_part *part = sfs_container(job, struct sfs_lane_part, base.job);

	sfs_range_start(&part->base.prefetch->runtime->range_reader, &part->range, NULL);
}

void sfs_lane_part_request_header(struct sfs_prefetch_lanes *p,
				  struct sfs_prefetch_lane *lane,
				  const struct sfs_prefetch_want *want, bool is_urgent,
				  struct sfs_deferred *out)
{
	struct sfs_lane_part *part = new_part(p, lane, want->buffer);
	uint64_t left = want->buffer->shard->object->size - want->offset;

	part->is_header = true;
	part->range = (struct sfs_range){
		.shard = want->buffer->shard,
		.offset = want->offset,
		.n_bytes = left < want->n_bytes ? left : want->n_bytes,
		.is_urgent = is_urgent,
		.done = on_range,
	};
	sfs_deferred_add(out, &part->base.job, start_range);
}

static void take_header(struct sfs_prefetch_lanes *p, struct sfs_lane_part *part)
{
	uint64_t at = part->range.offset;
	int i;

	for (i = 0; part->base.err == 0 && i < part->range.n_iov; i++) {
		sfs_shard_feed(&p->base.runtime->shards, part->buffer->shard, at,
			       part->range.iov[i].iov_base, part->range.iov[i].iov_len);
		at += part->range.iov[i].iov_len;
	}
	sfs_range_drop(&part->range);
}

/* The first n slabs of a part are here. */
static void take_slabs(struct sfs_prefetch_lanes *p, struct sfs_lane_part *part, size_t n)
{
	if (n <= part->n_here)
		return;
	p->base.arrived_bytes += (n - part->n_here) * SFS_SLAB_BYTES;
	sfs_slice_buffer_arrive(part->buffer,
				part->base.request.offset + part->n_here * SFS_SLAB_BYTES,
				part->slabs + part->n_here, n - part->n_here);
	part->n_here = n;
}

/* What a failed part brought is kept, in whole slabs: the next try begins after it. */
static void take_bytes(struct sfs_prefetch_lanes *p, struct sfs_lane_part *part)
{
	size_t n_lost;

	take_slabs(p, part,
		   part->base.err == 0
			   ? part->n_slabs
			   : (size_t)(part->base.request.n_got / SFS_SLAB_BYTES));
	n_lost = part->n_slabs - part->n_here;
	if (n_lost == 0)
		return;
	sfs_slice_buffer_fail(part->buffer,
			      part->base.request.offset + part->n_here * SFS_SLAB_BYTES,
			      n_lost);
	sfs_slabs_put(p->base.runtime->slabs, part->slabs + part->n_here, n_lost);
	sfs_account_give(p->base.account, n_lost * SFS_SLAB_BYTES);
}

bool sfs_lane_part_take_ready(struct sfs_prefetch_lanes *p, struct sfs_lane_part *part)
{
	size_t n = (size_t)(sfs_request_await(&part->base.request) / SFS_SLAB_BYTES);

	if (n <= part->n_here)
		return false;
	take_slabs(p, part, n);
	sfs_prefetch_lane_feed(p, part->buffer);
	sfs_prefetch_lane_update(p, &p->lanes[part->lane]);
	return true;
}

uint64_t sfs_lane_part_first_byte(const struct sfs_lane_part *part)
{
	if (part->is_header)
		return part->range.offset;
	return part->base.request.offset + part->n_here * SFS_SLAB_BYTES;
}

static uint64_t end_byte(const struct sfs_lane_part *part)
{
	if (part->is_header)
		return part->range.offset + part->range.n_bytes;
	return part->base.request.offset + part->base.request.n_bytes;
}

void sfs_lane_part_take(struct sfs_prefetch_lanes *p, struct sfs_lane_part *part,
			struct sfs_prefetch_loss *ret_loss)
{
	struct sfs_prefetch_lane *lane = &p->lanes[part->lane];
	int err = part->base.err;

	lane->has_failed |= err < 0;
	if (err < 0 && !lane->has_ended)
		sfs_prefetch_lane_set_requested(p, lane, false);
	if (part->is_header)
		take_header(p, part);
	else
		take_bytes(p, part);
	sfs_prefetch_lane_feed(p, part->buffer);
	*ret_loss = (struct sfs_prefetch_loss){.err = err,
					       .shard = part->buffer->shard->index,
					       .lane = part->lane,
					       .m = part->buffer->m,
					       .start = sfs_lane_part_first_byte(part),
					       .end = end_byte(part)};
	free_part(p, part);
	sfs_prefetch_lane_drop(p, lane);
	sfs_prefetch_lane_update(p, lane);
}

bool sfs_lane_part_is_in_flight(const struct sfs_prefetch_lanes *p,
				const struct sfs_slice_buffer *buffer, uint64_t byte)
{
	SFS_EACH (part, &p->base.parts, struct sfs_lane_part, base.link) {
		if (part->buffer == buffer && byte >= sfs_lane_part_first_byte(part) &&
		    byte < end_byte(part))
			return true;
	}
	return false;
}
