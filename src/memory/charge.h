/* SPDX-License-Identifier: MIT */
/* charge - memory that is charged to an account (budget.h) as long as it exists.
 *
 * One thread at a time. */
#ifndef SFS_CHARGE_H
#define SFS_CHARGE_H

#include "memory/budget.h"

#include <stddef.h>

/* All zeros: nothing. */
struct sfs_charge {
	void *bytes; /* of sfs_charge_take(), aligned to 16; NULL: elsewhere */
	size_t n;
	struct sfs_account *account; /* NULL: not counted */
};

/* Allocate n bytes and charge them.  -ENOMEM: the account would hold more than `most`, or
 * the system has no more memory. */
int sfs_charge_take(struct sfs_charge *charge, struct sfs_account *account, size_t n,
		    uint64_t most);

/* Charge n bytes that are elsewhere; call it again when their number changes.  Errors as
 * above; fewer bytes always succeed. */
int sfs_charge_count(struct sfs_charge *charge, struct sfs_account *account, size_t n,
		     uint64_t most);

void sfs_charge_done(struct sfs_charge *charge); /* also if it is empty */

#endif
