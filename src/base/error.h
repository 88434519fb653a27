/* SPDX-License-Identifier: MIT */
/* error - an error message for the user, next to the negative errno for the program.
 *
 * Set-up code (options, specs, mount points) takes a `struct sfs_error *err` as its last
 * argument, and sets it when it fails: what is wrong, where, what to do.  The data path
 * does not: there an error is a negative errno in the item it belongs to, and the message
 * is in the ledger (ledger.h).
 */
#ifndef SFS_ERROR_H
#define SFS_ERROR_H

#include <stdarg.h>

struct sfs_error {
	char text[1024]; /* "" when nothing was set; a longer one lacks its middle */
};

/* Set *err (NULL is fine) and return `code`, a negative errno.
 *	return sfs_error_set(err, -EINVAL, "'%s' is not a range", s); */
int sfs_error_set(struct sfs_error *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

void sfs_error_take(struct sfs_error *err, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));

/* Put "prefix: " before the message in *err; returns `code`. */
int sfs_error_wrap(struct sfs_error *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* "ESTALE" for -ESTALE or ESTALE; "E?" for one without a name. */
const char *sfs_error_name(int code);

#endif
