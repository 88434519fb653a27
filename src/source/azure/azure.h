/* SPDX-License-Identifier: MIT */
/* azure - blobs of Azure Blob Storage, and so files of Azure Data Lake Storage Gen2, as a
 * store of the HTTP source.
 *
 * A GET is authorized by a SAS, which is a part of the URL and never shown, by a
 * signature with the account's key, or by an access token; what there is, is found where
 * Azure's tools look (azure-credentials.h) and renewed in time.
 */
#ifndef SFS_AZURE_H
#define SFS_AZURE_H

#include "source/http/dialect.h"

struct sfs_azure_options {
	const char *endpoint; /* of the account; NULL: as the environment or URLs say */
	const char *sas_file; /* NULL: as the environment says */
	bool is_anonymous;    /* use no credentials */
	const struct sfs_http_options *http; /* for requests of its own: strings are
					      * borrowed */
};

/* Waits for credentials, which need not exist.  NULL and *err: a setting is wrong, or
 * there should be credentials and are none. */
struct sfs_store *sfs_azure_start(const struct sfs_azure_options *options,
				  struct sfs_error *err);

#endif
