/* SPDX-License-Identifier: MIT */
/* node - the number of a file or folder of the tree, and its attributes. */
#ifndef SFS_NODE_H
#define SFS_NODE_H

#include <stdbool.h>
#include <stdint.h>

#define SFS_NODE_ROOT ((uint64_t)1)

struct sfs_attr {
	uint64_t node;
	bool is_folder;
	bool is_snapshot; /* made when it is opened: size 0, not to be cached */
	uint64_t size;
	int64_t mtime; /* seconds since 1970 */
};

#endif
