/* SPDX-License-Identifier: MIT */
#include "memory/charge.h"

#include <errno.h>
#include <stdlib.h>

int sfs_charge_take(struct sfs_charge *charge, struct sfs_account *account, size_t n,
		    uint64_t most)
{
	void *bytes;

	if (account && sfs_account_hold(account, n, most) < 0)
		return -ENOMEM;
	bytes = malloc(n > 0 ? n : 1); /* not small: may fail */
	if (!bytes) {
		if (account)
			sfs_account_give(account, n);
		return -ENOMEM;
	}
	*charge = (struct sfs_charge){.bytes = bytes, .n = n, .account = account};
	return 0;
}

int sfs_charge_count(struct sfs_charge *charge, struct sfs_account *account, size_t n,
		     uint64_t most)
{
	if (account && n > charge->n &&
	    sfs_account_hold(account, n - charge->n, most) < 0)
		return -ENOMEM;
	if (account && n < charge->n)
		sfs_account_give(account, charge->n - n);
	charge->account = account;
	charge->n = n;
	return 0;
}

void sfs_charge_done(struct sfs_charge *charge)
{
	if (charge->account)
		sfs_account_give(charge->account, charge->n);
	free(charge->bytes);
	*charge = (struct sfs_charge){0};
}
