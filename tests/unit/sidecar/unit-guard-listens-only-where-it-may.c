/* SPDX-License-Identifier: MIT */
/* Without a secret a receiver listens on loopback only, unless it was told --insecure; of
 * a flood of refusals all are counted, and some are told. */
#include "transport/guard.h"
#include "check.h"
#include "transport/auth.h"

#include "base/clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>

static bool is_loopback(const char *text)
{
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
	struct sockaddr_in v4 = {.sin_family = AF_INET};

	if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
		return sfs_guard_is_loopback((struct sockaddr *)&v4);
	CHECK_EQ(inet_pton(AF_INET6, text, &v6.sin6_addr), 1);
	return sfs_guard_is_loopback((struct sockaddr *)&v6);
}

static void knows_loopback(void)
{
	static const char *const inside[] = {"127.0.0.1", "127.255.1.2", "::1",
					     "::ffff:127.0.0.1"};
	static const char *const outside[] = {"0.0.0.0",   "10.0.0.1", "128.0.0.1", "::",
					      "::127.0.0.1", "::2",	"fe80::1",
					      "::ffff:10.0.0.1", "7f00::1"};
	struct sockaddr none = {.sa_family = AF_UNSPEC};
	size_t i;

	for (i = 0; i < sizeof inside / sizeof *inside; i++)
		CHECK(is_loopback(inside[i]));
	for (i = 0; i < sizeof outside / sizeof *outside; i++)
		CHECK(!is_loopback(outside[i]));
	CHECK(!sfs_guard_is_loopback(&none));
}

static void wants_a_secret(void)
{
	struct sfs_receiver_settings settings = {.source = "tcp://*:1"};
	struct sfs_secret secret = {{0}};
	struct sfs_error err = {""};

	CHECK_EQ(sfs_guard_check(&settings, true, &err), 0);
	CHECK_EQ(sfs_guard_check(&settings, false, &err), -EACCES);
	CHECK_HAS(err.text, "tcp://*:1: anyone who can reach this address could feed "
			    "the trainer: add --secret-file");
	settings.is_insecure = true;
	CHECK_EQ(sfs_guard_check(&settings, false, &err), 0);
	settings.is_insecure = false;
	settings.secret = &secret;
	CHECK_EQ(sfs_guard_check(&settings, false, &err), 0);
}

static void tells_some(void)
{
	struct sfs_guard guard = {.n = 0};
	uint64_t now = 1000 * SFS_NS_PER_S, n_silent;
	int i, n = 0;

	for (i = 0; i < 1000; i++)
		n += sfs_guard_count(&guard, now, &n_silent);
	CHECK_EQ(n, 10);
	CHECK_EQ(guard.n, 1000);
	now += SFS_NS_PER_S;
	CHECK(sfs_guard_count(&guard, now, &n_silent));
	CHECK_EQ(n_silent, 990);
	CHECK(!sfs_guard_count(&guard, now, &n_silent));
	now += 3600 * SFS_NS_PER_S;
	for (i = n = 0; i < 100; i++)
		n += sfs_guard_count(&guard, now, &n_silent);
	CHECK_EQ(n, 10);
	CHECK_EQ(guard.n, 1102);
}

int main(void)
{
	knows_loopback();
	wants_a_secret();
	tells_some();
	return 0;
}
