/* SPDX-License-Identifier: MIT */
/* How this works: Energon's offsets are multiples of 512, so the first byte of its files
 * is zero, and never DALI's "v".  Memory grows with the bytes that were read, never with
 * a count that a file promises.
 *
 * Each offset is compared with the one before it: a header lies between any two members,
 * so offsets that are out of order, repeated or overlapping are refused here. */
#include "catalog/index-import.h"

#include "base/alloc.h"
#include "tar/header.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#define SHOWN 40 /* bytes of a word that a message shows */

void sfs_index_import_done(struct sfs_index_import *import)
{
	free(import->members);
	free(import->starts);
	*import = (struct sfs_index_import){0};
}

/* ---- DALI ---- */

struct word {
	const char *s;
	size_t n; /* 0: the line has no more */
};

struct reader {
	const char *p, *end; /* what is left of the index */
	const char *line_end;
	uint64_t line; /* counted from 1 */
	bool has_names;
	uint64_t shard_bytes;
	uint64_t pos; /* where the next header may stand at the earliest */
	size_t capacity;
	struct sfs_index_import *ret;
	struct sfs_error *err;
};

#define refuse(r, format, ...)                                         \
	sfs_error_set((r)->err, -EBADMSG, "line %" PRIu64 ": " format, \
		      (r)->line __VA_OPT__(, ) __VA_ARGS__)

/* What every line of a whole index has is its newline: so one that was cut is seen. */
static int next_line(struct reader *r)
{
	const char *newline = memchr(r->p, '\n', (size_t)(r->end - r->p));

	r->line++;
	if (r->p == r->end)
		return refuse(r, "missing: the index ends");
	if (!newline)
		return refuse(r, "cut off");
	r->line_end = newline;
	return 0;
}

static struct word next_word(struct reader *r)
{
	struct word word;

	while (r->p < r->line_end && isspace((unsigned char)*r->p))
		r->p++;
	word.s = r->p;
	while (r->p < r->line_end && !isspace((unsigned char)*r->p))
		r->p++;
	word.n = (size_t)(r->p - word.s);
	return word;
}

static int shown(struct word word)
{
	return word.n < SHOWN ? (int)word.n : SHOWN;
}

static int number(struct reader *r, const char *what, uint64_t *ret)
{
	struct word word = next_word(r);
	uint64_t v = 0;
	size_t i;

	if (word.n == 0)
		return refuse(r, "%s is missing", what);
	for (i = 0; i < word.n; i++) {
		if (word.s[i] < '0' || word.s[i] > '9')
			return refuse(r, "%s is '%.*s', not a number", what, shown(word),
				      word.s);
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(word.s[i] - '0'), &v))
			return refuse(r, "%s is too large: %.*s", what, shown(word),
				      word.s);
	}
	*ret = v;
	return 0;
}

static int check_member(const struct reader *r, const struct sfs_index_import_member *m)
{
	if (m->data % SFS_TAR_BLOCK != 0)
		return refuse(r, "offset %" PRIu64 " is not a multiple of 512", m->data);
	if (m->data > r->shard_bytes || m->n_bytes > r->shard_bytes - m->data)
		return refuse(r,
			      "%" PRIu64 " bytes at %" PRIu64
			      " end after the end of the shard at %" PRIu64,
			      m->n_bytes, m->data, r->shard_bytes);
	if (m->data < r->pos + SFS_TAR_BLOCK)
		return refuse(r,
			      "data at %" PRIu64
			      " overlap the member before, which ends at %" PRIu64,
			      m->data, r->pos);
	return 0;
}

static void add_member(struct reader *r, const struct sfs_index_import_member *m)
{
	struct sfs_index_import *f = r->ret;

	if (f->n_members == r->capacity) {
		r->capacity = 2 * r->capacity + 64;
		f->members =
			sfs_reallocarray(f->members, r->capacity, sizeof *f->members);
	}
	f->members[f->n_members++] = *m;
	r->pos = m->data + sfs_tar_padded(m->n_bytes);
}

static int read_member(struct reader *r, uint64_t sample)
{
	struct sfs_index_import_member m = {.sample = sample};
	int ret;

	ret = number(r, "an offset", &m.data);
	if (ret == 0)
		ret = number(r, "a size", &m.n_bytes);
	if (ret < 0)
		return ret;

	if (r->has_names && next_word(r).n == 0)
		return refuse(r, "a name is missing");
	ret = check_member(r, &m);
	if (ret < 0)
		return ret;

	add_member(r, &m);
	return 0;
}

static int read_sample(struct reader *r, uint64_t sample)
{
	size_t n_before = r->ret->n_members;
	int ret;

	ret = next_line(r);
	while (ret == 0 && next_word(r).n > 0)
		ret = read_member(r, sample);
	if (ret < 0)
		return ret;
	if (r->ret->n_members == n_before)
		return refuse(r, "a sample without members");
	r->p = r->line_end + 1;
	return 0;
}

static bool is_word(struct word word, const char *s)
{
	return word.n == strlen(s) && memcmp(word.s, s, word.n) == 0;
}

static int read_first_line(struct reader *r)
{
	struct word version;
	int ret;

	ret = next_line(r);
	if (ret < 0)
		return ret;

	version = next_word(r);
	r->has_names = is_word(version, "v1.2");
	if (!r->has_names && !is_word(version, "v1.1"))
		return refuse(r, "'%.*s' is not a known version", shown(version),
			      version.s);
	ret = number(r, "the number of samples", &r->ret->n_samples);
	if (ret < 0)
		return ret;

	if (r->ret->n_samples == 0)
		return refuse(r, "no samples");
	if (next_word(r).n > 0)
		return refuse(r, "unexpected text after the number of samples");
	r->p = r->line_end + 1;
	return 0;
}

static int parse_dali(struct reader *r)
{
	uint64_t i;
	int ret;

	r->ret->kind = SFS_INDEX_IMPORT_DALI;
	ret = read_first_line(r);
	for (i = 0; ret == 0 && i < r->ret->n_samples; i++)
		ret = read_sample(r, i);
	if (ret < 0)
		return ret;
	r->line++;
	if (r->p < r->end)
		return refuse(r, "unexpected text after the %" PRIu64 " samples",
			      r->ret->n_samples);
	return 0;
}

/* ---- Energon ---- */

static uint64_t little_endian(const char *p)
{
	uint64_t v = 0;
	int i;

	for (i = 7; i >= 0; i--)
		v = v << 8 | (unsigned char)p[i];
	return v;
}

static int check_start(const struct reader *r, uint64_t i)
{
	const uint64_t *starts = r->ret->starts;

	if (starts[i] % SFS_TAR_BLOCK != 0)
		return sfs_error_set(r->err, -EBADMSG,
				     "offset %" PRIu64 " is %" PRIu64
				     ", not a multiple of 512",
				     i, starts[i]);
	if (starts[i] > r->shard_bytes)
		return sfs_error_set(r->err, -EBADMSG,
				     "offset %" PRIu64 " is %" PRIu64
				     ", but the shard has %" PRIu64 " bytes",
				     i, starts[i], r->shard_bytes);
	if (i > 0 && starts[i] <= starts[i - 1])
		return sfs_error_set(r->err, -EBADMSG,
				     "offset %" PRIu64 " is %" PRIu64
				     ", but the offset before it is %" PRIu64,
				     i, starts[i], starts[i - 1]);
	return 0;
}

static int parse_energon(struct reader *r)
{
	size_t n = (size_t)(r->end - r->p), i;
	struct sfs_index_import *f = r->ret;
	int ret = 0;

	if (n == 0 || n % 8 != 0)
		return sfs_error_set(
			r->err, -EBADMSG,
			"neither an index of DALI nor, with %zu bytes, one of "
			"Energon",
			n);
	f->kind = SFS_INDEX_IMPORT_ENERGON;
	f->n_samples = n / 8 - 1;
	f->starts = sfs_reallocarray(NULL, n / 8, sizeof *f->starts);
	for (i = 0; ret == 0 && i < n / 8; i++) {
		f->starts[i] = little_endian(r->p + 8 * i);
		ret = check_start(r, i);
	}
	return ret;
}

int sfs_index_import_parse(const void *bytes, size_t n, uint64_t shard_bytes,
			   struct sfs_index_import *ret, struct sfs_error *err)
{
	struct sfs_index_import f = {0};
	struct reader r = {
		.p = bytes,
		.end = n > 0 ? (const char *)bytes + n : bytes,
		.shard_bytes = shard_bytes,
		.ret = &f,
		.err = err,
	};
	int code;

	code = n > 0 && *r.p == 'v' ? parse_dali(&r) : parse_energon(&r);
	if (code < 0) {
		sfs_index_import_done(&f);
		return code;
	}
	*ret = f;
	return 0;
}

uint64_t sfs_index_import_memory(const struct sfs_index_import *f)
{
	return f->members  ? f->n_members * sizeof *f->members
	       : f->starts ? (f->n_samples + 1) * sizeof *f->starts
			   : 0;
}

/* ---- claims and headers ---- */

static int check_members(const struct sfs_index_import *f,
			 const struct sfs_extent *extents, struct sfs_error *err)
{
	const struct sfs_index_import_member *m;

	for (m = f->members; m < f->members + f->n_members; m++) {
		const struct sfs_extent *e = &extents[m->sample];
		uint64_t end = e->start + e->n_bytes;

		if (m->data < e->start || m->data > end || m->n_bytes > end - m->data)
			return sfs_error_set(err, -EBADMSG,
					     "sample %" PRIu64 " is bytes %" PRIu64
					     " to %" PRIu64 ", but the index has %" PRIu64
					     " bytes of it at %" PRIu64,
					     m->sample, e->start, end, m->n_bytes,
					     m->data);
	}
	return 0;
}

static int check_starts(const struct sfs_index_import *f,
			const struct sfs_extent *extents, struct sfs_error *err)
{
	uint64_t i, end = 0;

	for (i = 0; i < f->n_samples; i++) {
		if (extents[i].start != f->starts[i])
			return sfs_error_set(err, -EBADMSG,
					     "sample %" PRIu64 " begins at %" PRIu64
					     ", but in the index at %" PRIu64,
					     i, extents[i].start, f->starts[i]);
		end = extents[i].start + extents[i].n_bytes;
	}
	if (f->starts[i] < end)
		return sfs_error_set(err, -EBADMSG,
				     "the last sample ends at %" PRIu64
				     ", but in the index at %" PRIu64,
				     end, f->starts[i]);
	return 0;
}

int sfs_index_import_agrees(const struct sfs_index_import *import,
			    const struct sfs_extent *extents, size_t n_extents,
			    struct sfs_error *err)
{
	if (import->n_samples != n_extents)
		return sfs_error_set(err, -EBADMSG,
				     "the shard has %zu samples, but the index %" PRIu64,
				     n_extents, import->n_samples);
	return import->kind == SFS_INDEX_IMPORT_DALI ? check_members(import, extents, err)
						     : check_starts(import, extents, err);
}

int sfs_index_import_agrees_members(const struct sfs_index_import *import,
				    const struct sfs_index_import_member *members,
				    size_t n_members, struct sfs_error *err)
{
	size_t i;

	for (i = 0; i < n_members && i < import->n_members; i++) {
		const struct sfs_index_import_member *is = &members[i],
						     *said = &import->members[i];

		if (is->sample != said->sample || is->data != said->data ||
		    is->n_bytes != said->n_bytes)
			return sfs_error_set(err, -EBADMSG,
					     "member %zu, of sample %" PRIu64
					     ", has %" PRIu64 " bytes at %" PRIu64
					     ", but in the index sample %" PRIu64
					     ", %" PRIu64 " bytes at %" PRIu64,
					     i, is->sample, is->n_bytes, is->data,
					     said->sample, said->n_bytes, said->data);
	}
	if (n_members != import->n_members)
		return sfs_error_set(
			err, -EBADMSG,
			"the samples of the shard have %zu members, but the index "
			"has %zu",
			n_members, import->n_members);
	return 0;
}
