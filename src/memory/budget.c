/* SPDX-License-Identifier: MIT */
/* How this works: the weight of an account is max(used, floor) bytes, and the sum of the
 * weights never exceeds the total.  A take within the floor changes no weight, so it
 * always succeeds, and no account can starve another.  While an account waits for its
 * floor, no weight grows: it is opened as soon as the others have given back what they
 * hold above their floors.
 *
 * A guest has a weight too, but does not count when the rest is divided into shares.  It
 * never raises the sum of what is used to a new height: memory that was never used before
 * costs the system more, and all of it would stay for what is only a guess.
 *
 * The limit is checked only when a weight grows, so it may be lowered at any time: nobody
 * has to give anything back.
 *
 * Owed bytes are not part of a weight, so they cannot keep an account from its floor; but
 * they count against the limit. */
#include "memory/budget.h"

#include "base/lock.h"

#include <assert.h>
#include <errno.h>

/* A guest that was refused is called when this part of the height is free for it, not for
 * each slab. */
#define GUEST_PART 128

static uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

void sfs_budget_init(struct sfs_budget *b, uint64_t total_bytes)
{
	*b = (struct sfs_budget){.total_bytes = total_bytes, .limit_bytes = total_bytes};
	sfs_lock_init(&b->lock, SFS_LOCK_BUDGET);
	sfs_list_init(&b->accounts);
}

void sfs_budget_done(struct sfs_budget *b)
{
	assert(sfs_list_is_empty(&b->accounts));
	pthread_mutex_destroy(&b->lock);
}

/* The budget is locked. */
static bool has_room_for(const struct sfs_budget *b, uint64_t n_bytes)
{
	return n_bytes <= b->total_bytes - b->taken_bytes;
}

static void account_init(struct sfs_account *account, struct sfs_budget *b,
			 uint64_t floor_bytes, bool is_sharing,
			 void (*room)(struct sfs_account *))
{
	*account = (struct sfs_account){.budget = b,
					.floor_bytes = floor_bytes,
					.is_sharing = is_sharing,
					.room = room};
}

/* Does the account count when the budget is divided into shares? */
static void enter(struct sfs_budget *b, const struct sfs_account *account)
{
	b->floor_bytes += account->floor_bytes;
	b->n_sharing += account->is_sharing;
}

static void leave(struct sfs_budget *b, const struct sfs_account *account)
{
	b->floor_bytes -= account->floor_bytes;
	b->n_sharing -= account->is_sharing;
}

static void join(struct sfs_budget *b, struct sfs_account *account)
{
	enter(b, account);
	sfs_list_push(&b->accounts, &account->link);
}

int sfs_account_open(struct sfs_account *account, struct sfs_budget *b,
		     uint64_t floor_bytes, bool is_sharing,
		     void (*room)(struct sfs_account *))
{
	int ret = 0;

	account_init(account, b, floor_bytes, is_sharing, room);
	pthread_mutex_lock(&b->lock);
	if (has_room_for(b, floor_bytes) && (b->n_waiting == 0 || floor_bytes == 0)) {
		b->taken_bytes += floor_bytes;
		join(b, account);
	} else {
		ret = -ENOMEM;
		account->budget = NULL;
	}
	pthread_mutex_unlock(&b->lock);
	return ret;
}

bool sfs_account_open_in_turn(struct sfs_account *account, struct sfs_budget *b,
			      uint64_t floor_bytes, bool is_sharing,
			      void (*room)(struct sfs_account *))
{
	bool is_open;

	account_init(account, b, floor_bytes, is_sharing, room);
	pthread_mutex_lock(&b->lock);
	is_open = b->n_waiting == 0 && has_room_for(b, floor_bytes);
	if (is_open)
		b->taken_bytes += floor_bytes;
	account->is_waiting = !is_open;
	b->n_waiting += !is_open;
	join(b, account);
	pthread_mutex_unlock(&b->lock);
	return is_open;
}

bool sfs_account_is_open(struct sfs_account *account)
{
	bool is_open;

	pthread_mutex_lock(&account->budget->lock);
	is_open = !account->is_waiting;
	pthread_mutex_unlock(&account->budget->lock);
	return is_open;
}

void sfs_account_move(struct sfs_account *to, struct sfs_account *from)
{
	struct sfs_budget *b = from->budget;

	pthread_mutex_lock(&b->lock);
	assert(!from->is_waiting && !from->is_guest);
	*to = *from;
	to->link = (struct sfs_link){0};
	sfs_list_push(&b->accounts, &to->link);
	from->floor_bytes = from->used_bytes = from->owed_bytes = 0;
	from->is_sharing = from->wants = false;
	pthread_mutex_unlock(&b->lock);
}

/* May a guest have so many bytes more without a new height?  The budget is locked. */
static bool is_below_height(const struct sfs_budget *b, uint64_t n_bytes)
{
	return b->used_bytes + n_bytes <= b->most_used_bytes;
}

static void call(struct sfs_account *account)
{
	account->wants = false;
	if (account->room)
		account->room(account);
}

void sfs_account_set_guest(struct sfs_account *account, bool is_guest)
{
	struct sfs_budget *b = account->budget;

	pthread_mutex_lock(&b->lock);
	if (is_guest && !account->is_guest)
		leave(b, account);
	else if (!is_guest && account->is_guest)
		enter(b, account);
	account->is_guest = is_guest;
	if (!is_guest && account->wants)
		call(account);
	pthread_mutex_unlock(&b->lock);
}

/* Bytes were given back.  Open the waiting accounts, first come first served.  Then call
 * those that were refused, also while there is no room for a floor: what they want may
 * fit their own.  The budget is locked. */
static void share_out(struct sfs_budget *b)
{
	bool has_guest_room;

	SFS_EACH (a, &b->accounts, struct sfs_account, link) {
		if (!a->is_waiting)
			continue;
		if (!has_room_for(b, a->floor_bytes))
			break;
		b->taken_bytes += a->floor_bytes;
		a->is_waiting = false;
		b->n_waiting--;
		call(a);
	}
	has_guest_room = is_below_height(b, b->most_used_bytes / GUEST_PART);
	SFS_EACH (a, &b->accounts, struct sfs_account, link) {
		if (a->wants && (!a->is_guest || has_guest_room))
			call(a);
	}
}

void sfs_account_close(struct sfs_account *account)
{
	struct sfs_budget *b = account->budget;

	if (!b)
		return;
	pthread_mutex_lock(&b->lock);
	assert(account->used_bytes == 0 && account->owed_bytes == 0);
	sfs_link_remove(&account->link);
	if (account->is_waiting)
		b->n_waiting--;
	else
		b->taken_bytes -= account->floor_bytes;
	if (!account->is_guest)
		leave(b, account);
	share_out(b);
	pthread_mutex_unlock(&b->lock);
	account->budget = NULL;
}

/* The budget is locked. */
static uint64_t share_of(const struct sfs_account *account)
{
	const struct sfs_budget *b = account->budget;
	uint64_t limit = b->limit_bytes;

	if (!account->is_sharing || account->is_guest)
		return b->total_bytes;
	if (b->floor_bytes >= limit)
		return account->floor_bytes;
	return account->floor_bytes + (limit - b->floor_bytes) / (uint64_t)b->n_sharing;
}

static uint64_t held_bytes(const struct sfs_budget *b)
{
	return b->taken_bytes + b->owed_bytes;
}

/* Does an account that is not a guest wait for bytes, or do all hold more than the limit?
 * The budget is locked. */
static bool is_short(struct sfs_budget *b)
{
	if (held_bytes(b) > b->limit_bytes && held_bytes(b) > b->floor_bytes)
		return true;
	SFS_EACH (a, &b->accounts, struct sfs_account, link) {
		if ((a->wants && !a->is_guest) || a->is_waiting)
			return true;
	}
	return false;
}

/* Does an account wait for a floor that fits once the others are down to theirs?  Then no
 * weight may grow. */
static bool is_held_back(const struct sfs_budget *b)
{
	return b->n_waiting > 0 && b->floor_bytes <= b->total_bytes;
}

/* May a weight grow by this much?  The budget is locked. */
static bool may_grow(const struct sfs_budget *b, uint64_t more)
{
	return !is_held_back(b) && has_room_for(b, more) &&
	       held_bytes(b) + more <= b->limit_bytes;
}

/* The budget is locked. */
static void use(struct sfs_budget *b, uint64_t n_bytes)
{
	b->used_bytes += n_bytes;
	b->most_used_bytes = max_u64(b->most_used_bytes, b->used_bytes);
}

/* The budget is locked. */
static bool is_granted(struct sfs_account *account, uint64_t n_bytes)
{
	struct sfs_budget *b = account->budget;
	uint64_t used = account->used_bytes + n_bytes;
	uint64_t weight = max_u64(account->used_bytes, account->floor_bytes);
	uint64_t more = max_u64(used, account->floor_bytes) - weight;

	if (account->is_waiting ||
	    (account->is_guest && !is_below_height(b, n_bytes)) ||
	    (more > 0 && (!may_grow(b, more) || used > share_of(account) ||
			  (account->is_guest && is_short(b)))))
		return false;
	account->used_bytes = used;
	b->taken_bytes += more;
	use(b, n_bytes);
	return true;
}

int sfs_account_take(struct sfs_account *account, uint64_t n_bytes)
{
	struct sfs_budget *b = account->budget;
	int ret = 0;

	pthread_mutex_lock(&b->lock);
	if (!is_granted(account, n_bytes)) {
		account->wants = true;
		ret = -EAGAIN;
	}
	pthread_mutex_unlock(&b->lock);
	return ret;
}

/* The budget is locked. */
static uint64_t held_by(const struct sfs_account *account)
{
	return account->used_bytes + account->owed_bytes;
}

int sfs_account_hold(struct sfs_account *account, uint64_t n_bytes, uint64_t most)
{
	struct sfs_budget *b = account->budget;
	int ret = 0;

	pthread_mutex_lock(&b->lock);
	if (n_bytes > most || held_by(account) > most - n_bytes) {
		ret = -ENOMEM;
	} else if (!is_granted(account, n_bytes)) {
		account->owed_bytes += n_bytes;
		b->owed_bytes += n_bytes;
		use(b, n_bytes);
	}
	pthread_mutex_unlock(&b->lock);
	return ret;
}

/* Pay back owed bytes first.  Returns what remains to be given back.  The budget is
 * locked. */
static uint64_t pay(struct sfs_account *account, uint64_t n_bytes)
{
	uint64_t n = n_bytes < account->owed_bytes ? n_bytes : account->owed_bytes;

	account->owed_bytes -= n;
	account->budget->owed_bytes -= n;
	return n_bytes - n;
}

void sfs_account_give(struct sfs_account *account, uint64_t n_bytes)
{
	struct sfs_budget *b = account->budget;
	uint64_t weight;

	if (n_bytes == 0)
		return;
	pthread_mutex_lock(&b->lock);
	b->used_bytes -= n_bytes;
	n_bytes = pay(account, n_bytes);
	assert(account->used_bytes >= n_bytes);
	weight = max_u64(account->used_bytes, account->floor_bytes);
	account->used_bytes -= n_bytes;
	b->taken_bytes -= weight - max_u64(account->used_bytes, account->floor_bytes);
	share_out(b);
	pthread_mutex_unlock(&b->lock);
}

uint64_t sfs_account_used(struct sfs_account *account)
{
	uint64_t used;

	pthread_mutex_lock(&account->budget->lock);
	used = held_by(account);
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

void sfs_budget_limit(struct sfs_budget *b, uint64_t bytes)
{
	bool is_raised;

	pthread_mutex_lock(&b->lock);
	bytes = bytes < b->total_bytes ? bytes : b->total_bytes;
	is_raised = bytes > b->limit_bytes;
	b->limit_bytes = bytes;
	if (is_raised)
		share_out(b);
	pthread_mutex_unlock(&b->lock);
}

bool sfs_budget_is_short(struct sfs_budget *b)
{
	bool ret;

	pthread_mutex_lock(&b->lock);
	ret = is_short(b);
	pthread_mutex_unlock(&b->lock);
	return ret;
}

bool sfs_budget_is_held_back(struct sfs_budget *b)
{
	bool ret;

	pthread_mutex_lock(&b->lock);
	ret = is_held_back(b);
	pthread_mutex_unlock(&b->lock);
	return ret;
}

bool sfs_budget_is_starved(struct sfs_budget *b)
{
	bool is_starved;

	pthread_mutex_lock(&b->lock);
	is_starved = b->n_waiting > 0;
	pthread_mutex_unlock(&b->lock);
	return is_starved;
}

uint64_t sfs_budget_used(struct sfs_budget *b)
{
	uint64_t used;

	pthread_mutex_lock(&b->lock);
	used = b->used_bytes;
	pthread_mutex_unlock(&b->lock);
	return used;
}

uint64_t sfs_budget_floors(struct sfs_budget *b)
{
	uint64_t floors;

	pthread_mutex_lock(&b->lock);
	floors = b->floor_bytes;
	pthread_mutex_unlock(&b->lock);
	return floors;
}

uint64_t sfs_budget_spare(struct sfs_budget *b)
{
	uint64_t limit = b->limit_bytes, floors = sfs_budget_floors(b);

	return limit > floors ? limit - floors : 0;
}
