/* SPDX-License-Identifier: MIT */
/* How this works: headers are looked at in the input, and members stay where the input
 * has read them: a sample holds the chunks that its members lie in.  Only sparse members,
 * and what is too large for a chunk, get memory of their own (input.h).
 *
 * A sample ends where another key begins.  That header is not used yet, and is looked at
 * again by the next call.  Names are offsets until the sample is whole. */
#include "decode/sample.h"

#include "base/alloc.h"
#include "tar/entry.h"
#include "tar/key.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define SAMPLE_MAX ((uint64_t)1 << 32)

/* The sample that is made. */
struct draft {
	char *key;
	size_t n_key;
	uint64_t n_bytes; /* of its members */
	char *names;
	size_t n_names, capacity_names;
	struct sfs_sample_field *fields; /* name is an offset into names */
	struct sfs_chunk **chunks;	 /* of each field */
	uint32_t n_fields, capacity_fields;
};

struct sfs_sample_reader {
	struct sfs_input *input;
	uint64_t next; /* ordinal */
	bool is_ended; /* the end mark was read */
	struct draft draft;
};

struct owned {
	struct sfs_sample sample;
	char *key, *names;
	struct sfs_chunk **chunks;
};

struct sfs_sample_reader *sfs_sample_reader_new(int fd, enum sfs_input_kind kind,
						uint64_t first,
						void (*before_read)(void *arg), void *arg)
{
	struct sfs_sample_reader *r = sfs_calloc(1, sizeof *r);

	r->input = sfs_input_new(fd, kind, before_read, arg);
	r->next = first;
	return r;
}

int sfs_sample_reader_use_pool(struct sfs_sample_reader *r, struct sfs_pool *pool)
{
	return sfs_input_use_pool(r->input, pool);
}

bool sfs_sample_reader_memory(const struct sfs_sample_reader *r,
			      struct sfs_records_memory *ret)
{
	return sfs_input_memory(r->input, ret);
}

static void release_chunks(struct sfs_chunk **chunks, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		if (chunks[i])
			sfs_chunk_release(chunks[i]);
	free(chunks);
}

void sfs_sample_reader_free(struct sfs_sample_reader *r)
{
	struct draft *d;

	if (!r)
		return;
	d = &r->draft;
	release_chunks(d->chunks, d->n_fields);
	free(d->key);
	free(d->names);
	free(d->fields);
	sfs_input_free(r->input);
	free(r);
}

void sfs_sample_reader_stop(struct sfs_sample_reader *r, pthread_t reading)
{
	sfs_input_stop(r->input, reading);
}

/* The input has failed, and has no words for it. */
static int sample_explain(const struct sfs_sample_reader *r, int ret,
			  struct sfs_error *err)
{
	if (ret == -ECANCELED)
		return sfs_error_set(err, ret, "stopped");
	if (ret != -EPIPE)
		return sfs_error_set(
			err, ret,
			"reading the stream failed after byte %llu, in sample %llu: %s",
			(unsigned long long)sfs_input_position(r->input),
			(unsigned long long)r->next, strerror(-ret));
	if (r->next == 0)
		return sfs_error_set(err, ret,
				     "the stream ended before its first sample did");
	return sfs_error_set(err, ret,
			     "the stream ended after sample %llu without its end mark: "
			     "it was cut",
			     (unsigned long long)r->next - 1);
}

/* ---- the sample that is made ---- */

/* A sparse file: its holes are zeros here. */
static int take_sparse(struct sfs_sample_reader *r, const struct sfs_tar_entry *entry,
		       struct sfs_chunk *chunk, struct sfs_error *err)
{
	uint64_t at = 0;
	size_t i;
	int ret = 0;

	for (i = 0; i < entry->n_runs && ret == 0; i++) {
		const struct sfs_sparse_run *run = &entry->runs[i];

		if (run->offset < at || run->offset > entry->size ||
		    run->n_bytes > entry->size - run->offset)
			return sfs_error_set(err, -EBADMSG,
					     "sample %llu: the map of a sparse file is "
					     "wrong",
					     (unsigned long long)r->next);
		sfs_chunk_append_zeros(chunk, run->offset - at);
		ret = sfs_input_append(r->input, run->n_bytes, chunk);
		at = run->offset + run->n_bytes;
	}
	if (ret == 0)
		sfs_chunk_append_zeros(chunk, entry->size - at);
	return ret;
}

/* The member's bytes become the last field's. */
static int take_bytes(struct sfs_sample_reader *r, const struct sfs_tar_entry *entry,
		      struct sfs_error *err)
{
	struct draft *d = &r->draft;
	struct sfs_sample_field *field = &d->fields[d->n_fields - 1];
	struct sfs_chunk **chunk = &d->chunks[d->n_fields - 1];
	int ret;

	if (entry->size > SAMPLE_MAX - d->n_bytes)
		return sfs_error_set(err, -EOVERFLOW,
				     "sample %llu ('%s') is larger than 4 GiB",
				     (unsigned long long)r->next, d->key);
	if (entry->is_sparse) {
		*chunk = sfs_chunk_new(r->input, entry->size);
		if (!*chunk)
			return -ENOMEM;
		ret = take_sparse(r, entry, *chunk, err);
		field->bytes = sfs_chunk_bytes(*chunk);
	} else {
		ret = sfs_input_take(r->input, entry->size, chunk, &field->bytes);
	}
	field->n_bytes = entry->size;
	d->n_bytes += entry->size;
	return ret;
}

static int check_duplicate(struct sfs_sample_reader *r, const char *name,
			   struct sfs_error *err)
{
	const struct draft *d = &r->draft;
	uint32_t i;

	for (i = 0; i < d->n_fields; i++)
		if (strcmp(d->names + (size_t)d->fields[i].name, name) == 0)
			return sfs_error_set(
				err, -EBADMSG,
				"sample %llu ('%s') has the field '%s' twice",
				(unsigned long long)r->next, d->key, name);
	return 0;
}

/* Append the name, in lower case, and a field that has it and no bytes yet. */
static int add_field(struct sfs_sample_reader *r, const char *name, size_t n_name,
		     struct sfs_error *err)
{
	struct draft *d = &r->draft;
	sfs_autofree char *lower = sfs_strndup(name, n_name);
	size_t i;
	int ret;

	n_name = strlen(lower);
	for (i = 0; i < n_name; i++)
		lower[i] = (char)tolower((unsigned char)lower[i]);
	ret = check_duplicate(r, lower, err);
	if (ret < 0)
		return ret;
	if (d->n_names + n_name + 1 > d->capacity_names) {
		d->capacity_names = 2 * d->capacity_names + n_name + 32;
		d->names = sfs_realloc(d->names, d->capacity_names);
	}
	if (d->n_fields == d->capacity_fields) {
		d->capacity_fields = 2 * d->capacity_fields + 4;
		d->fields = sfs_reallocarray(d->fields, d->capacity_fields,
					     sizeof *d->fields);
		d->chunks = sfs_reallocarray(d->chunks, d->capacity_fields,
					     sizeof(struct sfs_chunk *));
	}
	d->chunks[d->n_fields] = NULL;
	d->fields[d->n_fields++] =
		(struct sfs_sample_field){.name = (char *)(uintptr_t)d->n_names};
	memcpy(d->names + d->n_names, lower, n_name + 1);
	d->n_names += n_name + 1;
	return 0;
}

static struct sfs_sample *finish(struct sfs_sample_reader *r)
{
	struct draft *d = &r->draft;
	struct owned *o = sfs_malloc(sizeof *o);
	uint32_t i;

	for (i = 0; i < d->n_fields; i++)
		d->fields[i].name = d->names + (uintptr_t)d->fields[i].name;
	*o = (struct owned){.key = d->key, .names = d->names, .chunks = d->chunks};
	o->sample = (struct sfs_sample){.ordinal = r->next++,
					.key = d->key,
					.fields = d->fields,
					.n_fields = d->n_fields,
					.n_bytes = d->n_bytes};
	*d = (struct draft){0};
	return &o->sample;
}

void sfs_sample_free(struct sfs_sample *sample)
{
	struct owned *o;

	if (!sample)
		return;
	o = sfs_container(sample, struct owned, sample);
	release_chunks(o->chunks, sample->n_fields);
	free(o->names);
	free(o->key);
	free(sample->fields);
	free(o);
}

/* ---- members ---- */

/* The next group of headers, which is not used yet. */
static int read_entry(struct sfs_sample_reader *r, struct sfs_tar_entry *entry,
		      struct sfs_error *err)
{
	const unsigned char *bytes;
	struct sfs_error why = {0};
	size_t n = SFS_TAR_BLOCK;
	int ret;

	do {
		ret = sfs_input_peek(r->input, n, &bytes);
		if (ret < 0)
			return ret;
		ret = sfs_tar_entry_read(bytes, n, INT64_MAX, entry, &why);
		n = entry->need;
	} while (ret == -EAGAIN);
	if (ret < 0)
		return sfs_error_set(err, ret,
				     "sample %llu, at byte %llu of the stream: %s",
				     (unsigned long long)r->next,
				     (unsigned long long)sfs_input_position(r->input),
				     why.text);
	return 0;
}

/* Add the member to the sample, and use all bytes up to the next header. */
static int take_member(struct sfs_sample_reader *r, const struct sfs_tar_entry *entry,
		       size_t n_key, struct sfs_error *err)
{
	uint64_t end = sfs_input_position(r->input) + entry->next;
	struct draft *d = &r->draft;
	int ret;

	if (!d->key) {
		d->key = sfs_strndup(entry->name, n_key);
		d->n_key = n_key;
	}
	ret = add_field(r, entry->name + n_key + 1, entry->n_name - n_key - 1, err);
	if (ret == 0)
		ret = sfs_input_skip(r->input, entry->data);
	if (ret == 0)
		ret = take_bytes(r, entry, err);
	if (ret == 0)
		ret = sfs_input_skip(r->input, end - sfs_input_position(r->input));
	return ret;
}

/* Is it of another sample than the one that is made? */
static bool is_next(const struct draft *d, const struct sfs_tar_entry *entry,
		    size_t n_key)
{
	return d->key && (n_key != d->n_key || memcmp(d->key, entry->name, n_key) != 0);
}

/* 1: a sample is whole.  0: go on.  (The key of a name with a NUL ends there.) */
static int step(struct sfs_sample_reader *r, struct sfs_error *err)
{
	struct sfs_tar_entry entry;
	size_t n_key = 0;
	int ret;

	ret = read_entry(r, &entry, err);
	if (ret < 0)
		return ret;
	if (entry.kind == SFS_TAR_ENTRY_END) {
		r->is_ended = true;
		return r->draft.key != NULL;
	}
	if (entry.kind == SFS_TAR_ENTRY_MEMBER && entry.is_regular)
		n_key = sfs_key_length(entry.name, entry.n_name);
	if (n_key == 0)
		ret = sfs_input_skip(r->input, entry.next);
	else if (is_next(&r->draft, &entry, n_key))
		ret = 1;
	else
		ret = take_member(r, &entry, n_key, err);
	sfs_tar_entry_done(&entry);
	return ret;
}

int sfs_sample_next(struct sfs_sample_reader *r, struct sfs_sample **ret_sample,
		    struct sfs_error *err)
{
	struct sfs_error why = {0};
	int ret = 0;

	while (ret == 0 && !r->is_ended)
		ret = step(r, &why);
	if (ret == 1)
		*ret_sample = finish(r);
	if (ret < 0 && !why.text[0])
		sample_explain(r, ret, &why);
	if (ret < 0)
		*err = why;
	return ret;
}

const struct sfs_sample_field *sfs_sample_find(const struct sfs_sample *sample,
					       char *const *names, uint32_t n)
{
	uint32_t i, f;

	for (i = 0; i < n; i++)
		for (f = 0; f < sample->n_fields; f++)
			if (strcmp(sample->fields[f].name, names[i]) == 0)
				return &sample->fields[f];
	return NULL;
}
