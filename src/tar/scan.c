/* SPDX-License-Identifier: MIT */
#include "tar/scan.h"

#include "base/alloc.h"
#include "base/keyhash.h"
#include "tar/key.h"

#include <errno.h>
#include <string.h>

void sfs_scan_init(struct sfs_scan *scan, uint64_t shard_bytes)
{
	*scan = (struct sfs_scan){.shard_bytes = shard_bytes, .need = SFS_TAR_BLOCK};
}

void sfs_scan_done(struct sfs_scan *scan)
{
	free(steal(&scan->sample.key));
	free(steal(&scan->carry));
	scan->n_carry = 0;
}

static void close_sample(struct sfs_scan *scan, const struct sfs_scan_sink *sink)
{
	struct sfs_extent extent = {
		.start = scan->sample.start,
		.n_bytes = scan->sample.end - scan->sample.start,
		.key_hash = sfs_keyhash(scan->sample.key, scan->sample.n_key),
		.has_global = scan->sample.has_global,
	};

	if (!scan->sample.is_open)
		return;
	scan->sample.is_open = false;
	sink->sample(sink->ctx, &extent);
}

static void open_sample(struct sfs_scan *scan, uint64_t start, const char *key,
			size_t n_key)
{
	if (n_key > scan->sample.capacity) {
		scan->sample.capacity = 2 * n_key;
		scan->sample.key = sfs_realloc(scan->sample.key, scan->sample.capacity);
	}
	memcpy(scan->sample.key, key, n_key);
	scan->sample.n_key = n_key;
	scan->sample.start = start;
	scan->sample.is_open = true;
	scan->sample.has_global = scan->sample.saw_global = false;
}

static size_t key_length(const struct sfs_tar_entry *g)
{
	return g->is_regular ? sfs_key_length(g->name, g->n_name) : 0;
}

static bool is_of_sample(const struct sfs_scan *scan, const char *key, size_t n_key)
{
	return scan->sample.is_open && n_key == scan->sample.n_key &&
	       memcmp(key, scan->sample.key, n_key) == 0;
}

static void take_member(struct sfs_scan *scan, const struct sfs_tar_entry *g,
			const struct sfs_scan_sink *sink)
{
	size_t n_key = key_length(g);

	if (sink->member)
		sink->member(sink->ctx, scan->pos, g);
	if (n_key == 0)
		return; /* in no sample, and no end of one */
	if (is_of_sample(scan, g->name, n_key)) {
		scan->sample.has_global |= scan->sample.saw_global;
	} else {
		close_sample(scan, sink);
		open_sample(scan, scan->pos, g->name, n_key);
	}
	scan->sample.end = scan->pos + g->next;
}

static int damage(struct sfs_scan *scan, int err, const char *what)
{
	if (what)
		sfs_error_set(&scan->error, err, "%s", what);
	scan->err = err;
	return err;
}

/* The shard ends within the data of a member.  If that is in another sample, the sample
 * before is complete. */
static void take_cut_member(struct sfs_scan *scan, const struct sfs_tar_entry *g,
			    const struct sfs_scan_sink *sink)
{
	size_t n_key = key_length(g);

	if (n_key > 0 && !is_of_sample(scan, g->name, n_key))
		close_sample(scan, sink);
}

/* The shard stops where the next header, or the end-of-archive mark, should be.  More
 * members may have followed, but all that are there are whole. */
static int lack_end(struct sfs_scan *scan, const struct sfs_scan_sink *sink)
{
	close_sample(scan, sink);
	scan->lacks_end = true;
	return damage(
		scan, -EBADMSG,
		scan->shard_bytes == 0
			? "an empty file, not a tar"
			: "no end-of-archive mark: cut off, or written without one");
}

/* Less than a block is left, and it is zeros so far. */
static int step_last_bytes(struct sfs_scan *scan, size_t n, uint64_t n_left,
			   const struct sfs_scan_sink *sink)
{
	if (n == n_left)
		return lack_end(scan, sink);
	scan->need = (size_t)n_left;
	return 0;
}

/* Zeros up to the end of the shard.  The last sample is whole after two blocks of them: a
 * single one may be a lost header. */
static int step_trailer(struct sfs_scan *scan, const unsigned char *bytes, size_t n,
			const struct sfs_scan_sink *sink)
{
	bool is_zero = sfs_tar_is_zero(bytes, n);
	size_t i = is_zero ? n : 0;

	while (i < n && bytes[i] == 0)
		i++;
	scan->pos += i;
	scan->need = 1;
	if (scan->pos >= scan->trailer + 2 * SFS_TAR_BLOCK)
		close_sample(scan, sink);
	if (is_zero)
		return n > 0;
	return damage(scan, -EBADMSG,
		      "data after the end of the archive (two tars in one file?)");
}

/* Scan the n bytes at `pos`.  1: pos has moved, perhaps far.  0: `need` bytes are needed.
 * < 0: damage. */
static int step(struct sfs_scan *scan, const unsigned char *bytes, size_t n,
		const struct sfs_scan_sink *sink)
{
	uint64_t n_left = scan->shard_bytes - scan->pos;
	struct sfs_tar_entry group;
	int ret;

	if (n > n_left)
		n = (size_t)n_left;
	if (n == 0)
		return 0;
	if (scan->is_in_trailer)
		return step_trailer(scan, bytes, n, sink);
	if (n_left < SFS_TAR_BLOCK && sfs_tar_is_zero(bytes, n))
		return step_last_bytes(scan, n, n_left, sink);
	ret = sfs_tar_entry_read(bytes, n, n_left, &group, &scan->error);
	if (ret == -EAGAIN) {
		scan->need = group.need;
		return 0;
	}
	if (ret < 0 && group.is_cut)
		take_cut_member(scan, &group, sink);
	if (ret < 0)
		return damage(scan, ret, NULL);
	if (group.kind == SFS_TAR_ENTRY_MEMBER)
		take_member(scan, &group, sink);
	else if (group.kind == SFS_TAR_ENTRY_GLOBAL)
		scan->sample.saw_global = true;
	else
		scan->trailer = scan->pos;
	if (sink->odd && !group.is_plain && group.kind != SFS_TAR_ENTRY_END)
		sink->odd(sink->ctx, scan->pos, bytes, &group);
	scan->is_in_trailer = group.kind == SFS_TAR_ENTRY_END;
	scan->pos += group.next;
	scan->need = SFS_TAR_BLOCK;
	sfs_tar_entry_done(&group);
	return 1;
}

/* Scan n bytes at pos.  Returns how many of them lie before the new pos, which may be
 * past them all. */
static size_t step_through(struct sfs_scan *scan, const unsigned char *bytes, size_t n,
			   const struct sfs_scan_sink *sink)
{
	uint64_t start = scan->pos;
	size_t at = 0;

	while (at < n && step(scan, bytes + at, n - at, sink) > 0)
		at = scan->pos - start < n ? (size_t)(scan->pos - start) : n;
	return at;
}

/* Continue the carried group with the n bytes at `first` of the shard.  Bytes that it
 * does not need are left to the caller. */
static void feed_carry(struct sfs_scan *scan, uint64_t first, const unsigned char *bytes,
		       size_t n, const struct sfs_scan_sink *sink)
{
	size_t take, used;

	while (scan->n_carry > 0 && n > 0 && scan->err == 0) {
		take = scan->need > scan->n_carry ? scan->need - scan->n_carry : 1;
		take = take < n ? take : n;
		scan->carry = sfs_realloc(scan->carry, scan->n_carry + take);
		memcpy(scan->carry + scan->n_carry, bytes, take);
		scan->n_carry += take;
		bytes += take;
		n -= take;
		used = step_through(scan, scan->carry, scan->n_carry, sink);
		if (scan->pos >= first && used > 0)
			used = scan->n_carry;
		scan->n_carry -= used;
		memmove(scan->carry, scan->carry + used, scan->n_carry);
	}
}

/* Keep the start of an incomplete group. */
static void carry_over(struct sfs_scan *scan, const unsigned char *bytes, size_t n)
{
	if (n == 0 || scan->err < 0)
		return;
	scan->carry = sfs_realloc(scan->carry, n);
	memcpy(scan->carry, bytes, n);
	scan->n_carry = n;
}

/* At the shard's last byte: was that the end, or was it cut off? */
static void check_end(struct sfs_scan *scan, const struct sfs_scan_sink *sink)
{
	if (scan->err < 0 || scan->pos < scan->shard_bytes)
		return;
	if (scan->is_in_trailer) {
		close_sample(scan, sink);
		scan->is_complete = true;
		return;
	}
	lack_end(scan, sink);
}

uint64_t sfs_scan_wanted(const struct sfs_scan *scan)
{
	return scan->is_complete || scan->err < 0 ? UINT64_MAX
						  : scan->pos + scan->n_carry;
}

uint64_t sfs_scan_feed(struct sfs_scan *scan, uint64_t offset, const void *bytes,
		       size_t n, const struct sfs_scan_sink *sink)
{
	const unsigned char *p = bytes;
	uint64_t at = sfs_scan_wanted(scan);
	size_t used;

	if (at == UINT64_MAX)
		return at;
	if (scan->n_carry > 0 && at >= offset && at < offset + n)
		feed_carry(scan, at, p + (at - offset), (size_t)(offset + n - at), sink);
	if (scan->n_carry == 0 && scan->pos >= offset && scan->pos < offset + n) {
		p += scan->pos - offset;
		n -= (size_t)(scan->pos - offset);
		used = step_through(scan, p, n, sink);
		carry_over(scan, p + used, n - used);
	}
	check_end(scan, sink);
	return sfs_scan_wanted(scan);
}
