/* SPDX-License-Identifier: MIT */
/* What is put can be got; another magic, version, length, count or layout is refused; and
 * the pieces of a short batch are its rows, without the gaps. */
#include "check.h"
#include "transport/wire.h"

#include <errno.h>

static struct shufflefs_layout layout = {.n_samples = 4};
static unsigned char bytes[SFS_WIRE_MESSAGE_MAX];
static struct sfs_wire_message out;
static struct shufflefs_layout got_layout;
static struct sfs_error err;

static int get(size_t n)
{
	CHECK_EQ(sfs_wire_check_header(bytes, &err), n);
	return sfs_wire_get(bytes, n, &layout, &out, &got_layout, &err);
}

static void hello(void)
{
	struct sfs_wire_hello h = {1, 2, 3, 4, 5, true, 0}, got;

	sfs_wire_put_hello(&h, bytes);
	CHECK_EQ(sfs_wire_check_prefix(bytes, "sender", &err), SFS_WIRE_HELLO_BYTES);
	CHECK_EQ(sfs_wire_get_hello(bytes, SFS_WIRE_HELLO_BYTES, &got, &err), 0);
	CHECK(memcmp(&h, &got, offsetof(struct sfs_wire_hello, process)) == 0);
	CHECK(got.process == 5 && got.has_secret);
	bytes[44] = 2; /* a proof that there is not */
	CHECK_EQ(sfs_wire_get_hello(bytes, SFS_WIRE_HELLO_BYTES, &got, &err), -EPROTO);
	h.has_secret = false;
	sfs_wire_put_hello(&h, bytes);
	CHECK_EQ(sfs_wire_get_hello(bytes, SFS_WIRE_HELLO_BYTES, &got, &err), 0);
	CHECK(!got.has_secret);
	CHECK_EQ(sfs_wire_get_hello(bytes, 47, &got, &err), -EPROTO);
	bytes[4] = 7;
	CHECK_EQ(sfs_wire_check_prefix(bytes, "sender", &err), -EPROTO);
	CHECK_HAS(err.text, "the sender speaks version 7");
	CHECK_HAS(err.text, "this is version 2");
	memcpy(bytes, "GET / HT", 8);
	CHECK_EQ(sfs_wire_check_prefix(bytes, "sender", &err), -EPROTO);
	h.slot_bytes = 1ULL << 40;
	sfs_wire_put_hello(&h, bytes);
	CHECK_EQ(sfs_wire_get_hello(bytes, SFS_WIRE_HELLO_BYTES, &got, &err), -EPROTO);
}

static void reply(void)
{
	struct sfs_wire_reply r = {.session = 1,
				   .resume = 5,
				   .consumed = 2,
				   .code = SFS_WIRE_REFUSE,
				   .window = 3,
				   .text = "another\nlayout"},
			      got;
	size_t n = sfs_wire_put_reply(&r, bytes);

	CHECK_EQ(sfs_wire_check_prefix(bytes, "receiver", &err), n);
	CHECK_EQ(sfs_wire_get_reply(bytes, n, &got, &err), 0);
	CHECK(got.session == 1 && got.resume == 5 && got.code == SFS_WIRE_REFUSE);
	CHECK(got.window == 3 && got.consumed == 2);
	CHECK_STR(got.text, "another?layout");
	r = (struct sfs_wire_reply){.code = SFS_WIRE_ACCEPT};
	CHECK_EQ(sfs_wire_get_reply(bytes, sfs_wire_put_reply(&r, bytes), &got, &err),
		 -EPROTO);
}

/* With a nonce, or a tag, instead of a text. */
static void proof(void)
{
	struct sfs_wire_reply r = {.code = SFS_WIRE_CHALLENGE}, got;
	struct sfs_wire_proof p, got_proof;
	size_t n;

	memset(r.nonce, 5, sizeof r.nonce);
	n = sfs_wire_put_reply(&r, bytes);
	CHECK_EQ(sfs_wire_get_reply(bytes, n, &got, &err), 0);
	CHECK(memcmp(got.nonce, r.nonce, sizeof r.nonce) == 0 && !got.text[0]);
	CHECK_EQ(sfs_wire_get_reply(bytes, n - 1, &got, &err), -EPROTO);
	CHECK_EQ(sfs_wire_get_reply(bytes, SFS_WIRE_REPLY_BYTES, &got, &err), -EPROTO);
	r = (struct sfs_wire_reply){
		.code = SFS_WIRE_ACCEPT, .window = 1, .has_tag = true};
	memset(r.tag, 6, sizeof r.tag);
	n = sfs_wire_put_reply(&r, bytes);
	CHECK_EQ(sfs_wire_get_reply(bytes, n, &got, &err), 0);
	CHECK(got.has_tag && memcmp(got.tag, r.tag, sizeof r.tag) == 0);
	CHECK_EQ(sfs_wire_get_reply(bytes, SFS_WIRE_REPLY_BYTES, &got, &err), 0);
	CHECK(!got.has_tag);
	memset(p.nonce, 7, sizeof p.nonce);
	memset(p.tag, 8, sizeof p.tag);
	sfs_wire_put_proof(&p, bytes);
	CHECK_EQ(sfs_wire_check_prefix(bytes, "sender", &err), SFS_WIRE_PROOF_BYTES);
	CHECK_EQ(sfs_wire_get_proof(bytes, SFS_WIRE_PROOF_BYTES, &got_proof, &err), 0);
	CHECK(memcmp(&p, &got_proof, sizeof p) == 0);
	CHECK_EQ(sfs_wire_get_proof(bytes, SFS_WIRE_HELLO_BYTES, &got_proof, &err),
		 -EPROTO);
}

static void batch(void)
{
	struct sfs_wire_message m = {.kind = SFS_WIRE_BATCH, .seq = 9, .crc = 7};
	size_t n;

	m.info = (struct sfs_batch_info){1, 20, 23, 3};
	m.n_bytes = sfs_wire_data_bytes(&layout, 3);
	CHECK_EQ(m.n_bytes, 3 * (5 + 8));
	n = sfs_wire_put(&m, NULL, bytes);
	CHECK_EQ(get(n), 0);
	CHECK(out.seq == 9 && out.crc == 7 && out.info.end == 23);
	CHECK_EQ(out.n_bytes, m.n_bytes);
	CHECK_EQ(sfs_wire_get(bytes, n, NULL, &out, &got_layout, &err), -EPROTO);
	bytes[24]++; /* n_bytes */
	CHECK_EQ(get(n), -EPROTO);
	m.info.n_samples = 5;
	m.n_bytes = 5 * 13;
	CHECK_EQ(get(sfs_wire_put(&m, NULL, bytes)), -EPROTO);
	m.info.n_samples = m.n_bytes = 0;
	CHECK_EQ(get(sfs_wire_put(&m, NULL, bytes)), -EPROTO);
	m.info = (struct sfs_batch_info){1, 23, 20, 3};
	m.n_bytes = 39;
	CHECK_EQ(get(sfs_wire_put(&m, NULL, bytes)), -EPROTO);
}

static void others(void)
{
	struct sfs_wire_message m = {.kind = SFS_WIRE_LAYOUT};
	size_t n = sfs_wire_put(&m, &layout, bytes);

	CHECK_EQ(get(n), 0);
	CHECK(sfs_layout_equal(&got_layout, &layout));
	bytes[SFS_WIRE_HEADER_BYTES + 8]++; /* slot_bytes */
	CHECK_EQ(get(n), -EPROTO);
	m = (struct sfs_wire_message){.kind = SFS_WIRE_BYE, .text = "disk\tis full"};
	CHECK_EQ(get(sfs_wire_put(&m, NULL, bytes)), 0);
	CHECK_STR(out.text, "disk?is full");
	CHECK(!out.has_failed);
	m.has_failed = true;
	CHECK_EQ(get(sfs_wire_put(&m, NULL, bytes)), 0);
	CHECK(out.has_failed);
	m = (struct sfs_wire_message){.kind = SFS_WIRE_CREDIT, .seq = 77};
	CHECK_EQ(get(sfs_wire_put(&m, NULL, bytes)), 0);
	CHECK_EQ(out.seq, 77);
	bytes[4] = 33; /* its length */
	CHECK_EQ(sfs_wire_check_header(bytes, &err), -EPROTO);
	bytes[4] = 8;
	CHECK_EQ(sfs_wire_check_header(bytes, &err), -EPROTO);
	bytes[7] = 255;
	CHECK_EQ(sfs_wire_check_header(bytes, &err), -EPROTO);
	bytes[0] = 99;
	CHECK_EQ(sfs_wire_check_header(bytes, &err), -EPROTO);
}

static void pieces(void)
{
	static const char nine[] = "123456789";
	struct shufflefs_layout one = {.n_samples = 9};
	uint64_t offset = 0;

	CHECK_EQ(sfs_wire_piece(&layout, 3, 0, &offset), 15);
	CHECK_EQ(offset, 0);
	CHECK_EQ(sfs_wire_piece(&layout, 3, 16, &offset), 23);
	CHECK_EQ(offset, 257);
	CHECK_EQ(sfs_wire_piece(&layout, 3, 39, &offset), 0);
	CHECK_EQ(sfs_layout_add(&one, &(struct sfs_row){.name = "a", .dtype = "u1"},
				&err),
		 0);
	CHECK_EQ(sfs_wire_crc(&one, 9, nine), 0xe3069283); /* RFC 3720's check */
}

int main(void)
{
	struct sfs_row a = {.name = "a", .dtype = "u1", .rank = 1, .dims = {5}};
	struct sfs_row b = {.name = "b", .dtype = "f8"};

	CHECK_EQ(sfs_layout_add(&layout, &a, &err), 0);
	CHECK_EQ(sfs_layout_add(&layout, &b, &err), 0);
	hello();
	reply();
	proof();
	batch();
	others();
	pieces();
	return 0;
}
