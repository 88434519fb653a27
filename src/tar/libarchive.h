/* SPDX-License-Identifier: MIT */
/* libarchive - a second reader: what bsdtar, and programs like it, make of a header.
 *
 * It decides nothing: entry.h reads tars, by the rules of docs/ORDER.md.  `shufflefs
 * index`, which reads every header of a dataset once, warns where both differ
 * (catalog/second-reader.h); a mount never calls it.  libarchive blocks in its callbacks,
 * so it gets the group from memory.  libarchive.c is the only file that includes its
 * headers.  Pure.
 */
#ifndef SFS_LIBARCHIVE_H
#define SFS_LIBARCHIVE_H

#include "tar/entry.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sfs_libarchive_reading {
	bool is_error; /* it refuses the group; `why` says why */
	char why[100];
	bool is_extension; /* it sees no member here, but takes the next one */

	/* Unless one of these. */
	bool is_regular;
	uint64_t size;		/* of the file */
	bool is_end_elsewhere;	/* the next header is not where entry->next is */
};

/* Read the group at `group` with libarchive.  sfs_tar_entry_read() has accepted it, and
 * said *entry: a member; entry->data bytes are in memory.  `is_after_pax`: the shard has
 * a pax header before it; from then on libarchive believes the sizes of hard links. */
void sfs_libarchive_read(const unsigned char *group, const struct sfs_tar_entry *entry,
			 bool is_after_pax, struct sfs_libarchive_reading *ret);

/* Is it the same as what we read?  Kind, size and end are compared, no names. */
bool sfs_libarchive_agrees(const struct sfs_libarchive_reading *reading,
			   const struct sfs_tar_entry *entry);

/* Which libarchive this runs with: "3.6.2". */
const char *sfs_libarchive_version(void);

#endif
