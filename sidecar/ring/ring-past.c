/* SPDX-License-Identifier: MIT */
/* How this works: the producer is dead, or it would listen at the socket.  So if the
 * file's lock is still held, consumers hold it (ring-memory.h). */
#include "ring/ring-past.h"

#include "ring/layout.h"
#include "ring/ring-guard.h"
#include "ring/ring-memory.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/signals.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PF_EXITING 4 /* of the kernel, in /proc/PID/stat: proc(5) */

char *sfs_ring_state_path(const char *path)
{
	return sfs_asprintf("%s.state", path);
}

struct sfs_ring_memory *sfs_ring_past_map(const char *path)
{
	sfs_autofree char *name = sfs_ring_state_path(path);
	int fd = open(name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	struct sfs_ring_memory *m = MAP_FAILED;
	struct stat st;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	    st.st_size == SFS_RING_SLOTS_OFFSET && flock(fd, LOCK_EX | LOCK_NB) < 0 &&
	    errno == EWOULDBLOCK)
		m = mmap(NULL, SFS_RING_SLOTS_OFFSET, PROT_READ | PROT_WRITE, MAP_SHARED,
			 fd, 0);
	close(fd);
	if (m == MAP_FAILED)
		return NULL;
	sfs_ring_guard(m);
	if (memcmp(m->magic, SFS_RING_MAGIC, sizeof m->magic) == 0 &&
	    m->version == SFS_RING_VERSION && m->n_slots <= SFS_RING_SLOTS_MAX &&
	    m->n_sessions <= SFS_RING_SESSIONS &&
	    sfs_layout_check(&m->layout, &(struct sfs_error){""}) == 0)
		return m;
	sfs_ring_past_unmap(m);
	return NULL;
}

void sfs_ring_past_unmap(struct sfs_ring_memory *past)
{
	sfs_ring_unguard(past);
	munmap(past, SFS_RING_SLOTS_OFFSET);
}

/* Is this thread in its last system call? */
static bool is_exiting(const char *pid, const char *tid)
{
	sfs_autofree char *path = sfs_asprintf("/proc/%s/task/%s/stat", pid, tid);
	char text[512], *at;
	unsigned flags = 0;
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return true;
	n = read(fd, text, sizeof text - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	at = strrchr(text, ')'); /* (a name may have some) */
	if (!at || sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %u", &flags) != 1)
		return false;
	return flags & PF_EXITING;
}

/* It was killed, and runs nothing of its own again, but the kernel has not ended it yet,
 * which takes its time on a busy machine. */
static bool is_dying(uint32_t pid)
{
	sfs_autofree char *name = sfs_asprintf("%u", pid);
	sfs_autofree char *path = sfs_asprintf("/proc/%u/task", pid);
	struct dirent *entry;
	bool is = true;
	DIR *d;

	if (sfs_signals_of((pid_t)pid) == SFS_SIGNALS_KILL)
		return true;
	d = opendir(path);
	if (!d)
		return false;
	while (is && (entry = readdir(d)) != NULL)
		is = entry->d_name[0] == '.' || is_exiting(name, entry->d_name);
	closedir(d);
	return is;
}

bool sfs_ring_is_dead(uint32_t pid)
{
	struct pollfd p = {.events = POLLIN};
	bool is;

	if (pid == 0)
		return false;
	p.fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
	if (p.fd < 0 && errno == ENOSYS) /* before Linux 5.3, and under valgrind */
		return (kill((pid_t)pid, 0) < 0 && errno == ESRCH) || is_dying(pid);
	if (p.fd < 0)
		return errno == ESRCH;
	is = poll(&p, 1, 0) > 0;
	close(p.fd);
	return is || is_dying(pid);
}

uint32_t sfs_ring_past_count(const struct sfs_ring_memory *past)
{
	uint32_t i, n = 0, pid;

	for (i = 0; i < SFS_RING_CONSUMERS; i++) {
		pid = atomic_load(&past->pids[i]);
		n += pid != 0 && !sfs_ring_is_dead(pid);
	}
	return n;
}

bool sfs_ring_find_past(const char *path, struct shufflefs_layout *ret_layout)
{
	struct sfs_ring_memory *past = sfs_ring_past_map(path);
	bool is;

	if (!past)
		return false;
	is = sfs_ring_past_count(past) > 0;
	*ret_layout = past->layout;
	sfs_ring_past_unmap(past);
	return is;
}

/* Was the batch in this slot left to us?  From then on nobody can take it. */
static bool is_left(struct sfs_ring_memory *m, enum sfs_ring_policy policy,
		    struct sfs_ring_memory *past, uint32_t i)
{
	uint64_t word = atomic_load(&past->words[i]);
	uint32_t id;

	while (sfs_ring_word_owner(word) == SFS_RING_FILLED)
		if (atomic_compare_exchange_strong(&past->words[i], &word,
						   sfs_ring_word(sfs_ring_word_seq(word),
								 SFS_RING_KEPT)))
			return true;
	if (sfs_ring_word_owner(word) == SFS_RING_KEPT)
		return true;
	id = sfs_ring_word_owner(word) - SFS_RING_CONSUMER;
	if (id >= SFS_RING_CONSUMERS || !sfs_ring_is_dead(atomic_load(&past->pids[id])))
		return false;
	if (policy == SFS_RING_FAIL)
		snprintf(m->error, sizeof m->error,
			 "trainer %u (pid %u) died while it held batch %" PRIu64
			 ", after the ring's producer had died (on-consumer-death=fail)",
			 id, atomic_load(&past->pids[id]), sfs_ring_word_seq(word));
	return policy == SFS_RING_REDELIVER;
}

/* Of the batches of session `s` from number `from` on, those that nobody needs again. */
static uint64_t find_had(const struct sfs_ring_memory *past, uint32_t s, uint64_t from,
			 const bool *is_left_here)
{
	const struct sfs_ring_session *session = &past->sessions[s];
	uint64_t had = 0, n = atomic_load(&session->n), at;
	uint32_t i;

	for (i = 0; i < SFS_RING_HAD_MAX; i++)
		if (from + i < n ||
		    sfs_ring_has_had(session->had_from, session->had, from + i))
			had |= 1ULL << i;
	for (i = 0; i < past->n_slots; i++) {
		at = past->numbers[i] - from;
		if (is_left_here[i] && past->batches[i].sender == s &&
		    at < SFS_RING_HAD_MAX)
			had &= ~(1ULL << at);
	}
	return had;
}

void sfs_ring_past_take_over(struct sfs_ring_memory *past, struct sfs_ring_memory *m,
			     enum sfs_ring_policy policy)
{
	static const char why[] =
		"the ring's producer died, and another one took over; attach again";
	bool is_left_here[SFS_RING_SLOTS_MAX];
	uint32_t i, s;

	m->n_sessions = past->n_sessions;
	for (s = 0; s < m->n_sessions; s++) {
		m->sessions[s].id = past->sessions[s].id;
		m->sessions[s].n = past->sessions[s].n;
		m->sessions[s].has_ended = past->sessions[s].has_ended;
	}
	if (atomic_load(&past->state) == SFS_RING_ENDED)
		return; /* consumers have all of it in their hands */
	if (atomic_load(&past->state) == SFS_RING_RUNS)
		memcpy(past->error, why, sizeof why);
	atomic_store(&past->state, SFS_RING_LOST);
	for (i = 0; i < past->n_slots; i++) {
		s = past->batches[i].sender;
		is_left_here[i] = is_left(m, policy, past, i);
		if (is_left_here[i] && s < m->n_sessions &&
		    past->numbers[i] < m->sessions[s].n)
			m->sessions[s].n = past->numbers[i];
	}
	for (s = 0; s < m->n_sessions; s++) {
		m->sessions[s].had_from = m->sessions[s].n;
		m->sessions[s].had = find_had(past, s, m->sessions[s].n, is_left_here);
	}
	if (m->error[0])
		atomic_store(&m->state, SFS_RING_LOST);
	sfs_ring_count(&past->filled, INT_MAX);
}
