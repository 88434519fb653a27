/* SPDX-License-Identifier: MIT */
/* How this works: the reads take turns.  When the caller wants the next one,
 * the one before is released, unless it is kept, and a turn that is free is
 * started further on. */
#include "cli/reader.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/cond.h"
#include "base/lock.h"
#include "tree/file.h"

#include <assert.h>
#include <errno.h>

static void on_read(struct sfs_read *read, int err)
{
	struct sfs_reader_turn *turn = sfs_container(read, struct sfs_reader_turn, read);

	pthread_mutex_lock(&turn->reader->lock);
	turn->err = err;
	turn->is_done = true;
	pthread_cond_signal(&turn->reader->wake);
	pthread_mutex_unlock(&turn->reader->lock);
}

/* Start a turn that is free: there is one, if no more are kept than may be. */
static void begin(struct sfs_reader *p)
{
	struct sfs_reader_turn *turn = p->turns;

	while (turn->is_started)
		turn++;
	assert(turn < p->turns + SFS_READER_TURNS);
	turn->is_done = false;
	turn->is_started = true;
	turn->reader = p;
	turn->offset = p->next_offset;
	turn->read = (struct sfs_read){.offset = p->next_offset,
				       .n_bytes = p->n_bytes,
				       .done = on_read};
	p->next_offset += p->n_bytes;
	p->ahead[p->n_ahead++] = turn;
	sfs_file_read(p->file, &turn->read);
}

/* The result of the turn's read.  -EAGAIN: none yet. */
static int wait_for(struct sfs_reader_turn *turn, uint64_t timeout_ms)
{
	struct sfs_reader *p = turn->reader;
	uint64_t until_ns =
		timeout_ms ? sfs_clock_ns() + timeout_ms * SFS_NS_PER_MS : UINT64_MAX;
	int ret;

	pthread_mutex_lock(&p->lock);
	while (!turn->is_done && sfs_cond_wait_until(&p->wake, &p->lock, until_ns))
		;
	ret = turn->is_done ? turn->err : -EAGAIN;
	pthread_mutex_unlock(&p->lock);
	return ret;
}

static void release(struct sfs_reader_turn *turn)
{
	if (turn->err == 0)
		sfs_read_release(&turn->read);
	turn->reader->n_kept -= turn->is_kept;
	turn->is_started = turn->is_kept = false;
}

void sfs_reader_begin(struct sfs_reader *p, struct sfs_file *file, uint64_t offset,
		      size_t n_bytes, int n_reads)
{
	int i;

	*p = (struct sfs_reader){.file = file,
				 .next_offset = offset,
				 .n_bytes = n_bytes,
				 .n_reads = n_reads};
	sfs_lock_init(&p->lock, SFS_LOCK_READER);
	pthread_cond_init(&p->wake, NULL);
	for (i = 0; i < n_reads; i++)
		begin(p);
}

int sfs_reader_next(struct sfs_reader *p, uint64_t timeout_ms,
		    const struct sfs_read **ret_read)
{
	struct sfs_reader_turn *lent = steal(&p->lent), *turn;
	int ret;

	if (lent && !lent->is_kept)
		release(lent);
	if (p->n_ahead < p->n_reads)
		begin(p);
	turn = p->ahead[0];
	ret = wait_for(turn, timeout_ms);
	if (ret < 0)
		return ret;
	p->lent = turn;
	p->ahead[0] = p->ahead[--p->n_ahead]; /* there are two at most */
	*ret_read = &turn->read;
	return 0;
}

bool sfs_reader_may_keep(const struct sfs_reader *p)
{
	return p->n_kept < SFS_READER_KEPT_MAX;
}

void sfs_reader_keep(struct sfs_reader *p)
{
	assert(sfs_reader_may_keep(p) && !p->lent->is_kept);
	p->lent->is_kept = true;
	p->n_kept++;
}

void sfs_reader_drop(struct sfs_reader *p, uint64_t until)
{
	struct sfs_reader_turn *turn;
	int i;

	for (i = 0; i < SFS_READER_TURNS; i++) {
		turn = &p->turns[i];
		if (!turn->is_kept || turn->offset + turn->read.n_answered > until)
			continue;
		if (p->lent == turn)
			p->lent = NULL;
		release(turn);
	}
}

void sfs_reader_explain(struct sfs_reader *p, struct sfs_cause *cause)
{
	struct sfs_reader_turn *turn = p->ahead[0];

	pthread_mutex_lock(&p->lock);
	if (p->n_ahead > 0 && !turn->is_done)
		sfs_read_explain(&turn->read, cause);
	pthread_mutex_unlock(&p->lock);
}

/* true: its done() will not be called. */
static bool cancel(struct sfs_reader_turn *turn)
{
	struct sfs_reader *p = turn->reader;
	bool is_taken;

	pthread_mutex_lock(&p->lock);
	is_taken = !turn->is_done && sfs_read_cancel(&turn->read);
	pthread_mutex_unlock(&p->lock);
	return is_taken;
}

void sfs_reader_done(struct sfs_reader *p)
{
	int i;

	for (i = 0; i < SFS_READER_TURNS; i++) {
		if (!p->turns[i].is_started || cancel(&p->turns[i]))
			continue;
		wait_for(&p->turns[i], 0); /* its done() was or will be called */
		release(&p->turns[i]);
	}
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->wake);
}
