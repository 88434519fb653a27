/* SPDX-License-Identifier: MIT */
#include "base/alloc.h"
#include "base/base64.h"
#include "check.h"

#include <errno.h>

static void is(const char *bytes, const char *text)
{
	sfs_autofree char *encoded = sfs_base64_encode(bytes, strlen(bytes));
	char decoded[16];

	CHECK_STR(encoded, text);
	CHECK_EQ(sfs_base64_decode(text, decoded, strlen(bytes)), strlen(bytes));
	CHECK(memcmp(decoded, bytes, strlen(bytes)) == 0);
	CHECK(strlen(bytes) == 0 ||
	      sfs_base64_decode(text, decoded, strlen(bytes) - 1) == -EINVAL);
}

int main(void)
{
	static const char *const bad[] = {"Z", "Zg", "Zg=", "Z===", "====", "Zg==Zg==",
					  "Zg= ", "Zm9v\n", "Zm9-", "=AAA"};
	unsigned char bytes[256], decoded[256];
	char *text;
	size_t i;

	/* The vectors of the RFC. */
	is("", "");
	is("f", "Zg==");
	is("fo", "Zm8=");
	is("foo", "Zm9v");
	is("foob", "Zm9vYg==");
	is("fooba", "Zm9vYmE=");
	is("foobar", "Zm9vYmFy");
	for (i = 0; i < SFS_COUNT(bad); i++)
		CHECK_EQ(sfs_base64_decode(bad[i], decoded, sizeof decoded), -EINVAL);
	for (i = 0; i < sizeof bytes; i++)
		bytes[i] = (unsigned char)(i * 7);
	text = sfs_base64_encode(bytes, sizeof bytes);
	CHECK_EQ(sfs_base64_decode(text, decoded, sizeof decoded), sizeof bytes);
	CHECK(memcmp(bytes, decoded, sizeof bytes) == 0);
	free(text);
	return 0;
}
