/* SPDX-License-Identifier: MIT */
/* A URL of rdma:// is parsed; private data are read by their own length; offers and
 * grants that no receiver sends are refused; slots are used in the order in which they
 * were given; and a batch is written in stretches. */
#include "check.h"
#include "verbs-wire.h"

#include <errno.h>

static struct sfs_error err;

static void urls(void)
{
	static const char *const bad[] = {"tcp://h:1",
					  "rdma://h",
					  "rdma://:1",
					  "rdma://h:",
					  "rdma://h:1x",
					  "rdma://h:65536",
					  "rdma://h:1?",
					  "rdma://h:1?x=",
					  "rdma://h:1?device=",
					  "rdma://[]:1a",
					  "rdma://",
					  "rdma://h:1?relaxed-ordering=",
					  "rdma://h:1?relaxed-ordering=ye",
					  "rdma://h:1?relaxed-ordering=yes&",
					  "rdma://h:1?relaxed-ordering=yess",
					  "rdma://h:1?device=&relaxed-ordering=yes"};
	struct sfs_verbs_url url;
	size_t i;

	CHECK_EQ(sfs_verbs_parse_url("rdma://host.a:17", &url, &err), 0);
	CHECK_STR(url.host, "host.a");
	CHECK_STR(url.port, "17");
	CHECK_STR(url.device, "");
	CHECK_EQ(sfs_verbs_parse_url("rdma://[fd00::1]:0?device=mlx5_0", &url, &err), 0);
	CHECK_STR(url.host, "fd00::1");
	CHECK_STR(url.port, "0");
	CHECK_STR(url.device, "mlx5_0");
	CHECK_EQ(url.ordering, SFS_VERBS_UNSAID);
	CHECK_EQ(sfs_verbs_parse_url("rdma://h:1?relaxed-ordering=no", &url, &err), 0);
	CHECK_EQ(url.ordering, SFS_VERBS_STRICT);
	CHECK_STR(url.device, "");
	CHECK_EQ(sfs_verbs_parse_url("rdma://h:1?relaxed-ordering=yes&device=a", &url,
				     &err),
		 0);
	CHECK_EQ(url.ordering, SFS_VERBS_RELAXED);
	CHECK_STR(url.device, "a");
	CHECK_EQ(sfs_verbs_parse_url("rdma://h:1?device=a&relaxed-ordering=no", &url,
				     &err),
		 0);
	CHECK_EQ(url.ordering, SFS_VERBS_STRICT);
	CHECK_STR(url.device, "a");
	for (i = 0; i < sizeof bad / sizeof *bad; i++)
		CHECK_EQ(sfs_verbs_parse_url(bad[i], &url, &err), -EINVAL);
}

static void private_data(void)
{
	unsigned char bytes[196] = {0};
	struct sfs_wire_hello hello = {.session = 1, .slot_bytes = 9}, got;
	struct sfs_wire_reply reply = {.code = SFS_WIRE_REFUSE}, got_reply;
	size_t n;

	sfs_wire_put_hello(&hello, bytes);
	CHECK_EQ(sfs_verbs_get_hello(bytes, sizeof bytes, &got, &err), 0); /* padded */
	CHECK_EQ(sfs_verbs_get_hello(bytes, 48, &got, &err), 0);	   /* exact */
	CHECK_EQ(got.slot_bytes, 9);
	CHECK_EQ(sfs_verbs_get_hello(bytes, 47, &got, &err), -EPROTO);
	CHECK_EQ(sfs_verbs_get_hello(bytes, 7, &got, &err), -EPROTO);
	CHECK_EQ(sfs_verbs_get_hello(bytes, 0, &got, &err), -EPROTO);
	CHECK_HAS(err.text, "the peer is not a shufflefs-sidecar");
	memset(reply.text, 'x', sizeof reply.text - 1);
	n = sfs_verbs_put_refusal(&reply, bytes);
	CHECK_EQ(n, SFS_VERBS_REJECT_MAX);
	CHECK_EQ(sfs_verbs_get_reply(bytes, n, &got_reply, &err), 0);
	CHECK_EQ(strlen(got_reply.text), SFS_VERBS_REJECT_MAX - SFS_WIRE_REPLY_BYTES);
	CHECK_EQ(sfs_verbs_get_reply(bytes, n - 1, &got_reply, &err), -EPROTO);
}

static void offers(void)
{
	struct sfs_verbs_offer offer = {0x10000, 8192, 77, 4, SFS_VERBS_HOST}, got;
	unsigned char bytes[SFS_VERBS_OFFER_BYTES];
	uint32_t kind;

	sfs_verbs_put_offer(&offer, bytes);
	CHECK_EQ(sfs_verbs_kind(bytes, sizeof bytes), SFS_VERBS_OFFER);
	CHECK_EQ(sfs_verbs_get_offer(bytes, sizeof bytes, 8192, &got, &err), 0);
	CHECK(got.address == 0x10000 && got.stride == 8192 && got.rkey == 77 &&
	      got.n_slots == 4);
	CHECK_EQ(sfs_verbs_get_offer(bytes, sizeof bytes, 8193, &got, &err), -EPROTO);
	CHECK_EQ(sfs_verbs_get_offer(bytes, sizeof bytes - 1, 1, &got, &err), -EPROTO);
	for (kind = SFS_VERBS_HOST; kind <= SFS_VERBS_STAGED; kind++) {
		bytes[40] = (unsigned char)kind;
		CHECK_EQ(sfs_verbs_get_offer(bytes, sizeof bytes, 1, &got, &err), 0);
		CHECK_EQ(got.memory, kind);
	}
	CHECK_STR(sfs_verbs_memory_name(SFS_VERBS_HOST), "host");
	CHECK_STR(sfs_verbs_memory_name(SFS_VERBS_STAGED), "staged");
	bytes[40] = 0;
	CHECK_EQ(sfs_verbs_get_offer(bytes, sizeof bytes, 1, &got, &err), -EPROTO);
	bytes[40] = 9;
	CHECK_EQ(sfs_verbs_get_offer(bytes, sizeof bytes, 1, &got, &err), -EPROTO);
	CHECK_HAS(err.text, "memory of the unknown kind 9");
	offer.n_slots = SFS_VERBS_SLOTS_MAX + 1;
	sfs_verbs_put_offer(&offer, bytes);
	CHECK_EQ(sfs_verbs_get_offer(bytes, sizeof bytes, 1, &got, &err), -EPROTO);
	offer.n_slots = 4;
	offer.address = UINT64_MAX - 4096;
	sfs_verbs_put_offer(&offer, bytes);
	CHECK_EQ(sfs_verbs_get_offer(bytes, sizeof bytes, 1, &got, &err), -EPROTO);
}

static int grant(struct sfs_verbs_slots *s, uint64_t number, uint32_t slot)
{
	struct sfs_verbs_grant g = {.credited = 5, .number = number, .slot = slot}, got;
	unsigned char bytes[SFS_VERBS_GRANT_BYTES];

	sfs_verbs_put_grant(&g, bytes);
	CHECK_EQ(sfs_verbs_kind(bytes, sizeof bytes), SFS_VERBS_GRANT);
	CHECK_EQ(sfs_verbs_get_grant(bytes, 31, 4, s, &got, &err), -EPROTO);
	return sfs_verbs_get_grant(bytes, sizeof bytes, 4, s, &got, &err);
}

static void grants(void)
{
	struct sfs_verbs_slots s = {0};
	uint32_t slot, i;

	CHECK(!sfs_verbs_use(&s, &slot));
	CHECK_EQ(grant(&s, 0, 3), 0);
	CHECK_EQ(grant(&s, 1, 0), 0);
	CHECK_EQ(grant(&s, 1, 1), -EPROTO); /* the number */
	CHECK_EQ(grant(&s, 2, 3), -EPROTO);
	CHECK_HAS(err.text, "slot 3 of 4 was given twice");
	CHECK_EQ(grant(&s, 2, 4), -EPROTO); /* there is none */
	CHECK(sfs_verbs_use(&s, &slot) && slot == 3);
	CHECK_EQ(grant(&s, 2, 3), 0); /* again, after it was used */
	CHECK(sfs_verbs_use(&s, &slot) && slot == 0);
	CHECK(sfs_verbs_use(&s, &slot) && slot == 3);
	CHECK_EQ(sfs_verbs_count(&s), 0);
	for (i = 0; i < 1000; i++) { /* around the array */
		CHECK_EQ(sfs_verbs_give(&s, i % 64), i + 3);
		CHECK(sfs_verbs_use(&s, &slot) && slot == i % 64);
	}
	CHECK_EQ(sfs_verbs_share(8, 0), 8);
	CHECK_EQ(sfs_verbs_share(8, 1), 8);
	CHECK_EQ(sfs_verbs_share(8, 3), 2);
	CHECK_EQ(sfs_verbs_share(2, 5), 1);
}

static void stretches(void)
{
	struct shufflefs_layout layout = {.n_samples = 4};
	struct sfs_row a = {.name = "a", .dtype = "u1", .rank = 1, .dims = {10}};
	struct sfs_row b = {.name = "b", .dtype = "i4"};
	uint64_t offset, next;

	CHECK_EQ(sfs_layout_add(&layout, &a, &err), 0);
	CHECK_EQ(sfs_layout_add(&layout, &b, &err), 0);
	/* A full one is one stretch, unless it is too long. */
	CHECK_EQ(sfs_verbs_stretch(&layout, 4, 0, 1 << 20, &offset, &next),
		 layout.slot_bytes);
	CHECK(offset == 0 && next == layout.slot_bytes);
	CHECK_EQ(sfs_verbs_stretch(&layout, 4, next, 1 << 20, &offset, &next), 0);
	CHECK_EQ(sfs_verbs_stretch(&layout, 4, 0, 100, &offset, &next), 100);
	CHECK_EQ(sfs_verbs_stretch(&layout, 4, next, 1 << 20, &offset, &next),
		 layout.slot_bytes - 100);
	CHECK_EQ(offset, 100);
	/* A short one has one for each tensor. */
	CHECK_EQ(sfs_verbs_stretch(&layout, 3, 0, 1 << 20, &offset, &next), 30);
	CHECK_EQ(offset, layout.tensors[0].offset);
	CHECK_EQ(sfs_verbs_stretch(&layout, 3, next, 1 << 20, &offset, &next), 12);
	CHECK_EQ(offset, layout.tensors[1].offset);
	CHECK_EQ(sfs_verbs_stretch(&layout, 3, next, 1 << 20, &offset, &next), 0);
}

int main(void)
{
	urls();
	private_data();
	offers();
	grants();
	stretches();
	return 0;
}
