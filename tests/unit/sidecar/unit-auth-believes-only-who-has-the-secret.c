/* SPDX-License-Identifier: MIT */
/* Two ends with one secret believe each other.  With another secret, with none at one
 * end, with a proof that was recorded, reflected, made over another carrier or for
 * another HELLO, and with a REPLY that was changed, they do not.
 */
#include "transport/auth.h"
#include "check.h"

#include <errno.h>

static struct sfs_secret ours, other;
static struct sfs_error err;

/* What goes over the wire, for a test to keep or change. */
struct talk {
	struct sfs_auth receiver, sender;
	struct sfs_wire_hello hello;
	unsigned char hello_bytes[SFS_WIRE_HELLO_BYTES], proof[SFS_WIRE_PROOF_BYTES];
	struct sfs_wire_reply challenge, reply;
};

static void fill(unsigned char nonce[SFS_WIRE_NONCE_BYTES], int value)
{
	memset(nonce, value, SFS_WIRE_NONCE_BYTES);
}

static void over_the_wire(struct sfs_wire_reply *reply)
{
	unsigned char bytes[SFS_WIRE_REPLY_BYTES + SFS_WIRE_TEXT_MAX];
	size_t n = sfs_wire_put_reply(reply, bytes);

	CHECK_EQ(sfs_wire_check_prefix(bytes, "receiver", &err), n);
	CHECK_EQ(sfs_wire_get_reply(bytes, n, reply, &err), 0);
}

/* HELLO and CHALLENGE of a session, with the receiver's nonce. */
static int begin(struct talk *t, const struct sfs_secret *receivers,
		 const struct sfs_secret *senders, uint64_t session, int nonce)
{
	unsigned char bytes[SFS_WIRE_NONCE_BYTES];
	int ret;

	memset(t, 0, sizeof *t);
	t->hello = (struct sfs_wire_hello){
		.session = session, .slot_bytes = 4096, .has_secret = senders != NULL};
	sfs_wire_put_hello(&t->hello, t->hello_bytes);
	CHECK_EQ(sfs_wire_get_hello(t->hello_bytes, SFS_WIRE_HELLO_BYTES, &t->hello,
				    &err),
		 0);
	fill(bytes, nonce);
	ret = sfs_auth_challenge(&t->receiver, "tcp", receivers, t->hello_bytes,
				 &t->hello, bytes, &t->challenge, &err);
	if (ret == 1)
		over_the_wire(&t->challenge);
	return ret;
}

static int answer(struct talk *t, const char *carrier, const struct sfs_secret *secret,
		  int nonce)
{
	unsigned char bytes[SFS_WIRE_NONCE_BYTES];

	fill(bytes, nonce);
	return sfs_auth_answer(&t->sender, carrier, secret, t->hello_bytes, &t->challenge,
			       bytes, t->proof, &err);
}

static int check_proof(struct talk *t, const struct sfs_secret *secret,
		       const unsigned char proof[SFS_WIRE_PROOF_BYTES])
{
	return sfs_auth_check_proof(&t->receiver, secret, proof, SFS_WIRE_PROOF_BYTES,
				    &err);
}

/* The receiver accepts. */
static void accept_it(struct talk *t, const struct sfs_secret *secret)
{
	t->reply = (struct sfs_wire_reply){
		.session = t->hello.session, .resume = 3, .consumed = 2, .window = 4};
	sfs_auth_sign(&t->receiver, secret, &t->reply);
	over_the_wire(&t->reply);
}

static void agree(struct talk *t, int receivers, int senders)
{
	CHECK_EQ(begin(t, &ours, &ours, 7, receivers), 1);
	CHECK_EQ(answer(t, "tcp", &ours, senders), 1);
	CHECK_EQ(check_proof(t, &ours, t->proof), 0);
	accept_it(t, &ours);
	CHECK_EQ(sfs_auth_check_reply(&t->sender, &ours, &t->reply, &err), 0);
	CHECK_EQ(t->reply.resume, 3);
}

static void check_hex(const unsigned char *bytes, size_t n, const char *wanted)
{
	char hex[2 * SFS_WIRE_TAG_BYTES + 1];
	size_t i;

	for (i = 0; i < n; i++)
		snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
	CHECK_STR(hex, wanted);
}

/* What other versions sign as well: by hmac.py, of "shufflefs secret 1" and the secret for
 * the key, and of role (24 bytes), carrier (8), HELLO, both nonces, and REPLY or zeros. */
static void signs_as_ever(void)
{
	struct talk t;

	agree(&t, 1, 2);
	check_hex(t.proof + 40, SFS_WIRE_TAG_BYTES,
		  "c68bffadad3a6b91728b9dad929a59cc"
		  "fb7b78b933e5a9850aea43351db0120b");
	check_hex(t.reply.tag, SFS_WIRE_TAG_BYTES,
		  "e70928befd9f8979cc376859e244ceba"
		  "6d114f59d141036b3dd16d995603e953");
}

static void refuses_what_was_recorded(void)
{
	struct talk old, t;
	unsigned char proof[SFS_WIRE_PROOF_BYTES];
	size_t i;

	agree(&old, 1, 2);
	CHECK_EQ(begin(&t, &ours, &ours, 7, 3), 1); /* another challenge */
	CHECK_EQ(check_proof(&t, &ours, old.proof), -EACCES);
	CHECK_EQ(answer(&t, "tcp", &ours, 4), 1);
	CHECK_EQ(check_proof(&t, &ours, t.proof), 0);
	CHECK_EQ(sfs_auth_check_reply(&t.sender, &ours, &old.reply, &err), -EACCES);
	CHECK_EQ(begin(&t, &ours, &ours, 8, 1), 1); /* the same one for another HELLO */
	CHECK_EQ(check_proof(&t, &ours, old.proof), -EACCES);
	/* And none with one bit changed, but of the prefix, which wire.c has checked. */
	for (i = SFS_WIRE_PREFIX_BYTES; i < SFS_WIRE_PROOF_BYTES; i++) {
		CHECK_EQ(begin(&t, &ours, &ours, 7, 1), 1);
		memcpy(proof, old.proof, sizeof proof);
		proof[i] ^= 16;
		CHECK_EQ(check_proof(&t, &ours, proof), -EACCES);
	}
	CHECK_EQ(sfs_auth_check_proof(&t.receiver, &ours, proof, 71, &err), -EPROTO);
}

/* A receiver that has no secret has a sender sign, and gives that back; a sender that has
 * none, the same. */
static void refuses_what_was_reflected(void)
{
	struct talk t;
	struct sfs_wire_proof proof;

	agree(&t, 1, 1);
	CHECK_EQ(sfs_wire_get_proof(t.proof, sizeof t.proof, &proof, &err), 0);
	memcpy(t.reply.tag, proof.tag, sizeof t.reply.tag);
	CHECK_EQ(sfs_auth_check_reply(&t.sender, &ours, &t.reply, &err), -EACCES);
	agree(&t, 1, 1);
	memcpy(proof.tag, t.reply.tag, sizeof proof.tag);
	sfs_wire_put_proof(&proof, t.proof);
	CHECK_EQ(check_proof(&t, &ours, t.proof), -EACCES);
	memcpy(proof.nonce, t.challenge.nonce, sizeof proof.nonce);
	memcpy(proof.tag, t.challenge.nonce, sizeof proof.tag);
	sfs_wire_put_proof(&proof, t.proof);
	CHECK_EQ(check_proof(&t, &ours, t.proof), -EACCES);
}

static void refuses_others(void)
{
	struct talk t;

	CHECK_EQ(begin(&t, &ours, &other, 7, 1), 1);
	CHECK_EQ(answer(&t, "tcp", &other, 2), 1);
	CHECK_EQ(check_proof(&t, &ours, t.proof), -EACCES);
	CHECK_HAS(err.text, "sender and recv have different secrets");
	accept_it(&t, &other); /* (a receiver that believes everyone) */
	CHECK_EQ(sfs_auth_check_reply(&t.sender, &ours, &t.reply, &err), -EACCES);
	CHECK_EQ(begin(&t, &ours, &ours, 7, 1), 1);
	CHECK_EQ(answer(&t, "rdma", &ours, 2), 1);
	CHECK_EQ(check_proof(&t, &ours, t.proof), -EACCES);
}

static void refuses_none_at_one_end(void)
{
	struct talk t;

	CHECK_EQ(begin(&t, &ours, NULL, 7, 1), -EACCES);
	CHECK_HAS(err.text, "the sender has none: start it with --secret-file");
	CHECK_EQ(begin(&t, NULL, &ours, 7, 1), -EACCES);
	CHECK_HAS(err.text, "recv has none: start it with --secret-file");
	CHECK_EQ(begin(&t, NULL, NULL, 7, 1), 0);
	t.challenge = (struct sfs_wire_reply){.code = SFS_WIRE_ACCEPT, .window = 1};
	CHECK_EQ(answer(&t, "tcp", NULL, 1), 0);
	CHECK_EQ(answer(&t, "tcp", &ours, 1), -EACCES); /* (one of before this) */
	CHECK_HAS(err.text, "accepts without a secret");
	t.challenge.code = SFS_WIRE_CHALLENGE;
	CHECK_EQ(answer(&t, "tcp", NULL, 1), -EACCES);
	t.challenge.code = SFS_WIRE_REFUSE;
	CHECK_EQ(answer(&t, "tcp", &ours, 1), 0);
}

static void refuses_a_changed_reply(void)
{
	struct talk t;

	agree(&t, 1, 2);
	t.reply.resume = 4;
	CHECK_EQ(sfs_auth_check_reply(&t.sender, &ours, &t.reply, &err), -EACCES);
	CHECK_HAS(err.text, "the receiver does not have the secret");
	agree(&t, 1, 2);
	t.reply.has_tag = false;
	CHECK_EQ(sfs_auth_check_reply(&t.sender, &ours, &t.reply, &err), -EACCES);
	t.reply.code = SFS_WIRE_CHALLENGE;
	CHECK_EQ(sfs_auth_check_reply(&t.sender, &ours, &t.reply, &err), -EACCES);
	t.reply.code = SFS_WIRE_BUSY; /* (says nothing that is believed) */
	CHECK_EQ(sfs_auth_check_reply(&t.sender, &ours, &t.reply, &err), 0);
}

static void makes_secrets(void)
{
	static char long_one[SFS_SECRET_MOST + 1];
	unsigned char a[32], b[32];
	struct sfs_secret same;

	CHECK_EQ(sfs_secret_make("0123456789abcdef", 16, &ours, &err), 0);
	CHECK_EQ(sfs_secret_make("0123456789abcdeF", 16, &other, &err), 0);
	CHECK(memcmp(&ours, &other, sizeof ours) != 0);
	CHECK_EQ(sfs_secret_make("0123456789abcdef\r\n\n", 19, &same, &err), 0);
	CHECK(memcmp(&ours, &same, sizeof ours) == 0);
	CHECK_EQ(sfs_secret_make("0123456789abcde\n\n\n", 18, &same, &err), -EINVAL);
	CHECK_HAS(err.text, "at least 16 bytes, and this one has 15");
	CHECK_EQ(sfs_secret_make("", 0, &same, &err), -EINVAL);
	CHECK_EQ(sfs_secret_make(long_one, sizeof long_one, &same, &err), -EINVAL);
	sfs_secret_derive(&ours, "one", a);
	sfs_secret_derive(&ours, "two", b);
	CHECK(memcmp(a, b, 32) != 0);
}

int main(void)
{
	struct talk t;

	makes_secrets();
	agree(&t, 1, 2);
	signs_as_ever();
	refuses_what_was_recorded();
	refuses_what_was_reflected();
	refuses_others();
	refuses_none_at_one_end();
	refuses_a_changed_reply();
	return 0;
}
