/* SPDX-License-Identifier: MIT */
/* How this works: steps begin at multiples of their length.  What is left behind is all
 * before the hindmost walker, and one number says how much of that was taken. */
#include "tree/trail.h"

void sfs_trail_init(struct sfs_trail *trail, uint64_t kept)
{
	*trail = (struct sfs_trail){.kept = kept, .begin = UINT64_MAX};
	sfs_list_init(&trail->walkers);
}

void sfs_trail_join(struct sfs_trail *trail, struct sfs_walker *walker)
{
	*walker = (struct sfs_walker){0};
	sfs_list_push(&trail->walkers, &walker->link);
}

void sfs_trail_leave(struct sfs_trail *trail, struct sfs_walker *walker)
{
	sfs_link_remove(&walker->link);
}

/* What the walker has left behind ends here. */
static uint64_t left_by(const struct sfs_trail *trail, const struct sfs_walker *walker)
{
	if (walker->leaps || walker->front < trail->kept)
		return 0;
	return walker->front - trail->kept;
}

static bool has_step(const struct sfs_trail *trail, uint64_t end)
{
	return end >= SFS_TRAIL_STEP && trail->begin <= end - SFS_TRAIL_STEP;
}

bool sfs_trail_read(struct sfs_trail *trail, struct sfs_walker *walker, uint64_t offset,
		    uint64_t n)
{
	uint64_t end = offset + n;

	if (walker->has_read &&
	    (end + trail->kept < walker->front || offset > walker->front + trail->kept))
		walker->leaps = true;
	walker->has_read = true;
	if (end > walker->front)
		walker->front = end;
	if (offset < trail->begin)
		trail->begin = offset - offset % SFS_TRAIL_STEP;
	return has_step(trail, left_by(trail, walker));
}

bool sfs_trail_take(struct sfs_trail *trail, uint64_t *ret_offset)
{
	uint64_t end = UINT64_MAX, left;

	SFS_EACH (walker, &trail->walkers, struct sfs_walker, link) {
		left = left_by(trail, walker);
		end = left < end ? left : end;
	}
	if (sfs_list_is_empty(&trail->walkers) || !has_step(trail, end))
		return false;
	*ret_offset = trail->begin;
	trail->begin += SFS_TRAIL_STEP;
	return true;
}
