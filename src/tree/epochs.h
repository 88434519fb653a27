/* SPDX-License-Identifier: MIT */
/* epochs - the files and folders under epochs/: streams, by name.
 *
 *     E.tar   E/rank-R-of-W.tar   E/rank-R-of-W/worker-I-of-N.tar
 *
 * and each as NAME@K.tar, and as .order or .idx instead of .tar.
 *
 * A node is a number below 2^60, as in tree.h.  epochs/ lists the first few epochs; any
 * other can be looked up; the folder of an epoch lists what was looked up there.  Any
 * thread may call.
 */
#ifndef SFS_EPOCHS_H
#define SFS_EPOCHS_H

#include "base/waiter.h"
#include "stream/stream.h"
#include "tree/names.h"
#include "tree/node.h"
#include "tree/order-file.h"

struct sfs_engine;
struct sfs_epochs;

#define SFS_EPOCHS_ROOT (3ULL << 57) /* the node of epochs/ itself */

struct sfs_epochs *sfs_epochs_new(struct sfs_engine *engine);
void sfs_epochs_free(struct sfs_epochs *epochs); /* NULL is fine */

/* -ENOENT: there is no such name, for good.  -EINVAL: the epoch has no such part; the
 * ledger says which it has.  -ENFILE: too many names were looked up.  -ENOTDIR. */
int sfs_epochs_lookup(struct sfs_epochs *epochs, uint64_t folder, const char *name,
		      uint64_t *ret_node);

/* Sets the kind, size and mtime.  As sfs_tree_attr(). */
int sfs_epochs_attr(struct sfs_epochs *epochs, uint64_t node, struct sfs_waiter *waiter,
		    struct sfs_attr *attr);

/* As sfs_tree_list(). */
int sfs_epochs_list(struct sfs_epochs *epochs, uint64_t folder, uint64_t cookie,
		    sfs_add_entry *add, void *ctx);

uint64_t sfs_epochs_parent(struct sfs_epochs *epochs, uint64_t node);

/* The node of the same stream from its sample `first` on (NAME@first.tar); first 0: the
 * node itself.  -ENFILE. */
int sfs_epochs_from(struct sfs_epochs *epochs, uint64_t node, uint64_t first,
		    uint64_t *ret_node);

/* Append "epochs/0/rank-0-of-2.tar", the path of a node. */
void sfs_epochs_print_path(struct sfs_epochs *epochs, uint64_t node,
			   struct sfs_strbuf *text);

/* The part of its stream that a file shows: the samples from byte `offset`
 * on, and zeros. */
struct sfs_extract {
	uint64_t offset, n_bytes;
};

/* Open the stream of a file, of which the file is an extract.  Close it.  As
 * sfs_tree_attr(). */
int sfs_epochs_open(struct sfs_epochs *epochs, uint64_t node, struct sfs_waiter *waiter,
		    struct sfs_stream **ret_stream, struct sfs_extract *ret_extract);

/* Is it an .order or an .idx, and no stream?  Open it: needs all samples and names.
 * Errors as sfs_tree_attr(). */
bool sfs_epochs_is_text(struct sfs_epochs *epochs, uint64_t node);
int sfs_epochs_open_text(struct sfs_epochs *epochs, uint64_t node,
			 struct sfs_waiter *waiter, struct sfs_order_file **ret_file);

/* The value of an extended attribute, as text:
 *   user.shufflefs.order               sfs_fingerprint(), in hexadecimal
 *   user.shufflefs.samples             how many the file has
 *   user.shufflefs.repeated, .dropped  how many of its stream equal= has made so
 *   user.shufflefs.sample-at.OFFSET    which of them holds that byte
 * -ENODATA: there is no such.  -EINVAL: OFFSET is none.  Others as sfs_epochs_attr(). */
int sfs_epochs_xattr(struct sfs_epochs *epochs, uint64_t node, const char *attribute,
		     struct sfs_waiter *waiter, struct sfs_strbuf *text);

/* Their names, each with its NUL; without sample-at, and without samples as long as
 * counting them would read shards, because some programs get all that are listed. */
void sfs_epochs_list_xattrs(struct sfs_epochs *epochs, uint64_t node,
			    struct sfs_strbuf *text);

#endif
