/* SPDX-License-Identifier: MIT */
/* ring-producer - a producer of known batches, for tests of consumers.
 *
 *	ring-producer PATH SLOTS [MEMORY]
 *
 * Does what each line of its input says, and answers with a line when it has:
 *
 *	batch ROWS	publishes a batch of so many samples of 4, and waits until
 *			consumers can take it
 *	end		there are no more batches
 *	fail WHY	the producer has failed
 *	consumed	waits until all batches are, says "consumed N"
 *
 * At the end of its input the ring goes away.  Sample s of the stream has the bytes
 * s + 0, s + 1, ... of "jpg", and s in all items of the other tensors. */
#include "ring/ring.h"

#include "check.h"

#include <unistd.h>

#define ROWS 4

static const struct sfs_row rows[] = {
	{"jpg", "u1", 3, {8, 8, 3}}, {"cls", "i4", 0, {0}},    {"emb", "f4", 1, {5}},
	{"half", "bf2", 1, {3}},     {"is_odd", "b1", 0, {0}}, {"wide", "u2", 1, {2}},
};

static void fill_row(unsigned char *row, const struct shufflefs_tensor *t, unsigned int s)
{
	float number = (float)s;
	unsigned char item[4] = {(unsigned char)s, (unsigned char)(s >> 8)};
	uint64_t i;

	if (!strcmp(t->dtype, "f4"))
		memcpy(item, &number, 4);
	else if (!strcmp(t->dtype, "bf2"))
		memcpy(item, (unsigned char *)&number + 2, 2);
	else if (!strcmp(t->dtype, "b1"))
		item[0] = s & 1;
	for (i = 0; i < t->row_bytes; i++)
		row[i] = t->item_bytes == 1 ? (unsigned char)(item[0] + i)
					    : item[i % t->item_bytes];
}

static void publish(struct sfs_ring *ring, const struct shufflefs_layout *layout,
		    uint32_t n)
{
	static unsigned int next;
	struct shufflefs_batch batch = {.epoch = 3,
					.first = next,
					.end = next + n,
					.n_samples = n};
	struct sfs_ring_progress progress;
	struct sfs_error err = {""};
	void *slot;
	uint64_t seq;
	uint32_t t, i;

	CHECK_EQ(sfs_ring_take(ring, -1, &slot, &err), 0);
	for (t = 0; t < layout->n_tensors; t++)
		for (i = 0; i < n; i++)
			fill_row(sfs_layout_row(layout, t, i, slot), &layout->tensors[t],
				 next + i);
	next += n;
	seq = sfs_ring_publish(ring, &batch);
	do { /* into a GPU's memory it is copied first */
		usleep(100);
		sfs_ring_look(ring, &progress);
	} while (progress.n_batches <= seq);
	printf("batch %llu\n", (unsigned long long)seq);
}

int main(int argc, char **argv)
{
	struct shufflefs_layout layout = {.n_samples = ROWS};
	struct sfs_ring_settings settings = {.n_slots = 2, .policy = SFS_RING_REDELIVER};
	struct sfs_error err = {""};
	struct sfs_ring *ring;
	uint64_t n_batches = 0;
	char line[256];
	size_t i;

	CHECK(argc == 3 || argc == 4);
	settings.memory = argv[3];
	settings.path = argv[1];
	settings.n_slots = (uint32_t)atoi(argv[2]);
	for (i = 0; i < sizeof rows / sizeof rows[0]; i++)
		CHECK_EQ(sfs_layout_add(&layout, &rows[i], &err), 0);
	if (sfs_ring_new(&settings, &layout, &ring, &err) < 0)
		return fprintf(stderr, "%s\n", err.text), 1;
	setvbuf(stdout, NULL, _IOLBF, 0);
	while (fgets(line, sizeof line, stdin)) {
		line[strcspn(line, "\n")] = 0;
		if (!strncmp(line, "batch ", 6)) {
			publish(ring, &layout, (uint32_t)atoi(line + 6));
			n_batches++;
			continue;
		}
		if (!strcmp(line, "end"))
			sfs_ring_end(ring);
		else if (!strncmp(line, "fail ", 5))
			sfs_ring_fail(ring, line + 5);
		else if (n_batches > 0)
			CHECK_EQ(sfs_ring_wait_consumed(ring, n_batches - 1, -1, &err),
				 0);
		printf("%s %llu\n", line, (unsigned long long)sfs_ring_consumed(ring));
	}
	sfs_ring_free(ring);
	return 0;
}
