/* SPDX-License-Identifier: MIT */
/* Within its floor a take is always granted, whatever the limit; all together never
 * exceed the total, nor grow beyond the limit; a refused account is called when there is
 * room, also while another waits for a floor; guests get what nobody else wants; what is
 * held without a grant takes no floor away. */
#include "base/alloc.h"
#include "base/rng.h"
#include "base/threadpool.h"
#include "check.h"
#include "memory/budget.h"

#include <errno.h>
#include <stdatomic.h>

static int n_called[8];

static struct sfs_account accounts[8];

static void on_room(struct sfs_account *account)
{
	n_called[account - accounts]++;
}

static void open_account(int i, struct sfs_budget *b, uint64_t floor, bool is_sharing)
{
	CHECK_EQ(sfs_account_open(&accounts[i], b, floor, is_sharing, on_room), 0);
	n_called[i] = 0;
}

static void floors(void)
{
	struct sfs_budget b;

	sfs_budget_init(&b, 1000);
	open_account(0, &b, 400, false);
	open_account(1, &b, 0, false);
	/* What no floor claims is for whoever comes first. */
	CHECK_EQ(sfs_account_take(&accounts[1], 601), -EAGAIN);
	CHECK_EQ(sfs_account_take(&accounts[1], 600), 0);
	CHECK_EQ(sfs_account_take(&accounts[1], 1), -EAGAIN);
	CHECK_EQ(sfs_account_used(&accounts[1]), 600);
	/* The floor is there all the same, to its last byte. */
	CHECK_EQ(sfs_account_take(&accounts[0], 399), 0);
	CHECK_EQ(sfs_account_take(&accounts[0], 2), -EAGAIN);
	CHECK_EQ(sfs_account_take(&accounts[0], 1), 0);
	CHECK_EQ(sfs_budget_used(&b), 1000);
	/* Giving back within a floor is no room for others. */
	sfs_account_give(&accounts[0], 400);
	CHECK_EQ(sfs_account_take(&accounts[1], 1), -EAGAIN);
	CHECK_EQ(sfs_account_take(&accounts[0], 400), 0);
	sfs_account_give(&accounts[0], 400);
	sfs_account_give(&accounts[1], 600);
	CHECK_EQ(sfs_budget_used(&b), 0);
	CHECK_EQ(sfs_account_take(&accounts[0], 1000), 0);
	sfs_account_give(&accounts[0], 1000);
	sfs_account_close(&accounts[0]);
	sfs_account_close(&accounts[1]);
	sfs_budget_done(&b);
}

static void too_many_floors(void)
{
	struct sfs_budget b;

	sfs_budget_init(&b, 1000);
	open_account(0, &b, 600, true);
	CHECK_EQ(sfs_account_open(&accounts[1], &b, 401, true, on_room), -ENOMEM);
	sfs_account_close(&accounts[1]); /* nothing was opened */
	CHECK_EQ(sfs_account_open(&accounts[1], &b, UINT64_MAX, true, on_room), -ENOMEM);
	open_account(1, &b, 300, false);
	CHECK_EQ(sfs_account_take(&accounts[1], 400), 0);
	/* Even if it is not a floor that is in the way. */
	CHECK_EQ(sfs_account_open(&accounts[2], &b, 1, false, on_room), -ENOMEM);
	sfs_account_give(&accounts[1], 100);
	open_account(2, &b, 1, false);
	CHECK_EQ(sfs_account_take(&accounts[2], 1), 0);
	sfs_account_give(&accounts[2], 1);
	sfs_account_give(&accounts[1], 300);
	sfs_account_close(&accounts[0]);
	sfs_account_close(&accounts[1]);
	sfs_account_close(&accounts[2]);
	CHECK_EQ(b.taken_bytes, 0);
	CHECK_EQ(b.floor_bytes, 0);
	CHECK_EQ(b.n_sharing, 0);
	sfs_budget_done(&b);
}

static void shares(void)
{
	struct sfs_budget b;

	sfs_budget_init(&b, 1000);
	open_account(0, &b, 100, true);
	CHECK_EQ(sfs_account_share(&accounts[0]), 1000);
	open_account(1, &b, 300, true);
	open_account(2, &b, 0, false);
	CHECK_EQ(sfs_account_share(&accounts[0]), 100 + 600 / 2);
	CHECK_EQ(sfs_account_share(&accounts[1]), 300 + 600 / 2);
	CHECK_EQ(sfs_account_share(&accounts[2]), 1000);
	CHECK_EQ(sfs_account_take(&accounts[0], 401), -EAGAIN);
	CHECK_EQ(sfs_account_take(&accounts[0], 400), 0);
	CHECK_EQ(sfs_account_take(&accounts[2], 300), 0); /* not held to a share */
	CHECK_EQ(sfs_account_take(&accounts[1], 301), -EAGAIN);
	CHECK_EQ(sfs_account_take(&accounts[1], 300), 0);
	sfs_account_give(&accounts[1], 300);
	CHECK_EQ(n_called[0], 1);
	/* The fewer share, the more there is for each; who wanted more hears of it. */
	CHECK_EQ(sfs_account_take(&accounts[0], 200), -EAGAIN);
	sfs_account_close(&accounts[1]);
	CHECK_EQ(n_called[0], 2);
	CHECK_EQ(sfs_account_share(&accounts[0]), 1000);
	CHECK_EQ(sfs_account_take(&accounts[0], 200), 0);
	sfs_account_give(&accounts[0], 600);
	sfs_account_give(&accounts[2], 300);
	sfs_account_close(&accounts[0]);
	sfs_account_close(&accounts[2]);
	sfs_budget_done(&b);
}

static void room(void)
{
	struct sfs_budget b;

	sfs_budget_init(&b, 100);
	open_account(0, &b, 0, false);
	open_account(1, &b, 0, false);
	CHECK_EQ(sfs_account_open(&accounts[2], &b, 0, false, NULL), 0);
	CHECK_EQ(sfs_account_take(&accounts[0], 100), 0);
	CHECK(!sfs_budget_is_short(&b));
	sfs_account_give(&accounts[0], 10);
	CHECK_EQ(n_called[1], 0); /* it had not asked */
	CHECK_EQ(sfs_account_take(&accounts[1], 20), -EAGAIN);
	CHECK_EQ(sfs_account_take(&accounts[1], 30), -EAGAIN);
	CHECK_EQ(sfs_account_take(&accounts[2], 30), -EAGAIN);
	CHECK(sfs_budget_is_short(&b));
	sfs_account_give(&accounts[0], 0);
	CHECK_EQ(n_called[1], 0);
	sfs_account_give(&accounts[0], 30);
	CHECK_EQ(n_called[1], 1); /* once for all refusals */
	CHECK_EQ(n_called[0], 0);
	CHECK(!sfs_budget_is_short(&b));
	CHECK_EQ(sfs_account_take(&accounts[1], 40), 0);
	sfs_account_give(&accounts[0], 60);
	CHECK_EQ(n_called[1], 1);
	sfs_account_give(&accounts[1], 40);
	sfs_account_close(&accounts[0]);
	sfs_account_close(&accounts[1]);
	sfs_account_close(&accounts[2]);
	sfs_budget_done(&b);
}

static void limits(void)
{
	struct sfs_budget b;

	sfs_budget_init(&b, 1000);
	CHECK_EQ(b.limit_bytes, 1000);
	open_account(0, &b, 100, true);
	open_account(1, &b, 100, true);
	open_account(2, &b, 0, false);
	CHECK_EQ(sfs_budget_floors(&b), 200);
	CHECK_EQ(sfs_account_take(&accounts[0], 500), 0);
	CHECK(!sfs_budget_is_short(&b));

	/* Lowered: nobody loses anything, nobody gets more than the floor, */
	sfs_budget_limit(&b, 300);
	CHECK_EQ(sfs_account_used(&accounts[0]), 500);
	CHECK(sfs_budget_is_short(&b));
	CHECK_EQ(sfs_account_take(&accounts[0], 1), -EAGAIN);
	CHECK_EQ(sfs_account_take(&accounts[2], 1), -EAGAIN);
	CHECK_EQ(sfs_account_take(&accounts[1], 101), -EAGAIN);
	/* which is there as ever, for a newcomer too. */
	CHECK_EQ(sfs_account_take(&accounts[1], 100), 0);
	open_account(3, &b, 200, true);
	CHECK_EQ(sfs_account_take(&accounts[3], 200), 0);
	CHECK_EQ(sfs_account_take(&accounts[3], 1), -EAGAIN);
	CHECK(sfs_account_open_in_turn(&accounts[4], &b, 50, true, on_room));
	sfs_account_close(&accounts[4]);
	sfs_account_give(&accounts[3], 200);
	sfs_account_close(&accounts[3]);

	/* Shares are of the limit; as bytes are given back there is room below it. */
	CHECK_EQ(sfs_account_share(&accounts[0]), 100 + (300 - 200) / 2);
	CHECK_EQ(sfs_account_share(&accounts[2]), 1000);
	sfs_account_give(&accounts[0], 370);
	CHECK_EQ(sfs_account_take(&accounts[0], 21), -EAGAIN);
	CHECK_EQ(sfs_account_take(&accounts[0], 20), 0);
	CHECK_EQ(sfs_account_take(&accounts[2], 51), -EAGAIN);
	CHECK_EQ(sfs_account_take(&accounts[2], 50), 0);
	CHECK_EQ(b.taken_bytes, 300);

	/* Lower than the floors is as good as at them. */
	sfs_budget_limit(&b, 0);
	CHECK_EQ(sfs_account_share(&accounts[0]), 100);
	sfs_account_give(&accounts[0], 150);
	CHECK_EQ(sfs_account_take(&accounts[0], 101), -EAGAIN);
	CHECK_EQ(sfs_account_take(&accounts[0], 100), 0);
	sfs_account_give(&accounts[2], 50);
	n_called[0] = n_called[1] = n_called[2] = 0;
	CHECK_EQ(sfs_account_take(&accounts[0], 1), -EAGAIN);

	/* Nobody is called when it is lowered or kept; if raised, the
	 * refused are, once. */
	sfs_budget_limit(&b, 0);
	CHECK_EQ(n_called[0], 0);
	sfs_budget_limit(&b, 210);
	CHECK_EQ(n_called[0], 1);
	CHECK_EQ(n_called[1], 0);
	CHECK_EQ(sfs_account_take(&accounts[0], 5), 0);
	CHECK_EQ(sfs_account_take(&accounts[0], 1), -EAGAIN);
	sfs_budget_limit(&b, UINT64_MAX);
	CHECK_EQ(b.limit_bytes, 1000);
	CHECK_EQ(n_called[0], 2);
	CHECK_EQ(sfs_account_take(&accounts[0], 300), 0);
	sfs_account_give(&accounts[0], 405);
	sfs_account_give(&accounts[1], 100);
	sfs_account_close(&accounts[0]);
	sfs_account_close(&accounts[1]);
	sfs_account_close(&accounts[2]);
	sfs_budget_done(&b);
}

/* ---- random takes and gives, against the rules ---- */

static uint64_t weight(const struct sfs_account *a)
{
	return a->used_bytes > a->floor_bytes ? a->used_bytes : a->floor_bytes;
}

static void check_rules(const struct sfs_budget *b, const bool *is_open)
{
	uint64_t sum = 0, used = 0;
	int i;

	for (i = 0; i < 8; i++) {
		if (!is_open[i])
			continue;
		sum += weight(&accounts[i]);
		used += accounts[i].used_bytes;
	}
	CHECK(sum <= b->total_bytes);
	CHECK_EQ(sum, b->taken_bytes);
	CHECK_EQ(used, sfs_budget_used((struct sfs_budget *)b));
}

static void random_takes(uint64_t seed)
{
	struct sfs_rng r = {seed};
	bool is_open[8] = {false}, is_room;
	struct sfs_budget b;
	uint64_t n, used, free_bytes, taken, more;
	int round, i, ret;

	sfs_budget_init(&b, 1000);
	for (round = 0; round < 5000; round++) {
		i = (int)sfs_rng_below(&r, 8);
		n = sfs_rng_below(&r, 300);
		taken = b.taken_bytes;
		free_bytes = b.total_bytes - taken;
		if (sfs_rng_below(&r, 20) == 0)
			sfs_budget_limit(&b, sfs_rng_below(&r, 1200));
		if (!is_open[i]) {
			ret = sfs_account_open(&accounts[i], &b, n, i % 2, on_room);
			CHECK_EQ(ret, n <= free_bytes ? 0 : -ENOMEM);
			is_open[i] = ret == 0;
		} else if (sfs_rng_below(&r, 3)) {
			struct sfs_account was = accounts[i];
			uint64_t share = sfs_account_share(&accounts[i]);

			used = was.used_bytes + n;
			more = used > weight(&was) ? used - weight(&was) : 0;
			ret = sfs_account_take(&accounts[i], n);
			is_room = more <= free_bytes && used <= share &&
				  taken + more <= b.limit_bytes;
			CHECK_EQ(ret, more == 0 || is_room ? 0 : -EAGAIN);
			CHECK(used > was.floor_bytes || ret == 0);
			CHECK_EQ(accounts[i].used_bytes,
				 ret == 0 ? used : was.used_bytes);
		} else if (accounts[i].used_bytes > 0 && sfs_rng_below(&r, 8)) {
			sfs_account_give(&accounts[i],
					 1 + sfs_rng_below(&r, accounts[i].used_bytes));
		} else {
			sfs_account_give(&accounts[i], accounts[i].used_bytes);
			sfs_account_close(&accounts[i]);
			is_open[i] = false;
		}
		check_rules(&b, is_open);
	}
	for (i = 0; i < 8; i++) {
		if (!is_open[i])
			continue;
		sfs_account_give(&accounts[i], accounts[i].used_bytes);
		sfs_account_close(&accounts[i]);
	}
	sfs_budget_done(&b);
}

/* ---- threads: each has a floor, and takes more when there is room ---- */

struct taker {
	struct sfs_account account;
	atomic_int n_rooms;
	uint64_t seed;
	struct sfs_budget *budget;
};

static void note_room(struct sfs_account *account)
{
	atomic_fetch_add(&sfs_container(account, struct taker, account)->n_rooms, 1);
}

static void *take_and_give(void *arg)
{
	struct taker *t = arg;
	struct sfs_rng r = {t->seed};
	uint64_t held = 0, n;
	int i;

	for (i = 0; i < 20000; i++) {
		n = 1 + sfs_rng_below(&r, 100);
		if (held + n <= 100) {
			CHECK_EQ(sfs_account_take(&t->account, n), 0);
			held += n;
		} else if (sfs_rng_below(&r, 2) &&
			   sfs_account_take(&t->account, n) == 0) {
			held += n;
		} else {
			sfs_account_give(&t->account, held / 2);
			held -= held / 2;
		}
		CHECK(sfs_budget_used(t->budget) <= 1000);
	}
	sfs_account_give(&t->account, held);
	return NULL;
}

static void threads(void)
{
	struct taker takers[4] = {{.seed = 1}, {.seed = 2}, {.seed = 3}, {.seed = 4}};
	pthread_t running[4];
	struct sfs_budget b;
	int i;

	sfs_budget_init(&b, 1000);
	for (i = 0; i < 4; i++) {
		takers[i].budget = &b;
		CHECK_EQ(sfs_account_open(&takers[i].account, &b, 100, i % 2, note_room),
			 0);
	}
	for (i = 0; i < 4; i++)
		running[i] = sfs_thread_start("takes", take_and_give, &takers[i]);
	for (i = 0; i < 4; i++)
		pthread_join(running[i], NULL);
	CHECK_EQ(sfs_budget_used(&b), 0);
	for (i = 0; i < 4; i++)
		sfs_account_close(&takers[i].account);
	sfs_budget_done(&b);
}

static void guests(void)
{
	struct sfs_budget b;

	sfs_budget_init(&b, 1000);
	open_account(0, &b, 200, true);
	open_account(1, &b, 200, true);
	CHECK_EQ(sfs_account_share(&accounts[0]), 200 + 600 / 2);
	/* It is in nobody's share, and is held to none. */
	sfs_account_set_guest(&accounts[1], true);
	sfs_account_set_guest(&accounts[1], true);
	CHECK_EQ(sfs_account_share(&accounts[0]), 1000);
	/* It takes only what others have held before, its floor included, and is called
	 * when some of that is free. */
	CHECK_EQ(sfs_account_take(&accounts[1], 1), -EAGAIN);
	CHECK_EQ(sfs_account_take(&accounts[0], 300), 0);
	CHECK_EQ(sfs_account_take(&accounts[1], 1), -EAGAIN);
	CHECK(!sfs_budget_is_short(&b));
	sfs_account_give(&accounts[0], 100);
	CHECK_EQ(n_called[1], 1);
	CHECK_EQ(sfs_account_take(&accounts[1], 101), -EAGAIN);
	CHECK_EQ(sfs_account_take(&accounts[1], 100), 0);
	sfs_account_give(&accounts[1], 100);
	CHECK_EQ(sfs_account_take(&accounts[0], 600), 0);
	sfs_account_give(&accounts[0], 800);
	CHECK_EQ(sfs_account_take(&accounts[1], 801), -EAGAIN);
	CHECK_EQ(sfs_account_take(&accounts[1], 700), 0);
	/* What it wants makes nobody short; what the others want does. */
	CHECK_EQ(sfs_account_take(&accounts[1], 101), -EAGAIN);
	CHECK(!sfs_budget_is_short(&b));
	CHECK_EQ(sfs_account_take(&accounts[0], 301), -EAGAIN);
	CHECK(sfs_budget_is_short(&b));
	/* While they wait it gets nothing beyond its floor, although there is room. */
	CHECK_EQ(sfs_account_take(&accounts[1], 1), -EAGAIN);
	sfs_account_give(&accounts[1], 650);
	CHECK_EQ(n_called[0], 1);
	CHECK_EQ(n_called[1], 3);
	CHECK_EQ(sfs_account_take(&accounts[0], 801), -EAGAIN);
	CHECK_EQ(sfs_account_take(&accounts[1], 151), -EAGAIN);
	CHECK_EQ(sfs_account_take(&accounts[1], 150), 0);
	sfs_account_give(&accounts[1], 200);
	/* Who waits for a floor comes before it, too. */
	CHECK_EQ(sfs_account_take(&accounts[1], 300), 0);
	CHECK(!sfs_account_open_in_turn(&accounts[2], &b, 600, true, on_room));
	CHECK_EQ(sfs_account_take(&accounts[1], 1), -EAGAIN);
	sfs_account_give(&accounts[1], 100);
	CHECK(sfs_account_is_open(&accounts[2]));
	sfs_account_close(&accounts[2]);
	/* And then it is like the others, with what it has. */
	CHECK_EQ(sfs_account_take(&accounts[1], 400), 0);
	sfs_account_set_guest(&accounts[1], false);
	CHECK_EQ(sfs_account_share(&accounts[0]), 200 + 600 / 2);
	CHECK_EQ(sfs_account_take(&accounts[1], 1), -EAGAIN);
	sfs_account_give(&accounts[1], 600);
	/* A guest leaves the sums as they were. */
	sfs_account_set_guest(&accounts[1], true);
	sfs_account_close(&accounts[1]);
	sfs_account_close(&accounts[0]);
	CHECK_EQ(b.taken_bytes, 0);
	CHECK_EQ(b.floor_bytes, 0);
	CHECK_EQ(b.n_sharing, 0);
	sfs_budget_done(&b);
}

/* What is held without a grant keeps nobody from a floor, and all others from more. */
static void held(void)
{
	struct sfs_budget b;

	sfs_budget_init(&b, 1000);
	open_account(0, &b, 300, true);
	open_account(1, &b, 0, false);
	CHECK_EQ(sfs_account_take(&accounts[0], 900), 0);
	CHECK_EQ(sfs_account_hold(&accounts[1], 60, 500), 0); /* granted */
	CHECK_EQ(sfs_account_hold(&accounts[1], 340, 500), 0);
	CHECK_EQ(sfs_account_hold(&accounts[1], 101, 500), -ENOMEM);
	CHECK_EQ(sfs_account_hold(&accounts[1], 501, 500), -ENOMEM);
	CHECK_EQ(sfs_account_hold(&accounts[1], UINT64_MAX, 500), -ENOMEM);
	CHECK_EQ(sfs_account_used(&accounts[1]), 400);
	CHECK_EQ(sfs_budget_used(&b), 1300);
	CHECK(sfs_budget_is_short(&b));
	CHECK_EQ(sfs_account_take(&accounts[0], 1), -EAGAIN);
	sfs_account_give(&accounts[0], 300);
	CHECK_EQ(sfs_account_take(&accounts[0], 1), -EAGAIN);
	CHECK_EQ(sfs_account_take(&accounts[1], 1), -EAGAIN);
	sfs_account_give(&accounts[0], 10);
	CHECK_EQ(sfs_account_take(&accounts[0], 10), 0);
	sfs_account_give(&accounts[0], 600);
	CHECK_EQ(sfs_account_take(&accounts[0], 300), 0); /* its floor */

	/* A newcomer gets its floor, too. */
	CHECK_EQ(sfs_account_hold(&accounts[1], 5000, UINT64_MAX), 0);
	open_account(2, &b, 600, true);
	CHECK_EQ(sfs_account_take(&accounts[2], 600), 0);
	CHECK_EQ(sfs_account_take(&accounts[2], 1), -EAGAIN);
	sfs_account_give(&accounts[2], 600);
	sfs_account_close(&accounts[2]);

	/* When it was given back all is as before. */
	n_called[0] = 0;
	CHECK_EQ(sfs_account_take(&accounts[0], 500), -EAGAIN);
	sfs_account_give(&accounts[1], 5400);
	CHECK_EQ(sfs_account_used(&accounts[1]), 0);
	CHECK(n_called[0] > 0);
	CHECK(!sfs_budget_is_short(&b));
	CHECK_EQ(sfs_account_take(&accounts[0], 700), 0);
	sfs_account_give(&accounts[0], 1000);
	sfs_account_close(&accounts[0]);
	sfs_account_close(&accounts[1]);
	CHECK_EQ(b.taken_bytes, 0);
	CHECK_EQ(b.owed_bytes, 0);
	sfs_budget_done(&b);
}

/* While one account waits for a floor that does not fit, the others hear of what fits
 * theirs; and nobody gets a floor before it. */
static void waiting_for_a_floor(void)
{
	struct sfs_budget b;

	sfs_budget_init(&b, 1000);
	open_account(0, &b, 600, false);
	open_account(1, &b, 100, true);
	CHECK_EQ(sfs_account_take(&accounts[1], 200), 0);
	CHECK_EQ(sfs_account_take(&accounts[0], 600), 0);
	CHECK_EQ(sfs_account_take(&accounts[0], 250), -EAGAIN);
	CHECK(!sfs_account_open_in_turn(&accounts[2], &b, 300, true, on_room));
	CHECK(sfs_budget_is_held_back(&b));
	n_called[2] = 0;
	/* Within its floor: it is called, and may have it. */
	sfs_account_give(&accounts[0], 600);
	CHECK_EQ(n_called[0], 1);
	CHECK_EQ(sfs_account_take(&accounts[0], 250), 0);
	/* There is room for this floor, but not for the one that was asked for before. */
	CHECK_EQ(sfs_account_open(&accounts[3], &b, 150, true, on_room), -ENOMEM);
	CHECK(!sfs_account_open_in_turn(&accounts[3], &b, 150, true, on_room));
	open_account(4, &b, 0, false);
	n_called[3] = 0;
	sfs_account_give(&accounts[1], 150);
	CHECK_EQ(n_called[2], 1);
	CHECK(sfs_account_is_open(&accounts[2]));
	/* This one waits for somebody to go: the others may have what is free. */
	CHECK(!sfs_account_is_open(&accounts[3]));
	CHECK_EQ(n_called[3], 0);
	CHECK(sfs_budget_is_starved(&b));
	CHECK(!sfs_budget_is_held_back(&b));
	sfs_account_close(&accounts[2]);
	CHECK_EQ(n_called[3], 1);
	CHECK(sfs_account_is_open(&accounts[3]));
	sfs_account_close(&accounts[3]);
	sfs_account_close(&accounts[4]);
	sfs_account_give(&accounts[0], 250);
	sfs_account_give(&accounts[1], 50);
	sfs_account_close(&accounts[0]);
	sfs_account_close(&accounts[1]);
	sfs_budget_done(&b);
}

int main(void)
{
	uint64_t seed;

	waiting_for_a_floor();
	floors();
	too_many_floors();
	held();
	shares();
	room();
	guests();
	limits();
	for (seed = 0; seed < 20; seed++)
		random_takes(seed);
	threads();
	return 0;
}
