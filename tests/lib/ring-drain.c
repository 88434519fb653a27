/* SPDX-License-Identifier: MIT */
/* ring-drain - a consumer that tells what it gets, for tests of producers.
 *
 *	ring-drain [--again US | --tell US] [--leave N] [--upto FILE] PATH [HOLD]
 *
 * Waits until there is a ring, and prints a line for each batch, "batch EPOCH FIRST END
 * ROWS", and one for each row: for each tensor its number, if it is one i4, else a hash
 * of its bytes.  "end" comes last.  A ring may be in a fake GPU's memory.  Exit 1: the
 * ring's error is on standard error.
 *
 *	HOLD      a file: keep the first batch until it is there
 *	--again   attach again after an error, and take US microseconds for each batch
 *	--tell    the same, and print "releasing" before a batch is released and "released"
 *	          after that: who kills this program knows what it held
 *	--leave   leave after N batches, without an "end"
 *	--upto    take no more batches in all than the number in FILE, which may grow */
#include "shufflefs/ring.h"

#include "check.h"
#include "fakegpu.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#define WAIT_MS 60000

static uint64_t hash(const unsigned char *bytes, uint64_t n)
{
	uint64_t h = 0xcbf29ce484222325;

	while (n-- > 0)
		h = (h ^ *bytes++) * 0x100000001b3;
	return h;
}

static void print_row(const struct shufflefs_layout *layout, const unsigned char *data,
		      uint32_t row)
{
	uint32_t t;
	int32_t number;

	for (t = 0; t < layout->n_tensors; t++) {
		const struct shufflefs_tensor *tensor = &layout->tensors[t];
		const unsigned char *at = data + tensor->offset + row * tensor->row_bytes;

		memcpy(&number, at, sizeof number);
		if (strcmp(tensor->dtype, "i4") == 0 && tensor->row_bytes == 4)
			printf("%s %" PRId32, t ? "" : "row", number);
		else
			printf("%s %016" PRIx64, t ? "" : "row",
			       hash(at, tensor->row_bytes));
	}
	printf("\n");
}

static void say(bool tells, const char *what)
{
	if (!tells)
		return;
	puts(what);
	fflush(stdout);
}

/* May it take one more?  upto is replaced by rename, so it always has a number. */
static bool may_take(const char *upto, uint64_t n_taken)
{
	uint64_t n = 0;
	FILE *f;

	if (!upto)
		return true;
	f = fopen(upto, "r");
	CHECK(f && fscanf(f, "%" SCNu64, &n) == 1);
	fclose(f);
	return n_taken < n;
}

static int drain(struct shufflefs_ring *ring, const char *hold, const char *upto,
		 useconds_t pause_us, uint64_t n_most, bool tells)
{
	static uint64_t n_taken; /* of all rings */
	const struct shufflefs_memory *memory = shufflefs_ring_memory(ring);
	const unsigned char *gpu = NULL;
	struct shufflefs_batch batch;
	uint32_t row;
	int ret;

	if (strcmp(memory->kind, "host") != 0) {
		gpu = fakegpu_open(ring);
		if (!gpu) /* its producer is dead already; next() says so */
			perror(memory->handle[0] ? (const char *)memory->handle
						 : memory->kind);
	}
	for (ret = 1; n_most > 0; n_most--, n_taken++) {
		while (!may_take(upto, n_taken))
			usleep(10000);
		ret = shufflefs_ring_next(ring, WAIT_MS, &batch);
		if (ret != 1)
			break;
		CHECK(batch.data || gpu);
		printf("batch %" PRIu64 " %" PRIu64 " %" PRIu64 " %u\n", batch.epoch,
		       batch.first, batch.end, batch.n_samples);
		for (row = 0; row < batch.n_samples; row++)
			print_row(shufflefs_ring_layout(ring), fakegpu_data(&batch, gpu),
				  row);
		fflush(stdout);
		usleep(pause_us);
		while (hold && access(hold, F_OK) < 0)
			usleep(10000);
		say(tells, "releasing");
		if (shufflefs_ring_release(ring, batch.seq) == 0)
			say(tells, "released");
	}
	fakegpu_close(memory, gpu);
	return ret;
}

int main(int argc, char **argv)
{
	const char *upto = NULL;
	bool again = false, tells = false;
	useconds_t pause_us = 0;
	uint64_t n_most = UINT64_MAX;
	struct shufflefs_ring *ring;
	int ret, can_go_on;

	for (; argc > 3 && strncmp(argv[1], "--", 2) == 0; argc -= 2, argv += 2) {
		if (strcmp(argv[1], "--upto") == 0) {
			upto = argv[2];
		} else if (strcmp(argv[1], "--leave") == 0) {
			n_most = strtoull(argv[2], NULL, 10);
		} else {
			tells = strcmp(argv[1], "--tell") == 0;
			CHECK(tells || strcmp(argv[1], "--again") == 0);
			again = true;
			pause_us = (useconds_t)atoi(argv[2]);
		}
	}
	CHECK(argc == 2 || argc == 3);
	do {
		ring = NULL;
		ret = shufflefs_ring_attach(argv[1], WAIT_MS, &ring);
		can_go_on = again && ret == 0;
		if (ret == 0)
			ret = drain(ring, argc == 3 ? argv[2] : NULL, upto, pause_us,
				    n_most, tells);
		if (ret < 0)
			fprintf(stderr, "ring-drain: %s\n", shufflefs_ring_error(ring));
		else if (ret == 0)
			printf("end\n");
		shufflefs_ring_detach(ring);
		if (ret < 0 && can_go_on)
			usleep(10000); /* one that has failed may be there still */
	} while (ret < 0 && can_go_on);
	return ret < 0;
}
