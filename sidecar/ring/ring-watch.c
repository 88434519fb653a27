/* SPDX-License-Identifier: MIT */
/* How this works.  A word names a batch and its owner, so one that is the same at two
 * looks was held all the time between them. */
#include "ring/ring-watch.h"

#include "base/clock.h"
#include "base/log.h"

#include <inttypes.h>

void sfs_ring_watch_init(struct sfs_ring_watch *w, struct sfs_ring_state *state,
			 uint32_t hung_ms)
{
	*w = (struct sfs_ring_watch){.state = state, .hung_ms = hung_ms};
}

int sfs_ring_watch_interval_ms(const struct sfs_ring_watch *w)
{
	if (w->hung_ms == 0)
		return -1;
	if (w->hung_ms < 40)
		return 10;
	return w->hung_ms < 4000 ? (int)(w->hung_ms / 4) : 1000;
}

/* With the lock.  Has the slot's consumer just begun to count as hung? */
static bool look_at(struct sfs_ring_watch *watch, uint32_t i, uint64_t now_ns)
{
	struct sfs_ring_watched *w = &watch->slots[i];
	uint64_t word = atomic_load(&watch->state->memory->words[i]);

	if (word != w->word) {
		*w = (struct sfs_ring_watched){.word = word, .since_ns = now_ns};
		return false;
	}
	if (w->is_hung || sfs_ring_word_owner(word) < SFS_RING_CONSUMER ||
	    !sfs_clock_is_over(w->since_ns, watch->hung_ms, now_ns))
		return false;
	w->is_hung = true;
	return true;
}

/* With the lock: the sentence about slot i. */
static void describe_hung(const struct sfs_ring_watch *watch, uint32_t i,
			  struct sfs_error *err)
{
	const struct sfs_ring_watched *w = &watch->slots[i];
	const struct sfs_ring_state *state = watch->state;
	uint32_t id = sfs_ring_word_owner(w->word) - SFS_RING_CONSUMER;
	uint32_t pid = 0;

	if (id < SFS_RING_CONSUMERS)
		pid = atomic_load(&state->memory->pids[id]);
	sfs_error_set(err, 0,
		      "ring %s: trainer %u (pid %u) has held batch %" PRIu64 " for "
		      "%llu s; if it hangs, kill it",
		      state->path, id, pid, sfs_ring_word_seq(w->word),
		      sfs_clock_between(w->since_ns, sfs_clock_ns()) / SFS_NS_PER_S);
}

void sfs_ring_watch_look(struct sfs_ring_watch *w)
{
	struct sfs_error text;
	uint32_t i;
	bool is_new;

	if (w->hung_ms == 0)
		return;
	for (i = 0; i < w->state->n_slots; i++) {
		pthread_mutex_lock(&w->state->lock);
		is_new = look_at(w, i, sfs_clock_ns());
		if (is_new)
			describe_hung(w, i, &text);
		pthread_mutex_unlock(&w->state->lock);
		if (is_new)
			sfs_warning("%s", text.text);
	}
}

bool sfs_ring_watch_is_hung(const struct sfs_ring_watch *w, uint32_t i, uint64_t word)
{
	return w->slots[i].is_hung && w->slots[i].word == word;
}

void sfs_ring_watch_explain(struct sfs_ring_watch *w, struct sfs_error *err)
{
	const struct sfs_ring_memory *m = w->state->memory;
	uint32_t i;

	pthread_mutex_lock(&w->state->lock);
	for (i = 0; i < w->state->n_slots; i++)
		if (sfs_ring_watch_is_hung(w, i, atomic_load(&m->words[i]))) {
			describe_hung(w, i, err);
			break;
		}
	pthread_mutex_unlock(&w->state->lock);
}
