/* SPDX-License-Identifier: MIT */
/* How this works: what was put waits in a queue, and goes to a trainer that has asked for
 * more, in messages of SOME_MAX samples at most, so that trainers that ask at the same
 * time get about as many.  What a trainer has is in its `held`.  When it dies, that is
 * dropped, queued again at the front, or the reason of a failure.
 *
 * With REDELIVER the end is told only when all who hold samples wait for more: until
 * then, one of them may die, and the others must be there to get its samples.
 *
 * One lock guards everything; nothing that is done with it waits, for all sockets are
 * non-blocking.  Items are released without it. */
#include "samples/samples-server.h"

#include "ring/local-socket.h"
#include "samples/samples-held.h"
#include "samples/samples-wire.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/cond.h"
#include "base/log.h"
#include "base/threadpool.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TRAINERS_MAX 256
#define SOME_MAX     32
#define HEAR_MAX     16 /* messages of one trainer in a turn */
#define LAST_TURNS   64 /* of one that has ended */
#define TURN_MS	     1000

/* So much waits for trainers; what they have asked for comes on top. */
#define AHEAD_BYTES   ((uint64_t)2 << 20)
#define AHEAD_SAMPLES 1024

struct trainer {
	int fd, pidfd; /* fd < 0: there is none */
	pid_t pid;
	bool has_hello, is_told, is_waiting, is_blocked;
	uint64_t n_samples, n_bytes; /* it can have had */
	uint64_t n_bytes_sent, n_bytes_held;
	struct sfs_samples_held held;
};

enum state { RUNS, ENDED, FAILED };

struct sfs_samples_server {
	struct sfs_samples_server_settings settings;
	struct sfs_local_socket socket;
	int wake_fd;
	pthread_t thread;
	bool has_thread;
	_Alignas(8) unsigned char message[SFS_SAMPLES_MESSAGE_MAX];

	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t changed;
	bool is_stopped, has_begun, is_at_once;
	bool is_ours; /* the failure: -EIO for who puts */
	enum state state;
	char why[sizeof(struct sfs_error)];
	int fds[SFS_SAMPLES_MEMORIES];
	uint64_t n_bytes[SFS_SAMPLES_MEMORIES];
	uint32_t n_memories;
	struct trainer trainers[TRAINERS_MAX];
	uint32_t n_trainers, turn;
	struct sfs_link queue, done; /* done: to be released without the lock */
	uint64_t n_queued, n_queued_bytes, n_held;
	uint64_t n_dropped, n_redelivered;
	char *warnings[TRAINERS_MAX]; /* to be logged without the lock */
	uint32_t n_warnings;
	uint64_t alone_since_ns; /* with samples, and no trainer; 0: not so */
	struct sfs_samples_progress progress;
};

/* ---- items; all with the lock ---- */

static void queue_item(struct sfs_samples_server *s, struct sfs_samples_item *item,
		       struct sfs_link *before)
{
	sfs_list_push(before, &item->link); /* (before the first: at the front) */
	s->n_queued++;
	s->n_queued_bytes += item->n_bytes;
}

static struct sfs_samples_item *first_item(struct sfs_samples_server *s)
{
	if (sfs_list_is_empty(&s->queue))
		return NULL;
	return sfs_container(s->queue.next, struct sfs_samples_item, link);
}

static void unqueue_item(struct sfs_samples_server *s, struct sfs_samples_item *item)
{
	sfs_link_remove(&item->link);
	s->n_queued--;
	s->n_queued_bytes -= item->n_bytes;
}

static void drop_queue(struct sfs_samples_server *s)
{
	struct sfs_samples_item *item;

	while ((item = first_item(s)) != NULL) {
		unqueue_item(s, item);
		sfs_list_push(&s->done, &item->link);
	}
}

static void set_failed(struct sfs_samples_server *s, const char *why, bool at_once)
{
	if (s->state == FAILED)
		return;
	s->state = FAILED;
	s->is_at_once = at_once;
	snprintf(s->why, sizeof s->why, "%s", why);
	if (at_once)
		drop_queue(s);
}

/* It is the trainer's no more. */
static void count_back(struct sfs_samples_server *s, struct trainer *t,
		       struct sfs_samples_item *item)
{
	t->n_bytes_held -= item->n_bytes;
	s->n_held--;
}

static void release_held(struct sfs_samples_server *s, struct trainer *t, void *item)
{
	struct sfs_samples_item *i = item;

	if (!i)
		return;
	count_back(s, t, i);
	sfs_list_push(&s->done, &i->link);
}

/* Back to the front, in their order. */
static void requeue_held(struct sfs_samples_server *s, struct trainer *t, uint64_t from)
{
	struct sfs_samples_item *item;

	while ((item = sfs_samples_held_take_last(&t->held, from)) != NULL) {
		count_back(s, t, item);
		if (s->state == FAILED && s->is_at_once)
			sfs_list_push(&s->done, &item->link);
		else
			queue_item(s, item, s->queue.next);
	}
}

/* ---- trainers; all with the lock ---- */

static void forget(struct sfs_samples_server *s, struct trainer *t)
{
	assert(t->held.n == 0);
	sfs_samples_held_done(&t->held);
	close(t->fd);
	if (t->pidfd >= 0)
		close(t->pidfd);
	*t = (struct trainer){.fd = -1, .pidfd = -1};
	s->n_trainers--;
}

/* It has died, or is taken for dead. */
static void bury(struct sfs_samples_server *s, struct trainer *t, bool is_death)
{
	const char *how = is_death ? "died" : "said what no trainer says";
	unsigned id = (unsigned)(t - s->trainers);
	uint64_t n = t->held.n;
	char why[256];
	void *item;

	if (n > 0 && s->settings.policy == SFS_RING_FAIL) {
		snprintf(why, sizeof why,
			 "trainer %u (pid %d) %s while it held %llu samples "
			 "(--on-consumer-death=fail)",
			 id, (int)t->pid, how, (unsigned long long)n);
		s->is_ours |= s->state != FAILED;
		set_failed(s, why, true);
	}
	if (s->settings.policy == SFS_RING_REDELIVER) {
		s->n_redelivered += n;
		requeue_held(s, t, 0);
	}
	while ((item = sfs_samples_held_take_below(&t->held, UINT64_MAX)) != NULL) {
		s->n_dropped++;
		release_held(s, t, item);
	}
	if (s->n_warnings < TRAINERS_MAX && (n > 0 || !is_death))
		s->warnings[s->n_warnings++] = sfs_asprintf(
			"samples:%s: trainer %u (pid %d) %s while it held %llu samples",
			s->settings.path, id, (int)t->pid, how, (unsigned long long)n);
	forget(s, t);
}

static void leave(struct sfs_samples_server *s, struct trainer *t, uint64_t n_taken)
{
	void *item;

	while ((item = sfs_samples_held_take_below(&t->held, n_taken)) != NULL)
		release_held(s, t, item);
	requeue_held(s, t, n_taken);
	forget(s, t);
}

/* -EPROTO: a total is less than it was. */
static int take_want(struct sfs_samples_server *s, struct trainer *t,
		     const struct sfs_samples_said *said)
{
	const struct sfs_samples_want *w = &said->want;
	void *item;
	uint32_t i;

	if (w->n_samples < t->n_samples || w->n_bytes < t->n_bytes)
		return -EPROTO;
	t->n_samples = w->n_samples;
	t->n_bytes = w->n_bytes;
	t->is_waiting = w->is_waiting;
	while ((item = sfs_samples_held_take_below(&t->held, w->n_released_below)))
		release_held(s, t, item);
	for (i = 0; i < w->n_releases; i++)
		release_held(s, t, sfs_samples_held_take(&t->held, said->releases[i]));
	return 0;
}

/* What it says.  It may be gone after that.  true: there may be more. */
static bool hear(struct sfs_samples_server *s, struct trainer *t)
{
	char bytes[sizeof(struct sfs_samples_want) +
		   SFS_SAMPLES_RELEASES_MAX * sizeof(uint64_t) + 8];
	struct sfs_samples_said said;
	ssize_t n;
	int i;

	for (i = 0; i < HEAR_MAX; i++) {
		n = recv(t->fd, bytes, sizeof bytes, MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return false;
		if (n <= 0) {
			bury(s, t, true);
			return false;
		}
		if (sfs_samples_hear(bytes, (size_t)n, t->held.n_put, &said) < 0 ||
		    (!said.is_leave && take_want(s, t, &said) < 0)) {
			bury(s, t, false);
			return false;
		}
		if (said.is_leave) {
			leave(s, t, said.n_taken);
			return false;
		}
	}
	return true;
}

static int send_hello(struct sfs_samples_server *s, int fd, const char *refusal)
{
	struct sfs_samples_hello hello = {.magic = SFS_SAMPLES_MAGIC,
					  .version = SFS_SAMPLES_VERSION,
					  .n_memories = refusal ? 0 : s->n_memories};
	size_t n_fds = hello.n_memories * sizeof *s->fds;
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof s->fds)];
	} control = {.header = {.cmsg_len = CMSG_LEN(n_fds),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS}};
	struct iovec iov = {.iov_base = &hello, .iov_len = sizeof hello};
	struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};

	memcpy(hello.n_bytes, s->n_bytes, sizeof hello.n_bytes);
	if (refusal) {
		snprintf(hello.refusal, sizeof hello.refusal, "%s", refusal);
	} else {
		memcpy(CMSG_DATA(&control.header), s->fds, n_fds);
		message.msg_control = control.bytes;
		message.msg_controllen = CMSG_SPACE(n_fds);
	}
	return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

static struct trainer *find_free(struct sfs_samples_server *s)
{
	int i;

	for (i = 0; i < TRAINERS_MAX; i++)
		if (s->trainers[i].fd < 0)
			return &s->trainers[i];
	return NULL;
}

/* With the lock: has the stream ended, and is no sample left to give?  A trainer that comes
 * now wants the stream that will be here next: of this one it would get nothing. */
static bool is_over(const struct sfs_samples_server *s)
{
	return s->state == ENDED && s->n_queued == 0;
}

static void accept_trainer(struct sfs_samples_server *s)
{
	int fd = accept4(s->socket.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct ucred peer = {.pid = 0};
	socklen_t n = sizeof peer;
	struct trainer *t;

	if (fd < 0)
		return;
	if (is_over(s)) { /* without a hello: it tries again */
		close(fd);
		return;
	}
	t = find_free(s);
	if (!t) {
		send_hello(s, fd, "samples go to 256 trainers at most");
		close(fd);
		return;
	}
	getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n);
	t->fd = fd;
	t->pid = peer.pid; /* 0: it is of a namespace that we do not see */
	t->pidfd = peer.pid > 0 ? (int)syscall(SYS_pidfd_open, peer.pid, 0) : -1;
	s->n_trainers++;
	s->progress.is_attached = true;
}

/* false: its socket is full, or it has gone, which poll() will tell. */
static bool send_to(struct trainer *t, const void *bytes, size_t n)
{
	if (send(t->fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
		return true;
	t->is_blocked = true;
	return false;
}

static void greet(struct sfs_samples_server *s, struct trainer *t)
{
	if (s->has_begun && !t->has_hello)
		t->has_hello = send_hello(s, t->fd, NULL) == 0;
}

/* ---- giving; all with the lock ---- */

static bool can_take(const struct trainer *t, uint64_t n_more, uint64_t n_more_bytes)
{
	return t->fd >= 0 && t->has_hello && !t->is_told && !t->is_blocked &&
	       t->held.n_put + n_more < t->n_samples &&
	       t->n_bytes_sent + n_more_bytes < t->n_bytes;
}

/* Write the next samples as the trainer's next message; returns how many. */
static uint32_t write_some(struct sfs_samples_server *s, const struct trainer *t,
			   size_t *ret_n)
{
	struct sfs_samples_message *message = (void *)s->message;
	size_t at = sizeof *message;
	uint64_t n_bytes = 0, number;
	uint32_t n = 0;

	SFS_EACH (item, &s->queue, struct sfs_samples_item, link) {
		if (n == SOME_MAX || !can_take(t, n, n_bytes) ||
		    item->n_wire > sizeof s->message - at)
			break;
		memcpy(s->message + at, item->wire, item->n_wire);
		number = t->held.n_put + n;
		memcpy(s->message + at, &number, sizeof number);
		at += item->n_wire;
		n_bytes += item->n_bytes;
		n++;
	}
	*message = (struct sfs_samples_message){SFS_SAMPLES_SOME, n};
	*ret_n = at;
	return n;
}

static bool give_some(struct sfs_samples_server *s, struct trainer *t)
{
	struct sfs_samples_item *item;
	uint32_t n;
	size_t n_message;

	n = write_some(s, t, &n_message);
	if (n == 0 || !send_to(t, s->message, n_message))
		return false;
	t->is_waiting = false;
	for (; n > 0; n--) {
		item = first_item(s);
		unqueue_item(s, item);
		sfs_samples_held_put(&t->held, item);
		t->n_bytes_sent += item->n_bytes;
		t->n_bytes_held += item->n_bytes;
		s->n_held++;
		if (item->was_sent)
			continue;
		item->was_sent = true;
		s->progress.n_samples++;
		s->progress.n_bytes += item->n_bytes;
		s->progress.next = item->ordinal + 1;
	}
	return true;
}

static void give(struct sfs_samples_server *s)
{
	uint32_t i, n_idle = 0;

	while (n_idle < TRAINERS_MAX && !sfs_list_is_empty(&s->queue)) {
		i = s->turn++ % TRAINERS_MAX;
		n_idle = give_some(s, &s->trainers[i]) ? 0 : n_idle + 1;
	}
}

/* Can it hear the end? */
static bool has_ended(const struct sfs_samples_server *s)
{
	uint32_t i;

	if (s->state == RUNS || !sfs_list_is_empty(&s->queue))
		return false;
	if (s->state == FAILED || s->settings.policy != SFS_RING_REDELIVER)
		return true;
	for (i = 0; i < TRAINERS_MAX; i++)
		if (s->trainers[i].held.n > 0 && !s->trainers[i].is_waiting)
			return false;
	return true;
}

static void tell(struct sfs_samples_server *s, struct trainer *t)
{
	struct {
		struct sfs_samples_message head;
		char why[sizeof s->why];
	} m = {.head = {.kind = SFS_SAMPLES_END}};

	if (!t->has_hello || t->is_told || t->is_blocked)
		return;
	if (s->state == FAILED) {
		m.head = (struct sfs_samples_message){SFS_SAMPLES_FAILED,
						      (uint32_t)strlen(s->why)};
		memcpy(m.why, s->why, m.head.n);
	}
	t->is_told = send_to(t, &m, sizeof m.head + m.head.n);
}

static void tell_all(struct sfs_samples_server *s)
{
	uint32_t i;

	if (!has_ended(s))
		return;
	for (i = 0; i < TRAINERS_MAX; i++)
		if (s->trainers[i].fd >= 0)
			tell(s, &s->trainers[i]);
}

static void look_for_trainers(struct sfs_samples_server *s)
{
	uint64_t now_ns = sfs_clock_ns(), give_up_ns;
	char why[128];

	if (s->n_trainers > 0 || sfs_list_is_empty(&s->queue)) {
		s->alone_since_ns = 0;
		return;
	}
	if (s->alone_since_ns == 0)
		s->alone_since_ns = now_ns;
	give_up_ns = s->settings.give_up_ms * SFS_NS_PER_MS;
	if (give_up_ns == 0 || now_ns - s->alone_since_ns < give_up_ns)
		return;
	snprintf(why, sizeof why,
		 "no trainer was attached for %u s, and %llu samples wait",
		 s->settings.give_up_ms / 1000, (unsigned long long)s->n_queued);
	s->is_ours |= s->state != FAILED;
	set_failed(s, why, true);
	drop_queue(s); /* (of a stream that has failed before, too) */
}

/* ---- the thread ---- */

#define POLL_FIXED 2
#define POLL_MAX   (POLL_FIXED + 2 * TRAINERS_MAX)

static void poll_once(struct sfs_samples_server *s, struct pollfd *fds)
{
	struct trainer *t;
	eventfd_t n;
	int i;

	fds[0] = (struct pollfd){.fd = s->wake_fd, .events = POLLIN};
	fds[1] = (struct pollfd){.fd = s->socket.fd, .events = POLLIN};
	for (i = 0; i < TRAINERS_MAX; i++) { /* only this thread changes these */
		t = &s->trainers[i];
		fds[POLL_FIXED + 2 * i] =
			(struct pollfd){.fd = t->fd,
					.events = POLLIN | POLLRDHUP |
						  (t->is_blocked ? POLLOUT : 0)};
		fds[POLL_FIXED + 2 * i + 1] =
			(struct pollfd){.fd = t->pidfd, .events = POLLIN};
	}
	if (poll(fds, POLL_MAX, TURN_MS) < 0)
		assert(errno == EINTR || errno == ENOMEM);
	if (fds[0].revents)
		eventfd_read(s->wake_fd, &n);
}

/* Its process has ended: what it has said last counts, whoever has its socket still. */
static void end_trainer(struct sfs_samples_server *s, struct trainer *t)
{
	int i;

	for (i = 0; i < LAST_TURNS && t->fd >= 0 && hear(s, t); i++)
		;
	if (t->fd >= 0)
		bury(s, t, true);
}

/* With the lock. */
static void turn(struct sfs_samples_server *s, const struct pollfd *fds)
{
	struct trainer *t;
	int i;

	for (i = 0; i < TRAINERS_MAX; i++) {
		t = &s->trainers[i];
		if (fds[POLL_FIXED + 2 * i].revents) {
			t->is_blocked = false;
			hear(s, t);
		}
		if (t->fd >= 0 && fds[POLL_FIXED + 2 * i + 1].revents)
			end_trainer(s, t);
	}
	if (fds[1].revents)
		accept_trainer(s);
	for (i = 0; i < TRAINERS_MAX; i++)
		if (s->trainers[i].fd >= 0)
			greet(s, &s->trainers[i]);
	give(s);
	tell_all(s);
	look_for_trainers(s);
}

static void release_done(struct sfs_samples_server *s, struct sfs_link *done)
{
	struct sfs_link *link;

	while ((link = sfs_list_pop(done)) != NULL)
		s->settings.release(s->settings.arg,
				    sfs_container(link, struct sfs_samples_item, link));
}

static void log_warnings(char **warnings, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		sfs_warning("%s", warnings[i]);
		free(warnings[i]);
	}
}

static void *run(void *arg)
{
	struct sfs_samples_server *s = arg;
	struct pollfd fds[POLL_MAX];
	struct sfs_link done;
	char *warnings[TRAINERS_MAX];
	uint32_t n_warnings;
	bool is_stopped = false;

	sfs_list_init(&done);
	while (!is_stopped) {
		poll_once(s, fds);
		pthread_mutex_lock(&s->lock);
		turn(s, fds);
		sfs_list_move(&done, &s->done);
		n_warnings = s->n_warnings;
		memcpy(warnings, s->warnings, sizeof warnings);
		s->n_warnings = 0;
		is_stopped = s->is_stopped;
		pthread_mutex_unlock(&s->lock);
		release_done(s, &done);
		log_warnings(warnings, n_warnings);
		pthread_mutex_lock(&s->lock); /* what was released makes room */
		pthread_cond_broadcast(&s->changed);
		pthread_mutex_unlock(&s->lock);
	}
	return NULL;
}

static void wake(struct sfs_samples_server *s)
{
	eventfd_write(s->wake_fd, 1);
}

/* ---- life ---- */

int sfs_samples_server_new(const struct sfs_samples_server_settings *settings,
			   struct sfs_samples_server **ret, struct sfs_error *err)
{
	struct sfs_samples_server *s = sfs_calloc(1, sizeof *s);
	int i, code;

	s->settings = *settings;
	s->settings.path = sfs_strdup(settings->path);
	for (i = 0; i < TRAINERS_MAX; i++)
		s->trainers[i].fd = s->trainers[i].pidfd = -1;
	sfs_list_init(&s->queue);
	sfs_list_init(&s->done);
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	code = sfs_local_socket_open(settings->path, TRAINERS_MAX, &s->socket, err);
	if (code < 0) {
		sfs_samples_server_free(s);
		return code;
	}
	s->thread = sfs_thread_start("samples", run, s);
	s->has_thread = true;
	*ret = s;
	return 0;
}

/* What is held or queued still. */
static void let_go(struct sfs_samples_server *s)
{
	struct trainer *t;
	void *item;
	int i;

	drop_queue(s);
	for (i = 0; i < TRAINERS_MAX; i++) {
		t = &s->trainers[i];
		if (t->fd < 0)
			continue;
		while ((item = sfs_samples_held_take_below(&t->held, UINT64_MAX)))
			release_held(s, t, item);
		forget(s, t);
	}
	release_done(s, &s->done);
}

void sfs_samples_server_free(struct sfs_samples_server *s)
{
	uint32_t i;

	if (!s)
		return;
	if (s->has_thread) {
		pthread_mutex_lock(&s->lock);
		s->is_stopped = true;
		pthread_mutex_unlock(&s->lock);
		wake(s);
		pthread_join(s->thread, NULL);
	}
	let_go(s);
	sfs_local_socket_close(&s->socket);
	for (i = 0; i < s->n_memories; i++)
		close(s->fds[i]);
	close(s->wake_fd);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	free((char *)s->settings.path);
	free(s);
}

/* ---- for the thread that puts ---- */

void sfs_samples_server_begin(struct sfs_samples_server *s, const int *fds,
			      const uint64_t *n_bytes, uint32_t n_memories)
{
	uint32_t i;

	pthread_mutex_lock(&s->lock);
	for (i = 0; i < n_memories; i++) {
		s->fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 3);
		s->n_bytes[i] = n_bytes[i];
	}
	s->n_memories = n_memories;
	s->has_begun = true;
	pthread_mutex_unlock(&s->lock);
	wake(s);
}

bool sfs_samples_server_has_begun(struct sfs_samples_server *s)
{
	bool ret;

	pthread_mutex_lock(&s->lock);
	ret = s->has_begun;
	pthread_mutex_unlock(&s->lock);
	return ret;
}

void sfs_samples_server_put(struct sfs_samples_server *s, struct sfs_link *items)
{
	struct sfs_link *link;
	bool is_any = !sfs_list_is_empty(items);

	pthread_mutex_lock(&s->lock);
	while ((link = sfs_list_pop(items)) != NULL)
		queue_item(s, sfs_container(link, struct sfs_samples_item, link),
			   &s->queue);
	if (s->state == FAILED)
		drop_queue(s);
	pthread_mutex_unlock(&s->lock);
	if (is_any)
		wake(s);
}

/* With the lock. */
static int explain(const struct sfs_samples_server *s, struct sfs_error *err)
{
	return sfs_error_set(err, -EIO, "%s", s->why);
}

static bool has_room(struct sfs_samples_server *s)
{
	return s->n_queued < AHEAD_SAMPLES && s->n_queued_bytes < AHEAD_BYTES &&
	       !s->settings.is_full(s->settings.arg);
}

int sfs_samples_server_wait(struct sfs_samples_server *s, int timeout_ms,
			    struct sfs_error *err)
{
	uint64_t until_ns = sfs_clock_ns() + (uint64_t)timeout_ms * SFS_NS_PER_MS;
	bool is_in_time = true;
	int ret = 0;

	pthread_mutex_lock(&s->lock);
	while (s->state != FAILED && is_in_time && !has_room(s))
		is_in_time = sfs_cond_wait_until(&s->changed, &s->lock, until_ns);
	if (s->state == FAILED)
		ret = explain(s, err);
	else if (!has_room(s))
		ret = -ETIMEDOUT;
	pthread_mutex_unlock(&s->lock);
	return ret;
}

void sfs_samples_server_end(struct sfs_samples_server *s)
{
	pthread_mutex_lock(&s->lock);
	if (s->state == RUNS)
		s->state = ENDED;
	pthread_mutex_unlock(&s->lock);
	wake(s);
}

void sfs_samples_server_fail(struct sfs_samples_server *s, const char *why, bool at_once)
{
	pthread_mutex_lock(&s->lock);
	set_failed(s, why, at_once);
	if (at_once) {
		s->is_at_once = true;
		drop_queue(s);
	}
	pthread_mutex_unlock(&s->lock);
	wake(s);
}

/* With the lock. */
static bool is_finished(const struct sfs_samples_server *s)
{
	uint32_t i;

	if (!has_ended(s) || s->n_held > 0)
		return false;
	for (i = 0; i < TRAINERS_MAX; i++)
		if (s->trainers[i].fd >= 0 && !s->trainers[i].is_told)
			return false;
	return true;
}

int sfs_samples_server_finish(struct sfs_samples_server *s, int timeout_ms,
			      struct sfs_error *err)
{
	uint64_t until_ns = sfs_clock_ns() + (uint64_t)timeout_ms * SFS_NS_PER_MS;
	bool is_in_time = true;
	int ret = 0;

	pthread_mutex_lock(&s->lock);
	while (is_in_time && !is_finished(s))
		is_in_time = sfs_cond_wait_until(&s->changed, &s->lock, until_ns);
	if (!is_finished(s))
		ret = -ETIMEDOUT;
	else if (s->state == FAILED && s->is_ours)
		ret = explain(s, err);
	pthread_mutex_unlock(&s->lock);
	return ret;
}

/* ---- telling ---- */

void sfs_samples_server_look(struct sfs_samples_server *s,
			     struct sfs_samples_progress *ret)
{
	pthread_mutex_lock(&s->lock);
	*ret = s->progress;
	pthread_mutex_unlock(&s->lock);
}

void sfs_samples_server_describe(struct sfs_samples_server *s,
				 struct sfs_json_writer *json)
{
	struct trainer *t;
	uint32_t i;

	pthread_mutex_lock(&s->lock);
	sfs_json_put_uint(json, "queued", s->n_queued);
	sfs_json_put_uint(json, "held", s->n_held);
	sfs_json_put_uint(json, "dropped", s->n_dropped);
	sfs_json_put_uint(json, "redelivered", s->n_redelivered);
	sfs_json_open(json, "trainers", '[');
	for (i = 0; i < TRAINERS_MAX; i++) {
		t = &s->trainers[i];
		if (t->fd < 0)
			continue;
		sfs_json_open(json, NULL, '{');
		sfs_json_put_uint(json, "id", i);
		sfs_json_put_uint(json, "pid", (uint64_t)t->pid);
		sfs_json_put_uint(json, "holds", t->held.n);
		sfs_json_put_uint(json, "holds_bytes", t->n_bytes_held);
		sfs_json_close(json, '}');
	}
	sfs_json_close(json, ']');
	pthread_mutex_unlock(&s->lock);
}
