/* SPDX-License-Identifier: MIT */
/* How this works: a ring of slab entries, the first of which is number `first`.  Each has
 * a state and the number of samples that need it.  The first entry is popped when it is
 * of no use any more; slabs after the last entry are in the future. */
#include "stream/prefetch/slice-buffer.h"

#include "base/alloc.h"
#include "base/keyhash.h"
#include "tar/header.h"
#include "tar/key.h"
#include "tar/rewrite.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

enum state { FUTURE, EXPECTED, HERE, MISSING, GONE };

struct sfs_slice_buffer_slab {
	void *slab; /* if HERE */
	uint32_t n_users;
	uint32_t n_live; /* bytes of it that samples need */
	enum state state;
};

/* The slab that holds byte `offset` of the shard, and where slab i begins there. */
static uint64_t slab_of(const struct sfs_slice_buffer *buffer, uint64_t offset)
{
	return (offset - buffer->start) / SFS_SLAB_BYTES;
}

static uint64_t offset_of(const struct sfs_slice_buffer *buffer, uint64_t i)
{
	return buffer->start + i * SFS_SLAB_BYTES;
}

uint64_t sfs_slice_buffer_round_up(const struct sfs_slice_buffer *buffer, uint64_t offset)
{
	return buffer->start + sfs_slab_count(offset - buffer->start) * SFS_SLAB_BYTES;
}

static struct sfs_slice_buffer_slab *entry(const struct sfs_slice_buffer *buffer,
					   uint64_t i)
{
	assert(i >= buffer->first && i < buffer->first + buffer->n);
	return &buffer->ring[(buffer->head + (i - buffer->first)) &
			     (buffer->capacity - 1)];
}

/* Have entries up to number i. */
static void grow_to(struct sfs_slice_buffer *buffer, uint64_t i)
{
	uint32_t capacity = buffer->capacity, k;
	struct sfs_slice_buffer_slab *ring;

	while (i - buffer->first >= capacity)
		capacity *= 2;
	if (capacity > buffer->capacity) {
		ring = sfs_calloc(capacity, sizeof *ring);
		for (k = 0; k < buffer->n; k++)
			ring[k] = *entry(buffer, buffer->first + k);
		free(buffer->ring);
		buffer->ring = ring;
		buffer->capacity = capacity;
		buffer->head = 0;
	}
	while (buffer->first + buffer->n <= i) {
		buffer->n++;
		*entry(buffer, buffer->first + buffer->n - 1) =
			(struct sfs_slice_buffer_slab){.state = FUTURE};
	}
}

struct sfs_slice_buffer *sfs_slice_buffer_new(struct sfs_shard *shard,
					      struct sfs_slabs *slabs,
					      struct sfs_account *account, uint64_t start,
					      uint64_t end)
{
	struct sfs_slice_buffer *buffer = sfs_calloc(1, sizeof *buffer);

	buffer->shard = shard;
	buffer->slabs = slabs;
	buffer->account = account;
	buffer->start = buffer->requested = buffer->assigned = start;
	buffer->end = end;
	buffer->capacity = 16;
	buffer->ring = sfs_calloc(buffer->capacity, sizeof *buffer->ring);
	return buffer;
}

void sfs_slice_buffer_begin_at(struct sfs_slice_buffer *buffer, uint64_t start)
{
	if (buffer->n > 0 || buffer->first > 0 || start <= buffer->start)
		return;
	buffer->start = buffer->requested = start;
	if (buffer->assigned < start)
		buffer->assigned = start;
}

/* Slab i is here or missing, and of no use: forget it. */
static void free_slab(struct sfs_slice_buffer *buffer, struct sfs_slice_buffer_slab *e)
{
	if (e->state == HERE) {
		sfs_slabs_put(buffer->slabs, &e->slab, 1);
		sfs_account_give(buffer->account, SFS_SLAB_BYTES);
		buffer->n_held--;
	}
	buffer->n_missing -= e->state == MISSING;
	e->slab = NULL;
	e->state = GONE;
}

static bool is_idle(const struct sfs_slice_buffer_slab *e)
{
	return e->state == HERE || e->state == MISSING;
}

/* Is slab i of no use?  Its bytes are assigned, and no sample needs it. */
static bool is_useless(const struct sfs_slice_buffer *buffer, uint64_t i)
{
	return entry(buffer, i)->n_users == 0 &&
	       offset_of(buffer, i + 1) <= buffer->assigned;
}

static void pop_front(struct sfs_slice_buffer *buffer)
{
	while (buffer->n > 0 && entry(buffer, buffer->first)->state == GONE &&
	       is_useless(buffer, buffer->first)) {
		buffer->head = (buffer->head + 1) & (buffer->capacity - 1);
		buffer->first++;
		buffer->n--;
	}
	if (buffer->requested < offset_of(buffer, buffer->first))
		buffer->requested =
			offset_of(buffer, buffer->first); /* given up, never requested */
}

void sfs_slice_buffer_free(struct sfs_slice_buffer *buffer)
{
	uint64_t i;

	if (!buffer)
		return;
	for (i = buffer->first; i < buffer->first + buffer->n; i++) {
		assert(entry(buffer, i)->state != EXPECTED);
		free_slab(buffer, entry(buffer, i));
	}
	free(buffer->ring);
	free(buffer);
}

void sfs_slice_buffer_expect(struct sfs_slice_buffer *buffer, uint64_t offset,
			     uint64_t n_bytes)
{
	uint64_t i = slab_of(buffer, offset), end = i + sfs_slab_count(n_bytes);

	assert(offset == offset_of(buffer, i));
	grow_to(buffer, end - 1);
	for (; i < end; i++) {
		buffer->n_missing -= entry(buffer, i)->state == MISSING;
		entry(buffer, i)->state = EXPECTED;
		buffer->n_held++;
	}
	if (offset_of(buffer, end) > buffer->requested)
		buffer->requested = offset_of(buffer, end);
}

void sfs_slice_buffer_arrive(struct sfs_slice_buffer *buffer, uint64_t offset,
			     void *const *slabs, size_t n_slabs)
{
	uint64_t first = slab_of(buffer, offset);
	struct sfs_slice_buffer_slab *e;
	size_t k;

	for (k = 0; k < n_slabs; k++) {
		e = entry(buffer, first + k);
		assert(e->state == EXPECTED);
		e->state = HERE;
		e->slab = slabs[k];
		if (is_useless(buffer, first + k))
			free_slab(buffer, e);
	}
	pop_front(buffer);
}

void sfs_slice_buffer_fail(struct sfs_slice_buffer *buffer, uint64_t offset,
			   size_t n_slabs)
{
	uint64_t first = slab_of(buffer, offset);
	size_t k;

	for (k = 0; k < n_slabs; k++) {
		assert(entry(buffer, first + k)->state == EXPECTED);
		entry(buffer, first + k)->state = MISSING;
		buffer->n_held--;
		buffer->n_missing++;
	}
}

/* The bytes of n_slabs from slab i on, as far as the buffer has them. */
static uint64_t clip(const struct sfs_slice_buffer *buffer, uint64_t i, uint64_t n_slabs)
{
	uint64_t n = n_slabs * SFS_SLAB_BYTES, left = buffer->end - offset_of(buffer, i);

	return n < left ? n : left;
}

bool sfs_slice_buffer_missing(const struct sfs_slice_buffer *buffer, uint64_t from,
			      uint64_t max_bytes, uint64_t *ret_offset,
			      uint64_t *ret_n_bytes)
{
	uint64_t i = buffer->first, end = buffer->first + buffer->n, n = 0;

	if (buffer->n_missing == 0)
		return false;
	if (from > offset_of(buffer, i))
		i = slab_of(buffer, from);
	while (i < end && entry(buffer, i)->state != MISSING)
		i++;
	while (i + n < end && entry(buffer, i + n)->state == MISSING &&
	       (n + 1) * SFS_SLAB_BYTES <= max_bytes)
		n++;
	if (n == 0)
		return false;
	*ret_offset = offset_of(buffer, i);
	*ret_n_bytes = clip(buffer, i, n);
	return true;
}

void sfs_slice_buffer_skip(struct sfs_slice_buffer *buffer, uint64_t offset)
{
	uint64_t i, end = slab_of(buffer, offset);

	if (offset_of(buffer, end) <= buffer->requested)
		return;
	grow_to(buffer, end - 1);
	for (i = slab_of(buffer, buffer->requested); i < end; i++)
		entry(buffer, i)->state = GONE;
	buffer->requested = offset_of(buffer, end);
	pop_front(buffer);
}

void sfs_slice_buffer_give_up(struct sfs_slice_buffer *buffer, uint64_t start,
			      uint64_t n_bytes)
{
	uint64_t i = slab_of(buffer, start), last = slab_of(buffer, start + n_bytes - 1);

	grow_to(buffer, last);
	for (; i <= last; i++) {
		if (entry(buffer, i)->state == FUTURE)
			entry(buffer, i)->state = GONE;
		else if (entry(buffer, i)->state == MISSING)
			free_slab(buffer, entry(buffer, i));
	}
}

unsigned char *sfs_slice_buffer_at(const struct sfs_slice_buffer *buffer, uint64_t offset,
				   size_t *ret_n)
{
	uint64_t i = slab_of(buffer, offset), within = offset - offset_of(buffer, i);

	if (offset < buffer->start || i < buffer->first ||
	    i >= buffer->first + buffer->n || entry(buffer, i)->state != HERE)
		return NULL;
	*ret_n = (size_t)(clip(buffer, i, 1) - within);
	return (unsigned char *)entry(buffer, i)->slab + within;
}

enum sfs_slice_buffer_state sfs_slice_buffer_state(const struct sfs_slice_buffer *buffer,
						   uint64_t start, uint64_t n_bytes)
{
	uint64_t i = slab_of(buffer, start), last = slab_of(buffer, start + n_bytes - 1);
	enum sfs_slice_buffer_state state = SFS_SLICE_BUFFER_HERE;

	if (start < buffer->start || i < buffer->first)
		return SFS_SLICE_BUFFER_GONE;
	for (; i <= last; i++) {
		if (i >= buffer->first + buffer->n)
			return SFS_SLICE_BUFFER_EXPECTED; /* the future has no gaps */
		if (entry(buffer, i)->state == GONE)
			return SFS_SLICE_BUFFER_GONE;
		if (entry(buffer, i)->state != HERE)
			state = SFS_SLICE_BUFFER_EXPECTED;
	}
	return state;
}

/* Does a sample begin before all that is left?  Then it is handed on without the buffer.
 * (One that is held keeps its slabs.) */
static bool is_before(const struct sfs_slice_buffer *buffer, uint64_t start)
{
	return start < offset_of(buffer, buffer->first);
}

/* How many of these bytes lie in slab i? */
static uint32_t overlap(const struct sfs_slice_buffer *buffer, uint64_t i, uint64_t start,
			uint64_t end)
{
	uint64_t from = offset_of(buffer, i), to = from + SFS_SLAB_BYTES;

	from = from > start ? from : start;
	to = to < end ? to : end;
	return to > from ? (uint32_t)(to - from) : 0;
}

void sfs_slice_buffer_hold(struct sfs_slice_buffer *buffer, uint64_t start,
			   uint64_t n_bytes)
{
	uint64_t i = slab_of(buffer, start), last = slab_of(buffer, start + n_bytes - 1);

	if (is_before(buffer, start)) {
		buffer->n_users++;
		return;
	}
	grow_to(buffer, last);
	if (start + n_bytes > buffer->held_end)
		buffer->held_end = start + n_bytes;
	for (; i <= last; i++) {
		entry(buffer, i)->n_users++;
		entry(buffer, i)->n_live += overlap(buffer, i, start, start + n_bytes);
		buffer->n_users++;
	}
}

void sfs_slice_buffer_release(struct sfs_slice_buffer *buffer, uint64_t start,
			      uint64_t n_bytes)
{
	uint64_t i = slab_of(buffer, start), last = slab_of(buffer, start + n_bytes - 1);

	if (is_before(buffer, start)) {
		buffer->n_users--;
		return;
	}
	for (; i <= last; i++) {
		assert(entry(buffer, i)->n_users > 0);
		entry(buffer, i)->n_users--;
		entry(buffer, i)->n_live -= overlap(buffer, i, start, start + n_bytes);
		buffer->n_users--;
		if (is_useless(buffer, i) && is_idle(entry(buffer, i)))
			free_slab(buffer, entry(buffer, i));
	}
	pop_front(buffer);
}

void sfs_slice_buffer_assign(struct sfs_slice_buffer *buffer, uint64_t offset)
{
	uint64_t i = slab_of(buffer, buffer->assigned), end = slab_of(buffer, offset);

	if (offset <= buffer->assigned)
		return;
	buffer->assigned = offset;
	if (i < buffer->first)
		i = buffer->first;
	for (; i < end && i < buffer->first + buffer->n; i++)
		if (is_useless(buffer, i) && is_idle(entry(buffer, i)))
			free_slab(buffer, entry(buffer, i));
	pop_front(buffer);
}

uint64_t sfs_slice_buffer_live_bytes(const struct sfs_slice_buffer *buffer)
{
	uint64_t i, n = 0;

	for (i = buffer->first; i < buffer->first + buffer->n; i++)
		if (entry(buffer, i)->state == HERE ||
		    entry(buffer, i)->state == EXPECTED)
			n += entry(buffer, i)->n_live +
			     overlap(buffer, i, buffer->assigned, buffer->end);
	return n;
}

/* Copy n bytes between a buffer and the slabs. */
static void copy(const struct sfs_slice_buffer *buffer, uint64_t at, unsigned char *buf,
		 size_t n, bool is_write)
{
	unsigned char *p;
	size_t piece;

	for (; n > 0; n -= piece, at += piece, buf += piece) {
		p = sfs_slice_buffer_at(buffer, at, &piece);
		piece = piece < n ? piece : n;
		memcpy(is_write ? p : buf, is_write ? buf : p, piece);
	}
}

/* A header group of a sample. */
struct group {
	struct sfs_tar_entry entry;
	unsigned char *bytes; /* in its slab, or in copied */
	unsigned char *copied;
};

/* Read the group at `at`.  The caller frees group->copied, which later
 * calls use again. */
static int read_group(const struct sfs_slice_buffer *buffer, uint64_t at, uint64_t n_left,
		      struct group *group, struct sfs_error *err)
{
	size_t n;
	int ret;

	group->bytes = sfs_slice_buffer_at(buffer, at, &n);
	n = n < n_left ? n : (size_t)n_left;
	ret = sfs_tar_entry_read(group->bytes, n, n_left, &group->entry, err);
	while (ret == -EAGAIN) {
		n = group->entry.need < n_left ? group->entry.need : (size_t)n_left;
		group->bytes = group->copied = sfs_realloc(group->copied, n);
		copy(buffer, at, group->copied, n, false);
		ret = sfs_tar_entry_read(group->copied, n, n_left, &group->entry, err);
	}
	return ret;
}

int sfs_slice_buffer_rewrite(struct sfs_slice_buffer *buffer, uint64_t start,
			     uint64_t n_bytes, const char *folder, uint64_t *ret_at,
			     struct sfs_error *err)
{
	struct group group = {.copied = NULL};
	uint64_t pos;
	int ret = 0;

	for (pos = 0; pos < n_bytes && ret == 0; pos += group.entry.next) {
		*ret_at = pos;
		ret = read_group(buffer, start + pos, n_bytes - pos, &group, err);
		if (ret < 0)
			break;
		ret = sfs_rewrite_entry(group.bytes, &group.entry, folder, err);
		if (ret == 0 && group.bytes == group.copied)
			copy(buffer, start + pos, group.bytes, group.entry.n_bytes, true);
		sfs_tar_entry_done(&group.entry);
	}
	free(group.copied);
	return ret;
}

static int check_group(const struct sfs_tar_entry *g, bool is_first,
		       const struct sfs_block_sample *s, struct sfs_error *err)
{
	size_t n_key = 0;

	if (g->kind == SFS_TAR_ENTRY_END)
		return sfs_error_set(err, -EBADMSG, "a zero block");
	if (g->kind == SFS_TAR_ENTRY_GLOBAL && !s->has_global)
		return sfs_error_set(err, -EBADMSG, "a pax global header");
	if (g->kind == SFS_TAR_ENTRY_MEMBER && g->is_regular)
		n_key = sfs_key_length(g->name, g->n_name);
	if (n_key > 0 ? sfs_keyhash(g->name, n_key) != s->key_hash : is_first)
		return sfs_error_set(err, -EBADMSG, "a member of another sample");
	return 0;
}

int sfs_slice_buffer_check(const struct sfs_slice_buffer *buffer, uint64_t start,
			   const struct sfs_block_sample *s, uint64_t *ret_at,
			   struct sfs_error *err)
{
	struct group group = {.copied = NULL};
	uint64_t pos;
	int ret = 0;

	for (pos = 0; pos < s->n_bytes && ret == 0; pos += group.entry.next) {
		*ret_at = pos;
		ret = read_group(buffer, start + pos, s->n_bytes - pos, &group, err);
		if (ret < 0)
			break;
		ret = check_group(&group.entry, pos == 0, s, err);
		sfs_tar_entry_done(&group.entry);
	}
	free(group.copied);
	return ret;
}
