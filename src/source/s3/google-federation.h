/* SPDX-License-Identifier: MIT */
/* google-federation - access tokens of Google's for who is known elsewhere: workload
 * identity federation.
 *
 * The account is the JSON that Google has one download ("type": "external_account"): it
 * says where a token of the other identity provider is, in a file or at a URL; Google's
 * service of tokens (STS) gives an access token for that, with which a service account
 * may be impersonated.  Tokens from programs, and of AWS's signatures, are refused.
 */
#ifndef SFS_GOOGLE_FEDERATION_H
#define SFS_GOOGLE_FEDERATION_H

#include "source/http/credentials.h"
#include "source/http/curl-call.h"

/* Waits for files and servers.  `from` names the account in sentences. */
int sfs_google_federate(struct sfs_curl_caller *caller, const char *account,
			const char *from, struct sfs_credentials *ret,
			struct sfs_error *err);

#endif
