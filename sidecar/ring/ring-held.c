/* SPDX-License-Identifier: MIT */
/* How this works.  Trainers of a dead producer keep changing the words of its ring, so these
 * words say at any time what they hold.  The next producer needs them, too: rings form a list,
 * in which each names the one before it, and each ring has its file.
 *
 * To have a batch sent again takes two steps: first it is marked as missing in the new
 * producer's session, then its word in the old ring becomes KEPT.  In the ring at PATH.state,
 * KEPT means that the batch is missing; in older rings, that the ring at PATH.state knows about
 * it.  So the second step waits until the new producer's file is at PATH.state.  If the new
 * producer is killed between the two, its successor finds the batch still held, and settles it
 * again.  No trainer can have got it from the new producer by then: none can attach before
 * the file is there.
 *
 * The trainers of a ring that had ended still take what is left in it.  When all of them are
 * gone, what they did not take is lost, too. */
#include "ring/ring-held.h"

#include "ring/layout.h"
#include "ring/ring-dead.h"
#include "ring/ring-guard.h"
#include "ring/ring-past.h"
#include "ring/ring-session.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INTERVAL_MS 20

struct held_ring {
	struct held_ring *before;
	struct sfs_ring_past_file file;
	struct {
		uint64_t since_ns; /* when it was first seen held */
		bool is_hung;	   /* reported */
		bool is_missed;	   /* to be sent again, but its word is not KEPT yet */
	} slots[SFS_RING_SLOTS_MAX];
};

void sfs_ring_held_init(struct sfs_ring_held *h, const char *path)
{
	*h = (struct sfs_ring_held){.path = path, .interval_ms = INTERVAL_MS};
	pthread_mutex_init(&h->lock, NULL);
}

static uint64_t word_of(const struct held_ring *ring, uint32_t slot)
{
	return atomic_load(&ring->file.memory->words[slot]);
}

static void set_owner(struct held_ring *ring, uint32_t slot, uint32_t owner)
{
	atomic_store(&ring->file.memory->words[slot],
		     sfs_ring_word(sfs_ring_word_seq(word_of(ring, slot)), owner));
}

/* Neither released nor settled. */
static bool is_held(const struct held_ring *ring, uint32_t slot)
{
	uint32_t owner = sfs_ring_word_owner(word_of(ring, slot));

	return !ring->slots[slot].is_missed &&
	       (owner == SFS_RING_FILLED || owner >= SFS_RING_CONSUMER);
}

/* Which session of the new producer the batch in this slot belongs to; < 0: to none. */
static int session_of(const struct sfs_ring_held *h, const struct held_ring *ring,
		      uint32_t slot)
{
	const struct sfs_ring_memory *past = ring->file.memory, *m = h->memory;
	uint32_t sender = past->batches[slot].sender, i;

	if (sender >= past->n_sessions || sender >= SFS_RING_SESSIONS)
		return -1;
	for (i = 0; i < m->n_sessions; i++)
		if (m->sessions[i].id == past->sessions[sender].id)
			return (int)i;
	return -1;
}

/* Taking over. */

static void add_ring(struct held_ring **at, const struct sfs_ring_past_file *file)
{
	*at = sfs_calloc(1, sizeof **at);
	(*at)->file = *file;
}

/* Rings before the last one, of which trainers held batches while it ran. */
static void add_older(struct sfs_ring_held *h)
{
	struct held_ring *last = h->rings;
	struct sfs_ring_past_file file;
	uint64_t id;

	while ((id = atomic_load(&last->file.memory->before)) != 0 &&
	       sfs_ring_past_open(h->path, id, &file)) {
		add_ring(&last->before, &file);
		last = last->before;
	}
}

/* Batches that no trainer took: none can take them any more, and they are sent again. */
static void keep_filled(struct sfs_ring_held *h, struct held_ring *ring)
{
	struct sfs_ring_memory *past = ring->file.memory;
	uint32_t i, n_lost = 0;
	uint64_t word;
	int s;

	for (i = 0; i < past->n_slots; i++) {
		word = word_of(ring, i);
		while (sfs_ring_word_owner(word) == SFS_RING_FILLED &&
		       !atomic_compare_exchange_strong(
			       &past->words[i], &word,
			       sfs_ring_word(sfs_ring_word_seq(word), SFS_RING_KEPT)))
			;
		if (sfs_ring_word_owner(word_of(ring, i)) != SFS_RING_KEPT)
			continue;
		s = session_of(h, ring, i);
		if (s >= 0)
			sfs_ring_session_miss(&h->memory->sessions[s], past->numbers[i]);
		else
			n_lost++;
	}
	if (n_lost > 0)
		sfs_warning("ring %s: %u batches that no trainer had taken died with the "
			    "ring's producer, and nobody sends them again",
			    h->path, n_lost);
}

static void take_over(struct sfs_ring_held *h, struct held_ring *ring)
{
	static const char why[] =
		"the ring's producer died, and another goes on; attach again";
	struct sfs_ring_memory *past = ring->file.memory, *m = h->memory;
	uint32_t s;

	atomic_store(&m->before, ring->file.id);
	m->n_sessions = past->n_sessions;
	for (s = 0; s < m->n_sessions; s++)
		sfs_ring_session_copy(&m->sessions[s], &past->sessions[s]);
	if (atomic_load(&past->state) == SFS_RING_ENDED)
		return; /* its trainers take the rest, and see the end */
	if (atomic_load(&past->state) == SFS_RING_RUNS)
		memcpy(past->error, why, sizeof why);
	atomic_store(&past->state, SFS_RING_LOST);
	keep_filled(h, ring);
	sfs_ring_count(&past->filled, INT_MAX);
}

uint32_t sfs_ring_held_begin(struct sfs_ring_held *h, struct sfs_ring_memory *memory)
{
	struct sfs_ring_past_file file;
	uint32_t n;

	h->memory = memory;
	if (!sfs_ring_past_open(h->path, 0, &file)) {
		sfs_ring_past_clear(h->path);
		return 0;
	}
	n = sfs_ring_past_count(&file);
	if (n == 0 || !sfs_layout_equal(&file.memory->layout, &memory->layout)) {
		sfs_ring_past_close(&file);
		sfs_ring_past_clear(h->path);
		return 0;
	}
	sfs_info("ring %s: its producer died, but %u of its trainers did not: going on "
		 "with them",
		 h->path, n);
	add_ring(&h->rings, &file);
	add_older(h);
	take_over(h, h->rings);
	return atomic_load(&file.memory->state) == SFS_RING_ENDED ? 0 : n;
}

/* The file. */

static bool is_any(const struct held_ring *ring)
{
	uint32_t i;

	for (i = 0; i < ring->file.memory->n_slots; i++)
		if (is_held(ring, i) || ring->slots[i].is_missed)
			return true;
	return false;
}

/* The new producer's sessions are at PATH.state now.  The lock is held. */
static void note_missed(struct sfs_ring_held *h)
{
	struct held_ring *ring;
	uint32_t i;

	for (ring = h->rings; ring; ring = ring->before)
		for (i = 0; i < ring->file.memory->n_slots; i++) {
			if (ring->slots[i].is_missed)
				set_owner(ring, i, SFS_RING_KEPT);
			ring->slots[i].is_missed = false;
		}
}

bool sfs_ring_held_show(struct sfs_ring_held *h, const char *from, const char *to)
{
	bool is_well = true;

	pthread_mutex_lock(&h->lock);
	if (!h->is_shown && h->rings)
		is_well = sfs_ring_past_keep(h->path, h->rings->file.id);
	if (!h->is_shown && is_well)
		h->is_shown = is_well = rename(from, to) == 0;
	if (h->is_shown)
		note_missed(h);
	pthread_mutex_unlock(&h->lock);
	return is_well;
}

/* Remove rings of which no batch is held any more, but not the one at PATH.state.  The lock
 * is held. */
static void forget_released(struct sfs_ring_held *h)
{
	_Atomic uint64_t *before = &h->memory->before;
	struct held_ring **at = &h->rings, *ring;

	while ((ring = *at) != NULL) {
		if (is_any(ring) || (at == &h->rings && !h->is_shown)) {
			before = &ring->file.memory->before;
			at = &ring->before;
			continue;
		}
		atomic_store(before, atomic_load(&ring->file.memory->before));
		sfs_ring_past_forget(h->path, ring->file.id);
		sfs_ring_past_close(&ring->file);
		*at = ring->before;
		free(ring);
	}
}

/* Deaths. */

static uint32_t pid_of(const struct held_ring *ring, uint32_t consumer)
{
	return consumer < SFS_RING_CONSUMERS
		       ? atomic_load(&ring->file.memory->pids[consumer])
		       : 0;
}

/* Is every trainer gone that could release this batch? */
static bool is_lost(const struct held_ring *ring, uint32_t slot, bool is_open)
{
	uint32_t owner = sfs_ring_word_owner(word_of(ring, slot));

	if (!is_open)
		return true;
	if (owner == SFS_RING_FILLED)
		return sfs_ring_past_count(&ring->file) == 0;
	return sfs_ring_is_dead(pid_of(ring, owner - SFS_RING_CONSUMER));
}

static void look_for_hung(struct sfs_ring_held *h, struct held_ring *ring, uint32_t i,
			  uint64_t now_ns)
{
	uint64_t word = word_of(ring, i);
	uint32_t consumer = sfs_ring_word_owner(word) - SFS_RING_CONSUMER;

	if (ring->slots[i].since_ns == 0)
		ring->slots[i].since_ns = now_ns;
	if (ring->slots[i].is_hung || consumer >= SFS_RING_CONSUMERS ||
	    !sfs_clock_is_over(ring->slots[i].since_ns, h->hung_ms, now_ns))
		return;
	ring->slots[i].is_hung = true;
	sfs_warning("ring %s: trainer %u (pid %u) has held batch %" PRIu64
		    " for %u s, of a ring whose producer died; if it hangs, end it",
		    h->path, consumer, pid_of(ring, consumer), sfs_ring_word_seq(word),
		    h->hung_ms / 1000);
}

static bool look_at(struct sfs_ring_held *h, struct held_ring *ring, uint64_t now_ns,
		    struct sfs_ring_lost *ret)
{
	bool is_open = !is_any(ring) || sfs_ring_past_is_open(&ring->file);
	uint32_t i, consumer;

	if (!sfs_ring_is_whole(ring->file.memory)) {
		*ret = (struct sfs_ring_lost){.ring = ring, .is_cut = true};
		return true;
	}
	for (i = 0; i < ring->file.memory->n_slots; i++) {
		if (!is_held(ring, i))
			continue;
		/* (It may have released the batch between the two looks, and then died.) */
		if (!is_lost(ring, i, is_open) || !is_held(ring, i)) {
			look_for_hung(h, ring, i, now_ns);
			continue;
		}
		consumer = sfs_ring_word_owner(word_of(ring, i)) - SFS_RING_CONSUMER;
		*ret = (struct sfs_ring_lost){
			.ring = ring,
			.slot = i,
			.session = session_of(h, ring, i),
			.number = ring->file.memory->numbers[i],
			.seq = sfs_ring_word_seq(word_of(ring, i)),
			.is_untaken = consumer >= SFS_RING_CONSUMERS,
			.consumer = consumer,
			.pid = pid_of(ring, consumer)};
		return true;
	}
	return false;
}

bool sfs_ring_held_find_lost(struct sfs_ring_held *h, struct sfs_ring_lost *ret)
{
	uint64_t now_ns = sfs_clock_ns();
	struct held_ring *ring;
	bool has = false;

	pthread_mutex_lock(&h->lock);
	if (h->rings && sfs_clock_between(h->looked_ns, now_ns) >=
				h->interval_ms * SFS_NS_PER_MS) {
		for (ring = h->rings; ring && !has; ring = ring->before)
			has = look_at(h, ring, now_ns, ret);
		if (!has)
			h->looked_ns = now_ns;
		forget_released(h);
	}
	pthread_mutex_unlock(&h->lock);
	return has;
}

void sfs_ring_held_drop(struct sfs_ring_held *h, const struct sfs_ring_lost *lost)
{
	set_owner(lost->ring, lost->slot, SFS_RING_FREE);
}

void sfs_ring_held_miss(struct sfs_ring_held *h, const struct sfs_ring_lost *lost)
{
	struct held_ring *ring = lost->ring;

	pthread_mutex_lock(&h->lock);
	sfs_ring_session_miss(&h->memory->sessions[lost->session], lost->number);
	ring->slots[lost->slot].is_missed = true;
	if (h->is_shown)
		note_missed(h);
	pthread_mutex_unlock(&h->lock);
}

/* The lock is held. */
static uint64_t find_next(struct sfs_ring_held *h, int session, uint64_t number)
{
	uint64_t first = UINT64_MAX, at;
	struct held_ring *ring;
	uint32_t i;

	for (ring = h->rings; ring; ring = ring->before)
		for (i = 0; i < ring->file.memory->n_slots; i++) {
			at = ring->file.memory->numbers[i];
			if (is_held(ring, i) && at >= number && at < first &&
			    session_of(h, ring, i) == session)
				first = at;
		}
	return first;
}

uint64_t sfs_ring_held_next(struct sfs_ring_held *h, uint32_t session, uint64_t number)
{
	uint64_t first;

	pthread_mutex_lock(&h->lock);
	first = find_next(h, (int)session, number);
	pthread_mutex_unlock(&h->lock);
	return first;
}

void sfs_ring_held_lower(struct sfs_ring_held *h, uint32_t n, uint64_t *numbers)
{
	uint64_t first;
	uint32_t s;

	pthread_mutex_lock(&h->lock);
	for (s = 0; h->rings && s < n; s++) {
		first = find_next(h, (int)s, 0);
		if (first < numbers[s])
			numbers[s] = first;
	}
	pthread_mutex_unlock(&h->lock);
}

bool sfs_ring_held_is_any(struct sfs_ring_held *h)
{
	struct held_ring *ring;
	bool is = false;

	pthread_mutex_lock(&h->lock);
	for (ring = h->rings; ring && !is; ring = ring->before)
		is = is_any(ring);
	pthread_mutex_unlock(&h->lock);
	return is;
}

void sfs_ring_held_done(struct sfs_ring_held *h, bool is_over)
{
	struct held_ring *ring;

	while ((ring = h->rings) != NULL) {
		h->rings = ring->before;
		if (is_over)
			sfs_ring_past_forget(h->path, ring->file.id);
		sfs_ring_past_close(&ring->file);
		free(ring);
	}
	pthread_mutex_destroy(&h->lock);
}
