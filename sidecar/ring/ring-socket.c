/* SPDX-License-Identifier: MIT */
/* How this works.  The thread polls the listener and, for each consumer, its socket and
 * its process (a child of the consumer may keep the socket open); when either ends, it
 * gives away what the consumer held: ring-memory.h says why its words tell that.  Only
 * this thread adds and removes consumers, so it reads the table without the lock.
 *
 * A trainer in another PID namespace has no PID here; its socket's end is all that tells
 * its death. */
#include "ring/ring-socket.h"

#include "ring/ring-dead.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/threadpool.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define DETACH_MS 2000
#define REST_MS	  100

/* Consumers come and go. */

static int find_free_consumer(struct sfs_ring_socket *s)
{
	int i;

	for (i = 0; i < SFS_RING_CONSUMERS; i++)
		if (s->consumers[i].fd < 0)
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
static const char *find_refusal(const struct sfs_ring_socket *s, int fd)
{
	struct ucred peer = {.pid = 0};
	socklen_t n = sizeof peer;

	getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n);
	if (s->settings.is_on_device && s->settings.info->fd < 0 &&
	    !is_of_our_pid_namespace(peer.pid))
		return "the ring is in a GPU's memory, and the trainer in another PID "
		       "namespace, where CUDA cannot open it: start both in one (docker "
		       "--pid, shareProcessNamespace), or use memory cuda-fd";
	return NULL;
}

/* NULL: it is not refused. */
static int send_hello(struct sfs_ring_socket *s, int fd, int id, const char *refusal)
{
	struct sfs_ring_hello hello = {.magic = SFS_RING_MAGIC,
				       .version = SFS_RING_VERSION,
				       .consumer = (uint32_t)id,
				       .n_bytes = s->state->n_bytes,
				       .memory = s->settings.info->memory};
	/* (Of a ring in a GPU's memory, the memfd is ours alone.) */
	const int fds[2] = {s->state->fd, s->settings.is_on_device ?
						  s->settings.info->fd :
						  s->state->memfd};
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
static void add_consumer(struct sfs_ring_socket *s, int id, int fd)
{
	struct sfs_ring_consumer *c = &s->consumers[id];

	c->fd = fd;
	c->pid = sfs_local_socket_peer(fd, &c->pidfd);
	atomic_store(&s->state->memory->pids[id], (uint32_t)c->pid);
	s->n_consumers++;
	s->n_attached++;
}

/* Has it ended, and is nothing left to take?  A trainer that comes now wants the ring
 * that will be here next: of this one it would get an epoch without a batch. */
static bool is_over(const struct sfs_ring_socket *s)
{
	const struct sfs_ring_memory *m = s->state->memory;
	uint32_t i;

	if (atomic_load(&m->state) != SFS_RING_ENDED)
		return false;
	for (i = 0; i < m->n_slots; i++)
		if (sfs_ring_word_owner(atomic_load(&m->words[i])) == SFS_RING_FILLED)
			return false;
	return true;
}

static void accept_consumer(struct sfs_ring_socket *s)
{
	int fd = accept4(s->listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	const char *refusal;
	int id = -1;

	if (fd < 0) {
		s->has_no_file = errno == EMFILE || errno == ENFILE;
		return;
	}
	if (is_over(s)) { /* without a hello: it tries again */
		close(fd);
		return;
	}
	refusal = find_refusal(s, fd);
	pthread_mutex_lock(&s->state->lock);
	if (!refusal)
		id = find_free_consumer(s);
	if (id >= 0)
		add_consumer(s, id, fd);
	else if (!refusal)
		refusal = "the ring has 256 trainers already";
	pthread_mutex_unlock(&s->state->lock);
	if (id >= 0 && !sfs_ring_state_show(s->state))
		sfs_warning("%s.state: %s", s->state->path, strerror(errno));
	send_hello(s, fd, id, refusal); /* (one that has gone is seen by poll) */
	if (id < 0)
		close(fd);
}

/* With the lock: what becomes of a batch whose consumer is dead. */
static void give_away(struct sfs_ring_socket *s, uint32_t i,
		      const struct sfs_ring_consumer *c)
{
	struct sfs_ring_memory *m = s->state->memory;
	uint64_t seq = sfs_ring_word_seq(atomic_load(&m->words[i]));
	char why[256];

	switch (s->settings.policy) {
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
		 "trainer %d (pid %d) died while it held batch %" PRIu64
		 " (on-consumer-death=fail)",
		 (int)(c - s->consumers), (int)c->pid, seq);
	sfs_ring_state_fail(s->state, SFS_RING_LOST, why);
	atomic_store(&m->words[i], sfs_ring_word(seq, SFS_RING_FILLED));
}

static void log_death(const struct sfs_ring_socket *s, int id, pid_t pid, uint32_t n_held)
{
	static const char *const becomes[] = {[SFS_RING_FAIL] = "the ring fails",
					      [SFS_RING_REDELIVER] = "other trainers "
								     "get them",
					      [SFS_RING_DROP] = "they are dropped"};

	sfs_warning("ring %s: trainer %d (pid %d) died while it held %u batches: %s",
		    s->state->path, id, (int)pid, n_held,
		    becomes[s->settings.policy]);
}

/* With the lock.  Has a consumer that lives detached because the ring has failed?  Then
 * it wants to go on with a successor, who finds it in the table. */
static bool needs_successor(struct sfs_ring_socket *s, pid_t pid)
{
	return atomic_load(&s->state->memory->state) == SFS_RING_FAILED &&
	       !sfs_ring_is_dead((uint32_t)pid);
}

/* It is dead, or has released all and detached. */
static void remove_consumer(struct sfs_ring_socket *s, int id)
{
	struct sfs_ring_consumer *c = &s->consumers[id], old = *c;
	uint32_t i, n_held = 0;
	uint64_t word;

	pthread_mutex_lock(&s->state->lock);
	for (i = 0; i < s->state->n_slots; i++) {
		word = atomic_load(&s->state->memory->words[i]);
		if (sfs_ring_word_owner(word) != SFS_RING_CONSUMER + (uint32_t)id)
			continue;
		give_away(s, i, c);
		n_held++;
	}
	if (!needs_successor(s, old.pid))
		atomic_store(&s->state->memory->pids[id], 0);
	c->fd = c->pidfd = -1;
	if (--s->n_consumers == 0)
		s->alone_since_ns = sfs_clock_ns();
	pthread_mutex_unlock(&s->state->lock);
	close(old.fd);
	if (old.pidfd >= 0)
		close(old.pidfd);
	sfs_ring_state_wake(s->state); /* also for what it did not count any more */
	if (n_held > 0)
		log_death(s, id, old.pid, n_held);
}

/* The ring's thread. */

#define POLL_FIXED 2

/* No more are polled than there are: poll() takes no more than may be open. */
static bool poll_once(struct sfs_ring_socket *s, struct pollfd *fds, int timeout_ms)
{
	int i, n = POLL_FIXED;

	fds[0] = (struct pollfd){.fd = s->stop_fd, .events = POLLIN};
	fds[1] = (struct pollfd){.fd = s->listener.fd, .events = POLLIN};
	if (s->has_no_file) { /* it would be ready again at once */
		fds[1].fd = -1;
		timeout_ms = REST_MS;
		s->has_no_file = false;
	}
	for (i = 0; i < SFS_RING_CONSUMERS; i++) { /* only this thread changes them */
		fds[POLL_FIXED + 2 * i] =
			(struct pollfd){.fd = s->consumers[i].fd, .events = POLLRDHUP};
		fds[POLL_FIXED + 2 * i + 1] =
			(struct pollfd){.fd = s->consumers[i].pidfd, .events = POLLIN};
		if (s->consumers[i].fd >= 0)
			n = POLL_FIXED + 2 * (i + 1);
	}
	if (poll(fds, (nfds_t)n, timeout_ms) < 0)
		assert(errno == EINTR || errno == ENOMEM);
	return !fds[0].revents;
}

static void *socket_run(void *arg)
{
	struct sfs_ring_socket *s = arg;
	struct pollfd fds[POLL_FIXED + 2 * SFS_RING_CONSUMERS];
	int timeout_ms = sfs_ring_watch_interval_ms(s->settings.watch);
	int i;

	while (poll_once(s, fds, timeout_ms)) {
		for (i = 0; i < SFS_RING_CONSUMERS; i++)
			if (fds[POLL_FIXED + 2 * i].revents ||
			    fds[POLL_FIXED + 2 * i + 1].revents)
				remove_consumer(s, i);
		if (fds[1].revents)
			accept_consumer(s);
		sfs_ring_watch_look(s->settings.watch);
	}
	return NULL;
}

int sfs_ring_socket_open(struct sfs_ring_socket *s, struct sfs_ring_state *state,
			 struct sfs_error *err)
{
	int i;

	*s = (struct sfs_ring_socket){.state = state,
				      .stop_fd = -1,
				      .begin_ns = sfs_clock_ns(),
				      .alone_since_ns = sfs_clock_ns()};
	for (i = 0; i < SFS_RING_CONSUMERS; i++)
		s->consumers[i].fd = s->consumers[i].pidfd = -1;
	return sfs_local_socket_open(state->path, SFS_RING_CONSUMERS, &s->listener, err);
}

int sfs_ring_socket_start(struct sfs_ring_socket *s,
			  const struct sfs_ring_socket_settings *settings,
			  struct sfs_error *err)
{
	s->settings = *settings;
	s->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (s->stop_fd < 0)
		return sfs_error_set(err, -errno, "eventfd: %s", strerror(errno));
	s->thread = sfs_thread_start("ring", socket_run, s);
	s->has_thread = true;
	return 0;
}

/* Until all consumers have closed what they have of the GPU's memory. */
static void await_detach(struct sfs_ring_socket *s)
{
	uint64_t begin_ns = sfs_clock_ns();
	uint32_t n = 1;

	/* (Who has a descriptor keeps the memory.) */
	if (!s->settings.is_on_device || s->settings.info->fd >= 0 ||
	    atomic_load(&s->state->memory->state) == SFS_RING_RUNS)
		return;
	while (n > 0 && !sfs_clock_is_over(begin_ns, DETACH_MS, sfs_clock_ns())) {
		pthread_mutex_lock(&s->state->lock);
		n = s->n_consumers;
		pthread_mutex_unlock(&s->state->lock);
		if (n > 0)
			poll(NULL, 0, 10);
	}
}

static void stop_thread(struct sfs_ring_socket *s)
{
	uint64_t one = 1;

	if (write(s->stop_fd, &one, sizeof one) < 0)
		assert(!"an eventfd takes a 1");
	pthread_join(s->thread, NULL);
}

void sfs_ring_socket_stop(struct sfs_ring_socket *s)
{
	if (s->has_thread) {
		await_detach(s);
		stop_thread(s);
	}
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void sfs_ring_socket_close(struct sfs_ring_socket *s)
{
	int i;

	for (i = 0; i < SFS_RING_CONSUMERS; i++) {
		close_fd(s->consumers[i].fd);
		close_fd(s->consumers[i].pidfd);
	}
	close_fd(s->stop_fd);
	sfs_local_socket_close(&s->listener);
}

/* Telling. */

bool sfs_ring_socket_is_awaited(struct sfs_ring_socket *s)
{
	uint64_t await_ms = s->settings.await_ms;
	bool is;

	pthread_mutex_lock(&s->state->lock);
	is = s->n_attached < s->state->n_awaited &&
	     !sfs_clock_is_over(s->begin_ns, await_ms, sfs_clock_ns());
	pthread_mutex_unlock(&s->state->lock);
	return is;
}

uint64_t sfs_ring_socket_alone_ms(struct sfs_ring_socket *s)
{
	uint64_t ns = 0;

	pthread_mutex_lock(&s->state->lock);
	if (s->n_consumers == 0)
		ns = sfs_clock_between(s->alone_since_ns, sfs_clock_ns());
	pthread_mutex_unlock(&s->state->lock);
	return ns / SFS_NS_PER_MS;
}

void sfs_ring_socket_describe(const struct sfs_ring_socket *s, const uint32_t *holds,
			      struct sfs_json_writer *json)
{
	int i;

	sfs_json_open(json, "consumers", '[');
	for (i = 0; i < SFS_RING_CONSUMERS; i++) {
		if (s->consumers[i].fd < 0)
			continue;
		sfs_json_open(json, NULL, '{');
		sfs_json_put_uint(json, "id", (uint64_t)i);
		sfs_json_put_uint(json, "pid", (uint64_t)s->consumers[i].pid);
		sfs_json_put_uint(json, "holds", holds[i]);
		sfs_json_close(json, '}');
	}
	sfs_json_close(json, ']');
}
