/* SPDX-License-Identifier: MIT */
/* spot - a position in an epoch. */
#ifndef SFS_SPOT_H
#define SFS_SPOT_H

#include <stdbool.h>
#include <stdint.h>

/* The time, the lane, and the number j in it of rule 5 in docs/ORDER.md. */
struct sfs_spot {
	uint64_t time;
	uint32_t lane;
	uint64_t number;
	uint64_t offset; /* of that sample in the stream, bytes */
	bool is_end;	 /* no sample: the epoch has ended at `offset` */
};

#endif
