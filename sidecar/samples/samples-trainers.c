/* SPDX-License-Identifier: MIT */
/* How this works: what a trainer has is in its `held`.  When it dies, that is dropped,
 * queued again at the front, or the reason of a failure.  All is done with the lock. */
#include "samples/samples-server-internal.h"

#include "base/alloc.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HEAR_MAX 16 /* messages of one trainer in a turn */

/* ---- items ---- */

void sfs_samples_server_queue(struct sfs_samples_server *s, struct sfs_samples_item *item,
			      struct sfs_link *before)
{
	sfs_list_push(before, &item->link); /* (before the first: at the front) */
	s->n_queued++;
	s->n_queued_bytes += item->n_bytes;
}

struct sfs_samples_item *sfs_samples_server_first(struct sfs_samples_server *s)
{
	if (sfs_list_is_empty(&s->queue))
		return NULL;
	return sfs_container(s->queue.next, struct sfs_samples_item, link);
}

void sfs_samples_server_unqueue(struct sfs_samples_server *s,
				struct sfs_samples_item *item)
{
	sfs_link_remove(&item->link);
	s->n_queued--;
	s->n_queued_bytes -= item->n_bytes;
}

void sfs_samples_server_drop_queue(struct sfs_samples_server *s)
{
	struct sfs_samples_item *item;

	while ((item = sfs_samples_server_first(s)) != NULL) {
		sfs_samples_server_unqueue(s, item);
		sfs_list_push(&s->done, &item->link);
	}
}

void sfs_samples_server_set_failed(struct sfs_samples_server *s, const char *why,
				   bool at_once)
{
	if (s->state == SFS_SAMPLES_SERVER_FAILED)
		return;
	s->state = SFS_SAMPLES_SERVER_FAILED;
	s->is_at_once = at_once;
	snprintf(s->why, sizeof s->why, "%s", why);
	if (at_once)
		sfs_samples_server_drop_queue(s);
}

/* It is the trainer's no more. */
static void count_back(struct sfs_samples_server *s, struct sfs_samples_trainer *t,
		       struct sfs_samples_item *item)
{
	t->n_bytes_held -= item->n_bytes;
	s->n_held--;
}

void sfs_samples_server_release_held(struct sfs_samples_server *s,
				     struct sfs_samples_trainer *t, void *item)
{
	struct sfs_samples_item *i = item;

	if (!i)
		return;
	count_back(s, t, i);
	sfs_list_push(&s->done, &i->link);
}

/* Back to the front, in their order. */
static void requeue_held(struct sfs_samples_server *s, struct sfs_samples_trainer *t,
			 uint64_t from)
{
	struct sfs_samples_item *item;

	while ((item = sfs_samples_held_take_last(&t->held, from)) != NULL) {
		count_back(s, t, item);
		if (s->state == SFS_SAMPLES_SERVER_FAILED && s->is_at_once)
			sfs_list_push(&s->done, &item->link);
		else
			sfs_samples_server_queue(s, item, s->queue.next);
	}
}

/* ---- trainers ---- */

void sfs_samples_server_forget(struct sfs_samples_server *s,
			       struct sfs_samples_trainer *t)
{
	assert(t->held.n == 0);
	sfs_samples_held_done(&t->held);
	close(t->fd);
	if (t->pidfd >= 0)
		close(t->pidfd);
	*t = (struct sfs_samples_trainer){.fd = -1, .pidfd = -1};
	s->n_trainers--;
}

/* It has died, or is taken for dead. */
void sfs_samples_server_bury(struct sfs_samples_server *s, struct sfs_samples_trainer *t,
			     bool is_death)
{
	const char *how = is_death ? "died" : "sent an invalid message";
	unsigned id = (unsigned)(t - s->trainers);
	uint64_t n = t->held.n;
	char why[256];
	void *item;

	if (n > 0 && s->settings.policy == SFS_RING_FAIL) {
		snprintf(why, sizeof why,
			 "trainer %u (pid %d) %s while it held %llu samples "
			 "(--on-consumer-death=fail)",
			 id, (int)t->pid, how, (unsigned long long)n);
		s->is_ours |= s->state != SFS_SAMPLES_SERVER_FAILED;
		sfs_samples_server_set_failed(s, why, true);
	}
	if (s->settings.policy == SFS_RING_REDELIVER) {
		s->n_redelivered += n;
		requeue_held(s, t, 0);
	}
	while ((item = sfs_samples_held_take_below(&t->held, UINT64_MAX)) != NULL) {
		s->n_dropped++;
		sfs_samples_server_release_held(s, t, item);
	}
	if (s->n_warnings < SFS_SAMPLES_TRAINERS && (n > 0 || !is_death))
		s->warnings[s->n_warnings++] = sfs_asprintf(
			"samples:%s: trainer %u (pid %d) %s while it held %llu samples",
			s->settings.path, id, (int)t->pid, how, (unsigned long long)n);
	sfs_samples_server_forget(s, t);
}

static void leave(struct sfs_samples_server *s, struct sfs_samples_trainer *t,
		  uint64_t n_taken)
{
	void *item;

	while ((item = sfs_samples_held_take_below(&t->held, n_taken)) != NULL)
		sfs_samples_server_release_held(s, t, item);
	requeue_held(s, t, n_taken);
	sfs_samples_server_forget(s, t);
}

/* -EPROTO: a total is less than it was. */
static int take_want(struct sfs_samples_server *s, struct sfs_samples_trainer *t,
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
		sfs_samples_server_release_held(s, t, item);
	for (i = 0; i < w->n_releases; i++)
		sfs_samples_server_release_held(s, t,
						sfs_samples_held_take(&t->held,
								      said->releases[i]));
	return 0;
}

/* What it says.  It may be gone after that.  true: there may be more. */
bool sfs_samples_server_hear(struct sfs_samples_server *s, struct sfs_samples_trainer *t)
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
			sfs_samples_server_bury(s, t, true);
			return false;
		}
		if (sfs_samples_hear(bytes, (size_t)n, t->held.n_put, &said) < 0 ||
		    (!said.is_leave && take_want(s, t, &said) < 0)) {
			sfs_samples_server_bury(s, t, false);
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

static struct sfs_samples_trainer *find_free(struct sfs_samples_server *s)
{
	int i;

	for (i = 0; i < SFS_SAMPLES_TRAINERS; i++)
		if (s->trainers[i].fd < 0)
			return &s->trainers[i];
	return NULL;
}

/* With the lock: has the stream ended, and is no sample left to give?  A trainer that
 * comes now wants the stream that will be here next: of this one it would get nothing. */
static bool is_over(const struct sfs_samples_server *s)
{
	return s->state == SFS_SAMPLES_SERVER_ENDED && s->n_queued == 0;
}

void sfs_samples_server_accept(struct sfs_samples_server *s)
{
	int fd = accept4(s->socket.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct sfs_samples_trainer *t;

	if (fd < 0) {
		s->has_no_file = errno == EMFILE || errno == ENFILE;
		return;
	}
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
	t->fd = fd;
	t->pid = sfs_local_socket_peer(fd, &t->pidfd);
	s->n_trainers++;
	s->progress.is_attached = true;
}

/* false: its socket is full, or it has gone, which poll() will tell. */
bool sfs_samples_server_send(struct sfs_samples_trainer *t, const void *bytes, size_t n)
{
	if (send(t->fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
		return true;
	t->is_blocked = true;
	return false;
}

void sfs_samples_server_greet(struct sfs_samples_server *s, struct sfs_samples_trainer *t)
{
	if (s->has_begun && !t->has_hello)
		t->has_hello = send_hello(s, t->fd, NULL) == 0;
}
