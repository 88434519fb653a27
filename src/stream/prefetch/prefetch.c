/* SPDX-License-Identifier: MIT */
#include "stream/prefetch/prefetch.h"

#include "order/order.h"
#include "stream/prefetch/prefetch-internal.h"
#include "stream/prefetch/sizing.h"

#include <assert.h>

/* ---- sizes ---- */

/* Its own count before it has a reader, too.  (Ahead of one, when the epoch before was
 * closed, it would have parts as for a single lane, and hold several times as much.) */
uint64_t sfs_prefetch_open_lanes(const struct sfs_prefetch *p)
{
	uint64_t n = atomic_load(&p->runtime->n_open_lanes);

	return n > p->order->n_lanes ? n : p->order->n_lanes;
}

uint64_t sfs_prefetch_part_over(const struct sfs_prefetch *p,
				const struct sfs_netpath *path)
{
	return sfs_sizing_part(path, p->runtime->budget.limit_bytes,
			       sfs_prefetch_open_lanes(p));
}

uint64_t sfs_prefetch_part_bytes(const struct sfs_runtime *runtime)
{
	struct sfs_netpath path = sfs_runtime_path(runtime);

	return sfs_sizing_part(&path, runtime->budget.limit_bytes,
			       atomic_load(&runtime->n_open_lanes));
}

/* Near shards wait for the far ones: how much is requested ahead suits the latter. */
struct sfs_netpath sfs_prefetch_slowest_path(const struct sfs_runtime *runtime)
{
	struct sfs_netpath path = sfs_runtime_path(runtime), other;

	if (sfs_netpath_is_far(&path) || !runtime->other_source)
		return path;
	other = sfs_source_path(runtime->other_source);
	return sfs_netpath_is_far(&other) ? other : path;
}

static uint32_t useful_in_flight(const struct sfs_prefetch *p,
				 const struct sfs_source *source)
{
	struct sfs_netpath path = sfs_source_path(source);

	return sfs_sizing_in_flight(&path, sfs_prefetch_part_over(p, &path));
}

uint32_t sfs_prefetch_max_in_flight(const struct sfs_prefetch *p)
{
	const struct sfs_runtime *runtime = p->runtime;
	uint32_t n = useful_in_flight(p, runtime->source);

	return runtime->other_source ? n + useful_in_flight(p, runtime->other_source) : n;
}

/* ---- parts ---- */

struct sfs_link *sfs_part_link(struct sfs_part *part)
{
	return &part->ended;
}

struct sfs_part *sfs_part_of(struct sfs_link *link)
{
	return sfs_container(link, struct sfs_part, ended);
}

void sfs_part_begin(struct sfs_prefetch *p, struct sfs_part *part)
{
	part->prefetch = p;
	sfs_list_push(&p->parts, &part->link);
	p->n_in_flight++;
}

void sfs_part_end(struct sfs_part *part)
{
	sfs_link_remove(&part->link);
	part->prefetch->n_in_flight--;
}

static void on_request(struct sfs_request *request, int err)
{
	struct sfs_part *part = sfs_container(request, struct sfs_part, request);

	part->err = err;
	part->prefetch->owner.ended(part->prefetch->owner.ctx, part);
}

void sfs_part_ready(struct sfs_request *request)
{
	struct sfs_part *part = sfs_container(request, struct sfs_part, request);

	part->prefetch->owner.ready(part->prefetch->owner.ctx);
}

static void submit(struct sfs_deferred_call *job)
{
	sfs_request_submit(&sfs_container(job, struct sfs_part, job)->request);
}

void sfs_part_submit(struct sfs_part *part, struct sfs_deferred *out)
{
	struct sfs_request *r = &part->request;

	r->kind = SFS_REQUEST_READ;
	r->is_ahead = !r->is_urgent;
	r->iov = part->iov;
	r->done = on_request;
	r->begun_ns = &part->begun_ns;
	if (r->is_urgent && r->ready)
		sfs_request_await(r);
	sfs_deferred_add(out, &part->job, submit);
}

/* Is it in our own line, and of those that were sent to its server, do most get their
 * bytes? */
static bool waits_for_bytes(const struct sfs_part *part)
{
	const struct sfs_object *object = part->request.object;
	const struct sfs_netpath_record *path;
	const struct sfs_request *r;
	int n_more = 0;

	if (!part->iov || atomic_load(&part->request.is_sent))
		return false;
	path = atomic_load(&object->path);
	SFS_EACH (other, &part->prefetch->parts, struct sfs_part, link) {
		r = &other->request;
		if (other->iov && atomic_load(&r->is_sent) &&
		    r->object->source == object->source &&
		    atomic_load(&r->object->path) == path)
			n_more += atomic_load(&other->begun_ns) ? 1 : -1;
	}
	return n_more > 0;
}

enum sfs_wait sfs_part_wait(const struct sfs_part *part, const struct sfs_object *object,
			    uint64_t *ret_since_ns)
{
	struct sfs_netpath path = sfs_object_netpath(object);

	*ret_since_ns = atomic_load(&part->begun_ns);
	if (*ret_since_ns)
		return SFS_WAIT_NETWORK;
	*ret_since_ns = UINT64_MAX;
	if (path.wait_ns == 0) /* a disk, or a server that has never responded */
		return SFS_WAIT_SOURCE;
	return path.is_slow || waits_for_bytes(part) ? SFS_WAIT_NETWORK : SFS_WAIT_SOURCE;
}

/* ---- both kinds ---- */

void sfs_prefetch_init(struct sfs_prefetch *p, const struct sfs_prefetch_ops *ops,
		       const struct sfs_prefetch_settings *settings)
{
	p->ops = ops;
	p->runtime = settings->runtime;
	p->order = settings->order;
	p->account = settings->account;
	p->owner = settings->owner;
	sfs_list_init(&p->parts);
}

int sfs_prefetch_new(const struct sfs_prefetch_settings *settings,
		     struct sfs_locator *locator, const struct sfs_spot *at,
		     struct sfs_prefetch **ret_prefetch)
{
	if (!sfs_order_is_single(settings->order))
		return sfs_prefetch_lanes_new(settings, locator, at, ret_prefetch);
	*ret_prefetch = sfs_prefetch_singles_new(settings, at);
	return 0;
}

void sfs_prefetch_cancel(struct sfs_prefetch *p)
{
	/* Ranges are small and may not have begun: they just end. */
	SFS_EACH (part, &p->parts, struct sfs_part, link)
		if (part->iov)
			sfs_request_cancel(&part->request);
}

void sfs_prefetch_free(struct sfs_prefetch *p)
{
	if (!p)
		return;
	assert(p->n_in_flight == 0);
	p->ops->free(p);
}

uint32_t sfs_prefetch_in_flight(const struct sfs_prefetch *p)
{
	return p->n_in_flight;
}

uint64_t sfs_prefetch_live_bytes(const struct sfs_prefetch *p)
{
	return p->ops->live_bytes(p);
}

int sfs_prefetch_peek(struct sfs_prefetch *p, struct sfs_prefetch_next *ret_next)
{
	return p->ops->peek(p, ret_next);
}

void sfs_prefetch_take(struct sfs_prefetch *p)
{
	p->ops->take(p);
}

void sfs_prefetch_release(struct sfs_prefetch *p, struct sfs_slice_buffer *buffer,
			  uint64_t start, uint64_t n_bytes)
{
	sfs_slice_buffer_release(buffer, start, n_bytes);
	p->ops->released(p, buffer);
}

uint64_t sfs_prefetch_arrived_bytes(const struct sfs_prefetch *p)
{
	return p->arrived_bytes;
}

bool sfs_prefetch_is_busy(const struct sfs_prefetch *p)
{
	return 2 * p->n_in_flight >= sfs_prefetch_max_in_flight(p);
}

bool sfs_prefetch_is_short(const struct sfs_prefetch *p)
{
	return p->is_refused && !sfs_prefetch_is_busy(p);
}

enum sfs_wait sfs_prefetch_wait_cause(const struct sfs_prefetch *p,
				      uint64_t *ret_since_ns)
{
	return sfs_prefetch_is_short(p) ? SFS_WAIT_BUDGET
					: p->ops->wait_cause(p, ret_since_ns);
}

void sfs_prefetch_explain(const struct sfs_prefetch *p, struct sfs_cause *cause)
{
	p->ops->explain(p, cause);
}

bool sfs_prefetch_waits(const struct sfs_prefetch *p)
{
	return p->ops->waits && p->ops->waits(p);
}

void sfs_prefetch_arrive(struct sfs_prefetch *p, struct sfs_part *part,
			 struct sfs_prefetch_loss *ret_loss)
{
	p->ops->arrive(p, part, ret_loss);
}

bool sfs_prefetch_needs(struct sfs_prefetch *p, const struct sfs_prefetch_loss *loss)
{
	return p->ops->needs(p, loss);
}

bool sfs_prefetch_pump(struct sfs_prefetch *p, bool is_awaited, struct sfs_deferred *out)
{
	p->is_refused = false;
	return p->ops->pump(p, is_awaited, out);
}

void sfs_prefetch_set_kept(struct sfs_prefetch *p, uint64_t n_bytes)
{
	p->kept_bytes = n_bytes;
}

bool sfs_prefetch_has_all(const struct sfs_prefetch *p)
{
	return p->ops->has_all(p);
}

bool sfs_prefetch_is_sated(struct sfs_prefetch *p)
{
	return p->ops->is_sated(p);
}
