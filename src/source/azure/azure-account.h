/* SPDX-License-Identifier: MIT */
/* azure-account - which account of Azure Blob Storage is meant, and where its blobs are.
 *
 * A URL may name it; else endpoint= or the environment does, as Azure's own tools read
 * it.  A mount reads one account, because its credentials are for one.
 */
#ifndef SFS_AZURE_ACCOUNT_H
#define SFS_AZURE_ACCOUNT_H

#include "base/error.h"

struct sfs_azure_account {
	char *name; /* for signatures; NULL until it is known */
	char *url;  /* of its blobs, without a '/' at its end; NULL until it is known */
	const char *from; /* what named it, for sentences */
};

/* endpoint=, AZURE_STORAGE_CONNECTION_STRING, AZURE_STORAGE_ACCOUNT or
 * AZURE_STORAGE_ACCOUNT_NAME; there need be none.  -EINVAL with *err. */
int sfs_azure_account_find(const char *endpoint, struct sfs_azure_account *ret,
			   struct sfs_error *err);
void sfs_azure_account_done(struct sfs_azure_account *account);

/* A URL names `bucket`, "container" or "container@host": have its account.  -EINVAL: none
 * is known, or another one; *err says so. */
int sfs_azure_account_meet(struct sfs_azure_account *account, const char *bucket,
			   struct sfs_error *err);

/* Pure: the value that a connection string has under this name, or NULL.  The caller
 * frees it. */
char *sfs_azure_connection_get(const char *connection, const char *name);

#endif
