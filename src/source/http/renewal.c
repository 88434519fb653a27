/* SPDX-License-Identifier: MIT */
#include "source/http/renewal.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/cond.h"
#include "base/log.h"
#include "base/reload.h"
#include "base/threadpool.h"

#include <errno.h>
#include <pthread.h>

#define EARLY_S	 300 /* before they expire */
#define LEAST_S	 1   /* between two renewals */
#define FAILED_S 10  /* after one that failed */
#define SAME_S	 5   /* how long those that were found again are not looked for */

struct sfs_renewer {
	const struct sfs_renewer_ops *ops;
	void *ctx;
	pthread_t thread;
	atomic_bool is_stopped;

	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t changed;
	void *present; /* NULL: there are none */
	int64_t expires_s;
	unsigned edition;
	bool is_wanted;		     /* somebody was refused with them, or a reload */
	bool has_failed, has_others; /* the last search: it failed, or found others */
	unsigned reload;	     /* the request of which they were looked for */
	uint64_t began_ns, ended_ns; /* of the last search that has ended */
	uint64_t next_ns;	     /* of the next one; UINT64_MAX: none is due */
};

/* How long these are good for, as seen now; UINT64_MAX: for good. */
static uint64_t next_after(int64_t expires_s, uint64_t now_ns)
{
	int64_t left_s = expires_s - (int64_t)(sfs_clock_wall_ms() / 1000);

	if (expires_s == 0)
		return UINT64_MAX;
	/* Of those that live shorter than that, half of what is left. */
	left_s = left_s > 2 * EARLY_S ? left_s - EARLY_S : left_s / 2;
	if (left_s < LEAST_S)
		left_s = LEAST_S;
	return now_ns + (uint64_t)left_s * SFS_NS_PER_S;
}

static void discard(struct sfs_renewer *r)
{
	if (r->present)
		r->ops->free(steal(&r->present));
}

/* Others have been found, or the same.  Locked. */
static void renewal_take(struct sfs_renewer *r, void *value, int64_t expires_s,
			 uint64_t now_ns)
{
	r->has_others = !r->present || !r->ops->is_same(value, r->present);
	r->edition += r->has_others;
	discard(r);
	r->present = value;
	r->expires_s = expires_s;
	r->next_ns = next_after(expires_s, now_ns);
}

/* A search has ended.  Locked. */
static void end_search(struct sfs_renewer *r, int ret, void *value, int64_t expires_s,
		       uint64_t began_ns)
{
	uint64_t now_ns = sfs_clock_ns();

	r->is_wanted = false;
	r->has_failed = ret < 0;
	r->has_others = false;
	r->began_ns = began_ns;
	r->ended_ns = now_ns;
	if (ret == 0)
		renewal_take(r, value, expires_s, now_ns);
	else
		r->next_ns = r->expires_s ? now_ns + FAILED_S * SFS_NS_PER_S : UINT64_MAX;
	pthread_cond_broadcast(&r->changed);
}

static void *work(void *arg)
{
	struct sfs_renewer *r = arg;
	struct sfs_error why;
	int64_t expires_s;
	uint64_t began_ns;
	void *value;
	int ret;

	pthread_mutex_lock(&r->lock);
	while (!r->is_stopped) {
		if (!r->is_wanted && sfs_clock_ns() < r->next_ns) {
			sfs_cond_wait_until(&r->changed, &r->lock, r->next_ns);
			continue;
		}
		pthread_mutex_unlock(&r->lock);
		began_ns = sfs_clock_ns();
		value = NULL;
		expires_s = 0;
		why.text[0] = 0;
		ret = r->ops->find(r->ctx, &r->is_stopped, &value, &expires_s, &why);
		if (ret < 0 && ret != -ENOENT && !r->is_stopped)
			sfs_warning("%s: %s; shufflefs keeps using what it has",
				    r->ops->what, why.text);
		pthread_mutex_lock(&r->lock);
		end_search(r, ret, value, expires_s, began_ns);
	}
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

static void renewer_free(struct sfs_renewer *r)
{
	discard(r);
	pthread_mutex_destroy(&r->lock);
	pthread_cond_destroy(&r->changed);
	free(r);
}

struct sfs_renewer *sfs_renewer_start(const struct sfs_renewer_ops *ops, void *ctx,
				      struct sfs_error *err)
{
	struct sfs_renewer *r = sfs_calloc(1, sizeof *r);
	int64_t expires_s = 0;
	void *value = NULL;
	int ret;

	r->ops = ops;
	r->ctx = ctx;
	r->reload = sfs_reload_edition();
	r->next_ns = UINT64_MAX;
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->changed, NULL);
	ret = ops->find(ctx, &r->is_stopped, &value, &expires_s, err);
	if (ret < 0 && ret != -ENOENT) {
		renewer_free(r);
		return NULL;
	}
	if (ret == 0)
		renewal_take(r, value, expires_s, sfs_clock_ns());
	r->thread = sfs_thread_start("sfs-keys", work, r);
	return r;
}

void sfs_renewer_stop(struct sfs_renewer *r)
{
	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	r->is_stopped = true;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
	pthread_join(r->thread, NULL);
	renewer_free(r);
}

/* Locked. */
static void obey_reload(struct sfs_renewer *r)
{
	if (r->reload == sfs_reload_edition())
		return;
	r->reload = sfs_reload_edition();
	r->is_wanted = true;
	pthread_cond_broadcast(&r->changed);
}

unsigned sfs_renewer_get(struct sfs_renewer *r, void **ret_value)
{
	unsigned edition;

	pthread_mutex_lock(&r->lock);
	obey_reload(r);
	*ret_value = r->present ? r->ops->copy(r->present) : NULL;
	edition = r->edition;
	pthread_mutex_unlock(&r->lock);
	return edition;
}

unsigned sfs_renewer_edition(struct sfs_renewer *r)
{
	unsigned edition;

	pthread_mutex_lock(&r->lock);
	obey_reload(r);
	edition = r->edition;
	pthread_mutex_unlock(&r->lock);
	return edition;
}

/* Locked. */
static enum sfs_renewal judge(struct sfs_renewer *r, unsigned edition, uint64_t made_ns)
{
	bool is_fresh =
		r->ended_ns > 0 && sfs_clock_ns() < r->ended_ns + SAME_S * SFS_NS_PER_S;

	if (edition != r->edition)
		return SFS_RENEWAL_NOW;
	if (r->is_wanted)
		return SFS_RENEWAL_SOON;
	if (r->has_failed && r->ops->insists) {
		if (is_fresh)
			return SFS_RENEWAL_SOON;
	} else if (!r->has_others &&
		   (is_fresh || (r->ended_ns > 0 && r->began_ns > made_ns))) {
		return SFS_RENEWAL_NO;
	}
	r->is_wanted = true;
	pthread_cond_broadcast(&r->changed);
	return SFS_RENEWAL_SOON;
}

enum sfs_renewal sfs_renewer_renew(struct sfs_renewer *r, unsigned edition,
				   uint64_t made_ns, bool may_wait)
{
	enum sfs_renewal renewal;

	pthread_mutex_lock(&r->lock);
	while ((renewal = judge(r, edition, made_ns)) == SFS_RENEWAL_SOON && may_wait) {
		if (!r->is_wanted) { /* the last search failed */
			renewal = SFS_RENEWAL_NO;
			break;
		}
		sfs_cond_wait_until(&r->changed, &r->lock, UINT64_MAX);
	}
	pthread_mutex_unlock(&r->lock);
	return renewal;
}
