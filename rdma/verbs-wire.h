/* SPDX-License-Identifier: MIT */
/* verbs-wire - what sfs/1 says over RDMA, where that is not what it says over TCP
 * (wire.h).
 *
 * HELLO and REPLY are private data of the connection manager; a refusal is a REPLY in a
 * rejection.  Some fabrics pad private data with zeros, so each tells its own length.
 * Messages are SENDs.  After a LAYOUT the receiver says where the ring is, and gives
 * slots of it one at a time.  The n-th BATCH of a connection was written to the n-th slot
 * that the connection was given.  All numbers are little-endian.
 *
 *	OFFER (72)                     GRANT (32)
 *	 0 u16 kind 2                   0 u16 kind 10
 *	 2 u16 zero                     2 u16 zero
 *	 4 u32 length                   4 u32 length
 *	 8 u64 zero                     8 u64 every batch below was consumed, as CREDIT
 *	16 u64 address                 16 u64 number: 0, 1, ... of this connection
 *	24 u64 stride                  24 u64 slot
 *	32 u32 rkey, 36 u32 slots
 *	40 u32 kind of memory, which only statistics tell
 *	44 zeros
 *
 * Pure.
 */
#ifndef SFS_VERBS_WIRE_H
#define SFS_VERBS_WIRE_H

#include "transport/wire.h"

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SFS_VERBS_OFFER_BYTES 72
#define SFS_VERBS_GRANT_BYTES 32
#define SFS_VERBS_REJECT_MAX  148 /* private data of a rejection */
#define SFS_VERBS_SLOTS_MAX   64
#define SFS_VERBS_NEAREST     "nearest" /* of a receiver: to its GPU */

/* In which a card's writes reach memory. */
enum sfs_verbs_ordering { SFS_VERBS_UNSAID, SFS_VERBS_STRICT, SFS_VERBS_RELAXED };

/* rdma://HOST:PORT[?OPTION[&OPTION]]: device=NAME, relaxed-ordering=yes|no */
struct sfs_verbs_url {
	char host[256]; /* "*": all, of IPv4 and IPv6; without the brackets of IPv6 */
	char port[8];
	char device[64]; /* "": whichever has the route; or SFS_VERBS_NEAREST */
	enum sfs_verbs_ordering ordering;
};
/* -EINVAL, with an error. */
int sfs_verbs_parse_url(const char *url, struct sfs_verbs_url *ret,
			struct sfs_error *err);
static inline bool sfs_verbs_is_all(const struct sfs_verbs_url *url)
{
	return url->host[0] == '*' && !url->host[1];
}

/* The HELLO or REPLY in `n` bytes of private data, which may have zeros behind it.
 * -EPROTO: it is none, or of another version; with an error. */
int sfs_verbs_get_hello(const void *bytes, size_t n, struct sfs_wire_hello *ret_hello,
			struct sfs_error *err);
int sfs_verbs_get_reply(const void *bytes, size_t n, struct sfs_wire_reply *ret_reply,
			struct sfs_error *err);

/* A REPLY that fits into a rejection: its text is cut.  Returns the length. */
size_t sfs_verbs_put_refusal(const struct sfs_wire_reply *reply,
			     unsigned char bytes[SFS_VERBS_REJECT_MAX]);

enum sfs_verbs_memory { /* what the ring lies in */
			SFS_VERBS_HOST = 1,
			SFS_VERBS_DMA_BUF, /* a GPU's, as a dma-buf */
			SFS_VERBS_PEERMEM, /* a GPU's, by nvidia-peermem */
			SFS_VERBS_STAGED   /* the host's, copied to a GPU's from there */
};
/* "host", "dma-buf", "peermem", "staged"; NULL: there is no such kind. */
const char *sfs_verbs_memory_name(enum sfs_verbs_memory memory);

struct sfs_verbs_offer {
	uint64_t address, stride;
	uint32_t rkey, n_slots;
	enum sfs_verbs_memory memory;
};
void sfs_verbs_put_offer(const struct sfs_verbs_offer *offer,
			 unsigned char bytes[SFS_VERBS_OFFER_BYTES]);
/* For batches of `slot_bytes`.  -EPROTO, with an error. */
int sfs_verbs_get_offer(const unsigned char *bytes, size_t n, uint64_t slot_bytes,
			struct sfs_verbs_offer *ret, struct sfs_error *err);

struct sfs_verbs_grant {
	uint64_t credited, number;
	uint32_t slot;
};
void sfs_verbs_put_grant(const struct sfs_verbs_grant *grant,
			 unsigned char bytes[SFS_VERBS_GRANT_BYTES]);

enum sfs_verbs_kind { /* of a message */
		      SFS_VERBS_OFFER = 2,
		      SFS_VERBS_GRANT = 10,
		      SFS_VERBS_OTHER = 0 /* one of wire.h */
};
enum sfs_verbs_kind sfs_verbs_kind(const unsigned char *bytes, size_t n);

/* The slots that a connection was given and has not used: first come, first used. */
struct sfs_verbs_slots {
	uint64_t n_given, n_used;
	uint32_t slots[SFS_VERBS_SLOTS_MAX];
};
static inline uint32_t sfs_verbs_count(const struct sfs_verbs_slots *s)
{
	return (uint32_t)(s->n_given - s->n_used);
}
/* The receiver gives one; there must be room.  Returns its number. */
uint64_t sfs_verbs_give(struct sfs_verbs_slots *s, uint32_t slot);
/* The sender got a message: check it against the offer.  -EPROTO, with an error. */
int sfs_verbs_get_grant(const unsigned char *bytes, size_t n, uint32_t n_slots,
			struct sfs_verbs_slots *s, struct sfs_verbs_grant *ret,
			struct sfs_error *err);
/* Use the next.  false: there is none. */
bool sfs_verbs_use(struct sfs_verbs_slots *s, uint32_t *ret_slot);

/* How many of a ring's `n_slots` a connection may have, of `n` that there are or that are
 * expected: at least 1. */
uint32_t sfs_verbs_share(uint32_t n_slots, uint32_t n);

/* The next stretch of a batch that is written in one go: from byte `from` of its data on,
 * with the gaps between tensors, if the batch is full.  Returns its bytes, at most
 * `max`; 0 at the end.  *ret_next is the `from` of the one behind it. */
uint64_t sfs_verbs_stretch(const struct shufflefs_layout *layout, uint32_t n_samples,
			   uint64_t from, uint64_t max, uint64_t *ret_offset,
			   uint64_t *ret_next);

#endif
