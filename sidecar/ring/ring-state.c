/* SPDX-License-Identifier: MIT */
/* How this works: ring-memory.h has what lies in the memory, and how both sides
 * change it.  The file is locked while anyone who has its descriptor lives, so the
 * lock outlives us.
 *
 * What a predecessor that was killed has left is taken over from its file (ring-held.h).
 * Ours has another name, until it can replace that one. */
#include "ring/ring-state.h"

#include "ring/layout.h"
#include "ring/ring-guard.h"
#include "ring/ring-past.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

void sfs_ring_state_init(struct sfs_ring_state *s, const char *path, uint32_t n_slots)
{
	*s = (struct sfs_ring_state){
		.path = path, .n_slots = n_slots, .fd = -1, .memfd = -1};
	pthread_mutex_init(&s->lock, NULL);
	sfs_ring_held_init(&s->held, path);
}

/* Memory. */

static uint64_t round_up(uint64_t n)
{
	return (n + SFS_RING_PAGE - 1) / SFS_RING_PAGE * SFS_RING_PAGE;
}

static char *next_path(const char *path)
{
	return sfs_asprintf("%s.next", path);
}

/* Under another name, until it can replace that of a predecessor. */
static int open_file(struct sfs_ring_state *s, const char *path, struct sfs_error *err)
{
	int error;

	unlink(path); /* of one that died here */
	s->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (s->fd < 0)
		return sfs_error_set(err, -errno, "%s: %s", path, strerror(errno));
	error = posix_fallocate(s->fd, 0, SFS_RING_SLOTS_OFFSET);
	if (error != 0)
		return sfs_error_set(err, -error, "%s: %s", path, strerror(error));
	if (flock(s->fd, LOCK_EX | LOCK_NB) < 0)
		return sfs_error_set(err, -errno, "%s: %s", path, strerror(errno));
	return 0;
}

static int make_memory(struct sfs_ring_state *s, const struct shufflefs_layout *layout,
		       struct sfs_error *err)
{
	uint64_t stride = round_up(layout->slot_bytes);
	uint64_t n_slots_bytes = stride * s->n_slots;
	uint64_t n_bytes = SFS_RING_SLOTS_OFFSET + n_slots_bytes;
	struct sfs_ring_memory *m = NULL;

	s->memfd = memfd_create("shufflefs-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (s->memfd >= 0 && ftruncate(s->memfd, (off_t)n_slots_bytes) == 0 &&
	    fcntl(s->memfd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
		m = sfs_ring_map(s->fd, s->memfd, n_bytes);
	if (!m)
		return sfs_error_set(err, -errno, "cannot get %" PRIu64
						  " bytes for the ring: %s",
				     n_bytes, strerror(errno));
	s->memory = m;
	s->n_bytes = n_bytes;
	s->stride = stride;
	sfs_ring_guard(m);
	memcpy(m->magic, SFS_RING_MAGIC, sizeof m->magic);
	m->version = SFS_RING_VERSION;
	m->n_slots = s->n_slots;
	m->n_bytes = n_bytes;
	m->slots_offset = SFS_RING_SLOTS_OFFSET;
	m->slot_stride = stride;
	m->layout = *layout;
	if (getrandom(&m->id, sizeof m->id, 0) != sizeof m->id || m->id == 0)
		m->id = sfs_clock_ns();
	return 0;
}

int sfs_ring_state_make(struct sfs_ring_state *s, const struct shufflefs_layout *layout,
			struct sfs_error *err)
{
	sfs_autofree char *path = next_path(s->path);
	int ret = open_file(s, path, err);

	return ret < 0 ? ret : make_memory(s, layout, err);
}

void *sfs_ring_state_slot(struct sfs_ring_state *s, uint32_t i)
{
	return (unsigned char *)s->memory + SFS_RING_SLOTS_OFFSET + i * s->stride;
}

/* The file. */

/* That of a predecessor stays until the first consumer has this one: nobody has taken
 * anything here, and if we are killed before, all that it says still holds. */
bool sfs_ring_state_show(struct sfs_ring_state *s)
{
	sfs_autofree char *path = sfs_ring_state_path(s->path);
	sfs_autofree char *mine = next_path(s->path);

	if (!s->is_shown)
		s->is_shown = sfs_ring_held_show(&s->held, mine, path);
	return s->is_shown;
}

int sfs_ring_state_begin(struct sfs_ring_state *s, struct sfs_error *err)
{
	sfs_autofree char *path = next_path(s->path);

	s->n_awaited = sfs_ring_held_begin(&s->held, s->memory);
	if (!s->held.rings && !sfs_ring_state_show(s))
		return sfs_error_set(err, -errno, "%s: %s", path, strerror(errno));
	return 0;
}

void sfs_ring_state_remove(struct sfs_ring_state *s, bool has_attached)
{
	sfs_autofree char *path = sfs_ring_state_path(s->path);
	sfs_autofree char *mine = next_path(s->path);

	if (!s->is_shown && s->fd >= 0)
		unlink(mine);
	if (!s->memory)
		return;
	s->is_over = atomic_load(&s->memory->state) == SFS_RING_ENDED ||
		     (s->is_shown && !has_attached);
	if (s->is_over) /* (or it is that of a predecessor, whose streams have ended) */
		unlink(path);
}

void sfs_ring_state_close(struct sfs_ring_state *s)
{
	sfs_ring_held_done(&s->held, s->is_over);
	if (s->memory) {
		sfs_ring_unguard(s->memory);
		munmap(s->memory, s->n_bytes);
	}
	if (s->memfd >= 0)
		close(s->memfd);
	if (s->fd >= 0)
		close(s->fd);
	pthread_mutex_destroy(&s->lock);
}

/* The phase. */

void sfs_ring_state_wake(struct sfs_ring_state *s)
{
	sfs_ring_count(&s->memory->filled, INT_MAX);
	sfs_ring_count(&s->memory->freed, INT_MAX);
}

void sfs_ring_state_fail(struct sfs_ring_state *s, enum sfs_ring_phase phase,
			 const char *why)
{
	struct sfs_ring_memory *m = s->memory;

	if (atomic_load(&m->state) >= SFS_RING_FAILED)
		return;
	snprintf(m->error, sizeof m->error, "%s", why);
	atomic_store(&m->state, phase);
}

int sfs_ring_state_check(const struct sfs_ring_state *s, struct sfs_error *err)
{
	if (!sfs_ring_is_whole(s->memory))
		return sfs_error_set(err, -EIO,
				     "%s.state was truncated or overwritten, so the "
				     "ring is lost",
				     s->path);
	if (atomic_load(&s->memory->state) < SFS_RING_FAILED)
		return 0;
	return sfs_error_set(err, -EIO, "%s", s->memory->error);
}
