/* SPDX-License-Identifier: MIT */
/* How this works: each file has one snapshot that is current: the newest.  A look makes a
 * new one, unless somebody has the current one open.  So a program that asks for the
 * size, opens the file, asks again and reads gets one size, and as many bytes; and who
 * opens the file anew gets a new text, because the kernel looks before each open.  If the
 * text is the same as before, so is its time: who compares times sees no change. */
#include "tree/snapshot.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "engine/engine.h"
#include "memory/charge.h"

#include <pthread.h>
#include <string.h>

#define OPENED_NS SFS_NS_PER_S	      /* who opens it so soon shares it */
#define SHOWN_NS  (10 * SFS_NS_PER_S) /* so long its size is shown while it is open */

struct sfs_snapshot {
	struct sfs_snapshots *all;
	struct sfs_strbuf text;
	struct sfs_charge charge;	/* counts it */
	struct sfs_ledger_view errors; /* if the file is the ledger */
	bool is_ledger;
	uint64_t n_bytes, mtime_ns, made_ns;

	/* Locked. */
	uint32_t n_files;
	bool is_current, was_opened;
};

struct sfs_snapshots {
	struct sfs_engine *engine;
	pthread_mutex_t lock; /* guards all below, and what snapshots have of it */
	unsigned n;
	struct sfs_snapshot *current[];
};

struct sfs_snapshots *sfs_snapshots_new(struct sfs_engine *engine, unsigned n)
{
	struct sfs_snapshots *all =
		sfs_calloc(1, sizeof *all + n * sizeof(struct sfs_snapshot *));

	all->engine = engine;
	all->n = n;
	pthread_mutex_init(&all->lock, NULL);
	return all;
}

static void free_snapshot(struct sfs_snapshot *s)
{
	if (!s)
		return;
	sfs_strbuf_done(&s->text);
	sfs_charge_done(&s->charge);
	free(s);
}

void sfs_snapshots_free(struct sfs_snapshots *all)
{
	unsigned i;

	if (!all)
		return;
	for (i = 0; i < all->n; i++)
		free_snapshot(all->current[i]);
	pthread_mutex_destroy(&all->lock);
	free(all);
}

/* *ret_err: there is no room for it in the budget. */
static struct sfs_snapshot *make(struct sfs_snapshots *all, sfs_snapshot_print *print,
				 int *ret_err)
{
	struct sfs_runtime *runtime = &all->engine->runtime;
	struct sfs_snapshot *s = sfs_calloc(1, sizeof *s);

	s->all = all;
	s->is_ledger = !print;
	if (print)
		print(all->engine, &s->text);
	else
		s->errors = sfs_ledger_look();
	s->n_bytes = print ? s->text.n : s->errors.n_bytes;
	s->mtime_ns = sfs_clock_wall_ms() * SFS_NS_PER_MS;
	s->made_ns = sfs_clock_ns();
	*ret_err = sfs_charge_count(&s->charge, &runtime->texts, s->text.capacity,
				    sfs_runtime_texts_most(runtime));
	return s;
}

static bool is_same(const struct sfs_snapshot *a, const struct sfs_snapshot *b)
{
	if (a->n_bytes != b->n_bytes)
		return false;
	return a->is_ledger ? a->errors.n_dropped == b->errors.n_dropped
			    : a->n_bytes == 0 ||
				      memcmp(a->text.s, b->text.s, a->n_bytes) == 0;
}

/* Make this one current, unless the current one says the same.  Returns what the caller
 * frees, without the lock.  Locked. */
static struct sfs_snapshot *replace(struct sfs_snapshots *all, unsigned i,
				    struct sfs_snapshot *s)
{
	struct sfs_snapshot *old = all->current[i];

	if (old && is_same(old, s)) {
		old->made_ns = s->made_ns;
		old->was_opened = false;
		return s;
	}
	s->is_current = true;
	all->current[i] = s;
	if (!old)
		return NULL;
	old->is_current = false;
	return old->n_files == 0 ? old : NULL;
}

void sfs_snapshot_look(struct sfs_snapshots *all, unsigned i, sfs_snapshot_print *print,
		       uint64_t *ret_size, uint64_t *ret_mtime_ns)
{
	struct sfs_snapshot *s, *made = NULL, *unused = NULL;
	bool is_shown;
	int err = 0;

	pthread_mutex_lock(&all->lock);
	s = all->current[i];
	is_shown = s && s->n_files > 0 && sfs_clock_ns() - s->made_ns < SHOWN_NS;
	if (is_shown) {
		*ret_size = s->n_bytes;
		*ret_mtime_ns = s->mtime_ns;
	}
	pthread_mutex_unlock(&all->lock);
	if (is_shown)
		return;
	made = make(all, print, &err);
	pthread_mutex_lock(&all->lock);
	unused = err < 0 ? made : replace(all, i, made);
	s = err < 0 ? made : all->current[i];
	*ret_size = s->n_bytes;
	*ret_mtime_ns = s->mtime_ns;
	pthread_mutex_unlock(&all->lock);
	free_snapshot(unused);
}

/* Open the current one, if it is new enough.  Locked. */
static struct sfs_snapshot *open_current(struct sfs_snapshots *all, unsigned i)
{
	struct sfs_snapshot *s = all->current[i];

	if (!s || sfs_clock_ns() - s->made_ns >= OPENED_NS ||
	    (s->was_opened && s->n_files == 0))
		return NULL;
	s->was_opened = true;
	s->n_files++;
	return s;
}

int sfs_snapshot_open(struct sfs_snapshots *all, unsigned i, sfs_snapshot_print *print,
		      struct sfs_snapshot **ret)
{
	struct sfs_snapshot *made, *unused;
	int err = 0;

	pthread_mutex_lock(&all->lock);
	*ret = open_current(all, i);
	pthread_mutex_unlock(&all->lock);
	if (*ret)
		return 0;
	made = make(all, print, &err);
	if (err < 0) {
		free_snapshot(made);
		return err;
	}
	pthread_mutex_lock(&all->lock);
	unused = replace(all, i, made);
	*ret = all->current[i];
	(*ret)->was_opened = true;
	(*ret)->n_files++;
	pthread_mutex_unlock(&all->lock);
	free_snapshot(unused);
	return 0;
}

void sfs_snapshot_close(struct sfs_snapshot *s)
{
	struct sfs_snapshots *all;
	bool is_unused;

	if (!s)
		return;
	all = s->all;
	pthread_mutex_lock(&all->lock);
	is_unused = --s->n_files == 0 && !s->is_current;
	pthread_mutex_unlock(&all->lock);
	if (is_unused)
		free_snapshot(s);
}

void sfs_snapshot_read(const struct sfs_snapshot *s, struct sfs_read *read)
{
	sfs_autofree char *bytes = NULL;
	int ret = 0;

	if (read->offset >= s->n_bytes)
		read->n_bytes = 0;
	else if (read->n_bytes > s->n_bytes - read->offset)
		read->n_bytes = (size_t)(s->n_bytes - read->offset);
	/* A copy: the file may be closed before the thread that replies has sent it. */
	read->release = sfs_read_reset;
	if (s->is_ledger) {
		bytes = sfs_malloc(read->n_bytes + 1);
		ret = sfs_ledger_read(&s->errors, read->offset, bytes, read->n_bytes);
	}
	if (ret == 0 && read->n_bytes > 0)
		sfs_read_add_copy(read, bytes ? bytes : s->text.s + read->offset,
				  read->n_bytes);
	read->done(read, ret);
}
