/* SPDX-License-Identifier: MIT */
/* How this works: lines are added to the text until it reaches far enough, and what lies
 * before the read is dropped.
 *
 * An iterator goes through an epoch one window of times at a time (iterate.h).  Each
 * start of a window gets a mark: the byte of the text, and the time.  With a locator, the
 * iterator can seek to any time, so a read starts at the last mark before it.  When
 * the array of marks is full, every other one is dropped.
 *
 * To find the size of a text, all of it is made and dropped.  The first line of an index
 * has the number of the others: it is there from when they were counted. */
#include "tree/order-maker.h"

#include "base/alloc.h"
#include "base/ledger.h"
#include "catalog/index-export.h"
#include "order/partition.h"
#include "tar/key.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define N_AT_A_TIME 2048  /* lines */
#define N_SKIPPED   65536 /* samples before the first line */
#define N_MARKS	    4096  /* 128 KiB */
#define SEEK_BYTES \
	((uint64_t)128 << 10) /* of text: less is made, not skipped by a seek */

struct sfs_order_mark {
	uint64_t at;		   /* byte of the text */
	uint64_t position, offset; /* of the first sample there */
	uint64_t time;		   /* at which the window begins */
	uint64_t key;		   /* of the sample before: sfs_runtime_renames() */
};

void sfs_order_maker_init(struct sfs_order_maker *m, struct sfs_runtime *runtime,
			  struct sfs_account *account, const struct sfs_order_text *what)
{
	*m = (struct sfs_order_maker){
		.runtime = runtime, .account = account, .what = *what};
}

void sfs_order_maker_done(struct sfs_order_maker *m)
{
	if (m->has_locator)
		sfs_locator_done(&m->locator);
	if (m->has_order) {
		sfs_iterator_done(&m->iterator);
		sfs_order_done(&m->order);
	}
	sfs_strbuf_done(&m->text);
	sfs_charge_done(&m->charge);
	free(steal(&m->marks));
	m->n_marks = 0;
	m->has_locator = m->has_order = false;
}

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

static struct sfs_shard *shard_of(const struct sfs_order_maker *m,
				  const struct sfs_block_sample *sample)
{
	return &m->runtime->shards.shards[sample->shard];
}

static int refuse_index(const struct sfs_order_maker *m, const struct sfs_shard *shard,
			int err, const char *why)
{
	sfs_ledger_add(SFS_EVENT_REFUSED, shard ? shard->name : "(epochs)",
		       SFS_NO_OFFSET, "", "cannot make the .idx of epoch %llu: %s",
		       (unsigned long long)m->what.epoch, why);
	return err;
}

/* A member as the stream has it, `moved` bytes from where the shard has it. */
static int add_index_member(const struct sfs_order_maker *m,
			    const struct sfs_shard *shard,
			    const struct sfs_member *member, uint64_t moved,
			    bool is_renamed, struct sfs_index_export *line)
{
	sfs_autofree char *longer =
		is_renamed ? sfs_asprintf("%s/%.*s", shard->folder, (int)member->n_name,
					  member->name)
			   : NULL;
	const char *name = longer ? longer : member->name;
	size_t n = longer ? strlen(longer) : member->n_name;
	struct sfs_error why = {0};
	int ret;

	if (member->is_sparse)
		return refuse_index(m, shard, -EILSEQ, "sparse members");
	ret = sfs_index_export_add(line, name, n, member->data + moved, member->size,
				   &why);
	return ret < 0 ? refuse_index(m, shard, ret, why.text) : 0;
}

/* Add the line of a sample to an index, unless it has no key. */
static int add_index_line(struct sfs_order_maker *m,
			  const struct sfs_block_sample *sample)
{
	bool is_renamed = sfs_runtime_renames(m->runtime, &m->key, sample);
	struct sfs_shard *shard = shard_of(m, sample);
	const struct sfs_members *members = sfs_shard_members(shard);
	uint64_t i = sfs_members_find(members, sample->start);
	struct sfs_index_export line = {0};
	struct sfs_member member;
	int ret = 0;

	for (; i < members->n && ret == 0; i++) {
		member = sfs_members_get(members, i);
		if (member.start >= sample->start + sample->n_bytes)
			break;
		if (sfs_key_length(member.name, member.n_name) > 0)
			ret = add_index_member(m, shard, &member,
					       m->offset - sample->start, is_renamed,
					       &line);
	}
	if (ret == 0 && line.n_samples > 0) {
		sfs_strbuf_add(&m->text, line.lines.s, line.lines.n);
		sfs_strbuf_add(&m->text, "\n", 1);
		m->n_printed++;
	}
	sfs_index_export_done(&line);
	m->position++;
	m->offset += sample->n_bytes;
	return ret;
}

static void add_order_line(struct sfs_order_maker *m,
			   const struct sfs_block_sample *sample)
{
	struct sfs_shard *shard = shard_of(m, sample);

	add_number(&m->text, m->position);
	add_number(&m->text, m->offset);
	add_number(&m->text, sample->n_bytes);
	add_escaped(&m->text, shard->name, strlen(shard->name));
	sfs_strbuf_add(&m->text, "\t", 1);
	add_key(&m->text, sfs_shard_members(shard), sample->start);
	sfs_strbuf_add(&m->text, "\n", 1);
	m->position++;
	m->offset += sample->n_bytes;
}

/* The line before those of samples. */
static size_t print_head(uint64_t n_lines, char head[static 40])
{
	return (size_t)snprintf(head, 40, "v1.2 %llu\n", (unsigned long long)n_lines);
}

/* ---- marks ---- */

static uint64_t text_end(const struct sfs_order_maker *m)
{
	return m->start + m->text.n;
}

/* A window begins here. */
static void set_mark(struct sfs_order_maker *m)
{
	const struct sfs_order_mark *last = m->n_marks ? &m->marks[m->n_marks - 1] : NULL;
	uint32_t i;

	if (last && text_end(m) < last->at + m->spacing)
		return;
	if (m->n_marks == N_MARKS) {
		for (i = 0; i < N_MARKS / 2; i++)
			m->marks[i] = m->marks[2 * i];
		m->n_marks = N_MARKS / 2;
		m->spacing = text_end(m) / (N_MARKS / 2);
	}
	m->marks[m->n_marks++] = (struct sfs_order_mark){.at = text_end(m),
					       .position = m->position,
					       .offset = m->offset,
					       .time = m->iterator.time,
					       .key = m->key};
}

/* The last mark at or before byte `at`. */
static const struct sfs_order_mark *find_mark(const struct sfs_order_maker *m,
					      uint64_t at)
{
	uint32_t low = 0, high = m->n_marks, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (m->marks[middle].at <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 ? &m->marks[low - 1] : NULL;
}

/* ---- memory ---- */

static int count(struct sfs_order_maker *m)
{
	uint64_t n = sfs_order_memory(&m->order) + sfs_iterator_memory(&m->iterator) +
		     N_MARKS * sizeof *m->marks + m->text.capacity;

	if (m->has_locator)
		n += sfs_locator_memory(&m->order);
	return sfs_charge_count(&m->charge, m->account, (size_t)n,
				m->runtime->budget.total_bytes / 2);
}

/* There is no room: give back what it took. */
static int give_up(struct sfs_order_maker *m)
{
	uint64_t n = sfs_order_memory(&m->order) + sfs_iterator_memory(&m->iterator);
	char size[32];

	sfs_ledger_add(SFS_EVENT_REFUSED, "(epochs)", SFS_NO_OFFSET,
		       "close other .order files, or raise budget=",
		       "the %s file of epoch %llu needs %s or more, and the budget "
		       "has no room for it",
		       m->what.is_index ? ".idx" : ".order",
		       (unsigned long long)m->what.epoch, sfs_format_size(n, size));
	sfs_order_maker_done(m);
	return -ENOMEM;
}

/* ---- the position of the iterator ---- */

static void rewind_iterator(struct sfs_order_maker *m)
{
	const struct sfs_sample_tables tables = sfs_shards_tables(&m->runtime->shards);
	char head[40];

	sfs_iterator_done(&m->iterator);
	sfs_iterator_init(&m->iterator, &m->order, &tables);
	m->n_to_skip = m->what.first;
	m->is_at_end = false;
	m->position = m->offset = m->start = m->key = m->n_printed = 0;
	m->text.n = 0;
	if (m->what.is_index && m->has_size)
		sfs_strbuf_add(&m->text, head, print_head(m->size.n_lines, head));
}

static int have_order(struct sfs_order_maker *m)
{
	struct sfs_runtime *runtime = m->runtime;
	const struct sfs_sample_tables tables = sfs_shards_tables(&runtime->shards);

	if (m->has_order)
		return 0;
	sfs_partition(&m->order, &runtime->order, m->what.epoch, runtime->shards.n,
		      &tables, m->what.share);
	m->marks = sfs_calloc(N_MARKS, sizeof *m->marks);
	m->spacing = 1;
	m->has_order = true;
	rewind_iterator(m);
	return count(m) < 0 ? give_up(m) : 0;
}

/* false: there is no room for one. */
static bool have_locator(struct sfs_order_maker *m)
{
	struct sfs_shards *shards = &m->runtime->shards;
	const struct sfs_sample_tables tables = sfs_shards_tables(shards);
	struct sfs_spot spot;
	uint32_t shard;

	if (m->has_locator)
		return true;
	m->has_locator = true;
	if (count(m) < 0) {
		m->has_locator = false;
		return false;
	}
	sfs_locator_init(&m->locator, &m->order, &tables, sfs_shards_totals);
	if (sfs_locator_nth(&m->locator, 0, &spot, &shard) == 0)
		return true;
	sfs_locator_done(&m->locator); /* (no samples at all) */
	m->has_locator = false;
	return false;
}

static void go_to(struct sfs_order_maker *m, const struct sfs_order_mark *mark)
{
	sfs_iterator_seek(&m->iterator, &m->locator, mark->time);
	m->n_to_skip = 0;
	m->is_at_end = false;
	m->position = mark->position;
	m->offset = mark->offset;
	m->key = mark->key;
	m->start = mark->at;
	m->text.n = 0;
}

/* Move the iterator to before byte `at`, and near it if a mark is. */
static void approach(struct sfs_order_maker *m, uint64_t at)
{
	const struct sfs_order_mark *mark = find_mark(m, at);
	bool is_before = at < m->start;

	if (mark && (is_before || mark->at > text_end(m) + SEEK_BYTES) && have_locator(m))
		go_to(m, mark);
	else if (is_before)
		rewind_iterator(m);
}

/* ---- making text ---- */

/* Drop what lies before byte `at`. */
static void drop_before(struct sfs_order_maker *m, uint64_t at)
{
	size_t n = at - m->start < m->text.n ? (size_t)(at - m->start) : m->text.n;

	if (at <= m->start || n == 0)
		return;
	memmove(m->text.s, m->text.s + n, m->text.n - n);
	m->text.n -= n;
	m->start += n;
}

/* It has no line, as its stream has no sample. */
static void note_beyond(struct sfs_order_maker *m, uint64_t n_samples)
{
	if (!m->is_beyond)
		sfs_ledger_add(SFS_EVENT_EMPTY, "(epochs)", SFS_NO_OFFSET,
			       "readers get an empty file",
			       "an %s file of epoch %llu that begins at sample %llu "
			       "begins beyond the end: its stream has only %llu samples",
			       m->what.is_index ? ".idx" : ".order",
			       (unsigned long long)m->what.epoch,
			       (unsigned long long)m->what.first,
			       (unsigned long long)n_samples);
	m->is_beyond = true;
}

/* Skip some of the samples before the first line. */
static void skip(struct sfs_order_maker *m)
{
	uint64_t n = m->n_to_skip < N_SKIPPED ? m->n_to_skip : N_SKIPPED, i;
	const struct sfs_block_sample *sample;

	for (i = 0; i < n && !m->is_at_end; i++) {
		sample = sfs_iterator_next(&m->iterator);
		m->is_at_end = !sample;
		if (sample)
			sfs_runtime_renames(m->runtime, &m->key, sample);
		else
			note_beyond(m, m->what.first - m->n_to_skip + i);
	}
	m->n_to_skip -= n;
}

/* Make up to N_AT_A_TIME lines, until the text reaches to `end`; count them. */
static int make_lines(struct sfs_order_maker *m, uint64_t at, uint64_t end,
		      uint64_t *ret_n)
{
	const struct sfs_block_sample *sample;
	uint64_t n = 0;
	int ret = 0;

	while (n < N_AT_A_TIME && text_end(m) < end && ret == 0) {
		if (sfs_iterator_is_between(&m->iterator))
			set_mark(m);
		sample = sfs_iterator_next(&m->iterator);
		m->is_at_end = !sample;
		if (!sample)
			break;
		if (m->what.is_index)
			ret = add_index_line(m, sample);
		else
			add_order_line(m, sample);
		drop_before(m, at);
		n++;
	}
	*ret_n = n;
	return ret;
}

int sfs_order_maker_work(struct sfs_order_maker *m, uint64_t at, size_t n,
			 uint64_t *ret_n_lines)
{
	int ret = have_order(m);

	*ret_n_lines = 0;
	if (ret < 0)
		return ret;
	approach(m, at);
	drop_before(m, at);
	if (m->n_to_skip > 0 && !m->is_at_end) {
		skip(m);
		return -EINPROGRESS;
	}
	ret = make_lines(m, at, at + n, ret_n_lines);
	if (ret < 0)
		return ret;
	if (count(m) < 0)
		return give_up(m);
	return text_end(m) >= at + n || m->is_at_end ? 0 : -EINPROGRESS;
}

int sfs_order_maker_measure(struct sfs_order_maker *m)
{
	char head[40];

	m->size = (struct sfs_text_size){.n_bytes = text_end(m), .n_lines = m->position};
	if (m->what.is_index) {
		m->size.n_lines = m->n_printed;
		m->size.n_bytes += print_head(m->n_printed, head);
		if (m->n_printed == 0)
			return refuse_index(m, NULL, -ENODATA,
					    "it has no samples, and a DALI index cannot "
					    "be empty");
	}
	m->has_size = true;
	if (m->what.is_index) {
		m->n_marks = 0; /* they do not count the first line */
		m->spacing = 1;
		rewind_iterator(m);
	}
	return 0;
}
