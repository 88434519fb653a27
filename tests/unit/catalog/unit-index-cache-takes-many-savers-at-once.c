/* SPDX-License-Identifier: MIT */
/* Threads and processes may save and load the same indexes at once: whoever finds one
 * finds a whole one, and nothing is left over. */
#include "stores.h"

#include "base/threadpool.h"

#include <sys/wait.h>

#define N_PROCESSES 4
#define N_THREADS   3
#define N_ROUNDS    15

static struct sfs_index_cache *store;

static void *save_and_load(void *arg)
{
	uint64_t i;
	int round, ret;

	for (round = 0; round < N_ROUNDS; round++)
		for (i = 0; i < 6; i++) {
			save(store, 1000 * i);
			ret = load(store, 1000 * (5 - i), NULL);
			CHECK(ret == 0 || ret == -ENOENT);
			if (i == 5)
				CHECK_EQ(sfs_index_cache_flush(store), 0);
		}
	return NULL;
}

static void process(void)
{
	pthread_t threads[N_THREADS];
	int i;

	store = sfs_index_cache_new(folder, true);
	for (i = 0; i < N_THREADS; i++)
		threads[i] = sfs_thread_start("saves", save_and_load, NULL);
	for (i = 0; i < N_THREADS; i++)
		pthread_join(threads[i], NULL);
	sfs_index_cache_free(store);
}

int main(void)
{
	pid_t pids[N_PROCESSES];
	uint64_t i;
	int status;

	make_top();
	for (i = 0; i < N_PROCESSES; i++) {
		pids[i] = fork();
		CHECK(pids[i] >= 0);
		if (pids[i] == 0) {
			process();
			_exit(0);
		}
	}
	for (i = 0; i < N_PROCESSES; i++) {
		CHECK_EQ(waitpid(pids[i], &status, 0), pids[i]);
		CHECK_EQ(status, 0);
	}
	CHECK_EQ(count_files(""), 6);
	CHECK_EQ(count_files(".index"), 6);
	store = sfs_index_cache_new(folder, true);
	for (i = 0; i < 6; i++)
		CHECK_EQ(load(store, 1000 * i, NULL), 0);
	sfs_index_cache_free(store);
	return 0;
}
