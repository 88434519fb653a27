/* SPDX-License-Identifier: MIT */
/* How this works: the source is measured by a number of slots.  Each requests a part;
 * when the part has arrived, the slot returns its memory and requests the next one, on
 * the source's thread.  The parts are those of the lanes in turn.  As in a lane, a slot's
 * first parts are small, so that the first byte is seen when it arrives.  The caller's
 * thread watches the clock.
 *
 * Invariant: a slot's request is changed only with the flow locked, and not after it
 * stops; so it can be cancelled then. */
#include "cli/bench-source.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/cond.h"
#include "base/ledger.h"
#include "base/stall.h"
#include "engine/engine.h"
#include "memory/slab.h"
#include "order/partition.h"
#include "stream/prefetch/sizing.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define STOP_NS (3 * SFS_NS_PER_S) /* for cancelled requests to end */

/* ---- the reach ---- */

struct reach {
	const struct sfs_bench_run *run;
	struct sfs_engine *engine;
};

static void show_sizes(void *ctx)
{
	const struct reach *r = ctx;
	uint32_t n = r->engine->runtime.shards.n,
		 known = sfs_sizes_known(r->engine->sizes);

	sfs_progress_show(&r->run->progress, (double)known / n, "reach: %u of %u sizes",
			  known, n);
}

static void describe(const struct sfs_engine *engine, struct sfs_bench_facts *facts)
{
	const struct sfs_shards *shards = &engine->runtime.shards;
	uint32_t i;

	facts->dataset = sfs_strdup(engine->title);
	facts->n_shards = shards->n;
	for (i = 0; i < shards->n; i++)
		facts->n_local += shards->shards[i].object->uri.scheme == SFS_SCHEME_FILE;
	facts->n_connections = engine->runtime.n_connections;
	facts->huge_pages_off = sfs_slabs_refusal(engine->runtime.slabs);
	facts->n_processors = (int)sysconf(_SC_NPROCESSORS_ONLN);
}

/* Starts the engine, which the caller stops. */
static int reach(const struct sfs_bench_run *run, struct sfs_engine **ret_engine,
		 struct sfs_bench_facts *facts, struct sfs_error *err)
{
	uint64_t begun_ns = sfs_clock_ns(), responded_ns;
	int ret;

	sfs_ledger_keep_errors();
	sfs_progress_show(&run->progress, 0, "reach: waiting for a response");
	run->options->expects_streams = true;
	ret = sfs_engine_start(run->options, run->specs, false, ret_engine, err);
	if (ret < 0)
		return ret;
	responded_ns = sfs_clock_ns();
	describe(*ret_engine, facts);
	facts->reach_s = (double)(responded_ns - begun_ns) / SFS_NS_PER_S;
	ret = sfs_engine_wait_for_sizes(*ret_engine, show_sizes,
					&(struct reach){run, *ret_engine}, err);
	facts->sizes_per_s = (double)facts->n_shards * SFS_NS_PER_S /
			     (double)(sfs_clock_ns() - responded_ns + 1);
	return ret;
}

/* ---- the source alone ---- */

struct spot {
	uint32_t slice; /* of the lane */
	uint64_t offset;
};

struct slot {
	struct sfs_request request;
	struct sfs_error error;
	struct flow *flow;
	uint64_t part_bytes; /* of the next one */
	void **slabs;
	struct iovec *iov;
};

struct flow {
	struct sfs_runtime *runtime;
	struct sfs_order order;
	struct sfs_account account; /* of the slots' memory */
	bool is_left;		    /* it could not be stopped, see stop_flow() */
	bool has_account;
	uint64_t part_bytes;
	struct slot *slots;
	uint32_t n_slots;

	pthread_mutex_t lock; /* guards the rest */
	pthread_cond_t wake;
	struct spot *spots; /* of each lane: its next part */
	uint32_t lane;	    /* whose turn it is */
	uint64_t n_bytes;
	uint32_t n_busy;
	bool is_stopping;
	int err;
	struct sfs_error error; /* of the first that failed */
};

/* The lane's next part, if it has one.  Locked. */
static bool lane_part(struct flow *f, uint32_t lane, uint64_t most,
		      struct sfs_request *request)
{
	struct spot *spot = &f->spots[lane];
	struct sfs_object *object;

	for (; spot->slice < sfs_order_lane_slices(&f->order, lane); spot->slice++) {
		object = f->runtime->shards
				 .shards[sfs_order_slice(&f->order, lane, spot->slice)
						 .shard]
				 .object;
		if (spot->offset < object->size) {
			request->object = object;
			request->offset = spot->offset;
			request->n_bytes = object->size - spot->offset < most
						   ? object->size - spot->offset
						   : most;
			spot->offset += request->n_bytes;
			return true;
		}
		spot->offset = 0;
	}
	return false;
}

static void on_part(struct sfs_request *request, int err);

/* Give the slot the next part of the epoch.  false: there is none.  Locked. */
static bool choose(struct slot *slot)
{
	struct flow *f = slot->flow;
	struct sfs_request next = {.kind = SFS_REQUEST_READ,
				   .iov = slot->iov,
				   .done = on_part,
				   .error = &slot->error};
	uint32_t i;

	for (i = 0; i < f->order.n_lanes; i++) {
		if (lane_part(f, f->lane++ % f->order.n_lanes, slot->part_bytes, &next))
			break;
	}
	if (i == f->order.n_lanes)
		return false;
	next.n_iov = (int)sfs_slab_count(next.n_bytes);
	slot->request = next;
	slot->part_bytes = 2 * slot->part_bytes < f->part_bytes ? 2 * slot->part_bytes
								: f->part_bytes;
	f->n_busy++;
	return true;
}

static void submit(struct slot *slot)
{
	uint64_t left = slot->request.n_bytes;
	int i;

	sfs_slabs_get(slot->flow->runtime->slabs, slot->slabs,
		      (size_t)slot->request.n_iov);
	for (i = 0; i < slot->request.n_iov; i++) {
		slot->iov[i].iov_base = slot->slabs[i];
		slot->iov[i].iov_len = left < SFS_SLAB_BYTES ? left : SFS_SLAB_BYTES;
		left -= slot->iov[i].iov_len;
	}
	sfs_request_submit(&slot->request);
}

static void on_part(struct sfs_request *request, int err)
{
	struct slot *slot = sfs_container(request, struct slot, request);
	struct flow *f = slot->flow;
	uint64_t n_got = err < 0 ? request->n_got : request->n_bytes;
	bool goes_on;

	sfs_slabs_put(f->runtime->slabs, slot->slabs, (size_t)request->n_iov);
	pthread_mutex_lock(&f->lock);
	if (err < 0 && !f->is_stopping) {
		f->err = err;
		f->error = slot->error;
		f->is_stopping = true;
	}
	f->n_bytes += n_got;
	f->n_busy--;
	goes_on = !f->is_stopping && choose(slot);
	if (f->n_bytes == n_got || f->n_busy == 0) /* the first, or the last */
		pthread_cond_signal(&f->wake);
	pthread_mutex_unlock(&f->lock);
	if (goes_on)
		submit(slot);
}

/* As many slots as a stream has requests, if there is memory for them. */
static int make_slots(struct flow *f, struct sfs_error *err)
{
	struct sfs_netpath path = sfs_runtime_path(f->runtime);
	uint32_t wanted = sfs_sizing_in_flight(&path, f->part_bytes);
	size_t n = sfs_slab_count(f->part_bytes);
	struct slot *slot;

	f->slots = sfs_calloc(wanted, sizeof *f->slots);
	while (f->n_slots < wanted && sfs_account_take(&f->account, f->part_bytes) == 0) {
		slot = &f->slots[f->n_slots++];
		slot->flow = f;
		slot->part_bytes = SFS_SLAB_BYTES;
		slot->slabs = sfs_calloc(n, sizeof *slot->slabs);
		slot->iov = sfs_calloc(n, sizeof *slot->iov);
	}
	return f->n_slots ? 0
			  : sfs_error_set(err, -ENOMEM,
					  "the budget is too small for a single part; "
					  "raise budget=");
}

/* Whole shards, whatever is permuted: this needs no samples. */
static int init_flow(struct flow *f, struct sfs_runtime *runtime, struct sfs_error *err)
{
	struct sfs_order_settings settings = runtime->order;
	struct sfs_netpath path = sfs_runtime_path(runtime);
	const struct sfs_sample_tables tables = sfs_shards_tables(&runtime->shards);
	int ret;

	*f = (struct flow){.runtime = runtime};
	settings.segment = SFS_SEGMENT_SHARD;
	settings.equal = SFS_EQUAL_NONE;
	sfs_partition(&f->order, &settings, 0, runtime->shards.n, &tables,
		      (struct sfs_share){0, 1, 1});
	f->spots = sfs_calloc(f->order.n_lanes, sizeof *f->spots);
	f->part_bytes =
		sfs_sizing_part(&path, runtime->budget.limit_bytes, f->order.n_lanes);
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->wake, NULL);
	ret = sfs_account_open(&f->account, &runtime->budget, 0, false, NULL);
	f->has_account = ret == 0;
	return ret < 0 ? sfs_error_set(err, ret, "the budget has no room")
		       : make_slots(f, err);
}

static void done_flow(struct flow *f)
{
	uint32_t i;

	for (i = 0; i < f->n_slots; i++) {
		free(f->slots[i].slabs);
		free(f->slots[i].iov);
	}
	if (f->has_account) {
		sfs_account_give(&f->account, f->n_slots * f->part_bytes);
		sfs_account_close(&f->account);
	}
	free(f->slots);
	free(f->spots);
	sfs_order_done(&f->order);
	pthread_mutex_destroy(&f->lock);
	pthread_cond_destroy(&f->wake);
}

static void start_flow(struct flow *f)
{
	uint32_t i;
	bool is_begun = true;

	for (i = 0; i < f->n_slots && is_begun; i++) {
		pthread_mutex_lock(&f->lock);
		is_begun = !f->is_stopping && choose(&f->slots[i]);
		pthread_mutex_unlock(&f->lock);
		if (is_begun)
			submit(&f->slots[i]);
	}
}

/* No data has arrived for too long. */
static void fail_flow(struct flow *f)
{
	pthread_mutex_lock(&f->lock);
	f->is_stopping = true;
	f->err = -ETIMEDOUT;
	sfs_error_set(&f->error, f->err, "no data arrived within %llu s (read-timeout)",
		      (unsigned long long)(sfs_stall_limit_ns() / SFS_NS_PER_S));
	pthread_mutex_unlock(&f->lock);
}

/* Wait until the time is up, or all parts of the epoch have arrived (true), or one
 * failed. */
static bool watch_flow(const struct sfs_bench_run *run, struct flow *f,
		       struct sfs_ratemeter *m)
{
	uint64_t n_bytes, begun_ns = sfs_clock_ns();
	bool has_ended;

	do {
		pthread_mutex_lock(&f->lock);
		if (f->n_busy > 0 && (f->n_bytes == 0 || m->first_ns))
			sfs_cond_wait_until(&f->wake, &f->lock,
					    sfs_clock_ns() +
						    SFS_BENCH_LOOK_MS * SFS_NS_PER_MS);
		n_bytes = f->n_bytes;
		has_ended = f->n_busy == 0;
		pthread_mutex_unlock(&f->lock);
		sfs_ratemeter_mark(m, sfs_clock_ns(), n_bytes, sfs_bench_cpu());
		sfs_bench_show(run, SFS_BENCH_STAGE_SOURCE, m);
	} while (!has_ended && !sfs_ratemeter_is_over(m, sfs_clock_ns()) &&
		 sfs_clock_ns() < sfs_stall_until(begun_ns));
	if (!has_ended && !sfs_ratemeter_is_over(m, sfs_clock_ns()))
		fail_flow(f);
	return has_ended;
}

/* Cancel all requests.  false: a disk did not react, and may still write
 * into the slots. */
static bool stop_flow(struct flow *f)
{
	uint64_t until_ns = sfs_clock_ns() + STOP_NS;
	bool has_stopped;
	uint32_t i;

	pthread_mutex_lock(&f->lock);
	f->is_stopping = true;
	for (i = 0; i < f->n_slots; i++)
		if (f->slots[i].request.object)
			sfs_request_cancel(&f->slots[i].request);
	while (f->n_busy > 0 && sfs_cond_wait_until(&f->wake, &f->lock, until_ns))
		;
	has_stopped = f->n_busy == 0;
	pthread_mutex_unlock(&f->lock);
	return has_stopped;
}

static int measure_flow(const struct sfs_bench_run *run, struct flow *f,
			struct sfs_rate *ret_rate, struct sfs_error *err)
{
	uint64_t grain = f->n_slots * f->part_bytes;
	struct sfs_ratemeter meter;
	bool has_ended;

	sfs_ratemeter_begin(&meter, run->wanted_ns, sfs_clock_ns(), sfs_bench_cpu());
	start_flow(f);
	has_ended = watch_flow(run, f, &meter);
	f->is_left = !stop_flow(f);
	if (f->err < 0)
		return sfs_error_set(err, f->err, "%s",
				     f->error.text[0] ? f->error.text
						      : strerror(-f->err));
	*ret_rate = sfs_ratemeter_end(&meter, has_ended, grain);
	if (!has_ended && ret_rate->n_bytes < 4 * grain) {
		/* It is so slow that the data of unfinished parts counts. */
		sfs_ratemeter_mark(&meter, sfs_clock_ns(), f->n_bytes, sfs_bench_cpu());
		*ret_rate = sfs_ratemeter_end(&meter, false, UINT64_MAX / 4);
	}
	return 0;
}

int sfs_bench_source(const struct sfs_bench_run *run, bool only_reach,
		     struct sfs_bench_facts *facts, struct sfs_error *err)
{
	struct flow *flow = sfs_calloc(1, sizeof *flow);
	struct sfs_engine *engine = NULL;
	int ret;

	ret = reach(run, &engine, facts, err);
	if (ret == 0 && !only_reach) {
		ret = init_flow(flow, &engine->runtime, err);
		if (ret == 0)
			ret = measure_flow(run, flow,
					   &facts->rates[SFS_BENCH_STAGE_SOURCE], err);
		if (!flow->is_left)
			done_flow(flow);
	}
	if (!flow->is_left)
		free(flow);
	sfs_engine_stop(engine);
	sfs_engine_free(engine);
	return ret;
}
