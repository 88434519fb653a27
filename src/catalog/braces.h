/* SPDX-License-Identifier: MIT */
/* braces - expands {000000..000131} and {a,b,c} as bash does.
 *
 * Ranges of numbers keep their leading zeros, may run backwards and may have a step
 * ({0..10..2}), and so may ranges of letters; lists and ranges nest and multiply.  A
 * brace that is neither a list nor a range is an error, not literal text, so that a
 * typing error is found before a server is asked; \{ \} \, and \\ are the characters
 * themselves.  Pure.
 */
#ifndef SFS_BRACES_H
#define SFS_BRACES_H

#include "base/error.h"

#include <stddef.h>

#define SFS_BRACES_MAX 10000000 /* names from one spec */

/* Expand `spec` into *ret_n names, in bash's order; sfs_braces_free() frees them.
 * -EINVAL: wrong braces; -E2BIG: more than SFS_BRACES_MAX names; *err says which. */
int sfs_braces_expand(const char *spec, char ***ret_names, size_t *ret_n,
		      struct sfs_error *err);

/* Free what sfs_braces_expand() returned. */
void sfs_braces_free(char **names, size_t n);

#endif
