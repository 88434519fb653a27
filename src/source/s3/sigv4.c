/* SPDX-License-Identifier: MIT */
/* How this works: the request is written as a canonical text, whose hash goes into a
 * second text, which is signed with a key that is derived from the secret, the day, the
 * region and the service.  Deriving takes four HMACs, so the key is kept for the day. */
#include "source/s3/sigv4.h"

#include "base/alloc.h"
#include "base/crypto.h"
#include "base/strbuf.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define HASH_BYTES SFS_SHA256_BYTES

static void hmac(const void *key, size_t n_key, const char *text,
		 unsigned char ret[HASH_BYTES])
{
	sfs_hmac_sha256(key, n_key, text, strlen(text), ret);
}

static void to_hex(const unsigned char hash[HASH_BYTES], char ret[2 * HASH_BYTES + 1])
{
	static const char digits[] = "0123456789abcdef";
	int i;

	for (i = 0; i < HASH_BYTES; i++) {
		ret[2 * i] = digits[hash[i] >> 4];
		ret[2 * i + 1] = digits[hash[i] & 15];
	}
	ret[2 * HASH_BYTES] = 0;
}

void sfs_sigv4_key_done(struct sfs_sigv4_key *key)
{
	if (key->origin)
		explicit_bzero(key->origin, strlen(key->origin));
	free(key->origin);
	explicit_bzero(key, sizeof *key);
	*key = (struct sfs_sigv4_key){0};
}

/* Have the key of this request's day. */
static void derive(const struct sfs_sigv4_request *r, struct sfs_sigv4_key *key)
{
	char *origin = sfs_asprintf("AWS4%s\n%.8s\n%s\n%s", r->secret, r->time, r->region,
				    r->service);
	char day[9];

	if (key->origin && strcmp(key->origin, origin) == 0) {
		explicit_bzero(origin, strlen(origin));
		free(origin);
		return;
	}
	sfs_sigv4_key_done(key);
	key->origin = origin;
	snprintf(day, sizeof day, "%.8s", r->time);
	hmac(origin, 4 + strlen(r->secret), day, key->bytes);
	hmac(key->bytes, HASH_BYTES, r->region, key->bytes);
	hmac(key->bytes, HASH_BYTES, r->service, key->bytes);
	hmac(key->bytes, HASH_BYTES, "aws4_request", key->bytes);
}

static void add_signed_names(const struct sfs_sigv4_request *r, struct sfs_strbuf *text)
{
	int i;

	for (i = 0; i < r->n_headers; i++)
		sfs_strbuf_printf(text, "%s%s", i ? ";" : "", r->headers[i].name);
}

static void hash_request(const struct sfs_sigv4_request *r, char ret[2 * HASH_BYTES + 1])
{
	unsigned char hash[HASH_BYTES];
	struct sfs_strbuf text = {0};
	int i;

	sfs_strbuf_printf(&text, "%s\n%s\n%s\n", r->method, r->path, r->query);
	for (i = 0; i < r->n_headers; i++)
		sfs_strbuf_printf(&text, "%s:%s\n", r->headers[i].name,
				  r->headers[i].value);
	sfs_strbuf_puts(&text, "\n");
	add_signed_names(r, &text);
	sfs_strbuf_printf(&text, "\n%s", r->payload_hash);
	sfs_sha256(text.s, text.n, hash);
	to_hex(hash, ret);
	sfs_strbuf_done(&text);
}

char *sfs_sigv4_sign(const struct sfs_sigv4_request *r, struct sfs_sigv4_key *key)
{
	char request_hash[2 * HASH_BYTES + 1], signature[2 * HASH_BYTES + 1];
	unsigned char hash[HASH_BYTES];
	sfs_autofree char *scope =
		sfs_asprintf("%.8s/%s/%s/aws4_request", r->time, r->region, r->service);
	sfs_autofree char *text = NULL;
	struct sfs_strbuf value = {0};

	hash_request(r, request_hash);
	text = sfs_asprintf("AWS4-HMAC-SHA256\n%s\n%s\n%s", r->time, scope, request_hash);
	derive(r, key);
	hmac(key->bytes, HASH_BYTES, text, hash);
	to_hex(hash, signature);
	sfs_strbuf_printf(&value,
			  "AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=", r->key_id,
			  scope);
	add_signed_names(r, &value);
	sfs_strbuf_printf(&value, ", Signature=%s", signature);
	return value.s;
}

const char *sfs_sigv4_time(int64_t s, char buf[24])
{
	time_t t = (time_t)s;
	struct tm tm;

	if (!gmtime_r(&t, &tm) || strftime(buf, 24, "%Y%m%dT%H%M%SZ", &tm) == 0)
		memcpy(buf, "19700101T000000Z", 17);
	return buf;
}
