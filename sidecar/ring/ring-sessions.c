/* SPDX-License-Identifier: MIT */
/* How this works: the sessions lie in the ring's memory (ring-session.h).  What a trainer held
 * of a producer that died is looked for by the filling thread, because it changes them. */
#include "ring/ring-internal.h"
#include "ring/ring-session.h"

#include "base/error.h"
#include "base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

int sfs_ring_session(struct sfs_ring *ring, uint64_t id, struct sfs_error *err)
{
	struct sfs_ring_memory *m = ring->state.memory;
	uint32_t i;

	for (i = 0; i < m->n_sessions; i++)
		if (m->sessions[i].id == id)
			return (int)i;
	if (i == SFS_RING_SESSIONS)
		return sfs_error_set(err, -ENOSPC,
				     "a ring has batches of %d streams at most",
				     SFS_RING_SESSIONS);
	m->sessions[i].id = id;
	m->n_sessions++;
	return (int)i;
}

bool sfs_ring_look_at_session(struct sfs_ring *ring, uint32_t number,
			      struct sfs_ring_past *ret)
{
	const struct sfs_ring_session *s = &ring->state.memory->sessions[number];

	if (number >= ring->state.memory->n_sessions)
		return false;
	*ret = (struct sfs_ring_past){.id = s->id,
				      .n = atomic_load(&s->n),
				      .has_ended = atomic_load(&s->has_ended) != 0};
	ret->had = sfs_ring_session_bits(s, ret->n);
	return true;
}

void sfs_ring_replace_session(struct sfs_ring *ring, uint32_t number, uint64_t id)
{
	struct sfs_ring_session *session = &ring->state.memory->sessions[number];

	*session = (struct sfs_ring_session){.id = id};
}

void sfs_ring_begin_session(struct sfs_ring *ring, uint32_t number, uint64_t n)
{
	sfs_ring_copies_drain(ring->copies); /* (what arrives later is counted later) */
	atomic_store(&ring->state.memory->sessions[number].n, n);
}

void sfs_ring_end_session(struct sfs_ring *ring, uint32_t number)
{
	atomic_store(&ring->state.memory->sessions[number].has_ended, 1);
}

/* n is read before the words: what is below it, and in no word then, was released.  (While
 * a copy to a GPU arrives, its slot is FILLING.) */
void sfs_ring_released(struct sfs_ring *ring, uint32_t n, uint64_t *ret_numbers)
{
	struct sfs_ring_memory *m = ring->state.memory;
	uint32_t i, s, owner;

	for (s = 0; s < n; s++)
		ret_numbers[s] = atomic_load(&m->sessions[s].n);
	pthread_mutex_lock(&ring->state.lock);
	for (i = 0; i < ring->state.n_slots; i++) {
		owner = sfs_ring_word_owner(atomic_load(&m->words[i]));
		s = m->batches[i].sender;
		if (owner != SFS_RING_FREE && owner != SFS_RING_FILLING && s < n &&
		    m->numbers[i] < ret_numbers[s])
			ret_numbers[s] = m->numbers[i];
	}
	pthread_mutex_unlock(&ring->state.lock);
	sfs_ring_held_lower(&ring->state.held, n, ret_numbers);
}

/* What dead trainers held of producers that died. */

static void lose(struct sfs_ring *ring, const struct sfs_error *why)
{
	pthread_mutex_lock(&ring->state.lock);
	sfs_ring_state_fail(&ring->state, SFS_RING_LOST, why->text);
	pthread_mutex_unlock(&ring->state.lock);
	sfs_ring_state_wake(&ring->state);
}

/* Nobody may go on without it. */
static void fail_for(struct sfs_ring *ring, const struct sfs_ring_lost *lost)
{
	struct sfs_error why;

	if (lost->is_cut)
		sfs_error_set(&why, 0,
			      "a file %s.state.* was cut or overwritten: nobody knows what "
			      "trainers hold of a ring whose producer died",
			      ring->path);
	else if (ring->settings.policy == SFS_RING_FAIL && !lost->is_untaken)
		sfs_error_set(&why, 0,
			      "trainer %u (pid %u) died while it held batch %" PRIu64
			      ", when the ring's producer was dead "
			      "(on-consumer-death=fail)",
			      lost->consumer, lost->pid, lost->seq);
	else
		sfs_error_set(&why, 0,
			      "batch %" PRIu64 " is lost: the ring's producer died, then "
			      "trainer %u (pid %u), which held it, and its sender cannot "
			      "send it again",
			      lost->seq, lost->consumer, lost->pid);
	lose(ring, &why);
}

static void log_death(const struct sfs_ring *ring, const struct sfs_ring_lost *lost,
		      const char *becomes)
{
	if (lost->is_untaken)
		sfs_warning("ring %s: its producer died, and all trainers have gone "
			    "before batch %" PRIu64 ": %s",
			    ring->path, lost->seq, becomes);
	else
		sfs_warning("ring %s: trainer %u (pid %u) died and held batch %" PRIu64
			    " of a ring whose producer died: %s",
			    ring->path, lost->consumer, lost->pid, lost->seq, becomes);
}

bool sfs_ring_next_lost(struct sfs_ring *ring, uint32_t *ret_session,
			uint64_t *ret_number)
{
	struct sfs_ring_held *held = &ring->state.held;
	struct sfs_ring_lost lost;

	while (atomic_load(&ring->state.memory->state) < SFS_RING_FAILED &&
	       sfs_ring_held_find_lost(held, &lost)) {
		if (ring->settings.policy == SFS_RING_DROP && !lost.is_cut &&
		    !lost.is_untaken) {
			log_death(ring, &lost, "it is dropped");
			sfs_ring_held_drop(held, &lost);
			atomic_fetch_add(&ring->n_dropped, 1);
			continue;
		}
		if (lost.is_cut || lost.session < 0 ||
		    (ring->settings.policy == SFS_RING_FAIL && !lost.is_untaken)) {
			fail_for(ring, &lost);
			return false;
		}
		log_death(ring, &lost, "it is sent again");
		sfs_ring_copies_drain(ring->copies);
		sfs_ring_held_miss(held, &lost);
		atomic_fetch_add(&ring->n_redelivered, 1);
		*ret_session = (uint32_t)lost.session;
		*ret_number = lost.number;
		return true;
	}
	return false;
}

uint64_t sfs_ring_next_held(struct sfs_ring *ring, uint32_t session, uint64_t number)
{
	return sfs_ring_held_next(&ring->state.held, session, number);
}

bool sfs_ring_has_held(struct sfs_ring *ring)
{
	return sfs_ring_held_is_any(&ring->state.held);
}

void sfs_ring_settle(struct sfs_ring *ring)
{
	uint32_t session;
	uint64_t number;

	while (sfs_ring_next_lost(ring, &session, &number))
		;
}
