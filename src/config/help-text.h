/* SPDX-License-Identifier: MIT */
/* help-text - lays out the table of options for --help, and for the manual.  Pure. */
#ifndef SFS_HELP_TEXT_H
#define SFS_HELP_TEXT_H

#include "base/strbuf.h"

/* Add a row for --help: `left`, and from `column` on the words, in as many lines as they
 * need.  If `left` is too long, it has a line to itself. */
void sfs_help_add_row(struct sfs_strbuf *text, const char *left, size_t column,
		      const char *words);

/* Add words as mdoc wants them: each sentence starts a line. */
void sfs_help_add_sentences(struct sfs_strbuf *text, const char *words);

/* The length of the first sentence, with its full stop. */
size_t sfs_help_sentence(const char *words);

#endif
