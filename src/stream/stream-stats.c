/* SPDX-License-Identifier: MIT */
#include "stream/prefetch.h"
#include "stream/stream-internal.h"

static struct sfs_waits_facts facts_of(const struct sfs_stream *s)
{
	const struct sfs_runtime *runtime = s->runtime;

	return (struct sfs_waits_facts){
		.n_connections = (uint32_t)runtime->n_connections,
		.budget_bytes = runtime->budget.total_bytes,
		.is_local =
			runtime->shards.shards[0].object.uri.scheme == SFS_SCHEME_FILE,
		.n_far = s->random.n,
	};
}

/* What is waited for: in per cent of the last seconds, in ms since the start, and in
 * words. */
static void print_waits(const struct sfs_waits_sums *window,
			const struct sfs_waits_sums *sums,
			const struct sfs_waits_facts *facts, struct sfs_strbuf *text)
{
	struct sfs_strbuf verdict = {0};
	const char *comma = "";
	int k;

	sfs_strbuf_puts(text, "\"waits\":{");
	for (k = SFS_WAIT_IDLE + 1; k < SFS_N_WAITS; k++, comma = ",")
		sfs_strbuf_printf(text, "%s\"%s\":%u", comma,
				  sfs_waits_name((enum sfs_wait)k),
				  sfs_waits_share(window, (enum sfs_wait)k));
	sfs_strbuf_puts(text, "},\"waits_ms\":{");
	for (k = SFS_WAIT_IDLE + 1, comma = ""; k < SFS_N_WAITS; k++, comma = ",")
		sfs_strbuf_printf(text, "%s\"%s\":%llu", comma,
				  sfs_waits_name((enum sfs_wait)k),
				  (unsigned long long)(sums->ns[k] / SFS_NS_PER_MS));
	sfs_strbuf_puts(text, "},\"verdict\":");
	sfs_waits_explain(window, facts, &verdict);
	sfs_strbuf_json(text, verdict.s);
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
	facts->n_on_way += state->n_in_flight;
}

/* The stream's own: of all its cursors. */
static void print_all_waits(struct sfs_stream *s, struct sfs_strbuf *text)
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
	print_waits(&window, &sums, &facts, text);
}

static void print_cursors(struct sfs_stream *s, struct sfs_strbuf *text)
{
	struct sfs_waits_facts facts;
	struct sfs_cursor_state state;
	struct sfs_link *link;
	const char *comma = "";

	for (link = s->cursors.next; link != &s->cursors; link = link->next) {
		if (sfs_cursor_is_closed(sfs_cursor_of(link)))
			continue;
		sfs_cursor_state(sfs_cursor_of(link), &state);
		sfs_strbuf_printf(
			text,
			"%s{\"offset\":%llu,\"ready_bytes\":%llu,\"held_bytes\":%llu,"
			"\"live_bytes\":%llu,\"samples\":%llu,\"requests\":%u,"
			"\"waiting_reads\":%u,\"complete\":%s,",
			comma, (unsigned long long)state.offset,
			(unsigned long long)ready_bytes(&state),
			(unsigned long long)state.held_bytes,
			(unsigned long long)state.live_bytes,
			(unsigned long long)state.n_samples, state.n_in_flight,
			state.n_waiting, state.is_complete ? "true" : "false");
		facts = facts_of(s);
		add_facts(&facts, s->runtime, &state);
		print_waits(&state.window, &state.sums, &facts, text);
		sfs_strbuf_puts(text, "}");
		comma = ",";
	}
}

/* With equal lanes, what is known of the stream's samples: exactly. */
static void print_counts(const struct sfs_stream *s, struct sfs_strbuf *text)
{
	if (!s->has_order || !s->order.has_equal_lanes)
		return;
	sfs_strbuf_printf(text, "\"samples\":%llu,\"repeated\":%d,\"dropped\":%d,",
			  (unsigned long long)s->order.n_samples,
			  s->order.repeating != SFS_NO_LANE,
			  s->order.shortened != SFS_NO_LANE);
}

/* The memory of the order, and of the sums by which random reads find a byte: the budget
 * does not count it. */
static uint64_t order_bytes(const struct sfs_stream *s)
{
	uint64_t each = sizeof(struct sfs_slice) +
			(s->random.locator.n_before ? 2 * sizeof(uint64_t) : 0);

	return s->has_order ? sfs_order_slices(&s->order) * each : 0;
}

void sfs_streams_print(struct sfs_streams *streams, struct sfs_strbuf *text)
{
	const char *comma = "";

	pthread_mutex_lock(&streams->lock);
	SFS_EACH (s, &streams->list, struct sfs_stream, link) {
		pthread_mutex_lock(&s->lock);
		sfs_strbuf_printf(
			text,
			"%s{\"epoch\":%llu,\"first_lane\":%llu,\"lane_step\":%llu,"
			"\"bytes\":%llu,\"order_bytes\":%llu,\"open\":%u,"
			"\"prefetched\":%s,\"far_reads\":%u,",
			comma, (unsigned long long)s->epoch,
			(unsigned long long)s->share.first,
			(unsigned long long)s->share.step, (unsigned long long)s->n_bytes,
			(unsigned long long)order_bytes(s), s->n_open,
			s->is_kept ? "true" : "false", s->random.n);
		print_counts(s, text);
		print_all_waits(s, text);
		sfs_strbuf_puts(text, ",\"cursors\":[");
		print_cursors(s, text);
		sfs_strbuf_puts(text, "]}");
		comma = ",";
		pthread_mutex_unlock(&s->lock);
	}
	pthread_mutex_unlock(&streams->lock);
}
