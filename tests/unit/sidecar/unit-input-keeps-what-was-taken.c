/* SPDX-License-Identifier: MIT */
/* What is taken from a stream stays as it was, in whatever pieces it was read, taken and
 * released, also across the ends of chunks and where it is larger than one; and the end
 * of the stream is an error wherever it comes. */
#include "check.h"

#include "base/rng.h"
#include "decode/input.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#define N	((size_t)24 << 20)
#define N_KEPT	40
#define N_TURNS 3

struct kept {
	struct sfs_chunk *chunk;
	const unsigned char *bytes;
	size_t at, n;
};

static unsigned char *stream;
static struct sfs_rng rng;

/* Mostly small, sometimes larger than a chunk. */
static size_t draw(size_t at)
{
	static const size_t max[] = {600, 100 << 10, 2 << 20, 5 << 20};
	size_t n = sfs_rng_below(&rng, max[sfs_rng_below(&rng, 4)] + 1);

	return n < N - at ? n : N - at;
}

/* Write all of it into a pipe, in pieces. */
static void *write_all(void *arg)
{
	int fd = *(int *)arg;
	size_t at = 0;
	ssize_t n;

	while (at < N) {
		n = write(fd, stream + at, N - at < 60001 ? N - at : 60001);
		CHECK(n > 0);
		at += (size_t)n;
	}
	close(fd);
	return NULL;
}

static void count_read(void *arg)
{
	++*(uint64_t *)arg;
}

static void release(struct kept *k)
{
	if (!k->chunk)
		return;
	CHECK(memcmp(k->bytes, stream + k->at, k->n) == 0);
	sfs_chunk_release(k->chunk);
	k->chunk = NULL;
}

/* Something else than to take: returns how many bytes were used. */
static size_t do_other(struct sfs_input *in, size_t at, size_t n, struct kept *k)
{
	const unsigned char *bytes;

	switch (sfs_rng_below(&rng, 3)) {
	case 0: CHECK_EQ(sfs_input_skip(in, n), 0); return n;
	case 1:
		if (n > SFS_INPUT_PEEK_MAX)
			n = SFS_INPUT_PEEK_MAX;
		CHECK_EQ(sfs_input_peek(in, n, &bytes), 0);
		CHECK(memcmp(bytes, stream + at, n) == 0);
		return 0;
	default:
		k->chunk = sfs_chunk_new(in, n);
		CHECK_EQ(sfs_input_append(in, n / 2, k->chunk), 0);
		CHECK_EQ(sfs_input_append(in, n - n / 2, k->chunk), 0);
		sfs_chunk_append_zeros(k->chunk, 3);
		k->bytes = sfs_chunk_bytes(k->chunk);
		CHECK(memcmp(k->bytes + n, "\0\0", 3) == 0);
		return n;
	}
}

static void use_all(int fd)
{
	uint64_t n_reads = 0;
	struct sfs_input *in = sfs_input_new(fd, SFS_INPUT_BYTES, count_read, &n_reads);
	struct kept kept[N_KEPT] = {{0}}, *k;
	const unsigned char *bytes;
	size_t at = 0, n;

	while (at < N) {
		k = &kept[sfs_rng_below(&rng, N_KEPT)];
		release(k);
		n = draw(at);
		*k = (struct kept){.at = at, .n = n};
		if (sfs_rng_below(&rng, 4) == 0) {
			at += do_other(in, at, n, k);
		} else {
			CHECK_EQ(sfs_input_take(in, n, &k->chunk, &k->bytes), 0);
			CHECK(at % 16 != 0 || (uintptr_t)k->bytes % 16 == 0);
			at += n;
		}
		CHECK_EQ(sfs_input_position(in), at);
	}
	for (k = kept; k < kept + N_KEPT; k++)
		release(k);
	CHECK_EQ(sfs_input_take(in, 1, &k->chunk, &bytes), -EPIPE);
	CHECK_EQ(sfs_input_take(in, (uint64_t)1 << 60, &k->chunk, &bytes), -EPIPE);
	CHECK_EQ(sfs_input_skip(in, 1), -EPIPE);
	CHECK(n_reads >= N / SFS_INPUT_PEEK_MAX);
	sfs_input_free(in);
}

int main(void)
{
	pthread_t thread;
	size_t i;
	int fds[2];

	sfs_rng_init(&rng, &(uint64_t){5}, 1);
	stream = malloc(N);
	for (i = 0; i < N; i += 8)
		memcpy(stream + i, &(uint64_t){sfs_rng_next(&rng)}, 8);
	for (i = 0; i < N_TURNS; i++) {
		CHECK_EQ(pipe(fds), 0);
		pthread_create(&thread, NULL, write_all, &fds[1]);
		use_all(fds[0]);
		pthread_join(thread, NULL);
		close(fds[0]);
	}
	free(stream);
	return 0;
}
