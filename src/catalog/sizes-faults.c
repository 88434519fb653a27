/* SPDX-License-Identifier: MIT */
/* How this works: the state of each shard says which are bad; of the first of those, a
 * sentence is kept that says why.  The user gets one line for all. */
#include "catalog/sizes-internal.h"

#include "base/alloc.h"
#include "base/ledger.h"
#include "tar/header.h"
#include "tar/magic.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOO_LARGE "larger than 1 TiB; split the shard"

bool sfs_size_is_too_large(const struct sfs_shard *shard)
{
	return shard->object->size > SFS_SAMPLE_TABLE_SHARD_MAX;
}

int sfs_size_check(struct sfs_sizes *s, struct sfs_shard *shard, int err, const char *why)
{
	if (err < 0 && err != -ECANCELED)
		sfs_source_count_failed_ask(shard->object->source);
	if (err == -ENOENT && s->shards->skip_damaged) {
		sfs_ledger_note(SFS_EVENT_SKIP, shard->name, SFS_NO_OFFSET,
				"it counts as an empty shard", "%s", why);
		shard->object->size = 0;
		pthread_mutex_lock(&shard->lock);
		shard->has_totals = true;
		pthread_mutex_unlock(&shard->lock);
		return 0;
	}
	if (err == 0 && sfs_size_is_too_large(shard)) {
		err = -EFBIG;
		why = TOO_LARGE;
	}
	if (err < 0 && err != -ECANCELED)
		sfs_ledger_note(SFS_EVENT_LOST, shard->name, SFS_NO_OFFSET,
				"all streams get EIO until it is readable", "%s", why);
	return err;
}

bool sfs_size_is_bad(unsigned char state)
{
	return state == SFS_SIZES_FAILED || state == SFS_SIZES_MISSING ||
	       state == SFS_SIZES_FOREIGN;
}

void sfs_sizes_keep_why(struct sfs_sizes *s, uint32_t shard, const char *why)
{
	if (s->why && s->first_bad < shard)
		return;
	free(s->why);
	s->why = sfs_strdup(why);
	s->first_bad = shard;
}

void sfs_sizes_keep_too_large(struct sfs_sizes *s, const struct sfs_shard *shard)
{
	sfs_autofree char *shown = sfs_uri_redact(shard->object->uri.location);
	sfs_autofree char *why = sfs_asprintf("%s: " TOO_LARGE, shown);

	sfs_sizes_keep_why(s, shard->index, why);
}

static void measure_first_file(struct sfs_sizes *s, const unsigned char *head, size_t n)
{
	struct sfs_tar_header h;

	if (n < SFS_TAR_BLOCK)
		return;
	h = sfs_tar_look(head);
	if (h.kind != SFS_TAR_FILE)
		return;
	s->n_first++;
	s->first_bytes += SFS_TAR_BLOCK + sfs_tar_padded(h.size);
}

void sfs_sizes_look_at(struct sfs_sizes *s, const struct sfs_shard *shard,
		       const unsigned char *head, size_t n)
{
	const struct sfs_magic *magic = sfs_magic_instead_of_tar(head, n);
	bool is_empty = shard->object->size == 0;
	sfs_autofree char *shown = NULL, *why = NULL;

	measure_first_file(s, head, n);
	if (!magic && !is_empty)
		return;
	shown = sfs_uri_redact(shard->object->uri.location);
	why = is_empty ? sfs_asprintf("%s is an empty file, not a tar", shown)
		       : sfs_asprintf("%s is %s: %s", shown, magic->what, magic->advice);
	s->state[shard->index] = SFS_SIZES_FOREIGN;
	sfs_sizes_keep_why(s, shard->index, why);
}

/* Is a retry useless? */
static bool is_refused(int err)
{
	switch (err) {
	case -EACCES:
	case -EPERM:
	case -EINVAL:
	case -EFBIG:
	case -EISDIR:
	case -ELOOP:
	case -ENAMETOOLONG:
	case -ENOTDIR:
	case -EOPNOTSUPP: return true;
	}
	return false;
}

uint32_t sfs_sizes_n_bad(const struct sfs_sizes_tally *t)
{
	return t->n_missing + t->n_refused + t->n_failed + t->n_foreign;
}

static void count_bad(const struct sfs_sizes *s, uint32_t shard,
		      struct sfs_sizes_tally *t)
{
	const struct sfs_shard *failed = &s->shards->shards[shard];
	int err = failed->size_err;

	if (sfs_sizes_n_bad(t) == 0) {
		if (s->why && s->first_bad == shard)
			sfs_error_set(&t->first, 0, "%s", s->why);
		else if (s->state[shard] == SFS_SIZES_FOREIGN)
			sfs_error_set(&t->first, 0, "%s", failed->name);
		else
			sfs_error_set(&t->first, 0, "%s: %s", failed->name,
				      strerror(-err));
	}
	if (s->state[shard] == SFS_SIZES_FOREIGN)
		t->n_foreign++;
	else if (err == -ENOENT)
		t->n_missing++;
	else if (is_refused(err))
		t->n_refused++;
	else
		t->n_failed++;
}

void sfs_sizes_count(const struct sfs_sizes *s, uint32_t first, uint32_t end,
		     struct sfs_sizes_tally *t)
{
	uint32_t i;

	*t = (struct sfs_sizes_tally){.n_shards = end - first,
				      .is_skipping = s->shards->skip_damaged};
	for (i = first; i < end; i++) {
		t->n_asked +=
			s->state[i] == SFS_SIZES_KNOWN || sfs_size_is_bad(s->state[i]);
		if (sfs_size_is_bad(s->state[i]))
			count_bad(s, i, t);
	}
}

/* What is wrong with n shards? */
static const char *fault(const struct sfs_sizes_tally *t, uint32_t n)
{
	if (n == t->n_missing)
		return n == 1 ? "is missing" : "are missing";
	if (n == t->n_foreign)
		return n == 1 ? "is not a tar file" : "are not tar files";
	return "cannot be read";
}

/* What is done about it, or can be: only missing and foreign shards can be left out. */
static const char *remedy(const struct sfs_sizes_tally *t, uint32_t n)
{
	if (n != t->n_missing + t->n_foreign || n == t->n_asked)
		return "";
	if (t->is_skipping)
		return n == 1 ? "; it is left out" : "; they are left out";
	return n == 1 ? "; on-error=skip leaves it out"
		      : "; on-error=skip leaves them out";
}

void sfs_sizes_describe(const struct sfs_sizes_tally *t, struct sfs_error *ret)
{
	uint32_t n = sfs_sizes_n_bad(t);
	bool is_all = n == t->n_asked, is_whole = t->n_asked == t->n_shards;
	char count[16], of[64];

	if (n == 0)
		return;
	if (t->n_shards == 1) {
		*ret = t->first;
		return;
	}
	snprintf(count, sizeof count, !is_all ? "%u of" : is_whole ? "all" : "all of", n);
	if (is_whole)
		snprintf(of, sizeof of, "%u shards", t->n_shards);
	else
		snprintf(of, sizeof of, "the first %u shards that answered", t->n_asked);
	sfs_error_set(ret, 0, "%s %s %s%s: %s%s", count, of, fault(t, n),
		      n == 1 ? "" : ", the first", t->first.text, remedy(t, n));
}

void sfs_sizes_compare_said(const struct sfs_sizes *s, struct sfs_error *ret)
{
	const struct sfs_shard *shard, *first = NULL;
	uint32_t i, n = 0, n_said = 0;
	char of[32];

	for (i = 0; i < s->shards->n; i++) {
		shard = &s->shards->shards[i];
		if (shard->said_bytes == UINT64_MAX || s->state[i] != SFS_SIZES_KNOWN)
			continue;
		n_said++;
		if (shard->said_bytes == shard->object->size)
			continue;
		first = n++ > 0 ? first : shard;
	}
	if (n == 0)
		return;
	snprintf(of, sizeof of, n == 1 ? "a shard has" : "%u of %u shards have", n,
		 n_said);
	sfs_error_set(ret, 0,
		      "%s another size than the index says, which may be old%s: %s has "
		      "%llu bytes, not %llu",
		      of, n == 1 ? "" : "; the first", first->name,
		      (unsigned long long)first->object->size,
		      (unsigned long long)first->said_bytes);
}
