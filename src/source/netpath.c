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

struct sfs_netpath sfs_netpath_load(const struct sfs_netpath_record *r)
{
	return (struct sfs_netpath){
		.n_parallel = atomic_load_explicit(&r->n_parallel, memory_order_relaxed),
		.rtt_ns = atomic_load_explicit(&r->rtt_ns, memory_order_relaxed),
		.wait_ns = atomic_load_explicit(&r->wait_ns, memory_order_relaxed),
		.bytes_per_s =
			atomic_load_explicit(&r->bytes_per_s, memory_order_relaxed),
		.is_slow = atomic_load_explicit(&r->is_slow, memory_order_relaxed),
	};
}

void sfs_netpath_store(struct sfs_netpath_record *r, const struct sfs_netpath *p)
{
	atomic_store_explicit(&r->n_parallel, p->n_parallel, memory_order_relaxed);
	atomic_store_explicit(&r->rtt_ns, p->rtt_ns, memory_order_relaxed);
	atomic_store_explicit(&r->wait_ns, p->wait_ns, memory_order_relaxed);
	atomic_store_explicit(&r->bytes_per_s, p->bytes_per_s, memory_order_relaxed);
	atomic_store_explicit(&r->is_slow, p->is_slow, memory_order_relaxed);
}
