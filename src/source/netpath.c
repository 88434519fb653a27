/* SPDX-License-Identifier: MIT */
#include "source/netpath.h"

#define SLOW_NS 10000000ULL /* to a first byte */

uint64_t sfs_netpath_latency_ns(const struct sfs_netpath *p)
{
	return p->rtt_ns > p->wait_ns ? p->rtt_ns : p->wait_ns;
}

/* A busy machine takes some milliseconds to a first byte without any network. */
bool sfs_netpath_is_far(const struct sfs_netpath *p)
{
	return p->rtt_ns > SFS_NETPATH_LONG_NS || p->wait_ns > SLOW_NS;
}

bool sfs_netpath_is_long(const struct sfs_netpath *p)
{
	return p->rtt_ns > SFS_NETPATH_LONG_NS;
}
