/* SPDX-License-Identifier: MIT */
/* How this works: as wire.c; what is a message of wire.h is left to it. */
#include "verbs-wire.h"

#include "base/alloc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 4096

static void put(unsigned char *p, uint64_t value, size_t n)
{
	memcpy(p, &value, n);
}

static uint64_t get(const unsigned char *p, size_t n)
{
	uint64_t value = 0;

	memcpy(&value, p, n);
	return value;
}

static int bad_url(const char *url, struct sfs_error *err)
{
	return sfs_error_set(err, -EINVAL,
			     "'%s' is not rdma://HOST:PORT[?OPTION[&OPTION]]", url);
}

/* `n` bytes as a string of fewer than `max`. */
static bool copy(const char *from, size_t n, char *to, size_t max)
{
	if (n == 0 || n >= max)
		return false;
	memcpy(to, from, n);
	to[n] = 0;
	return true;
}

/* One of those behind "?". */
static bool take_option(const char *text, size_t n, struct sfs_verbs_url *ret)
{
	static const char device[] = "device=", ordering[] = "relaxed-ordering=";
	char word[4];

	if (strncmp(text, device, strlen(device)) == 0 && n > strlen(device))
		return copy(text + strlen(device), n - strlen(device), ret->device,
			    sizeof ret->device);
	if (strncmp(text, ordering, strlen(ordering)) != 0 || n <= strlen(ordering) ||
	    !copy(text + strlen(ordering), n - strlen(ordering), word, sizeof word))
		return false;
	ret->ordering = strcmp(word, "yes") == 0 ? SFS_VERBS_RELAXED : SFS_VERBS_STRICT;
	return ret->ordering == SFS_VERBS_RELAXED || strcmp(word, "no") == 0;
}

int sfs_verbs_parse_url(const char *url, struct sfs_verbs_url *ret, struct sfs_error *err)
{
	const char *host = url + strlen("rdma://"), *end, *colon, *option;
	size_t n;
	char *behind;

	memset(ret, 0, sizeof *ret);
	if (strncmp(url, "rdma://", strlen("rdma://")) != 0)
		return bad_url(url, err);
	end = host + strcspn(host, "?");
	for (option = end; *option; option += 1 + n) {
		n = strcspn(option + 1, "&");
		if (!take_option(option + 1, n, ret))
			return sfs_error_set(err, -EINVAL,
					     "'%s': its options are device=NAME and "
					     "relaxed-ordering=yes|no",
					     url);
	}
	for (colon = end; colon > host && *colon != ':'; colon--)
		;
	if (colon == end || *colon != ':' ||
	    !copy(colon + 1, (size_t)(end - colon) - 1, ret->port, sizeof ret->port) ||
	    strspn(ret->port, "0123456789") != strlen(ret->port) ||
	    strtoul(ret->port, &behind, 10) > 65535)
		return bad_url(url, err);
	n = (size_t)(colon - host);
	if (n >= 2 && host[0] == '[' && host[n - 1] == ']') {
		host++;
		n -= 2;
	}
	return copy(host, n, ret->host, sizeof ret->host) ? 0 : bad_url(url, err);
}

/* How many of the bytes are the message. */
static int length_of(const unsigned char *bytes, size_t n, const char *peer,
		     struct sfs_error *err)
{
	int ret;

	if (n < SFS_WIRE_PREFIX_BYTES)
		return sfs_error_set(err, -EPROTO,
				     "the peer is not a shufflefs-sidecar: its first "
				     "message has %zu bytes",
				     n);
	ret = sfs_wire_check_prefix(bytes, peer, err);
	if (ret > 0 && (size_t)ret > n)
		return sfs_error_set(err, -EPROTO,
				     "the %s's first message has %zu bytes, not %d", peer,
				     n, ret);
	return ret;
}

int sfs_verbs_get_hello(const void *bytes, size_t n, struct sfs_wire_hello *ret_hello,
			struct sfs_error *err)
{
	int ret = length_of(bytes, n, "sender", err);

	return ret < 0 ? ret : sfs_wire_get_hello(bytes, (size_t)ret, ret_hello, err);
}

int sfs_verbs_get_reply(const void *bytes, size_t n, struct sfs_wire_reply *ret_reply,
			struct sfs_error *err)
{
	int ret = length_of(bytes, n, "receiver", err);

	return ret < 0 ? ret : sfs_wire_get_reply(bytes, (size_t)ret, ret_reply, err);
}

size_t sfs_verbs_put_refusal(const struct sfs_wire_reply *reply,
			     unsigned char bytes[SFS_VERBS_REJECT_MAX])
{
	unsigned char whole[SFS_WIRE_REPLY_BYTES + SFS_WIRE_TEXT_MAX];
	struct sfs_wire_reply cut = *reply;
	size_t n;

	cut.text[SFS_VERBS_REJECT_MAX - SFS_WIRE_REPLY_BYTES] = 0;
	n = sfs_wire_put_reply(&cut, whole);
	memcpy(bytes, whole, n);
	return n;
}

const char *sfs_verbs_memory_name(enum sfs_verbs_memory memory)
{
	static const char *const names[] = {[SFS_VERBS_HOST] = "host",
					    [SFS_VERBS_DMA_BUF] = "dma-buf",
					    [SFS_VERBS_PEERMEM] = "peermem",
					    [SFS_VERBS_STAGED] = "staged"};

	return memory < SFS_COUNT(names) ? names[memory] : NULL;
}

void sfs_verbs_put_offer(const struct sfs_verbs_offer *offer,
			 unsigned char bytes[SFS_VERBS_OFFER_BYTES])
{
	memset(bytes, 0, SFS_VERBS_OFFER_BYTES);
	put(bytes, SFS_VERBS_OFFER, 2);
	put(bytes + 4, SFS_VERBS_OFFER_BYTES, 4);
	put(bytes + 16, offer->address, 8);
	put(bytes + 24, offer->stride, 8);
	put(bytes + 32, offer->rkey, 4);
	put(bytes + 36, offer->n_slots, 4);
	put(bytes + 40, offer->memory, 4);
}

int sfs_verbs_get_offer(const unsigned char *bytes, size_t n, uint64_t slot_bytes,
			struct sfs_verbs_offer *ret, struct sfs_error *err)
{
	uint32_t memory;

	if (n != SFS_VERBS_OFFER_BYTES || get(bytes + 4, 4) != n)
		return sfs_error_set(err, -EPROTO, "an OFFER of %zu bytes", n);
	memory = (uint32_t)get(bytes + 40, 4);
	*ret = (struct sfs_verbs_offer){.address = get(bytes + 16, 8),
					.stride = get(bytes + 24, 8),
					.rkey = (uint32_t)get(bytes + 32, 4),
					.n_slots = (uint32_t)get(bytes + 36, 4),
					.memory = (enum sfs_verbs_memory)memory};
	if (!sfs_verbs_memory_name(ret->memory))
		return sfs_error_set(err, -EPROTO,
				     "the receiver's ring is in memory of the unknown "
				     "kind %u",
				     memory);
	if (ret->n_slots == 0 || ret->n_slots > SFS_VERBS_SLOTS_MAX ||
	    ret->stride < slot_bytes || ret->stride > SFS_LAYOUT_SLOT_MAX + PAGE ||
	    ret->address > UINT64_MAX - ret->stride * ret->n_slots)
		return sfs_error_set(err, -EPROTO,
				     "an OFFER of %u slots, %llu bytes apart, for "
				     "batches of %llu",
				     ret->n_slots, (unsigned long long)ret->stride,
				     (unsigned long long)slot_bytes);
	return 0;
}

void sfs_verbs_put_grant(const struct sfs_verbs_grant *grant,
			 unsigned char bytes[SFS_VERBS_GRANT_BYTES])
{
	put(bytes, SFS_VERBS_GRANT, 2);
	put(bytes + 2, 0, 2);
	put(bytes + 4, SFS_VERBS_GRANT_BYTES, 4);
	put(bytes + 8, grant->credited, 8);
	put(bytes + 16, grant->number, 8);
	put(bytes + 24, grant->slot, 8);
}

enum sfs_verbs_kind sfs_verbs_kind(const unsigned char *bytes, size_t n)
{
	uint64_t kind = n >= 2 ? get(bytes, 2) : 0;

	return kind == SFS_VERBS_OFFER || kind == SFS_VERBS_GRANT
		       ? (enum sfs_verbs_kind)kind
		       : SFS_VERBS_OTHER;
}

uint64_t sfs_verbs_give(struct sfs_verbs_slots *s, uint32_t slot)
{
	s->slots[s->n_given % SFS_VERBS_SLOTS_MAX] = slot;
	return s->n_given++;
}

static bool has(const struct sfs_verbs_slots *s, uint32_t slot)
{
	uint64_t i;

	for (i = s->n_used; i < s->n_given; i++)
		if (s->slots[i % SFS_VERBS_SLOTS_MAX] == slot)
			return true;
	return false;
}

int sfs_verbs_get_grant(const unsigned char *bytes, size_t n, uint32_t n_slots,
			struct sfs_verbs_slots *s, struct sfs_verbs_grant *ret,
			struct sfs_error *err)
{
	uint64_t slot;

	if (n != SFS_VERBS_GRANT_BYTES || get(bytes + 4, 4) != n)
		return sfs_error_set(err, -EPROTO, "a GRANT of %zu bytes", n);
	slot = get(bytes + 24, 8);
	ret->credited = get(bytes + 8, 8);
	ret->number = get(bytes + 16, 8);
	if (ret->number != s->n_given)
		return sfs_error_set(err, -EPROTO,
				     "slot %llu was given, and %llu is next",
				     (unsigned long long)ret->number,
				     (unsigned long long)s->n_given);
	if (slot >= n_slots || has(s, (uint32_t)slot))
		return sfs_error_set(err, -EPROTO, "slot %llu of %u was given%s",
				     (unsigned long long)slot, n_slots,
				     slot < n_slots ? " twice" : "");
	ret->slot = (uint32_t)slot;
	sfs_verbs_give(s, ret->slot);
	return 0;
}

bool sfs_verbs_use(struct sfs_verbs_slots *s, uint32_t *ret_slot)
{
	if (s->n_used == s->n_given)
		return false;
	*ret_slot = s->slots[s->n_used++ % SFS_VERBS_SLOTS_MAX];
	return true;
}

uint32_t sfs_verbs_share(uint32_t n_slots, uint32_t n)
{
	return n <= 1 ? n_slots : n >= n_slots ? 1 : n_slots / n;
}

uint64_t sfs_verbs_stretch(const struct shufflefs_layout *layout, uint32_t n_samples,
			   uint64_t from, uint64_t max, uint64_t *ret_offset,
			   uint64_t *ret_next)
{
	uint64_t n;

	if (n_samples == layout->n_samples) {
		*ret_offset = from;
		n = layout->slot_bytes - from;
	} else {
		n = sfs_wire_piece(layout, n_samples, from, ret_offset);
	}
	n = n < max ? n : max;
	*ret_next = from + n;
	return n;
}
