/* SPDX-License-Identifier: MIT */
#include "transport/receive-loop.h"

#include "base/clock.h"

#include <errno.h>
#include <stdio.h>

#define LINGER_NS 10000000000ULL /* more than a sender waits between two attempts */

/* Senders hear that all has arrived, if need be over a new connection, and leave. */
static void linger(const struct sfs_sessions *s, const struct sfs_receive_ops *ops,
		   struct sfs_receiver *r)
{
	uint64_t until_ns = sfs_clock_ns() + LINGER_NS;

	while (!sfs_sessions_have_left(s) && sfs_clock_ns() < until_ns &&
	       ops->poll(r) == 0)
		;
}

/* (A receiver that was stopped did not fail: its senders wait for the next one.) */
static void say_bye(const struct sfs_sessions *s, const struct sfs_receive_ops *ops,
		    struct sfs_receiver *r)
{
	struct sfs_wire_message bye = {.kind = SFS_WIRE_BYE};

	if (s->error != -ECANCELED)
		snprintf(bye.text, sizeof bye.text, "%.500s", s->why.text);
	ops->say(r, &bye);
}

int sfs_receive_loop_run(struct sfs_sessions *s, const struct sfs_receive_ops *ops,
			 struct sfs_receiver *r, struct sfs_error *err)
{
	while (s->error == 0 && !sfs_sessions_are_over(s)) {
		if (ops->poll(r) < 0)
			sfs_sessions_fail(s, -ECANCELED, "the receiver was stopped");
		ops->look_at_times(r);
	}
	if (s->error == 0) {
		sfs_ring_end(s->ring);
		linger(s, ops, r);
		return 0;
	}
	say_bye(s, ops, r);
	return sfs_sessions_result(s, err);
}

void sfs_receive_loop_describe(const struct sfs_sessions *s, const char *source,
			       uint64_t n_refused, struct sfs_json_writer *json)
{
	sfs_json_put_string(json, "source", source);
	sfs_json_put_uint(json, "received", s->n_received);
	sfs_json_put_uint(json, "repeated", s->n_repeated);
	sfs_json_put_uint(json, "connections", s->n_connections);
	sfs_json_put_uint(json, "refused", n_refused);
}
