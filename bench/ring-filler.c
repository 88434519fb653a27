/* SPDX-License-Identifier: MIT */
/* ring-filler - a producer that does nothing else, for the speed of a ring itself.
 *
 *	ring-filler PATH MEMORY SECONDS [write | stamp]
 *
 * Batches are 256 images of 224x224x3 bytes, in four slots of MEMORY (as of --memory).  It
 * publishes them as they are; with `write`, after it has written all bytes, as a decoder
 * would.  bench/ring-reader PATH tells how fast they come.
 *
 * With `stamp` it publishes a batch every two milliseconds, in which the time stands when it was
 * full; bench/ring-reader PATH stamp tells how long they take to a trainer that waits. */
#include "ring/ring.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define N_ROWS	 256
#define PAUSE_NS (2 * SFS_NS_PER_MS)

enum mode { AS_IS, WRITE, STAMP };

static enum mode mode_of(const char *word)
{
	return strcmp(word, "stamp") == 0 ? STAMP : WRITE;
}

static void prepare(void *slot, uint64_t n_bytes, enum mode mode, uint64_t n)
{
	const struct timespec pause = {.tv_nsec = (long)PAUSE_NS};
	uint64_t now_ns;

	if (mode == WRITE)
		memset(slot, (int)n, n_bytes);
	if (mode != STAMP)
		return;
	nanosleep(&pause, NULL);
	now_ns = sfs_clock_ns();
	memcpy(slot, &now_ns, sizeof now_ns);
}

static int fill(struct sfs_ring *ring, uint64_t n_bytes, uint64_t seconds, enum mode mode,
		struct sfs_error *err)
{
	uint64_t begin_ns = sfs_clock_ns(), n = 0, last = 0;
	void *slot;

	for (; sfs_clock_ns() - begin_ns < seconds * SFS_NS_PER_S; n++) {
		if (sfs_ring_take(ring, -1, &slot, err) < 0)
			return -1;
		prepare(slot, n_bytes, mode, n);
		last = sfs_ring_publish(
			ring, &(struct shufflefs_batch){.first = n * N_ROWS,
							.end = (n + 1) * N_ROWS,
							.n_samples = N_ROWS});
	}
	sfs_ring_end(ring);
	return sfs_ring_wait_consumed(ring, last, -1, err);
}

int main(int argc, char **argv)
{
	static const struct sfs_row row = {"jpg", "u1", 3, {224, 224, 3}};
	struct shufflefs_layout layout = {.n_samples = N_ROWS};
	struct sfs_ring_settings settings = {.n_slots = 4};
	struct sfs_error err = {""};
	struct sfs_ring *ring = NULL;
	int ret;

	if (argc < 4)
		return fprintf(stderr, "ring-filler PATH MEMORY SECONDS [write | stamp]\n"), 2;
	settings.path = argv[1];
	settings.memory = argv[2];
	ret = sfs_layout_add(&layout, &row, &err);
	if (ret == 0)
		ret = sfs_ring_new(&settings, &layout, &ring, &err);
	if (ret == 0)
		ret = fill(ring, layout.slot_bytes, strtoul(argv[3], NULL, 10),
			   argc > 4 ? mode_of(argv[4]) : AS_IS, &err);
	if (ret < 0)
		fprintf(stderr, "ring-filler: %s\n", err.text);
	sfs_ring_free(ring);
	return ret < 0;
}
