/* SPDX-License-Identifier: MIT */
/* user-headers - the user's header lines; those of files are read again when a file
 * changes, and those of commands when these have run again.
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
#include "source/http/header-command.h"
#include "source/http/header-lines.h"
#include "source/http/renewal.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct sfs_user_headers;

/* What a file held. */
struct sfs_header_file {
	struct sfs_header_lines lines;
	struct stat stat; /* when it was read */
};

/* Read a file of header lines or, if `is_bearer`, of a token.  Never waits, unless it
 * `may_be_pipe`.  -EINVAL: not a regular file, more than 64 KiB, or another line in it;
 * other errors are the system's.  *err says why, without the name of the file or a
 * line. */
int sfs_header_file_read(const char *path, bool is_bearer, bool may_be_pipe,
			 struct sfs_header_file *ret, struct sfs_error *err);

/* Each spec is a line; or "@FILE" and the lines that the file held, with a newline before
 * each. */
struct sfs_user_headers *sfs_user_headers_new(char **specs, int n);
void sfs_user_headers_free(struct sfs_user_headers *headers); /* NULL is fine */

/* Add the token that is in a file, which is read now.  < 0: it is not there; *err says
 * why. */
int sfs_user_headers_add_bearer_file(struct sfs_user_headers *headers, const char *path,
				     struct sfs_error *err);

/* Add what the command prints; it is stopped with the headers. */
void sfs_user_headers_add_command(struct sfs_user_headers *headers,
				  struct sfs_header_command *command);

/* Have the files changed?  Looks at them if the last look was a second ago; if it `must`,
 * it reads them now.  true: there are other lines than before. */
bool sfs_user_headers_look(struct sfs_user_headers *headers, bool must, uint64_t now_ns);

/* How often the lines have changed: a number for the present ones. */
unsigned sfs_user_headers_edition(const struct sfs_user_headers *headers);

/* The present lines were refused, of a request that was made at `made_ns`.  Have the
 * commands run again, as renewal.h says; NOW: look again.  Never waits. */
enum sfs_renewal sfs_user_headers_renew(struct sfs_user_headers *headers,
					uint64_t made_ns);

/* The lines; good until the next look. */
int sfs_user_headers_n(const struct sfs_user_headers *headers);
const char *sfs_user_headers_line(const struct sfs_user_headers *headers, int i);

#endif
