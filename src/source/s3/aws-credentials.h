/* SPDX-License-Identifier: MIT */
/* aws-credentials - finds credentials where AWS's own tools look, in their order.
 *
 * 1. AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN
 * 2. the profile (aws-profile.h): its keys; its web_identity_token_file and role_arn; its
 *    credential_process
 * 3. AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN, through STS
 * 4. AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI
 * 5. the metadata of an EC2 instance (IMDSv2), unless AWS_EC2_METADATA_DISABLED is true
 *
 * Waits: for files, a program, a server.
 */
#ifndef SFS_AWS_CREDENTIALS_H
#define SFS_AWS_CREDENTIALS_H

#include "source/http/keys.h"

/* Of keys.h: a pair of keys, and a session's token if they need one. */
sfs_keys_find sfs_aws_credentials_find;

/* The region: AWS_REGION, AWS_DEFAULT_REGION or the profile's; and the endpoint:
 * AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL or the profile's.  The caller frees both; NULL:
 * it is said nowhere. */
int sfs_aws_settings(char **ret_region, char **ret_endpoint, struct sfs_error *err);

/* Pure: credentials as JSON, from `from`.  -EBADMSG: they are not. */
int sfs_aws_credentials_read(const char *json, size_t n, const char *from,
			     struct sfs_credentials *ret, struct sfs_error *err);

#endif
