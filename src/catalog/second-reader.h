/* SPDX-License-Identifier: MIT */
/* second-reader - warns of members of a shard that bsdtar reads otherwise than we do.
 *
 * `shufflefs index` shows it every header group that is not plain; it asks libarchive
 * (tar/libarchive.h) and counts where that differs.  One line a shard names the first.
 * One thread.
 */
#ifndef SFS_SECOND_READER_H
#define SFS_SECOND_READER_H

#include "base/strbuf.h"
#include "tar/entry.h"

#include <stdbool.h>
#include <stdint.h>

/* All zeros: nothing was seen of the shard. */
struct sfs_second_reader {
	bool saw_pax;	/* an extension or a global header of pax */
	uint64_t n;	/* members that are read differently */
	struct sfs_strbuf first; /* the first of them, without the shard's name */
};

void sfs_second_reader_done(struct sfs_second_reader *s);

/* Show it the group at `start` of the shard: a member or a global header, with
 * group->data bytes at `bytes`.  In the order of the shard. */
void sfs_second_reader_add(struct sfs_second_reader *s, uint64_t start,
			   const unsigned char *bytes, const struct sfs_tar_entry *group);

/* Log a warning if there is a difference. */
void sfs_second_reader_report(const struct sfs_second_reader *s, const char *shard);

#endif
