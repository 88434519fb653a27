/* SPDX-License-Identifier: MIT */
/* A name that was looked up keeps its number, however many follow and whoever asks; a
 * folder lists its own and no other. */
#include "base/alloc.h"
#include "check.h"
#include "tree/names.h"

#include <pthread.h>

#define N 20000

static struct sfs_names *names;
static uint32_t numbers[N];

static struct sfs_name made(uint32_t i)
{
	return (struct sfs_name){.epoch = i % 7,
				 .rank = i % 11,
				 .n_ranks = 11,
				 .has_first = true,
				 .first = i / 2};
}

static bool is_same(uint32_t i, uint32_t k)
{
	struct sfs_name a = made(i), b = made(k);

	return sfs_name_equal(&a, &b);
}

static void *ask_all(void *arg)
{
	uint32_t i, number;

	for (i = 0; i < N; i++) {
		struct sfs_name name = made(i), got;

		CHECK(sfs_names_put(names, &name, &number));
		got = sfs_names_get(names, number);
		CHECK(sfs_name_equal(&got, &name));
	}
	return NULL;
}

static void numbers_stay(void)
{
	pthread_t threads[3];
	struct sfs_name name;
	uint32_t i, number;
	int t;

	for (t = 0; t < 3; t++)
		CHECK_EQ(pthread_create(&threads[t], NULL, ask_all, NULL), 0);
	for (t = 0; t < 3; t++)
		pthread_join(threads[t], NULL);
	for (i = 0; i < N; i++) {
		name = made(i);
		CHECK(sfs_names_put(names, &name, &numbers[i]));
	}
	for (i = 0; i < N; i++) {
		name = made(i);
		CHECK(sfs_names_put(names, &name, &number));
		CHECK_EQ(number, numbers[i]);
		CHECK(number < N);
		if (i > 0)
			CHECK_EQ(numbers[i] == numbers[i - 1], is_same(i, i - 1));
	}
}

static void folders_list_their_own(void)
{
	struct sfs_name folder = {.is_folder = true, .epoch = 3}, name;
	uint32_t number = 0, n = 0, i, want = 0;

	for (i = 0; i < N; i++)
		want += i % 7 == 3 && (i == 0 || !is_same(i, i - 1));
	for (; sfs_names_next(names, &folder, &number, &name); number++, n++)
		CHECK_EQ(name.epoch, 3);
	CHECK_EQ(n, want);
	folder =
		(struct sfs_name){.is_folder = true, .epoch = 3, .rank = 1, .n_ranks = 2};
	number = 0;
	CHECK(!sfs_names_next(names, &folder, &number, &name));
}

static void places_are_kept(void)
{
	struct sfs_place e;

	CHECK(!sfs_names_place(names, numbers[5], &e));
	sfs_names_set_place(names, numbers[5],
			    (struct sfs_place){.offset = 512,
					       .end = 2048,
					       .n_samples = 7});
	CHECK(sfs_names_place(names, numbers[5], &e));
	CHECK(e.offset == 512 && e.end == 2048 && e.n_samples == 7);
	CHECK(!sfs_names_place(names, numbers[9], &e));
}

static void there_is_an_end(void)
{
	struct sfs_name name = {.n_ranks = 1, .has_first = true};
	struct sfs_names *full = sfs_names_new();
	uint32_t number;

	for (name.first = 0; name.first < SFS_NAMES_MAX; name.first++)
		CHECK(sfs_names_put(full, &name, &number));
	CHECK(!sfs_names_put(full, &name, &number));
	name.first = 17;
	CHECK(sfs_names_put(full, &name, &number));
	CHECK_EQ(number, 17);
	sfs_names_free(full);
}

int main(void)
{
	names = sfs_names_new();
	numbers_stay();
	folders_list_their_own();
	places_are_kept();
	there_is_an_end();
	sfs_names_free(names);
	sfs_names_free(NULL);
	return 0;
}
