/* SPDX-License-Identifier: MIT */
/* auth - each end of a connection proves to the other that it has the secret.
 *
 * What is signed: the role, the carrier ("tcp", "rdma"), HELLO, 32 random bytes of each
 * end, and, by the receiver, its REPLY.  So nothing that was recorded, reflected, or said
 * over another carrier is a proof.  It authenticates the connection, not the bytes
 * behind it.  docs/decisions/0051 says why so.
 *
 * Pure: randomness is an argument.
 */
#ifndef SFS_AUTH_H
#define SFS_AUTH_H

#include "transport/wire.h"

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

#define SFS_SECRET_LEAST 16
#define SFS_SECRET_MOST	 4096

struct sfs_secret {
	unsigned char key[32];
};

/* Of the `n` bytes of a file: ends of lines at its end do not count.  -EINVAL, with an
 * error: too short, too long. */
int sfs_secret_make(const void *bytes, size_t n, struct sfs_secret *ret,
		    struct sfs_error *err);

/* Another key, for another purpose. */
void sfs_secret_derive(const struct sfs_secret *secret, const char *purpose,
		       unsigned char ret[32]);

/* One handshake. */
struct sfs_auth {
	const char *carrier;
	unsigned char hello[SFS_WIRE_HELLO_BYTES];
	unsigned char receivers[SFS_WIRE_NONCE_BYTES], senders[SFS_WIRE_NONCE_BYTES];
};

/* The receiver got a HELLO, as these bytes.  1: answer with *reply, a CHALLENGE; 0: there
 * is no secret, and none is needed; -EACCES: one end has a secret and the other has none:
 * with the sentence for the sender. */
int sfs_auth_challenge(struct sfs_auth *auth, const char *carrier,
		       const struct sfs_secret *secret, const unsigned char *hello_bytes,
		       const struct sfs_wire_hello *hello,
		       const unsigned char nonce[SFS_WIRE_NONCE_BYTES],
		       struct sfs_wire_reply *reply, struct sfs_error *err);

/* It got a PROOF of `n` bytes.  -EACCES, -EPROTO: with the sentence for the sender. */
int sfs_auth_check_proof(struct sfs_auth *auth, const struct sfs_secret *secret,
			 const unsigned char *bytes, size_t n, struct sfs_error *err);

/* Then it accepts: give *reply its tag. */
void sfs_auth_sign(const struct sfs_auth *auth, const struct sfs_secret *secret,
		   struct sfs_wire_reply *reply);

/* The sender got the answer to its HELLO.  1: send PROOF; 0: *reply is the last word;
 * -EACCES: it is no answer to an end that has a secret, or has none. */
int sfs_auth_answer(struct sfs_auth *auth, const char *carrier,
		    const struct sfs_secret *secret,
		    const unsigned char hello_bytes[SFS_WIRE_HELLO_BYTES],
		    const struct sfs_wire_reply *reply,
		    const unsigned char nonce[SFS_WIRE_NONCE_BYTES],
		    unsigned char ret_proof[SFS_WIRE_PROOF_BYTES], struct sfs_error *err);

/* It got the answer to its PROOF.  -EACCES: it accepts, and does not have the secret. */
int sfs_auth_check_reply(const struct sfs_auth *auth, const struct sfs_secret *secret,
			 const struct sfs_wire_reply *reply, struct sfs_error *err);

#endif
