/* SPDX-License-Identifier: MIT */
/* How this works: numbers are put and got byte by byte, so alignment and the machine's
 * byte order do not matter, but for the layout, whose struct goes as it is (layout.h).
 * Decoding checks all that can be checked without knowing the session. */
#include "transport/wire.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#define MAGIC		 0x31534653U /* "SFS1" */
#define BATCH_BODY_BYTES 32
#define FLAG_FAILED	 1 /* of a BYE */

_Static_assert(__BYTE_ORDER == __LITTLE_ENDIAN, "tensors and layouts are little-endian");
_Static_assert(sizeof(struct shufflefs_layout) <=
		       SFS_WIRE_MESSAGE_MAX - SFS_WIRE_HEADER_BYTES,
	       "a layout fits into a message");

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

static void put_prefix(unsigned char *bytes, size_t n)
{
	put(bytes, MAGIC, 4);
	put(bytes + 4, SFS_WIRE_VERSION, 2);
	put(bytes + 6, n, 2);
}

void sfs_wire_put_hello(const struct sfs_wire_hello *hello,
			unsigned char bytes[SFS_WIRE_HELLO_BYTES])
{
	put_prefix(bytes, SFS_WIRE_HELLO_BYTES);
	put(bytes + 8, hello->session, 8);
	put(bytes + 16, hello->oldest, 8);
	put(bytes + 24, hello->slot_bytes, 8);
	put(bytes + 32, hello->layout_hash, 8);
	put(bytes + 40, hello->process, 4);
	put(bytes + 44, hello->has_secret, 4);
}

void sfs_wire_put_proof(const struct sfs_wire_proof *proof,
			unsigned char bytes[SFS_WIRE_PROOF_BYTES])
{
	put_prefix(bytes, SFS_WIRE_PROOF_BYTES);
	memcpy(bytes + 8, proof->nonce, SFS_WIRE_NONCE_BYTES);
	memcpy(bytes + 40, proof->tag, SFS_WIRE_TAG_BYTES);
}

/* What is behind the numbers of a REPLY: a nonce, a tag, or a text. */
static const void *behind(const struct sfs_wire_reply *reply, size_t *ret_n)
{
	*ret_n = SFS_WIRE_TAG_BYTES;
	if (reply->code == SFS_WIRE_CHALLENGE)
		return reply->nonce;
	if (reply->code == SFS_WIRE_ACCEPT && reply->has_tag)
		return reply->tag;
	*ret_n = strlen(reply->text);
	return reply->text;
}

_Static_assert(SFS_WIRE_TAG_BYTES == SFS_WIRE_NONCE_BYTES, "of behind()");

size_t sfs_wire_put_reply(const struct sfs_wire_reply *reply,
			  unsigned char bytes[SFS_WIRE_REPLY_BYTES + SFS_WIRE_TEXT_MAX])
{
	size_t n_behind;
	const void *last = behind(reply, &n_behind);

	memset(bytes, 0, SFS_WIRE_REPLY_BYTES);
	put_prefix(bytes, SFS_WIRE_REPLY_BYTES + n_behind);
	put(bytes + 8, reply->session, 8);
	put(bytes + 16, reply->resume, 8);
	put(bytes + 24, reply->code, 4);
	put(bytes + 28, reply->window, 4);
	put(bytes + 32, reply->consumed, 8);
	memcpy(bytes + SFS_WIRE_REPLY_BYTES, last, n_behind);
	return SFS_WIRE_REPLY_BYTES + n_behind;
}

int sfs_wire_check_prefix(const unsigned char bytes[SFS_WIRE_PREFIX_BYTES],
			  const char *peer, struct sfs_error *err)
{
	unsigned version = (unsigned)get(bytes + 4, 2), n = (unsigned)get(bytes + 6, 2);

	if (get(bytes, 4) != MAGIC)
		return sfs_error_set(err, -EPROTO,
				     "the peer is not a shufflefs-sidecar: it does not "
				     "begin with SFS1 (version %d)",
				     SFS_WIRE_VERSION);
	if (version != SFS_WIRE_VERSION)
		return sfs_error_set(err, -EPROTO,
				     "the %s speaks version %u of the protocol, and this "
				     "is version %d; install the same shufflefs on both",
				     peer, version, SFS_WIRE_VERSION);
	if (n < SFS_WIRE_HELLO_BYTES || n > SFS_WIRE_REPLY_BYTES + SFS_WIRE_TEXT_MAX)
		return sfs_error_set(err, -EPROTO, "the %s's first message has %u bytes",
				     peer, n);
	return (int)n;
}

int sfs_wire_get_hello(const unsigned char *bytes, size_t n,
		       struct sfs_wire_hello *ret_hello, struct sfs_error *err)
{
	if (n != SFS_WIRE_HELLO_BYTES)
		return sfs_error_set(err, -EPROTO, "a HELLO of %zu bytes, not %d", n,
				     SFS_WIRE_HELLO_BYTES);
	*ret_hello = (struct sfs_wire_hello){.session = get(bytes + 8, 8),
					     .oldest = get(bytes + 16, 8),
					     .slot_bytes = get(bytes + 24, 8),
					     .layout_hash = get(bytes + 32, 8),
					     .process = (uint32_t)get(bytes + 40, 4),
					     .has_secret = get(bytes + 44, 4) == 1};
	if (get(bytes + 44, 4) > 1)
		return sfs_error_set(err, -EPROTO, "a HELLO with the unknown proof %u",
				     (unsigned)get(bytes + 44, 4));
	if (ret_hello->slot_bytes == 0 || ret_hello->slot_bytes > SFS_LAYOUT_SLOT_MAX)
		return sfs_error_set(err, -EPROTO,
				     "a HELLO that wants slots of %llu bytes",
				     (unsigned long long)ret_hello->slot_bytes);
	return 0;
}

/* A peer's text: printable, or '?'. */
static void get_text(const unsigned char *bytes, size_t n, char *ret_text)
{
	size_t i;

	if (n > SFS_WIRE_TEXT_MAX - 1)
		n = SFS_WIRE_TEXT_MAX - 1;
	for (i = 0; i < n; i++)
		ret_text[i] = bytes[i] < ' ' || bytes[i] == 127 ? '?' : (char)bytes[i];
	ret_text[n] = 0;
}

int sfs_wire_get_proof(const unsigned char *bytes, size_t n,
		       struct sfs_wire_proof *ret_proof, struct sfs_error *err)
{
	if (n != SFS_WIRE_PROOF_BYTES)
		return sfs_error_set(err, -EPROTO, "a PROOF of %zu bytes, not %d", n,
				     SFS_WIRE_PROOF_BYTES);
	memcpy(ret_proof->nonce, bytes + 8, SFS_WIRE_NONCE_BYTES);
	memcpy(ret_proof->tag, bytes + 40, SFS_WIRE_TAG_BYTES);
	return 0;
}

/* A nonce or a tag instead of a text. */
static int get_behind(const unsigned char *bytes, size_t n, struct sfs_wire_reply *reply,
		      struct sfs_error *err)
{
	bool has_32 = n == SFS_WIRE_TAG_BYTES;

	if (reply->code == SFS_WIRE_CHALLENGE && !has_32)
		return sfs_error_set(err, -EPROTO, "a CHALLENGE of %zu bytes", n);
	if (reply->code == SFS_WIRE_CHALLENGE) {
		memcpy(reply->nonce, bytes, n);
	} else if (reply->code == SFS_WIRE_ACCEPT) {
		reply->has_tag = has_32;
		memcpy(reply->tag, bytes, has_32 ? n : 0);
	} else {
		get_text(bytes, n, reply->text);
	}
	return 0;
}

int sfs_wire_get_reply(const unsigned char *bytes, size_t n,
		       struct sfs_wire_reply *ret_reply, struct sfs_error *err)
{
	uint32_t code;

	if (n < SFS_WIRE_REPLY_BYTES)
		return sfs_error_set(err, -EPROTO, "a REPLY of %zu bytes", n);
	code = (uint32_t)get(bytes + 24, 4);
	if (code > SFS_WIRE_CHALLENGE)
		return sfs_error_set(err, -EPROTO, "a REPLY with the code %u", code);
	*ret_reply =
		(struct sfs_wire_reply){.session = get(bytes + 8, 8),
					.resume = get(bytes + 16, 8),
					.code = code,
					.window = (uint32_t)get(bytes + 28, 4),
					.consumed = get(bytes + 32, 8)};
	if (code == SFS_WIRE_ACCEPT && ret_reply->window == 0)
		return sfs_error_set(err, -EPROTO, "a REPLY without a window");
	return get_behind(bytes + SFS_WIRE_REPLY_BYTES, n - SFS_WIRE_REPLY_BYTES,
			  ret_reply, err);
}

static size_t put_body(const struct sfs_wire_message *m,
		       const struct shufflefs_layout *layout, unsigned char *body)
{
	size_t n = 0;

	if (m->kind == SFS_WIRE_LAYOUT) {
		memcpy(body, layout, sizeof *layout);
		n = sizeof *layout;
	} else if (m->kind == SFS_WIRE_BATCH) {
		put(body, m->info.epoch, 8);
		put(body + 8, m->info.first, 8);
		put(body + 16, m->info.end, 8);
		put(body + 24, m->crc, 4);
		put(body + 28, 0, 4);
		n = BATCH_BODY_BYTES;
	} else if (m->kind == SFS_WIRE_BYE) {
		n = strlen(m->text);
		memcpy(body, m->text, n);
	}
	return n;
}

static uint16_t flags_of(const struct sfs_wire_message *m)
{
	return m->kind == SFS_WIRE_BYE && m->has_failed ? FLAG_FAILED : 0;
}

size_t sfs_wire_put(const struct sfs_wire_message *m,
		    const struct shufflefs_layout *layout,
		    unsigned char bytes[SFS_WIRE_MESSAGE_MAX])
{
	size_t n = SFS_WIRE_HEADER_BYTES;

	n += put_body(m, layout, bytes + n);
	put(bytes, m->kind, 2);
	put(bytes + 2, flags_of(m), 2);
	put(bytes + 4, n, 4);
	put(bytes + 8, m->seq, 8);
	put(bytes + 16, m->kind == SFS_WIRE_BATCH ? m->info.n_samples : 0, 8);
	put(bytes + 24, m->kind == SFS_WIRE_BATCH ? m->n_bytes : 0, 8);
	return n;
}

static bool is_length_of(unsigned kind, size_t n_body)
{
	switch (kind) {
	case SFS_WIRE_LAYOUT: return n_body == sizeof(struct shufflefs_layout);
	case SFS_WIRE_BATCH: return n_body == BATCH_BODY_BYTES;
	case SFS_WIRE_BYE: return n_body < SFS_WIRE_TEXT_MAX;
	default: return n_body == 0;
	}
}

int sfs_wire_check_header(const unsigned char bytes[SFS_WIRE_HEADER_BYTES],
			  struct sfs_error *err)
{
	unsigned kind = (unsigned)get(bytes, 2);
	uint64_t n = get(bytes + 4, 4);

	if (kind < SFS_WIRE_LAYOUT || kind == 2 || kind == 7 || kind > SFS_WIRE_ENDED)
		return sfs_error_set(err, -EPROTO, "a message of the unknown kind %u",
				     kind);
	if (n < SFS_WIRE_HEADER_BYTES || !is_length_of(kind, n - SFS_WIRE_HEADER_BYTES))
		return sfs_error_set(err, -EPROTO,
				     "a message of kind %u that has %llu bytes", kind,
				     (unsigned long long)n);
	return (int)n;
}

static int get_batch(const unsigned char *bytes, const struct shufflefs_layout *layout,
		     struct sfs_wire_message *m, struct sfs_error *err)
{
	const unsigned char *body = bytes + SFS_WIRE_HEADER_BYTES;
	uint64_t n_samples = get(bytes + 16, 8);

	if (!layout)
		return sfs_error_set(err, -EPROTO, "a batch before its layout");
	if (n_samples == 0 || n_samples > layout->n_samples)
		return sfs_error_set(err, -EPROTO,
				     "batch %llu has %llu samples, its layout %u",
				     (unsigned long long)m->seq,
				     (unsigned long long)n_samples, layout->n_samples);
	m->n_bytes = get(bytes + 24, 8);
	m->info = (struct sfs_batch_info){.epoch = get(body, 8),
					  .first = get(body + 8, 8),
					  .end = get(body + 16, 8),
					  .n_samples = (uint32_t)n_samples};
	m->crc = (uint32_t)get(body + 24, 4);
	if (m->n_bytes != sfs_wire_data_bytes(layout, m->info.n_samples))
		return sfs_error_set(
			err, -EPROTO, "batch %llu has %llu bytes, by its layout %llu",
			(unsigned long long)m->seq, (unsigned long long)m->n_bytes,
			(unsigned long long)sfs_wire_data_bytes(layout,
								m->info.n_samples));
	if (m->info.first > m->info.end)
		return sfs_error_set(err, -EPROTO, "batch %llu ends before it begins",
				     (unsigned long long)m->seq);
	return 0;
}

int sfs_wire_get(const unsigned char *bytes, size_t n,
		 const struct shufflefs_layout *layout,
		 struct sfs_wire_message *ret_message,
		 struct shufflefs_layout *ret_layout, struct sfs_error *err)
{
	struct shufflefs_layout got;
	int ret;

	memset(ret_message, 0, sizeof *ret_message);
	ret_message->kind = (enum sfs_wire_kind)get(bytes, 2);
	ret_message->seq = get(bytes + 8, 8);
	switch (ret_message->kind) {
	case SFS_WIRE_LAYOUT:
		memcpy(&got, bytes + SFS_WIRE_HEADER_BYTES, sizeof got);
		ret = sfs_layout_check(&got, err);
		if (ret < 0)
			return ret;
		*ret_layout = got;
		return 0;
	case SFS_WIRE_BATCH: return get_batch(bytes, layout, ret_message, err);
	case SFS_WIRE_BYE:
		get_text(bytes + SFS_WIRE_HEADER_BYTES, n - SFS_WIRE_HEADER_BYTES,
			 ret_message->text);
		ret_message->has_failed = get(bytes + 2, 2) & FLAG_FAILED;
		return 0;
	default: return 0;
	}
}

uint64_t sfs_wire_data_bytes(const struct shufflefs_layout *layout, uint32_t n_samples)
{
	uint64_t n = 0;
	uint32_t t;

	for (t = 0; t < layout->n_tensors; t++)
		n += sfs_layout_bytes(layout, t, n_samples);
	return n;
}

uint64_t sfs_wire_piece(const struct shufflefs_layout *layout, uint32_t n_samples,
			uint64_t from, uint64_t *ret_offset)
{
	uint32_t t;

	for (t = 0; t < layout->n_tensors; t++) {
		uint64_t n = sfs_layout_bytes(layout, t, n_samples);

		if (from < n) {
			*ret_offset = layout->tensors[t].offset + from;
			return n - from;
		}
		from -= n;
	}
	return 0;
}

static uint32_t crc_table[256];

__attribute__((constructor)) static void make_crc_table(void)
{
	uint32_t i, c;
	int bit;

	for (i = 0; i < 256; i++) {
		for (c = i, bit = 0; bit < 8; bit++)
			c = c & 1 ? (c >> 1) ^ 0x82f63b78U : c >> 1;
		crc_table[i] = c;
	}
}

static uint32_t crc_add_plain(uint32_t crc, const unsigned char *p, uint64_t n)
{
	for (; n > 0; n--)
		crc = crc_table[(crc ^ *p++) & 255] ^ (crc >> 8);
	return crc;
}

#ifdef __x86_64__
__attribute__((target("sse4.2"))) static uint32_t crc_add_sse(uint32_t crc,
							      const unsigned char *p,
							      uint64_t n)
{
	uint64_t c = crc;

	for (; n >= 8; p += 8, n -= 8)
		c = __builtin_ia32_crc32di(c, get(p, 8));
	return crc_add_plain((uint32_t)c, p, n);
}
#endif

static uint32_t crc_add(uint32_t crc, const unsigned char *p, uint64_t n)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("sse4.2"))
		return crc_add_sse(crc, p, n);
#endif
	return crc_add_plain(crc, p, n);
}

uint32_t sfs_wire_crc(const struct shufflefs_layout *layout, uint32_t n_samples,
		      const void *slot)
{
	uint64_t from = 0, n, offset;
	uint32_t crc = ~0U;

	for (; (n = sfs_wire_piece(layout, n_samples, from, &offset)) > 0; from += n)
		crc = crc_add(crc, (const unsigned char *)slot + offset, n);
	crc = ~crc;
	return crc != 0 ? crc : 1;
}
