/* SPDX-License-Identifier: MIT */
/* How this works.  ring-memory.h has the protocol of the shared words.  The filling
 * thread takes free slots and publishes them, without a lock; ring-state has the memory,
 * ring-socket the consumers, and the ring's own thread.
 *
 * In a GPU's memory each slot has one on the host beside it, where it is filled, unless a
 * network card writes into the GPU's memory: the address that publish() gets tells.  It
 * begins the copy; the word stays FILLING until ring-copies.h says that it has arrived.
 * Numbers follow the order of publish(), and so do arrivals.  What is never copied has no
 * memory on the host: pages of a memfd come when they are touched, or pinned. */
#include "ring/ring-internal.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A GPU's memory. */

static void arrived(void *arg, uint32_t slot, const struct shufflefs_batch *batch);
static void fail_now(void *arg, const char *why);

int sfs_ring_stage(struct sfs_ring *ring, struct sfs_error *err)
{
	int ret = 0;

	if (ring->device && !ring->is_staged)
		ret = ring->device_ops->stage(ring->device, err);
	if (ret < 0)
		return ret;
	ring->is_staged = true;
	if (ring->device)
		ring->placement = "staged";
	return 0;
}

static int open_device(struct sfs_ring *ring, struct sfs_error *err)
{
	const struct sfs_ring_memory *m = ring->state.memory;
	struct sfs_device_settings settings = {
		.n_slots = m->n_slots,
		.slot_stride = m->slot_stride,
		.staging = sfs_ring_state_slot(&ring->state, 0)};
	struct sfs_ring_copies_settings copies = {.n_bytes = m->layout.slot_bytes,
						  .arrived = arrived,
						  .failed = fail_now,
						  .arg = ring};
	int ret;

	strcpy(ring->info.memory.kind, "host");
	ring->placement = "host";
	ring->info.fd = -1;
	ret = sfs_device_find(ring->settings.memory, &ring->device_ops, &settings, err);
	if (ret < 0 || !ring->device_ops)
		return ret;
	ret = ring->device_ops->open(&settings, &ring->device, err);
	if (ret < 0)
		return ret;
	ring->device_ops->describe(ring->device, &ring->info);
	ring->placement = NULL;
	if (ring->settings.placement == SFS_RING_STAGED)
		ret = sfs_ring_stage(ring, err);
	if (ret < 0)
		return ret;
	copies.ops = ring->device_ops;
	copies.device = ring->device;
	ring->copies = sfs_ring_copies_new(&copies);
	return 0;
}

/* The end. */

static void fail_now(void *arg, const char *why)
{
	struct sfs_ring *ring = arg;

	pthread_mutex_lock(&ring->state.lock);
	sfs_ring_state_fail(&ring->state, SFS_RING_FAILED, why);
	pthread_mutex_unlock(&ring->state.lock);
	sfs_ring_state_wake(&ring->state);
}

void sfs_ring_fail(struct sfs_ring *ring, const char *why)
{
	sfs_ring_copies_drain(ring->copies);
	fail_now(ring, why);
}

void sfs_ring_end(struct sfs_ring *ring)
{
	uint32_t runs = SFS_RING_RUNS;

	sfs_ring_copies_drain(ring->copies);
	atomic_compare_exchange_strong(&ring->state.memory->state, &runs, SFS_RING_ENDED);
	sfs_ring_state_wake(&ring->state);
}

int sfs_ring_check(struct sfs_ring *ring, struct sfs_error *err)
{
	return sfs_ring_state_check(&ring->state, err);
}

static int start_socket(struct sfs_ring *ring, struct sfs_error *err)
{
	const struct sfs_ring_socket_settings settings = {
		.watch = &ring->watch,
		.info = &ring->info,
		.is_on_device = ring->device != NULL,
		.policy = ring->settings.policy,
		.await_ms = ring->settings.await_ms};

	return sfs_ring_socket_start(&ring->socket, &settings, err);
}

int sfs_ring_new(const struct sfs_ring_settings *settings,
		 const struct shufflefs_layout *layout, struct sfs_ring **ret_ring,
		 struct sfs_error *err)
{
	struct sfs_ring *ring;
	int ret;

	if (settings->n_slots < 2 || settings->n_slots > SFS_RING_SLOTS_MAX)
		return sfs_error_set(err, -EINVAL, "a ring has 2 to %d slots, not %u",
				     SFS_RING_SLOTS_MAX, settings->n_slots);
	ring = sfs_calloc(1, sizeof *ring);
	ring->settings = *settings;
	ring->path = sfs_strdup(settings->path);
	ring->filling = -1;
	sfs_ring_state_init(&ring->state, ring->path, settings->n_slots);
	ring->state.held.hung_ms = settings->hung_ms;
	sfs_ring_watch_init(&ring->watch, &ring->state, settings->hung_ms);
	ret = sfs_ring_socket_open(&ring->socket, &ring->state, err);
	if (ret == 0)
		ret = sfs_ring_state_make(&ring->state, layout, err);
	if (ret == 0)
		ret = open_device(ring, err);
	if (ret == 0)
		ret = sfs_ring_state_begin(&ring->state, err);
	if (ret == 0)
		sfs_ring_settle(ring);
	if (ret == 0)
		ret = start_socket(ring, err);
	if (ret < 0) {
		sfs_ring_free(ring);
		return ret;
	}
	*ret_ring = ring;
	return 0;
}

void sfs_ring_free(struct sfs_ring *ring)
{
	if (!ring)
		return;
	sfs_ring_copies_free(ring->copies);
	sfs_ring_socket_stop(&ring->socket);
	/* (While it listens nobody else begins here, whose file it would be.) */
	sfs_ring_state_remove(&ring->state, ring->socket.n_attached > 0);
	sfs_ring_socket_close(&ring->socket);
	if (ring->state.memory)
		sfs_ring_state_wake(&ring->state); /* consumers look at the socket */
	if (ring->device)
		ring->device_ops->close(ring->device);
	sfs_ring_state_close(&ring->state);
	free(ring->path);
	free(ring);
}

/* Filling. */

/* Until a slot may have been freed since `seen`.  false: the deadline has passed. */
static bool wait_freed(struct sfs_ring *ring, uint32_t seen, uint64_t deadline)
{
	uint64_t now = sfs_clock_ns(), ns;

	if (now >= deadline)
		return false;
	ns = deadline - now < SFS_NS_PER_S ? deadline - now : SFS_NS_PER_S;
	sfs_ring_wait(&ring->state.memory->freed, seen, ns);
	return true;
}

/* < 0: all are in use.  The first that is free: what was used last is in the caches. */
static int find_free_slot(struct sfs_ring *ring)
{
	uint32_t i;

	for (i = 0; i < ring->state.n_slots; i++)
		if (sfs_ring_word_owner(atomic_load(&ring->state.memory->words[i])) ==
		    SFS_RING_FREE)
			return (int)i;
	return -1;
}

/* Consumers have all slots: no sender can go on.  Any thread may see first that it is so
 * no more. */
static void note_full(struct sfs_ring *ring)
{
	struct sfs_ring_memory *m = ring->state.memory;
	uint64_t none = 0;
	uint32_t i;

	for (i = 0; i < ring->state.n_slots; i++)
		if (sfs_ring_word_owner(atomic_load(&m->words[i])) < SFS_RING_FILLED)
			return;
	atomic_compare_exchange_strong(&ring->full_since_ns, &none, sfs_clock_ns());
}

static void note_room(struct sfs_ring *ring)
{
	uint64_t since_ns;

	if (atomic_load(&ring->full_since_ns) == 0 || find_free_slot(ring) < 0)
		return;
	since_ns = atomic_exchange(&ring->full_since_ns, 0);
	if (since_ns > 0)
		atomic_fetch_add(&ring->full_ns,
				 sfs_clock_between(since_ns, sfs_clock_ns()));
}

static int take_slot(struct sfs_ring *ring, int timeout_ms, struct sfs_error *err)
{
	uint64_t deadline = sfs_clock_deadline(timeout_ms);
	uint32_t seen;
	int ret, slot;

	for (;;) {
		seen = atomic_load(&ring->state.memory->freed);
		ret = sfs_ring_state_check(&ring->state, err);
		if (ret < 0)
			return ret;
		slot = find_free_slot(ring);
		if (slot >= 0)
			return slot;
		if (!wait_freed(ring, seen, deadline)) {
			sfs_ring_watch_explain(&ring->watch, err);
			return -ETIMEDOUT;
		}
	}
}

int sfs_ring_take(struct sfs_ring *ring, int timeout_ms, void **ret_slot,
		  struct sfs_error *err)
{
	struct sfs_ring_memory *m = ring->state.memory;
	uint64_t now_ns = sfs_clock_ns();
	int slot;

	if (atomic_load(&ring->waits_since_ns) == 0)
		atomic_store(&ring->waits_since_ns, now_ns);
	slot = take_slot(ring, timeout_ms, err);
	if (slot < 0)
		return slot; /* who asks again goes on with the same wait */
	note_room(ring);
	atomic_fetch_add(&ring->waited_ns,
			 sfs_clock_between(atomic_load(&ring->waits_since_ns),
					   sfs_clock_ns()));
	atomic_store(&ring->waits_since_ns, 0);
	ring->filling = slot;
	atomic_store(&m->words[slot],
		     sfs_ring_word(atomic_load(&m->n_published), SFS_RING_FILLING));
	*ret_slot = sfs_ring_state_slot(&ring->state, (uint32_t)slot);
	return 0;
}

/* The slot that begins at `data`, on the host or in the GPU's memory; NULL: the one that
 * was taken last. */
static int slot_of(struct sfs_ring *ring, const void *data, bool *ret_is_direct)
{
	uint64_t on_gpu = (uintptr_t)data - ring->info.address;
	uint32_t i;

	*ret_is_direct = false;
	for (i = 0; data && i < ring->state.n_slots; i++) {
		*ret_is_direct = ring->info.has_direct &&
				 on_gpu == i * ring->state.stride;
		if (sfs_ring_state_slot(&ring->state, i) == data || *ret_is_direct)
			return (int)i;
	}
	return ring->filling;
}

/* Its bytes are where consumers will look for them. */
static void arrived(void *arg, uint32_t slot, const struct shufflefs_batch *batch)
{
	struct sfs_ring *ring = arg;
	struct sfs_ring_memory *m = ring->state.memory;
	uint64_t seq = atomic_load(&m->n_published);
	uint32_t i;

	pthread_mutex_lock(&ring->state.lock); /* (another thread may look at all slots) */
	m->batches[slot] = *batch;
	m->batches[slot].seq = seq;
	m->batches[slot].data = NULL;
	if (batch->sender < m->n_sessions)
		m->numbers[slot] = atomic_load(&m->sessions[batch->sender].n);
	pthread_mutex_unlock(&ring->state.lock);
	atomic_fetch_add(&ring->n_samples, batch->n_samples);
	for (i = 0; i < m->layout.n_tensors; i++)
		atomic_fetch_add(&ring->n_bytes,
				 sfs_layout_bytes(&m->layout, i, batch->n_samples));
	atomic_store(&ring->next, batch->end);
	atomic_store(&m->words[slot], sfs_ring_word(seq, SFS_RING_FILLED));
	if (batch->sender < m->n_sessions)
		atomic_fetch_add(&m->sessions[batch->sender].n, 1);
	atomic_store(&m->n_published, seq + 1); /* (only now somebody can take it) */
	note_full(ring);
	sfs_ring_count(&m->filled, 1);
}

uint64_t sfs_ring_publish(struct sfs_ring *ring, const struct shufflefs_batch *batch)
{
	bool is_direct;
	int slot = slot_of(ring, batch->data, &is_direct);

	assert(slot >= 0);
	assert(is_direct || !ring->device || ring->is_staged);
	if (slot == ring->filling)
		ring->filling = -1;
	if (ring->copies)
		sfs_ring_copies_add(ring->copies, (uint32_t)slot, batch, is_direct);
	else
		arrived(ring, (uint32_t)slot, batch);
	return ring->n_numbered++;
}

/* The count is read before the words: what is in no word then was freed. */
uint64_t sfs_ring_consumed(struct sfs_ring *ring)
{
	uint64_t consumed = atomic_load(&ring->state.memory->n_published), word;
	uint32_t i;

	for (i = 0; i < ring->state.n_slots; i++) {
		word = atomic_load(&ring->state.memory->words[i]);
		if (sfs_ring_word_owner(word) != SFS_RING_FREE &&
		    sfs_ring_word_owner(word) != SFS_RING_FILLING &&
		    sfs_ring_word_seq(word) < consumed)
			consumed = sfs_ring_word_seq(word);
	}
	note_room(ring);
	return consumed;
}

int sfs_ring_wait_consumed(struct sfs_ring *ring, uint64_t seq, int timeout_ms,
			   struct sfs_error *err)
{
	uint64_t deadline = sfs_clock_deadline(timeout_ms);
	uint32_t seen;
	int ret;

	for (;;) {
		seen = atomic_load(&ring->state.memory->freed);
		if (sfs_ring_consumed(ring) > seq)
			return 0;
		ret = sfs_ring_state_check(&ring->state, err);
		if (ret < 0)
			return ret;
		if (!wait_freed(ring, seen, deadline)) {
			sfs_ring_watch_explain(&ring->watch, err);
			return -ETIMEDOUT;
		}
	}
}

void *sfs_ring_slots(struct sfs_ring *ring, uint64_t *ret_stride)
{
	*ret_stride = ring->state.stride;
	return sfs_ring_state_slot(&ring->state, 0);
}

/* A network card fills it. */

const struct sfs_device_ops *sfs_ring_device(struct sfs_ring *ring,
					     struct sfs_device **ret_device)
{
	*ret_device = ring->device;
	return ring->device_ops;
}

void sfs_ring_set_placement(struct sfs_ring *ring, const char *placement)
{
	ring->placement = placement;
}

const void *sfs_ring_read(struct sfs_ring *ring, const void *slot, struct sfs_error *err)
{
	const struct sfs_device_ops *ops = ring->device_ops;
	bool is_direct;
	int i = slot_of(ring, slot, &is_direct);

	if (!is_direct)
		return slot;
	if (ops->flush(ring->device, (uint32_t)i, err) < 0 ||
	    ops->read(ring->device, (uint32_t)i,
		      ring->state.memory->layout.slot_bytes, err) < 0)
		return NULL;
	return sfs_ring_state_slot(&ring->state, (uint32_t)i);
}

/* Telling. */

bool sfs_ring_is_awaited(struct sfs_ring *ring)
{
	return sfs_ring_socket_is_awaited(&ring->socket);
}

uint64_t sfs_ring_alone_ms(struct sfs_ring *ring)
{
	if (sfs_ring_held_is_any(&ring->state.held))
		return 0;
	return sfs_ring_socket_alone_ms(&ring->socket);
}

/* What the words say, below `n_published`. */
struct census {
	uint64_t n_waiting, n_held, n_hung;
	uint32_t holds[SFS_RING_CONSUMERS];
};

static void count_words(struct sfs_ring *ring, uint64_t n_published, struct census *ret)
{
	uint64_t word;
	uint32_t i, owner;

	memset(ret, 0, sizeof *ret);
	for (i = 0; i < ring->state.n_slots; i++) {
		word = atomic_load(&ring->state.memory->words[i]);
		owner = sfs_ring_word_owner(word);
		if (sfs_ring_word_seq(word) >= n_published || owner == SFS_RING_FREE ||
		    owner == SFS_RING_FILLING)
			continue;
		if (owner < SFS_RING_CONSUMER) {
			ret->n_waiting++;
			continue;
		}
		ret->n_held++;
		ret->holds[(owner - SFS_RING_CONSUMER) % SFS_RING_CONSUMERS]++;
		ret->n_hung += sfs_ring_watch_is_hung(&ring->watch, i, word);
	}
}

static uint64_t waited_ns(struct sfs_ring *ring)
{
	uint64_t since_ns = atomic_load(&ring->waits_since_ns);

	return atomic_load(&ring->waited_ns) +
	       (since_ns > 0 ? sfs_clock_between(since_ns, sfs_clock_ns()) : 0);
}

static uint64_t full_ns(struct sfs_ring *ring)
{
	uint64_t since_ns;

	note_room(ring);
	since_ns = atomic_load(&ring->full_since_ns);
	return atomic_load(&ring->full_ns) +
	       (since_ns > 0 ? sfs_clock_between(since_ns, sfs_clock_ns()) : 0);
}

void sfs_ring_look(struct sfs_ring *ring, struct sfs_ring_progress *ret)
{
	ret->n_batches = atomic_load(&ring->state.memory->n_published);
	ret->n_samples = atomic_load(&ring->n_samples);
	ret->n_bytes = atomic_load(&ring->n_bytes);
	ret->next = atomic_load(&ring->next);
	ret->waited_ns = waited_ns(ring);
	ret->full_ns = full_ns(ring);
	ret->memory = ring->info.memory.kind;
	ret->device = ring->info.memory.device;
	ret->placement = ring->placement;
}

static void describe_memory(const struct sfs_ring *ring, struct sfs_json_writer *json)
{
	sfs_json_open(json, "memory", '{');
	sfs_json_put_string(json, "kind", ring->info.memory.kind);
	if (ring->device) {
		sfs_json_put_string(json, "device", ring->info.memory.device);
		sfs_json_put_string(json, "name", ring->info.name);
	}
	sfs_json_put_string(json, "placement", ring->placement);
	sfs_json_close(json, '}');
}

void sfs_ring_describe(struct sfs_ring *ring, struct sfs_json_writer *json)
{
	struct sfs_ring_memory *m = ring->state.memory;
	uint64_t n_published, n_dropped;
	struct census census;

	pthread_mutex_lock(&ring->state.lock); /* nothing is dropped meanwhile */
	n_published = atomic_load(&m->n_published);
	n_dropped = atomic_load(&m->n_dropped);
	count_words(ring, n_published, &census);
	describe_memory(ring, json);
	sfs_json_put_uint(json, "slots", ring->state.n_slots);
	sfs_json_put_uint(json, "filled", n_published);
	sfs_json_put_uint(json, "taken", n_published - census.n_waiting);
	sfs_json_put_uint(json, "released",
			  n_published - census.n_waiting - census.n_held - n_dropped);
	sfs_json_put_uint(json, "dropped", n_dropped + atomic_load(&ring->n_dropped));
	sfs_json_put_uint(json, "redelivered",
			  atomic_load(&m->n_redelivered) +
				  atomic_load(&ring->n_redelivered));
	sfs_json_put_uint(json, "hung", census.n_hung);
	sfs_json_put_uint(json, "waited_ms", waited_ns(ring) / SFS_NS_PER_MS);
	sfs_ring_socket_describe(&ring->socket, census.holds, json);
	pthread_mutex_unlock(&ring->state.lock);
}
