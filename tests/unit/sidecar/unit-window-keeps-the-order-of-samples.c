/* SPDX-License-Identifier: MIT */
/* Samples leave the window in the order in which they came, each once and decoded,
 * whatever their sizes and the number of workers; those that have come get through though
 * the stream then waits; who waits is woken when the window is closed or stopped; and no
 * more are decoded at a time than memory is there for. */
#include "check.h"

#include "base/rng.h"
#include "tar/header.h"
#include "window.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#define N	  4000
#define MAX_BYTES 30000
#define N_WORKERS 3

static struct sfs_window *window;
static struct sfs_sample_reader *reader;
static atomic_uint n_out, n_taken;
static unsigned n_at_a_time = 1000000;
static bool is_endless;

static void put(int fd, const void *bytes, size_t n)
{
	const char *at = bytes;
	ssize_t n_put;

	for (; n > 0; n -= (size_t)n_put, at += n_put) {
		n_put = write(fd, at, n);
		if (n_put < 0) /* the reader was stopped */
			return;
	}
}

static void put_member(int fd, unsigned i, size_t n_bytes)
{
	static const unsigned char zeros[MAX_BYTES + SFS_TAR_BLOCK];
	unsigned char h[SFS_TAR_BLOCK] = {0};

	snprintf((char *)h, 100, "%06u.raw", i);
	memset(h + 100, 0x30, 7);
	snprintf((char *)h + 124, 12, "%011o", (unsigned)n_bytes);
	memset(h + 136, 0x30, 11);
	h[156] = '0';
	memcpy(h + 257, "ustar\00000", 8);
	sfs_tar_seal(h);
	put(fd, h, sizeof h);
	put(fd, zeros, sfs_tar_padded(n_bytes));
}

/* Now and then wait until all whole samples have come out at the other end. */
static void *feed(void *arg)
{
	int fd = *(int *)arg;
	struct sfs_rng rng;
	unsigned i;

	sfs_rng_init(&rng, &(uint64_t){7}, 1);
	for (i = 0; i < N; i++) {
		put_member(fd, i, sfs_rng_below(&rng, MAX_BYTES));
		if (sfs_rng_below(&rng, 100) > 0 || is_endless)
			continue;
		while (atomic_load(&n_out) < i)
			usleep(100);
	}
	if (!is_endless)
		put(fd, (unsigned char[2 * SFS_TAR_BLOCK]){0}, 2 * SFS_TAR_BLOCK);
	close(fd);
	return NULL;
}

static void flush(void *arg)
{
	sfs_window_flush(window);
}

static void *read_all(void *arg)
{
	struct sfs_error err = {""};
	struct sfs_sample *sample;
	int ret;

	while ((ret = sfs_sample_next(reader, &sample, &err)) == 1)
		if (!sfs_window_put(window, sample, 1000))
			break;
	sfs_window_end(window, ret < 0 ? ret : 0, &err);
	return arg;
}

static void *work(void *arg)
{
	struct sfs_window_item *item;

	while ((item = sfs_window_take(window)) != NULL) {
		/* (One may have been released and not counted yet.) */
		CHECK(atomic_fetch_add(&n_taken, 1) + 1 - atomic_load(&n_out) <=
		      n_at_a_time + 1);
		item->ret = (int)item->sample->ordinal + 1;
		sfs_window_give(window, item);
	}
	return arg;
}

/* Stop after n samples; what the window has said last. */
static int pass(unsigned n, bool has_workers, int (*stop)(void))
{
	struct sfs_window_item *item;
	struct sfs_error err = {""};
	pthread_t threads[2 + N_WORKERS];
	int n_threads = 0, i, ret = 0, fds[2];
	bool is_decoding;

	CHECK_EQ(pipe(fds), 0);
	atomic_store(&n_out, 0);
	atomic_store(&n_taken, 0);
	sfs_window_begin(window);
	reader = sfs_sample_reader_new(fds[0], SFS_INPUT_BYTES, 0, flush, NULL);
	pthread_create(&threads[n_threads++], NULL, read_all, NULL);
	pthread_create(&threads[n_threads++], NULL, feed, &fds[1]);
	for (i = 0; has_workers && i < N_WORKERS; i++)
		pthread_create(&threads[n_threads++], NULL, work, NULL);
	while (n_out < n && (ret = sfs_window_oldest(window, has_workers, -1, &item,
						     &is_decoding, &err)) == 1) {
		CHECK_EQ(item->sample->ordinal, n_out);
		CHECK(!has_workers || item->ret == (int)n_out + 1);
		sfs_window_release(window);
		atomic_fetch_add(&n_out, 1);
	}
	if (stop)
		ret = stop();
	sfs_window_close(window);
	while (!sfs_window_has_ended(window))
		sfs_sample_reader_stop(reader, threads[0]);
	pthread_join(threads[0], NULL);
	close(fds[0]);
	for (i = 1; i < n_threads; i++)
		pthread_join(threads[i], NULL);
	sfs_window_begin(window);
	sfs_sample_reader_free(reader);
	return ret;
}

static int stop_window(void)
{
	struct sfs_window_item *item;
	struct sfs_error err = {""};
	bool is_decoding;

	sfs_window_stop(window);
	CHECK(sfs_window_is_stopped(window));
	return sfs_window_oldest(window, false, -1, &item, &is_decoding, &err);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	window = sfs_window_new(N_WORKERS);
	CHECK_EQ(pass(N + 1, false, NULL), 0);
	CHECK_EQ(n_out, N);
	CHECK_EQ(pass(N + 1, true, NULL), 0);
	CHECK_EQ(n_out, N);
	sfs_window_weigh(window, 300000);
	CHECK_EQ(pass(N + 1, true, NULL), 0);
	sfs_window_limit(window, 700000);
	n_at_a_time = 2;
	CHECK_EQ(pass(N + 1, true, NULL), 0);
	CHECK_EQ(n_out, N);
	sfs_window_limit(window, 1); /* but for the oldest */
	n_at_a_time = 1;
	CHECK_EQ(pass(N + 1, true, NULL), 0);
	CHECK_EQ(n_out, N);
	is_endless = true; /* and with no end mark */
	CHECK_EQ(pass(N + 1, true, NULL), -EPIPE);
	CHECK_EQ(pass(9, true, NULL), 1);
	CHECK_EQ(pass(9, true, stop_window), -ECANCELED);
	sfs_window_free(window);
	return 0;
}
