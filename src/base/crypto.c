/* SPDX-License-Identifier: MIT */
#include "base/crypto.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
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

bool sfs_crypto_equal(const void *a, const void *b, size_t n)
{
	return CRYPTO_memcmp(a, b, n) == 0;
}
