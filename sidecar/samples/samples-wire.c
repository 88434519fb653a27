/* SPDX-License-Identifier: MIT */
#include "samples/samples-wire.h"

#include "decode/sample.h"

#include "base/alloc.h"

#include <errno.h>
#include <string.h>

_Static_assert(sizeof(struct sfs_samples_hello) == 256, "samples.py has it, too");
_Static_assert(sizeof(struct sfs_samples_head) == 32, "samples.py has it, too");
_Static_assert(sizeof(struct sfs_samples_field) == 24, "samples.py has it, too");
_Static_assert(sizeof(struct sfs_samples_want) == 40, "samples.py has it, too");
_Static_assert(sizeof(struct sfs_samples_leave) == 16, "samples.py has it, too");

/* ---- to trainers ---- */

static size_t count_bytes(const struct sfs_sample *s)
{
	size_t n = sizeof(struct sfs_samples_head) + strlen(s->key);
	uint32_t i;

	for (i = 0; i < s->n_fields; i++)
		n += sizeof(struct sfs_samples_field) + strlen(s->fields[i].name);
	return (n + 7) / 8 * 8;
}

static struct sfs_samples_field find_field(const struct sfs_sample_field *f,
					   const struct sfs_samples_memory *memories,
					   uint32_t n_memories)
{
	struct sfs_samples_field ret = {.n_bytes = f->n_bytes,
					.n_name = (uint32_t)strlen(f->name)};
	uint32_t i;

	for (i = 0; i < n_memories; i++) {
		if (f->bytes < memories[i].bytes ||
		    f->bytes >= memories[i].bytes + memories[i].n_bytes)
			continue;
		ret.memory = i;
		ret.offset = (uint64_t)(f->bytes - memories[i].bytes);
	}
	return ret;
}

static void *append(void *at, const void *bytes, size_t n)
{
	memcpy(at, bytes, n);
	return (char *)at + n;
}

int sfs_samples_pack(const struct sfs_sample *s, uint64_t epoch,
		     const struct sfs_samples_memory *memories, uint32_t n_memories,
		     unsigned char **ret, size_t *ret_n, struct sfs_error *err)
{
	struct sfs_samples_head head = {.epoch = epoch,
					.ordinal = s->ordinal,
					.n_key = (uint32_t)strlen(s->key),
					.n_fields = s->n_fields};
	struct sfs_samples_field field;
	size_t n = count_bytes(s);
	void *at;
	uint32_t i;

	if (n > SFS_SAMPLES_MESSAGE_MAX - sizeof(struct sfs_samples_message))
		return sfs_error_set(err, -E2BIG,
				     "sample %llu ('%.200s'): its key and the names of "
				     "its %u fields take %zu bytes; samples: sends at "
				     "most %zu",
				     (unsigned long long)s->ordinal, s->key, s->n_fields,
				     n, SFS_SAMPLES_MESSAGE_MAX);
	*ret = sfs_calloc(1, n);
	*ret_n = n;
	at = append(*ret, &head, sizeof head);
	for (i = 0; i < s->n_fields; i++) {
		field = find_field(&s->fields[i], memories, n_memories);
		at = append(at, &field, sizeof field);
	}
	at = append(at, s->key, head.n_key);
	for (i = 0; i < s->n_fields; i++)
		at = append(at, s->fields[i].name, strlen(s->fields[i].name));
	return 0;
}

/* ---- from trainers ---- */

static int hear_want(const char *bytes, size_t n, uint64_t n_sent,
		     struct sfs_samples_said *ret)
{
	struct sfs_samples_want *w = &ret->want;
	uint32_t i;

	if (n < sizeof *w)
		return -EPROTO;
	memcpy(w, bytes, sizeof *w);
	if (w->n_releases > SFS_SAMPLES_RELEASES_MAX ||
	    n != sizeof *w + w->n_releases * sizeof *ret->releases ||
	    w->n_released_below > n_sent || w->is_waiting > 1)
		return -EPROTO;
	memcpy(ret->releases, bytes + sizeof *w, w->n_releases * sizeof *ret->releases);
	for (i = 0; i < w->n_releases; i++)
		if (ret->releases[i] >= n_sent)
			return -EPROTO;
	return 0;
}

static int hear_leave(const char *bytes, size_t n, uint64_t n_sent,
		      struct sfs_samples_said *ret)
{
	struct sfs_samples_leave leave;

	if (n != sizeof leave)
		return -EPROTO;
	memcpy(&leave, bytes, sizeof leave);
	ret->is_leave = true;
	ret->n_taken = leave.n_taken;
	return leave.zero != 0 || leave.n_taken > n_sent ? -EPROTO : 0;
}

int sfs_samples_hear(const void *bytes, size_t n, uint64_t n_sent,
		     struct sfs_samples_said *ret)
{
	uint32_t kind;

	ret->is_leave = false;
	if (n < sizeof kind)
		return -EPROTO;
	memcpy(&kind, bytes, sizeof kind);
	if (kind == SFS_SAMPLES_WANT)
		return hear_want(bytes, n, n_sent, ret);
	if (kind == SFS_SAMPLES_LEAVE)
		return hear_leave(bytes, n, n_sent, ret);
	return -EPROTO;
}
