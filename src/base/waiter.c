/* SPDX-License-Identifier: MIT */
#include "base/waiter.h"

#include "base/clock.h"
#include "base/cond.h"
#include "base/ledger.h"
#include "base/stall.h"

#include <errno.h>

#define SHOW_NS (SFS_NS_PER_S / 10)

static void wake(struct sfs_waiter *waiter, int err)
{
	struct sfs_sync *sync = sfs_container(waiter, struct sfs_sync, waiter);

	pthread_mutex_lock(&sync->lock);
	sync->is_done = true;
	sync->err = err;
	pthread_cond_signal(&sync->wake);
	pthread_mutex_unlock(&sync->lock);
}

void sfs_sync_init(struct sfs_sync *sync)
{
	*sync = (struct sfs_sync){.waiter.done = wake};
	pthread_mutex_init(&sync->lock, NULL);
	pthread_cond_init(&sync->wake, NULL);
}

void sfs_sync_done(struct sfs_sync *sync)
{
	pthread_mutex_destroy(&sync->lock);
	pthread_cond_destroy(&sync->wake);
}

/* -EAGAIN: not before `until_ns`. */
static int wait_until(struct sfs_sync *sync, uint64_t until_ns)
{
	int err = -EAGAIN;

	pthread_mutex_lock(&sync->lock);
	while (!sync->is_done && sfs_cond_wait_until(&sync->wake, &sync->lock, until_ns))
		;
	if (sync->is_done)
		err = sync->err;
	sync->is_done = false;
	pthread_mutex_unlock(&sync->lock);
	return err;
}

/* The wait has timed out. */
static int give_up(struct sfs_sync *sync)
{
	struct sfs_cause cause = {.offset = SFS_NO_OFFSET};

	sfs_waiter_explain(&sync->waiter, &cause);
	if (!sfs_waiter_cancel(&sync->waiter))
		return wait_until(sync,
				  UINT64_MAX); /* its done() is about to be called */
	sfs_cause_note(&cause, sfs_stall_limit_ns(), "");
	return -ETIMEDOUT;
}

/* The user is to be told of the wait. */
static void say(struct sfs_sync *sync, uint64_t until_ns)
{
	struct sfs_cause cause = {.offset = SFS_NO_OFFSET};

	sfs_waiter_explain(&sync->waiter, &cause);
	if (cause.text[0])
		sfs_stall_say(&cause, until_ns, "gives up");
}

int sfs_sync_wait(struct sfs_sync *sync)
{
	return sfs_sync_wait_showing(sync, NULL, NULL);
}

int sfs_sync_wait_showing(struct sfs_sync *sync, void (*show)(void *ctx), void *ctx)
{
	uint64_t begun_ns = sfs_clock_ns(), until_ns, now_ns = begun_ns;
	int ret;

	for (;;) {
		until_ns = sfs_stall_until(begun_ns);
		if (now_ns >= until_ns)
			return give_up(sync);
		if (now_ns >= sfs_stall_say_at())
			say(sync, until_ns);
		if (sfs_stall_say_at() < until_ns && sfs_stall_say_at() > now_ns)
			until_ns = sfs_stall_say_at();
		if (show && now_ns + SHOW_NS < until_ns)
			until_ns = now_ns + SHOW_NS;
		ret = wait_until(sync, until_ns);
		if (ret != -EAGAIN)
			return ret;
		if (show)
			show(ctx);
		now_ns = sfs_clock_ns();
	}
}
