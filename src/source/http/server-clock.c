/* SPDX-License-Identifier: MIT */
#include "source/http/server-clock.h"

#include "base/clock.h"
#include "base/log.h"

#include <stdio.h>
#include <time.h>

#define MOST_OFF_S 60 /* a clock that differs by less is as good as right */

static int64_t own_now_s(void)
{
	return (int64_t)time(NULL);
}

void sfs_server_clock_init(struct sfs_server_clock *c)
{
	*c = (struct sfs_server_clock){0};
	pthread_mutex_init(&c->lock, NULL);
}

void sfs_server_clock_done(struct sfs_server_clock *c)
{
	pthread_mutex_destroy(&c->lock);
}

int64_t sfs_server_clock_now_s(struct sfs_server_clock *c)
{
	int64_t off_s;

	pthread_mutex_lock(&c->lock);
	off_s = c->off_s;
	pthread_mutex_unlock(&c->lock);
	return own_now_s() + off_s;
}

bool sfs_server_clock_learn(struct sfs_server_clock *c, int64_t date_s,
			    uint64_t signed_ns, const char *server)
{
	int64_t off_s = date_s - own_now_s(), change_s;
	bool is_new, is_other;

	if (date_s == 0)
		return false;
	pthread_mutex_lock(&c->lock);
	change_s = off_s - c->off_s;
	is_new = change_s > MOST_OFF_S || change_s < -MOST_OFF_S;
	is_other = is_new || c->learned_ns > signed_ns;
	if (is_new) {
		c->off_s = off_s;
		c->learned_ns = sfs_clock_ns();
	}
	pthread_mutex_unlock(&c->lock);
	if (!is_new)
		return is_other;
	sfs_warning("the clock of this machine is %lld s %s that of the %s server: set "
		    "it; until then requests are signed with the server's time",
		    (long long)(off_s < 0 ? -off_s : off_s),
		    off_s < 0 ? "ahead of" : "behind", server);
	return true;
}

void sfs_server_clock_describe(int64_t date_s, int64_t now_s, char *to, size_t size)
{
	int64_t off = date_s - now_s;

	if (date_s == 0)
		snprintf(to, size, "the clock of this machine is wrong: set it");
	else
		snprintf(to, size,
			 "the clock of this machine is %lld s %s that of the server: set "
			 "it",
			 (long long)(off < 0 ? -off : off),
			 off < 0 ? "ahead of" : "behind");
}
