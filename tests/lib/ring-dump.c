/* SPDX-License-Identifier: MIT */
/* ring-dump PATH - a consumer that writes the rows of each batch, tensor by tensor, to
 * standard output.  Waits until there is a ring.  Exit 1: the ring's error is on standard
 * error. */
#include "shufflefs/ring.h"

#include <stdio.h>

#define WAIT_MS 60000

int main(int argc, char **argv)
{
	const struct shufflefs_layout *layout;
	struct shufflefs_ring *ring;
	struct shufflefs_batch batch;
	uint32_t t;
	int ret;

	if (argc != 2)
		return 2;
	ret = shufflefs_ring_attach(argv[1], WAIT_MS, &ring);
	while (ret >= 0 && (ret = shufflefs_ring_next(ring, WAIT_MS, &batch)) == 1) {
		layout = shufflefs_ring_layout(ring);
		for (t = 0; t < layout->n_tensors; t++)
			fwrite(batch.data + layout->tensors[t].offset,
			       layout->tensors[t].row_bytes, batch.n_samples, stdout);
		ret = shufflefs_ring_release(ring, batch.seq);
	}
	if (ret < 0)
		fprintf(stderr, "%s\n", shufflefs_ring_error(ring));
	shufflefs_ring_detach(ring);
	return ret < 0 || fflush(stdout) != 0;
}
