/* SPDX-License-Identifier: MIT */
/* How this works.  `n` goes back by one store.  Before that, what lies behind it is noted in
 * the one of the two masks that does not hold, and another store makes that one hold: it
 * says the same as before, for all that it says more of lies below `n`. */
#include "ring/ring-session.h"

#include <string.h>

static bool has_bit(const struct sfs_ring_had *had, uint64_t number)
{
	return number - had->from < SFS_RING_HAD_MAX &&
	       had->bits >> (number - had->from) & 1;
}

static const struct sfs_ring_had *had_of(const struct sfs_ring_session *s)
{
	return &s->had[atomic_load(&s->which) & 1];
}

uint64_t sfs_ring_session_bits(const struct sfs_ring_session *s, uint64_t from)
{
	uint64_t bits = 0;
	uint32_t i;

	for (i = 0; i < SFS_RING_HAD_MAX; i++)
		if (has_bit(had_of(s), from + i))
			bits |= 1ULL << i;
	return bits;
}

bool sfs_ring_session_has(const struct sfs_ring_session *s, uint64_t number)
{
	return number < atomic_load(&s->n) || has_bit(had_of(s), number);
}

void sfs_ring_session_miss(struct sfs_ring_session *s, uint64_t number)
{
	uint64_t n = atomic_load(&s->n), from = number < n ? number : n;
	uint32_t other = ~atomic_load(&s->which) & 1, i;

	s->had[other] = (struct sfs_ring_had){.from = from};
	for (i = 0; i < SFS_RING_HAD_MAX; i++)
		if (from + i != number && sfs_ring_session_has(s, from + i))
			s->had[other].bits |= 1ULL << i;
	atomic_store(&s->has_ended, 0);
	atomic_store(&s->which, other);
	atomic_store(&s->n, from);
}

void sfs_ring_session_copy(struct sfs_ring_session *to,
			   const struct sfs_ring_session *from)
{
	memset(to, 0, sizeof *to);
	to->id = from->id;
	to->n = atomic_load(&from->n);
	to->has_ended = atomic_load(&from->has_ended);
	to->had[0] = *had_of(from);
}
