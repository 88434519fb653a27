/* SPDX-License-Identifier: MIT */
/* Each retry in a row waits longer, up to a limit; progress starts the row anew; what
 * the server says counts more. */
#include "check.h"
#include "source/retry.h"

/* The mean delay of the n-th failure in a row; any chance lies within half of it. */
static void doubles(void)
{
	static const uint64_t wanted[] = {200,	400,   800,   1600, 3200,
					  6400, 10000, 10000, 10000};
	static const uint64_t chances[] = {
		0, 1, 99, 12345, 99999, 1ULL << 63, UINT64_MAX - 1, UINT64_MAX};
	uint64_t delay, least, most, chance;
	size_t i, k;

	for (i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
		least = UINT64_MAX;
		most = 0;
		for (k = 0; k < sizeof chances / sizeof chances[0]; k++) {
			struct sfs_retry retry = {.n_failed = (int)i};

			CHECK(sfs_retry_next(&retry, 1000, 0, -1, chances[k], &delay));
			CHECK(delay >= wanted[i] / 2 && delay < wanted[i] * 3 / 2);
			CHECK_EQ(retry.n_failed, i + 1);
		}
		for (chance = 0; chance < wanted[i]; chance++) {
			struct sfs_retry retry = {.n_failed = (int)i};

			CHECK(sfs_retry_next(&retry, 1000, 0, -1, chance, &delay));
			least = delay < least ? delay : least;
			most = delay > most ? delay : most;
		}
		CHECK_EQ(least, wanted[i] / 2); /* all of the room is used */
		CHECK_EQ(most, wanted[i] * 3 / 2 - 1);
	}
}

static void gives_up(void)
{
	struct sfs_retry retry = {0};
	uint64_t delay = 77;
	int i;

	CHECK(!sfs_retry_next(&retry, 0, 0, -1, 5, &delay));
	CHECK(!sfs_retry_next(&retry, 0, 0, 3, 5, &delay));
	CHECK_EQ(delay, 77);
	for (i = 0; i < 5; i++)
		CHECK(sfs_retry_next(&retry, 5, 0, -1, 0, &delay));
	CHECK(!sfs_retry_next(&retry, 5, 0, -1, 0, &delay));
	CHECK(!sfs_retry_next(&retry, 5, SFS_RETRY_PROGRESS - 1, -1, 0, &delay));
	/* A server that sends a little each time may be asked for ever. */
	CHECK(sfs_retry_next(&retry, 5, SFS_RETRY_PROGRESS, -1, 0, &delay));
	CHECK_EQ(delay, 100);
	CHECK_EQ(retry.n_failed, 1);

	retry.n_failed = 1000;
	CHECK(!sfs_retry_next(&retry, 1000, 0, -1, 0, &delay));
	retry.n_failed = 999;
	CHECK(sfs_retry_next(&retry, 1000, 0, -1, 0, &delay));
	CHECK_EQ(delay, 5000);
}

/* Clients that were told the same come back at any time of `room_ms`, and none before. */
static void spreads(int64_t after_s, uint64_t room_ms)
{
	uint64_t least = UINT64_MAX, most = 0, chance, ms;

	for (chance = 0; chance < room_ms; chance++) {
		ms = sfs_retry_after_ms(after_s, chance);
		least = ms < least ? ms : least;
		most = ms > most ? ms : most;
	}
	CHECK_EQ(least, (uint64_t)after_s * 1000);
	CHECK_EQ(most, (uint64_t)after_s * 1000 + room_ms - 1);
}

static void server_says(void)
{
	static const int64_t far_too_long[] = {300,	  301,	     86400,
					       1LL << 32, 1LL << 61, INT64_MAX / 1000,
					       INT64_MAX};
	struct sfs_retry retry = {0};
	uint64_t delay;
	size_t i;

	CHECK(sfs_retry_next(&retry, 100, 0, 7, 12345, &delay));
	CHECK(delay >= 7000 && delay < 7000 + 7000 / 4);
	CHECK(sfs_retry_next(&retry, 100, 0, 0, UINT64_MAX, &delay));
	CHECK(delay < 200);
	retry.n_failed = 50;
	CHECK(sfs_retry_next(&retry, 100, 0, 1, 0, &delay));
	CHECK_EQ(delay, 1000);
	for (i = 0; i < sizeof far_too_long / sizeof far_too_long[0]; i++) {
		CHECK(sfs_retry_next(&retry, 100, 0, far_too_long[i], 3, &delay));
		CHECK_EQ(delay, 300003);
	}
	spreads(1, 250);
	spreads(55, 10000); /* no more, however long it is */
	spreads(0, 200);
}

int main(void)
{
	doubles();
	gives_up();
	server_says();
	return 0;
}
