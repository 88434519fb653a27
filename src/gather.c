/* SPDX-License-Identifier: MIT */
/* How this works: all pieces are begun at once; a counter says how many have not
 * ended.  Who counts it down to zero answers the read.  A read that is cancelled
 * leaves at once; its pieces end by themselves, and the last one frees all. */
#include "gather.h"

#include "mem.h"

#include <errno.h>
#include <pthread.h>

struct piece {
	struct sfs_gather *gather;
	uint64_t n_bytes;
	bool is_zeros, is_edited;
	struct sfs_grab grab;
	struct sfs_walk walk; /* if is_edited */
	uint64_t at;	      /* of the grab, from the sample's start */
};

struct sfs_gather {
	struct sfs_grabber *grabber;
	int (*mapped_err)(int err);
	struct piece **pieces;
	size_t n, capacity;

	pthread_mutex_t lock;	/* guards the rest */
	struct sfs_read *read;	/* NULL: cancelled or answered */
	size_t n_pending;
	int err;
};

void sfs_gather_free(struct sfs_gather *g)
{
	size_t i;

	for (i = 0; i < g->n; i++) {
		sfs_grab_drop(&g->pieces[i]->grab);
		sfs_walk_done(&g->pieces[i]->walk);
		free(g->pieces[i]);
	}
	free(g->pieces);
	pthread_mutex_destroy(&g->lock);
	free(g);
}

struct sfs_gather *sfs_gather_new(struct sfs_grabber *grabber, struct sfs_read *read)
{
	struct sfs_gather *g = sfs_calloc(1, sizeof *g);

	g->grabber = grabber;
	g->read = read;
	pthread_mutex_init(&g->lock, NULL);
	return g;
}

static struct piece *add_piece(struct sfs_gather *g, uint64_t n)
{
	struct piece *p = sfs_calloc(1, sizeof *p);

	if (g->n == g->capacity) {
		g->capacity = g->capacity ? 2 * g->capacity : 4;
		g->pieces = sfs_reallocarray(g->pieces, g->capacity, sizeof *g->pieces);
	}
	g->pieces[g->n++] = p;
	p->gather = g;
	p->n_bytes = n;
	return p;
}

static void on_grab(struct sfs_grab *grab, int err);
static void on_walk(struct sfs_walk *walk, int err);

static struct piece *add_grab(struct sfs_gather *g, struct sfs_shard *shard, uint64_t offset,
			      uint64_t n)
{
	struct piece *p = add_piece(g, n);

	p->grab = (struct sfs_grab){.shard = shard, .offset = offset, .n_bytes = n,
				    .is_urgent = true, .done = on_grab};
	return p;
}

void sfs_gather_add(struct sfs_gather *g, struct sfs_shard *shard, uint64_t offset, uint64_t n)
{
	uint64_t piece;

	for (; n > 0; n -= piece, offset += piece) {
		piece = n < SFS_GRAB_MAX ? n : SFS_GRAB_MAX;
		add_grab(g, shard, offset, piece);
	}
}

void sfs_gather_add_edited(struct sfs_gather *g, struct sfs_shard *shard, uint64_t sample_start,
			   uint64_t sample_bytes, bool is_renamed, uint64_t at, uint64_t n)
{
	struct piece *p;
	uint64_t piece;

	for (; n > 0; n -= piece, at += piece) {
		piece = n < SFS_GRAB_MAX ? n : SFS_GRAB_MAX;
		p = add_grab(g, shard, sample_start + at, piece);
		p->is_edited = true;
		p->at = at;
		p->walk = (struct sfs_walk){.shard = shard, .start = sample_start,
					    .n_bytes = sample_bytes, .is_renamed = is_renamed,
					    .done = on_walk};
	}
}

void sfs_gather_add_zeros(struct sfs_gather *g, uint64_t n)
{
	if (n > 0)
		add_piece(g, n)->is_zeros = true;
}

static void release(struct sfs_read *read)
{
	sfs_gather_free(read->owner);
	sfs_read_reset(read);
}

/* All pieces are there: make the answer. */
static void answer(struct sfs_gather *g, struct sfs_read *read)
{
	const struct piece *p;
	size_t i;
	int k;

	for (i = 0; i < g->n; i++) {
		p = g->pieces[i];
		if (p->is_zeros)
			sfs_read_add_zeros(read, p->n_bytes);
		else if (p->is_edited)
			sfs_walk_apply(&p->walk, &p->grab, p->at);
		for (k = 0; k < p->grab.n_iov; k++)
			sfs_read_add(read, p->grab.iov[k].iov_base, p->grab.iov[k].iov_len);
	}
}

static void piece_ended(struct sfs_gather *g, int err)
{
	struct sfs_read *read = NULL;
	bool is_last;

	pthread_mutex_lock(&g->lock);
	if (err < 0 && g->err == 0)
		g->err = err;
	is_last = --g->n_pending == 0;
	if (is_last)
		read = steal(&g->read);
	pthread_mutex_unlock(&g->lock);
	if (!is_last)
		return;
	err = g->err < 0 && g->mapped_err ? g->mapped_err(g->err) : g->err;
	if (read && err == 0) {
		answer(g, read);
		read->done(read, 0);
		return; /* release() frees */
	}
	if (read) {
		sfs_read_reset(read);
		read->done(read, err); /* before the free: see read.h about cancel */
	}
	sfs_gather_free(g);
}

static void on_grab(struct sfs_grab *grab, int err)
{
	piece_ended(sfs_container(grab, struct piece, grab)->gather, err);
}

static void on_walk(struct sfs_walk *walk, int err)
{
	piece_ended(sfs_container(walk, struct piece, walk)->gather, err);
}

static bool cancel(struct sfs_read *read)
{
	struct sfs_gather *g = read->owner;
	bool is_ours;
	size_t i;

	/* While the read is in g->read, g has pending pieces and lives. */
	pthread_mutex_lock(&g->lock);
	is_ours = g->read == read;
	g->read = NULL;
	for (i = 0; is_ours && i < g->n; i++) {
		atomic_store(&g->pieces[i]->grab.request.is_cancelled, true);
		if (g->pieces[i]->is_edited)
			sfs_walk_cancel(&g->pieces[i]->walk);
	}
	pthread_mutex_unlock(&g->lock);
	if (is_ours)
		sfs_read_reset(read);
	return is_ours;
}

void sfs_gather_start(struct sfs_gather *g, int (*mapped_err)(int err))
{
	struct piece *p;
	size_t i;

	g->mapped_err = mapped_err;
	g->read->cancel = cancel;
	g->read->release = release;
	g->read->owner = g;
	g->n_pending = 1; /* ours, so that nothing ends before all has begun */
	for (i = 0; i < g->n; i++)
		g->n_pending += g->pieces[i]->is_zeros ? 0 : 1 + g->pieces[i]->is_edited;
	for (i = 0; i < g->n; i++) {
		p = g->pieces[i];
		if (p->is_zeros)
			continue;
		sfs_grab_start(g->grabber, &p->grab, NULL);
		if (p->is_edited)
			sfs_walk_start(g->grabber, &p->walk);
	}
	piece_ended(g, 0);
}
