/* SPDX-License-Identifier: MIT */
/* readers - where the readers of a stream are, and how its cursors keep them together.
 *
 * Reads of one open file that lie near each other are one reader's: of threads, of
 * asynchronous reads, of a kernel that asks out of order.  Those that are further apart
 * are several readers'.  Who has not read for a second has gone.
 *
 * What the hindmost reader of a cursor needs is kept, as far as memory allows.  Before
 * that ends, the one in front waits a little, and so it does for somebody who comes
 * nearer from behind: then the bytes come once for both.  It waits for a quarter of its
 * time at most, so who is slower than that is left behind.
 *
 * Pure: time is an argument.  Not thread-safe.  Positions are bytes of the stream.
 */
#ifndef SFS_READERS_H
#define SFS_READERS_H

#include <stdbool.h>
#include <stdint.h>

#define SFS_READERS_MAX	 64
#define SFS_READERS_NEAR ((uint64_t)4 << 20) /* so near, reads are one reader's */

struct sfs_readers {
	struct {
		const void *file;  /* who: only compared */
		uint64_t at;	   /* where its furthest read ended */
		uint64_t read_ns;  /* its last read; 0: it is only expected */
		uint64_t until_ns; /* then it has gone */
	} all[SFS_READERS_MAX];
	int n;
};

/* A read of [offset, end).  If there are too many readers, the one that was unread for
 * longest is forgotten. */
void sfs_readers_note(struct sfs_readers *readers, const void *file, uint64_t offset,
		      uint64_t end, uint64_t now_ns);

/* Somebody has opened the file, and will probably begin to read at `at` soon. */
void sfs_readers_expect(struct sfs_readers *readers, const void *file, uint64_t at,
			uint64_t now_ns);

/* It is closed. */
void sfs_readers_forget(struct sfs_readers *readers, const void *file);

/* The hindmost reader at `from` or behind, but before `to`; UINT64_MAX: there is none. */
uint64_t sfs_readers_hindmost(const struct sfs_readers *readers, uint64_t from,
			      uint64_t to, uint64_t now_ns);

/* What a cursor has: its bytes from `start` on, those before `front` delivered, and of
 * these it may keep `most`. */
struct sfs_readers_span {
	uint64_t start, front;
	uint64_t least, most; /* that are kept behind the front: whoever reads, at most */
	uint64_t end;	      /* of the stream */
};

/* The first byte that is to be kept. */
uint64_t sfs_readers_keep_from(const struct sfs_readers *readers,
			       const struct sfs_readers_span *span, uint64_t now_ns);

/* How long the front of a cursor may still wait for others. */
struct sfs_patience {
	uint64_t answered_ns; /* the last answer */
	uint64_t left_ns, looked_ns;
	uint64_t gap; /* to who comes from behind, when patience last ended */
	bool is_waiting;
	bool has_given_up; /* who is behind comes no nearer */
};

void sfs_patience_init(struct sfs_patience *patience, uint64_t now_ns);

/* Should a read up to byte `end`, beyond the front, wait for others?  If so, ask again
 * when one of them has read, or after some milliseconds. */
bool sfs_patience_waits(struct sfs_patience *patience, const struct sfs_readers *readers,
			const struct sfs_readers_span *span, uint64_t end,
			uint64_t now_ns);

#endif
