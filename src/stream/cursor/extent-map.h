/* SPDX-License-Identifier: MIT */
/* extent-map - which bytes of which shards are the stream's bytes around a cursor.
 *
 * An extent is a sample that its lane holds, a run of small ones that were copied
 * together (the numbers after it are empty extents at its end), or a piece of an oversize
 * one.  Extents are numbered from 0; they are appended at the tail and dropped at the
 * head.
 *
 * Not thread-safe: the stream's lock guards it.
 */
#ifndef SFS_EXTENT_MAP_H
#define SFS_EXTENT_MAP_H

#include "io/request.h"
#include "stream/prefetch/slice-buffer.h"

struct sfs_oversize_piece; /* see oversize.h */

struct sfs_mapped_extent {
	uint64_t offset;		 /* in the stream */
	uint64_t start, n_bytes;	 /* in the shard */
	struct sfs_slice_buffer *buffer; /* holds it; or NULL, and: */
	struct sfs_oversize_piece *piece;
	unsigned char *flat; /* or (NULL both): a slab with copies of several samples */
	int err;	     /* for readers: this sample cannot be delivered */
};

struct sfs_extent_map {
	uint64_t head, tail; /* the numbers head to tail - 1 are there */
	uint64_t start, end; /* in the stream */
	uint64_t capacity;
	struct sfs_mapped_extent *ring; /* of number n: n modulo capacity */
};

/* An empty map at byte `offset` of the stream. */
void sfs_extent_map_init(struct sfs_extent_map *m, uint64_t offset);
void sfs_extent_map_done(struct sfs_extent_map *m);

static inline struct sfs_mapped_extent *sfs_extent_map_at(const struct sfs_extent_map *m,
							  uint64_t number)
{
	return &m->ring[number & (m->capacity - 1)];
}

/* The next n_bytes of the stream.  The extent is valid until the next append. */
struct sfs_mapped_extent *sfs_extent_map_append(struct sfs_extent_map *m, uint64_t start,
						uint64_t n_bytes);

/* Drop the first one, whose buffer or piece the caller has released. */
void sfs_extent_map_drop_head(struct sfs_extent_map *m);

/* The number of the extent that holds the byte, which must be in the map. */
uint64_t sfs_extent_map_find(const struct sfs_extent_map *m, uint64_t offset);

/* Does the read need bytes of this extent? */
bool sfs_mapped_extent_overlaps(const struct sfs_mapped_extent *e,
				const struct sfs_read *read);

#endif
