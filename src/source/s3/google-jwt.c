/* SPDX-License-Identifier: MIT */
#include "source/s3/google-jwt.h"

#include "base/alloc.h"
#include "base/base64.h"
#include "base/crypto.h"
#include "base/json-writer.h"
#include "source/http/credentials.h"

#include <errno.h>
#include <string.h>

#define SCOPE  "https://www.googleapis.com/auth/devstorage.read_only"
#define GOOD_S 3600

/* Base64 as it may be a part of a URL (RFC 4648, 5), without padding. */
static void add_encoded(struct sfs_strbuf *text, const void *bytes, size_t n)
{
	sfs_autofree char *encoded = sfs_base64_encode(bytes, n);
	char *p;

	for (p = encoded; *p && *p != '='; p++)
		*p = *p == '+' ? '-' : *p == '/' ? '_' : *p;
	sfs_strbuf_add(text, encoded, (size_t)(p - encoded));
}

static void add_header(struct sfs_strbuf *text, const char *key_id)
{
	struct sfs_strbuf json = {0};
	struct sfs_json_writer w = {.text = &json};

	sfs_json_open(&w, NULL, '{');
	sfs_json_put_string(&w, "alg", "RS256");
	sfs_json_put_string(&w, "typ", "JWT");
	if (key_id)
		sfs_json_put_string(&w, "kid", key_id);
	sfs_json_close(&w, '}');
	add_encoded(text, json.s, json.n);
	sfs_strbuf_done(&json);
}

static void add_claims(struct sfs_strbuf *text, const char *email, const char *audience,
		       int64_t now_s)
{
	struct sfs_strbuf json = {0};
	struct sfs_json_writer w = {.text = &json};

	sfs_json_open(&w, NULL, '{');
	sfs_json_put_string(&w, "iss", email);
	sfs_json_put_string(&w, "scope", SCOPE);
	sfs_json_put_string(&w, "aud", audience);
	sfs_json_put_uint(&w, "iat", (uint64_t)now_s);
	sfs_json_put_uint(&w, "exp", (uint64_t)now_s + GOOD_S);
	sfs_json_close(&w, '}');
	add_encoded(text, json.s, json.n);
	sfs_strbuf_done(&json);
}

char *sfs_google_jwt(const char *account, const char *audience, int64_t now_s,
		     struct sfs_error *err)
{
	sfs_autofree char *email = sfs_credentials_member(account, "client_email");
	sfs_autofree char *key_id = sfs_credentials_member(account, "private_key_id");
	char *pem = sfs_credentials_member(account, "private_key");
	sfs_autofree unsigned char *signature = NULL;
	struct sfs_strbuf text = {0};
	size_t n = 0;

	add_header(&text, key_id);
	sfs_strbuf_puts(&text, ".");
	add_claims(&text, email ? email : "", audience, now_s);
	if (pem)
		signature = sfs_rsa_sha256_sign(pem, text.s, text.n, &n);
	if (pem)
		explicit_bzero(pem, strlen(pem));
	free(pem);
	if (!email || !signature) {
		sfs_strbuf_done(&text);
		sfs_error_set(err, -EBADMSG, "%s",
			      email ? "its private_key is not one in PEM" : "it has no client_email");
		return NULL;
	}
	sfs_strbuf_puts(&text, ".");
	add_encoded(&text, signature, n);
	return text.s;
}
