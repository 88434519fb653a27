/* SPDX-License-Identifier: MIT */
/* How this works: the stream's lock guards its cursors and its far reads.  Whatever
 * ends elsewhere (a part, a survey, a grab) posts the stream's task, which takes
 * account of it.  What must not be done with the lock held (asking a source, telling
 * a reader) is put into an outbox and done after.
 *
 * A read belongs to one cursor, or to the far reads.
 *
 * Locks, in order: streams, stream, the shards' drop_lock, cursor arrivals, the
 * pool's and the budget's. */
#include "stream.h"

#include "clock.h"
#include "cursor.h"
#include "deal.h"
#include "far.h"
#include "ledger.h"
#include "mem.h"

#include <errno.h>

#define MAX_CURSORS	4
#define IDLE_NS		(30 * SFS_NS_PER_S)
#define STARVED_IDLE_NS (2 * SFS_NS_PER_S)
#define STARVED_NS	(60 * SFS_NS_PER_S)

struct sfs_stream {
	struct sfs_streams *streams;
	struct sfs_env *env;
	uint64_t epoch;
	struct sfs_share share;
	struct sfs_task task;

	pthread_mutex_t lock; /* guards all below */
	struct sfs_link link; /* in streams->list, under its lock */
	uint32_t n_open;      /* likewise */
	bool is_closed;
	struct sfs_order order;
	bool has_order;
	uint64_t n_bytes; /* if has_order: of the file */
	struct sfs_link cursors;
	int n_cursors; /* that are not closed */
	struct sfs_far_reads far;
};

/* Whose a read is, while read->state is not NULL. */
enum place { AT_CURSOR, FAR };

static bool run(struct sfs_task *task);
static void wake(void *ctx);
static bool take_over(void *ctx, struct sfs_read *read, const struct sfs_spot *at,
		      uint64_t key_before, struct sfs_outbox *out);
static struct sfs_gather *apart(void *ctx, struct sfs_read *read, struct sfs_outbox *out);

static void init_order(struct sfs_order *order, struct sfs_env *env, uint64_t epoch,
		       struct sfs_share share)
{
	const struct sfs_tables tables = sfs_shards_tables(&env->shards);

	sfs_deal(order, &env->order, epoch, env->shards.n, &tables, share);
}

/* The size of the file of an order. */
static uint64_t count_bytes(const struct sfs_env *env, const struct sfs_order *order)
{
	uint64_t n = 2 * SFS_TAR_BLOCK, i;

	if (order->has_equal_lanes)
		return n + order->n_bytes;
	for (i = 0; i < sfs_order_slices(order); i++)
		n += sfs_tar_padded(
			env->shards.shards[order->slices[i].shard].object.size);
	return n;
}

uint64_t sfs_stream_bytes(struct sfs_env *env, uint64_t epoch, struct sfs_share share)
{
	struct sfs_order order;
	uint64_t n;

	init_order(&order, env, epoch, share);
	n = count_bytes(env, &order);
	sfs_order_done(&order);
	return n;
}

/* ---- the streams of a mount ---- */

void sfs_streams_init(struct sfs_streams *streams, struct sfs_env *env,
		      struct sfs_surveyor *surveyor)
{
	*streams = (struct sfs_streams){.env = env, .surveyor = surveyor};
	pthread_mutex_init(&streams->lock, NULL);
	pthread_cond_init(&streams->is_empty, NULL);
	sfs_list_init(&streams->list);
}

void sfs_streams_done(struct sfs_streams *streams)
{
	if (!streams->env)
		return;
	pthread_mutex_lock(&streams->lock);
	while (streams->n > 0)
		pthread_cond_wait(&streams->is_empty, &streams->lock);
	pthread_mutex_unlock(&streams->lock);
	pthread_cond_destroy(&streams->is_empty);
	pthread_mutex_destroy(&streams->lock);
}

static struct sfs_stream *stream_new(struct sfs_streams *streams, uint64_t epoch,
				     struct sfs_share share)
{
	struct sfs_stream *s = sfs_calloc(1, sizeof *s);
	const struct sfs_far_owner owner = {.ctx = s,
					    .lock = &s->lock,
					    .wake = wake,
					    .take_over = take_over};

	s->streams = streams;
	s->env = streams->env;
	s->epoch = epoch;
	s->share = share;
	s->task.run = run;
	pthread_mutex_init(&s->lock, NULL);
	sfs_list_init(&s->cursors);
	sfs_far_init(&s->far, s->env, streams->surveyor, &s->order, &owner);
	return s;
}

struct sfs_stream *sfs_stream_open(struct sfs_streams *streams, uint64_t epoch,
				   struct sfs_share share)
{
	struct sfs_stream *s = NULL;

	pthread_mutex_lock(&streams->lock);
	SFS_EACH (other, &streams->list, struct sfs_stream, link) {
		if (other->epoch == epoch && sfs_share_equal(other->share, share))
			s = other;
	}
	if (!s) {
		s = stream_new(streams, epoch, share);
		sfs_list_push(&streams->list, &s->link);
		streams->n++;
	}
	s->n_open++;
	pthread_mutex_unlock(&streams->lock);
	return s;
}

void sfs_stream_close(struct sfs_stream *s)
{
	struct sfs_streams *streams = s->streams;
	bool is_last;

	pthread_mutex_lock(&streams->lock);
	is_last = --s->n_open == 0;
	if (is_last)
		sfs_link_remove(&s->link);
	pthread_mutex_unlock(&streams->lock);
	if (!is_last)
		return;
	pthread_mutex_lock(&s->lock);
	s->is_closed = true;
	sfs_pool_post(s->env->pool, &s->task);
	pthread_mutex_unlock(&s->lock);
}

static void stream_free(struct sfs_stream *s)
{
	struct sfs_streams *streams = s->streams;

	sfs_far_done(&s->far);
	sfs_order_done(&s->order);
	pthread_mutex_destroy(&s->lock);
	free(s);
	pthread_mutex_lock(&streams->lock);
	if (--streams->n == 0)
		pthread_cond_broadcast(&streams->is_empty);
	pthread_mutex_unlock(&streams->lock);
}

/* ---- cursors ---- */

static void wake(void *ctx)
{
	struct sfs_stream *s = ctx;

	sfs_pool_post(s->env->pool, &s->task);
}

static void have_order(struct sfs_stream *s)
{
	if (s->has_order)
		return;
	init_order(&s->order, s->env, s->epoch, s->share);
	s->n_bytes = count_bytes(s->env, &s->order);
	s->has_order = true;
}

uint64_t sfs_stream_end(struct sfs_stream *s)
{
	uint64_t end;

	pthread_mutex_lock(&s->lock);
	have_order(s);
	if (!sfs_shards_sum(&s->env->shards, &s->order, &end))
		end = UINT64_MAX;
	pthread_mutex_unlock(&s->lock);
	return end;
}

int sfs_stream_locate(struct sfs_stream *s, uint64_t number, struct sfs_waiter *waiter,
		      struct sfs_place *ret_place)
{
	int ret;

	pthread_mutex_lock(&s->lock);
	have_order(s);
	ret = sfs_far_locate(&s->far, number, waiter, ret_place);
	pthread_mutex_unlock(&s->lock);
	return ret;
}

int sfs_stream_number(struct sfs_stream *s, uint64_t offset, struct sfs_waiter *waiter,
		      uint64_t *ret_number)
{
	int ret;

	pthread_mutex_lock(&s->lock);
	have_order(s);
	ret = sfs_far_number(&s->far, offset, waiter, ret_number);
	pthread_mutex_unlock(&s->lock);
	return ret;
}

/* The cursor that was unread for longest, of those that nobody waits at. */
static struct sfs_cursor *find_idle(struct sfs_stream *s)
{
	struct sfs_cursor *found = NULL, *c;
	struct sfs_link *link;

	for (link = s->cursors.next; link != &s->cursors; link = link->next) {
		c = sfs_cursor_of(link);
		if (!sfs_cursor_is_closed(c) && !sfs_cursor_is_busy(c) &&
		    (!found ||
		     sfs_cursor_last_read_ns(c) < sfs_cursor_last_read_ns(found)))
			found = c;
	}
	return found;
}

/* Reads that wait there get `err`. */
static void close_cursor(struct sfs_stream *s, struct sfs_cursor *c, int err,
			 struct sfs_outbox *out)
{
	s->n_cursors--;
	sfs_cursor_close(c, err, out);
}

/* A new cursor at the start (`at` is NULL) or at a spot.  < 0: not now. */
static int start_cursor(struct sfs_stream *s, const struct sfs_spot *at,
			uint64_t key_before, struct sfs_outbox *out,
			struct sfs_cursor **ret_cursor)
{
	const struct sfs_cursor_owner owner = {.ctx = s, .wake = wake, .apart = apart};
	struct sfs_cursor *idle;
	int ret = 0;

	if (s->n_cursors == MAX_CURSORS) {
		idle = find_idle(s);
		if (!idle)
			return -EBUSY;
		close_cursor(s, idle, -ECANCELED, out);
	}
	have_order(s);
	if (at)
		ret = sfs_cursor_new_at(s->env, &s->order, s->n_bytes, &owner,
					&s->far.map, at, key_before, ret_cursor);
	else
		*ret_cursor = sfs_cursor_new(s->env, &s->order, s->n_bytes, &owner);
	if (ret < 0)
		return ret;
	s->n_cursors++;
	sfs_list_push(&s->cursors, sfs_cursor_link(*ret_cursor));
	return 0;
}

static struct sfs_cursor *find_cursor(struct sfs_stream *s, uint64_t offset)
{
	struct sfs_link *link;

	for (link = s->cursors.next; link != &s->cursors; link = link->next)
		if (sfs_cursor_covers(sfs_cursor_of(link), offset))
			return sfs_cursor_of(link);
	return NULL;
}

static void read_at(struct sfs_cursor *c, struct sfs_read *read, struct sfs_outbox *out)
{
	read->place = AT_CURSOR;
	read->state = c;
	sfs_cursor_read(c, read, out);
}

/* A read that its cursor has no memory for, see cursor.h. */
static struct sfs_gather *apart(void *ctx, struct sfs_read *read, struct sfs_outbox *out)
{
	struct sfs_stream *s = ctx;

	read->place = FAR;
	return sfs_far_apart(&s->far, read, out);
}

/* A cursor for a far read, see far.h. */
static bool take_over(void *ctx, struct sfs_read *read, const struct sfs_spot *at,
		      uint64_t key_before, struct sfs_outbox *out)
{
	struct sfs_cursor *c;

	if (start_cursor(ctx, at, key_before, out, &c) < 0)
		return false;
	read_at(c, read, out);
	return true;
}

/* ---- reads ---- */

/* A read that no cursor covers. */
static void read_afresh(struct sfs_stream *s, struct sfs_read *read,
			struct sfs_outbox *out)
{
	struct sfs_cursor *c;

	if (read->offset == 0 && start_cursor(s, NULL, 0, out, &c) == 0) {
		read_at(c, read, out);
		return;
	}
	read->place = FAR;
	sfs_far_read(&s->far, read, out);
}

/* No read goes beyond the end. */
static void clip(const struct sfs_stream *s, struct sfs_read *read)
{
	if (read->offset >= s->n_bytes)
		read->n_bytes = 0;
	else if (read->n_bytes > s->n_bytes - read->offset)
		read->n_bytes = (size_t)(s->n_bytes - read->offset);
}

/* A part of the epoch without a single lane, or a read behind the end: zeros. */
static void read_nothing(struct sfs_read *read, struct sfs_outbox *out)
{
	read->release = sfs_read_reset;
	sfs_read_add_zeros(read, read->n_bytes);
	sfs_read_tell(read, 0, out);
}

static bool cancel(struct sfs_read *read)
{
	struct sfs_stream *s = read->owner;
	bool is_ours = false;

	pthread_mutex_lock(&s->lock);
	if (!read->state) {
		; /* it has its answer */
	} else if (read->place == AT_CURSOR) {
		is_ours = sfs_cursor_cancel(read->state, read);
	} else {
		is_ours = sfs_far_cancel(&s->far, read);
	}
	pthread_mutex_unlock(&s->lock);
	return is_ours;
}

static void release(struct sfs_read *read)
{
	struct sfs_stream *s = read->owner;
	struct sfs_outbox out;

	sfs_outbox_init(&out);
	pthread_mutex_lock(&s->lock);
	if (read->place == FAR)
		sfs_far_release(&s->far, read);
	else
		sfs_cursor_release(read->state, read, &out);
	pthread_mutex_unlock(&s->lock);
	sfs_read_reset(read);
	sfs_outbox_flush(&out);
}

void sfs_stream_read(struct sfs_stream *s, struct sfs_read *read)
{
	struct sfs_cursor *c;
	struct sfs_outbox out;

	read->owner = s;
	read->state = NULL;
	read->cancel = cancel;
	read->release = release;
	sfs_outbox_init(&out);
	pthread_mutex_lock(&s->lock);
	have_order(s);
	clip(s, read);
	c = find_cursor(s, read->offset);
	if (s->order.n_lanes == 0 || read->n_bytes == 0)
		read_nothing(read, &out);
	else if (c)
		read_at(c, read, &out);
	else
		read_afresh(s, read, &out);
	pthread_mutex_unlock(&s->lock);
	sfs_outbox_flush(&out);
}

/* ---- the task ---- */

static void close_all(struct sfs_stream *s, struct sfs_outbox *out)
{
	struct sfs_link *link;

	for (link = s->cursors.next; link != &s->cursors; link = link->next)
		if (!sfs_cursor_is_closed(sfs_cursor_of(link)))
			close_cursor(s, sfs_cursor_of(link), -ECANCELED, out);
}

static void tell_apart_ended(struct sfs_stream *s)
{
	struct sfs_link *link;

	for (link = s->cursors.next; link != &s->cursors; link = link->next)
		sfs_cursor_apart_ended(sfs_cursor_of(link));
}

static bool run(struct sfs_task *task)
{
	struct sfs_stream *s = sfs_container(task, struct sfs_stream, task);
	struct sfs_link *link, *following;
	struct sfs_outbox out;
	bool is_gone;

	sfs_outbox_init(&out);
	pthread_mutex_lock(&s->lock);
	if (s->is_closed)
		close_all(s, &out);
	for (link = s->cursors.next; link != &s->cursors; link = following) {
		following = link->next;
		sfs_cursor_run(sfs_cursor_of(link), &out);
	}
	sfs_far_run(&s->far, s->is_closed, &out);
	if (s->far.n == 0)
		tell_apart_ended(s);
	is_gone = s->is_closed && sfs_list_is_empty(&s->cursors) && s->far.n == 0;
	pthread_mutex_unlock(&s->lock);
	sfs_outbox_flush(&out);
	if (is_gone)
		stream_free(s);
	return !is_gone;
}

/* ---- every second ---- */

static void close_idle(struct sfs_stream *s, uint64_t idle_ns, struct sfs_outbox *out)
{
	uint64_t now = sfs_clock_ns();
	struct sfs_cursor *c;

	while ((c = find_idle(s)) != NULL && now - sfs_cursor_last_read_ns(c) > idle_ns)
		close_cursor(s, c, -ECANCELED, out);
}

/* Those whom the budget will not have soon. */
static void close_starved(struct sfs_stream *s, struct sfs_outbox *out)
{
	struct sfs_link *link;

	for (link = s->cursors.next; link != &s->cursors; link = link->next) {
		if (sfs_cursor_starved_ns(sfs_cursor_of(link)) < STARVED_NS)
			continue;
		sfs_ledger_add(
			SFS_EVENT_LOST, "(epoch)", SFS_NO_OFFSET, "the reader gets EIO",
			"no budget for the lanes of one more stream: raise budget=, "
			"lower lanes=, or read fewer streams at once");
		close_cursor(s, sfs_cursor_of(link), -EIO, out);
	}
}

static void tick_cursors(struct sfs_stream *s)
{
	struct sfs_link *link;

	for (link = s->cursors.next; link != &s->cursors; link = link->next)
		sfs_cursor_tick(sfs_cursor_of(link));
}

void sfs_streams_tick(struct sfs_streams *streams)
{
	bool is_short = sfs_budget_is_short(&streams->env->budget);
	bool is_starved = sfs_budget_is_starved(&streams->env->budget);
	struct sfs_outbox out;

	/* A quarter of the budget may be tables; a stream's floor comes first. */
	if (is_starved)
		sfs_shards_drop_unused(&streams->env->shards);
	sfs_outbox_init(&out);
	pthread_mutex_lock(&streams->lock);
	SFS_EACH (s, &streams->list, struct sfs_stream, link) {
		pthread_mutex_lock(&s->lock);
		tick_cursors(s);
		close_starved(s, &out);
		if (is_short)
			close_idle(s, is_starved ? STARVED_IDLE_NS : IDLE_NS, &out);
		pthread_mutex_unlock(&s->lock);
	}
	pthread_mutex_unlock(&streams->lock);
	sfs_outbox_flush(&out);
}

/* ---- stats ---- */

static struct sfs_blame_facts facts_of(const struct sfs_stream *s)
{
	const struct sfs_env *env = s->env;

	return (struct sfs_blame_facts){
		.n_connections = (uint32_t)env->n_connections,
		.budget_bytes = env->budget.total_bytes,
		.is_local = env->shards.shards[0].object.uri.scheme == SFS_SCHEME_FILE,
		.n_far = s->far.n,
	};
}

/* Who is waited for: in per cent of the last seconds, in ms since the start, and in
 * words. */
static void print_waits(const struct sfs_blame_sums *window,
			const struct sfs_blame_sums *sums,
			const struct sfs_blame_facts *facts, struct sfs_text *text)
{
	struct sfs_text verdict = {0};
	const char *comma = "";
	int k;

	sfs_text_puts(text, "\"waits\":{");
	for (k = SFS_BLAME_IDLE + 1; k < SFS_N_BLAMES; k++, comma = ",")
		sfs_text_printf(text, "%s\"%s\":%u", comma,
				sfs_blame_name((enum sfs_blame)k),
				sfs_blame_share(window, (enum sfs_blame)k));
	sfs_text_puts(text, "},\"waits_ms\":{");
	for (k = SFS_BLAME_IDLE + 1, comma = ""; k < SFS_N_BLAMES; k++, comma = ",")
		sfs_text_printf(text, "%s\"%s\":%llu", comma,
				sfs_blame_name((enum sfs_blame)k),
				(unsigned long long)(sums->ns[k] / SFS_NS_PER_MS));
	sfs_text_puts(text, "},\"verdict\":");
	sfs_blame_say(window, facts, &verdict);
	sfs_text_json(text, verdict.s);
	sfs_text_done(&verdict);
}

static void add_sums(struct sfs_blame_sums *to, const struct sfs_blame_sums *sums)
{
	int k;

	for (k = 0; k < SFS_N_BLAMES; k++)
		to->ns[k] += sums->ns[k];
}

static uint64_t ready_bytes(const struct sfs_cursor_state *state)
{
	return state->log_end > state->offset ? state->log_end - state->offset : 0;
}

static void add_facts(struct sfs_blame_facts *facts, struct sfs_env *env,
		      const struct sfs_cursor_state *state)
{
	uint64_t part_bytes = sfs_env_part_bytes(env);

	facts->n_ready += (ready_bytes(state) + part_bytes - 1) / part_bytes;
	facts->n_on_way += state->n_on_way;
}

/* The stream's own: of all its cursors. */
static void print_all_waits(struct sfs_stream *s, struct sfs_text *text)
{
	struct sfs_blame_sums window = {0}, sums = {0};
	struct sfs_blame_facts facts = facts_of(s);
	struct sfs_cursor_state state;
	struct sfs_link *link;

	for (link = s->cursors.next; link != &s->cursors; link = link->next) {
		if (sfs_cursor_is_closed(sfs_cursor_of(link)))
			continue;
		sfs_cursor_state(sfs_cursor_of(link), &state);
		add_sums(&window, &state.window);
		add_sums(&sums, &state.sums);
		add_facts(&facts, s->env, &state);
	}
	print_waits(&window, &sums, &facts, text);
}

static void print_cursors(struct sfs_stream *s, struct sfs_text *text)
{
	struct sfs_blame_facts facts;
	struct sfs_cursor_state state;
	struct sfs_link *link;
	const char *comma = "";

	for (link = s->cursors.next; link != &s->cursors; link = link->next) {
		if (sfs_cursor_is_closed(sfs_cursor_of(link)))
			continue;
		sfs_cursor_state(sfs_cursor_of(link), &state);
		sfs_text_printf(
			text,
			"%s{\"offset\":%llu,\"ready_bytes\":%llu,\"held_bytes\":%llu,"
			"\"samples\":%llu,\"requests\":%u,\"waiting_reads\":%u,"
			"\"complete\":%s,",
			comma, (unsigned long long)state.offset,
			(unsigned long long)ready_bytes(&state),
			(unsigned long long)state.held_bytes,
			(unsigned long long)state.n_samples, state.n_on_way,
			state.n_waiting, state.is_complete ? "true" : "false");
		facts = facts_of(s);
		add_facts(&facts, s->env, &state);
		print_waits(&state.window, &state.sums, &facts, text);
		sfs_text_puts(text, "}");
		comma = ",";
	}
}

/* With equal lanes, what is known of the stream's samples: exactly. */
static void print_counts(const struct sfs_stream *s, struct sfs_text *text)
{
	if (!s->has_order || !s->order.has_equal_lanes)
		return;
	sfs_text_printf(text, "\"samples\":%llu,\"repeated\":%d,\"dropped\":%d,",
			(unsigned long long)s->order.n_samples,
			s->order.repeating != SFS_NO_LANE,
			s->order.shortened != SFS_NO_LANE);
}

void sfs_streams_print(struct sfs_streams *streams, struct sfs_text *text)
{
	const char *comma = "";

	pthread_mutex_lock(&streams->lock);
	SFS_EACH (s, &streams->list, struct sfs_stream, link) {
		pthread_mutex_lock(&s->lock);
		sfs_text_printf(
			text,
			"%s{\"epoch\":%llu,\"first_lane\":%llu,\"lane_step\":%llu,"
			"\"bytes\":%llu,\"open\":%u,\"far_reads\":%u,",
			comma, (unsigned long long)s->epoch,
			(unsigned long long)s->share.first,
			(unsigned long long)s->share.step, (unsigned long long)s->n_bytes,
			s->n_open, s->far.n);
		print_counts(s, text);
		print_all_waits(s, text);
		sfs_text_puts(text, ",\"cursors\":[");
		print_cursors(s, text);
		sfs_text_puts(text, "]}");
		comma = ",";
		pthread_mutex_unlock(&s->lock);
	}
	pthread_mutex_unlock(&streams->lock);
}
