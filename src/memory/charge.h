/* SPDX-License-Identifier: MIT */
/* held - memory that an account holds (budget.h) as long as it is there.
 *
 * One thread at a time. */
#ifndef SFS_CHARGE_H
#define SFS_CHARGE_H

#include "memory/budget.h"

#include <stddef.h>

/* All zeros: nothing. */
struct sfs_charge {
	void *bytes; /* aligned to 16, never NULL if they were taken; or NULL: elsewhere
		      */
	size_t n;
	struct sfs_account *account; /* NULL: not counted */
};

/* 0; -ENOMEM: the account would hold more than `most`, or the system has no more. */
int sfs_charge_take(struct sfs_charge *held, struct sfs_account *account, size_t n,
		    uint64_t most);

/* Count n bytes that lie elsewhere; perhaps again, when they have become more or fewer.
 * As above; fewer are 0. */
int sfs_charge_count(struct sfs_charge *held, struct sfs_account *account, size_t n,
		     uint64_t most);

void sfs_charge_done(struct sfs_charge *held); /* empty again; fine if it is */

#endif
