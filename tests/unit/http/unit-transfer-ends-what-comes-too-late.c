/* SPDX-License-Identifier: MIT */
/* What is submitted after a source was stopped ends at once, on any thread, on many at a
 * time.  (That these share nothing, TSan sees.) */
#include "base/alloc.h"
#include "base/threadpool.h"
#include "check.h"
#include "source/source.h"

#include <errno.h>
#include <pthread.h>

#define N_THREADS  4
#define N_REQUESTS 5000

static struct sfs_source *source;
static struct sfs_object object;
static pthread_barrier_t begin;
static _Atomic int n_ended;

static void done(struct sfs_request *request, int err)
{
	CHECK_EQ(err, -ECANCELED);
	CHECK_EQ(request->n_got, 0);
	atomic_fetch_add(&n_ended, 1);
}

static void *submit(void *arg)
{
	char memory[100];
	struct iovec iov = {memory, sizeof memory};
	int i;

	pthread_barrier_wait(&begin);
	for (i = 0; i < N_REQUESTS; i++) {
		struct sfs_request r = {.kind = i % 2 ? SFS_REQUEST_READ
						      : SFS_REQUEST_ASK,
					.object = &object,
					.n_bytes = i % 2 ? sizeof memory : 0,
					.iov = &iov,
					.n_iov = 1,
					.done = done};

		sfs_request_submit(&r);
	}
	return NULL;
}

int main(void)
{
	const struct sfs_http_options options = {.n_connections = 4,
						 .connect_timeout_ms = 1000,
						 .stall_timeout_ms = 1000};
	pthread_t threads[N_THREADS];
	struct sfs_error err;
	struct sfs_uri uri;
	int i;

	source = sfs_source_http_start(&options, &err);
	CHECK(source != NULL);
	CHECK_EQ(sfs_uri_parse("http://127.0.0.1:1/x.tar", &uri, &err), 0);
	sfs_object_init(&object, &uri, source);
	object.name = "x.tar";
	object.size = 1000;
	sfs_source_stop(source);
	pthread_barrier_init(&begin, NULL, N_THREADS);
	for (i = 0; i < N_THREADS; i++)
		threads[i] = sfs_thread_start("test", submit, NULL);
	for (i = 0; i < N_THREADS; i++)
		pthread_join(threads[i], NULL);
	CHECK_EQ(n_ended, N_THREADS * N_REQUESTS);
	sfs_source_free(source);
	sfs_object_done(&object);
	return 0;
}
