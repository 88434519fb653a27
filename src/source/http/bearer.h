/* SPDX-License-Identifier: MIT */
/* bearer - a token that goes into "Authorization: Bearer ...", from a variable of the
 * environment or from a file.
 *
 * The file is read again when it has changed: by a rename, a write in place, or a new
 * target of a link.  While it is missing, blank or no token, the old one stays in use.
 * One thread at a time.  Looking at the file is a stat(), at most once a second.
 */
#ifndef SFS_BEARER_H
#define SFS_BEARER_H

#include "base/error.h"

#include <stdbool.h>

struct sfs_bearer;

/* Where a token may be.  The strings are borrowed for the call. */
struct sfs_bearer_places {
	const char *const *variables; /* the first that is not blank counts; a NULL ends
				       * them */
	const char *path;	      /* of a file that counts after them; NULL: none */
	bool must_exist; /* the file was named: else a missing or blank one is no token */
	/* NULL, or: the text of a file begins with '{'.  The token that is in it, which
	 * the caller frees; NULL: none. */
	char *(*unwrap)(const char *text);
	const char *forms; /* for a sentence: what the file may hold */
};

/* NULL and *err: a token that should be there is not. */
struct sfs_bearer *sfs_bearer_start(const struct sfs_bearer_places *places,
				    struct sfs_error *err);
void sfs_bearer_stop(struct sfs_bearer *bearer); /* NULL is fine */

/* The present token, borrowed until the next call, and its edition, from 1 on.  NULL and
 * 0: there is none. */
const char *sfs_bearer_get(struct sfs_bearer *bearer, unsigned *ret_edition);

/* That of `edition` was refused.  Is there another by now? */
bool sfs_bearer_renew(struct sfs_bearer *bearer, unsigned edition);

/* Where it comes from, for sentences; NULL: there is none. */
const char *sfs_bearer_from(const struct sfs_bearer *bearer);

/* Pure: the token that a file's text holds, which the caller frees; NULL: none.  The text
 * loses the blanks at its end. */
char *sfs_bearer_read(char *text, char *(*unwrap)(const char *text));

#endif
