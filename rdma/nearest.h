/* SPDX-License-Identifier: MIT */
/* nearest - which of a host's network cards lies nearest to a GPU.
 *
 * The kernel's tree of PCI devices in sysfs tells: what goes through one switch does not
 * pass the processor.
 */
#ifndef SFS_NEAREST_H
#define SFS_NEAREST_H

#include "base/error.h"

#include <stddef.h>

enum sfs_nearness {
	SFS_NEAR_UNKNOWN, /* the card is no PCI device, as a software one is not */
	SFS_NEAR_HOST,	  /* they are in one host, no more */
	SFS_NEAR_NODE,	  /* one NUMA node */
	SFS_NEAR_BRIDGE,  /* one host bridge */
	SFS_NEAR_SWITCH	  /* one root port: a switch is between them */
};
/* "a NUMA node", "a PCI switch", ...: what they share. */
const char *sfs_nearness_name(enum sfs_nearness nearness);

struct sfs_nearest {
	size_t card;
	enum sfs_nearness nearness;
	unsigned int n_hops; /* between devices of PCI, if they share a host bridge */
};

/* Of the n RDMA devices in `cards`; of equally near ones the first.  `gpu` is its address
 * on PCI, such as "0000:3b:00.0" (upper case and a longer domain will do).  `sysfs` is
 * "/sys".  -ENODEV: there are several, and it cannot be told; with an error. */
int sfs_find_nearest(const char *sysfs, const char *gpu, const char *const *cards,
		     size_t n, struct sfs_nearest *ret, struct sfs_error *err);

#endif
