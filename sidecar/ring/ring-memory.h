/* SPDX-License-Identifier: MIT */
/* ring-memory - what lies in the memory of a ring, and how both sides change it.
 *
 *	0		struct sfs_ring_memory: header, layout, words, batches, consumers
 *	slots_offset	n_slots slots, slot_stride apart
 *
 * The first part is a file beside the socket, PATH.state; the slots are a memfd.  Each
 * process maps the two as one range.  The producer opens and locks the file (flock), and
 * gives consumers that descriptor, so the lock lasts until the last of them is gone.  A
 * producer that replaces a killed one learns from the lock whether consumers still live,
 * and from the file what they have taken.  While some of those hold batches, the file keeps
 * another name, PATH.state.ID, and the new one says which: `before`.
 *
 * A ring in a GPU's memory has its slots there; the memfd is the producer's alone then,
 * who fills slots there before it copies them.  Consumers map the first part, and get a
 * handle of the GPU's memory in the hello, or a descriptor of it with the hello.
 *
 * Each slot has one word: its batch's number, and its owner.
 *
 *	FREE ──take──> FILLING ──publish──> FILLED ──next──> consumer ──release──> FREE
 *	     producer           producer            CAS                 CAS
 *
 * Consumers change words by compare-and-swap only, and nothing else in the memory but the
 * bytes of a slot and a futex's counter.  There is no lock, so that a consumer that is
 * killed between any two instructions leaves words that say what it held.  When the
 * producer knows that a consumer is dead, it gives that consumer's words away itself.
 *
 * A futex is a counter of events.  Who waits reads it, looks at the words, and sleeps
 * while the counter is the same.  A killed consumer may leave out its last count; the
 * producer counts for it.
 *
 * A batch's number is taken from `n_published` and the words alone.  A consumer reads
 * `n_published` first, and considers no batch from there on: else it could see a batch in
 * slot 1 that was published after one in slot 0, which it had found free.
 */
#ifndef SFS_RING_MEMORY_H
#define SFS_RING_MEMORY_H

#include "shufflefs/ring.h"

#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SFS_RING_MAGIC	   "SFSRING" /* with its NUL */
#define SFS_RING_VERSION   5	     /* of all that is here */
#define SFS_RING_SLOTS_MAX 64
#define SFS_RING_CONSUMERS 256 /* at a time */
#define SFS_RING_SESSIONS  512 /* streams that a ring's batches are of */
#define SFS_RING_PAGE	   4096

/* Owners; consumer c is SFS_RING_CONSUMER + c. */
#define SFS_RING_FREE	  0
#define SFS_RING_FILLING  1
#define SFS_RING_FILLED	  2
#define SFS_RING_KEPT	  3 /* of a producer that died: nobody gets it here, but of the next */
#define SFS_RING_CONSUMER 16

enum sfs_ring_phase {
	SFS_RING_RUNS,
	SFS_RING_ENDED,	 /* no more batches will come */
	SFS_RING_FAILED, /* nor here: after those that are filled comes the error */
	SFS_RING_LOST	 /* a batch was lost with its consumer: the error comes at once */
};

/* What the producer sends when a consumer has connected (SOCK_SEQPACKET), with the file
 * and, if the slots lie there, the memfd (SCM_RIGHTS), or a descriptor of the GPU's
 * memory, if they lie there and it has one, unless it refuses.  Magic and
 * version stay where they are for ever. */
struct sfs_ring_hello {
	char magic[8];
	uint32_t version;
	uint32_t consumer; /* who you are */
	uint64_t n_bytes;  /* of both */
	char refusal[232]; /* why you get neither; "" */
	struct shufflefs_memory memory;
};

#define SFS_RING_HAD_MAX 64

/* Bit i says that batch from + i needs not come, though one before it does. */
struct sfs_ring_had {
	uint64_t from, bits;
};

/* A stream, by the number that its batches have as `sender`.  ring-session.h changes it. */
struct sfs_ring_session {
	uint64_t id;
	_Atomic uint64_t n;	    /* the batch that comes next */
	_Atomic uint32_t has_ended; /* there are no more */
	_Atomic uint32_t which;	    /* of `had` holds */
	struct sfs_ring_had had[2];
};

struct sfs_ring_memory {
	/* Written before anyone attaches. */
	char magic[8];
	uint32_t version;
	uint32_t n_slots;
	uint64_t n_bytes, slots_offset, slot_stride;
	struct shufflefs_layout layout;

	/* Of the producer, unless said otherwise. */
	_Alignas(64) _Atomic uint32_t filled; /* futex of consumers */
	_Atomic uint32_t state;
	_Atomic uint64_t n_published, n_dropped, n_redelivered;
	_Alignas(64) _Atomic uint32_t freed; /* futex of the producer; consumers count */
	char error[512];		     /* set before the state */
	_Atomic uint32_t pids[SFS_RING_CONSUMERS]; /* 0: there is none */

	_Alignas(64) _Atomic uint64_t words[SFS_RING_SLOTS_MAX];
	struct shufflefs_batch batches[SFS_RING_SLOTS_MAX]; /* set before FILLED */
	uint64_t numbers[SFS_RING_SLOTS_MAX]; /* in their sessions; so, too */

	uint64_t id;		 /* random */
	_Atomic uint64_t before; /* of the ring whose consumers this one watches; 0: none */

	uint32_t n_sessions;
	struct sfs_ring_session sessions[SFS_RING_SESSIONS];
};

#define SFS_RING_SLOTS_OFFSET 40960

_Static_assert(sizeof(struct sfs_ring_hello) == 392, "the same everywhere");
_Static_assert(sizeof(struct shufflefs_layout) == 1808, "the same everywhere");
_Static_assert(sizeof(struct shufflefs_batch) == 56, "the same everywhere");
_Static_assert(offsetof(struct sfs_ring_memory, layout) == 40, "the same everywhere");
_Static_assert(sizeof(struct sfs_ring_memory) <= SFS_RING_SLOTS_OFFSET,
	       "it lies before the slots");
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2 && ATOMIC_INT_LOCK_FREE == 2,
	       "no lock lies in the memory");

/* Map the file and, right behind it, the memfd, if there is one: n_bytes together.  NULL:
 * errno is set. */
static inline void *sfs_ring_map(int state_fd, int memfd, uint64_t n_bytes)
{
	int protection = PROT_READ | PROT_WRITE;
	unsigned char *m =
		mmap(NULL, n_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (m == MAP_FAILED)
		return NULL;
	if (mmap(m, SFS_RING_SLOTS_OFFSET, protection, MAP_SHARED | MAP_FIXED, state_fd,
		 0) != MAP_FAILED &&
	    (memfd < 0 ||
	     mmap(m + SFS_RING_SLOTS_OFFSET, n_bytes - SFS_RING_SLOTS_OFFSET, protection,
		  MAP_SHARED | MAP_FIXED, memfd, 0) != MAP_FAILED))
		return m;
	munmap(m, n_bytes);
	return NULL;
}

static inline uint64_t sfs_ring_word(uint64_t seq, uint32_t owner)
{
	return seq << 16 | owner;
}

static inline uint64_t sfs_ring_word_seq(uint64_t word)
{
	return word >> 16;
}

static inline uint32_t sfs_ring_word_owner(uint64_t word)
{
	return word & 0xffff;
}

static inline uint64_t sfs_ring_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Sleep while the counter is `seen`, at most `ns`; errno is set as by futex(2). */
static inline long sfs_ring_wait(_Atomic uint32_t *counter, uint32_t seen, uint64_t ns)
{
	struct timespec timeout = {.tv_sec = (time_t)(ns / 1000000000),
				   .tv_nsec = (long)(ns % 1000000000)};

	return syscall(SYS_futex, counter, FUTEX_WAIT, seen, &timeout, NULL, 0);
}

static inline void sfs_ring_count(_Atomic uint32_t *counter, int n_wake)
{
	atomic_fetch_add(counter, 1);
	syscall(SYS_futex, counter, FUTEX_WAKE, n_wake, NULL, NULL, 0);
}

#endif
