/* SPDX-License-Identifier: MIT */
/* netpath - what is known of the network path to a server, or to all of a source's.
 *
 * Any thread. */
#ifndef SFS_NETPATH_H
#define SFS_NETPATH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define SFS_NETPATH_LONG_NS 5000000ULL /* a longer round trip makes a path long */

/* n_parallel: how many reads at a time are of use, >= 1.  rtt_ns: the round-trip time.
 * wait_ns: the shortest recent time to a first byte.  bytes_per_s: the rate with all
 * useful reads in flight.  0: unknown, or no network.  is_slow: of the mean time to a
 * first byte, the path takes more than the server, as far as is known.
 *
 * Of several servers: the sums of n_parallel and bytes_per_s, the longest times, and
 * whether one of the paths is slow.
 *
 * has_costly_requests: a request costs the server more than a web server's does, as in an
 * object store. */
struct sfs_netpath {
	int n_parallel;
	uint64_t rtt_ns, wait_ns, bytes_per_s;
	bool is_slow, has_costly_requests;
};

/* Does it take long to a first byte?  A server that is near and slow to respond, as S3
 * is, counts as far. */
bool sfs_netpath_is_far(const struct sfs_netpath *path);

/* Is the round trip long?  Only such a path loses packets, and brings bytes in bursts. */
bool sfs_netpath_is_long(const struct sfs_netpath *path);

/* How long a read waits for its first byte: the round trip, or the server's delay. */
uint64_t sfs_netpath_latency_ns(const struct sfs_netpath *path);

/* A path as it is now: its source writes it, and anybody reads it.  The members are
 * independent of each other.  n_parallel 0: nothing is known yet.  (What requests cost is
 * known from the beginning, and not recorded.) */
struct sfs_netpath_record {
	_Atomic int n_parallel;
	_Atomic uint64_t rtt_ns, wait_ns, bytes_per_s;
	atomic_bool is_slow;
};

struct sfs_netpath sfs_netpath_load(const struct sfs_netpath_record *record);
void sfs_netpath_store(struct sfs_netpath_record *record, const struct sfs_netpath *path);

#endif
