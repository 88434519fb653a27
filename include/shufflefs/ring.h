/* SPDX-License-Identifier: MIT */
/* ring - batches of tensors in shared memory or in a GPU's, as a trainer sees them.
 *
 * A producer (`shufflefs-sidecar`) owns a ring of slots in a memfd and fills them
 * with batches.  Any number of consumers, threads or processes of one host, attach to
 * it over a UNIX socket and take batches in order: each batch goes to exactly one of
 * them.  Nothing is copied: a batch points into the shared memory, and stays valid
 * until it is released.
 *
 *	shufflefs_ring_attach("/run/user/0/ring0", 5000, &ring);
 *	while (shufflefs_ring_next(ring, 10000, &batch) == 1) {
 *		... batch.data + layout->tensors[0].offset ...
 *		shufflefs_ring_release(ring, batch.seq);
 *	}
 *	puts(shufflefs_ring_error(ring));
 *
 * Functions return >= 0, or a negative errno after which shufflefs_ring_error() has a
 * sentence.  Any thread may call next() and release(); attach and detach are for one.
 * Needs only libc: link with -lshufflefs-ring.
 */
#ifndef SHUFFLEFS_RING_H
#define SHUFFLEFS_RING_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SHUFFLEFS_TENSORS_MAX 16
#define SHUFFLEFS_DIMS_MAX    8
#define SHUFFLEFS_NAME_BYTES  16 /* of a tensor's name, with its NUL */

/* One tensor of a batch: C order, without gaps, little-endian. */
struct shufflefs_tensor {
	char name[SHUFFLEFS_NAME_BYTES];

	/* "u1" "u2" "u4" "u8" "i1" "i2" "i4" "i8" "f2" "f4" "f8" "b1" "bf2" */
	char dtype[8];
	uint32_t rank; /* at least 1: dims[0] counts the samples */
	uint32_t item_bytes;
	uint64_t dims[SHUFFLEFS_DIMS_MAX]; /* of a whole batch; the others are 1 */
	uint64_t offset;    /* from the start of the slot; a multiple of 256 */
	uint64_t row_bytes; /* of one sample */
};

struct shufflefs_layout {
	uint32_t n_tensors;
	uint32_t n_samples;  /* of a whole batch */
	uint64_t slot_bytes; /* of all tensors and the gaps between them */
	struct shufflefs_tensor tensors[SHUFFLEFS_TENSORS_MAX];
};

struct shufflefs_batch {
	uint64_t seq;	/* 0, 1, 2, ... of the ring */
	uint64_t epoch; /* of its samples */

	/* The samples of the stream that it was made of: first to end - 1.  A stream opened
	 * as NAME@end.tar goes on after this batch. */
	uint64_t first, end;
	uint32_t n_samples; /* rows that are filled: a short last batch has fewer */
	uint32_t sender;    /* which of several senders it came from: 0, 1, ... */

	/* The slot.  NULL outside of the trainer's process, and if it lies in a GPU's
	 * memory. */
	unsigned char *data;
	uint64_t offset; /* of the slot in the ring's memory */
};

/* Where the slots of a ring lie.
 *
 * "host": in memory that attach() has mapped.  Nothing else is set.
 *
 * "cuda": in one allocation of the GPU `device`.  This library does not know CUDA: choose
 * the device of that UUID (its number differs between processes), open the handle once by
 * cudaIpcOpenMemHandle(&base, handle, cudaIpcMemLazyEnablePeerAccess), and find a batch
 * at base + batch.offset.  Its bytes are there when next() returns.  release() says that
 * nothing on the GPU uses the batch any more: record an event behind the last use, and
 * wait for it first.  Close the handle before detach(): the producer frees the memory
 * when all have detached, or 2 s after the end.
 *
 * "cuda-fd": the same, but it is a descriptor that comes with the ring and not a handle:
 * cuMemImportFromShareableHandle(..., CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) takes
 * shufflefs_ring_memory_fd(), then reserve n_bytes of addresses, map and allow access.
 * That needs no common PID namespace, and the memory lasts as long as anybody maps it. */
struct shufflefs_memory {
	char kind[16];
	char device[48];	  /* "GPU-" and the UUID, as nvidia-smi prints it */
	unsigned char handle[64]; /* cudaIpcMemHandle_t; zeros of cuda-fd */
	uint64_t n_bytes;	  /* of the allocation */
};

struct shufflefs_ring;

/* Attach to the ring at `path`, and wait at most `timeout_ms` until there is one and
 * its layout is known; < 0: for ever.  One that has ended, and whose batches were all
 * taken, is not waited for but the next one.  -ETIMEDOUT; -EPROTO: the producer has
 * another version; -EUSERS: it refuses this consumer; ...: *ret_ring is still made, to
 * ask it for its error; detach it. */
int shufflefs_ring_attach(const char *path, int timeout_ms,
			  struct shufflefs_ring **ret_ring);

/* Valid until detach. */
const struct shufflefs_layout *shufflefs_ring_layout(const struct shufflefs_ring *ring);

/* Where its slots are.  Valid until detach. */
const struct shufflefs_memory *shufflefs_ring_memory(const struct shufflefs_ring *ring);

/* The descriptor of that memory, which the ring keeps until detach; < 0:
 * there is none. */
int shufflefs_ring_memory_fd(const struct shufflefs_ring *ring);

/* Take the next batch; waits at most `timeout_ms`, < 0: for ever.  1: *ret_batch is the
 * caller's until release.  0: the producer has ended, and all batches were taken.
 * -ETIMEDOUT: none came.  -EINTR: a signal came.  -EPIPE: the producer died.  -EIO: the
 * producer has failed, or a consumer died and the policy is to fail; see the error.
 *
 * After -EPIPE and -EIO detach, and attach again: if the producer is started anew as it
 * was, its ring goes on with the batch after those that next() gave this process and the
 * others that live.  Numbers (`seq`) begin at 0 again. */
int shufflefs_ring_next(struct shufflefs_ring *ring, int timeout_ms,
			struct shufflefs_batch *ret_batch);

/* Give a batch back, in any order.  -EINVAL: it is not this consumer's. */
int shufflefs_ring_release(struct shufflefs_ring *ring, uint64_t seq);

/* Why the last call of this ring failed; "" if none did. */
const char *shufflefs_ring_error(const struct shufflefs_ring *ring);

/* Release all batches of this consumer, and unmap the ring.  NULL is fine. */
void shufflefs_ring_detach(struct shufflefs_ring *ring);

#ifdef __cplusplus
}
#endif

#endif
