/* SPDX-License-Identifier: MIT */
/* base64 - bytes as letters (RFC 4648, 4).  Pure. */
#ifndef SFS_BASE64_H
#define SFS_BASE64_H

#include <stddef.h>
#include <sys/types.h>

/* The caller frees it. */
char *sfs_base64_encode(const void *bytes, size_t n);

/* Decode into ret, which has room for n_max bytes.  Returns how many there are; -EINVAL:
 * it is no Base64, or there are more. */
ssize_t sfs_base64_decode(const char *text, void *ret, size_t n_max);

#endif
