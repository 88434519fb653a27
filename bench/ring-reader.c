/* SPDX-License-Identifier: MIT */
/* ring-reader - takes batches from a ring as fast as it can.
 *
 *	ring-reader PATH [touch | stamp]      touch: read one byte of each cache line
 *
 * Prints one line: batches, and the samples, bytes and seconds after the first.  With
 * `stamp`: batches, and the median, the 90th percentile and the most of the microseconds from the time
 * that stands in a batch (bench/ring-filler) until it was here. */
#include "shufflefs/ring.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define N_STAMPS 65536

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static unsigned touch(const unsigned char *bytes, uint64_t n)
{
	unsigned sum = 0;
	uint64_t i;

	for (i = 0; i < n; i += 64)
		sum += bytes[i];
	return sum;
}

static int by_size(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int read_stamps(struct shufflefs_ring *ring)
{
	static double us[N_STAMPS];
	struct shufflefs_batch batch;
	uint64_t filled_ns;
	size_t n = 0;
	int ret;

	while ((ret = shufflefs_ring_next(ring, 60000, &batch)) == 1) {
		memcpy(&filled_ns, batch.data, sizeof filled_ns);
		if (n < N_STAMPS)
			us[n++] = now() * 1e6 - (double)filled_ns / 1e3;
		shufflefs_ring_release(ring, batch.seq);
	}
	qsort(us, n, sizeof *us, by_size);
	if (ret == 0 && n > 0)
		printf("%zu %.1f %.1f %.1f\n", n, us[n / 2], us[n * 9 / 10], us[n - 1]);
	return ret < 0 || n == 0;
}

int main(int argc, char **argv)
{
	uint64_t n_batches = 0, n_samples = 0, n_bytes = 0, bytes;
	const struct shufflefs_layout *layout;
	struct shufflefs_batch batch;
	struct shufflefs_ring *ring;
	unsigned sum = 0;
	double start = 0;
	int ret;

	if (argc < 2 || shufflefs_ring_attach(argv[1], 60000, &ring) < 0) {
		fprintf(stderr, "ring-reader: %s\n",
			argc < 2 ? "no path" : shufflefs_ring_error(ring));
		return 1;
	}
	if (argc > 2 && strcmp(argv[2], "stamp") == 0)
		return read_stamps(ring);
	layout = shufflefs_ring_layout(ring);
	while ((ret = shufflefs_ring_next(ring, 60000, &batch)) == 1) {
		if (n_batches++ == 0) {
			start = now();
			shufflefs_ring_release(ring, batch.seq);
			continue;
		}
		bytes = layout->slot_bytes * batch.n_samples / layout->n_samples;
		if (argc > 2)
			sum += touch(batch.data, bytes);
		n_samples += batch.n_samples;
		n_bytes += bytes;
		shufflefs_ring_release(ring, batch.seq);
	}
	if (ret < 0)
		fprintf(stderr, "ring-reader: %s\n", shufflefs_ring_error(ring));
	printf("%llu %llu %llu %.3f %u\n", (unsigned long long)n_batches,
	       (unsigned long long)n_samples, (unsigned long long)n_bytes, now() - start,
	       sum);
	shufflefs_ring_detach(ring);
	return ret < 0;
}
