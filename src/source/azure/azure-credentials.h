/* SPDX-License-Identifier: MIT */
/* azure-credentials - finds credentials for Azure Blob Storage where Azure's own tools
 * look.
 *
 * 1. the file of sas-file=: a shared access signature (SAS)
 * 2. AZURE_STORAGE_CONNECTION_STRING: its AccountKey or SharedAccessSignature
 * 3. AZURE_STORAGE_KEY or AZURE_STORAGE_ACCOUNT_KEY: the account's key
 * 4. AZURE_STORAGE_SAS_TOKEN: a SAS
 * 5. AZURE_STORAGE_TOKEN: an access token
 * 6. AZURE_TENANT_ID and AZURE_CLIENT_ID: a token from Entra ID, for
 *    AZURE_FEDERATED_TOKEN_FILE or AZURE_CLIENT_SECRET
 * 7. the managed identity of a machine at Azure
 */
#ifndef SFS_AZURE_CREDENTIALS_H
#define SFS_AZURE_CREDENTIALS_H

#include "source/http/keys.h"

/* Of keys.h; ctx is the name of the SAS's file, or NULL.  It finds a `secret`, the
 * account's key; or a `query`, a SAS without a '?'; or a `token`. */
sfs_keys_find sfs_azure_credentials_find;

/* Pure: the time that a SAS has under this name ("st", "se"), in seconds since 1970; 0:
 * none. */
int64_t sfs_azure_sas_time(const char *sas, const char *name);

#endif
