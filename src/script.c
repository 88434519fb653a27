/* SPDX-License-Identifier: MIT */
/* How this works: `text` is a piece of the whole, from byte `start` of it on.  A read has
 * lines added to it until it reaches far enough, and what lies before the read is
 * dropped. */
#include "script.h"

#include "deal.h"
#include "key.h"
#include "mem.h"
#include "play.h"
#include "text.h"

#include <string.h>

struct sfs_script {
	struct sfs_env *env;
	struct sfs_order order;
	uint64_t first;

	pthread_mutex_t lock; /* guards all below */
	struct sfs_play play;
	bool has_play, is_at_end;
	uint64_t position, offset; /* of the next sample, in the file */
	struct sfs_text text;
	uint64_t start;
};

/* Begin anew, at the first line. */
static void rewind_script(struct sfs_script *s)
{
	const struct sfs_tables tables = sfs_shards_tables(&s->env->shards);
	uint64_t i;

	if (s->has_play)
		sfs_play_done(&s->play);
	sfs_play_init(&s->play, &s->order, &tables);
	s->has_play = true;
	s->is_at_end = false;
	s->position = s->offset = s->start = 0;
	s->text.n = 0;
	for (i = 0; i < s->first && !s->is_at_end; i++)
		s->is_at_end = sfs_play_next(&s->play) == NULL;
}

struct sfs_script *sfs_script_new(struct sfs_env *env, uint64_t epoch,
				  struct sfs_share share, uint64_t first)
{
	struct sfs_script *s = sfs_calloc(1, sizeof *s);
	const struct sfs_tables tables = sfs_shards_tables(&env->shards);

	s->env = env;
	s->first = first;
	sfs_deal(&s->order, &env->order, epoch, env->shards.n, &tables, share);
	pthread_mutex_init(&s->lock, NULL);
	return s;
}

void sfs_script_free(struct sfs_script *s)
{
	if (!s)
		return;
	if (s->has_play)
		sfs_play_done(&s->play);
	sfs_order_done(&s->order);
	sfs_text_done(&s->text);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* What would end a column or a line is escaped. */
static void add_escaped(struct sfs_text *text, const char *s, size_t n)
{
	static const char odd[] = "\t\n\r\\", letters[] = "tnr\\";
	const char *found;
	size_t i;

	for (i = 0; i < n; i++) {
		found = s[i] ? strchr(odd, s[i]) : NULL;
		if (found)
			sfs_text_printf(text, "\\%c", letters[found - odd]);
		else
			sfs_text_add(text, &s[i], 1);
	}
}

/* The first of a sample's members that has a key, has its. */
static void add_key(struct sfs_text *text, const struct sfs_members *members,
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

/* Add the next line.  false: there is none. */
static bool add_line(struct sfs_script *s)
{
	const struct sfs_block_sample *sample =
		s->is_at_end ? NULL : sfs_play_next(&s->play);
	struct sfs_shard *shard;

	if (!sample) {
		s->is_at_end = true;
		return false;
	}
	shard = &s->env->shards.shards[sample->shard];
	sfs_text_printf(&s->text, "%llu\t%llu\t%llu\t", (unsigned long long)s->position,
			(unsigned long long)s->offset,
			(unsigned long long)sample->n_bytes);
	add_escaped(&s->text, shard->name, strlen(shard->name));
	sfs_text_add(&s->text, "\t", 1);
	add_key(&s->text, sfs_shard_members(shard), sample->start);
	sfs_text_add(&s->text, "\n", 1);
	s->position++;
	s->offset += sample->n_bytes;
	return true;
}

/* Drop what lies before byte `offset`. */
static void drop_before(struct sfs_script *s, uint64_t offset)
{
	size_t n =
		offset - s->start < s->text.n ? (size_t)(offset - s->start) : s->text.n;

	if (n == 0)
		return;
	memmove(s->text.s, s->text.s + n, s->text.n - n);
	s->text.n -= n;
	s->start += n;
}

void sfs_script_read(struct sfs_script *s, struct sfs_read *read)
{
	uint64_t offset = read->offset;
	bool has_more = true;

	pthread_mutex_lock(&s->lock);
	if (!s->has_play || offset < s->start)
		rewind_script(s);
	drop_before(s, offset);
	while (has_more && (s->start < offset || s->text.n < read->n_bytes)) {
		has_more = add_line(s);
		if (s->start < offset)
			drop_before(s, offset);
	}
	if (s->start < offset)
		read->n_bytes = 0;
	else if (read->n_bytes > s->text.n)
		read->n_bytes = s->text.n;
	read->release = sfs_read_reset;
	sfs_read_add_copy(read, s->text.s, read->n_bytes);
	pthread_mutex_unlock(&s->lock);
	read->done(read, 0);
}
