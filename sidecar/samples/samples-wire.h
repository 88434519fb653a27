/* SPDX-License-Identifier: MIT */
/* samples-wire - what samples:PATH and its trainers say to each other; pure.
 *
 * Over a UNIX socket (SOCK_SEQPACKET) a trainer gets a hello, with the descriptors of the
 * memories that samples lie in (SCM_RIGHTS), then samples, and an end or a failure.  No
 * end before the socket's: the sender has died.
 *
 * A trainer's samples are numbered from 0.  It says how many it can have had so far, in
 * samples and in bytes; another one comes while it has had less than both.  A sample
 * stays where it is until it is released: all below a number, or some by their numbers.
 * Who waits with nothing left to look at says that, too.
 *
 * Numbers are of this machine's byte order.  python/shufflefs/samples.py is the other
 * end.
 */
#ifndef SFS_SAMPLES_WIRE_H
#define SFS_SAMPLES_WIRE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SFS_SAMPLES_MAGIC	 0x31306c706d615373ULL /* "sSampl01" */
#define SFS_SAMPLES_VERSION	 1
#define SFS_SAMPLES_MEMORIES	 2
#define SFS_SAMPLES_MESSAGE_MAX	 ((size_t)128 << 10)
#define SFS_SAMPLES_RELEASES_MAX 512

/* Magic and version stay where they are, so that versions that differ can say so. */
struct sfs_samples_hello {
	uint64_t magic;
	uint32_t version;
	uint32_t n_memories; /* 0: refused */
	uint64_t n_bytes[SFS_SAMPLES_MEMORIES];
	char refusal[224]; /* ends with a NUL */
};

enum sfs_samples_kind {
	SFS_SAMPLES_SOME = 1, /* n samples follow, each a head, fields, key, names */
	SFS_SAMPLES_END,
	SFS_SAMPLES_FAILED /* n bytes of text follow */
};

struct sfs_samples_message {
	uint32_t kind, n;
};

struct sfs_samples_head {
	uint64_t number; /* of this trainer */
	uint64_t epoch, ordinal;
	uint32_t n_key, n_fields;
};

struct sfs_samples_field {
	uint64_t offset, n_bytes; /* in memory number `memory` */
	uint32_t memory, n_name;
};

/* Where fields lie. */
struct sfs_samples_memory {
	const unsigned char *bytes;
	uint64_t n_bytes;
};

struct sfs_sample;

/* The sample as it is sent, number 0, in `ret`, the caller's: a multiple of 8 bytes.
 * -E2BIG, with an error: it does not fit into a message. */
int sfs_samples_pack(const struct sfs_sample *sample, uint64_t epoch,
		     const struct sfs_samples_memory *memories, uint32_t n_memories,
		     unsigned char **ret, size_t *ret_n, struct sfs_error *err);

/* From trainers. */
enum { SFS_SAMPLES_WANT = 1, SFS_SAMPLES_LEAVE };

/* WANT.  Totals only grow. */
struct sfs_samples_want {
	uint32_t kind;
	uint32_t n_releases;	   /* numbers that follow */
	uint64_t n_samples;	   /* it can have had so many */
	uint64_t n_bytes;	   /* or so many */
	uint64_t n_released_below; /* all below this number */
	uint64_t is_waiting;	   /* 0 or 1 */
};

/* LEAVE: it has not looked at the samples from this number on; the
 * others are released. */
struct sfs_samples_leave {
	uint32_t kind, zero;
	uint64_t n_taken;
};

struct sfs_samples_said {
	bool is_leave;
	struct sfs_samples_want want;
	uint64_t releases[SFS_SAMPLES_RELEASES_MAX];
	uint64_t n_taken;
};

/* -EPROTO: it is none of these, or says what cannot be, after `n_sent` samples. */
int sfs_samples_hear(const void *bytes, size_t n, uint64_t n_sent,
		     struct sfs_samples_said *ret);

#endif
