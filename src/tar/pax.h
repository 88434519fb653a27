/* SPDX-License-Identifier: MIT */
/* pax - the records of a pax extended header (POSIX.1-2017, pax, "pax Extended
 * Header"): "LENGTH KEY=VALUE\n", where LENGTH counts the whole record.  Pure. */
#ifndef SFS_PAX_H
#define SFS_PAX_H

#include <stdbool.h>
#include <stddef.h>

struct sfs_pax_record {
	const char *start; /* the whole record, its length field first */
	size_t n_bytes;
	const char *key, *value; /* not NUL-terminated; a value may contain NULs */
	size_t n_key, n_value;
};

/* Read the record at *p and move *p past it.  1: got one.  0: none left (the end, or NULs
 * up to it).  -EBADMSG: not a record. */
int sfs_pax_next(const char **p, const char *end, struct sfs_pax_record *ret_record);

/* Is the key exactly this one? */
bool sfs_pax_is(const struct sfs_pax_record *record, const char *key);

/* Is it a name of the member: "path", or that of a sparse file? */
bool sfs_pax_is_name(const struct sfs_pax_record *record);

/* Does the key begin with `prefix`? */
bool sfs_pax_begins(const struct sfs_pax_record *record, const char *prefix);

/* The length of a record with a key and value of these lengths, its digits included. */
size_t sfs_pax_length(size_t n_key, size_t n_value);

#endif
