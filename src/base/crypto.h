/* SPDX-License-Identifier: MIT */
/* crypto - SHA-256, HMAC-SHA256, signatures by RSA, and comparing secrets.  Pure.  The
 * one module that knows libcrypto. */
#ifndef SFS_CRYPTO_H
#define SFS_CRYPTO_H

#include <stdbool.h>
#include <stddef.h>

#define SFS_SHA256_BYTES 32

void sfs_sha256(const void *bytes, size_t n, unsigned char ret[SFS_SHA256_BYTES]);

/* `ret` may be the key. */
void sfs_hmac_sha256(const void *key, size_t n_key, const void *bytes, size_t n,
		     unsigned char ret[SFS_SHA256_BYTES]);

/* Sign with RSA and SHA-256 (RFC 8017: RSASSA-PKCS1-v1_5), by a private key in PEM.
 * Returns the signature, which the caller frees, and its length.  NULL: `pem` is no such
 * key. */
unsigned char *sfs_rsa_sha256_sign(const char *pem, const void *bytes, size_t n,
				   size_t *ret_n);

/* Are these the same?  Takes as long whatever they are. */
bool sfs_crypto_equal(const void *a, const void *b, size_t n);

#endif
