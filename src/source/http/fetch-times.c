/* SPDX-License-Identifier: MIT */
/* How this works: stalls are timed from the last byte of header or body. */
#include "source/http/fetch-internal.h"

#include "base/clock.h"

#include <errno.h>
#include <stdio.h>

/* Has the body brought too little since it was last looked at? */
static bool is_slow(const struct sfs_fetch *f, struct sfs_get *get, uint64_t now)
{
	uint64_t ms = f->options.stall_timeout_ms;

	if (!get->response.has_head ||
	    now < get->response.watched_ns + ms * SFS_NS_PER_MS)
		return false;
	if (get->response.watched_bytes < f->options.low_speed_limit * ms / 1000)
		return true;
	get->response.watched_ns = now;
	get->response.watched_bytes = 0;
	return false;
}

struct ended {
	struct sfs_fetch *fetch;
	uint64_t now;
	struct sfs_link list;
};

/* Move to the ended what was cancelled, and the active ones that stalled. */
static void gather_ended(void *ctx, struct sfs_link *list)
{
	struct ended *ended = ctx;
	struct sfs_fetch *f = ended->fetch;
	const uint64_t stall_ns = f->options.stall_timeout_ms * SFS_NS_PER_MS;
	struct sfs_link *link, *following;
	struct sfs_get *get;

	for (link = list->next; link != list; link = following) {
		following = link->next;
		get = sfs_container(link, struct sfs_get, link);
		if (atomic_load(get->is_cancelled) || f->is_closed ||
		    (get->is_active &&
		     (ended->now >= get->response.progress_ns + stall_ns ||
		      is_slow(f, get, ended->now)))) {
			sfs_link_remove(&get->link);
			sfs_list_push(&ended->list, &get->link);
		}
	}
}

/* The GET brings nothing, or too little. */
static void end_stalled(struct sfs_fetch *f, struct sfs_get *get, uint64_t now)
{
	const unsigned ms = f->options.stall_timeout_ms;
	bool is_silent = now >= get->response.progress_ns + ms * SFS_NS_PER_MS;
	char why[96];

	if (is_silent && get->response.has_begun && !get->response.has_head)
		snprintf(why, sizeof why, "headers not complete after %u ms", ms);
	else if (is_silent)
		snprintf(why, sizeof why, "no byte in %u ms", ms);
	else
		snprintf(why, sizeof why,
			 "%llu bytes in %u ms, less than low-speed-limit",
			 (unsigned long long)get->response.watched_bytes, ms);
	if (is_silent && !get->response.has_begun)
		sfs_origin_stalled(get, now);
	get->has_stalled = true;
	sfs_fetch_finish(f, get, -ETIMEDOUT, SFS_FETCH_PASSING, why);
}

int sfs_fetch_end_some(struct sfs_fetch *f, uint64_t now)
{
	struct ended ended = {.fetch = f, .now = now};
	struct sfs_link *link;
	struct sfs_get *get;
	int n = 0;

	sfs_list_init(&ended.list);
	gather_ended(&ended, &f->active);
	if (atomic_exchange(&f->has_cancelled, false) || f->is_closed) {
		gather_ended(&ended, &f->delayed);
		sfs_origins_each_queue(&f->origins, gather_ended, &ended);
	}
	for (; (link = sfs_list_pop(&ended.list)) != NULL; n++) {
		get = sfs_container(link, struct sfs_get, link);
		if (atomic_load(get->is_cancelled) || f->is_closed)
			sfs_fetch_cancel(f, get);
		else
			end_stalled(f, get, now);
	}
	return n;
}

/* When a GET will be late, as things stand. */
static uint64_t late_at(const struct sfs_get *get)
{
	if (get->late_ns == 0)
		return UINT64_MAX;
	return atomic_load(get->is_needed) ? get->needed_late_ns : get->late_ns;
}

void sfs_fetch_handle_late(struct sfs_fetch *f, uint64_t now)
{
	struct sfs_link late, *link, *following;
	struct sfs_get *get;

	sfs_list_init(&late);
	for (link = f->active.next; link != &f->active; link = following) {
		following = link->next;
		if (now < late_at(sfs_container(link, struct sfs_get, link)))
			continue;
		sfs_link_remove(link);
		sfs_list_push(&late, link);
	}
	while ((link = sfs_list_pop(&late)) != NULL) {
		get = sfs_container(link, struct sfs_get, link);
		sfs_list_push(&f->active, link);
		get->late_ns = 0;
		get->late(get);
	}
}

uint64_t sfs_fetch_next_deadline(struct sfs_fetch *f)
{
	uint64_t next = UINT64_MAX, at;

	SFS_EACH (get, &f->active, struct sfs_get, link) {
		at = get->response.has_head &&
				     get->response.watched_ns < get->response.progress_ns
			     ? get->response.watched_ns
			     : get->response.progress_ns;
		at += f->options.stall_timeout_ms * SFS_NS_PER_MS;
		next = at < next ? at : next;
		at = late_at(get);
		next = at < next ? at : next;
	}
	return next;
}
