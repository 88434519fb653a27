/* SPDX-License-Identifier: MIT */
/* How this works.  ring-memory.h has the protocol of the shared words.  The filling
 * thread takes free slots and publishes them, without a lock.  The ring's own thread
 * polls the listener and, for each consumer, its socket and its process (a child of the
 * consumer may keep the socket open); when either ends, it gives away what the consumer
 * held.  It also looks at the words now and then: one that a consumer holds unchanged for
 * longer than hung_ms is reported.
 *
 * In a GPU's memory each slot has one on the host beside it, where it is filled, unless a
 * network card writes into the GPU's memory: the address that publish() gets tells.  It
 * begins the copy; the word stays FILLING until ring-copies.h says that it has arrived.
 * Numbers follow the order of publish(), and so do arrivals.  What is never copied has no
 * memory on the host: pages of a memfd come when they are touched, or pinned.
 *
 * What a predecessor that was killed has left is taken over from the file of its state
 * (ring-past.h). */
#include "ring/ring.h"

#include "ring/local-socket.h"
#include "ring/ring-copies.h"
#include "ring/ring-memory.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define DETACH_MS 2000

struct consumer {
	int fd, pidfd; /* fd < 0: there is none */
	pid_t pid;
};

/* Since when a consumer holds a slot, as far as the ring's thread has seen. */
struct watch {
	uint64_t word, since_ns;
	bool is_hung; /* it was reported */
};

struct sfs_ring {
	struct sfs_ring_settings settings;
	char *path;
	struct sfs_ring_memory *memory;
	int state_fd, memfd, stop_fd;
	bool has_state; /* the file at sfs_ring_state_path() is ours */
	struct sfs_local_socket socket;
	pthread_t thread;
	bool has_thread;
	const struct sfs_device_ops *device_ops; /* NULL: the slots are on the host */
	struct sfs_device *device;
	struct sfs_device_info info;
	struct sfs_ring_copies *copies;
	bool is_staged;
	_Atomic(const char *) placement; /* NULL: not known yet */
	int filling;			 /* the slot that was taken; < 0: none */
	uint64_t n_numbered;		 /* batches that publish() has given a number */
	_Atomic uint64_t waited_ns, waits_since_ns; /* 0: it has a slot */
	_Atomic uint64_t n_samples, n_bytes, next;  /* of what was published */
	pthread_mutex_t lock; /* of what follows, and of the memory's error */
	struct consumer consumers[SFS_RING_CONSUMERS];
	struct watch watches[SFS_RING_SLOTS_MAX];
	uint32_t n_consumers;
	uint32_t n_attached, n_awaited; /* ever; of a predecessor */
	uint64_t begin_ns;
	uint64_t alone_since_ns;
};

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
static int open_state(struct sfs_ring *ring, const char *path, struct sfs_error *err)
{
	int error;

	unlink(path); /* of one that died here */
	ring->state_fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (ring->state_fd < 0)
		return sfs_error_set(err, -errno, "%s: %s", path, strerror(errno));
	error = posix_fallocate(ring->state_fd, 0, SFS_RING_SLOTS_OFFSET);
	if (error != 0)
		return sfs_error_set(err, -error, "%s: %s", path, strerror(error));
	if (flock(ring->state_fd, LOCK_EX | LOCK_NB) < 0)
		return sfs_error_set(err, -errno, "%s: %s", path, strerror(errno));
	return 0;
}

static int make_memory(struct sfs_ring *ring, const struct shufflefs_layout *layout,
		       struct sfs_error *err)
{
	uint64_t stride = round_up(layout->slot_bytes);
	uint64_t n_slots_bytes = stride * ring->settings.n_slots;
	uint64_t n_bytes = SFS_RING_SLOTS_OFFSET + n_slots_bytes;
	struct sfs_ring_memory *m = NULL;

	ring->memfd = memfd_create("shufflefs-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (ring->memfd >= 0 && ftruncate(ring->memfd, (off_t)n_slots_bytes) == 0 &&
	    fcntl(ring->memfd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) ==
		    0)
		m = sfs_ring_map(ring->state_fd, ring->memfd, n_bytes);
	if (!m)
		return sfs_error_set(err, -errno, "%" PRIu64 " bytes for the ring: %s",
				     n_bytes, strerror(errno));
	ring->memory = m;
	memcpy(m->magic, SFS_RING_MAGIC, sizeof m->magic);
	m->version = SFS_RING_VERSION;
	m->n_slots = ring->settings.n_slots;
	m->n_bytes = n_bytes;
	m->slots_offset = SFS_RING_SLOTS_OFFSET;
	m->slot_stride = stride;
	m->layout = *layout;
	return 0;
}

static void arrived(void *arg, uint32_t slot, const struct shufflefs_batch *batch);
static void copy_failed(void *arg, const char *why);

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
	const struct sfs_ring_memory *m = ring->memory;
	struct sfs_device_settings settings = {.n_slots = m->n_slots,
					       .slot_stride = m->slot_stride,
					       .staging = (unsigned char *)ring->memory +
							  SFS_RING_SLOTS_OFFSET};
	struct sfs_ring_copies_settings copies = {.n_bytes = m->layout.slot_bytes,
						  .arrived = arrived,
						  .failed = copy_failed,
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
	ring->copies = sfs_ring_copies_new(&copies, err);
	return ring->copies ? 0 : -EAGAIN;
}

static void *slot_at(struct sfs_ring *ring, uint32_t i)
{
	return (unsigned char *)ring->memory + SFS_RING_SLOTS_OFFSET +
	       i * ring->memory->slot_stride;
}

/* The state's file. */

static void find_past(struct sfs_ring *ring)
{
	struct sfs_ring_memory *past = sfs_ring_past_map(ring->path), *m = ring->memory;
	uint32_t n;

	if (!past)
		return;
	n = sfs_ring_past_count(past);
	if (n > 0 && sfs_layout_equal(&past->layout, &m->layout)) {
		if (atomic_load(&past->state) != SFS_RING_ENDED)
			ring->n_awaited = n;
		sfs_ring_past_take_over(past, m, ring->settings.policy);
		sfs_info("ring %s: %u consumers live, whose producer died: it goes on",
			 ring->path, n);
	}
	sfs_ring_past_unmap(past);
}

/* That of a predecessor stays until the first consumer has this one: nobody has taken
 * anything here, and if we are killed before, all that it says still holds. */
static bool show_state(struct sfs_ring *ring)
{
	sfs_autofree char *path = sfs_ring_state_path(ring->path);
	sfs_autofree char *mine = next_path(ring->path);

	if (!ring->has_state)
		ring->has_state = rename(mine, path) == 0;
	return ring->has_state;
}

static int make_state(struct sfs_ring *ring, const struct shufflefs_layout *layout,
		      struct sfs_error *err)
{
	sfs_autofree char *path = next_path(ring->path);
	int ret = open_state(ring, path, err);

	if (ret == 0)
		ret = make_memory(ring, layout, err);
	if (ret == 0)
		ret = open_device(ring, err);
	if (ret == 0) {
		find_past(ring);
		if (ring->n_awaited == 0 && !show_state(ring))
			ret = sfs_error_set(err, -errno, "%s: %s", path, strerror(errno));
	}
	return ret;
}

/* Unless it is what a successor needs. */
static void remove_state(struct sfs_ring *ring)
{
	sfs_autofree char *path = sfs_ring_state_path(ring->path);
	sfs_autofree char *mine = next_path(ring->path);
	bool has_ended;

	if (!ring->has_state && ring->state_fd >= 0)
		unlink(mine);
	if (!ring->has_state)
		return;
	has_ended = atomic_load(&ring->memory->state) == SFS_RING_ENDED;
	if (has_ended || ring->n_attached == 0)
		unlink(path);
}

/* Sessions. */

int sfs_ring_session(struct sfs_ring *ring, uint64_t id, struct sfs_error *err)
{
	struct sfs_ring_memory *m = ring->memory;
	uint32_t i;

	for (i = 0; i < m->n_sessions; i++)
		if (m->sessions[i].id == id)
			return (int)i;
	if (i == SFS_RING_SESSIONS)
		return sfs_error_set(err, -ENOSPC,
				     "a ring has batches of %d streams at most",
				     SFS_RING_SESSIONS);
	m->sessions[i].id = id;
	m->n_sessions++;
	return (int)i;
}

bool sfs_ring_look_at_session(struct sfs_ring *ring, uint32_t number,
			      struct sfs_ring_past *ret)
{
	const struct sfs_ring_session *s = &ring->memory->sessions[number];

	if (number >= ring->memory->n_sessions)
		return false;
	*ret = (struct sfs_ring_past){s->id, atomic_load(&s->n),
				      atomic_load(&s->has_ended) != 0};
	return true;
}

void sfs_ring_begin_session(struct sfs_ring *ring, uint32_t number, uint64_t n)
{
	atomic_store(&ring->memory->sessions[number].n, n);
}

void sfs_ring_end_session(struct sfs_ring *ring, uint32_t number)
{
	atomic_store(&ring->memory->sessions[number].has_ended, 1);
}

bool sfs_ring_is_awaited(struct sfs_ring *ring)
{
	bool is;

	pthread_mutex_lock(&ring->lock);
	is = ring->n_attached < ring->n_awaited &&
	     (ring->settings.await_ms == 0 ||
	      sfs_clock_ns() - ring->begin_ns < ring->settings.await_ms * SFS_NS_PER_MS);
	pthread_mutex_unlock(&ring->lock);
	return is;
}

/* The state. */

static void wake_all(struct sfs_ring *ring)
{
	sfs_ring_count(&ring->memory->filled, INT_MAX);
	sfs_ring_count(&ring->memory->freed, INT_MAX);
}

/* With the lock.  The first failure is the one that is told. */
static void set_failed(struct sfs_ring *ring, enum sfs_ring_state state, const char *why)
{
	struct sfs_ring_memory *m = ring->memory;

	if (atomic_load(&m->state) >= SFS_RING_FAILED)
		return;
	snprintf(m->error, sizeof m->error, "%s", why);
	atomic_store(&m->state, state);
}

static void copy_failed(void *arg, const char *why)
{
	struct sfs_ring *ring = arg;

	pthread_mutex_lock(&ring->lock);
	set_failed(ring, SFS_RING_FAILED, why);
	pthread_mutex_unlock(&ring->lock);
	wake_all(ring);
}

void sfs_ring_fail(struct sfs_ring *ring, const char *why)
{
	if (ring->copies)
		sfs_ring_copies_drain(ring->copies);
	pthread_mutex_lock(&ring->lock);
	set_failed(ring, SFS_RING_FAILED, why);
	pthread_mutex_unlock(&ring->lock);
	wake_all(ring);
}

void sfs_ring_end(struct sfs_ring *ring)
{
	uint32_t runs = SFS_RING_RUNS;

	if (ring->copies)
		sfs_ring_copies_drain(ring->copies);
	atomic_compare_exchange_strong(&ring->memory->state, &runs, SFS_RING_ENDED);
	wake_all(ring);
}

static int check_state(struct sfs_ring *ring, struct sfs_error *err)
{
	if (atomic_load(&ring->memory->state) < SFS_RING_FAILED)
		return 0;
	return sfs_error_set(err, -EIO, "%s", ring->memory->error);
}

/* Consumers come and go. */

static int find_free_consumer(struct sfs_ring *ring)
{
	int i;

	for (i = 0; i < SFS_RING_CONSUMERS; i++)
		if (ring->consumers[i].fd < 0)
			return i;
	return -1;
}

/* Handles of a GPU's memory can be opened in the exporter's PID namespace only; its
 * descriptors, anywhere. */
static bool is_of_our_pid_namespace(pid_t pid)
{
	sfs_autofree char *path = sfs_asprintf("/proc/%d/ns/pid", (int)pid);
	struct stat ours, theirs;

	if (pid <= 0)
		return false;
	return stat("/proc/self/ns/pid", &ours) < 0 || stat(path, &theirs) < 0 ||
	       (ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino);
}

/* Why this one cannot be a consumer; NULL: it can. */
static const char *find_refusal(const struct sfs_ring *ring, int fd)
{
	struct ucred peer = {.pid = 0};
	socklen_t n = sizeof peer;

	getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n);
	if (ring->device && ring->info.fd < 0 && !is_of_our_pid_namespace(peer.pid))
		return "the ring is in a GPU's memory, and the trainer in another PID "
		       "namespace, where CUDA cannot open it: start both in one (docker "
		       "--pid, shareProcessNamespace), or use memory cuda-fd";
	return NULL;
}

/* NULL: it is not refused. */
static int send_hello(struct sfs_ring *ring, int fd, int id, const char *refusal)
{
	struct sfs_ring_hello hello = {.magic = SFS_RING_MAGIC,
				       .version = SFS_RING_VERSION,
				       .consumer = (uint32_t)id,
				       .n_bytes = ring->memory->n_bytes,
				       .memory = ring->info.memory};
	/* (Of a ring in a GPU's memory, the memfd is ours alone.) */
	const int fds[2] = {ring->state_fd, ring->device ? ring->info.fd : ring->memfd};
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof fds)];
	} control = {.header = {.cmsg_len = CMSG_LEN(sizeof fds),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS}};
	struct iovec iov = {.iov_base = &hello, .iov_len = sizeof hello};
	struct msghdr message = {.msg_iov = &iov,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof control.bytes};

	memcpy(CMSG_DATA(&control.header), fds, sizeof fds);
	if (fds[1] < 0) {
		control.header.cmsg_len = CMSG_LEN(sizeof fds[0]);
		message.msg_controllen = CMSG_SPACE(sizeof fds[0]);
	}
	if (refusal) {
		snprintf(hello.refusal, sizeof hello.refusal, "%s", refusal);
		message.msg_control = NULL;
		message.msg_controllen = 0;
	}
	return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

/* With the lock. */
static void add_consumer(struct sfs_ring *ring, int id, int fd)
{
	struct consumer *c = &ring->consumers[id];
	struct ucred peer = {.pid = 0};
	socklen_t n = sizeof peer;

	getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n);
	c->fd = fd;
	c->pid = peer.pid; /* 0: it is of a namespace that we do not see */
	c->pidfd = peer.pid > 0 ? (int)syscall(SYS_pidfd_open, peer.pid, 0) : -1;
	atomic_store(&ring->memory->pids[id], (uint32_t)peer.pid);
	ring->n_consumers++;
	ring->n_attached++;
}

/* Has it ended, and is nothing left to take?  A trainer that comes now wants the ring that
 * will be here next: of this one it would get an epoch without a batch. */
static bool is_over(const struct sfs_ring *ring)
{
	const struct sfs_ring_memory *m = ring->memory;
	uint32_t i;

	if (atomic_load(&m->state) != SFS_RING_ENDED)
		return false;
	for (i = 0; i < m->n_slots; i++)
		if (sfs_ring_word_owner(atomic_load(&m->words[i])) == SFS_RING_FILLED)
			return false;
	return true;
}

static void accept_consumer(struct sfs_ring *ring)
{
	int fd = accept4(ring->socket.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	const char *refusal;
	int id = -1;

	if (fd < 0)
		return;
	if (is_over(ring)) { /* without a hello: it tries again */
		close(fd);
		return;
	}
	refusal = find_refusal(ring, fd);
	pthread_mutex_lock(&ring->lock);
	if (!refusal)
		id = find_free_consumer(ring);
	if (id >= 0)
		add_consumer(ring, id, fd);
	else if (!refusal)
		refusal = "the ring has 256 consumers already";
	pthread_mutex_unlock(&ring->lock);
	if (id >= 0 && !show_state(ring))
		sfs_warning("%s.state: %s", ring->path, strerror(errno));
	send_hello(ring, fd, id, refusal); /* (one that has gone is seen by poll) */
	if (id < 0)
		close(fd);
}

/* With the lock: what becomes of a batch whose consumer is dead. */
static void give_away(struct sfs_ring *ring, uint32_t i, const struct consumer *c)
{
	struct sfs_ring_memory *m = ring->memory;
	uint64_t seq = sfs_ring_word_seq(atomic_load(&m->words[i]));
	char why[256];

	switch (ring->settings.policy) {
	case SFS_RING_REDELIVER:
		atomic_fetch_add(&m->n_redelivered, 1);
		atomic_store(&m->words[i], sfs_ring_word(seq, SFS_RING_FILLED));
		return;
	case SFS_RING_DROP:
		atomic_fetch_add(&m->n_dropped, 1);
		atomic_store(&m->words[i], sfs_ring_word(seq, SFS_RING_FREE));
		return;
	case SFS_RING_FAIL: break;
	}
	snprintf(why, sizeof why,
		 "consumer %d (pid %d) died while it held batch %" PRIu64
		 " (on-consumer-death=fail)",
		 (int)(c - ring->consumers), (int)c->pid, seq);
	set_failed(ring, SFS_RING_LOST, why);
	atomic_store(&m->words[i], sfs_ring_word(seq, SFS_RING_FILLED));
}

static void log_death(const struct sfs_ring *ring, int id, pid_t pid, uint32_t n_held)
{
	static const char *const becomes[] = {[SFS_RING_FAIL] = "the ring fails",
					      [SFS_RING_REDELIVER] = "others get them",
					      [SFS_RING_DROP] = "they are dropped"};

	sfs_warning("ring %s: consumer %d (pid %d) died and held %u batches: %s",
		    ring->path, id, (int)pid, n_held, becomes[ring->settings.policy]);
}

/* With the lock.  Has a consumer that lives detached because the ring has failed?  Then
 * it wants to go on with a successor, who finds it in the table. */
static bool needs_successor(struct sfs_ring *ring, pid_t pid)
{
	return atomic_load(&ring->memory->state) == SFS_RING_FAILED &&
	       !sfs_ring_is_dead((uint32_t)pid);
}

/* It is dead, or has released all and detached. */
static void remove_consumer(struct sfs_ring *ring, int id)
{
	struct consumer *c = &ring->consumers[id], old = *c;
	uint32_t i, n_held = 0;
	uint64_t word;

	pthread_mutex_lock(&ring->lock);
	for (i = 0; i < ring->settings.n_slots; i++) {
		word = atomic_load(&ring->memory->words[i]);
		if (sfs_ring_word_owner(word) != SFS_RING_CONSUMER + (uint32_t)id)
			continue;
		give_away(ring, i, c);
		n_held++;
	}
	if (!needs_successor(ring, old.pid))
		atomic_store(&ring->memory->pids[id], 0);
	c->fd = c->pidfd = -1;
	if (--ring->n_consumers == 0)
		ring->alone_since_ns = sfs_clock_ns();
	pthread_mutex_unlock(&ring->lock);
	close(old.fd);
	if (old.pidfd >= 0)
		close(old.pidfd);
	wake_all(ring); /* also for what it did not count any more */
	if (n_held > 0)
		log_death(ring, id, old.pid, n_held);
}

/* Hanging. */

/* With the lock.  Has the slot's consumer just begun to count as hung? */
static bool look_at(struct sfs_ring *ring, uint32_t i, uint64_t now_ns)
{
	struct watch *w = &ring->watches[i];
	uint64_t word = atomic_load(&ring->memory->words[i]);

	if (word != w->word) {
		*w = (struct watch){.word = word, .since_ns = now_ns};
		return false;
	}
	if (w->is_hung || sfs_ring_word_owner(word) < SFS_RING_CONSUMER ||
	    now_ns - w->since_ns < ring->settings.hung_ms * SFS_NS_PER_MS)
		return false;
	w->is_hung = true;
	return true;
}

/* With the lock: the sentence about slot i. */
static void describe_hung(const struct sfs_ring *ring, uint32_t i, struct sfs_error *err)
{
	const struct watch *w = &ring->watches[i];
	uint32_t id = sfs_ring_word_owner(w->word) - SFS_RING_CONSUMER;
	int pid = id < SFS_RING_CONSUMERS ? (int)ring->consumers[id].pid : 0;

	sfs_error_set(err, 0,
		      "ring %s: consumer %u (pid %d) holds batch %" PRIu64 " for %llu"
		      " s; if it hangs, end it",
		      ring->path, id, pid, sfs_ring_word_seq(w->word),
		      (sfs_clock_ns() - w->since_ns) / SFS_NS_PER_S);
}

static void look_for_hung(struct sfs_ring *ring)
{
	struct sfs_error text;
	uint32_t i;
	bool is_new;

	for (i = 0; i < ring->settings.n_slots; i++) {
		pthread_mutex_lock(&ring->lock);
		is_new = look_at(ring, i, sfs_clock_ns());
		if (is_new)
			describe_hung(ring, i, &text);
		pthread_mutex_unlock(&ring->lock);
		if (is_new)
			sfs_warning("%s", text.text);
	}
}

/* The first that hangs, if one does. */
static void set_hung_error(struct sfs_ring *ring, struct sfs_error *err)
{
	uint32_t i;

	pthread_mutex_lock(&ring->lock);
	for (i = 0; i < ring->settings.n_slots; i++)
		if (ring->watches[i].is_hung &&
		    ring->watches[i].word == atomic_load(&ring->memory->words[i])) {
			describe_hung(ring, i, err);
			break;
		}
	pthread_mutex_unlock(&ring->lock);
}

/* The ring's thread. */

#define POLL_FIXED 2

static bool poll_once(struct sfs_ring *ring, struct pollfd *fds, int timeout_ms)
{
	int i;

	fds[0] = (struct pollfd){.fd = ring->stop_fd, .events = POLLIN};
	fds[1] = (struct pollfd){.fd = ring->socket.fd, .events = POLLIN};
	for (i = 0; i < SFS_RING_CONSUMERS; i++) { /* only this thread changes them */
		fds[POLL_FIXED + 2 * i] =
			(struct pollfd){.fd = ring->consumers[i].fd, .events = POLLRDHUP};
		fds[POLL_FIXED + 2 * i + 1] =
			(struct pollfd){.fd = ring->consumers[i].pidfd, .events = POLLIN};
	}
	if (poll(fds, POLL_FIXED + 2 * SFS_RING_CONSUMERS, timeout_ms) < 0)
		assert(errno == EINTR || errno == ENOMEM);
	return !fds[0].revents;
}

static void *run(void *arg)
{
	struct sfs_ring *ring = arg;
	struct pollfd fds[POLL_FIXED + 2 * SFS_RING_CONSUMERS];
	uint32_t hung_ms = ring->settings.hung_ms;
	int timeout_ms = hung_ms == 0 ? -1 : hung_ms < 40 ? 10 : (int)(hung_ms / 4);
	int i;

	while (poll_once(ring, fds, timeout_ms < 1000 ? timeout_ms : 1000)) {
		for (i = 0; i < SFS_RING_CONSUMERS; i++)
			if (fds[POLL_FIXED + 2 * i].revents ||
			    fds[POLL_FIXED + 2 * i + 1].revents)
				remove_consumer(ring, i);
		if (fds[1].revents)
			accept_consumer(ring);
		if (hung_ms > 0)
			look_for_hung(ring);
	}
	return NULL;
}

static int start_thread(struct sfs_ring *ring, struct sfs_error *err)
{
	sigset_t all, old;
	int ret;

	ring->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (ring->stop_fd < 0)
		return sfs_error_set(err, -errno, "eventfd: %s", strerror(errno));
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = pthread_create(&ring->thread, NULL, run, ring);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (ret != 0)
		return sfs_error_set(err, -ret, "a thread: %s", strerror(ret));
	ring->has_thread = true;
	return 0;
}

int sfs_ring_find_policy(const char *name, enum sfs_ring_policy *ret,
			 struct sfs_error *err)
{
	static const char *const names[] = {[SFS_RING_FAIL] = "fail",
					    [SFS_RING_REDELIVER] = "redeliver",
					    [SFS_RING_DROP] = "drop"};
	size_t i;

	for (i = 0; i < SFS_COUNT(names); i++)
		if (strcmp(name ? name : "fail", names[i]) == 0) {
			*ret = (enum sfs_ring_policy)i;
			return 0;
		}
	return sfs_error_set(err, -EINVAL,
			     "on-consumer-death is redeliver, drop or fail, not '%s'",
			     name);
}

int sfs_ring_new(const struct sfs_ring_settings *settings,
		 const struct shufflefs_layout *layout, struct sfs_ring **ret_ring,
		 struct sfs_error *err)
{
	struct sfs_ring *ring;
	int i, ret;

	if (settings->n_slots < 2 || settings->n_slots > SFS_RING_SLOTS_MAX)
		return sfs_error_set(err, -EINVAL, "a ring has 2 to %d slots, not %u",
				     SFS_RING_SLOTS_MAX, settings->n_slots);
	ring = sfs_calloc(1, sizeof *ring);
	ring->settings = *settings;
	ring->path = sfs_strdup(settings->path);
	ring->state_fd = ring->memfd = ring->socket.fd = ring->stop_fd = -1;
	ring->filling = -1;
	ring->begin_ns = sfs_clock_ns();
	ring->alone_since_ns = sfs_clock_ns();
	pthread_mutex_init(&ring->lock, NULL);
	for (i = 0; i < SFS_RING_CONSUMERS; i++)
		ring->consumers[i].fd = ring->consumers[i].pidfd = -1;
	ret = sfs_local_socket_open(ring->path, SFS_RING_CONSUMERS, &ring->socket, err);
	if (ret == 0)
		ret = make_state(ring, layout, err);
	if (ret == 0)
		ret = start_thread(ring, err);
	if (ret < 0) {
		sfs_ring_free(ring);
		return ret;
	}
	*ret_ring = ring;
	return 0;
}

static void stop_thread(struct sfs_ring *ring)
{
	uint64_t one = 1;

	if (!ring->has_thread)
		return;
	if (write(ring->stop_fd, &one, sizeof one) < 0)
		assert(!"an eventfd takes a 1");
	pthread_join(ring->thread, NULL);
}

/* Until all consumers have closed what they have of the GPU's memory. */
static void await_detach(struct sfs_ring *ring)
{
	uint64_t begin_ns = sfs_clock_ns();
	uint32_t n = 1;

	/* (Who has a descriptor keeps the memory.) */
	if (!ring->device || ring->info.fd >= 0 ||
	    atomic_load(&ring->memory->state) == SFS_RING_RUNS)
		return;
	while (n > 0 && sfs_clock_ns() - begin_ns < DETACH_MS * SFS_NS_PER_MS) {
		pthread_mutex_lock(&ring->lock);
		n = ring->n_consumers;
		pthread_mutex_unlock(&ring->lock);
		if (n > 0)
			poll(NULL, 0, 10);
	}
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void sfs_ring_free(struct sfs_ring *ring)
{
	int i;

	if (!ring)
		return;
	sfs_ring_copies_free(ring->copies);
	if (ring->has_thread)
		await_detach(ring);
	stop_thread(ring);
	sfs_local_socket_close(&ring->socket);
	remove_state(ring);
	for (i = 0; i < SFS_RING_CONSUMERS; i++) {
		close_fd(ring->consumers[i].fd);
		close_fd(ring->consumers[i].pidfd);
	}
	if (ring->memory) {
		wake_all(ring); /* consumers look at the socket */
		if (ring->device)
			ring->device_ops->close(ring->device);
		munmap(ring->memory, ring->memory->n_bytes);
	}
	close_fd(ring->stop_fd);
	close_fd(ring->memfd);
	close_fd(ring->state_fd);
	pthread_mutex_destroy(&ring->lock);
	free(ring->path);
	free(ring);
}

/* Filling. */

static uint64_t deadline_of(int timeout_ms)
{
	if (timeout_ms < 0)
		return UINT64_MAX;
	return sfs_clock_ns() + (uint64_t)timeout_ms * SFS_NS_PER_MS;
}

/* Until a slot may have been freed since `seen`.  false: the deadline has passed. */
static bool wait_freed(struct sfs_ring *ring, uint32_t seen, uint64_t deadline)
{
	uint64_t now = sfs_clock_ns(), ns;

	if (now >= deadline)
		return false;
	ns = deadline - now < SFS_NS_PER_S ? deadline - now : SFS_NS_PER_S;
	sfs_ring_wait(&ring->memory->freed, seen, ns);
	return true;
}

/* < 0: all are in use.  The first that is free: what was used last is in the caches. */
static int find_free_slot(struct sfs_ring *ring)
{
	uint32_t i;

	for (i = 0; i < ring->settings.n_slots; i++)
		if (sfs_ring_word_owner(atomic_load(&ring->memory->words[i])) ==
		    SFS_RING_FREE)
			return (int)i;
	return -1;
}

static int take_slot(struct sfs_ring *ring, int timeout_ms, struct sfs_error *err)
{
	uint64_t deadline = deadline_of(timeout_ms);
	uint32_t seen;
	int ret, slot;

	for (;;) {
		seen = atomic_load(&ring->memory->freed);
		ret = check_state(ring, err);
		if (ret < 0)
			return ret;
		slot = find_free_slot(ring);
		if (slot >= 0)
			return slot;
		if (!wait_freed(ring, seen, deadline)) {
			set_hung_error(ring, err);
			return -ETIMEDOUT;
		}
	}
}

int sfs_ring_take(struct sfs_ring *ring, int timeout_ms, void **ret_slot,
		  struct sfs_error *err)
{
	struct sfs_ring_memory *m = ring->memory;
	uint64_t now_ns = sfs_clock_ns();
	int slot;

	if (atomic_load(&ring->waits_since_ns) == 0)
		atomic_store(&ring->waits_since_ns, now_ns);
	slot = take_slot(ring, timeout_ms, err);
	if (slot < 0)
		return slot; /* who asks again goes on with the same wait */
	atomic_fetch_add(&ring->waited_ns,
			 sfs_clock_ns() - atomic_load(&ring->waits_since_ns));
	atomic_store(&ring->waits_since_ns, 0);
	ring->filling = slot;
	atomic_store(&m->words[slot],
		     sfs_ring_word(atomic_load(&m->n_published), SFS_RING_FILLING));
	*ret_slot = slot_at(ring, (uint32_t)slot);
	return 0;
}

/* The slot that begins at `data`, on the host or in the GPU's memory; NULL: the one that
 * was taken last. */
static int slot_of(struct sfs_ring *ring, const void *data, bool *ret_is_direct)
{
	uint64_t on_gpu = (uintptr_t)data - ring->info.address;
	uint32_t i;

	*ret_is_direct = false;
	for (i = 0; data && i < ring->settings.n_slots; i++) {
		*ret_is_direct =
			ring->info.has_direct && on_gpu == i * ring->memory->slot_stride;
		if (slot_at(ring, i) == data || *ret_is_direct)
			return (int)i;
	}
	return ring->filling;
}

/* Its bytes are where consumers will look for them. */
static void arrived(void *arg, uint32_t slot, const struct shufflefs_batch *batch)
{
	struct sfs_ring *ring = arg;
	struct sfs_ring_memory *m = ring->memory;
	uint64_t seq = atomic_load(&m->n_published);
	uint32_t i;

	m->batches[slot] = *batch;
	m->batches[slot].seq = seq;
	m->batches[slot].data = NULL;
	if (batch->sender < m->n_sessions)
		m->numbers[slot] = atomic_load(&m->sessions[batch->sender].n);
	atomic_fetch_add(&ring->n_samples, batch->n_samples);
	for (i = 0; i < m->layout.n_tensors; i++)
		atomic_fetch_add(&ring->n_bytes,
				 sfs_layout_bytes(&m->layout, i, batch->n_samples));
	atomic_store(&ring->next, batch->end);
	atomic_store(&m->words[slot], sfs_ring_word(seq, SFS_RING_FILLED));
	if (batch->sender < m->n_sessions)
		atomic_fetch_add(&m->sessions[batch->sender].n, 1);
	atomic_store(&m->n_published, seq + 1); /* (only now somebody can take it) */
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
	uint64_t consumed = atomic_load(&ring->memory->n_published), word;
	uint32_t i;

	for (i = 0; i < ring->settings.n_slots; i++) {
		word = atomic_load(&ring->memory->words[i]);
		if (sfs_ring_word_owner(word) != SFS_RING_FREE &&
		    sfs_ring_word_owner(word) != SFS_RING_FILLING &&
		    sfs_ring_word_seq(word) < consumed)
			consumed = sfs_ring_word_seq(word);
	}
	return consumed;
}

int sfs_ring_wait_consumed(struct sfs_ring *ring, uint64_t seq, int timeout_ms,
			   struct sfs_error *err)
{
	uint64_t deadline = deadline_of(timeout_ms);
	uint32_t seen;
	int ret;

	for (;;) {
		seen = atomic_load(&ring->memory->freed);
		if (sfs_ring_consumed(ring) > seq)
			return 0;
		ret = check_state(ring, err);
		if (ret < 0)
			return ret;
		if (!wait_freed(ring, seen, deadline)) {
			set_hung_error(ring, err);
			return -ETIMEDOUT;
		}
	}
}

void *sfs_ring_slots(struct sfs_ring *ring, uint64_t *ret_stride)
{
	*ret_stride = ring->memory->slot_stride;
	return slot_at(ring, 0);
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
	    ops->read(ring->device, (uint32_t)i, ring->memory->layout.slot_bytes, err) <
		    0)
		return NULL;
	return slot_at(ring, (uint32_t)i);
}

/* Telling. */

uint64_t sfs_ring_alone_ms(struct sfs_ring *ring)
{
	uint64_t ns = 0;

	pthread_mutex_lock(&ring->lock);
	if (ring->n_consumers == 0)
		ns = sfs_clock_ns() - ring->alone_since_ns;
	pthread_mutex_unlock(&ring->lock);
	return ns / SFS_NS_PER_MS;
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
	for (i = 0; i < ring->settings.n_slots; i++) {
		word = atomic_load(&ring->memory->words[i]);
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
		ret->n_hung += ring->watches[i].is_hung && ring->watches[i].word == word;
	}
}

static uint64_t waited_ns(struct sfs_ring *ring)
{
	uint64_t since_ns = atomic_load(&ring->waits_since_ns);

	return atomic_load(&ring->waited_ns) +
	       (since_ns > 0 ? sfs_clock_ns() - since_ns : 0);
}

void sfs_ring_look(struct sfs_ring *ring, struct sfs_ring_progress *ret)
{
	ret->n_batches = atomic_load(&ring->memory->n_published);
	ret->n_samples = atomic_load(&ring->n_samples);
	ret->n_bytes = atomic_load(&ring->n_bytes);
	ret->next = atomic_load(&ring->next);
	ret->waited_ns = waited_ns(ring);
	ret->memory = ring->info.memory.kind;
	ret->device = ring->info.memory.device;
	ret->placement = ring->placement;
}

static void describe_consumers(struct sfs_ring *ring, const struct census *census,
			       struct sfs_json_writer *json)
{
	int i;

	sfs_json_open(json, "consumers", '[');
	for (i = 0; i < SFS_RING_CONSUMERS; i++) {
		if (ring->consumers[i].fd < 0)
			continue;
		sfs_json_open(json, NULL, '{');
		sfs_json_put_uint(json, "id", (uint64_t)i);
		sfs_json_put_uint(json, "pid", (uint64_t)ring->consumers[i].pid);
		sfs_json_put_uint(json, "holds", census->holds[i]);
		sfs_json_close(json, '}');
	}
	sfs_json_close(json, ']');
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
	struct sfs_ring_memory *m = ring->memory;
	uint64_t n_published, n_dropped;
	struct census census;

	pthread_mutex_lock(&ring->lock); /* nothing is dropped meanwhile */
	n_published = atomic_load(&m->n_published);
	n_dropped = atomic_load(&m->n_dropped);
	count_words(ring, n_published, &census);
	describe_memory(ring, json);
	sfs_json_put_uint(json, "slots", ring->settings.n_slots);
	sfs_json_put_uint(json, "filled", n_published);
	sfs_json_put_uint(json, "taken", n_published - census.n_waiting);
	sfs_json_put_uint(json, "released",
			  n_published - census.n_waiting - census.n_held - n_dropped);
	sfs_json_put_uint(json, "dropped", n_dropped);
	sfs_json_put_uint(json, "redelivered", atomic_load(&m->n_redelivered));
	sfs_json_put_uint(json, "hung", census.n_hung);
	sfs_json_put_uint(json, "waited_ms", waited_ns(ring) / SFS_NS_PER_MS);
	describe_consumers(ring, &census, json);
	pthread_mutex_unlock(&ring->lock);
}
