/* SPDX-License-Identifier: MIT */
/* wire - the bytes of our protocol over TCP, sfs/1.
 *
 * The receiver listens.  The sender connects and says HELLO; the receiver answers with
 * REPLY.  After an acceptance both send messages: a header of 32 bytes and a body.  A
 * BATCH is followed by the bytes of its tensors, one after the other, of the rows that
 * are filled and without the gaps between tensors.  All numbers are little-endian.
 *
 *	HELLO (48)           REPLY (64, and text)  message (32, and body)
 *	 0 u32 magic "SFS1"   0 u32 magic           0 u16 kind
 *	 4 u16 version        4 u16 version         2 u16 flags
 *	 6 u16 length         6 u16 length          4 u32 length, with the body
 *	 8 u64 session        8 u64 session         8 u64 seq
 *	16 u64 oldest        16 u64 resume         16 u64 a
 *	24 u64 slot bytes    24 u32 code           24 u64 b
 *	32 u64 layout hash   28 u32 window
 *	40 u32 process       32 u64 consumed
 *	44 u32 proof         40 zeros
 *
 * A sender that has a secret says so: proof is 1, else 0.  The receiver then answers with
 * a REPLY that is a CHALLENGE, and 32 bytes instead of a text; the sender sends PROOF,
 * and only then gets its REPLY.  If that accepts, it has a tag of 32 bytes instead of a
 * text.  auth.h has what is signed.
 *
 *	PROOF (72)
 *	 0 u32 magic, 4 u16 version, 6 u16 length
 *	 8 nonce (32)
 *	40 tag (32)
 *
 * The first 8 bytes of HELLO, REPLY and PROOF are the same in every version.  Pure.
 */
#ifndef SFS_WIRE_H
#define SFS_WIRE_H

#include "ring/layout.h"
#include "transport/transport.h"

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

#define SFS_WIRE_VERSION      2
#define SFS_WIRE_PREFIX_BYTES 8 /* of HELLO, REPLY and PROOF: tell how long they are */
#define SFS_WIRE_HELLO_BYTES  48
#define SFS_WIRE_PROOF_BYTES  72
#define SFS_WIRE_NONCE_BYTES  32
#define SFS_WIRE_TAG_BYTES    32
#define SFS_WIRE_REPLY_BYTES  64 /* without its text */
#define SFS_WIRE_TEXT_MAX     512
#define SFS_WIRE_HEADER_BYTES 32
#define SFS_WIRE_MESSAGE_MAX  4096

struct sfs_wire_hello {
	uint64_t session; /* names the stream: the same when a sender connects again, and
			   * in a process that sends it anew */
	uint64_t oldest;  /* batch that the sender still has, or can make again */
	uint64_t slot_bytes, layout_hash;
	uint32_t process; /* random: which of several that send it */
	bool has_secret;
	uint64_t told; /* not sent: which batch the answer to it asked for */
};

struct sfs_wire_proof {
	unsigned char nonce[SFS_WIRE_NONCE_BYTES], tag[SFS_WIRE_TAG_BYTES];
};

enum sfs_wire_code {
	SFS_WIRE_ACCEPT,
	SFS_WIRE_REFUSE,   /* it would be so the next time, too */
	SFS_WIRE_BUSY,	   /* try again */
	SFS_WIRE_CHALLENGE /* prove first that you have the secret */
};

struct sfs_wire_reply {
	uint64_t session;
	uint64_t resume;   /* batch that the receiver wants next */
	uint64_t consumed; /* batches that trainers have released: these first ones are done;
			    * what lies between is in the receiver's memory only */
	enum sfs_wire_code code;
	uint32_t window; /* batches that may be sent and not consumed */
	char text[SFS_WIRE_TEXT_MAX]; /* why not; "" */
	bool has_tag;		      /* ACCEPT: of a receiver that has the secret */
	unsigned char tag[SFS_WIRE_TAG_BYTES];
	unsigned char nonce[SFS_WIRE_NONCE_BYTES]; /* CHALLENGE */
};

enum sfs_wire_kind {
	SFS_WIRE_LAYOUT = 1, /* sender: body is a struct shufflefs_layout */
	SFS_WIRE_BATCH = 3,  /* sender: seq; a = samples, b = bytes that follow */
	SFS_WIRE_CREDIT = 4, /* receiver: every batch below seq was consumed */
	SFS_WIRE_END = 5,    /* sender: there is no batch from seq on */
	SFS_WIRE_PING = 6,   /* either */
	SFS_WIRE_BYE = 8,    /* either: body is why, "" if all is well; with a flag if the
			      * sender's stream has failed, behind its last batch */
	SFS_WIRE_ENDED = 9   /* receiver: END came, and every batch was consumed */
};

struct sfs_wire_message {
	enum sfs_wire_kind kind;
	uint64_t seq;
	uint64_t n_bytes;	      /* BATCH: of the data that follows */
	struct sfs_batch_info info;   /* BATCH */
	uint32_t crc;		      /* BATCH: CRC-32C of the data; 0: none */
	bool has_failed;	      /* BYE: another process would fail, too */
	char text[SFS_WIRE_TEXT_MAX]; /* BYE */
};

void sfs_wire_put_hello(const struct sfs_wire_hello *hello,
			unsigned char bytes[SFS_WIRE_HELLO_BYTES]);

/* Returns the length. */
size_t sfs_wire_put_reply(const struct sfs_wire_reply *reply,
			  unsigned char bytes[SFS_WIRE_REPLY_BYTES + SFS_WIRE_TEXT_MAX]);

void sfs_wire_put_proof(const struct sfs_wire_proof *proof,
			unsigned char bytes[SFS_WIRE_PROOF_BYTES]);

/* Check the first 8 bytes of a HELLO, REPLY or PROOF of `peer` ("sender", "receiver"),
 * and return how long it is.  -EPROTO: it is none, or of another version; with an error. */
int sfs_wire_check_prefix(const unsigned char bytes[SFS_WIRE_PREFIX_BYTES],
			  const char *peer, struct sfs_error *err);

/* `n` bytes: as many as check_prefix() said.  -EPROTO, with an error. */
int sfs_wire_get_hello(const unsigned char *bytes, size_t n,
		       struct sfs_wire_hello *ret_hello, struct sfs_error *err);
int sfs_wire_get_reply(const unsigned char *bytes, size_t n,
		       struct sfs_wire_reply *ret_reply, struct sfs_error *err);
int sfs_wire_get_proof(const unsigned char *bytes, size_t n,
		       struct sfs_wire_proof *ret_proof, struct sfs_error *err);

/* Returns the length.  `layout` only for LAYOUT. */
size_t sfs_wire_put(const struct sfs_wire_message *message,
		    const struct shufflefs_layout *layout,
		    unsigned char bytes[SFS_WIRE_MESSAGE_MAX]);

/* How long the message is that begins with this header, without a batch's data.
 * -EPROTO, with an error. */
int sfs_wire_check_header(const unsigned char bytes[SFS_WIRE_HEADER_BYTES],
			  struct sfs_error *err);

/* Understand a message of `n` bytes, as check_header() said.  `layout` is what a BATCH
 * is held to: NULL: it is an error; a LAYOUT is written to *ret_layout, after it was
 * checked.  -EPROTO, with an error. */
int sfs_wire_get(const unsigned char *bytes, size_t n,
		 const struct shufflefs_layout *layout,
		 struct sfs_wire_message *ret_message,
		 struct shufflefs_layout *ret_layout, struct sfs_error *err);

/* Bytes of the data of a batch of `n_samples`. */
uint64_t sfs_wire_data_bytes(const struct shufflefs_layout *layout, uint32_t n_samples);

/* The part of a batch's data from byte `from` of it on that lies together in a slot.
 * Returns its bytes, and where it lies; 0 at the end. */
uint64_t sfs_wire_piece(const struct shufflefs_layout *layout, uint32_t n_samples,
			uint64_t from, uint64_t *ret_offset);

/* CRC-32C (RFC 3720, B.4) of all pieces; never 0. */
uint32_t sfs_wire_crc(const struct shufflefs_layout *layout, uint32_t n_samples,
		      const void *slot);

#endif
