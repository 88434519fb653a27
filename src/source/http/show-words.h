/* SPDX-License-Identifier: MIT */
/* show-words - what a server says of a refusal, as people may read it.  Pure. */
#ifndef SFS_SHOW_WORDS_H
#define SFS_SHOW_WORDS_H

#include <stddef.h>

/* Write the text, with '.' for what cannot be printed, up to the first of the characters
 * in `stops`: what follows a '?' may be a query, with a credential in it. */
void sfs_show_words(const char *text, const char *stops, char *to, size_t size);

/* The same of what a JSON object, which may be cut off, has at this path (json-find.h);
 * "" if there is none.  `body` NULL: no bytes. */
void sfs_show_member(const char *body, size_t n, const char *path, const char *stops,
		     char *to, size_t size);

#endif
