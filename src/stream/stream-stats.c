/* SPDX-License-Identifier: MIT */
#include "stream/prefetch/prefetch.h"
#include "stream/stream-internal.h"

static struct sfs_waits_facts facts_of(const struct sfs_stream *s)
{
	const struct sfs_runtime *runtime = s->runtime;

	return (struct sfs_waits_facts){
		.n_connections = (uint32_t)runtime->n_connections,
		.budget_bytes = runtime->budget.total_bytes,
		.is_local =
			runtime->shards.shards[0].object->uri.scheme == SFS_SCHEME_FILE,
		.n_far = s->random.n,
	};
}

static void print_waits(const struct sfs_waits_sums *window,
			const struct sfs_waits_sums *sums,
			const struct sfs_waits_facts *facts, struct sfs_json_writer *w)
{
	struct sfs_strbuf verdict = {0};
	int k;

	sfs_json_open(w, "waits", '{');
	for (k = SFS_WAIT_IDLE + 1; k < SFS_N_WAITS; k++)
		sfs_json_put_uint(w, sfs_waits_name((enum sfs_wait)k),
				  sfs_waits_share(window, (enum sfs_wait)k));
	sfs_json_close(w, '}');
	sfs_json_open(w, "waits_ms", '{');
	for (k = SFS_WAIT_IDLE + 1; k < SFS_N_WAITS; k++)
		sfs_json_put_uint(w, sfs_waits_name((enum sfs_wait)k),
				  sums->ns[k] / SFS_NS_PER_MS);
	sfs_json_close(w, '}');
	sfs_waits_explain(window, facts, &verdict);
	sfs_json_put_string(w, "verdict", verdict.s);
	sfs_strbuf_done(&verdict);
}

static void add_sums(struct sfs_waits_sums *to, const struct sfs_waits_sums *sums)
{
	int k;

	for (k = 0; k < SFS_N_WAITS; k++)
		to->ns[k] += sums->ns[k];
}

static uint64_t ready_bytes(const struct sfs_cursor_state *state)
{
	return state->extents_end > state->offset ? state->extents_end - state->offset
						  : 0;
}

static void add_facts(struct sfs_waits_facts *facts, struct sfs_runtime *runtime,
		      const struct sfs_cursor_state *state)
{
	uint64_t part_bytes = sfs_prefetch_part_bytes(runtime);

	facts->n_ready += (ready_bytes(state) + part_bytes - 1) / part_bytes;
	facts->n_in_flight += state->n_in_flight;
}

/* The stream's own: of all its cursors. */
static void print_all_waits(struct sfs_stream *s, struct sfs_json_writer *w)
{
	struct sfs_waits_sums window = {0}, sums = {0};
	struct sfs_waits_facts facts = facts_of(s);
	struct sfs_cursor_state state;
	struct sfs_link *link;

	for (link = s->cursors.next; link != &s->cursors; link = link->next) {
		if (sfs_cursor_is_closed(sfs_cursor_of(link)))
			continue;
		sfs_cursor_state(sfs_cursor_of(link), &state);
		add_sums(&window, &state.window);
		add_sums(&sums, &state.sums);
		add_facts(&facts, s->runtime, &state);
	}
	print_waits(&window, &sums, &facts, w);
}

static void print_cursors(struct sfs_stream *s, struct sfs_json_writer *w)
{
	struct sfs_waits_facts facts;
	struct sfs_cursor_state state;
	struct sfs_link *link;

	for (link = s->cursors.next; link != &s->cursors; link = link->next) {
		if (sfs_cursor_is_closed(sfs_cursor_of(link)))
			continue;
		sfs_cursor_state(sfs_cursor_of(link), &state);
		sfs_json_open(w, NULL, '{');
		sfs_json_put_uint(w, "offset", state.offset);
		sfs_json_put_uint(w, "ready_bytes", ready_bytes(&state));
		sfs_json_put_uint(w, "held_bytes", state.held_bytes);
		sfs_json_put_uint(w, "live_bytes", state.live_bytes);
		sfs_json_put_uint(w, "samples", state.n_samples);
		sfs_json_put_uint(w, "requests", state.n_in_flight);
		sfs_json_put_uint(w, "waiting_reads", state.n_waiting);
		sfs_json_put_bool(w, "complete", state.is_complete);
		facts = facts_of(s);
		add_facts(&facts, s->runtime, &state);
		print_waits(&state.window, &state.sums, &facts, w);
		sfs_json_close(w, '}');
	}
}

/* With equal lanes, what is known of the stream's samples: exactly. */
static void print_counts(const struct sfs_stream *s, struct sfs_json_writer *w)
{
	if (!s->has_order || !s->order.has_equal_lanes)
		return;
	sfs_json_put_uint(w, "samples", s->order.n_samples);
	sfs_json_put_uint(w, "repeated", s->order.repeating != SFS_NO_LANE);
	sfs_json_put_uint(w, "dropped", s->order.shortened != SFS_NO_LANE);
}

/* The memory of the order, and of the sums by which random reads find a byte: the budget
 * does not count it. */
static uint64_t order_bytes(const struct sfs_stream *s)
{
	if (!s->has_order)
		return 0;
	return sfs_order_memory(&s->order) +
	       (s->random.has_locator ? sfs_locator_memory(&s->order) : 0) +
	       s->random.n_scheduled * sizeof *s->random.schedule;
}

void sfs_streams_print(struct sfs_streams *streams, struct sfs_json_writer *w)
{
	pthread_mutex_lock(&streams->lock);
	SFS_EACH (s, &streams->list, struct sfs_stream, link) {
		pthread_mutex_lock(&s->lock);
		sfs_json_open(w, NULL, '{');
		sfs_json_put_uint(w, "epoch", s->epoch);
		sfs_json_put_uint(w, "first_lane", s->share.first);
		sfs_json_put_uint(w, "lane_step", s->share.step);
		sfs_json_put_uint(w, "bytes", s->n_bytes);
		sfs_json_put_uint(w, "order_bytes", order_bytes(s));
		sfs_json_put_uint(w, "open", s->n_open);
		sfs_json_put_bool(w, "prefetched", s->is_kept);
		sfs_json_put_uint(w, "random_reads", s->random.n);
		if (s->proof && s->share.step > 1)
			sfs_json_put_uint(w, "unproven_shards", sfs_proof_left(s->proof));
		print_counts(s, w);
		print_all_waits(s, w);
		sfs_json_open(w, "cursors", '[');
		print_cursors(s, w);
		sfs_json_close(w, ']');
		sfs_json_close(w, '}');
		pthread_mutex_unlock(&s->lock);
	}
	pthread_mutex_unlock(&streams->lock);
}
