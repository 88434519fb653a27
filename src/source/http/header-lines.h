/* SPDX-License-Identifier: MIT */
/* header-lines - header lines in a text of the user's: "Name: value" on each line, or a
 * bearer token alone (RFC 6750); or either in JSON, perhaps with the time at which they
 * expire (token-json.h).
 *
 * Lines may end in CR LF; blank ones are left out, and blanks at the ends of lines.  They
 * are secrets: no error shows one.  Pure.
 */
#ifndef SFS_HEADER_LINES_H
#define SFS_HEADER_LINES_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sfs_header_lines {
	char **s;
	int n;
	int64_t expires_s; /* seconds since 1970; 0: not known */
};

/* Is it one line of the form "Name: value"? */
bool sfs_header_lines_is_one(const char *line);

/* Read the n bytes, behind which there is a NUL, and which are changed.  A bearer token
 * becomes a line.  There may be none.  -EINVAL: there is something else; *err says what
 * is wrong with "it". */
int sfs_header_lines_read(char *text, size_t n, bool is_bearer, int64_t now_s,
			  struct sfs_header_lines *ret, struct sfs_error *err);

/* Split into lines, whatever they are. */
struct sfs_header_lines sfs_header_lines_split(char *text);

bool sfs_header_lines_are_same(const struct sfs_header_lines *a,
			       const struct sfs_header_lines *b);
struct sfs_header_lines sfs_header_lines_copy(const struct sfs_header_lines *lines);
void sfs_header_lines_done(struct sfs_header_lines *lines);

#endif
