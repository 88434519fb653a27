/* SPDX-License-Identifier: MIT */
/* How this works: every account weighs max(used, floor) bytes, and the weights
 * never add up to more than the total.  So a take within the floor changes no
 * weight and always succeeds, which is why nobody can starve anybody. */
#include "budget.h"

#include <assert.h>
#include <errno.h>

static uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

void sfs_budget_init(struct sfs_budget *b, uint64_t total_bytes)
{
	*b = (struct sfs_budget){.total_bytes = total_bytes};
	pthread_mutex_init(&b->lock, NULL);
	sfs_list_init(&b->accounts);
}

void sfs_budget_done(struct sfs_budget *b)
{
	assert(sfs_list_is_empty(&b->accounts));
	pthread_mutex_destroy(&b->lock);
}

int sfs_account_open(struct sfs_account *account, struct sfs_budget *b, uint64_t floor_bytes,
		     bool is_sharing, void (*room)(struct sfs_account *))
{
	int ret = 0;

	*account = (struct sfs_account){.budget = b,
					.floor_bytes = floor_bytes,
					.is_sharing = is_sharing,
					.room = room};
	pthread_mutex_lock(&b->lock);
	if (floor_bytes > b->total_bytes - b->taken_bytes) {
		ret = -ENOMEM;
		account->budget = NULL;
	} else {
		b->taken_bytes += floor_bytes;
		b->floor_bytes += floor_bytes;
		b->n_sharing += is_sharing;
		sfs_list_push(&b->accounts, &account->link);
	}
	pthread_mutex_unlock(&b->lock);
	return ret;
}

/* Tell those who were refused.  The budget is locked. */
static void tell_room(struct sfs_budget *b)
{
	SFS_EACH(a, &b->accounts, struct sfs_account, link)
	{
		if (!a->wants)
			continue;
		a->wants = false;
		if (a->room)
			a->room(a);
	}
}

void sfs_account_close(struct sfs_account *account)
{
	struct sfs_budget *b = account->budget;

	if (!b)
		return;
	pthread_mutex_lock(&b->lock);
	assert(account->used_bytes == 0);
	sfs_link_remove(&account->link);
	b->taken_bytes -= account->floor_bytes;
	b->floor_bytes -= account->floor_bytes;
	b->n_sharing -= account->is_sharing;
	tell_room(b);
	pthread_mutex_unlock(&b->lock);
	account->budget = NULL;
}

/* The budget is locked. */
static uint64_t share_of(const struct sfs_account *account)
{
	const struct sfs_budget *b = account->budget;

	if (!account->is_sharing)
		return b->total_bytes;
	return account->floor_bytes +
	       (b->total_bytes - b->floor_bytes) / (uint64_t)b->n_sharing;
}

int sfs_account_take(struct sfs_account *account, uint64_t n_bytes)
{
	struct sfs_budget *b = account->budget;
	uint64_t weight, more, used;
	int ret = 0;

	pthread_mutex_lock(&b->lock);
	used = account->used_bytes + n_bytes;
	weight = max_u64(account->used_bytes, account->floor_bytes);
	more = max_u64(used, account->floor_bytes) - weight;
	if (more > 0 && (more > b->total_bytes - b->taken_bytes || used > share_of(account))) {
		account->wants = true;
		ret = -EAGAIN;
	} else {
		account->used_bytes = used;
		b->taken_bytes += more;
	}
	pthread_mutex_unlock(&b->lock);
	return ret;
}

void sfs_account_give(struct sfs_account *account, uint64_t n_bytes)
{
	struct sfs_budget *b = account->budget;
	uint64_t weight;

	if (n_bytes == 0)
		return;
	pthread_mutex_lock(&b->lock);
	assert(account->used_bytes >= n_bytes);
	weight = max_u64(account->used_bytes, account->floor_bytes);
	account->used_bytes -= n_bytes;
	b->taken_bytes -= weight - max_u64(account->used_bytes, account->floor_bytes);
	tell_room(b);
	pthread_mutex_unlock(&b->lock);
}

uint64_t sfs_account_used(struct sfs_account *account)
{
	uint64_t used;

	pthread_mutex_lock(&account->budget->lock);
	used = account->used_bytes;
	pthread_mutex_unlock(&account->budget->lock);
	return used;
}

uint64_t sfs_account_share(struct sfs_account *account)
{
	uint64_t share;

	pthread_mutex_lock(&account->budget->lock);
	share = share_of(account);
	pthread_mutex_unlock(&account->budget->lock);
	return share;
}

bool sfs_budget_is_short(struct sfs_budget *b)
{
	bool is_short = false;

	pthread_mutex_lock(&b->lock);
	SFS_EACH(a, &b->accounts, struct sfs_account, link)
		is_short |= a->wants;
	pthread_mutex_unlock(&b->lock);
	return is_short;
}

uint64_t sfs_budget_used(struct sfs_budget *b)
{
	uint64_t used = 0;

	pthread_mutex_lock(&b->lock);
	SFS_EACH(a, &b->accounts, struct sfs_account, link)
		used += a->used_bytes;
	pthread_mutex_unlock(&b->lock);
	return used;
}
