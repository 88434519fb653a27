/* SPDX-License-Identifier: MIT */
/* How this works: a bucket has room for BURST lines, and gets one back each second. */
#include "transport/guard.h"

#include "base/clock.h"
#include "base/log.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#define BURST	10
#define LINE_NS SFS_NS_PER_S

static bool is_loopback4(uint32_t address)
{
	return ntohl(address) >> 24 == 127;
}

bool sfs_guard_is_loopback(const struct sockaddr *address)
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
	uint32_t last;

	if (address->sa_family == AF_INET)
		return is_loopback4(
			((const struct sockaddr_in *)address)->sin_addr.s_addr);
	if (address->sa_family != AF_INET6)
		return false;
	memcpy(&last, v6->sin6_addr.s6_addr + 12, 4);
	return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr) ||
	       (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr) && is_loopback4(last));
}

int sfs_guard_check(const struct sfs_receiver_settings *settings, bool is_loopback,
		    struct sfs_error *err)
{
	if (is_loopback || settings->secret || settings->is_insecure)
		return 0;
	return sfs_error_set(err, -EACCES,
			     "%s: anyone who can reach this address could feed the "
			     "trainer: add --secret-file, here and to send, or "
			     "--insecure",
			     settings->source);
}

bool sfs_guard_count(struct sfs_guard *g, uint64_t now_ns, uint64_t *ret_n_silent)
{
	g->n++;
	if (g->full_ns < now_ns)
		g->full_ns = now_ns;
	if (g->full_ns - now_ns > (BURST - 1) * LINE_NS) {
		g->n_silent++;
		return false;
	}
	g->full_ns += LINE_NS;
	*ret_n_silent = g->n_silent;
	g->n_silent = 0;
	return true;
}

void sfs_guard_refuse(struct sfs_guard *g, const char *source, const char *who,
		      const char *why)
{
	uint64_t n_silent;

	if (!sfs_guard_count(g, sfs_clock_ns(), &n_silent))
		return;
	if (n_silent > 0)
		sfs_warning("%s: %llu more connections were refused, without a line "
			    "for each", source,
			    (unsigned long long)n_silent);
	sfs_warning("%s: %s%s%s", source, who, *who ? ": " : "", why);
}
