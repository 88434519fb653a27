/* SPDX-License-Identifier: MIT */
/* The vectors are those of RFC 4231, section 4, and of FIPS 180-2, appendix B. */
#include "base/crypto.h"
#include "check.h"

/* "0b0b..." */
static size_t from_hex(const char *hex, unsigned char *ret)
{
	size_t i, n = strlen(hex) / 2;
	unsigned byte;

	for (i = 0; i < n; i++) {
		CHECK_EQ(sscanf(hex + 2 * i, "%2x", &byte), 1);
		ret[i] = (unsigned char)byte;
	}
	return n;
}

static void expect(const void *key, size_t n_key, const void *data, size_t n,
		   const char *hex)
{
	unsigned char wanted[32], got[32];
	size_t n_wanted = from_hex(hex, wanted);

	sfs_hmac_sha256(key, n_key, data, n, got);
	CHECK(sfs_crypto_equal(got, wanted, n_wanted));
	got[n_wanted - 1] ^= 1;
	CHECK(!sfs_crypto_equal(got, wanted, n_wanted));
}

int main(void)
{
	static const char larger[] =
		"This is a test using a larger than block-size key and a larger than "
		"block-size data. The key needs to be hashed before being used by the "
		"HMAC algorithm.";
	static const char first[] =
		"Test Using Larger Than Block-Size Key - Hash Key First";
	unsigned char key[131], data[50], got[32], wanted[32];
	size_t i;

	memset(key, 0x0b, 20);
	expect(key, 20, "Hi There", 8,
	       "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
	expect("Jefe", 4, "what do ya want for nothing?", 28,
	       "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
	memset(key, 0xaa, sizeof key);
	memset(data, 0xdd, sizeof data);
	expect(key, 20, data, 50,
	       "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
	expect(key, 131, first, strlen(first),
	       "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
	expect(key, 131, larger, strlen(larger),
	       "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
	memset(data, 0xcd, sizeof data);
	for (i = 0; i < 25; i++)
		key[i] = (unsigned char)(i + 1);
	expect(key, 25, data, 50,
	       "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b");
	memset(key, 0x0c, 20);
	expect(key, 20, "Test With Truncation", 20, "a3b6167473100ee06e0c796c2955552b");
	sfs_sha256("abc", 3, got);
	from_hex("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
		 wanted);
	CHECK(memcmp(got, wanted, 32) == 0);
	explicit_bzero(got, sizeof got);
	for (i = 0; i < sizeof got; i++)
		CHECK_EQ(got[i], 0);
	return 0;
}
