/* SPDX-License-Identifier: MIT */
/* Whoever asks for the table, the members or the listing of a shard and hears that they
 * are there finds them there, whatever the scan under way was begun for. */
#include "base/ledger.h"
#include "base/rng.h"
#include "check.h"
#include "io/header-scan.h"
#include "tars.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>

#define N_SHARDS  3
#define N_MEMBERS 40
#define N_THREADS 4
#define N_ASKS	  30
#define N_ROUNDS  40

/* ---- a source that answers when it is told to ---- */

static struct origin {
	struct sfs_source source;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct sfs_link queue;
	int n_queued;
	bool is_held, is_stopped;
	struct sfs_rng rng; /* the thread's */
	bool is_ill;	    /* some requests fail */
} origin;

static struct tar tars[N_SHARDS];

static void submit(struct sfs_source *source, struct sfs_request *r)
{
	bool is_stopped;

	pthread_mutex_lock(&origin.lock);
	is_stopped = origin.is_stopped;
	if (!is_stopped) {
		sfs_list_push(&origin.queue, &r->link);
		origin.n_queued++;
	}
	pthread_cond_broadcast(&origin.wake);
	pthread_mutex_unlock(&origin.lock);
	if (is_stopped)
		sfs_request_end(r, -ECANCELED);
}

static void wake(struct sfs_source *source)
{
}

static int answer(const struct sfs_request *r)
{
	const struct tar *t = &tars[r->object->name[0] - 'a'];
	uint64_t at = r->offset;
	int i;

	CHECK(r->kind == SFS_REQUEST_READ && r->offset + r->n_bytes <= t->n);
	if (origin.is_ill && sfs_rng_below(&origin.rng, 16) == 0)
		return -EIO;
	for (i = 0; i < r->n_iov; at += r->iov[i++].iov_len)
		memcpy(r->iov[i].iov_base, t->bytes + at, r->iov[i].iov_len);
	return 0;
}

/* Any of those that wait. */
static struct sfs_request *pick(void)
{
	struct sfs_link *link = origin.queue.next;
	uint64_t skipped = sfs_rng_below(&origin.rng, (uint64_t)origin.n_queued);

	for (; skipped > 0; skipped--)
		link = link->next;
	sfs_link_remove(link);
	origin.n_queued--;
	return sfs_container(link, struct sfs_request, link);
}

static void *serve(void *arg)
{
	struct sfs_request *r;
	int err;

	pthread_mutex_lock(&origin.lock);
	for (;;) {
		while (!origin.is_stopped && (origin.is_held || origin.n_queued == 0))
			pthread_cond_wait(&origin.wake, &origin.lock);
		if (origin.n_queued == 0)
			break;
		r = pick();
		err = origin.is_stopped ? -ECANCELED : answer(r);
		pthread_mutex_unlock(&origin.lock);
		sfs_request_end(r, err);
		pthread_mutex_lock(&origin.lock);
	}
	pthread_mutex_unlock(&origin.lock);
	return NULL;
}

static void start_origin(uint64_t seed)
{
	static const struct sfs_source_ops ops = {.name = "test",
						  .submit = submit,
						  .wake = wake};

	origin = (struct origin){.source.ops = &ops,
				 .lock = PTHREAD_MUTEX_INITIALIZER,
				 .wake = PTHREAD_COND_INITIALIZER};
	sfs_list_init(&origin.queue);
	sfs_rng_init(&origin.rng, &seed, 1);
	origin.thread = sfs_thread_start("origin", serve, NULL);
}

static void hold(bool is_held)
{
	pthread_mutex_lock(&origin.lock);
	origin.is_held = is_held;
	pthread_cond_broadcast(&origin.wake);
	pthread_mutex_unlock(&origin.lock);
}

static void stop_origin(void)
{
	pthread_mutex_lock(&origin.lock);
	origin.is_stopped = true;
	pthread_cond_broadcast(&origin.wake);
	pthread_mutex_unlock(&origin.lock);
	pthread_join(origin.thread, NULL);
}

/* ---- a scanner of three shards ---- */

static struct sfs_runtime runtime;
static struct sfs_header_scanner scanner;

static void make_tars(void)
{
	char name[20];
	int i, k;

	for (k = 0; k < N_SHARDS; k++) {
		for (i = 0; i < N_MEMBERS; i++) {
			snprintf(name, sizeof name, "%06d.%s", i / 2, i % 2 ? "b" : "a");
			tar_file(&tars[k], name, i % 5 ? 10 : 100000, 'x');
		}
		tar_end(&tars[k]);
	}
}

static void start(uint64_t seed)
{
	struct sfs_object objects[N_SHARDS] = {0};
	char *names[N_SHARDS];
	struct sfs_uri uri;
	int i;

	start_origin(seed);
	sfs_budget_init(&runtime.budget, 64 << 20);
	runtime.slabs = sfs_slabs_new(64 << 20);
	runtime.pool = sfs_threadpool_start("test", 3);
	CHECK_EQ(sfs_range_reader_init(&runtime.range_reader, runtime.slabs, runtime.pool,
				       &runtime.budget, 8 << 20),
		 0);
	for (i = 0; i < N_SHARDS; i++) {
		names[i] = sfs_asprintf("%c.tar", 'a' + i);
		CHECK_EQ(sfs_uri_parse("http://host/x.tar", &uri, NULL), 0);
		sfs_object_init(&objects[i], &uri, &origin.source);
		objects[i].size = tars[i].n;
	}
	sfs_shards_init(&runtime.shards, N_SHARDS, names, objects, false, 0,
			&runtime.budget);
	sfs_header_scanner_init(&scanner, &runtime);
}

static void stop(void)
{
	sfs_header_scanner_stop(&scanner);
	stop_origin();
	sfs_threadpool_stop(runtime.pool);
	sfs_header_scanner_done(&scanner);
	sfs_shards_done(&runtime.shards);
	sfs_range_reader_done(&runtime.range_reader);
	sfs_threadpool_free(runtime.pool);
	sfs_slabs_free(runtime.slabs);
	sfs_budget_done(&runtime.budget);
	sfs_ledger_clear();
}

/* ---- who asks ---- */

enum wish { TABLE, MEMBERS, LISTING, N_WISHES };

struct ask {
	struct sfs_waiter waiter;
	struct sfs_shard *shard;
	enum wish wish;
	atomic_int n_heard;
	int err;
};

static atomic_int n_heard;

static int ask_for(enum wish wish, struct sfs_shard *shard, struct sfs_waiter *waiter)
{
	struct sfs_cached_directory *listed;
	int ret;

	switch (wish) {
	case TABLE: return sfs_header_scan_table(&scanner, shard, waiter);
	case MEMBERS: return sfs_header_scan_members(&scanner, shard, waiter);
	default: break;
	}
	ret = sfs_header_scan_listing(&scanner, shard, waiter, &listed);
	if (ret == 0)
		sfs_header_scan_put(&scanner, listed);
	return ret;
}

/* What was asked for is there, all of it, at this very moment. */
static void check_found(const struct ask *a)
{
	uint64_t n, n_bytes;

	CHECK(sfs_shard_totals(a->shard, &n, &n_bytes));
	CHECK_EQ(n, N_MEMBERS / 2);
	CHECK_EQ(ask_for(a->wish, a->shard, NULL), 0);
	if (a->wish == MEMBERS)
		CHECK_EQ(sfs_shard_members(a->shard)->n, N_MEMBERS);
}

static void on_heard(struct sfs_waiter *waiter, int err)
{
	struct ask *a = sfs_container(waiter, struct ask, waiter);

	CHECK_EQ(atomic_fetch_add(&a->n_heard, 1), 0);
	a->err = err;
	if (err == 0)
		check_found(a);
	atomic_fetch_add(&n_heard, 1);
}

static void ask(struct ask *a, enum wish wish, uint32_t shard)
{
	int ret;

	*a = (struct ask){.waiter.done = on_heard,
			  .shard = &runtime.shards.shards[shard],
			  .wish = wish};
	ret = ask_for(wish, a->shard, &a->waiter);
	if (ret == 0)
		check_found(a);
	if (ret != -EINPROGRESS)
		atomic_fetch_add(&n_heard, 1);
}

static void wait_for_answers(int n)
{
	while (atomic_load(&n_heard) < n)
		sched_yield();
}

static void wait_for_requests(void)
{
	pthread_mutex_lock(&origin.lock);
	while (origin.n_queued == 0)
		pthread_cond_wait(&origin.wake, &origin.lock);
	pthread_mutex_unlock(&origin.lock);
}

/* ---- tests ---- */

/* A scan has begun for one wish, and waits for the source; then others come. */
static void ask_late(struct ask *asks, enum wish first)
{
	enum wish wish;

	n_heard = 0;
	start(1);
	hold(true);
	ask(&asks[N_WISHES], first, 0);
	wait_for_requests();
	for (wish = TABLE; wish < N_WISHES; wish++)
		ask(&asks[wish], wish, 0);
}

static void check_errors(const struct ask *asks, int wanted)
{
	int i;

	for (i = 0; i <= N_WISHES; i++)
		CHECK_EQ(asks[i].err, wanted);
}

static void wishes_that_come_late(enum wish first)
{
	struct ask asks[N_WISHES + 1];

	ask_late(asks, first);
	CHECK_EQ(n_heard, 0);
	hold(false);
	wait_for_answers(N_WISHES + 1);
	check_errors(asks, 0);
	stop();
}

/* Then it all ends: nobody hears that something is there. */
static void the_end_comes_first(enum wish first)
{
	struct ask asks[N_WISHES + 1];

	ask_late(asks, first);
	stop();
	CHECK_EQ(n_heard, N_WISHES + 1);
	check_errors(asks, -ECANCELED);
}

static struct asker {
	struct ask asks[N_ASKS];
	struct sfs_rng rng;
	bool takes_back;
} askers[N_THREADS];

static void *ask_all(void *arg)
{
	struct asker *asker = arg;
	struct ask *a;
	int i, k;

	for (i = 0; i < N_ASKS; i++) {
		a = &asker->asks[i];
		ask(a, (enum wish)sfs_rng_below(&asker->rng, N_WISHES),
		    (uint32_t)sfs_rng_below(&asker->rng, N_SHARDS));
		if (a->waiter.lock && asker->takes_back &&
		    sfs_rng_below(&asker->rng, 4) == 0 && sfs_waiter_cancel(&a->waiter))
			atomic_fetch_add(&n_heard, 1);
		/* (On a busy machine each lasts for a time slice of somebody else.) */
		for (k = (int)sfs_rng_below(&asker->rng, 8); k > 0; k--)
			sched_yield();
	}
	return NULL;
}

/* Everybody asks for anything at any time, also when it all ends. */
static void many_ask(int round)
{
	pthread_t threads[N_THREADS];
	int i;

	n_heard = 0;
	start((uint64_t)round);
	origin.is_ill = round % 2;
	for (i = 0; i < N_THREADS; i++) {
		askers[i].takes_back = round % 3 == 0;
		sfs_rng_init(&askers[i].rng, (uint64_t[]){(uint64_t)round, (uint64_t)i},
			     2);
		threads[i] = sfs_thread_start("asker", ask_all, &askers[i]);
	}
	if (round % 4 == 3)
		sfs_header_scanner_stop(&scanner);
	for (i = 0; i < N_THREADS; i++)
		pthread_join(threads[i], NULL);
	if (round % 4 != 2)
		wait_for_answers(N_THREADS * N_ASKS);
	stop();
	CHECK_EQ(n_heard, N_THREADS * N_ASKS);
}

/* Where yielding costs most, a part of them. */
static int n_rounds(void)
{
#ifdef __SANITIZE_THREAD__
	return N_ROUNDS / 3;
#else
	return getenv("MODEL_SCHEDULES") ? N_ROUNDS / 3 : N_ROUNDS; /* valgrind */
#endif
}

int main(void)
{
	enum wish wish;
	int i;

	sfs_log_set_level(SFS_LOG_ERROR);
	make_tars();
	for (wish = TABLE; wish < N_WISHES; wish++) {
		wishes_that_come_late(wish);
		the_end_comes_first(wish);
	}
	for (i = 0; i < n_rounds(); i++)
		many_ask(i);
	for (i = 0; i < N_SHARDS; i++)
		tar_done(&tars[i]);
	return 0;
}
