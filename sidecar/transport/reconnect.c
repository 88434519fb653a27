/* SPDX-License-Identifier: MIT */
#include "transport/reconnect.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/rng.h"

#include <errno.h>

/* *ret_is_news: see sfs_patience_lose(). */
static int connect_once(const struct sfs_reconnect *how, struct sfs_transport *t,
			struct sfs_outbox *box, struct sfs_patience *patience,
			uint64_t *heard_ns, bool *ret_is_news, struct sfs_error *err)
{
	uint64_t begun_ns, credited;
	int ret = how->connect(t, err);

	*ret_is_news = false;
	if (ret == 0) {
		credited = sfs_outbox_credited(box);
		begun_ns = *heard_ns = sfs_clock_ns();
		ret = how->stream(t, err);
		*ret_is_news = sfs_patience_lose(patience, begun_ns, *heard_ns,
						 sfs_outbox_credited(box) - credited,
						 sfs_clock_ns());
	}
	how->disconnect(t);
	return ret;
}

void sfs_reconnect_run(const struct sfs_reconnect *how, struct sfs_transport *t,
		       struct sfs_outbox *box, struct sfs_patience *patience,
		       uint64_t *heard_ns)
{
	struct sfs_error err = {""};
	struct sfs_rng rng;
	bool is_news;
	int ret;

	sfs_rng_init(&rng, &box->session, 1);
	sfs_patience_begin(patience, box->give_up_ms, sfs_clock_ns());
	for (;;) {
		ret = connect_once(how, t, box, patience, heard_ns, &is_news, &err);
		if (ret == -ECANCELED || sfs_outbox_has_arrived(box))
			return;
		if (ret != -ECONNABORTED &&
		    sfs_patience_is_over(patience, sfs_clock_ns()))
			ret = sfs_error_wrap(&err, -ECONNABORTED, "no receiver for %g s",
					     box->give_up_ms / 1e3);
		if (ret == -ECONNABORTED) {
			sfs_outbox_fail_for_good(box, -EPIPE, &err);
			return;
		}
		if (is_news)
			sfs_warning("%s: %s; connecting again", box->target, err.text);
		sfs_outbox_wait_for(box, -1, 0,
				    sfs_patience_next(patience, &rng, sfs_clock_ns()));
	}
}
