/* SPDX-License-Identifier: MIT */
/* group - one header group of a tar: all that stands before a member's data.
 *
 * A group is a header with the extensions before it (pax x, GNU L and K), or a
 * pax global header alone, or the zero block that ends the archive.  Plain
 * headers, and those with a pax extension that says only times and owners, are
 * read here; all others go to libarchive (tarmember.h).  Pure.
 */
#ifndef SFS_TAR_ENTRY_H
#define SFS_TAR_ENTRY_H

#include "base/error.h"
#include "tar/header.h"
#include "tar/libarchive.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sfs_tar_entry_kind { SFS_TAR_ENTRY_END, SFS_TAR_ENTRY_GLOBAL, SFS_TAR_ENTRY_MEMBER };

struct sfs_tar_entry {
	enum sfs_tar_entry_kind kind;
	size_t n_bytes; /* of the headers: the last one ends here */
	uint64_t data;	/* where stored data begin (a sparse map lies before) */
	uint64_t next;	/* where the next group may begin; at most n_left */
	size_t need;	/* after -EAGAIN: bytes to try with */
	bool is_cut;	/* after -EBADMSG: the shard ends behind its header, too early */

	/* MEMBER only; and if is_cut, name and is_regular */
	const char *name; /* byte for byte; not NUL-terminated; lies in the group or in
			   * the bytes that were looked at */
	size_t n_name;
	bool is_regular;
	uint64_t size; /* of the file; less is stored if it is sparse */
	int64_t mtime;
	uint32_t mode;
	struct sfs_libarchive odd; /* what libarchive said, if it was asked; else zeros */
	char name_buf[SFS_TAR_NAME_MAX];
};

/* Understand the group that begins at `bytes`, of which n are at hand and n_left
 * remain up to the end of the shard (or sample).
 *
 * 0: *ret_group is filled; free it with sfs_tar_entry_done().
 * -EAGAIN: more bytes are needed: ret_group->need of them.
 * -EBADMSG, -EOVERFLOW: damaged; *err says how, without saying where. */
int sfs_tar_entry_read(const unsigned char *bytes, size_t n, uint64_t n_left,
		       struct sfs_tar_entry *ret_group, struct sfs_error *err);

/* Needed only if odd.runs is set; harmless otherwise. */
void sfs_tar_entry_done(struct sfs_tar_entry *group);

#endif
