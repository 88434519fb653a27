/* SPDX-License-Identifier: MIT */
/* How long a signature takes: prints microseconds a request of S3, with the key of the day
 * at hand.
 *
 *	make bench/sign-loop && bench/sign-loop
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "source/s3/sigv4.h"

#include <stdio.h>

#define N 100000

int main(void)
{
	const struct sfs_sigv4_header headers[] = {
		{"host", "bucket.s3.eu-central-1.amazonaws.com"},
		{"x-amz-content-sha256", SFS_SIGV4_EMPTY},
		{"x-amz-date", "20261126T120000Z"},
	};
	struct sfs_sigv4_request request = {
		.method = "GET",
		.query = "",
		.headers = headers,
		.n_headers = SFS_COUNT(headers),
		.payload_hash = SFS_SIGV4_EMPTY,
		.time = "20261126T120000Z",
		.region = "eu-central-1",
		.service = "s3",
		.key_id = "AKIDEXAMPLE",
		.secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
	};
	struct sfs_sigv4_key key = {.origin = NULL};
	uint64_t begun_ns = sfs_clock_ns();
	int i;

	for (i = 0; i < N; i++) {
		sfs_autofree char *path = sfs_asprintf("/train/train-%06d.tar", i);

		request.path = path;
		free(sfs_sigv4_sign(&request, &key));
	}
	printf("%.2f\n", (double)(sfs_clock_ns() - begun_ns) / 1000 / N);
	sfs_sigv4_key_done(&key);
	return 0;
}
