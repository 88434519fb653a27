/* SPDX-License-Identifier: MIT */
/* azure-sign - signs a GET with the key of a storage account (Shared Key), in its
 * Authorization header.  Pure: the time is an argument. */
#ifndef SFS_AZURE_SIGN_H
#define SFS_AZURE_SIGN_H

#include <stdint.h>

struct sfs_azure_request {
	const char *account;
	const char *path;	      /* as it is sent */
	const char *query;	      /* "a=1&b=", in lower case, sorted; "" if none */
	const char *if_match, *range; /* as sent; NULL: they are not */
	const char *date, *version;   /* of x-ms-date and x-ms-version, which are sent */
};

/* The value of the header; the caller frees it.  NULL: `key` is no Base64. */
char *sfs_azure_sign(const struct sfs_azure_request *request, const char *key);

/* Write `s`, seconds since 1970, as "Thu, 01 Jan 1970 00:00:00 GMT", and return buf. */
const char *sfs_azure_time(int64_t s, char buf[32]);

#endif
