/* SPDX-License-Identifier: MIT */
/* How this works: what was put waits in a queue, and goes to a trainer that has asked for
 * more, in messages of SOME_MAX samples at most, so that trainers that ask at the same
 * time get about as many.
 *
 * With REDELIVER the end is told only when all who hold samples wait for more: until
 * then, one of them may die, and the others must be there to get its samples. */
#include "samples/samples-server-internal.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#define SOME_MAX   32
#define LAST_TURNS 64 /* of one that has ended */
#define TURN_MS	   1000
#define REST_MS	   100

/* ---- giving; with the lock ---- */

static bool can_take(const struct sfs_samples_trainer *t, uint64_t n_more,
		     uint64_t n_more_bytes)
{
	return t->fd >= 0 && t->has_hello && !t->is_told && !t->is_blocked &&
	       t->held.n_put + n_more < t->n_samples &&
	       t->n_bytes_sent + n_more_bytes < t->n_bytes;
}

/* Write the next samples as the trainer's next message; returns how many. */
static uint32_t write_some(struct sfs_samples_server *s,
			   const struct sfs_samples_trainer *t, size_t *ret_n)
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

static bool give_some(struct sfs_samples_server *s, struct sfs_samples_trainer *t)
{
	struct sfs_samples_item *item;
	uint32_t n;
	size_t n_message;

	n = write_some(s, t, &n_message);
	if (n == 0 || !sfs_samples_server_send(t, s->message, n_message))
		return false;
	t->is_waiting = false;
	for (; n > 0; n--) {
		item = sfs_samples_server_first(s);
		sfs_samples_server_unqueue(s, item);
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

	while (n_idle < SFS_SAMPLES_TRAINERS && !sfs_list_is_empty(&s->queue)) {
		i = s->turn++ % SFS_SAMPLES_TRAINERS;
		n_idle = give_some(s, &s->trainers[i]) ? 0 : n_idle + 1;
	}
}

/* Can it hear the end? */
bool sfs_samples_server_may_end(const struct sfs_samples_server *s)
{
	uint32_t i;

	if (s->state == SFS_SAMPLES_SERVER_RUNS || !sfs_list_is_empty(&s->queue))
		return false;
	if (s->state == SFS_SAMPLES_SERVER_FAILED ||
	    s->settings.policy != SFS_RING_REDELIVER)
		return true;
	for (i = 0; i < SFS_SAMPLES_TRAINERS; i++)
		if (s->trainers[i].held.n > 0 && !s->trainers[i].is_waiting)
			return false;
	return true;
}

static void tell(struct sfs_samples_server *s, struct sfs_samples_trainer *t)
{
	struct {
		struct sfs_samples_message head;
		char why[sizeof s->why];
	} m = {.head = {.kind = SFS_SAMPLES_END}};

	if (!t->has_hello || t->is_told || t->is_blocked)
		return;
	if (s->state == SFS_SAMPLES_SERVER_FAILED) {
		m.head = (struct sfs_samples_message){SFS_SAMPLES_FAILED,
						      (uint32_t)strlen(s->why)};
		memcpy(m.why, s->why, m.head.n);
	}
	t->is_told = sfs_samples_server_send(t, &m, sizeof m.head + m.head.n);
}

static void tell_all(struct sfs_samples_server *s)
{
	uint32_t i;

	if (!sfs_samples_server_may_end(s))
		return;
	for (i = 0; i < SFS_SAMPLES_TRAINERS; i++)
		if (s->trainers[i].fd >= 0)
			tell(s, &s->trainers[i]);
}

static void look_for_trainers(struct sfs_samples_server *s)
{
	uint64_t now_ns = sfs_clock_ns();
	char why[128];

	if (s->n_trainers > 0 || sfs_list_is_empty(&s->queue)) {
		s->alone_since_ns = 0;
		return;
	}
	if (s->alone_since_ns == 0)
		s->alone_since_ns = now_ns;
	if (!sfs_clock_is_over(s->alone_since_ns, s->settings.give_up_ms, now_ns))
		return;
	snprintf(why, sizeof why,
		 "no trainer was attached for %u s, and %llu samples wait",
		 s->settings.give_up_ms / 1000, (unsigned long long)s->n_queued);
	s->is_ours |= s->state != SFS_SAMPLES_SERVER_FAILED;
	sfs_samples_server_set_failed(s, why, true);
	sfs_samples_server_drop_queue(s); /* (of a stream that has failed before, too) */
}

/* ---- the thread ---- */

#define POLL_FIXED 2
#define POLL_MAX   (POLL_FIXED + 2 * SFS_SAMPLES_TRAINERS)

static void poll_once(struct sfs_samples_server *s, struct pollfd *fds)
{
	struct sfs_samples_trainer *t;
	int i, n_fds = POLL_FIXED, timeout_ms = TURN_MS;
	eventfd_t n;

	fds[0] = (struct pollfd){.fd = s->wake_fd, .events = POLLIN};
	fds[1] = (struct pollfd){.fd = s->socket.fd, .events = POLLIN};
	if (s->has_no_file) { /* it would be ready again at once */
		fds[1].fd = -1;
		timeout_ms = REST_MS;
		s->has_no_file = false;
	}
	for (i = 0; i < SFS_SAMPLES_TRAINERS; i++) { /* only this thread changes these */
		t = &s->trainers[i];
		fds[POLL_FIXED + 2 * i] =
			(struct pollfd){.fd = t->fd,
					.events = POLLIN | POLLRDHUP |
						  (t->is_blocked ? POLLOUT : 0)};
		fds[POLL_FIXED + 2 * i + 1] =
			(struct pollfd){.fd = t->pidfd, .events = POLLIN};
		if (t->fd >= 0) /* poll() takes no more than may be open */
			n_fds = POLL_FIXED + 2 * (i + 1);
	}
	if (poll(fds, (nfds_t)n_fds, timeout_ms) < 0)
		assert(errno == EINTR || errno == ENOMEM);
	if (fds[0].revents)
		eventfd_read(s->wake_fd, &n);
}

/* Its process has ended: what it has said last counts, whoever has its socket still. */
static void end_trainer(struct sfs_samples_server *s, struct sfs_samples_trainer *t)
{
	int i;

	for (i = 0; i < LAST_TURNS && t->fd >= 0 && sfs_samples_server_hear(s, t); i++)
		;
	if (t->fd >= 0)
		sfs_samples_server_bury(s, t, true);
}

/* With the lock. */
static void turn(struct sfs_samples_server *s, const struct pollfd *fds)
{
	struct sfs_samples_trainer *t;
	int i;

	for (i = 0; i < SFS_SAMPLES_TRAINERS; i++) {
		t = &s->trainers[i];
		if (fds[POLL_FIXED + 2 * i].revents) {
			t->is_blocked = false;
			sfs_samples_server_hear(s, t);
		}
		if (t->fd >= 0 && fds[POLL_FIXED + 2 * i + 1].revents)
			end_trainer(s, t);
	}
	if (fds[1].revents)
		sfs_samples_server_accept(s);
	for (i = 0; i < SFS_SAMPLES_TRAINERS; i++)
		if (s->trainers[i].fd >= 0)
			sfs_samples_server_greet(s, &s->trainers[i]);
	give(s);
	tell_all(s);
	look_for_trainers(s);
}

void sfs_samples_server_release_done(struct sfs_samples_server *s, struct sfs_link *done)
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

void *sfs_samples_server_thread(void *arg)
{
	struct sfs_samples_server *s = arg;
	struct pollfd fds[POLL_MAX];
	struct sfs_link done;
	char *warnings[SFS_SAMPLES_TRAINERS];
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
		sfs_samples_server_release_done(s, &done);
		log_warnings(warnings, n_warnings);
		pthread_mutex_lock(&s->lock); /* what was released makes room */
		pthread_cond_broadcast(&s->changed);
		pthread_mutex_unlock(&s->lock);
	}
	return NULL;
}
