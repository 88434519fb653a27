/* SPDX-License-Identifier: MIT */
/* How this works: a ring of slab entries, the first of which is number `first`.
 * Each entry has a state and the number of samples that count on it.  The front
 * is popped when it is of no use any more; what lies behind the last entry is in
 * the future. */
#include "stream/slice-buffer.h"

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
	uint32_t n_live; /* bytes of it that samples count on */
	enum state state;
};

/* The slab that holds byte `offset` of the shard, and where slab i begins there. */
static uint64_t slab_of(const struct sfs_slice_buffer *run, uint64_t offset)
{
	return (offset - run->start) / SFS_SLAB_BYTES;
}

static uint64_t offset_of(const struct sfs_slice_buffer *run, uint64_t i)
{
	return run->start + i * SFS_SLAB_BYTES;
}

uint64_t sfs_slice_buffer_round_up(const struct sfs_slice_buffer *run, uint64_t offset)
{
	return run->start + sfs_slab_count(offset - run->start) * SFS_SLAB_BYTES;
}

static struct sfs_slice_buffer_slab *entry(const struct sfs_slice_buffer *run, uint64_t i)
{
	assert(i >= run->first && i < run->first + run->n);
	return &run->ring[(run->head + (i - run->first)) & (run->capacity - 1)];
}

/* Have entries up to number i. */
static void grow_to(struct sfs_slice_buffer *run, uint64_t i)
{
	uint32_t capacity = run->capacity, k;
	struct sfs_slice_buffer_slab *ring;

	while (i - run->first >= capacity)
		capacity *= 2;
	if (capacity > run->capacity) {
		ring = sfs_calloc(capacity, sizeof *ring);
		for (k = 0; k < run->n; k++)
			ring[k] = *entry(run, run->first + k);
		free(run->ring);
		run->ring = ring;
		run->capacity = capacity;
		run->head = 0;
	}
	while (run->first + run->n <= i) {
		run->n++;
		*entry(run, run->first + run->n - 1) =
			(struct sfs_slice_buffer_slab){.state = FUTURE};
	}
}

struct sfs_slice_buffer *sfs_slice_buffer_new(struct sfs_shard *shard,
					      struct sfs_slabs *slabs,
					      struct sfs_account *account, uint64_t start,
					      uint64_t end)
{
	struct sfs_slice_buffer *run = sfs_calloc(1, sizeof *run);

	run->shard = shard;
	run->slabs = slabs;
	run->account = account;
	run->start = run->asked = run->dealt = start;
	run->end = end;
	run->capacity = 16;
	run->ring = sfs_calloc(run->capacity, sizeof *run->ring);
	return run;
}

/* Slab i is here or missing, and of no use: forget it. */
static void free_slab(struct sfs_slice_buffer *run, struct sfs_slice_buffer_slab *e)
{
	if (e->state == HERE) {
		sfs_slabs_put(run->slabs, &e->slab, 1);
		sfs_account_give(run->account, SFS_SLAB_BYTES);
		run->n_held--;
	}
	run->n_missing -= e->state == MISSING;
	e->slab = NULL;
	e->state = GONE;
}

static bool is_idle(const struct sfs_slice_buffer_slab *e)
{
	return e->state == HERE || e->state == MISSING;
}

/* Nobody needs slab i: its bytes are dealt, and no sample counts on it. */
static bool is_useless(const struct sfs_slice_buffer *run, uint64_t i)
{
	return entry(run, i)->n_users == 0 && offset_of(run, i + 1) <= run->dealt;
}

static void pop_front(struct sfs_slice_buffer *run)
{
	while (run->n > 0 && entry(run, run->first)->state == GONE &&
	       is_useless(run, run->first)) {
		run->head = (run->head + 1) & (run->capacity - 1);
		run->first++;
		run->n--;
	}
	if (run->asked < offset_of(run, run->first))
		run->asked = offset_of(run, run->first); /* given up, never asked for */
}

void sfs_slice_buffer_free(struct sfs_slice_buffer *run)
{
	uint64_t i;

	if (!run)
		return;
	for (i = run->first; i < run->first + run->n; i++) {
		assert(entry(run, i)->state != EXPECTED);
		free_slab(run, entry(run, i));
	}
	free(run->ring);
	free(run);
}

void sfs_slice_buffer_expect(struct sfs_slice_buffer *run, uint64_t offset,
			     uint64_t n_bytes)
{
	uint64_t i = slab_of(run, offset), end = i + sfs_slab_count(n_bytes);

	assert(offset == offset_of(run, i));
	grow_to(run, end - 1);
	for (; i < end; i++) {
		run->n_missing -= entry(run, i)->state == MISSING;
		entry(run, i)->state = EXPECTED;
		run->n_held++;
	}
	if (offset_of(run, end) > run->asked)
		run->asked = offset_of(run, end);
}

void sfs_slice_buffer_arrive(struct sfs_slice_buffer *run, uint64_t offset,
			     void *const *slabs, size_t n_slabs)
{
	uint64_t first = slab_of(run, offset);
	struct sfs_slice_buffer_slab *e;
	size_t k;

	for (k = 0; k < n_slabs; k++) {
		e = entry(run, first + k);
		assert(e->state == EXPECTED);
		e->state = HERE;
		e->slab = slabs[k];
		if (is_useless(run, first + k))
			free_slab(run, e);
	}
	pop_front(run);
}

void sfs_slice_buffer_fail(struct sfs_slice_buffer *run, uint64_t offset, size_t n_slabs)
{
	uint64_t first = slab_of(run, offset);
	size_t k;

	for (k = 0; k < n_slabs; k++) {
		assert(entry(run, first + k)->state == EXPECTED);
		entry(run, first + k)->state = MISSING;
		run->n_held--;
		run->n_missing++;
	}
}

/* Bytes from slab i on, no more than the run has. */
static uint64_t clip(const struct sfs_slice_buffer *run, uint64_t i, uint64_t n_slabs)
{
	uint64_t n = n_slabs * SFS_SLAB_BYTES, left = run->end - offset_of(run, i);

	return n < left ? n : left;
}

bool sfs_slice_buffer_missing(const struct sfs_slice_buffer *run, uint64_t from,
			      uint64_t max_bytes, uint64_t *ret_offset,
			      uint64_t *ret_n_bytes)
{
	uint64_t i = run->first, end = run->first + run->n, n = 0;

	if (run->n_missing == 0)
		return false;
	if (from > offset_of(run, i))
		i = slab_of(run, from);
	while (i < end && entry(run, i)->state != MISSING)
		i++;
	while (i + n < end && entry(run, i + n)->state == MISSING &&
	       (n + 1) * SFS_SLAB_BYTES <= max_bytes)
		n++;
	if (n == 0)
		return false;
	*ret_offset = offset_of(run, i);
	*ret_n_bytes = clip(run, i, n);
	return true;
}

void sfs_slice_buffer_skip(struct sfs_slice_buffer *run, uint64_t offset)
{
	uint64_t i, end = slab_of(run, offset);

	if (offset_of(run, end) <= run->asked)
		return;
	grow_to(run, end - 1);
	for (i = slab_of(run, run->asked); i < end; i++)
		entry(run, i)->state = GONE;
	run->asked = offset_of(run, end);
	pop_front(run);
}

void sfs_slice_buffer_give_up(struct sfs_slice_buffer *run, uint64_t start,
			      uint64_t n_bytes)
{
	uint64_t i = slab_of(run, start), last = slab_of(run, start + n_bytes - 1);

	grow_to(run, last);
	for (; i <= last; i++) {
		if (entry(run, i)->state == FUTURE)
			entry(run, i)->state = GONE;
		else if (entry(run, i)->state == MISSING)
			free_slab(run, entry(run, i));
	}
}

unsigned char *sfs_slice_buffer_at(const struct sfs_slice_buffer *run, uint64_t offset,
				   size_t *ret_n)
{
	uint64_t i = slab_of(run, offset), within = offset - offset_of(run, i);

	if (offset < run->start || i < run->first || i >= run->first + run->n ||
	    entry(run, i)->state != HERE)
		return NULL;
	*ret_n = (size_t)(clip(run, i, 1) - within);
	return (unsigned char *)entry(run, i)->slab + within;
}

enum sfs_slice_buffer_state sfs_slice_buffer_state(const struct sfs_slice_buffer *run,
						   uint64_t start, uint64_t n_bytes)
{
	uint64_t i = slab_of(run, start), last = slab_of(run, start + n_bytes - 1);
	enum sfs_slice_buffer_state state = SFS_SLICE_BUFFER_HERE;

	if (start < run->start || i < run->first)
		return SFS_SLICE_BUFFER_GONE;
	for (; i <= last; i++) {
		if (i >= run->first + run->n)
			return SFS_SLICE_BUFFER_EXPECTED; /* the future has no gaps */
		if (entry(run, i)->state == GONE)
			return SFS_SLICE_BUFFER_GONE;
		if (entry(run, i)->state != HERE)
			state = SFS_SLICE_BUFFER_EXPECTED;
	}
	return state;
}

/* How many of these bytes lie in slab i? */
static uint32_t overlap(const struct sfs_slice_buffer *run, uint64_t i, uint64_t start,
			uint64_t end)
{
	uint64_t from = offset_of(run, i), to = from + SFS_SLAB_BYTES;

	from = from > start ? from : start;
	to = to < end ? to : end;
	return to > from ? (uint32_t)(to - from) : 0;
}

void sfs_slice_buffer_hold(struct sfs_slice_buffer *run, uint64_t start, uint64_t n_bytes)
{
	uint64_t i = slab_of(run, start), last = slab_of(run, start + n_bytes - 1);

	assert(i >= run->first);
	grow_to(run, last);
	if (start + n_bytes > run->held_end)
		run->held_end = start + n_bytes;
	for (; i <= last; i++) {
		entry(run, i)->n_users++;
		entry(run, i)->n_live += overlap(run, i, start, start + n_bytes);
		run->n_users++;
	}
}

void sfs_slice_buffer_release(struct sfs_slice_buffer *run, uint64_t start,
			      uint64_t n_bytes)
{
	uint64_t i = slab_of(run, start), last = slab_of(run, start + n_bytes - 1);

	for (; i <= last; i++) {
		assert(entry(run, i)->n_users > 0);
		entry(run, i)->n_users--;
		entry(run, i)->n_live -= overlap(run, i, start, start + n_bytes);
		run->n_users--;
		if (is_useless(run, i) && is_idle(entry(run, i)))
			free_slab(run, entry(run, i));
	}
	pop_front(run);
}

void sfs_slice_buffer_deal(struct sfs_slice_buffer *run, uint64_t offset)
{
	uint64_t i = slab_of(run, run->dealt), end = slab_of(run, offset);

	if (offset <= run->dealt)
		return;
	run->dealt = offset;
	if (i < run->first)
		i = run->first;
	for (; i < end && i < run->first + run->n; i++)
		if (is_useless(run, i) && is_idle(entry(run, i)))
			free_slab(run, entry(run, i));
	pop_front(run);
}

uint64_t sfs_slice_buffer_live(const struct sfs_slice_buffer *run)
{
	uint64_t i, n = 0;

	for (i = run->first; i < run->first + run->n; i++)
		if (entry(run, i)->state == HERE || entry(run, i)->state == EXPECTED)
			n += entry(run, i)->n_live +
			     overlap(run, i, run->dealt, run->end);
	return n;
}

/* Copy n bytes between a buffer and the slabs. */
static void copy(const struct sfs_slice_buffer *run, uint64_t at, unsigned char *buf,
		 size_t n, bool is_write)
{
	unsigned char *p;
	size_t piece;

	for (; n > 0; n -= piece, at += piece, buf += piece) {
		p = sfs_slice_buffer_at(run, at, &piece);
		piece = piece < n ? piece : n;
		memcpy(is_write ? p : buf, is_write ? buf : p, piece);
	}
}

int sfs_slice_buffer_edit(struct sfs_slice_buffer *run, uint64_t start, uint64_t n_bytes,
			  const char *folder, uint64_t *ret_at, struct sfs_error *err)
{
	sfs_autofree unsigned char *group = sfs_malloc(SFS_TAR_BLOCK);
	uint64_t pos = 0, next;
	size_t n, n_group;
	int ret;

	for (; pos < n_bytes; pos += next) {
		for (n = SFS_TAR_BLOCK;; n = n_group) {
			n = n < n_bytes - pos ? n : (size_t)(n_bytes - pos);
			group = sfs_realloc(group, n);
			copy(run, start + pos, group, n, false);
			ret = sfs_rewrite_entry(group, n, n_bytes - pos, folder, &n_group,
						&next, err);
			if (ret != -EAGAIN)
				break;
		}
		if (ret < 0) {
			*ret_at = start + pos;
			return ret;
		}
		copy(run, start + pos, group, n_group, true);
	}
	return 0;
}

/* The group at `at` of the shard; in one piece, or in *copied. */
static int look(const struct sfs_slice_buffer *run, uint64_t at, uint64_t n_left,
		unsigned char **copied, struct sfs_tar_entry *ret_group,
		struct sfs_error *err)
{
	const unsigned char *bytes;
	size_t n;
	int ret;

	bytes = sfs_slice_buffer_at(run, at, &n);
	n = n < n_left ? n : (size_t)n_left;
	ret = sfs_tar_entry_read(bytes, n, n_left, ret_group, err);
	while (ret == -EAGAIN) {
		n = ret_group->need < n_left ? ret_group->need : (size_t)n_left;
		*copied = sfs_realloc(*copied, n);
		copy(run, at, *copied, n, false);
		ret = sfs_tar_entry_read(*copied, n, n_left, ret_group, err);
	}
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

int sfs_slice_buffer_check(const struct sfs_slice_buffer *run,
			   const struct sfs_block_sample *s, uint64_t *ret_at,
			   struct sfs_error *err)
{
	sfs_autofree unsigned char *copied = NULL;
	struct sfs_tar_entry group;
	uint64_t pos;
	int ret = 0;

	for (pos = 0; pos < s->n_bytes && ret == 0; pos += group.next) {
		*ret_at = s->start + pos;
		ret = look(run, s->start + pos, s->n_bytes - pos, &copied, &group, err);
		if (ret < 0)
			break;
		ret = check_group(&group, pos == 0, s, err);
		sfs_tar_entry_done(&group);
	}
	return ret;
}
