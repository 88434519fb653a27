/* SPDX-License-Identifier: MIT */
/* Of a source of files, as many requests are worked on at once as there are threads,
 * whenever and by whomever they are submitted; and each ends once, also those that are
 * submitted while the source stops. */
#include "base/alloc.h"
#include "base/rng.h"
#include "base/threadpool.h"
#include "check.h"
#include "source/source.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#define N_THREADS    6
#define N_SUBMITTERS 4
#define N_ROUNDS     4000

static char path[] = "/tmp/shufflefs-unit-file.XXXXXX";
static struct sfs_object object;

struct asked {
	struct sfs_request request;
	struct iovec iov;
	char bytes[512];
};

static void submit_any(struct sfs_rng *rng,
		       void (*done)(struct sfs_request *request, int err))
{
	struct asked *a = sfs_calloc(1, sizeof *a);
	uint64_t n = sfs_rng_next(rng);

	a->iov = (struct iovec){a->bytes, sizeof a->bytes};
	a->request = (struct sfs_request){.kind = SFS_REQUEST_READ,
					  .object = &object,
					  .is_urgent = n & 1,
					  .n_bytes = sizeof a->bytes,
					  .iov = &a->iov,
					  .n_iov = 1,
					  .done = done};
	for (n = n >> 1 & 0x3ff; n > 0; n--)
		atomic_signal_fence(memory_order_seq_cst); /* take a moment */
	sfs_request_submit(&a->request);
}

static void object_on(struct sfs_source *source)
{
	struct sfs_uri uri = {0};

	CHECK_EQ(sfs_uri_parse(path, &uri, NULL), 0);
	sfs_object_init(&object, &uri, source);
	object.name = "x.tar";
	object.size = sizeof((struct asked *)0)->bytes;
	object.tag = sfs_strdup("any");
}

/* ---- as many at once as there are threads ---- */

/* A round is some requests, at most as many as there are threads.  None of them ends
 * before all have been worked on: if one lay while a thread slept, the round would last
 * for ever.  The next round begins while the threads of the last one come back. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int round, n_inside, n_of_round;
	struct sfs_rng rng;
} rounds = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void begin_round(int round)
{
	rounds.round = round;
	rounds.n_inside = 0;
	rounds.n_of_round = 1 + (int)(sfs_rng_next(&rounds.rng) % N_THREADS);
	pthread_cond_broadcast(&rounds.changed);
}

static void wait_for_all(struct sfs_request *request, int err)
{
	int round;

	CHECK_EQ(err, 0);
	free(sfs_container(request, struct asked, request));
	pthread_mutex_lock(&rounds.lock);
	round = rounds.round;
	if (++rounds.n_inside == rounds.n_of_round)
		begin_round(round + 1);
	while (rounds.round == round)
		pthread_cond_wait(&rounds.changed, &rounds.lock);
	pthread_mutex_unlock(&rounds.lock);
}

static void *submit_rounds(void *arg)
{
	int me = (int)(intptr_t)arg, round, n, i;
	struct sfs_rng rng = {.state = (uint64_t)me + 1};

	for (round = 0; round < N_ROUNDS; round++) {
		pthread_mutex_lock(&rounds.lock);
		while (rounds.round < round)
			pthread_cond_wait(&rounds.changed, &rounds.lock);
		/* A later round: this one needed nothing of us. */
		n = rounds.round == round ? rounds.n_of_round : 0;
		pthread_mutex_unlock(&rounds.lock);
		for (i = me; i < n; i += N_SUBMITTERS)
			submit_any(&rng, wait_for_all);
	}
	return NULL;
}

static void all_at_once(void)
{
	struct sfs_source *source = sfs_source_file_start(N_THREADS, true);
	pthread_t submitters[N_SUBMITTERS];
	int i;

	object_on(source);
	rounds.rng.state = 1;
	begin_round(0);
	for (i = 0; i < N_SUBMITTERS; i++)
		submitters[i] =
			sfs_thread_start("submits", submit_rounds, (void *)(intptr_t)i);
	for (i = 0; i < N_SUBMITTERS; i++)
		pthread_join(submitters[i], NULL);
	pthread_mutex_lock(&rounds.lock);
	while (rounds.round < N_ROUNDS)
		pthread_cond_wait(&rounds.changed, &rounds.lock);
	pthread_mutex_unlock(&rounds.lock);
	sfs_source_stop(source);
	sfs_source_free(source);
	sfs_object_done(&object);
}

/* ---- stopping ---- */

static atomic_int n_submitted, n_ended;
static atomic_bool is_over;

static void count(struct sfs_request *request, int err)
{
	CHECK(err == 0 || err == -ECANCELED);
	free(sfs_container(request, struct asked, request));
	atomic_fetch_add(&n_ended, 1);
}

static void *submit_on(void *arg)
{
	struct sfs_rng rng = {.state = (uintptr_t)arg};

	while (!atomic_load(&is_over)) {
		atomic_fetch_add(&n_submitted, 1);
		submit_any(&rng, count);
	}
	return NULL;
}

static int count_threads(void)
{
	DIR *tasks = opendir("/proc/self/task");
	int n = 0;

	CHECK(tasks != NULL);
	while (readdir(tasks))
		n++;
	closedir(tasks);
	return n;
}

/* Stop it after a while that is a number of requests. */
static void stop_amid(int n)
{
	int n_others = count_threads() + N_SUBMITTERS;
	struct sfs_source *source = sfs_source_file_start(N_THREADS, true);
	pthread_t submitters[N_SUBMITTERS];
	int i;

	object_on(source);
	n_submitted = n_ended = 0;
	is_over = false;
	for (i = 0; i < N_SUBMITTERS; i++)
		submitters[i] =
			sfs_thread_start("submits", submit_on, (void *)(intptr_t)(n + i));
	while (atomic_load(&n_ended) < n)
		sched_yield();
	sfs_source_stop(source);
	/* Each of its threads ends, though not in time if the machine is busy. */
	while (count_threads() > n_others)
		sched_yield();
	atomic_store(&is_over, true);
	for (i = 0; i < N_SUBMITTERS; i++)
		pthread_join(submitters[i], NULL);
	CHECK_EQ(n_ended, n_submitted);
	sfs_source_free(source);
	sfs_object_done(&object);
}

int main(void)
{
	int fd = mkstemp(path), i;

	CHECK(fd >= 0);
	CHECK_EQ(ftruncate(fd, sizeof((struct asked *)0)->bytes), 0);
	close(fd);
	all_at_once();
	for (i = 0; i < 40; i++)
		stop_amid(i * i);
	CHECK_EQ(unlink(path), 0);
	return 0;
}
