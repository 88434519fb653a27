/* SPDX-License-Identifier: MIT */
/* How this works: what is signed is one struct of bytes, each field of which has one
 * length, so two handshakes never sign the same bytes. */
#include "transport/auth.h"

#include "base/crypto.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

_Static_assert(SFS_SHA256_BYTES == SFS_WIRE_TAG_BYTES, "a tag is an HMAC-SHA256");

struct statement {
	char role[24], carrier[8];
	unsigned char hello[SFS_WIRE_HELLO_BYTES];
	unsigned char receivers[SFS_WIRE_NONCE_BYTES], senders[SFS_WIRE_NONCE_BYTES];
	unsigned char reply[SFS_WIRE_REPLY_BYTES]; /* the receiver's; else zeros */
};

_Static_assert(sizeof(struct statement) == 24 + 8 + 48 + 32 + 32 + 64, "no padding");

static bool is_end_of_line(char c)
{
	return c == '\n' || c == '\r';
}

int sfs_secret_make(const void *bytes, size_t n, struct sfs_secret *ret,
		    struct sfs_error *err)
{
	const char *text = bytes;

	if (n > SFS_SECRET_MOST)
		return sfs_error_set(err, -EINVAL, "a secret has at most %d bytes",
				     SFS_SECRET_MOST);
	while (n > 0 && is_end_of_line(text[n - 1]))
		n--;
	if (n < SFS_SECRET_LEAST)
		return sfs_error_set(err, -EINVAL,
				     "a secret has at least %d bytes, and this one has "
				     "%zu; make one with: openssl rand -hex 32",
				     SFS_SECRET_LEAST, n);
	sfs_hmac_sha256("shufflefs secret 1", 18, bytes, n, ret->key);
	return 0;
}

void sfs_secret_derive(const struct sfs_secret *secret, const char *purpose,
		       unsigned char ret[32])
{
	sfs_hmac_sha256(secret->key, sizeof secret->key, purpose, strlen(purpose), ret);
}

/* `reply` NULL: what the sender signs. */
static void sign(const struct sfs_auth *auth, const struct sfs_secret *secret,
		 const struct sfs_wire_reply *reply,
		 unsigned char ret_tag[SFS_WIRE_TAG_BYTES])
{
	unsigned char bytes[SFS_WIRE_REPLY_BYTES + SFS_WIRE_TEXT_MAX];
	struct statement s;

	memset(&s, 0, sizeof s);
	snprintf(s.role, sizeof s.role, "shufflefs 1 %s", reply ? "receiver" : "sender");
	snprintf(s.carrier, sizeof s.carrier, "%s", auth->carrier);
	memcpy(s.hello, auth->hello, sizeof s.hello);
	memcpy(s.receivers, auth->receivers, sizeof s.receivers);
	memcpy(s.senders, auth->senders, sizeof s.senders);
	if (reply) {
		sfs_wire_put_reply(reply, bytes);
		memcpy(s.reply, bytes, sizeof s.reply);
	}
	sfs_hmac_sha256(secret->key, sizeof secret->key, &s, sizeof s, ret_tag);
}

int sfs_auth_challenge(struct sfs_auth *auth, const char *carrier,
		       const struct sfs_secret *secret, const unsigned char *hello_bytes,
		       const struct sfs_wire_hello *hello,
		       const unsigned char nonce[SFS_WIRE_NONCE_BYTES],
		       struct sfs_wire_reply *reply, struct sfs_error *err)
{
	if (secret && !hello->has_secret)
		return sfs_error_set(err, -EACCES,
				     "recv has a secret, and the sender has none: start "
				     "it with --secret-file");
	if (!secret && hello->has_secret)
		return sfs_error_set(err, -EACCES,
				     "the sender has a secret, and recv has none: start "
				     "it with --secret-file");
	if (!secret)
		return 0;
	auth->carrier = carrier;
	memcpy(auth->hello, hello_bytes, sizeof auth->hello);
	memcpy(auth->receivers, nonce, sizeof auth->receivers);
	*reply = (struct sfs_wire_reply){.session = hello->session,
					 .code = SFS_WIRE_CHALLENGE};
	memcpy(reply->nonce, nonce, sizeof reply->nonce);
	return 1;
}

int sfs_auth_check_proof(struct sfs_auth *auth, const struct sfs_secret *secret,
			 const unsigned char *bytes, size_t n, struct sfs_error *err)
{
	unsigned char wanted[SFS_WIRE_TAG_BYTES];
	struct sfs_wire_proof proof;
	int ret = sfs_wire_get_proof(bytes, n, &proof, err);

	if (ret < 0)
		return ret;
	memcpy(auth->senders, proof.nonce, sizeof auth->senders);
	sign(auth, secret, NULL, wanted);
	if (sfs_crypto_equal(wanted, proof.tag, sizeof wanted))
		return 0;
	return sfs_error_set(err, -EACCES,
			     "sender and recv have different secrets: compare the "
			     "files of --secret-file");
}

void sfs_auth_sign(const struct sfs_auth *auth, const struct sfs_secret *secret,
		   struct sfs_wire_reply *reply)
{
	reply->has_tag = true;
	sign(auth, secret, reply, reply->tag);
}

int sfs_auth_answer(struct sfs_auth *auth, const char *carrier,
		    const struct sfs_secret *secret,
		    const unsigned char hello_bytes[SFS_WIRE_HELLO_BYTES],
		    const struct sfs_wire_reply *reply,
		    const unsigned char nonce[SFS_WIRE_NONCE_BYTES],
		    unsigned char ret_proof[SFS_WIRE_PROOF_BYTES], struct sfs_error *err)
{
	struct sfs_wire_proof proof;

	if (secret && reply->code == SFS_WIRE_ACCEPT)
		return sfs_error_set(err, -EACCES,
				     "the receiver accepts without a secret: it is not "
				     "a recv of this version with --secret-file");
	if (!secret && reply->code == SFS_WIRE_CHALLENGE)
		return sfs_error_set(err, -EACCES,
				     "the receiver asks for a secret, and this sender "
				     "has none: start it with --secret-file");
	if (reply->code != SFS_WIRE_CHALLENGE)
		return 0;
	auth->carrier = carrier;
	memcpy(auth->hello, hello_bytes, sizeof auth->hello);
	memcpy(auth->receivers, reply->nonce, sizeof auth->receivers);
	memcpy(auth->senders, nonce, sizeof auth->senders);
	memcpy(proof.nonce, nonce, sizeof proof.nonce);
	sign(auth, secret, NULL, proof.tag);
	sfs_wire_put_proof(&proof, ret_proof);
	return 1;
}

int sfs_auth_check_reply(const struct sfs_auth *auth, const struct sfs_secret *secret,
			 const struct sfs_wire_reply *reply, struct sfs_error *err)
{
	unsigned char wanted[SFS_WIRE_TAG_BYTES];

	if (reply->code == SFS_WIRE_CHALLENGE)
		return sfs_error_set(err, -EACCES,
				     "the receiver asks for a second proof");
	if (reply->code != SFS_WIRE_ACCEPT)
		return 0;
	sign(auth, secret, reply, wanted);
	if (reply->has_tag && sfs_crypto_equal(wanted, reply->tag, sizeof wanted))
		return 0;
	return sfs_error_set(err, -EACCES, "the receiver does not have the secret");
}
