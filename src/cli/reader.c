/* SPDX-License-Identifier: MIT */
/* How this works: the reads take turns.  That which the caller has had is begun anew,
 * further on, when the caller asks for the next. */
#include "cli/reader.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/cond.h"
#include "base/lock.h"
#include "tree/file.h"

#include <errno.h>

static void on_read(struct sfs_read *read, int err)
{
	struct sfs_reader_turn *turn = sfs_container(read, struct sfs_reader_turn, read);

	pthread_mutex_lock(&turn->pull->lock);
	turn->err = err;
	turn->is_done = true;
	pthread_cond_signal(&turn->pull->wake);
	pthread_mutex_unlock(&turn->pull->lock);
}

static void begin(struct sfs_reader *p, struct sfs_reader_turn *turn)
{
	turn->is_done = false;
	turn->is_begun = true;
	turn->read = (struct sfs_read){.offset = p->asked,
				       .n_bytes = p->n_bytes,
				       .done = on_read};
	p->asked += p->n_bytes;
	sfs_file_read(p->file, &turn->read);
}

/* What became of the turn's read.  -EAGAIN: nothing yet. */
static int wait_for(struct sfs_reader_turn *turn, uint64_t timeout_ms)
{
	struct sfs_reader *p = turn->pull;
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

static void give_back(struct sfs_reader_turn *turn)
{
	if (turn->err == 0)
		sfs_read_release(&turn->read);
	turn->is_begun = false;
}

void sfs_reader_begin(struct sfs_reader *p, struct sfs_file *file, uint64_t offset,
		      size_t n_bytes, int n_reads)
{
	int i;

	*p = (struct sfs_reader){.file = file,
				 .asked = offset,
				 .n_bytes = n_bytes,
				 .n_reads = n_reads};
	sfs_lock_init(&p->lock, SFS_LOCK_READER);
	pthread_cond_init(&p->wake, NULL);
	for (i = 0; i < n_reads; i++) {
		p->turns[i].pull = p;
		begin(p, &p->turns[i]);
	}
}

int sfs_reader_next(struct sfs_reader *p, uint64_t timeout_ms,
		    const struct sfs_read **ret_read)
{
	struct sfs_reader_turn *turn = &p->turns[p->next], *given = steal(&p->given);
	int ret;

	if (given) {
		give_back(given);
		begin(p, given);
	}
	ret = wait_for(turn, timeout_ms);
	if (ret < 0)
		return ret;
	p->given = turn;
	p->next = (p->next + 1) % p->n_reads;
	*ret_read = &turn->read;
	return 0;
}

void sfs_reader_explain(struct sfs_reader *p, struct sfs_cause *cause)
{
	struct sfs_reader_turn *turn = &p->turns[p->next];

	pthread_mutex_lock(&p->lock);
	if (turn->is_begun && !turn->is_done)
		sfs_read_explain(&turn->read, cause);
	pthread_mutex_unlock(&p->lock);
}

/* true: it will not be answered. */
static bool take_back(struct sfs_reader_turn *turn)
{
	struct sfs_reader *p = turn->pull;
	bool is_taken;

	pthread_mutex_lock(&p->lock);
	is_taken = !turn->is_done && sfs_read_cancel(&turn->read);
	pthread_mutex_unlock(&p->lock);
	return is_taken;
}

void sfs_reader_done(struct sfs_reader *p)
{
	int i;

	for (i = 0; i < p->n_reads; i++) {
		if (!p->turns[i].is_begun || take_back(&p->turns[i]))
			continue;
		wait_for(&p->turns[i], 0); /* its answer is on its way, or here */
		give_back(&p->turns[i]);
	}
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->wake);
}
