/* SPDX-License-Identifier: MIT */
/* How this works: entries have one size, so that member i is found at once; one more
 * after the last says where the names end.  The stored form is the entries, then the
 * names. */
#include "catalog/members.h"

#include "base/alloc.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define SPARSE 1u

struct sfs_member_entry {
	uint64_t start, data; /* in the shard */
	uint64_t size;
	int64_t mtime;
	uint64_t name; /* where it begins in the names; it ends where the next begins */
	uint32_t mode;
	uint32_t flags; /* SPARSE */
};
_Static_assert(sizeof(struct sfs_member_entry) == 48, "as stored");

static const struct sfs_member_entry no_entry;

void sfs_members_done(struct sfs_members *m)
{
	if (!m->is_borrowed) {
		free(m->entries);
		free(m->names);
	}
	*m = (struct sfs_members){0};
}

static size_t add_name(struct sfs_members *m, const char *name, size_t n)
{
	size_t at = m->names_bytes;

	if (at + n >= m->names_capacity) { /* never NULL, not even for "" */
		m->names_capacity = 2 * (at + n) + 1024;
		m->names = sfs_realloc(m->names, m->names_capacity);
	}
	if (n > 0)
		memcpy(m->names + at, name, n);
	m->names_bytes += n;
	return at;
}

void sfs_members_add(struct sfs_members *m, uint64_t start, const struct sfs_tar_entry *g)
{
	assert(!m->is_borrowed);
	if (!g->is_regular)
		return;
	if (m->n + 2 > m->capacity) {
		m->capacity = 2 * m->capacity + 64;
		m->entries =
			sfs_reallocarray(m->entries, m->capacity, sizeof *m->entries);
	}
	m->entries[m->n] = (struct sfs_member_entry){
		.start = start,
		.data = start + g->data,
		.size = g->size,
		.mtime = g->mtime,
		.name = add_name(m, g->name, g->n_name),
		.mode = g->mode,
		.flags = g->is_sparse ? SPARSE : 0,
	};
	m->n++;
	m->entries[m->n] = (struct sfs_member_entry){.name = m->names_bytes};
}

void sfs_members_trim(struct sfs_members *m)
{
	if (m->is_borrowed || m->n == 0)
		return;
	m->capacity = m->n + 1;
	m->entries = sfs_reallocarray(m->entries, m->capacity, sizeof *m->entries);
	m->names_capacity = m->names_bytes + 1;
	m->names = sfs_realloc(m->names, m->names_capacity);
}

struct sfs_member sfs_members_get(const struct sfs_members *m, uint64_t i)
{
	const struct sfs_member_entry *e = &m->entries[i];

	return (struct sfs_member){
		.name = m->names + e->name,
		.n_name = (size_t)(e[1].name - e->name),
		.start = e->start,
		.data = e->data,
		.size = e->size,
		.mtime = e->mtime,
		.mode = e->mode,
		.is_sparse = e->flags & SPARSE,
	};
}

uint64_t sfs_members_find(const struct sfs_members *m, uint64_t offset)
{
	uint64_t low = 0, high = m->n, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (m->entries[middle].start < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint64_t sfs_members_memory(const struct sfs_members *m)
{
	return m->is_borrowed ? 0 : m->capacity * sizeof *m->entries + m->names_capacity;
}

uint64_t sfs_members_stored_max(uint64_t n, uint64_t names_bytes)
{
	return (n + 1) * sizeof(struct sfs_member_entry) + names_bytes;
}

size_t sfs_members_stored_bytes(const struct sfs_members *m)
{
	return (size_t)sfs_members_stored_max(m->n, m->names_bytes);
}

void sfs_members_store(const struct sfs_members *m, void *ret_bytes)
{
	size_t entries_bytes = (m->n + 1) * sizeof *m->entries;

	memcpy(ret_bytes, m->entries ? m->entries : &no_entry, entries_bytes);
	if (m->names_bytes > 0)
		memcpy((char *)ret_bytes + entries_bytes, m->names, m->names_bytes);
}

/* ---- borrowed, after a check ---- */

/* May this member of a shard of `shard_bytes` come before the next, which begins at
 * `next`? */
static bool is_member(const struct sfs_member_entry *e, uint64_t next,
		      uint64_t shard_bytes)
{
	if (e->start % SFS_TAR_BLOCK != 0 || e->mode > 07777 || e->flags > SPARSE ||
	    e->size > INT64_MAX || e->name > e[1].name)
		return false;
	if (e->start >= e->data || e->data > next || next > shard_bytes)
		return false;
	return e->flags == SPARSE || e->size <= next - e->data;
}

/* Is this the entry after the last? */
static bool is_last(const struct sfs_member_entry *e, size_t names_bytes)
{
	const struct sfs_member_entry last = {.name = names_bytes};

	return memcmp(e, &last, sizeof last) == 0;
}

int sfs_members_borrow(const void *bytes, size_t n_bytes, uint64_t n,
		       uint64_t shard_bytes, struct sfs_members *ret,
		       struct sfs_error *err)
{
	const struct sfs_member_entry *entries = bytes;
	const char *names;
	size_t names_bytes;
	uint64_t i;

	if (n >= n_bytes / sizeof *entries)
		return sfs_error_set(err, -EBADMSG,
				     "too short for its number of members");
	names = (const char *)&entries[n + 1];
	names_bytes = n_bytes - (n + 1) * sizeof *entries;
	if (entries[0].name != 0 || !is_last(&entries[n], names_bytes) ||
	    memchr(names, 0, names_bytes))
		return sfs_error_set(err, -EBADMSG, "wrong names of members");
	for (i = 0; i < n; i++)
		if (!is_member(&entries[i],
			       i + 1 < n ? entries[i + 1].start : shard_bytes,
			       shard_bytes))
			return sfs_error_set(err, -EBADMSG, "impossible member %llu",
					     (unsigned long long)i);
	*ret = (struct sfs_members){
		.entries = (struct sfs_member_entry *)entries,
		.names = (char *)names,
		.n = n,
		.names_bytes = names_bytes,
		.is_borrowed = true,
	};
	return 0;
}
