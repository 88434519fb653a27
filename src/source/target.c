/* SPDX-License-Identifier: MIT */
#include "source/target.h"

#include "base/alloc.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define IPV4(a, b, c, d) ((uint32_t)(a) << 24 | (b) << 16 | (c) << 8 | (d))

static const struct {
	uint32_t network;
	int n_bits;
} forbidden_ipv4[] = {
	{IPV4(169, 254, 0, 0), 16},
	{IPV4(100, 100, 100, 200), 32},
	{IPV4(168, 63, 129, 16), 32},
	{IPV4(192, 0, 0, 192), 32},
};

static const struct {
	unsigned char network[16];
	int n_bits;
} forbidden_ipv6[] = {
	{{0xfe, 0x80}, 10},
	{{0xfd, 0x00, 0x0e, 0xc2}, 32},
};

/* IPv4 addresses are the last 32 bits of these, of 96. */
static const unsigned char holds_ipv4[][12] = {
	{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff},
	{0x00, 0x64, 0xff, 0x9b},
};

static bool has_prefix(const unsigned char *bytes, const unsigned char *prefix,
		       int n_bits)
{
	int n = n_bits / 8, n_left = n_bits % 8;
	unsigned mask = n_left ? 0xff00u >> n_left & 0xff : 0;

	return memcmp(bytes, prefix, (size_t)n) == 0 &&
	       (n_left == 0 || (bytes[n] & mask) == (prefix[n] & mask));
}

static bool may_reach_ipv4(uint32_t address)
{
	size_t i;

	for (i = 0; i < SFS_COUNT(forbidden_ipv4); i++)
		if ((address ^ forbidden_ipv4[i].network) >>
			    (32 - forbidden_ipv4[i].n_bits) ==
		    0)
			return false;
	return true;
}

static bool may_reach_ipv6(const unsigned char *bytes)
{
	uint32_t ipv4;
	size_t i;

	for (i = 0; i < SFS_COUNT(forbidden_ipv6); i++)
		if (has_prefix(bytes, forbidden_ipv6[i].network,
			       forbidden_ipv6[i].n_bits))
			return false;
	memcpy(&ipv4, bytes + 12, sizeof ipv4);
	for (i = 0; i < SFS_COUNT(holds_ipv4); i++)
		if (has_prefix(bytes, holds_ipv4[i], 96) && !may_reach_ipv4(ntohl(ipv4)))
			return false;
	return true;
}

bool sfs_target_may_reach(const struct sockaddr *address)
{
	switch (address->sa_family) {
	case AF_INET:
		return may_reach_ipv4(
			ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr));
	case AF_INET6:
		return may_reach_ipv6(
			((const struct sockaddr_in6 *)address)->sin6_addr.s6_addr);
	default: return true;
	}
}

bool sfs_target_may_name(const char *host)
{
	char bare[INET6_ADDRSTRLEN] = "";
	struct in6_addr ipv6;
	struct in_addr ipv4;

	if (inet_pton(AF_INET, host, &ipv4) == 1)
		return may_reach_ipv4(ntohl(ipv4.s_addr));
	/* "[fe80::1%25eth0]" */
	if (host[0] == '[')
		snprintf(bare, sizeof bare, "%.*s", (int)strcspn(host + 1, "]%"), host + 1);
	return inet_pton(AF_INET6, bare, &ipv6) != 1 || may_reach_ipv6(ipv6.s6_addr);
}

char *sfs_target_host(const char *origin)
{
	const char *host = strstr(origin, "://"), *end;

	host = host ? host + 3 : origin;
	end = *host == '[' ? strchr(host, ']') : NULL;
	return sfs_strndup(host,
			   end ? (size_t)(end + 1 - host) : strcspn(host, ":/?#"));
}

char *sfs_target_refusal(const char *where, bool is_redirect)
{
	return is_redirect
		       ? sfs_asprintf("a redirect to %s, a link-local or cloud metadata "
				      "address, which is not followed",
				      where)
		       : sfs_asprintf("%s is a link-local or cloud metadata address: a "
				      "list at another server may not name it",
				      where);
}
