/* SPDX-License-Identifier: MIT */
/* header - reads one tar header, a 512-byte block.
 *
 * Nearly every header is of a regular file, in ustar (POSIX) or GNU format, with plain
 * octal numbers and a correct checksum: these are read completely, in about 60 ns.  Others
 * are only classified: an extension of the next header, a global header, or an odd one,
 * which entry.h looks at more closely.  Format: POSIX.1-2017, pax, "ustar
 * Interchange Format"; GNU tar's manual, "Basic Tar Format".  Pure.
 */
#ifndef SFS_HEADER_H
#define SFS_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SFS_TAR_BLOCK	 512
#define SFS_TAR_NAME_MAX 256 /* prefix (155), a slash, name (100) */

/* Bytes rounded up to whole blocks; n must be below 2^63. */
static inline uint64_t sfs_tar_padded(uint64_t n_bytes)
{
	return (n_bytes + SFS_TAR_BLOCK - 1) & ~(uint64_t)(SFS_TAR_BLOCK - 1);
}

enum sfs_tar_kind {
	SFS_TAR_ZERO,	   /* a block of zeros: the end of the archive */
	SFS_TAR_FILE,	   /* a regular file with a plain header; all fields are set */
	SFS_TAR_EXTENSION, /* x, X, L, K, A: extends the next header; size is set */
	SFS_TAR_GLOBAL,	   /* g: a pax global header; size is set */
	SFS_TAR_ODD,	   /* anything else with a correct checksum */
	SFS_TAR_BAD,	   /* a wrong checksum, or an extension without a size */
};

struct sfs_tar_header {
	enum sfs_tar_kind kind;
	char type;     /* the type flag */
	uint64_t size; /* bytes of data that follow, without padding */
	int64_t mtime; /* seconds since 1970; FILE only */
	uint32_t mode; /* permission bits; FILE only */
};

/* Read one block of SFS_TAR_BLOCK bytes (as all below).  FILE never has more than 2^33-1
 * bytes (11 octal digits). */
struct sfs_tar_header sfs_tar_look(const unsigned char *block);

/* The name in a header: prefix, slash, name, as they are.  Writes at most
 * SFS_TAR_NAME_MAX bytes without a NUL; returns how many. */
size_t sfs_tar_name(const unsigned char *block, char *buf);

/* Compute the checksum of a changed header and write it. */
void sfs_tar_seal(unsigned char *block);

/* Are all n bytes zero? */
bool sfs_tar_is_zero(const unsigned char *p, size_t n);

/* Field offsets. */
enum {
	SFS_TAR_NAME = 0,
	SFS_TAR_NAME_BYTES = 100,
	SFS_TAR_SIZE = 124,
	SFS_TAR_SIZE_BYTES = 12,
	SFS_TAR_TYPE = 156,
	SFS_TAR_MAGIC = 257,
	SFS_TAR_PREFIX = 345,
	SFS_TAR_PREFIX_BYTES = 155,
};

/* A number of a header: octal digits, or GNU's base-256.  false: neither. */
bool sfs_tar_number(const unsigned char *field, size_t n, uint64_t *ret);

/* Of any header: seconds since 1970, and permission bits; 0 if they are no numbers. */
int64_t sfs_tar_mtime(const unsigned char *block);
uint32_t sfs_tar_mode(const unsigned char *block);

/* Is the header POSIX's, which has a prefix field (magic "ustar\0" and version)? */
bool sfs_tar_has_prefix(const unsigned char *block);

/* Is the header in GNU's dialect (magic "ustar  ")? */
bool sfs_tar_is_gnu(const unsigned char *block);

/* Does the GNU header have the map or the size of a sparse file?  Some readers take them
 * from headers of any type, others only from type 'S'. */
bool sfs_tar_has_gnu_map(const unsigned char *block);

#endif
