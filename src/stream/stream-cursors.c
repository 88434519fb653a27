/* SPDX-License-Identifier: MIT */
/* How this works: all of it is called with the stream's lock held.  A cursor that nobody
 * reads makes way for another, and one whose readers have all come into the range of
 * another ends.  Only the stream's task frees cursors. */
#include "stream/stream-internal.h"

#include "base/clock.h"
#include "base/log.h"

#include <assert.h>
#include <errno.h>

#define MAX_CURSORS 4
#define STARVED_NS  (3 * SFS_NS_PER_S)

static struct sfs_gather *gather(void *ctx, struct sfs_read *read,
				 struct sfs_deferred *out);

/* The cursor that was unread for longest, of those where no read waits. */
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

void sfs_stream_close_cursor(struct sfs_stream *s, struct sfs_cursor *c, int err,
			     struct sfs_deferred *out)
{
	s->n_cursors--;
	sfs_cursor_close(c, err, out);
}

struct sfs_cursor_settings sfs_stream_cursor_settings(struct sfs_stream *s)
{
	return (struct sfs_cursor_settings){
		.runtime = s->runtime,
		.order = &s->order,
		.stretches = s->stretches,
		.proof = s->proof,
		.stream_bytes = s->n_bytes,
		.readers = &s->readers,
		.owner = {.ctx = s, .wake = sfs_stream_wake, .gather = gather},
	};
}

/* The cursor that queues for memory while its readers do without; or NULL. */
static struct sfs_cursor *find_queued(struct sfs_stream *s)
{
	struct sfs_link *link;

	for (link = s->cursors.next; link != &s->cursors; link = link->next)
		if (sfs_cursor_is_queued(sfs_cursor_of(link)))
			return sfs_cursor_of(link);
	return NULL;
}

void sfs_stream_add_cursor(struct sfs_stream *s, struct sfs_cursor *c)
{
	s->n_cursors++;
	sfs_list_push(&s->cursors, sfs_cursor_link(c));
}

/* Is there room for one more cursor?  One that nobody reads makes way. */
static bool make_way(struct sfs_stream *s, struct sfs_deferred *out)
{
	struct sfs_cursor *idle;

	if (s->n_cursors < MAX_CURSORS)
		return true;
	idle = find_idle(s);
	if (idle)
		sfs_stream_close_cursor(s, idle, -ECANCELED, out);
	return idle != NULL;
}

/* A new cursor at a spot, which takes the place of the queued one.  Without memory, one
 * is queued. */
static int start_cursor_at(struct sfs_stream *s, struct sfs_cursor *queued,
			   const struct sfs_spot *at, uint64_t key_before,
			   struct sfs_deferred *out, struct sfs_cursor **ret_cursor)
{
	const struct sfs_cursor_settings settings = sfs_stream_cursor_settings(s);
	int ret = sfs_cursor_new_at(&settings, queued, &s->random.locator, at, key_before,
				    ret_cursor);

	assert(!queued || !sfs_cursor_is_busy(queued)); /* no read ends with it */
	if (queued)
		sfs_stream_close_cursor(s, queued, -ECANCELED, out);
	else if (ret == -ENOMEM)
		sfs_stream_add_cursor(s, sfs_cursor_new_queued(&settings));
	return ret;
}

int sfs_stream_start_cursor(struct sfs_stream *s, const struct sfs_spot *at,
			    uint64_t key_before, struct sfs_deferred *out,
			    struct sfs_cursor **ret_cursor)
{
	const struct sfs_cursor_settings settings = sfs_stream_cursor_settings(s);
	struct sfs_cursor *queued = find_queued(s);
	int ret = 0;

	if (queued)
		sfs_cursor_touch(queued);
	if (queued ? !sfs_cursor_has_room(queued) : !make_way(s, out))
		return -EBUSY;
	if (queued && !at) {
		sfs_cursor_begin(queued);
		*ret_cursor = queued;
		return 0;
	}
	if (at)
		ret = start_cursor_at(s, queued, at, key_before, out, ret_cursor);
	else
		*ret_cursor = sfs_cursor_new(&settings);
	if (ret == 0)
		sfs_stream_add_cursor(s, *ret_cursor);
	return ret;
}

struct sfs_cursor *sfs_stream_find_cursor(struct sfs_stream *s, uint64_t offset)
{
	struct sfs_cursor *found = NULL, *c;
	struct sfs_link *link;

	for (link = s->cursors.next; link != &s->cursors; link = link->next) {
		c = sfs_cursor_of(link);
		if (sfs_cursor_covers(c, offset) &&
		    (!found || sfs_cursor_extents_end(c) > sfs_cursor_extents_end(found)))
			found = c;
	}
	return found;
}

void sfs_stream_merge_cursors(struct sfs_stream *s, const struct sfs_cursor *c,
			      struct sfs_deferred *out)
{
	struct sfs_link *link;
	struct sfs_cursor *other;

	for (link = s->cursors.next; link != &s->cursors; link = link->next) {
		other = sfs_cursor_of(link);
		if (other != c && !sfs_cursor_is_closed(other) &&
		    sfs_cursor_is_needless(other, c))
			sfs_stream_close_cursor(s, other, -ECANCELED, out);
	}
}

void sfs_stream_read_at(struct sfs_cursor *c, struct sfs_read *read,
			struct sfs_deferred *out)
{
	read->place = SFS_STREAM_AT_CURSOR;
	read->state = c;
	sfs_cursor_read(c, read, out);
}

/* A read that its cursor has no memory for: see sfs_cursor_owner. */
static struct sfs_gather *gather(void *ctx, struct sfs_read *read,
				 struct sfs_deferred *out)
{
	struct sfs_stream *s = ctx;

	read->place = SFS_STREAM_AT_RANDOM;
	return sfs_random_gather(&s->random, read, out);
}

bool sfs_stream_take_over(void *ctx, struct sfs_read *read, const struct sfs_spot *at,
			  uint64_t key_before, struct sfs_deferred *out)
{
	struct sfs_cursor *c;

	if (sfs_stream_start_cursor(ctx, at, key_before, out, &c) < 0)
		return false;
	sfs_stream_read_at(c, read, out);
	return true;
}

void sfs_stream_close_cursors(struct sfs_stream *s, struct sfs_deferred *out)
{
	struct sfs_link *link;

	for (link = s->cursors.next; link != &s->cursors; link = link->next)
		if (!sfs_cursor_is_closed(sfs_cursor_of(link)))
			sfs_stream_close_cursor(s, sfs_cursor_of(link), -ECANCELED, out);
}

void sfs_stream_close_idle(struct sfs_stream *s, uint64_t idle_ns,
			   struct sfs_deferred *out)
{
	uint64_t now = sfs_clock_ns();
	struct sfs_cursor *c;

	while ((c = find_idle(s)) != NULL && now - sfs_cursor_last_read_ns(c) > idle_ns)
		sfs_stream_close_cursor(s, c, -ECANCELED, out);
}

static void say_crowded(struct sfs_streams *streams)
{
	if (!atomic_exchange(&streams->has_said_crowded, true))
		sfs_warning("the budget has no room for the lanes of one more reader: "
			    "what it reads is fetched read by read until there is; raise "
			    "budget=, lower lanes=, or read at fewer places at once");
}

/* All reads leave the cursor before the first one goes on: there may be room by now, and
 * then that one ends the cursor for one of its own. */
static void relieve(struct sfs_stream *s, struct sfs_cursor *c, struct sfs_deferred *out)
{
	struct sfs_link taken, *link;
	struct sfs_cursor *other;
	struct sfs_read *read;

	sfs_list_init(&taken);
	sfs_cursor_queue(c);
	while ((read = sfs_cursor_take_back(c)) != NULL)
		sfs_list_push(&taken, &read->link);
	while ((link = sfs_list_pop(&taken)) != NULL) {
		read = sfs_container(link, struct sfs_read, link);
		other = sfs_stream_find_cursor(s, read->offset);
		if (other) {
			sfs_stream_read_at(other, read, out);
			continue;
		}
		read->place = SFS_STREAM_AT_RANDOM;
		sfs_random_read(&s->random, read, out);
	}
}

void sfs_stream_relieve_starved(struct sfs_stream *s, struct sfs_deferred *out)
{
	struct sfs_link *link;
	struct sfs_cursor *c;

	for (link = s->cursors.next; link != &s->cursors; link = link->next) {
		c = sfs_cursor_of(link);
		if (sfs_cursor_starved_ns(c) < STARVED_NS)
			continue;
		say_crowded(s->streams);
		relieve(s, c, out);
	}
}

void sfs_stream_tick_cursors(struct sfs_stream *s)
{
	struct sfs_link *link;

	for (link = s->cursors.next; link != &s->cursors; link = link->next)
		sfs_cursor_tick(sfs_cursor_of(link));
}
