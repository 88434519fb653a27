/* SPDX-License-Identifier: MIT */
#include "base/crypto.h"

#include "base/alloc.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <stdlib.h>

void sfs_sha256(const void *bytes, size_t n, unsigned char ret[SFS_SHA256_BYTES])
{
	if (!EVP_Digest(bytes, n, ret, NULL, EVP_sha256(), NULL))
		abort(); /* a libcrypto without SHA-256 */
}

void sfs_hmac_sha256(const void *key, size_t n_key, const void *bytes, size_t n,
		     unsigned char ret[SFS_SHA256_BYTES])
{
	if (!HMAC(EVP_sha256(), key, (int)n_key, bytes, n, ret, NULL))
		abort();
}

/* No password is asked for. */
static int no_password(char *to, int size, int is_write, void *ctx)
{
	return -1;
}

static EVP_PKEY *read_key(const char *pem)
{
	BIO *bio = BIO_new_mem_buf(pem, -1);
	EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL) : NULL;

	BIO_free(bio);
	if (key && EVP_PKEY_base_id(key) == EVP_PKEY_RSA)
		return key;
	EVP_PKEY_free(key);
	return NULL;
}

unsigned char *sfs_rsa_sha256_sign(const char *pem, const void *bytes, size_t n,
				   size_t *ret_n)
{
	EVP_PKEY *key = read_key(pem);
	EVP_MD_CTX *md = EVP_MD_CTX_new();
	unsigned char *signature = NULL;
	size_t size = 0;

	if (key && md && EVP_DigestSignInit(md, NULL, EVP_sha256(), NULL, key) == 1 &&
	    EVP_DigestSign(md, NULL, &size, bytes, n) == 1) {
		signature = sfs_malloc(size);
		if (EVP_DigestSign(md, signature, &size, bytes, n) != 1)
			free(steal(&signature));
	}
	EVP_MD_CTX_free(md);
	EVP_PKEY_free(key);
	ERR_clear_error();
	*ret_n = size;
	return signature;
}

bool sfs_crypto_equal(const void *a, const void *b, size_t n)
{
	return CRYPTO_memcmp(a, b, n) == 0;
}
