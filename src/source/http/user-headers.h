/* SPDX-License-Identifier: MIT */
/* user-headers - the user's header lines; those of files are read again when a file
 * changes.
 *
 * Tokens expire, and whoever renews them writes the file again, in place or by a rename.
 * While the file is missing, empty, or holds anything but headers (it is being written),
 * the old lines are sent.  Their values are secrets, and never logged.
 *
 * Not thread-safe.  Looking at a file is a stat(), at most once a second.
 */
#ifndef SFS_USER_HEADERS_H
#define SFS_USER_HEADERS_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct sfs_user_headers;

/* The lines of a file: no blank ones, no blanks at their ends. */
struct sfs_header_file {
	char **lines;
	int n;
	struct stat stat; /* when it was read */
};

/* Is it one line of the form "Name: value"? */
bool sfs_user_headers_is_line(const char *line);

/* Read a file of such lines.  Never waits, unless it `may_be_pipe`.  -EINVAL: not a
 * regular file, more than 64 KiB, or another line in it; other errors are the system's.
 * *err says why, without the name of the file or a line. */
int sfs_header_file_read(const char *path, bool may_be_pipe, struct sfs_header_file *ret,
			 struct sfs_error *err);
void sfs_header_file_done(struct sfs_header_file *file);

/* Each spec is a line; or "@FILE" and the lines that the file held, with a newline before
 * each. */
struct sfs_user_headers *sfs_user_headers_new(char **specs, int n);
void sfs_user_headers_free(struct sfs_user_headers *headers); /* NULL is fine */

/* Have the files changed?  Looks at them if the last look was a second ago; if it `must`,
 * it reads them now.  true: there are other lines than before. */
bool sfs_user_headers_look(struct sfs_user_headers *headers, bool must, uint64_t now_ns);

/* How often the lines have changed: a number for the present ones. */
unsigned sfs_user_headers_edition(const struct sfs_user_headers *headers);

/* The lines; good until the next look. */
int sfs_user_headers_n(const struct sfs_user_headers *headers);
const char *sfs_user_headers_line(const struct sfs_user_headers *headers, int i);

#endif
