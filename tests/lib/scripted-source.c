/* SPDX-License-Identifier: MIT */
#include "scripted-source.h"

#include "base/alloc.h"
#include "check.h"

#include <errno.h>

struct content {
	const struct sfs_object *object;
	const unsigned char *bytes;
	uint64_t n;
	struct sfs_link link;
};

static struct scripted_source *scripted_of(struct sfs_source *source)
{
	return sfs_container(source, struct scripted_source, base);
}

static uint64_t gap_bytes(const struct sfs_request *r)
{
	uint64_t n = 0;
	int i;

	for (i = 0; r->gap && i < r->n_iov; i++)
		n += r->iov[i].iov_base == r->gap ? r->iov[i].iov_len : 0;
	return n;
}

static void submit(struct sfs_source *source, struct sfs_request *r)
{
	struct scripted_source *s = scripted_of(source);
	bool is_stopped;

	pthread_mutex_lock(&s->lock);
	is_stopped = s->is_stopped;
	s->n_submitted++;
	s->n_bytes += r->n_bytes;
	s->n_gap_bytes += gap_bytes(r);
	if (!is_stopped) {
		sfs_list_push(&s->pending, &r->link);
		s->n_pending++;
		pthread_cond_broadcast(&s->changed);
	}
	pthread_mutex_unlock(&s->lock);
	if (is_stopped)
		sfs_request_end(r, -ECANCELED);
}

static void wake(struct sfs_source *source)
{
	struct scripted_source *s = scripted_of(source);

	pthread_mutex_lock(&s->lock);
	s->n_wakes++;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

static void stop(struct sfs_source *source)
{
	struct scripted_source *s = scripted_of(source);

	pthread_mutex_lock(&s->lock);
	s->is_stopped = true;
	pthread_mutex_unlock(&s->lock);
	scripted_end_all(s, -ECANCELED);
}

static void free_source(struct sfs_source *source)
{
	struct scripted_source *s = scripted_of(source);
	struct sfs_link *link;

	CHECK_EQ(s->n_pending, 0);
	while ((link = sfs_list_pop(&s->contents)) != NULL)
		free(sfs_container(link, struct content, link));
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

struct scripted_source *scripted_start(void)
{
	static const struct sfs_source_ops ops = {.name = "scripted",
						  .submit = submit,
						  .wake = wake,
						  .stop = stop,
						  .free = free_source};
	struct scripted_source *s = sfs_calloc(1, sizeof *s);

	s->base.ops = &ops;
	s->base.path.n_parallel = 8;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	sfs_list_init(&s->pending);
	sfs_list_init(&s->contents);
	return s;
}

void scripted_free(struct scripted_source *s)
{
	sfs_source_stop(&s->base);
	sfs_source_free(&s->base);
}

/* With the lock held. */
static struct content *find_content(struct scripted_source *s,
				    const struct sfs_object *object)
{
	SFS_EACH (c, &s->contents, struct content, link) {
		if (c->object == object)
			return c;
	}
	return NULL;
}

void scripted_have(struct scripted_source *s, struct sfs_object *object, const char *name,
		   const void *bytes, uint64_t n)
{
	struct content *c;

	*object = (struct sfs_object){.name = name, .source = &s->base, .size = n};
	pthread_mutex_lock(&s->lock);
	c = find_content(s, object);
	if (!c) {
		c = sfs_calloc(1, sizeof *c);
		c->object = object;
		sfs_list_push(&s->contents, &c->link);
	}
	c->bytes = bytes;
	c->n = n;
	pthread_mutex_unlock(&s->lock);
}

size_t scripted_wait(struct scripted_source *s, size_t n)
{
	size_t n_pending;

	pthread_mutex_lock(&s->lock);
	while (s->n_pending < n)
		pthread_cond_wait(&s->changed, &s->lock);
	n_pending = s->n_pending;
	pthread_mutex_unlock(&s->lock);
	return n_pending;
}

size_t scripted_n(struct scripted_source *s)
{
	return scripted_wait(s, 0);
}

struct sfs_request *scripted_nth(struct scripted_source *s, size_t number)
{
	struct sfs_request *found = NULL;

	pthread_mutex_lock(&s->lock);
	SFS_EACH (r, &s->pending, struct sfs_request, link) {
		if (!found && number-- == 0)
			found = r;
	}
	pthread_mutex_unlock(&s->lock);
	return found;
}

struct sfs_request *scripted_find(struct scripted_source *s,
				  const struct sfs_object *object, uint64_t offset)
{
	struct sfs_request *found = NULL;

	pthread_mutex_lock(&s->lock);
	SFS_EACH (r, &s->pending, struct sfs_request, link) {
		if (!found && r->kind == SFS_REQUEST_READ && r->object == object &&
		    offset >= r->offset && offset < r->offset + r->n_bytes)
			found = r;
	}
	pthread_mutex_unlock(&s->lock);
	return found;
}

bool scripted_is_cancelled(const struct sfs_request *request)
{
	return atomic_load(&request->is_cancelled);
}

static const struct content *content_of(struct scripted_source *s,
					const struct sfs_request *r)
{
	const struct content *c;

	pthread_mutex_lock(&s->lock);
	c = find_content(s, r->object);
	pthread_mutex_unlock(&s->lock);
	CHECK(c != NULL);
	return c;
}

/* Copy the first n bytes of the range to their place; not those that were ready before,
 * which the caller may have changed since.  Gaps get bytes that are in no shard. */
static void copy(struct scripted_source *s, const struct sfs_request *r, uint64_t n)
{
	const struct content *c = content_of(s, r);
	uint64_t at = 0, n_ready = atomic_load(&r->n_ready), skip, piece;
	int i;

	CHECK(n <= r->n_bytes && r->offset + n <= c->n && n >= n_ready);
	for (i = 0; at < n; i++, at += piece) {
		CHECK(i < r->n_iov);
		piece = r->iov[i].iov_len < n - at ? r->iov[i].iov_len : n - at;
		skip = n_ready > at ? n_ready - at : 0;
		if (r->gap && r->iov[i].iov_base == r->gap)
			memset(r->iov[i].iov_base, 0xee, piece);
		else if (skip < piece)
			memcpy((char *)r->iov[i].iov_base + skip,
			       c->bytes + r->offset + at + skip, piece - skip);
	}
}

void scripted_bring(struct scripted_source *s, struct sfs_request *r, uint64_t n)
{
	copy(s, r, n);
	sfs_request_begun(r);
	sfs_request_make_ready(r, n);
}

static void take_out(struct scripted_source *s, struct sfs_request *r)
{
	pthread_mutex_lock(&s->lock);
	CHECK(sfs_link_is_in(&r->link));
	sfs_link_remove(&r->link);
	s->n_pending--;
	pthread_mutex_unlock(&s->lock);
}

void scripted_end(struct scripted_source *s, struct sfs_request *r, int err)
{
	if (r->kind == SFS_REQUEST_READ) {
		scripted_end_short(s, r, err == 0 ? r->n_bytes : atomic_load(&r->n_ready),
				   err);
		return;
	}
	take_out(s, r);
	if (err == 0)
		r->object->size = content_of(s, r)->n;
	sfs_request_end(r, err);
}

void scripted_end_short(struct scripted_source *s, struct sfs_request *r, uint64_t n_got,
			int err)
{
	CHECK(err < 0 || n_got == r->n_bytes);
	take_out(s, r);
	copy(s, r, n_got);
	r->n_got = n_got;
	sfs_request_end(r, err);
}

size_t scripted_end_all(struct scripted_source *s, int err)
{
	struct sfs_request *r;
	size_t n;

	for (n = 0; (r = scripted_nth(s, 0)) != NULL; n++)
		scripted_end(s, r, err);
	return n;
}
