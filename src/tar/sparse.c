/* SPDX-License-Identifier: MIT */
/* How this works: records and header say which dialect it is and how large the file; then
 * the map is read number by number, and each pair of numbers is a run.
 *
 * Runs that do not fit are passed over, as libarchive does, but what is stored must be
 * what the others say, so that no reader finds the next header elsewhere. */
#include "tar/sparse.h"

#include "base/alloc.h"
#include "tar/header.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Of an old GNU sparse header. */
enum {
	OLD_MAP = 386,
	OLD_HAS_MORE = 482,
	OLD_REALSIZE = 483,
	OLD_HAS_MORE_AFTER = 504, /* in the blocks after the header */
	OLD_NUMBER = 12,
	MAX_DIGITS = 18, /* of a number below 2^63 */
};

struct map {
	uint64_t size; /* of the file */
	bool is_strict, is_wrong;
	uint64_t end;		   /* of the last run that counts */
	uint64_t n, sum;	   /* of all runs: how many, how long */
	uint64_t counted;	   /* how long are those that count */
	struct sfs_sparse_run *runs; /* which are these */
	size_t n_runs, capacity;
};

static void map_append(struct map *map, uint64_t offset, uint64_t length)
{
	if (map->n_runs == map->capacity) {
		map->capacity = map->capacity ? 2 * map->capacity : 8;
		map->runs = sfs_realloc(map->runs, map->capacity * sizeof *map->runs);
	}
	map->runs[map->n_runs++] = (struct sfs_sparse_run){offset, length};
	map->end = offset + length;
	map->counted += length;
}

/* Both numbers are below 2^63. */
static void map_add(struct map *map, uint64_t offset, uint64_t length)
{
	map->n++;
	map->sum = length > UINT64_MAX - map->sum ? UINT64_MAX : map->sum + length;
	if (offset >= map->end && offset + length <= map->size)
		map_append(map, offset, length);
	else if (length > 0)
		map->is_wrong |= map->is_strict;
}

/* ---- numbers ---- */

/* Reads decimal digits at *p, and moves it past them.  false: none, or too many. */
static bool read_decimal(const char **p, const char *end, uint64_t *ret)
{
	const char *first = *p;
	uint64_t v = 0;

	while (*p < end && isdigit((unsigned char)**p) && *p - first <= MAX_DIGITS)
		v = v * 10 + (uint64_t)(*(*p)++ - '0');
	*ret = v;
	return *p > first && *p - first <= MAX_DIGITS;
}

/* The value of a record whose digits were checked. */
static uint64_t value_of(const struct sfs_pax_record *r)
{
	const char *p = r->value;
	uint64_t v;

	read_decimal(&p, p + r->n_value, &v);
	return v;
}

/* ---- type S: the map is in the header, and in blocks after it ---- */

bool sfs_sparse_goes_on(const unsigned char *block, bool is_header)
{
	return block[is_header ? OLD_HAS_MORE : OLD_HAS_MORE_AFTER] != 0;
}

/* Reads the next `n` runs.  false: a run without a length ends the map, or it is wrong. */
static bool read_old_runs(struct map *map, const unsigned char *p, int n)
{
	uint64_t offset, length;

	for (; n > 0 && p[OLD_NUMBER] != 0; n--, p += 2 * OLD_NUMBER) {
		if (!sfs_tar_number(p, OLD_NUMBER, &offset) ||
		    !sfs_tar_number(p + OLD_NUMBER, OLD_NUMBER, &length)) {
			map->is_wrong = true;
			return false;
		}
		map_add(map, offset, length);
	}
	return n == 0;
}

static void read_old_map(const struct sfs_sparse_member *m, struct map *map)
{
	const unsigned char *header = m->group + m->header;
	const unsigned char *block = header + SFS_TAR_BLOCK, *data = m->group + m->data;
	bool goes_on;

	map->is_strict = true;
	map->is_wrong = !sfs_tar_is_gnu(header) ||
			!sfs_tar_number(header + OLD_REALSIZE, OLD_NUMBER, &map->size);
	if (map->is_wrong)
		return;
	goes_on = read_old_runs(map, header + OLD_MAP, 4);
	for (; goes_on && block < data; block += SFS_TAR_BLOCK)
		goes_on = read_old_runs(map, block, 21);
}

/* ---- pax: what records say ---- */

struct records {
	bool has_any, has_foreign, has_map, has_blocks, is_wrong;
	int n_sizes;
	uint64_t size, major, minor, n_blocks;
};

static bool is_foreign(const struct sfs_pax_record *r)
{
	return sfs_pax_is(r, "SUN.holesdata") || sfs_pax_is(r, "SCHILY.realsize");
}

bool sfs_sparse_is_record(const struct sfs_pax_record *r)
{
	return sfs_pax_begins(r, "GNU.sparse.") || is_foreign(r);
}

static bool is_of_map(const struct sfs_pax_record *r)
{
	return sfs_pax_is(r, "GNU.sparse.map") || sfs_pax_is(r, "GNU.sparse.offset") ||
	       sfs_pax_is(r, "GNU.sparse.numbytes");
}

static void take_record(struct records *all, const struct sfs_pax_record *r,
			bool *has_size, bool *has_realsize)
{
	all->has_foreign |= is_foreign(r);
	all->has_any |= sfs_pax_begins(r, "GNU.sparse.");
	all->has_map |= is_of_map(r);
	if (sfs_pax_is(r, "GNU.sparse.size")) {
		*has_size = true;
		all->size = value_of(r);
	} else if (sfs_pax_is(r, "GNU.sparse.realsize")) {
		*has_realsize = true;
		all->size = value_of(r);
	} else if (sfs_pax_is(r, "GNU.sparse.major")) {
		all->major = value_of(r);
	} else if (sfs_pax_is(r, "GNU.sparse.minor")) {
		all->minor = value_of(r);
	} else if (sfs_pax_is(r, "GNU.sparse.numblocks")) {
		/* Readers begin anew there. */
		all->is_wrong |= all->has_map || all->has_blocks;
		all->has_blocks = true;
		all->n_blocks = value_of(r);
	}
}

static struct records read_records(const struct sfs_sparse_member *m)
{
	bool has_size = false, has_realsize = false;
	struct records all = {0};
	struct sfs_pax_record r;
	const char *p = m->records;

	while (p && sfs_pax_next(&p, m->last, &r) == 1)
		take_record(&all, &r, &has_size, &has_realsize);
	all.n_sizes = has_size + has_realsize;
	return all;
}

/* Pax 0.1: offset, length, offset, ..., with commas between. */
static void read_list(struct map *map, const struct sfs_pax_record *r)
{
	const char *p = r->value, *end = p + r->n_value;
	uint64_t offset, length;

	for (; !map->is_wrong; p++) {
		map->is_wrong = !read_decimal(&p, end, &offset) || p == end ||
				*p++ != ',' || !read_decimal(&p, end, &length) ||
				(p < end && *p != ',');
		if (!map->is_wrong)
			map_add(map, offset, length);
		if (p == end)
			return;
	}
}

/* Pax 0.0 and 0.1: a list, or pairs of records. */
static void read_record_map(const struct sfs_sparse_member *m, const struct records *all,
			    struct map *map)
{
	bool has_list = false, has_offset = false;
	struct sfs_pax_record r;
	const char *p = m->records;
	uint64_t offset = 0;

	while (sfs_pax_next(&p, m->last, &r) == 1) {
		if (!is_of_map(&r))
			continue;
		map->is_wrong |= has_list;
		if (sfs_pax_is(&r, "GNU.sparse.map")) {
			map->is_wrong |= map->n > 0 || has_offset;
			has_list = true;
			read_list(map, &r);
			continue;
		}
		map->is_wrong |= !all->has_blocks ||
				 has_offset != sfs_pax_is(&r, "GNU.sparse.numbytes");
		if (has_offset)
			map_add(map, offset, value_of(&r));
		else
			offset = value_of(&r);
		has_offset = !has_offset;
	}
	map->is_wrong |= has_offset || (all->has_blocks && all->n_blocks != map->n);
}

/* ---- pax 1.0: the data begin with the map ---- */

struct lines {
	const char *p, *end; /* what is in memory */
	bool is_all;	     /* and nothing else can follow */
};

/* -EAGAIN: the line goes on beyond what is in memory. */
static int read_line(struct lines *l, uint64_t *ret)
{
	bool is_number = read_decimal(&l->p, l->end, ret);

	if (l->p == l->end && !l->is_all)
		return -EAGAIN;
	if (!is_number || l->p == l->end || *l->p++ != '\n')
		return -EBADMSG;
	return 0;
}

static int read_data_map(const struct sfs_sparse_member *m, struct map *map,
			 uint64_t *ret_bytes)
{
	uint64_t limit = m->data + m->stored < m->n_max ? m->data + m->stored : m->n_max;
	const char *first = (const char *)m->group + m->data;
	struct lines l = {.p = first, .end = first, .is_all = m->n >= limit};
	uint64_t n_runs, offset, length;
	int ret;

	if (m->n > m->data)
		l.end = (const char *)m->group + (l.is_all ? limit : m->n);
	ret = read_line(&l, &n_runs);
	for (; ret == 0 && n_runs > 0; n_runs--) {
		ret = read_line(&l, &offset);
		if (ret == 0)
			ret = read_line(&l, &length);
		if (ret == 0)
			map_add(map, offset, length);
	}
	*ret_bytes = sfs_tar_padded((uint64_t)(l.p - first));
	if (ret == 0 && m->data + *ret_bytes > limit)
		ret = -EBADMSG;
	return ret;
}

/* ---- all dialects ---- */

/* Are the runs that count as long as what is stored, and all of them no shorter?  If none
 * counts, the file is all that is stored. */
static bool is_map_right(const struct map *map, uint64_t stored)
{
	uint64_t whole = map->n_runs > 0 ? map->counted : map->size;

	return !map->is_wrong && (map->n > 0 || map->size == 0) && map->sum >= stored &&
	       sfs_tar_padded(whole) == sfs_tar_padded(stored);
}

/* Reads the map of a pax sparse file.  1: it has none. */
static int read_pax_map(const struct sfs_sparse_member *m, struct map *map,
			uint64_t *ret_map_bytes)
{
	struct records all = read_records(m);
	bool is_in_data = all.major == 1;

	map->size = all.n_sizes > 0 ? all.size : m->stored;
	if (all.is_wrong || all.has_foreign || all.n_sizes > 1 || all.major > 1)
		return -EBADMSG;
	if (m->group[m->header + SFS_TAR_TYPE] != '0')
		return -EBADMSG; /* to libarchive, only this type is a file for sure */
	if (is_in_data && (all.minor != 0 || all.has_map || all.has_blocks))
		return -EBADMSG;
	if (!is_in_data && !all.has_map)
		return all.n_blocks == 0 ? 1 : -EBADMSG;
	if (all.n_sizes == 0)
		return -EBADMSG;
	if (is_in_data)
		return read_data_map(m, map, ret_map_bytes);
	read_record_map(m, &all, map);
	return 0;
}

static int read_map(const struct sfs_sparse_member *m, struct map *map,
		    uint64_t *ret_map_bytes)
{
	struct records all;

	if (m->group[m->header + SFS_TAR_TYPE] != 'S')
		return read_pax_map(m, map, ret_map_bytes);
	all = read_records(m);
	if (all.has_any || all.has_foreign)
		return -EBADMSG; /* two dialects */
	read_old_map(m, map);
	return 0;
}

int sfs_sparse_read(const struct sfs_sparse_member *m, struct sfs_sparse *ret_sparse)
{
	struct map map = {0};
	uint64_t map_bytes = 0;
	int ret = read_map(m, &map, &map_bytes);

	if (ret == 1)
		ret = map.size >= m->stored && map.size <= sfs_tar_padded(m->stored)
			      ? 0
			      : -EBADMSG;
	else if (ret == 0 && !is_map_right(&map, m->stored - map_bytes))
		ret = -EBADMSG;
	if (ret < 0) {
		free(map.runs);
		return ret;
	}
	*ret_sparse = (struct sfs_sparse){map.size, map_bytes, map.runs, map.n_runs};
	return 0;
}
