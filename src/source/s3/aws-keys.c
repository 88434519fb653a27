/* SPDX-License-Identifier: MIT */
#include "source/s3/aws-keys.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/cond.h"
#include "base/log.h"
#include "base/reload.h"
#include "base/threadpool.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#define EARLY_S	 300 /* before they expire */
#define LEAST_S	 1   /* between two renewals */
#define FAILED_S 10  /* after one that failed */
#define SAME_S	 5   /* how long those that were found again are not looked for */

struct sfs_aws_keys {
	pthread_t thread;
	struct sfs_curl_caller *caller; /* the thread's */
	atomic_bool is_stopped;

	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t changed;
	struct sfs_aws_credentials present;
	unsigned edition;
	bool is_wanted;		     /* somebody was refused with them, or a reload */
	unsigned reload;	     /* the request of which they were looked for */
	uint64_t began_ns, ended_ns; /* of the last search that has ended */
	uint64_t next_ns;	     /* of the next one; UINT64_MAX: none is due */
};

static bool is_same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool are_same(const struct sfs_aws_credentials *a,
		     const struct sfs_aws_credentials *b)
{
	return is_same(a->key_id, b->key_id) && is_same(a->secret, b->secret) &&
	       is_same(a->token, b->token);
}

/* How long these are good for, as seen now; UINT64_MAX: for good. */
static uint64_t next_after(const struct sfs_aws_credentials *c, uint64_t now_ns)
{
	int64_t left_s = c->expires_s - (int64_t)(sfs_clock_wall_ms() / 1000);

	if (c->expires_s == 0)
		return UINT64_MAX;
	/* Of those that live shorter than that, half of what is left. */
	left_s = left_s > 2 * EARLY_S ? left_s - EARLY_S : left_s / 2;
	if (left_s < LEAST_S)
		left_s = LEAST_S;
	return now_ns + (uint64_t)left_s * SFS_NS_PER_S;
}

/* A search has ended.  Locked. */
static void aws_keys_take(struct sfs_aws_keys *k, int ret,
			  struct sfs_aws_credentials *found, uint64_t began_ns)
{
	uint64_t now_ns = sfs_clock_ns();

	k->is_wanted = false;
	k->began_ns = began_ns;
	k->ended_ns = now_ns;
	if (ret == 0 && !are_same(found, &k->present))
		k->edition++;
	if (ret == 0) {
		sfs_aws_credentials_done(&k->present);
		k->present = *found;
		k->next_ns = next_after(found, now_ns);
	} else {
		k->next_ns = k->present.expires_s ? now_ns + FAILED_S * SFS_NS_PER_S
						  : UINT64_MAX;
	}
	pthread_cond_broadcast(&k->changed);
}

static void *work(void *arg)
{
	struct sfs_aws_credentials found;
	struct sfs_aws_keys *k = arg;
	struct sfs_error why;
	uint64_t began_ns;
	int ret;

	pthread_mutex_lock(&k->lock);
	while (!k->is_stopped) {
		if (!k->is_wanted && sfs_clock_ns() < k->next_ns) {
			sfs_cond_wait_until(&k->changed, &k->lock, k->next_ns);
			continue;
		}
		pthread_mutex_unlock(&k->lock);
		began_ns = sfs_clock_ns();
		found = (struct sfs_aws_credentials){0};
		why.text[0] = 0;
		ret = sfs_aws_credentials_find(k->caller, &k->is_stopped, &found, &why);
		if (ret < 0 && ret != -ENOENT && !k->is_stopped)
			sfs_warning("S3: no new credentials: %s", why.text);
		pthread_mutex_lock(&k->lock);
		aws_keys_take(k, ret, &found, began_ns);
	}
	pthread_mutex_unlock(&k->lock);
	return NULL;
}

struct sfs_aws_keys *sfs_aws_keys_start(const struct sfs_http_options *options,
					struct sfs_error *err)
{
	struct sfs_aws_keys *k = sfs_calloc(1, sizeof *k);
	int ret;

	k->next_ns = UINT64_MAX;
	pthread_mutex_init(&k->lock, NULL);
	pthread_cond_init(&k->changed, NULL);
	k->caller = sfs_curl_caller_new(options, &k->is_stopped, err);
	ret = k->caller ? sfs_aws_credentials_find(k->caller, &k->is_stopped, &k->present,
						   err)
			: -EINVAL;
	if (ret < 0 && ret != -ENOENT) {
		sfs_curl_caller_free(k->caller);
		pthread_mutex_destroy(&k->lock);
		pthread_cond_destroy(&k->changed);
		free(k);
		return NULL;
	}
	if (ret == 0)
		k->next_ns = next_after(&k->present, sfs_clock_ns());
	k->thread = sfs_thread_start("sfs-keys", work, k);
	return k;
}

void sfs_aws_keys_stop(struct sfs_aws_keys *k)
{
	if (!k)
		return;
	pthread_mutex_lock(&k->lock);
	k->is_stopped = true;
	pthread_cond_broadcast(&k->changed);
	pthread_mutex_unlock(&k->lock);
	pthread_join(k->thread, NULL);
	sfs_curl_caller_free(k->caller);
	sfs_aws_credentials_done(&k->present);
	pthread_mutex_destroy(&k->lock);
	pthread_cond_destroy(&k->changed);
	free(k);
}

unsigned sfs_aws_keys_get(struct sfs_aws_keys *k, struct sfs_aws_credentials *ret)
{
	unsigned edition;

	pthread_mutex_lock(&k->lock);
	if (k->reload != sfs_reload_edition()) {
		k->reload = sfs_reload_edition();
		k->is_wanted = true;
		pthread_cond_broadcast(&k->changed);
	}
	*ret = sfs_aws_credentials_copy(&k->present);
	edition = k->edition;
	pthread_mutex_unlock(&k->lock);
	return edition;
}

/* Locked. */
static enum sfs_aws_renewal judge(struct sfs_aws_keys *k, unsigned edition,
				  uint64_t signed_ns)
{
	if (edition != k->edition)
		return SFS_AWS_OTHERS;
	if (!k->is_wanted && k->ended_ns > 0 &&
	    (k->began_ns > signed_ns ||
	     sfs_clock_ns() < k->ended_ns + SAME_S * SFS_NS_PER_S))
		return SFS_AWS_SAME;
	if (!k->is_wanted) {
		k->is_wanted = true;
		pthread_cond_broadcast(&k->changed);
	}
	return SFS_AWS_SOON;
}

enum sfs_aws_renewal sfs_aws_keys_renew(struct sfs_aws_keys *k, unsigned edition,
					uint64_t signed_ns, bool may_wait)
{
	enum sfs_aws_renewal renewal;

	pthread_mutex_lock(&k->lock);
	while ((renewal = judge(k, edition, signed_ns)) == SFS_AWS_SOON && may_wait)
		sfs_cond_wait_until(&k->changed, &k->lock, UINT64_MAX);
	pthread_mutex_unlock(&k->lock);
	return renewal;
}
