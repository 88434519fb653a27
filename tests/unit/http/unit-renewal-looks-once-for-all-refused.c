/* SPDX-License-Identifier: MIT */
/* Credentials that were refused are looked for once, however many requests were; who was
 * refused with old ones gets the new ones; the same again are final for a while; and a
 * search that fails is final, or, where it insists, repeated. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/reload.h"
#include "check.h"
#include "source/http/renewal.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int n_searches, n_allowed, found, result; /* guarded */

static int find(void *ctx, const atomic_bool *is_stopped, void **ret_value,
		int64_t *ret_expires_s, struct sfs_error *err)
{
	int ret;

	pthread_mutex_lock(&lock);
	n_searches++;
	while (n_searches > n_allowed)
		pthread_cond_wait(&changed, &lock);
	ret = result;
	if (ret == 0) {
		*ret_value = sfs_malloc(sizeof found);
		*(int *)*ret_value = found;
	}
	pthread_mutex_unlock(&lock);
	return ret < 0 ? sfs_error_set(err, ret, "no luck") : 0;
}

static bool is_same(const void *a, const void *b)
{
	return *(const int *)a == *(const int *)b;
}

static void *copy(const void *value)
{
	int *number = sfs_malloc(sizeof *number);

	*number = *(const int *)value;
	return number;
}

/* The next search ends so. */
static void allow(int value, int ret)
{
	pthread_mutex_lock(&lock);
	found = value;
	result = ret;
	n_allowed++;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static int count(void)
{
	int n;

	pthread_mutex_lock(&lock);
	n = n_searches;
	pthread_mutex_unlock(&lock);
	return n;
}

static unsigned is(struct sfs_renewer *r, int wanted)
{
	void *value;
	unsigned edition = sfs_renewer_get(r, &value);

	CHECK(value);
	CHECK_EQ(*(int *)value, wanted);
	free(value);
	return edition;
}

static struct sfs_renewer *start(struct sfs_renewer_ops *ops, bool insists)
{
	struct sfs_renewer *r;

	*ops = (struct sfs_renewer_ops){"test", find, is_same, copy, free, insists};
	n_searches = n_allowed = 0;
	allow(1, 0);
	r = sfs_renewer_start(ops, NULL, NULL);
	CHECK(r);
	return r;
}

/* Refused, until the search has ended. */
static enum sfs_renewal ends(struct sfs_renewer *r, unsigned edition, uint64_t made_ns)
{
	enum sfs_renewal renewal;

	while ((renewal = sfs_renewer_renew(r, edition, made_ns, false)) ==
	       SFS_RENEWAL_SOON)
		usleep(1000);
	return renewal;
}

static void check_renewal(void)
{
	struct sfs_renewer_ops ops;
	struct sfs_renewer *r = start(&ops, false);
	uint64_t made_ns = sfs_clock_ns();
	unsigned one = is(r, 1), two;
	int i;

	for (i = 0; i < 100; i++)
		CHECK_EQ(sfs_renewer_renew(r, one, made_ns, false), SFS_RENEWAL_SOON);
	allow(2, 0);
	CHECK_EQ(ends(r, one, made_ns), SFS_RENEWAL_NOW);
	CHECK_EQ(count(), 2);
	two = is(r, 2);
	/* Others that are refused at once are looked for at once; these are the same. */
	made_ns = sfs_clock_ns();
	allow(2, 0);
	CHECK_EQ(ends(r, two, made_ns), SFS_RENEWAL_NO);
	CHECK_EQ(count(), 3);
	CHECK_EQ(sfs_renewer_renew(r, two, sfs_clock_ns(), false), SFS_RENEWAL_NO);
	CHECK_EQ(sfs_renewer_renew(r, two, sfs_clock_ns(), true), SFS_RENEWAL_NO);
	CHECK_EQ(sfs_renewer_renew(r, one, made_ns, true), SFS_RENEWAL_NOW);
	CHECK_EQ(count(), 3);
	/* The user knows better. */
	sfs_reload_request();
	allow(3, 0);
	CHECK_EQ(sfs_renewer_edition(r), two);
	CHECK_EQ(ends(r, two, made_ns), SFS_RENEWAL_NOW);
	is(r, 3);
	sfs_renewer_stop(r);
}

static void check_failures(void)
{
	struct sfs_renewer_ops ops;
	struct sfs_renewer *r = start(&ops, false);
	unsigned one = is(r, 1);

	allow(0, -EIO);
	CHECK_EQ(ends(r, one, sfs_clock_ns()), SFS_RENEWAL_NO);
	is(r, 1);
	sfs_renewer_stop(r);

	r = start(&ops, true);
	one = is(r, 1);
	allow(0, -EIO);
	CHECK_EQ(sfs_renewer_renew(r, one, sfs_clock_ns(), true), SFS_RENEWAL_NO);
	allow(2, 0); /* some seconds later */
	CHECK_EQ(ends(r, one, sfs_clock_ns()), SFS_RENEWAL_NOW);
	CHECK_EQ(count(), 3);
	is(r, 2);
	sfs_renewer_stop(r);
	sfs_renewer_stop(NULL);

	n_searches = n_allowed = 0;
	allow(0, -EIO);
	CHECK(!sfs_renewer_start(&ops, NULL, NULL));
}

int main(void)
{
	check_renewal();
	check_failures();
	return 0;
}
