/* SPDX-License-Identifier: MIT */
/* How this works: the producer is dead, or it would listen at the socket.  So if the
 * file's lock is still held, consumers hold it (ring-memory.h).  Each file says which one is
 * before it. */
#include "ring/ring-past.h"

#include "ring/layout.h"
#include "ring/ring-dead.h"
#include "ring/ring-guard.h"
#include "ring/ring-memory.h"

#include "base/alloc.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

char *sfs_ring_state_path(const char *path)
{
	return sfs_asprintf("%s.state", path);
}

static char *name_of(const char *path, uint64_t id)
{
	return id == 0 ? sfs_ring_state_path(path)
		       : sfs_asprintf("%s.state.%016" PRIx64, path, id);
}

static bool is_sane(const struct sfs_ring_memory *m)
{
	return memcmp(m->magic, SFS_RING_MAGIC, sizeof m->magic) == 0 &&
	       m->version == SFS_RING_VERSION && m->n_slots <= SFS_RING_SLOTS_MAX &&
	       m->n_sessions <= SFS_RING_SESSIONS &&
	       sfs_layout_check(&m->layout, &(struct sfs_error){""}) == 0;
}

/* Whether or not somebody has it open. */
static bool open_any(const char *path, uint64_t id, struct sfs_ring_past_file *ret)
{
	sfs_autofree char *name = name_of(path, id);
	int fd = open(name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	struct sfs_ring_memory *m = MAP_FAILED;
	struct stat st;

	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	    st.st_size == SFS_RING_SLOTS_OFFSET)
		m = mmap(NULL, SFS_RING_SLOTS_OFFSET, PROT_READ | PROT_WRITE, MAP_SHARED,
			 fd, 0);
	if (m == MAP_FAILED) {
		close(fd);
		return false;
	}
	sfs_ring_guard(m);
	*ret = (struct sfs_ring_past_file){.memory = m, .fd = fd, .id = m->id};
	if (is_sane(m) && (id == 0 || m->id == id))
		return true;
	sfs_ring_past_close(ret);
	return false;
}

bool sfs_ring_past_open(const char *path, uint64_t id, struct sfs_ring_past_file *ret)
{
	if (!open_any(path, id, ret))
		return false;
	if (id != 0 || sfs_ring_past_is_open(ret))
		return true;
	sfs_ring_past_close(ret);
	return false;
}

void sfs_ring_past_close(struct sfs_ring_past_file *file)
{
	sfs_ring_unguard(file->memory);
	munmap(file->memory, SFS_RING_SLOTS_OFFSET);
	close(file->fd);
}

bool sfs_ring_past_is_open(const struct sfs_ring_past_file *file)
{
	if (flock(file->fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK;
	flock(file->fd, LOCK_UN);
	return false;
}

uint32_t sfs_ring_past_count(const struct sfs_ring_past_file *file)
{
	uint32_t i, n = 0, pid;

	for (i = 0; i < SFS_RING_CONSUMERS; i++) {
		pid = atomic_load(&file->memory->pids[i]);
		n += pid != 0 && !sfs_ring_is_dead(pid);
	}
	return n;
}

bool sfs_ring_find_past(const char *path, struct shufflefs_layout *ret_layout)
{
	struct sfs_ring_past_file past;
	bool is;

	if (!sfs_ring_past_open(path, 0, &past))
		return false;
	is = sfs_ring_past_count(&past) > 0;
	*ret_layout = past.memory->layout;
	sfs_ring_past_close(&past);
	return is;
}

bool sfs_ring_past_keep(const char *path, uint64_t id)
{
	sfs_autofree char *state = sfs_ring_state_path(path);
	sfs_autofree char *name = name_of(path, id);

	return link(state, name) == 0 || errno == EEXIST;
}

void sfs_ring_past_forget(const char *path, uint64_t id)
{
	sfs_autofree char *name = name_of(path, id);

	unlink(name);
}

void sfs_ring_past_clear(const char *path)
{
	struct sfs_ring_past_file file;
	uint64_t id = 0;

	while (open_any(path, id, &file)) {
		if (id != 0)
			sfs_ring_past_forget(path, id);
		id = atomic_load(&file.memory->before);
		sfs_ring_past_close(&file);
		if (id == 0)
			break;
	}
}
