/* SPDX-License-Identifier: MIT */
/* order-maker - makes the text of the order of a stream, or its index, piece by piece.
 *
 * One line per sample: its position in the file, its offset, its length, its shard and
 * its key, separated by tabs (docs/ORDER.md, section 8).  An index is one in DALI's
 * format (catalog/index-export.h), with a line per sample that has a key.  Where a line
 * begins is known only after the lines before it have been made; from then on, a mark
 * near it is where to start.  All tables and members must be in memory, and stay there.
 *
 * One thread at a time.  Its memory is charged to an account, up to half of the budget.
 */
#ifndef SFS_ORDER_MAKER_H
#define SFS_ORDER_MAKER_H

#include "base/strbuf.h"
#include "io/runtime.h"
#include "memory/charge.h"
#include "order/iterate.h"
#include "order/locate.h"
#include "tree/names.h"

/* The text of a share of an epoch, from its sample `first` on. */
struct sfs_order_text {
	uint64_t epoch, first;
	struct sfs_share share;
	bool is_index;
	uint32_t number; /* of its name in `names` */
};

struct sfs_order_mark; /* see order-maker.c */

/* `text` is a piece of the whole, starting at its byte `start`. */
struct sfs_order_maker {
	struct sfs_runtime *runtime;
	struct sfs_account *account;
	struct sfs_order_text what;
	struct sfs_order order;
	struct sfs_iterator iterator;
	struct sfs_locator locator;
	struct sfs_charge charge; /* counts them all */
	bool has_order, has_locator;
	uint64_t n_to_skip;
	bool is_at_end, is_beyond; /* beyond: its first sample is, and a line says so */
	uint64_t position, offset; /* of the next sample, in the file */
	uint64_t key;		   /* of the sample before, in the stream */
	uint64_t n_printed;	   /* lines of an index, until it is measured */
	bool has_size;
	struct sfs_text_size size;
	struct sfs_strbuf text;
	uint64_t start;
	struct sfs_order_mark *marks;
	uint32_t n_marks;
	uint64_t spacing; /* bytes, at least, between two of them */
};

void sfs_order_maker_init(struct sfs_order_maker *m, struct sfs_runtime *runtime,
			  struct sfs_account *account, const struct sfs_order_text *what);
void sfs_order_maker_done(struct sfs_order_maker *m);

/* Bring the text nearer to the n bytes at `at`; *ret_n_lines more were made.  0: they are
 * there, as far as there are any.  -EINPROGRESS: not yet.  -ENOMEM: no room in the
 * budget.  -EILSEQ: DALI's format cannot represent it; the ledger says why. */
int sfs_order_maker_work(struct sfs_order_maker *m, uint64_t at, size_t n,
			 uint64_t *ret_n_lines);

/* All was made, by a call with UINT64_MAX: set has_size and size.  -ENODATA: an index
 * would be empty; the ledger says so. */
int sfs_order_maker_measure(struct sfs_order_maker *m);

#endif
