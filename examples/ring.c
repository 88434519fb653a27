/* SPDX-License-Identifier: MIT */
/* Read batches from a ring of shufflefs-sidecar, and print name, shape and sum of the
 * first tensor of each.
 *
 *	shufflefs-sidecar recv tcp://127.0.0.1:18515 --ring /run/user/0/ring0 &
 *	cc ring.c -o ring $(pkg-config --cflags --libs shufflefs-ring)
 *	./ring /run/user/0/ring0
 */
#include <shufflefs/ring.h>
#include <stdio.h>

/* The sum of all bytes that the batch fills. */
static unsigned long long sum(const struct shufflefs_tensor *t,
			      const struct shufflefs_batch *batch)
{
	unsigned long long total = 0, i;

	for (i = 0; i < t->row_bytes * batch->n_samples; i++)
		total += batch->data[t->offset + i];
	return total;
}

int main(int argc, char **argv)
{
	const struct shufflefs_tensor *t;
	struct shufflefs_ring *ring = NULL;
	struct shufflefs_batch batch;
	unsigned d;
	int ret;

	ret = argc == 2 ? shufflefs_ring_attach(argv[1], 10000, &ring) : -1;
	while (ret >= 0 && (ret = shufflefs_ring_next(ring, 60000, &batch)) == 1) {
		t = &shufflefs_ring_layout(ring)->tensors[0];
		printf("batch %llu: %s %u", (unsigned long long)batch.seq, t->name,
		       batch.n_samples);
		for (d = 1; d < t->rank; d++)
			printf("x%llu", (unsigned long long)t->dims[d]);
		printf(" sum %llu\n", sum(t, &batch));
		ret = shufflefs_ring_release(ring, batch.seq);
	}
	if (ret < 0)
		fprintf(stderr, "ring: %s\n",
			ring ? shufflefs_ring_error(ring) : "usage: ring PATH");
	shufflefs_ring_detach(ring);
	return ret < 0;
}
