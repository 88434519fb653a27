/* SPDX-License-Identifier: MIT */
/* How this works: libarchive reads from a client that has only the bytes of the group,
 * and that can skip.  If libarchive asked for more, the group is short, else damaged; how
 * far it wants to skip the data says where the next header is, for links with data too.
 * For sparse files that follows the map, which must agree with the header
 * (is_stored_whole()).
 *
 * A new archive object for each member costs 2-4 us, but only odd members need one:
 * entry.c reads the common pax group (times, owners) itself. */
#include "tar/libarchive.h"

#include "base/alloc.h"
#include "tar/header.h"
#include "tar/pax.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <string.h>

/* Of an old GNU sparse header. */
enum {
	OLD_MAP = 386,
	OLD_HAS_MORE = 482,
	OLD_REALSIZE = 483,
	OLD_HAS_MORE_AFTER = 504, /* in the blocks after the header */
	OLD_NUMBER = 12
};

struct client {
	unsigned char first[SFS_TAR_BLOCK]; /* the first header, made presentable */
	const unsigned char *bytes;	    /* n of them */
	size_t n, n_read;
	uint64_t n_left; /* from the group's start to the shard's end */
	bool wants_more, is_beyond;
	uint64_t n_skipped;
};

/* libarchive refuses a first header with anything but numbers in its fields, also in
 * those that do not matter here; it takes zeros. */
static void make_presentable(struct client *c)
{
	static const struct {
		unsigned short at, n;
	} fields[] = {{100, 8},	 {108, 8}, {116, 8}, {124, 12},
		      {136, 12}, {329, 8}, {337, 8}};
	size_t i, n, digits;

	memcpy(c->first, c->bytes, SFS_TAR_BLOCK);
	for (i = 0; i < SFS_COUNT(fields); i++) {
		unsigned char *field = c->first + fields[i].at;

		if (field[0] == 0x80 || field[0] == 0xff)
			continue; /* base 256 */
		for (n = 0; n < fields[i].n && field[n] == ' ';)
			n++;
		for (digits = n; n < fields[i].n && field[n] >= '0' && field[n] <= '7';)
			n++;
		n = n > digits ? n : 0;
		memset(field + n, 0, fields[i].n - n);
	}
	sfs_tar_seal(c->first);
}

static bool is_header(const struct client *c)
{
	enum sfs_tar_kind kind = SFS_TAR_BAD;

	if (c->n >= SFS_TAR_BLOCK)
		kind = sfs_tar_look(c->bytes).kind;
	return kind != SFS_TAR_BAD && kind != SFS_TAR_ZERO;
}

static la_ssize_t read_bytes(struct archive *a, void *data, const void **ret_bytes)
{
	struct client *c = data;
	size_t n = c->n - c->n_read;

	if (n == 0) {
		c->wants_more = true;
		return 0;
	}
	*ret_bytes = c->bytes + c->n_read;
	if (c->n_read == 0 && is_header(c)) {
		make_presentable(c);
		*ret_bytes = c->first;
		n = SFS_TAR_BLOCK;
	}
	c->n_read += n;
	return (la_ssize_t)n;
}

static la_int64_t skip_bytes(struct archive *a, void *data, la_int64_t n)
{
	struct client *c = data;
	la_int64_t n_here = (la_int64_t)(c->n - c->n_read);

	if (c->n_read == 0)
		return 0; /* nothing was read yet: let it read */
	n_here = n < n_here ? n : n_here;
	c->n_read += (size_t)n_here;
	c->n_skipped += (uint64_t)(n - n_here);
	if (c->n + c->n_skipped > sfs_tar_padded(c->n_left)) {
		c->is_beyond = true;
		/* Then it reads, and gets nothing; an error would be added up. */
		return n_here;
	}
	return n;
}

void sfs_libarchive_done(struct sfs_libarchive *member)
{
	free(member->runs);
	*member = (struct sfs_libarchive){0};
}

static struct archive *open_group(struct client *c)
{
	struct archive *a = archive_read_new();

	if (!a)
		abort();
	archive_read_support_format_tar(a);
	archive_read_set_read_callback(a, read_bytes);
	archive_read_set_skip_callback(a, skip_bytes);
	archive_read_set_callback_data(a, c);
	return a;
}

static void take_sparse(struct archive_entry *entry, struct sfs_libarchive *m)
{
	la_int64_t offset, n_bytes;
	int n = archive_entry_sparse_reset(entry);

	if (n <= 0)
		return;
	m->is_sparse = true;
	m->runs = sfs_calloc((size_t)n, sizeof *m->runs);
	while (archive_entry_sparse_next(entry, &offset, &n_bytes) == ARCHIVE_OK)
		m->runs[m->n_runs++] =
			(struct sfs_sparse_run){(uint64_t)offset, (uint64_t)n_bytes};
}

/* The member's own header, after its extensions; NULL if it is not in the group. */
static const unsigned char *find_header(const unsigned char *group, size_t n)
{
	struct sfs_tar_header h;
	uint64_t at = 0;

	for (; at + SFS_TAR_BLOCK <= n; at += SFS_TAR_BLOCK + sfs_tar_padded(h.size)) {
		h = sfs_tar_look(group + at);
		if (h.kind != SFS_TAR_EXTENSION)
			return group + at;
		if (h.size > SFS_LIBARCHIVE_MAX)
			return NULL;
	}
	return NULL;
}

struct old_map {
	uint64_t end, stored; /* of the runs so far */
	bool has_ended, is_bad;
};

/* Read the next `n` runs: offset and length.  A run without a length ends the map. */
static void read_runs(struct old_map *map, const unsigned char *p, int n)
{
	uint64_t offset, length;

	for (; n > 0 && !map->has_ended && !map->is_bad; n--, p += 2 * OLD_NUMBER) {
		map->has_ended = p[OLD_NUMBER] == 0;
		if (map->has_ended)
			return;
		map->is_bad = !sfs_tar_number(p, OLD_NUMBER, &offset) ||
			      !sfs_tar_number(p + OLD_NUMBER, OLD_NUMBER, &length) ||
			      (length > 0 &&
			       (offset < map->end || length > INT64_MAX - offset));
		if (!map->is_bad && length > 0) { /* (an empty run is no run) */
			map->end = offset + length;
			map->stored += length;
		}
	}
}

/* Check the map of an old GNU sparse file, with four runs in its header and 21 in each
 * block after it, up to the data at `data`: do the runs follow each other within the
 * file, and is their sum what is stored?  libarchive drops runs that do not, other
 * readers accept them; and in a header of another dialect libarchive sees no map at all.
 */
static bool is_old_map_sound(const unsigned char *header, const unsigned char *data,
			     uint64_t stored)
{
	const unsigned char *block = header + SFS_TAR_BLOCK;
	bool has_more = header[OLD_HAS_MORE] != 0;
	struct old_map map = {0};
	uint64_t size;

	read_runs(&map, header + OLD_MAP, 4);
	for (; has_more && block < data; block += SFS_TAR_BLOCK) {
		read_runs(&map, block, 21);
		has_more = block[OLD_HAS_MORE_AFTER] != 0;
	}
	return sfs_tar_is_gnu(header) && !has_more && block == data && !map.is_bad &&
	       sfs_tar_number(header + OLD_REALSIZE, OLD_NUMBER, &size) &&
	       map.end <= size && sfs_tar_padded(map.stored) == sfs_tar_padded(stored);
}

/* The size of the stored data by the pax records of the group, or else by its header. */
static bool header_size(const unsigned char *group, const unsigned char *header,
			bool *ret_is_sparse, uint64_t *ret)
{
	bool is_known = sfs_tar_number(header + SFS_TAR_SIZE, SFS_TAR_SIZE_BYTES, ret);
	struct sfs_pax_record r;
	struct sfs_tar_header h;
	const char *p, *end;
	size_t i;

	*ret_is_sparse = header[SFS_TAR_TYPE] == 'S';
	for (; group < header; group += SFS_TAR_BLOCK + sfs_tar_padded(h.size)) {
		h = sfs_tar_look(group);
		if (h.type != 'x' && h.type != 'X')
			continue;
		p = (const char *)group + SFS_TAR_BLOCK;
		end = p + h.size;
		while (sfs_pax_next(&p, end, &r) == 1) {
			*ret_is_sparse |= sfs_pax_begins(&r, "GNU.sparse.");
			if (!sfs_pax_is(&r, "size"))
				continue;
			for (*ret = 0, i = 0; i < r.n_value; i++)
				*ret = *ret * 10 + (uint64_t)(r.value[i] - '0');
			is_known = true;
		}
	}
	return is_known;
}

/* Is as much stored as the size, or the map of a sparse file, says?  libarchive skips as
 * much as the map has, other readers as much as the size says; and it leaves out runs
 * that overlap, but reads them. */
static bool is_stored_whole(const struct sfs_libarchive *m, const struct client *c)
{
	const unsigned char *header = find_header(c->bytes, c->n);
	uint64_t stored = m->end - m->data, sum = 0, declared, from;
	bool is_sparse = false, is_known;
	size_t i;

	is_known = header && header_size(c->bytes, header, &is_sparse, &declared);
	/* Only the map of a sparse file may lie between.  Else libarchive skipped a
	 * header and read another member. */
	if (header && !is_sparse &&
	    m->data != (uint64_t)(header - c->bytes) + SFS_TAR_BLOCK)
		return false;
	if (is_known && is_sparse) {
		/* In the newest dialect the map counts as data. */
		from = header[SFS_TAR_TYPE] == 'S'
			       ? m->data
			       : (uint64_t)(header - c->bytes) + SFS_TAR_BLOCK;
		if (m->end - from != sfs_tar_padded(declared) ||
		    (header[SFS_TAR_TYPE] == 'S' &&
		     !is_old_map_sound(header, c->bytes + m->data, declared)))
			return false;
	}
	if (!m->is_sparse)
		return !m->is_regular ||
		       (m->size <= stored && sfs_tar_padded(m->size) == stored);
	for (i = 0; i < m->n_runs; i++) {
		if (m->runs[i].n_bytes > stored || m->runs[i].offset > m->size ||
		    m->runs[i].n_bytes > m->size - m->runs[i].offset)
			return false;
		sum += m->runs[i].n_bytes;
	}
	return sfs_tar_padded(sum) == stored;
}

static int take_entry(struct archive_entry *entry, struct sfs_libarchive *m,
		      struct sfs_error *err)
{
	if (archive_entry_size_is_set(entry) && archive_entry_size(entry) < 0)
		return sfs_error_set(err, -EBADMSG, "negative size");
	m->size = archive_entry_size_is_set(entry) ? (uint64_t)archive_entry_size(entry)
						   : 0;
	m->mtime = archive_entry_mtime(entry);
	m->mode = archive_entry_perm(entry) & 07777;
	m->is_regular = archive_entry_filetype(entry) == AE_IFREG;
	if (m->is_regular)
		take_sparse(entry, m);
	return 0;
}

/* Why did libarchive stop? */
static int explain(struct archive *a, const struct client *c, struct sfs_error *err)
{
	const char *why = archive_error_string(a);

	if (c->is_beyond)
		return sfs_error_set(err, -ERANGE,
				     "its data end after the end of the shard");
	if (!c->wants_more)
		return sfs_error_set(err, -EBADMSG, "%s", why ? why : "not a tar header");
	if (c->n >= c->n_left)
		return sfs_error_set(err, -ERANGE, "the shard ends within its header");
	if (c->n >= SFS_LIBARCHIVE_MAX)
		return sfs_error_set(err, -EOVERFLOW, "its header is longer than 1 MiB");
	return -EAGAIN;
}

int sfs_libarchive_parse(const unsigned char *group, size_t n, uint64_t n_left,
			 struct sfs_libarchive *ret_member, struct sfs_error *err)
{
	struct client c = {.bytes = group, .n = n, .n_left = n_left};
	struct sfs_libarchive m = {0};
	struct archive_entry *entry;
	struct archive *a = open_group(&c);
	int ret;

	ret = archive_read_open1(a);
	if (ret == ARCHIVE_OK)
		ret = archive_read_next_header(a, &entry);
	if (ret != ARCHIVE_OK && ret != ARCHIVE_WARN) {
		ret = explain(a, &c, err);
		goto out;
	}
	m.data = (uint64_t)archive_filter_bytes(a, 0);
	ret = take_entry(entry, &m, err);
	if (ret < 0)
		goto out;
	if (archive_read_data_skip(a) != ARCHIVE_OK) {
		ret = explain(a, &c, err);
		goto out;
	}
	m.end = (uint64_t)archive_filter_bytes(a, 0);
	if (!is_stored_whole(&m, &c)) {
		ret = sfs_error_set(err, -EBADMSG,
				    "its size differs from what is stored");
		goto out;
	}
	*ret_member = m;
	m = (struct sfs_libarchive){0};
out:
	archive_read_free(a);
	sfs_libarchive_done(&m);
	return ret;
}

const char *sfs_libarchive_version(void)
{
	return strchr(archive_version_string(), ' ') + 1; /* "libarchive 3.6.2" */
}
