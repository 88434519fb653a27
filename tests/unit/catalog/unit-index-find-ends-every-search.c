/* SPDX-License-Identifier: MIT */
/* Whenever the indexes are stopped, each search that was begun ends, once: with what it
 * found, with nothing, or cancelled; and nothing is lost that it held. */
#include "base/ledger.h"
#include "base/threadpool.h"
#include "finding.h"

#define N_THREADS  4
#define N_SEARCHES 200
#define N_ROUNDS   20

/* ---- a source on a thread of its own, that takes its time ---- */

static struct slow {
	struct sfs_source source;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct sfs_link queue;
	bool is_stopped;
} slow;

static void submit(struct sfs_source *source, struct sfs_request *r)
{
	bool is_stopped;

	pthread_mutex_lock(&slow.lock);
	is_stopped = slow.is_stopped;
	if (!is_stopped)
		sfs_list_push(&slow.queue, &r->link);
	pthread_cond_signal(&slow.wake);
	pthread_mutex_unlock(&slow.lock);
	if (is_stopped)
		sfs_request_end(r, -ECANCELED);
}

static int answer(struct sfs_request *r)
{
	size_t n;
	sfs_autofree void *bytes = make_index(9, version_of("e"), &n);

	r->object->size = n;
	if (r->kind == SFS_REQUEST_READ)
		memcpy(r->iov[0].iov_base, bytes, n);
	return 0;
}

static void *serve(void *arg)
{
	struct sfs_request *r;
	struct sfs_link *link;
	bool is_stopped;

	for (;;) {
		pthread_mutex_lock(&slow.lock);
		while ((link = sfs_list_pop(&slow.queue)) == NULL && !slow.is_stopped)
			pthread_cond_wait(&slow.wake, &slow.lock);
		is_stopped = slow.is_stopped;
		pthread_mutex_unlock(&slow.lock);
		if (!link)
			return NULL;
		r = sfs_container(link, struct sfs_request, link);
		sfs_request_end(r, is_stopped ? -ECANCELED : answer(r));
	}
}

static void start_source(void)
{
	static const struct sfs_source_ops ops = {.name = "slow", .submit = submit};

	slow = (struct slow){.source.ops = &ops,
			     .lock = PTHREAD_MUTEX_INITIALIZER,
			     .wake = PTHREAD_COND_INITIALIZER};
	sfs_list_init(&slow.queue);
	slow.thread = sfs_thread_start("test", serve, NULL);
}

static void stop_source(void)
{
	pthread_mutex_lock(&slow.lock);
	slow.is_stopped = true;
	pthread_cond_signal(&slow.wake);
	pthread_mutex_unlock(&slow.lock);
	pthread_join(slow.thread, NULL);
}

/* ---- searches from many threads ---- */

static struct sfs_index_finder *ix;
static struct sfs_object object, local;
static atomic_int n_ended, n_found, n_none, n_cancelled;

static struct search {
	struct sfs_index_search finding;
	atomic_int n_ends;
} searches[N_THREADS][N_SEARCHES];

static void on_found(struct sfs_index_search *f, int err)
{
	struct search *s = sfs_container(f, struct search, finding);

	CHECK(err == 0 || err == -ENOENT || err == -ECANCELED);
	CHECK_EQ(f->bytes.bytes != NULL, err == 0);
	CHECK(err < 0 || f->index.n_samples == 9);
	sfs_charge_done(&f->bytes);
	CHECK_EQ(atomic_fetch_add(&s->n_ends, 1), 0);
	atomic_fetch_add(err == 0	  ? &n_found
			 : err == -ENOENT ? &n_none
					  : &n_cancelled,
			 1);
	atomic_fetch_add(&n_ended, 1);
}

static void *search_all(void *arg)
{
	struct search *s = arg;
	struct sfs_sample_table t;
	int i;

	make_table(&t, 9);
	for (i = 0; i < N_SEARCHES; i++) {
		s[i].finding =
			(struct sfs_index_search){.object = i % 3 ? &object : &local,
						  .done = on_found};
		sfs_index_finder_find(ix, &s[i].finding);
		if (i % 50 == 0)
			sfs_index_finder_keep(ix, &local, &t, NULL);
	}
	sfs_sample_table_done(&t);
	return NULL;
}

/* Stop when so many searches have ended. */
static void round_of(int n_before)
{
	sfs_autofree char *cache = sfs_asprintf("%s/cache", top);
	const struct sfs_index_finder_options options = {.cache = cache,
							 .http = &slow.source};
	pthread_t threads[N_THREADS];
	struct sfs_error err;
	int i;

	start_source();
	CHECK_EQ(sfs_index_finder_new(&options, &ix, &err), 0);
	n_ended = 0;
	memset(searches, 0, sizeof searches);
	for (i = 0; i < N_THREADS; i++)
		threads[i] = sfs_thread_start("test", search_all, searches[i]);
	while (atomic_load(&n_ended) < n_before)
		sched_yield();
	stop_source();
	sfs_index_finder_stop(ix);
	for (i = 0; i < N_THREADS; i++)
		pthread_join(threads[i], NULL);
	CHECK_EQ(n_ended, N_THREADS * N_SEARCHES);
	sfs_index_finder_free(ix);
}

int main(void)
{
	sfs_autofree char *path = NULL;
	int i;

	make_top();
	path = sfs_asprintf("%s/local.tar", top);
	object = object_of("http://host/train-0.tar", "e");
	local = object_of(path, "v");
	for (i = 0; i < N_ROUNDS; i++)
		round_of(N_THREADS * N_SEARCHES * i / (N_ROUNDS - 1));
	CHECK(n_found > 0 && n_cancelled > 0);
	sfs_object_done(&object);
	sfs_object_done(&local);
	sfs_ledger_clear();
	return 0;
}
