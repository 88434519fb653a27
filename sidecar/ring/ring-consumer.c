/* SPDX-License-Identifier: MIT */
/* How this works.  attach() connects, gets a hello with the memfd, and maps it after it
 * has checked every size in it; later nothing in the memory decides where this side
 * reads. next() takes the filled slot of the smallest number by a compare-and-swap of its
 * word, release() frees it by another (ring-memory.h).  Both need nothing of each other,
 * so any thread may call them; a lock guards the error's text only.
 *
 * The producer sends nothing after its hello.  A socket that hung up is its death.  Then
 * the state's file stays open until this process attaches there again: that tells the
 * next producer that what was taken here needs no second delivery.
 *
 * A child of fork() has the mapping and the socket, but is another process: the producer
 * watches its parent.  So it is refused, and its detach() releases nothing.
 *
 * Only libc: this file is the library libshufflefs-ring. */
#include "shufflefs/ring.h"

#include "ring/ring-guard.h"
#include "ring/ring-memory.h"
#include "ring/ring-sane.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define NS_PER_MS 1000000ULL
#define SLICE_NS  (100 * NS_PER_MS) /* between two looks at the socket */
#define RETRY_NS  (10 * NS_PER_MS)

struct shufflefs_ring {
	int fd; /* the socket; < 0: none */
	int state_fd;
	int memory_fd; /* of the GPU's memory; < 0: none */
	char path[108];
	uint32_t owner;
	pid_t pid; /* who attached */
	struct shufflefs_layout layout;
	struct shufflefs_memory place;	/* of the slots */
	struct sfs_ring_memory *memory; /* NULL: not attached */
	uint64_t n_bytes;		/* that are mapped */
	uint64_t slots_offset, slot_stride;
	uint32_t n_slots;
	pthread_mutex_t lock; /* of the text */
	char error[1024];
};

static int fail(struct shufflefs_ring *ring, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int fail(struct shufflefs_ring *ring, int code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	pthread_mutex_lock(&ring->lock);
	vsnprintf(ring->error, sizeof ring->error, format, args);
	pthread_mutex_unlock(&ring->lock);
	va_end(args);
	return code;
}

const char *shufflefs_ring_error(const struct shufflefs_ring *ring)
{
	static _Thread_local char text[sizeof ring->error];
	struct shufflefs_ring *r = (struct shufflefs_ring *)ring;

	pthread_mutex_lock(&r->lock);
	memcpy(text, r->error, sizeof text);
	pthread_mutex_unlock(&r->lock);
	return text;
}

static uint64_t deadline_of(int timeout_ms)
{
	if (timeout_ms < 0)
		return UINT64_MAX;
	return sfs_ring_now_ns() + (uint64_t)timeout_ms * NS_PER_MS;
}

/* How long to wait now, at most `most`; 0: the deadline has passed. */
static uint64_t ns_until(uint64_t deadline, uint64_t most)
{
	uint64_t now = sfs_ring_now_ns();

	if (now >= deadline)
		return 0;
	return deadline - now < most ? deadline - now : most;
}

static int sleep_ns(struct shufflefs_ring *ring, uint64_t ns)
{
	struct timespec t = {.tv_sec = (time_t)(ns / 1000000000),
			     .tv_nsec = (long)(ns % 1000000000)};

	if (nanosleep(&t, NULL) < 0)
		return fail(ring, -EINTR, "a signal came");
	return 0;
}

/* Until something can be read; 0: now it can. */
static int wait_readable(struct shufflefs_ring *ring, uint64_t deadline)
{
	struct pollfd p = {.fd = ring->fd, .events = POLLIN};
	uint64_t ns;
	int ret;

	do {
		ns = ns_until(deadline, 1000 * NS_PER_MS);
		ret = poll(&p, 1, (int)((ns + NS_PER_MS - 1) / NS_PER_MS));
	} while (ret == 0 && ns > 0);
	if (ret < 0)
		return fail(ring, -errno, "%s",
			    errno == EINTR ? "a signal came" : strerror(errno));
	return ret == 0 ? -ETIMEDOUT : 0;
}

/* Whoever may write to the folder can listen there, and would say what is trained on. */
static int check_producer(struct shufflefs_ring *ring, const char *path)
{
	struct ucred peer = {.uid = (uid_t)-1};
	socklen_t n = sizeof peer;

	if (getsockopt(ring->fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) < 0)
		return fail(ring, -errno, "%s: %s", path, strerror(errno));
	if (peer.uid == 0 || peer.uid == geteuid())
		return 0;
	return fail(ring, -EPERM,
		    "%s: the ring belongs to user %u, who is neither root nor this "
		    "process's user, %u",
		    path, (unsigned)peer.uid, (unsigned)geteuid());
}

/* -EAGAIN: there is no ring yet. */
static int try_connect(struct shufflefs_ring *ring, const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	if (strlen(path) >= sizeof address.sun_path)
		return fail(ring, -ENAMETOOLONG,
			    "%s: a socket's path has at most %zu bytes", path,
			    sizeof address.sun_path - 1);
	memcpy(address.sun_path, path, strlen(path));
	ring->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (ring->fd < 0)
		return fail(ring, -errno, "socket: %s", strerror(errno));
	if (connect(ring->fd, (struct sockaddr *)&address, sizeof address) == 0)
		return check_producer(ring, path);
	if (errno == ENOENT || errno == ECONNREFUSED)
		return fail(ring, -EAGAIN,
			    "%s: there is no ring; is shufflefs-sidecar running?", path);
	return fail(ring, -errno, "%s: %s", path, strerror(errno));
}

static bool is_host(const struct shufflefs_memory *memory)
{
	return strcmp(memory->kind, "host") == 0;
}

/* The descriptors that came with a message: of the state and of the slots; -1: none. */
static void take_descriptors(struct msghdr *message, int fds[2])
{
	struct cmsghdr *c = CMSG_FIRSTHDR(message);

	fds[0] = fds[1] = -1;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len > CMSG_LEN(0) && c->cmsg_len <= CMSG_LEN(2 * sizeof(int)))
		memcpy(fds, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
}

/* -EAGAIN: the producer has ended, or is about to be gone. */
static int receive_hello(struct shufflefs_ring *ring, const char *path,
			 struct sfs_ring_hello *hello, int ret_fds[2])
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(2 * sizeof(int))];
	} control;
	struct iovec iov = {.iov_base = hello, .iov_len = sizeof *hello};
	struct msghdr message = {.msg_iov = &iov,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof control.bytes};
	ssize_t n;

	memset(hello, 0, sizeof *hello);
	n = recvmsg(ring->fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	if (n <= 0)
		return fail(ring, -EAGAIN,
			    "%s: the ring there has ended, and no new one has "
			    "begun", path);
	take_descriptors(&message, ret_fds);
	if (n < (ssize_t)offsetof(struct sfs_ring_hello, consumer) ||
	    memcmp(hello->magic, SFS_RING_MAGIC, sizeof hello->magic) != 0)
		return fail(ring, -EPROTO, "%s is not the socket of a ring", path);
	if (hello->version != SFS_RING_VERSION)
		return fail(ring, -EPROTO,
			    "%s: the ring has version %u, this library has version %d: "
			    "install both from one release of shufflefs",
			    path, hello->version, SFS_RING_VERSION);
	if (n != sizeof *hello)
		return fail(ring, -EPROTO, "%s: the producer's hello is cut short", path);
	if (hello->refusal[0])
		return fail(ring, -EUSERS, "%s: %.*s", path, (int)sizeof hello->refusal,
			    hello->refusal);
	if (hello->consumer >= SFS_RING_CONSUMERS || ret_fds[0] < 0 ||
	    !memchr(hello->memory.kind, 0, sizeof hello->memory.kind) ||
	    !memchr(hello->memory.device, 0, sizeof hello->memory.device) ||
	    (is_host(&hello->memory) && ret_fds[1] < 0))
		return fail(ring, -EPROTO, "%s: the producer's hello is wrong", path);
	return 0;
}

/* (The state's file may be cut at any time: see ring-guard.h.) */
static int map_memory(struct shufflefs_ring *ring, const int fds[2], uint64_t n_bytes)
{
	struct sfs_ring_memory *m;
	struct stat state;
	bool is_sane;

	if (fstat(fds[0], &state) < 0 || state.st_size != SFS_RING_SLOTS_OFFSET ||
	    n_bytes < SFS_RING_SLOTS_OFFSET || n_bytes > SIZE_MAX / 2 ||
	    (is_host(&ring->place)
		     ? !sfs_ring_is_memfd_sane(fds[1], n_bytes - SFS_RING_SLOTS_OFFSET)
		     : ring->place.n_bytes < n_bytes - SFS_RING_SLOTS_OFFSET))
		return fail(ring, -EPROTO,
			    "the ring's memory has the wrong size");
	m = malloc(sizeof *m);
	if (!m)
		return fail(ring, -ENOMEM, "out of memory");
	is_sane =
		pread(fds[0], m, sizeof *m, 0) == sizeof *m && sfs_ring_is_memory_sane(m, n_bytes);
	if (is_sane) {
		ring->layout = m->layout;
		ring->n_slots = m->n_slots;
		ring->slots_offset = m->slots_offset;
		ring->slot_stride = m->slot_stride;
		ring->n_bytes = is_host(&ring->place) ? n_bytes : SFS_RING_SLOTS_OFFSET;
	}
	free(m);
	if (!is_sane)
		return fail(ring, -EPROTO, "the ring's header has wrong sizes");
	m = sfs_ring_map(fds[0], is_host(&ring->place) ? fds[1] : -1, ring->n_bytes);
	if (!m)
		return fail(ring, -errno, "cannot map the ring's %llu bytes: %s",
			    (unsigned long long)ring->n_bytes, strerror(errno));
	ring->memory = m;
	sfs_ring_guard(m);
	return 0;
}

static int try_attach(struct shufflefs_ring *ring, const char *path, uint64_t deadline)
{
	struct sfs_ring_hello hello;
	int fds[2] = {-1, -1}, ret;

	ret = try_connect(ring, path);
	if (ret < 0)
		return ret;
	ret = wait_readable(ring, deadline);
	if (ret == -ETIMEDOUT)
		return fail(ring, ret, "%s: the producer does not answer", path);
	if (ret < 0)
		return ret;
	ret = receive_hello(ring, path, &hello, fds);
	ring->place = hello.memory;
	if (ret == 0)
		ret = map_memory(ring, fds, hello.n_bytes);
	if (ret == 0 && !is_host(&ring->place))
		ring->memory_fd = fds[1];
	else if (fds[1] >= 0)
		close(fds[1]);
	if (ret < 0 && fds[0] >= 0)
		close(fds[0]);
	ring->state_fd = ret == 0 ? fds[0] : -1;
	ring->owner = SFS_RING_CONSUMER + hello.consumer;
	return ret;
}

/* What a process has taken from producers that died or failed, and not
 * attached to anew. */
struct past {
	struct past *next;
	int state_fd;
	char path[108];
};

static pthread_mutex_t pasts_lock = PTHREAD_MUTEX_INITIALIZER;
static struct past *pasts;

static void keep_past(struct shufflefs_ring *ring)
{
	struct past *p = malloc(sizeof *p);

	if (!p)
		return; /* (and the file stays open all the same) */
	p->state_fd = ring->state_fd;
	memcpy(p->path, ring->path, sizeof p->path);
	pthread_mutex_lock(&pasts_lock);
	p->next = pasts;
	pasts = p;
	pthread_mutex_unlock(&pasts_lock);
}

/* The producer at `path` knows what it needs to. */
static void drop_pasts(const char *path)
{
	struct past **at, *p;

	pthread_mutex_lock(&pasts_lock);
	for (at = &pasts; (p = *at) != NULL;) {
		if (strcmp(p->path, path) != 0) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		close(p->state_fd);
		free(p);
	}
	pthread_mutex_unlock(&pasts_lock);
}

static void hang_up(struct shufflefs_ring *ring)
{
	if (ring->fd >= 0)
		close(ring->fd);
	ring->fd = -1;
}

int shufflefs_ring_attach(const char *path, int timeout_ms,
			  struct shufflefs_ring **ret_ring)
{
	struct shufflefs_ring *ring = calloc(1, sizeof *ring);
	uint64_t deadline = deadline_of(timeout_ms), ns;
	int ret;

	if (!ring)
		return -ENOMEM;
	*ret_ring = ring;
	ring->fd = ring->state_fd = ring->memory_fd = -1;
	ring->pid = getpid();
	pthread_mutex_init(&ring->lock, NULL);
	for (;;) {
		ret = try_attach(ring, path, deadline);
		if (ret == 0)
			break;
		hang_up(ring);
		if (ret != -EAGAIN)
			return ret;
		ns = ns_until(deadline, RETRY_NS);
		if (ns == 0)
			return -ETIMEDOUT; /* the error is that of the last try */
		ret = sleep_ns(ring, ns);
		if (ret < 0)
			return ret;
	}
	ring->error[0] = 0;	  /* (of the tries before) */
	strcpy(ring->path, path); /* (it fits into an address) */
	drop_pasts(path);
	return 0;
}

const struct shufflefs_layout *shufflefs_ring_layout(const struct shufflefs_ring *ring)
{
	return &ring->layout;
}

const struct shufflefs_memory *shufflefs_ring_memory(const struct shufflefs_ring *ring)
{
	return &ring->place;
}

int shufflefs_ring_memory_fd(const struct shufflefs_ring *ring)
{
	return ring->memory_fd;
}

static int check_usable(struct shufflefs_ring *ring)
{
	if (!ring->memory)
		return fail(ring, -ENOTCONN, "the ring is not attached");
	if (ring->pid != getpid())
		return fail(
			ring, -EPERM,
			"process %d attached to the ring, not process %d: attach after "
			"fork()",
			(int)ring->pid, (int)getpid());
	return 0;
}

static int broken(struct shufflefs_ring *ring)
{
	return fail(ring, -EIO,
		    "%s.state was truncated or overwritten, so the ring is lost",
		    ring->path);
}

static bool has_hung_up(const struct shufflefs_ring *ring)
{
	struct pollfd p = {.fd = ring->fd, .events = POLLRDHUP};

	return poll(&p, 1, 0) > 0;
}

static int describe_batch(struct shufflefs_ring *ring, uint32_t slot, uint64_t seq,
			  struct shufflefs_batch *ret_batch)
{
	struct shufflefs_batch batch = ring->memory->batches[slot];

	if (batch.n_samples > ring->layout.n_samples)
		return fail(ring, -EIO,
			    "batch %llu has %u samples, more than the layout's %u",
			    (unsigned long long)seq, batch.n_samples,
			    ring->layout.n_samples);
	batch.seq = seq;
	batch.offset = slot * ring->slot_stride;
	batch.data = NULL;
	if (is_host(&ring->place))
		batch.data =
			(unsigned char *)ring->memory + ring->slots_offset + batch.offset;
	*ret_batch = batch;
	return 1;
}

/* 0: no batch is there. */
static int try_take(struct shufflefs_ring *ring, struct shufflefs_batch *ret_batch)
{
	struct sfs_ring_memory *m = ring->memory;
	uint64_t n_published, word, best;
	uint32_t i, slot = 0;

	do {
		n_published = atomic_load(&m->n_published); /* first: see ring-memory.h */
		best = UINT64_MAX;
		for (i = 0; i < ring->n_slots; i++) {
			word = atomic_load(&m->words[i]);
			if (sfs_ring_word_owner(word) == SFS_RING_FILLED &&
			    sfs_ring_word_seq(word) < n_published && word < best) {
				best = word;
				slot = i;
			}
		}
		if (best == UINT64_MAX)
			return 0;
	} while (!atomic_compare_exchange_strong(&m->words[slot], &best,
						 sfs_ring_word(best >> 16, ring->owner)));
	return describe_batch(ring, slot, sfs_ring_word_seq(best), ret_batch);
}

/* One look; -EAGAIN: nothing yet.  The state is read before the words: what was published
 * before the end is there then. */
static int next_now(struct shufflefs_ring *ring, struct shufflefs_batch *ret_batch)
{
	struct sfs_ring_memory *m = ring->memory;
	uint32_t state = atomic_load(&m->state);
	int ret;

	if (!sfs_ring_is_whole(m))
		return broken(ring);
	if (state == SFS_RING_RUNS && has_hung_up(ring)) {
		state = atomic_load(&m->state);
		if (state == SFS_RING_RUNS)
			return fail(ring, -EPIPE,
				    "the ring's producer died; attach again when it has "
				    "been restarted");
	}
	ret = state == SFS_RING_LOST ? 0 : try_take(ring, ret_batch);
	if (ret != 0)
		return ret;
	if (state == SFS_RING_ENDED)
		return 0;
	if (state == SFS_RING_RUNS)
		return -EAGAIN;
	return fail(ring, -EIO, "%.*s", (int)sizeof m->error, m->error);
}

int shufflefs_ring_next(struct shufflefs_ring *ring, int timeout_ms,
			struct shufflefs_batch *ret_batch)
{
	uint64_t deadline, ns;
	uint32_t seen;
	int ret;

	ret = check_usable(ring);
	if (ret < 0)
		return ret;
	deadline = deadline_of(timeout_ms);
	for (;;) {
		seen = atomic_load(&ring->memory->filled);
		ret = next_now(ring, ret_batch);
		if (ret != -EAGAIN)
			return ret;
		ns = ns_until(deadline, SLICE_NS);
		if (ns == 0)
			return fail(ring, -ETIMEDOUT, "no batch came in %d ms",
				    timeout_ms);
		if (sfs_ring_wait(&ring->memory->filled, seen, ns) < 0 && errno == EINTR)
			return fail(ring, -EINTR, "a signal came");
	}
}

int shufflefs_ring_release(struct shufflefs_ring *ring, uint64_t seq)
{
	uint64_t held;
	uint32_t i;
	int ret;

	ret = check_usable(ring);
	if (ret < 0)
		return ret;
	for (i = 0; i < ring->n_slots; i++) {
		held = sfs_ring_word(seq, ring->owner);
		if (!atomic_compare_exchange_strong(&ring->memory->words[i], &held,
						    sfs_ring_word(seq, SFS_RING_FREE)))
			continue;
		sfs_ring_count(&ring->memory->freed, INT_MAX);
		return 0;
	}
	if (!sfs_ring_is_whole(ring->memory))
		return broken(ring);
	return fail(ring, -EINVAL, "batch %llu is not held by this consumer",
		    (unsigned long long)seq);
}

static void release_all(struct shufflefs_ring *ring)
{
	uint64_t word;
	uint32_t i;

	for (i = 0; i < ring->n_slots; i++) {
		word = atomic_load(&ring->memory->words[i]);
		if (sfs_ring_word_owner(word) == ring->owner)
			shufflefs_ring_release(ring, sfs_ring_word_seq(word));
	}
}

/* Has its producer died or failed?  Then the next one may go on with its streams. */
static bool needs_successor(const struct shufflefs_ring *ring)
{
	uint32_t state = atomic_load(&ring->memory->state);

	return state != SFS_RING_ENDED && (state != SFS_RING_RUNS || has_hung_up(ring));
}

void shufflefs_ring_detach(struct shufflefs_ring *ring)
{
	if (!ring)
		return;
	if (ring->memory && ring->pid == getpid()) {
		release_all(ring);
		if (needs_successor(ring))
			keep_past(ring);
		else
			close(ring->state_fd);
	} else if (ring->state_fd >= 0) {
		close(ring->state_fd);
	}
	if (ring->memory) {
		sfs_ring_unguard(ring->memory);
		munmap(ring->memory, ring->n_bytes);
	}
	if (ring->memory_fd >= 0)
		close(ring->memory_fd);
	hang_up(ring);
	pthread_mutex_destroy(&ring->lock);
	free(ring);
}
