/* SPDX-License-Identifier: MIT */
/* names - the names under epochs/ that were looked up, each with a number.
 *
 * There are more of them than fit a node's number, so they are remembered: some 100
 * bytes each, for the life of the mount.  Any thread may call.
 */
#ifndef SFS_NAMES_H
#define SFS_NAMES_H

#include "order/name.h"
#include "stream/random.h"

#include <stdbool.h>
#include <stdint.h>

#define SFS_NAMES_MAX (1U << 20)

struct sfs_names;

struct sfs_names *sfs_names_new(void);
void sfs_names_free(struct sfs_names *names); /* NULL is fine */

/* The number of a name, which is given one if it has none.  false: they are too many. */
bool sfs_names_put(struct sfs_names *names, const struct sfs_name *name,
		   uint32_t *ret_number);
struct sfs_name sfs_names_get(struct sfs_names *names, uint32_t number);

/* The first name in a folder whose number is at least *number, which is set to its
 * number.  false: there is none. */
bool sfs_names_next(struct sfs_names *names, const struct sfs_name *folder,
		    uint32_t *number, struct sfs_name *ret_name);

/* What was found out of the place of a name's first sample.  false: nothing yet. */
bool sfs_names_place(struct sfs_names *names, uint32_t number,
		     struct sfs_place *ret_place);
void sfs_names_set_place(struct sfs_names *names, uint32_t number,
			 struct sfs_place place);

/* The size of an .order or .idx: bytes, and lines without the first one of an .idx. */
struct sfs_text_size {
	uint64_t n_bytes, n_lines;
};

/* The same of a text's size. */
bool sfs_names_text(struct sfs_names *names, uint32_t number,
		    struct sfs_text_size *ret_size);
void sfs_names_set_text(struct sfs_names *names, uint32_t number,
			struct sfs_text_size size);

#endif
