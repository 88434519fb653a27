/* SPDX-License-Identifier: MIT */
/* How this works: a file is a task that makes lines for the first of the reads that
 * wait.  `text` is a piece of the whole, starting at its byte `start`.  Lines are added
 * until it reaches far enough, and what lies before the read is dropped.
 *
 * An iterator goes through an epoch one window of times at a time (iterate.h).  Each
 * start of a window gets a mark: the byte of the text, and the time.  With a locator, the
 * iterator can seek to any time, so a read starts at the last mark before it.  When
 * the array of marks is full, every other one is dropped.
 *
 * To find the size of a text, all of it is made and dropped.  The first line of an index
 * has the number of the others: it is there from when they were counted. */
#include "tree/order-file.h"

#include "base/alloc.h"
#include "base/ledger.h"
#include "base/lock.h"
#include "base/strbuf.h"
#include "catalog/index-export.h"
#include "memory/charge.h"
#include "order/iterate.h"
#include "order/locate.h"
#include "order/partition.h"
#include "tar/key.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define N_AT_A_TIME 2048  /* lines */
#define N_SKIPPED   65536 /* samples before the first line */
#define N_MARKS	    4096  /* 128 KiB */
#define SEEK_BYTES \
	((uint64_t)128 << 10) /* of text: less is made, not skipped by a seek */

struct mark {
	uint64_t at;		   /* byte of the text */
	uint64_t position, offset; /* of the first sample there */
	uint64_t time;		   /* at which the window begins */
	uint64_t key;		   /* of the sample before: sfs_runtime_renames() */
};

struct sfs_order_files {
	struct sfs_runtime *runtime;
	struct sfs_names *names;
	struct sfs_account account;

	pthread_mutex_t lock; /* guards all below, and what files say is under it */
	struct sfs_link list;
};

struct sfs_order_file {
	struct sfs_order_files *all;
	struct sfs_order_text what;
	struct sfs_task task;

	/* Locked. */
	struct sfs_link link, reads;
	struct sfs_link waiters; /* for its size */
	bool is_measured;	 /* now: that is one of the users */
	uint32_t n_users;
	bool is_closed;
	uint64_t n_lines;

	/* The task's. */
	struct sfs_order order;
	struct sfs_iterator iterator;
	struct sfs_locator locator;
	struct sfs_charge charge; /* counts them all */
	bool has_order, has_locator;
	uint64_t n_to_skip;
	bool is_at_end, is_beyond; /* beyond: its first sample is, and a line says so */
	uint64_t position, offset; /* of the next sample, in the file */
	uint64_t key;		   /* of the sample before, in the stream */
	uint64_t n_printed;	   /* lines of an index, until it is measured */
	bool has_size;
	struct sfs_text_size size;
	struct sfs_strbuf text;
	uint64_t start;
	struct mark *marks;
	uint32_t n_marks;
	uint64_t spacing; /* bytes, at least, between two of them */
};

/* ---- lines ---- */

static void add_number(struct sfs_strbuf *text, uint64_t n)
{
	char digits[21], *p = digits + sizeof digits;

	*--p = '\t';
	do
		*--p = (char)('0' + n % 10);
	while ((n /= 10) > 0);
	sfs_strbuf_add(text, p, (size_t)(digits + sizeof digits - p));
}

/* What would end a column or a line is escaped. */
static void add_escaped(struct sfs_strbuf *text, const char *s, size_t n)
{
	static const char odd[] = "\t\n\r\\", letters[] = "tnr\\";
	const char *found;
	size_t i, done = 0;

	for (i = 0; i < n; i++) {
		found = s[i] ? strchr(odd, s[i]) : NULL;
		if (!found)
			continue;
		sfs_strbuf_add(text, s + done, i - done);
		sfs_strbuf_add(text, "\\", 1);
		sfs_strbuf_add(text, &letters[found - odd], 1);
		done = i + 1;
	}
	sfs_strbuf_add(text, s + done, n - done);
}

/* The first of a sample's members that has a key, has its. */
static void add_key(struct sfs_strbuf *text, const struct sfs_members *members,
		    uint64_t start)
{
	uint64_t i = sfs_members_find(members, start);
	struct sfs_member m;
	size_t n = 0;

	for (; i < members->n && n == 0; i++) {
		m = sfs_members_get(members, i);
		n = sfs_key_length(m.name, m.n_name);
	}
	if (n > 0)
		add_escaped(text, m.name, n);
}

static struct sfs_shard *shard_of(const struct sfs_order_file *s,
				  const struct sfs_block_sample *sample)
{
	return &s->all->runtime->shards.shards[sample->shard];
}

static int refuse_index(const struct sfs_order_file *s, const struct sfs_shard *shard,
			int err, const char *why)
{
	sfs_ledger_add(SFS_EVENT_REFUSED, shard ? shard->name : "(epochs)",
		       SFS_NO_OFFSET, "", "cannot make the .idx of epoch %llu: %s",
		       (unsigned long long)s->what.epoch, why);
	return err;
}

/* A member as the stream has it, `moved` bytes from where the shard has it. */
static int add_index_member(struct sfs_order_file *s, const struct sfs_shard *shard,
			    const struct sfs_member *m, uint64_t moved, bool is_renamed,
			    struct sfs_index_export *line)
{
	sfs_autofree char *longer =
		is_renamed ? sfs_asprintf("%s/%.*s", shard->folder, (int)m->n_name,
					  m->name)
			   : NULL;
	const char *name = longer ? longer : m->name;
	size_t n = longer ? strlen(longer) : m->n_name;
	struct sfs_error why = {0};
	int ret;

	if (m->is_sparse)
		return refuse_index(s, shard, -EILSEQ, "sparse members");
	ret = sfs_index_export_add(line, name, n, m->data + moved, m->size, &why);
	return ret < 0 ? refuse_index(s, shard, ret, why.text) : 0;
}

/* Add the line of a sample to an index, unless it has no key. */
static int add_index_line(struct sfs_order_file *s, const struct sfs_block_sample *sample)
{
	bool is_renamed = sfs_runtime_renames(s->all->runtime, &s->key, sample);
	struct sfs_shard *shard = shard_of(s, sample);
	const struct sfs_members *members = sfs_shard_members(shard);
	uint64_t i = sfs_members_find(members, sample->start);
	struct sfs_index_export line = {0};
	struct sfs_member m;
	int ret = 0;

	for (; i < members->n && ret == 0; i++) {
		m = sfs_members_get(members, i);
		if (m.start >= sample->start + sample->n_bytes)
			break;
		if (sfs_key_length(m.name, m.n_name) > 0)
			ret = add_index_member(s, shard, &m, s->offset - sample->start,
					       is_renamed, &line);
	}
	if (ret == 0 && line.n_samples > 0) {
		sfs_strbuf_add(&s->text, line.lines.s, line.lines.n);
		sfs_strbuf_add(&s->text, "\n", 1);
		s->n_printed++;
	}
	sfs_index_export_done(&line);
	s->position++;
	s->offset += sample->n_bytes;
	return ret;
}

static void add_order_line(struct sfs_order_file *s,
			   const struct sfs_block_sample *sample)
{
	struct sfs_shard *shard = shard_of(s, sample);

	add_number(&s->text, s->position);
	add_number(&s->text, s->offset);
	add_number(&s->text, sample->n_bytes);
	add_escaped(&s->text, shard->name, strlen(shard->name));
	sfs_strbuf_add(&s->text, "\t", 1);
	add_key(&s->text, sfs_shard_members(shard), sample->start);
	sfs_strbuf_add(&s->text, "\n", 1);
	s->position++;
	s->offset += sample->n_bytes;
}

/* The line before those of samples. */
static size_t print_head(uint64_t n_lines, char head[static 40])
{
	return (size_t)snprintf(head, 40, "v1.2 %llu\n", (unsigned long long)n_lines);
}

/* ---- marks ---- */

static uint64_t text_end(const struct sfs_order_file *s)
{
	return s->start + s->text.n;
}

/* A window begins here. */
static void set_mark(struct sfs_order_file *s)
{
	const struct mark *last = s->n_marks ? &s->marks[s->n_marks - 1] : NULL;
	uint32_t i;

	if (last && text_end(s) < last->at + s->spacing)
		return;
	if (s->n_marks == N_MARKS) {
		for (i = 0; i < N_MARKS / 2; i++)
			s->marks[i] = s->marks[2 * i];
		s->n_marks = N_MARKS / 2;
		s->spacing = text_end(s) / (N_MARKS / 2);
	}
	s->marks[s->n_marks++] = (struct mark){.at = text_end(s),
					       .position = s->position,
					       .offset = s->offset,
					       .time = s->iterator.time,
					       .key = s->key};
}

/* The last mark at or before byte `at`. */
static const struct mark *find_mark(const struct sfs_order_file *s, uint64_t at)
{
	uint32_t low = 0, high = s->n_marks, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (s->marks[middle].at <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 ? &s->marks[low - 1] : NULL;
}

/* ---- memory ---- */

static int count(struct sfs_order_file *s)
{
	struct sfs_order_files *all = s->all;
	uint64_t n = sfs_order_memory(&s->order) + sfs_iterator_memory(&s->iterator) +
		     N_MARKS * sizeof *s->marks + s->text.capacity;

	if (s->has_locator)
		n += sfs_locator_memory(&s->order);
	return sfs_charge_count(&s->charge, &all->account, (size_t)n,
				all->runtime->budget.total_bytes / 2);
}

/* There is no room: give back what it took. */
static int give_up(struct sfs_order_file *s)
{
	uint64_t n = sfs_order_memory(&s->order) + sfs_iterator_memory(&s->iterator);
	char size[32];

	sfs_ledger_add(SFS_EVENT_REFUSED, "(epochs)", SFS_NO_OFFSET,
		       "close other .order files, or raise budget=",
		       "the %s file of epoch %llu needs %s or more, and the budget "
		       "has no room for it",
		       s->what.is_index ? ".idx" : ".order",
		       (unsigned long long)s->what.epoch, sfs_format_size(n, size));
	if (s->has_locator)
		sfs_locator_done(&s->locator);
	sfs_iterator_done(&s->iterator);
	sfs_order_done(&s->order);
	sfs_strbuf_done(&s->text);
	sfs_charge_done(&s->charge);
	free(steal(&s->marks));
	s->n_marks = 0;
	s->has_locator = s->has_order = false;
	return -ENOMEM;
}

/* ---- the position of the iterator ---- */

static void rewind_iterator(struct sfs_order_file *s)
{
	const struct sfs_sample_tables tables =
		sfs_shards_tables(&s->all->runtime->shards);
	char head[40];

	sfs_iterator_done(&s->iterator);
	sfs_iterator_init(&s->iterator, &s->order, &tables);
	s->n_to_skip = s->what.first;
	s->is_at_end = false;
	s->position = s->offset = s->start = s->key = s->n_printed = 0;
	s->text.n = 0;
	if (s->what.is_index && s->has_size)
		sfs_strbuf_add(&s->text, head, print_head(s->size.n_lines, head));
}

static int have_order(struct sfs_order_file *s)
{
	struct sfs_runtime *runtime = s->all->runtime;
	const struct sfs_sample_tables tables = sfs_shards_tables(&runtime->shards);

	if (s->has_order)
		return 0;
	sfs_partition(&s->order, &runtime->order, s->what.epoch, runtime->shards.n,
		      &tables, s->what.share);
	s->marks = sfs_calloc(N_MARKS, sizeof *s->marks);
	s->spacing = 1;
	s->has_order = true;
	rewind_iterator(s);
	return count(s) < 0 ? give_up(s) : 0;
}

/* false: there is no room for one. */
static bool have_locator(struct sfs_order_file *s)
{
	struct sfs_shards *shards = &s->all->runtime->shards;
	const struct sfs_sample_tables tables = sfs_shards_tables(shards);
	struct sfs_spot spot;
	uint32_t shard;

	if (s->has_locator)
		return true;
	s->has_locator = true;
	if (count(s) < 0) {
		s->has_locator = false;
		return false;
	}
	sfs_locator_init(&s->locator, &s->order, &tables, sfs_shards_totals);
	if (sfs_locator_nth(&s->locator, 0, &spot, &shard) == 0)
		return true;
	sfs_locator_done(&s->locator); /* (no samples at all) */
	s->has_locator = false;
	return false;
}

static void go_to(struct sfs_order_file *s, const struct mark *mark)
{
	sfs_iterator_seek(&s->iterator, &s->locator, mark->time);
	s->n_to_skip = 0;
	s->is_at_end = false;
	s->position = mark->position;
	s->offset = mark->offset;
	s->key = mark->key;
	s->start = mark->at;
	s->text.n = 0;
}

/* Move the iterator to before byte `at`, and near it if a mark is. */
static void approach(struct sfs_order_file *s, uint64_t at)
{
	const struct mark *mark = find_mark(s, at);
	bool is_before = at < s->start;

	if (mark && (is_before || mark->at > text_end(s) + SEEK_BYTES) && have_locator(s))
		go_to(s, mark);
	else if (is_before)
		rewind_iterator(s);
}

/* ---- making text: the task ---- */

/* Drop what lies before byte `at`. */
static void drop_before(struct sfs_order_file *s, uint64_t at)
{
	size_t n = at - s->start < s->text.n ? (size_t)(at - s->start) : s->text.n;

	if (at <= s->start || n == 0)
		return;
	memmove(s->text.s, s->text.s + n, s->text.n - n);
	s->text.n -= n;
	s->start += n;
}

/* It has no line, as its stream has no sample. */
static void note_beyond(struct sfs_order_file *s, uint64_t n_samples)
{
	if (!s->is_beyond)
		sfs_ledger_add(SFS_EVENT_EMPTY, "(epochs)", SFS_NO_OFFSET,
			       "readers get an empty file",
			       "an %s file of epoch %llu that begins at sample %llu "
			       "begins beyond the end: its stream has only %llu samples",
			       s->what.is_index ? ".idx" : ".order",
			       (unsigned long long)s->what.epoch,
			       (unsigned long long)s->what.first,
			       (unsigned long long)n_samples);
	s->is_beyond = true;
}

/* Skip some of the samples before the first line. */
static void skip(struct sfs_order_file *s)
{
	uint64_t n = s->n_to_skip < N_SKIPPED ? s->n_to_skip : N_SKIPPED, i;
	const struct sfs_block_sample *sample;

	for (i = 0; i < n && !s->is_at_end; i++) {
		sample = sfs_iterator_next(&s->iterator);
		s->is_at_end = !sample;
		if (sample)
			sfs_runtime_renames(s->all->runtime, &s->key, sample);
		else
			note_beyond(s, s->what.first - s->n_to_skip + i);
	}
	s->n_to_skip -= n;
}

/* Make up to N_AT_A_TIME lines, until the text reaches to `end`; count them. */
static int make_lines(struct sfs_order_file *s, uint64_t at, uint64_t end,
		      uint64_t *ret_n)
{
	const struct sfs_block_sample *sample;
	uint64_t n = 0;
	int ret = 0;

	while (n < N_AT_A_TIME && text_end(s) < end && ret == 0) {
		if (sfs_iterator_is_between(&s->iterator))
			set_mark(s);
		sample = sfs_iterator_next(&s->iterator);
		s->is_at_end = !sample;
		if (!sample)
			break;
		if (s->what.is_index)
			ret = add_index_line(s, sample);
		else
			add_order_line(s, sample);
		drop_before(s, at);
		n++;
	}
	*ret_n = n;
	return ret;
}

/* Bring the text nearer to the n bytes at `at`.  0: they are there, as far as there are
 * any.  -EINPROGRESS: not yet. */
static int work(struct sfs_order_file *s, uint64_t at, size_t n)
{
	uint64_t n_lines;
	int ret = have_order(s);

	if (ret < 0)
		return ret;
	approach(s, at);
	drop_before(s, at);
	if (s->n_to_skip > 0 && !s->is_at_end) {
		skip(s);
		return -EINPROGRESS;
	}
	ret = make_lines(s, at, at + n, &n_lines);
	pthread_mutex_lock(&s->all->lock);
	s->n_lines += n_lines;
	pthread_mutex_unlock(&s->all->lock);
	if (ret < 0)
		return ret;
	if (count(s) < 0)
		return give_up(s);
	return text_end(s) >= at + n || s->is_at_end ? 0 : -EINPROGRESS;
}

static void fill(const struct sfs_order_file *s, struct sfs_read *read)
{
	uint64_t from = read->offset - s->start;

	read->release = sfs_read_reset;
	if (read->offset < s->start || from >= s->text.n)
		read->n_bytes = 0;
	else if (read->n_bytes > s->text.n - from)
		read->n_bytes = (size_t)(s->text.n - from);
	if (read->n_bytes > 0)
		sfs_read_add_copy(read, s->text.s + from, read->n_bytes);
}

/* Locked. */
static struct sfs_read *first_read(struct sfs_order_file *s)
{
	return sfs_list_is_empty(&s->reads)
		       ? NULL
		       : sfs_container(s->reads.next, struct sfs_read, link);
}

/* The bytes are there, or never will be.  The read may have been cancelled meanwhile. */
static void answer(struct sfs_order_file *s, uint64_t at, size_t n, int err)
{
	struct sfs_read *read;

	pthread_mutex_lock(&s->all->lock);
	read = first_read(s);
	if (read && (read->offset != at || read->n_bytes != n))
		read = NULL;
	if (read)
		sfs_link_remove(&read->link);
	if (read && err == 0)
		fill(s, read);
	pthread_mutex_unlock(&s->all->lock);
	if (read)
		read->done(read, err);
}

static void free_file(struct sfs_order_file *s)
{
	if (s->has_locator)
		sfs_locator_done(&s->locator);
	if (s->has_order) {
		sfs_iterator_done(&s->iterator);
		sfs_order_done(&s->order);
	}
	sfs_strbuf_done(&s->text);
	sfs_charge_done(&s->charge);
	free(s->marks);
	free(s);
}

/* Locked. */
static void remove_user(struct sfs_order_file *s)
{
	if (--s->n_users > 0)
		return;
	assert(sfs_list_is_empty(&s->reads) && sfs_list_is_empty(&s->waiters));
	sfs_link_remove(&s->link);
	s->is_closed = true;
	/* Posted with the lock held: the task sees that it is closed, and frees it. */
	sfs_threadpool_post(s->all->runtime->pool, &s->task);
}

/* All lines were made: keep the size. */
static int keep_size(struct sfs_order_file *s)
{
	char head[40];

	s->size = (struct sfs_text_size){.n_bytes = text_end(s), .n_lines = s->position};
	if (s->what.is_index) {
		s->size.n_lines = s->n_printed;
		s->size.n_bytes += print_head(s->n_printed, head);
		if (s->n_printed == 0)
			return refuse_index(s, NULL, -ENODATA,
					    "it has no samples, and a DALI index cannot "
					    "be empty");
	}
	sfs_names_set_text(s->all->names, s->what.number, s->size);
	s->has_size = true;
	if (s->what.is_index) {
		s->n_marks = 0; /* they do not count the first line */
		s->spacing = 1;
		rewind_iterator(s);
	}
	return 0;
}

/* Go on with finding the size, as long as somebody waits for it. */
static void measure(struct sfs_order_file *s)
{
	struct sfs_link ended;
	bool is_wanted;
	int ret = 0;

	pthread_mutex_lock(&s->all->lock);
	is_wanted = !sfs_list_is_empty(&s->waiters) && !s->has_size;
	pthread_mutex_unlock(&s->all->lock);
	if (is_wanted)
		ret = work(s, UINT64_MAX, 0);
	if (is_wanted && ret == 0)
		ret = keep_size(s);
	sfs_list_init(&ended);
	pthread_mutex_lock(&s->all->lock);
	if (ret != -EINPROGRESS) {
		sfs_waiters_tell(&s->waiters, &ended);
		s->is_measured = false;
		remove_user(s);
	}
	pthread_mutex_unlock(&s->all->lock);
	sfs_waiters_end(&ended, ret);
}

static bool run(struct sfs_task *task)
{
	struct sfs_order_file *s = sfs_container(task, struct sfs_order_file, task);
	struct sfs_order_files *all = s->all;
	bool is_closed, is_measured;
	struct sfs_read *read;
	uint64_t at = 0;
	size_t n = 0;
	int ret;

	pthread_mutex_lock(&all->lock);
	is_closed = s->is_closed;
	is_measured = s->is_measured;
	read = first_read(s);
	if (read) {
		at = read->offset;
		n = read->n_bytes;
	}
	pthread_mutex_unlock(&all->lock);
	if (is_closed)
		free_file(s);
	if (is_closed || (!read && !is_measured))
		return !is_closed;

	ret = read ? work(s, at, n) : -EINPROGRESS;
	if (ret != -EINPROGRESS)
		answer(s, at, n, ret);
	if (!read)
		measure(s);
	/* Give others a turn.  (After the last answer the file may be closed: then only
	 * this task frees it, when it runs once more.) */
	sfs_threadpool_post(all->runtime->pool, task);
	return true;
}

/* ---- readers ---- */

static bool cancel(struct sfs_read *read)
{
	struct sfs_order_file *s = read->owner;
	bool was_in;

	pthread_mutex_lock(&s->all->lock);
	was_in = sfs_link_is_in(&read->link);
	sfs_link_remove(&read->link);
	pthread_mutex_unlock(&s->all->lock);
	return was_in;
}

static void explain(struct sfs_read *read, struct sfs_cause *cause)
{
	sfs_cause_set(cause, NULL, SFS_NO_OFFSET, "the text of an .order file");
}

void sfs_order_file_read(struct sfs_order_file *s, struct sfs_read *read)
{
	read->owner = s;
	read->cancel = cancel;
	read->explain = explain;
	read->release = sfs_read_reset;
	pthread_mutex_lock(&s->all->lock);
	sfs_list_push(&s->reads, &read->link);
	sfs_threadpool_post(s->all->runtime->pool, &s->task);
	pthread_mutex_unlock(&s->all->lock);
}

uint64_t sfs_order_file_lines(struct sfs_order_file *s)
{
	uint64_t n;

	pthread_mutex_lock(&s->all->lock);
	n = s->n_lines;
	pthread_mutex_unlock(&s->all->lock);
	return n;
}

/* The file of a text, which has one user more.  Locked. */
static struct sfs_order_file *add_user(struct sfs_order_files *all,
				       const struct sfs_order_text *what)
{
	struct sfs_order_file *s;

	SFS_EACH (known, &all->list, struct sfs_order_file, link) {
		if (known->what.number == what->number) {
			known->n_users++;
			return known;
		}
	}
	s = sfs_calloc(1, sizeof *s);
	s->all = all;
	s->what = *what;
	s->has_size = sfs_names_text(all->names, what->number, &s->size);
	s->task.run = run;
	sfs_list_init(&s->reads);
	sfs_list_init(&s->waiters);
	sfs_list_push(&all->list, &s->link);
	s->n_users = 1;
	return s;
}

struct sfs_order_file *sfs_order_file_open(struct sfs_order_files *all,
					   const struct sfs_order_text *what)
{
	struct sfs_order_file *s;

	pthread_mutex_lock(&all->lock);
	s = add_user(all, what);
	pthread_mutex_unlock(&all->lock);
	return s;
}

/* Locked. */
static void explain_size(struct sfs_waiter *waiter, struct sfs_cause *cause)
{
	sfs_cause_set(cause, NULL, SFS_NO_OFFSET, "the size of an .order or .idx file");
}

int sfs_order_file_measure(struct sfs_order_files *all, const struct sfs_order_text *what,
			   struct sfs_waiter *waiter, struct sfs_text_size *ret_size)
{
	struct sfs_order_file *s;

	if (sfs_names_text(all->names, what->number, ret_size))
		return 0;
	if (!waiter)
		return -EINPROGRESS;
	pthread_mutex_lock(&all->lock);
	s = add_user(all, what);
	if (s->is_measured)
		s->n_users--;
	s->is_measured = true;
	waiter->lock = &all->lock;
	waiter->explain = explain_size;
	waiter->owner = s;
	sfs_list_push(&s->waiters, &waiter->link);
	sfs_threadpool_post(all->runtime->pool, &s->task);
	pthread_mutex_unlock(&all->lock);
	return -EINPROGRESS;
}

void sfs_order_file_close(struct sfs_order_file *s)
{
	struct sfs_order_files *all;

	if (!s)
		return;
	all = s->all;
	pthread_mutex_lock(&all->lock);
	remove_user(s);
	pthread_mutex_unlock(&all->lock);
}

/* ---- life ---- */

struct sfs_order_files *sfs_order_files_new(struct sfs_runtime *runtime,
					    struct sfs_names *names)
{
	struct sfs_order_files *all = sfs_calloc(1, sizeof *all);

	all->runtime = runtime;
	all->names = names;
	sfs_lock_init(&all->lock, SFS_LOCK_ORDER_FILES);
	sfs_list_init(&all->list);
	sfs_account_open(&all->account, &runtime->budget, 0, false, NULL);
	return all;
}

void sfs_order_files_free(struct sfs_order_files *all)
{
	if (!all)
		return;
	assert(sfs_list_is_empty(&all->list));
	sfs_account_close(&all->account);
	pthread_mutex_destroy(&all->lock);
	free(all);
}
