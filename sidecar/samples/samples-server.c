/* SPDX-License-Identifier: MIT */
/* How this works: one lock guards everything; nothing that is done with it waits, for all
 * sockets are non-blocking.  Items are released without it.  samples-giving.c has the
 * thread that does all that trainers see. */
#include "samples/samples-server-internal.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/cond.h"
#include "base/threadpool.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* So much waits for trainers; what they have asked for comes on top. */
#define AHEAD_BYTES   ((uint64_t)2 << 20)
#define AHEAD_SAMPLES 1024

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
	for (i = 0; i < SFS_SAMPLES_TRAINERS; i++)
		s->trainers[i].fd = s->trainers[i].pidfd = -1;
	sfs_list_init(&s->queue);
	sfs_list_init(&s->done);
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	code = sfs_local_socket_open(settings->path, SFS_SAMPLES_TRAINERS, &s->socket,
				     err);
	if (code < 0) {
		sfs_samples_server_free(s);
		return code;
	}
	s->thread = sfs_thread_start("samples", sfs_samples_server_thread, s);
	s->has_thread = true;
	*ret = s;
	return 0;
}

/* What is held or queued still. */
static void let_go(struct sfs_samples_server *s)
{
	struct sfs_samples_trainer *t;
	void *item;
	int i;

	sfs_samples_server_drop_queue(s);
	for (i = 0; i < SFS_SAMPLES_TRAINERS; i++) {
		t = &s->trainers[i];
		if (t->fd < 0)
			continue;
		while ((item = sfs_samples_held_take_below(&t->held, UINT64_MAX)))
			sfs_samples_server_release_held(s, t, item);
		sfs_samples_server_forget(s, t);
	}
	sfs_samples_server_release_done(s, &s->done);
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

void sfs_samples_server_put(struct sfs_samples_server *s, struct sfs_link *items)
{
	struct sfs_link *link;
	bool is_any = !sfs_list_is_empty(items);

	pthread_mutex_lock(&s->lock);
	while ((link = sfs_list_pop(items)) != NULL)
		sfs_samples_server_queue(
			s, sfs_container(link, struct sfs_samples_item, link), &s->queue);
	if (s->state == SFS_SAMPLES_SERVER_FAILED)
		sfs_samples_server_drop_queue(s);
	pthread_mutex_unlock(&s->lock);
	if (is_any)
		wake(s);
}

/* With the lock. */
static int explain_failure(const struct sfs_samples_server *s, struct sfs_error *err)
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
	uint64_t until_ns = sfs_clock_deadline(timeout_ms);
	bool is_in_time = true;
	int ret = 0;

	pthread_mutex_lock(&s->lock);
	while (s->state != SFS_SAMPLES_SERVER_FAILED && is_in_time && !has_room(s))
		is_in_time = sfs_cond_wait_until(&s->changed, &s->lock, until_ns);
	if (s->state == SFS_SAMPLES_SERVER_FAILED)
		ret = explain_failure(s, err);
	else if (!has_room(s))
		ret = -ETIMEDOUT;
	pthread_mutex_unlock(&s->lock);
	return ret;
}

void sfs_samples_server_end(struct sfs_samples_server *s)
{
	pthread_mutex_lock(&s->lock);
	if (s->state == SFS_SAMPLES_SERVER_RUNS)
		s->state = SFS_SAMPLES_SERVER_ENDED;
	pthread_mutex_unlock(&s->lock);
	wake(s);
}

void sfs_samples_server_fail(struct sfs_samples_server *s, const char *why, bool at_once)
{
	pthread_mutex_lock(&s->lock);
	sfs_samples_server_set_failed(s, why, at_once);
	if (at_once) {
		s->is_at_once = true;
		sfs_samples_server_drop_queue(s);
	}
	pthread_mutex_unlock(&s->lock);
	wake(s);
}

/* With the lock. */
static bool is_finished(const struct sfs_samples_server *s)
{
	uint32_t i;

	if (!sfs_samples_server_may_end(s) || s->n_held > 0)
		return false;
	for (i = 0; i < SFS_SAMPLES_TRAINERS; i++)
		if (s->trainers[i].fd >= 0 && !s->trainers[i].is_told)
			return false;
	return true;
}

int sfs_samples_server_finish(struct sfs_samples_server *s, int timeout_ms,
			      struct sfs_error *err)
{
	uint64_t until_ns = sfs_clock_deadline(timeout_ms);
	bool is_in_time = true;
	int ret = 0;

	pthread_mutex_lock(&s->lock);
	while (is_in_time && !is_finished(s))
		is_in_time = sfs_cond_wait_until(&s->changed, &s->lock, until_ns);
	if (!is_finished(s))
		ret = -ETIMEDOUT;
	else if (s->state == SFS_SAMPLES_SERVER_FAILED && s->is_ours)
		ret = explain_failure(s, err);
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
	struct sfs_samples_trainer *t;
	uint32_t i;

	pthread_mutex_lock(&s->lock);
	sfs_json_put_uint(json, "queued", s->n_queued);
	sfs_json_put_uint(json, "held", s->n_held);
	sfs_json_put_uint(json, "dropped", s->n_dropped);
	sfs_json_put_uint(json, "redelivered", s->n_redelivered);
	sfs_json_open(json, "trainers", '[');
	for (i = 0; i < SFS_SAMPLES_TRAINERS; i++) {
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
