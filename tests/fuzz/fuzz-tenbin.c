/* SPDX-License-Identifier: MIT */
/* Arrays of a peer.  Data lie within the bytes, are as many as the header says, and
 * written again they are the same header. */
#include "fuzz.h"

#include "formats/tenbin.h"

#include <errno.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_data)
{
	struct sfs_tenbin_reader reader = {data, n_data};
	unsigned char header[SFS_TENBIN_HEADER_MAX];
	struct sfs_tenbin_array array, again;
	const unsigned char *body;
	struct sfs_error err = {0};
	int ret;

	while ((ret = sfs_tenbin_next_array(&reader, &array, &body, &err)) == 1) {
		size_t n = sfs_tenbin_write_header(&array, header);

		MUST(body >= data && array.n_bytes <= n_data);
		MUST(body + array.n_bytes <= data + n_data);
		MUST(reader.bytes + reader.n_bytes == data + n_data);
		MUST(sfs_tenbin_read_header(header, n, &again, NULL) == 0);
		MUST(memcmp(&array, &again, sizeof array) == 0);
	}
	MUST(ret == 0 || (ret == -EBADMSG && err.text[0]));
	return 0;
}
