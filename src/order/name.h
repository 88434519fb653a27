/* SPDX-License-Identifier: MIT */
/* name - parses a path under epochs/: which epoch, which part of it, and from which
 * sample.
 *
 *     E.tar                              an epoch
 *     E/rank-R-of-W.tar                  a rank's part of it
 *     E/rank-R-of-W/worker-I-of-N.tar    a loader worker's part of that
 *
 * and, with @K before the ".tar", the same from its sample number K on; with .order or
 * .idx for .tar, a text about that stream.  Numbers are canonical decimals: each stream
 * has one name.  Pure.
 */
#ifndef SFS_NAME_H
#define SFS_NAME_H

#include "base/error.h"
#include "base/strbuf.h"
#include "order/order.h"

#include <stdbool.h>
#include <stdint.h>

#define SFS_EPOCH_MAX ((1ULL << 56) - 1)

struct sfs_name {
	bool is_folder;		    /* "E", or "E/rank-R-of-W" */
	uint64_t epoch;		    /* at most SFS_EPOCH_MAX */
	uint32_t rank, n_ranks;	    /* n_ranks 0: all ranks */
	uint32_t worker, n_workers; /* n_workers 0: the whole rank */
	bool has_first;
	uint64_t first; /* K */
	bool is_order;	/* ".order": the text that describes the ".tar" */
	bool is_index;	/* ".idx": its index in DALI's format */
};

/* Parse one component of a path, in `folder` or, if that is NULL, in epochs/ itself.
 * -ENOENT: not a name. */
int sfs_name_parse(const struct sfs_name *folder, const char *component,
		   struct sfs_name *ret_name);

/* Print the last component, or the whole path below epochs/. */
void sfs_name_print(const struct sfs_name *name, struct sfs_strbuf *text);
void sfs_name_print_path(const struct sfs_name *name, struct sfs_strbuf *text);

/* The folder that contains it.  false: it is in epochs/ itself. */
bool sfs_name_parent(const struct sfs_name *name, struct sfs_name *ret_folder);

bool sfs_name_equal(const struct sfs_name *a, const struct sfs_name *b);

/* What is dealt to lanes: how many, and the word for one. */
struct sfs_dealt {
	uint32_t n; /* UINT32_MAX: at least one for each lane, or not known yet */
	const char *what;
};
#define SFS_NOT_DEALT ((struct sfs_dealt){UINT32_MAX, "sample"})

/* Does an epoch, dealt to at most `lanes` lanes, have this part?
 * -EINVAL: rank 3 of 2, ranks that do not divide the lanes, or a rank to which nothing is
 * dealt; *err says what would work. */
int sfs_name_check(const struct sfs_name *name, uint32_t lanes, struct sfs_dealt dealt,
		   struct sfs_error *err);

/* The largest number of ranks that divides the lanes and is at most n. */
uint32_t sfs_name_ranks_most(uint32_t lanes, uint64_t n);

/* Where a job may go on in an epoch, and with how many ranks: the end of a sentence. */
void sfs_name_print_resume(const struct sfs_order_settings *settings,
			   struct sfs_strbuf *text);

/* The lanes of the part. */
struct sfs_share sfs_name_share(const struct sfs_name *name);

#endif
