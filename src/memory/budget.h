/* SPDX-License-Identifier: MIT */
/* budget - one budget for all large memory of the process.
 *
 * Everything large (slabs, tables, single reads) is granted here before it is fetched or
 * allocated.  So memory has a bound, and waiting for a grant slows the network down to
 * the speed of the reader.
 *
 * A holder opens an account with a floor: bytes that it can always have, so that it can
 * always go on.  Above its floor it may take what is free, up to an equal share of the
 * memory that is not reserved for floors.
 *
 * When memory is short elsewhere, a limit below the total restricts what goes beyond
 * floors, until it is raised again.
 *
 * Some memory cannot wait for a grant: a table in use, a file that is opened.  It is held
 * anyway, and what is not granted is owed: until that much has been given back, no
 * account gets more than its floor.
 *
 * Any thread may call; nothing waits.
 */
#ifndef SFS_BUDGET_H
#define SFS_BUDGET_H

#include "base/list.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define SFS_BUDGET_LANE_FLOOR ((uint64_t)256 << 10) /* of each lane of a stream */

struct sfs_budget {
	uint64_t total_bytes;
	_Atomic uint64_t limit_bytes; /* at most the total; see sfs_budget_limit() */

	pthread_mutex_t lock; /* guards all below and the accounts' fields */
	uint64_t taken_bytes; /* the sum of max(used, floor) of open accounts */
	uint64_t floor_bytes; /* the sum of the floors, without those of guests */
	uint64_t owed_bytes;  /* held by accounts without a grant */
	uint64_t used_bytes;  /* held by all accounts, granted or owed; */
	uint64_t most_used_bytes; /* the most that it ever was */
	int n_sharing;	      /* accounts, without guests */
	int n_waiting;	      /* accounts not open yet; their floors count above */
	struct sfs_link accounts;
};

struct sfs_account {
	struct sfs_budget *budget;
	uint64_t floor_bytes, used_bytes;
	uint64_t owed_bytes; /* held, and not granted: not in used_bytes */
	bool is_sharing;
	bool is_waiting; /* for its floor */
	bool wants;	 /* a take was refused since the last room */
	bool is_guest;	 /* see sfs_account_set_guest() */
	void (*room)(struct sfs_account *account);
	struct sfs_link link;
};

void sfs_budget_init(struct sfs_budget *b, uint64_t total_bytes);
void sfs_budget_done(struct sfs_budget *b);

/* Open an account.  `room` (may be NULL) is called with the budget locked when
 * a refused take may now succeed: post a task there, nothing else.  `is_sharing`
 * accounts are held to an equal share; others may take all that is free.
 * -ENOMEM: there is no room for the floor, or others wait for theirs; nothing was opened.
 */
int sfs_account_open(struct sfs_account *account, struct sfs_budget *b,
		     uint64_t floor_bytes, bool is_sharing,
		     void (*room)(struct sfs_account *));

/* Open an account now (true), or as soon as the others have given back what they
 * hold above their floors; until then no account gets more than its floor.
 * Calls `room` then. */
bool sfs_account_open_in_turn(struct sfs_account *account, struct sfs_budget *b,
			      uint64_t floor_bytes, bool is_sharing,
			      void (*room)(struct sfs_account *));
bool sfs_account_is_open(struct sfs_account *account);

/* Open the account `to` with all that the open account `from` has: the floor, which stays
 * claimed all the time, and what is used.  `from` keeps nothing, and must be closed. */
void sfs_account_move(struct sfs_account *to, struct sfs_account *from);

/* Make an open account a guest, or (false) a normal one again.  A guest keeps its floor
 * for later; above it, it takes only what is free while no other account waits for bytes,
 * and it takes nothing, also of its floor, by which all together would hold more than they
 * ever did.  It does not reduce the share of others, and its waiting does not count as a
 * shortage. */
void sfs_account_set_guest(struct sfs_account *account, bool is_guest);

/* Everything must have been given back. */
void sfs_account_close(struct sfs_account *account);

/* 0: granted, give back with sfs_account_give().  -EAGAIN: `room` will be called. */
int sfs_account_take(struct sfs_account *account, uint64_t n_bytes);
void sfs_account_give(struct sfs_account *account, uint64_t n_bytes);

/* Hold n_bytes now, whether they can be granted or not; give them back with
 * sfs_account_give().  -ENOMEM: the account would hold more than `most`. */
int sfs_account_hold(struct sfs_account *account, uint64_t n_bytes, uint64_t most);

/* What it holds now. */
uint64_t sfs_account_used(struct sfs_account *account);

/* What this account may hold in total, at the moment. */
uint64_t sfs_account_share(struct sfs_account *account);

/* Set the limit: while that much is taken, with floors counted in full, no account gets
 * more than its floor; shares are shares of the limit.  Holders keep what they have, and
 * floors are granted as always, also to new accounts.  More than the total means the
 * total. */
void sfs_budget_limit(struct sfs_budget *b, uint64_t bytes);

/* Short: an account that is not a guest waits for bytes, or more is taken than the limit;
 * so idle holders should give bytes back.  Starved: an account waits for its floor.  Held
 * back: that fits as soon as the others hold no more than theirs. */
bool sfs_budget_is_short(struct sfs_budget *b);
bool sfs_budget_is_starved(struct sfs_budget *b);
bool sfs_budget_is_held_back(struct sfs_budget *b);

/* Bytes granted now, floors not counted. */
uint64_t sfs_budget_used(struct sfs_budget *b);

/* The sum of the floors. */
uint64_t sfs_budget_floors(struct sfs_budget *b);

/* What the limit leaves beyond the floors. */
uint64_t sfs_budget_spare(struct sfs_budget *b);

#endif
