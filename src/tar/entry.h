/* SPDX-License-Identifier: MIT */
/* entry - one header group of a tar: everything before the data of a member.
 *
 * A group is a header with the extensions before it (pax x, GNU L and K), or a pax global
 * header alone, or the zero block that ends the archive.  Maps of sparse files are
 * sparse.h's.  Pure.
 */
#ifndef SFS_TAR_ENTRY_H
#define SFS_TAR_ENTRY_H

#include "base/error.h"
#include "tar/header.h"
#include "tar/sparse.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SFS_TAR_GROUP_MAX ((size_t)1 << 20) /* bytes of a header group */

enum sfs_tar_entry_kind { SFS_TAR_ENTRY_END, SFS_TAR_ENTRY_GLOBAL, SFS_TAR_ENTRY_MEMBER };

struct sfs_tar_entry {
	enum sfs_tar_entry_kind kind;
	size_t n_bytes; /* of the headers: the last one ends here */
	uint64_t data;	/* start of the stored data (a sparse map comes before) */
	uint64_t next;	/* start of the next group; at most n_left */
	size_t need;	/* after -EAGAIN: bytes to try with */
	bool is_plain;	/* one header, of the kind that header.h reads completely */
	bool is_cut;	/* after -EBADMSG: the shard ends within the data of the member */

	/* MEMBER only; and if is_cut, name and is_regular */
	const char *name; /* byte for byte; not NUL-terminated; lies in the entry or in
			   * the bytes that were read */
	size_t n_name;
	bool is_regular;
	uint64_t size; /* of the file; less is stored if it is sparse */
	int64_t mtime;
	uint32_t mode;
	bool is_sparse; /* then these say where its data belong */
	struct sfs_sparse_run *runs;
	size_t n_runs;
	char name_buf[SFS_TAR_NAME_MAX];
};

/* Read the group that begins at `bytes`: n bytes are in memory, and n_left remain up to
 * the end of the shard (or sample).
 *
 * 0: *ret_group is filled; free it with sfs_tar_entry_done().
 * -EAGAIN: ret_group->need bytes are needed.
 * -EBADMSG, -EOVERFLOW: damaged; *err says how, but not where. */
int sfs_tar_entry_read(const unsigned char *bytes, size_t n, uint64_t n_left,
		       struct sfs_tar_entry *ret_group, struct sfs_error *err);

/* Needed only if is_sparse; harmless otherwise. */
void sfs_tar_entry_done(struct sfs_tar_entry *group);

#endif
