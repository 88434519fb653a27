/* SPDX-License-Identifier: MIT */
/* What a peer sends over RDMA: private data, an OFFER, and GRANTs one after the other;
 * and the URL of a user. */
#include "fuzz.h"

#include "verbs-wire.h"

static void private_data(const uint8_t *data, size_t n)
{
	struct sfs_wire_hello hello;
	struct sfs_wire_reply reply;
	unsigned char again[SFS_VERBS_REJECT_MAX];
	uint8_t *copy = fuzz_copy(data, n);

	if (sfs_verbs_get_hello(copy, n, &hello, NULL) == 0)
		MUST(hello.slot_bytes > 0);
	if (sfs_verbs_get_reply(copy, n, &reply, NULL) == 0)
		MUST(sfs_verbs_put_refusal(&reply, again) <= sizeof again);
	free(copy);
}

static void messages(const uint8_t *data, size_t n)
{
	struct sfs_verbs_slots slots = {0};
	struct sfs_verbs_offer offer = {.n_slots = 0};
	struct sfs_verbs_grant grant;
	uint32_t slot;

	if (n < SFS_VERBS_OFFER_BYTES)
		return;
	if (sfs_verbs_get_offer(data, SFS_VERBS_OFFER_BYTES, 4096, &offer, NULL) == 0) {
		MUST(offer.n_slots > 0 && offer.n_slots <= SFS_VERBS_SLOTS_MAX);
		MUST(offer.address + offer.stride * offer.n_slots >= offer.address);
	} else {
		offer.n_slots = 0;
	}
	data += SFS_VERBS_OFFER_BYTES;
	n -= SFS_VERBS_OFFER_BYTES;
	for (; n >= SFS_VERBS_GRANT_BYTES; n -= SFS_VERBS_GRANT_BYTES) {
		if (sfs_verbs_get_grant(data, SFS_VERBS_GRANT_BYTES, offer.n_slots,
					&slots, &grant, NULL) == 0)
			MUST(grant.slot < offer.n_slots);
		MUST(sfs_verbs_count(&slots) <= offer.n_slots);
		if (data[2] & 1 && sfs_verbs_use(&slots, &slot))
			MUST(slot < offer.n_slots);
		data += SFS_VERBS_GRANT_BYTES;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct sfs_verbs_url url;
	char *text = malloc(n + 1);

	memcpy(text, data, n);
	text[n] = 0;
	if (sfs_verbs_parse_url(text, &url, NULL) == 0)
		MUST(url.host[0] && url.port[0] && strlen(url.port) < 8);
	free(text);
	private_data(data, n);
	messages(data, n);
	return 0;
}
