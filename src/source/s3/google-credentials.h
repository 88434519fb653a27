/* SPDX-License-Identifier: MIT */
/* google-credentials - finds credentials for Google Cloud Storage where Google's own
 * tools look.
 *
 * 1. an access token: in the file of CLOUDSDK_AUTH_ACCESS_TOKEN_FILE, or in
 *    CLOUDSDK_AUTH_ACCESS_TOKEN or GOOGLE_OAUTH_ACCESS_TOKEN
 * 2. an HMAC key: GS_ACCESS_KEY_ID and GS_SECRET_ACCESS_KEY, or gs_access_key_id and
 *    gs_secret_access_key in the file of BOTO_CONFIG, or ~/.boto
 * 3. application default credentials: the file of GOOGLE_APPLICATION_CREDENTIALS, or as
 *    gcloud auth application-default login writes it: a user's, or the key of a service
 *    account
 * 4. the metadata server of a machine at Google, unless NO_GCE_CHECK is true
 */
#ifndef SFS_GOOGLE_CREDENTIALS_H
#define SFS_GOOGLE_CREDENTIALS_H

#include "source/http/keys.h"

/* Of keys.h: a pair of keys, or an access token. */
sfs_keys_find sfs_google_credentials_find;

/* The endpoint: STORAGE_EMULATOR_HOST, or else Google's; no region. */
int sfs_google_settings(char **ret_region, char **ret_endpoint, struct sfs_error *err);

#endif
