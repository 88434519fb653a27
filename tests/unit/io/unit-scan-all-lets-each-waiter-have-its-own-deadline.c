/* SPDX-License-Identifier: MIT */
/* A waiter for the index gets an error when its own time is over, not with those that
 * came before; and the answer if that comes first. */
#include "base/clock.h"
#include "base/ledger.h"
#include "check.h"
#include "io/scan-all.h"

#include <errno.h>
#include <unistd.h>

#define N	20
#define WAIT_MS 400

static struct sfs_runtime runtime;
static struct sfs_header_scanner scanner;
static struct sfs_scan_all *ix;

/* ---- scans that end when the test wants ---- */

static struct sfs_waiter *pending[N];
static int n_begun;

static int scan(struct sfs_header_scanner *s, struct sfs_shard *shard,
		struct sfs_waiter *waiter)
{
	CHECK(!pending[shard->index]);
	pending[shard->index] = waiter;
	n_begun++;
	return -EINPROGRESS;
}

static void end(uint32_t i, int err)
{
	struct sfs_shard *shard = &runtime.shards.shards[i];
	struct sfs_waiter *waiter = pending[i];

	pending[i] = NULL;
	shard->has_totals = err == 0;
	shard->n_samples = 2;
	shard->sample_bytes = 1024;
	waiter->done(waiter, err);
}

static void end_rest(int err)
{
	for (uint32_t i = 0; i < N; i++)
		if (pending[i])
			end(i, err);
}

/* ---- who asks ---- */

struct asker {
	struct sfs_waiter waiter;
	uint64_t asked_ns, answered_ns;
	bool is_answered;
	int err;
};

static void on_told(struct sfs_waiter *waiter, int err)
{
	struct asker *a = sfs_container(waiter, struct asker, waiter);

	CHECK(!a->is_answered);
	a->is_answered = true;
	a->answered_ns = sfs_clock_ns();
	a->err = err;
}

static int ask(struct asker *a)
{
	*a = (struct asker){.waiter.done = on_told, .asked_ns = sfs_clock_ns()};
	return sfs_scan_all_request(ix, &a->waiter);
}

static void is_refused_in_time(const struct asker *a)
{
	CHECK(a->is_answered);
	CHECK_EQ(a->err, -ENODATA);
	CHECK(a->answered_ns - a->asked_ns >= WAIT_MS * SFS_NS_PER_MS);
}

/* Tick until this one is answered; none is before its time. */
static void tick_until(const struct asker *a)
{
	while (!a->is_answered) {
		sfs_scan_all_tick(ix);
		usleep(5000);
	}
	is_refused_in_time(a);
}

static void start(uint64_t wait_ms)
{
	struct sfs_object objects[N] = {0};
	struct sfs_uri uri;
	char *names[N];
	int i;

	for (i = 0; i < N; i++) {
		names[i] = sfs_asprintf("%d.tar", i);
		CHECK_EQ(sfs_uri_parse("/x.tar", &uri, NULL), 0);
		sfs_object_init(&objects[i], &uri, NULL);
		objects[i].size = 100 << 20;
	}
	sfs_budget_init(&runtime.budget, 64 << 20);
	sfs_shards_init(&runtime.shards, N, names, objects, false, 0, &runtime.budget);
	sfs_header_scanner_init(&scanner, &runtime);
	ix = sfs_scan_all_new(&runtime, &scanner, scan, wait_ms);
	n_begun = 0;
}

static void stop(void)
{
	sfs_scan_all_stop(ix);
	sfs_header_scanner_stop(&scanner);
	end_rest(-ECANCELED);
	sfs_scan_all_free(ix);
	sfs_header_scanner_done(&scanner);
	sfs_shards_done(&runtime.shards);
	sfs_budget_done(&runtime.budget);
	sfs_ledger_clear();
}

/* ---- tests ---- */

static void each_for_their_time(void)
{
	struct asker first, second, third, fourth;
	uint64_t n_lines = sfs_ledger_count(SFS_EVENT_REFUSED);

	start(WAIT_MS);
	CHECK_EQ(ask(&first), -EINPROGRESS);
	CHECK_EQ(n_begun, N);
	usleep(WAIT_MS * 1000 / 2);
	CHECK_EQ(ask(&second), -EINPROGRESS);
	tick_until(&first);
	CHECK_EQ(sfs_ledger_count(SFS_EVENT_REFUSED), n_lines + 1);
	CHECK_EQ(ask(&third), -EINPROGRESS); /* not refused at once */
	tick_until(&second);
	CHECK_EQ(sfs_ledger_count(SFS_EVENT_REFUSED), n_lines + 1);
	if (third.is_answered) /* on a machine that was busy for so long */
		is_refused_in_time(&third);
	CHECK_EQ(ask(&fourth), -EINPROGRESS);
	end_rest(0); /* nobody ticks */
	CHECK(third.is_answered && fourth.is_answered);
	CHECK_EQ(fourth.err, 0);
	CHECK_EQ(ask(&fourth), 0);
	CHECK_EQ(n_begun, N);
	stop();
}

/* When enough have ended to know, and the others would need hours. */
static void nobody_waits_in_vain(void)
{
	struct asker first, second;
	uint32_t i;

	start(WAIT_MS);
	runtime.shards.shards[N - 1].object->size = 1ULL << 40;
	CHECK_EQ(ask(&first), -EINPROGRESS);
	usleep(50000);
	for (i = 0; i < N - 2; i++)
		end(i, 0);
	sfs_scan_all_tick(ix);
	CHECK(first.is_answered && first.err == -ENODATA);
	CHECK_EQ(ask(&second), -ENODATA);
	end_rest(0);
	CHECK_EQ(ask(&second), 0);
	stop();
}

static void failures_count_as_ended(void)
{
	struct asker asker;

	start(3600 * 1000); /* nobody is refused, however busy the machine is */
	CHECK_EQ(ask(&asker), -EINPROGRESS);
	end(3, -EIO);
	sfs_scan_all_tick(ix);
	CHECK(!asker.is_answered);
	end_rest(0);
	CHECK(asker.is_answered);
	CHECK_EQ(asker.err, -EIO);
	stop();
}

int main(void)
{
	sfs_log_set_level(SFS_LOG_ERROR);
	each_for_their_time();
	nobody_waits_in_vain();
	failures_count_as_ended();
	return 0;
}
