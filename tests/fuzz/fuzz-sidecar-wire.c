/* SPDX-License-Identifier: MIT */
/* What a peer of the sidecar sends: a HELLO, a REPLY, a PROOF, or a message.  What is
 * said again is the same, but for bytes that say nothing. */
#include "fuzz.h"

#include "transport/wire.h"

static void first(const uint8_t *data, size_t n)
{
	struct sfs_wire_hello hello;
	unsigned char again[SFS_WIRE_REPLY_BYTES + SFS_WIRE_TEXT_MAX];
	unsigned char again2[SFS_WIRE_REPLY_BYTES + SFS_WIRE_TEXT_MAX];
	struct sfs_wire_reply reply, reply2;
	struct sfs_wire_proof proof;
	uint8_t *copy;
	size_t n_again;
	int wanted = sfs_wire_check_prefix(data, "peer", NULL);

	if (wanted < 0 || (size_t)wanted > n)
		return;
	copy = fuzz_copy(data, (size_t)wanted);
	sfs_wire_get_hello(copy, (size_t)wanted, &hello, NULL);
	if (sfs_wire_get_reply(copy, (size_t)wanted, &reply, NULL) == 0) {
		MUST(memchr(reply.text, 0, sizeof reply.text));
		n_again = sfs_wire_put_reply(&reply, again);
		MUST(sfs_wire_get_reply(again, n_again, &reply2, NULL) == 0);
		MUST(sfs_wire_put_reply(&reply2, again2) == n_again);
		MUST(memcmp(again, again2, n_again) == 0);
	}
	if (sfs_wire_get_proof(copy, (size_t)wanted, &proof, NULL) == 0) {
		sfs_wire_put_proof(&proof, again);
		MUST(memcmp(again, copy, SFS_WIRE_PROOF_BYTES) == 0);
	}
	free(copy);
}

static void message(const uint8_t *data, size_t n, struct shufflefs_layout *layout)
{
	unsigned char again[SFS_WIRE_MESSAGE_MAX];
	struct sfs_wire_message m, m2;
	uint8_t *copy;
	size_t n_again;
	int wanted = sfs_wire_check_header(data, NULL);

	if (wanted < 0 || (size_t)wanted > n)
		return;
	copy = fuzz_copy(data, (size_t)wanted);
	if (sfs_wire_get(copy, (size_t)wanted, layout, &m, layout, NULL) == 0) {
		n_again = sfs_wire_put(&m, layout, again);
		MUST(n_again == (size_t)wanted);
		MUST(sfs_wire_get(again, n_again, layout, &m2, layout, NULL) == 0);
		MUST(m.kind != SFS_WIRE_BATCH || m.n_bytes <= layout->slot_bytes);
		MUST(memcmp(&m, &m2, sizeof m) == 0);
	}
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct shufflefs_layout layout = {.n_samples = 256};
	struct sfs_row row = {.name = "x", .dtype = "u1"};

	if (n < SFS_WIRE_HEADER_BYTES)
		return 0;
	MUST(sfs_layout_add(&layout, &row, NULL) == 0);
	first(data, n);
	message(data, n, &layout);
	return 0;
}
