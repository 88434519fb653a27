/* SPDX-License-Identifier: MIT */
/* The vectors are AWS's: "Signature Calculations for the Authorization Header" of the S3
 * API reference, and the test suite of Signature Version 4. */
#include "base/alloc.h"
#include "check.h"
#include "source/s3/sigv4.h"

#include <stdbool.h>

static struct sfs_sigv4_key key;

static void expect(const struct sfs_sigv4_request *r, const char *begin,
		   const char *signature)
{
	sfs_autofree char *value = sfs_sigv4_sign(r, &key), *again = NULL;

	CHECK(strncmp(value, begin, strlen(begin)) == 0);
	CHECK_STR(strstr(value, "Signature=") + 10, signature);
	again = sfs_sigv4_sign(r, &key); /* with the key of the day, which is known now */
	CHECK_STR(again, value);
}

static void check_s3(const char *path, const char *query, bool has_range,
		     const char *signature)
{
	const struct sfs_sigv4_header with_range[] = {{"host",
						       "examplebucket.s3.amazonaws.com"},
						      {"range", "bytes=0-9"},
						      {"x-amz-content-sha256",
						       SFS_SIGV4_EMPTY},
						      {"x-amz-date", "20130524T000000Z"}};
	const struct sfs_sigv4_header without[] = {with_range[0], with_range[2],
						   with_range[3]};
	const struct sfs_sigv4_request r = {
		.method = "GET",
		.path = path,
		.query = query,
		.headers = has_range ? with_range : without,
		.n_headers = has_range ? 4 : 3,
		.payload_hash = SFS_SIGV4_EMPTY,
		.time = "20130524T000000Z",
		.region = "us-east-1",
		.service = "s3",
		.key_id = "AKIAIOSFODNN7EXAMPLE",
		.secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
	};

	expect(&r,
	       has_range ? "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/"
			   "us-east-1/s3/aws4_request, SignedHeaders=host;range;"
			   "x-amz-content-sha256;x-amz-date, Signature="
			 : "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/"
			   "us-east-1/s3/aws4_request, SignedHeaders=host;"
			   "x-amz-content-sha256;x-amz-date, Signature=",
	       signature);
}

static void check_suite(const char *method, const char *query, const char *signature)
{
	const struct sfs_sigv4_header headers[] = {{"host", "example.amazonaws.com"},
						   {"x-amz-date", "20150830T123600Z"}};
	const struct sfs_sigv4_request r = {
		.method = method,
		.path = "/",
		.query = query,
		.headers = headers,
		.n_headers = 2,
		.payload_hash = SFS_SIGV4_EMPTY,
		.time = "20150830T123600Z",
		.region = "us-east-1",
		.service = "service",
		.key_id = "AKIDEXAMPLE",
		.secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
	};

	expect(&r,
	       "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/"
	       "aws4_request, SignedHeaders=host;x-amz-date, Signature=",
	       signature);
}

int main(void)
{
	char buf[24];

	check_s3("/test.txt", "", true,
		 "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
	check_s3("/", "lifecycle=", false,
		 "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
	check_suite("GET", "",
		    "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
	check_s3("/", "max-keys=2&prefix=J", false,
		 "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
	check_suite("GET", "Param1=value1&Param2=value2",
		    "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500");
	check_suite("POST", "",
		    "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b");
	sfs_sigv4_key_done(&key);
	CHECK(!key.origin);
	CHECK_STR(sfs_sigv4_time(1369353600, buf), "20130524T000000Z");
	CHECK_STR(sfs_sigv4_time(1440938160, buf), "20150830T123600Z");
	return 0;
}
