/* SPDX-License-Identifier: MIT */
/* How this works: the commands are in forward/.  Only WAIT waits, as any pending request
 * does. */
#include "ioctl.h"

#include "base/clock.h"
#include "forward/forward.h"

#include <errno.h>
#include <stdint.h>

static struct sfs_forward *forward_of(const struct sfs_pending *pending)
{
	return (struct sfs_forward *)(uintptr_t)pending->node;
}

static void reply_state(struct sfs_pending *pending, uint32_t state)
{
	struct shufflefs_wait w = {.size = sizeof w,
				   .timeout_ms = (int32_t)pending->cookie,
				   .ret_state = state};

	fuse_req_interrupt_func(pending->req, NULL, NULL);
	fuse_reply_ioctl(pending->req, 0, &w, sizeof w);
}

/* The time is up. */
static void reply_now(struct sfs_pending *pending)
{
	struct shufflefs_status st;

	sfs_forward_status(forward_of(pending), &st);
	reply_state(pending, st.ret_state);
}

static int try_wait(struct sfs_pending *pending)
{
	uint32_t state;
	int ret = sfs_forward_wait(forward_of(pending), &pending->waiter, &state);

	if (ret == 0)
		reply_state(pending, state);
	return ret;
}

static void wait_for_end(struct sfs_pending_table *table, fuse_req_t req,
			 struct sfs_forward *forward, int32_t timeout_ms)
{
	struct sfs_pending *pending = sfs_pending_new(table, req);

	pending->node = (uintptr_t)forward;
	pending->cookie = (uint64_t)timeout_ms;
	pending->attempt = try_wait;
	pending->late = reply_now;
	pending->ends_by_handler = true;
	pending->own_ns =
		timeout_ms < 0 ? UINT64_MAX : (uint64_t)timeout_ms * SFS_NS_PER_MS;
	sfs_pending_run(pending);
}

void sfs_ioctl_answer(struct sfs_pending_table *table, fuse_req_t req,
		      struct sfs_forward *forward, const struct sfs_ioctl *ioctl)
{
	union sfs_ioctl_argument arg;
	size_t n;
	int ret = sfs_ioctl_run(forward, ioctl, &arg, &n);

	if (ret == -EINPROGRESS)
		wait_for_end(table, req, forward, arg.wait.timeout_ms);
	else if (n == 0)
		fuse_reply_err(req, -ret);
	else
		fuse_reply_ioctl(req, ret, &arg, n);
}
