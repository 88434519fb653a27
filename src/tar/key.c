/* SPDX-License-Identifier: MIT */
/* How this works: the regular expression backtracks over where ".*\/" ends.  All
 * its matches have the key up to the same dot, the first one of the last component, so
 * only their existence matters: is there a start P (0, or after a slash that no newline
 * precedes) with P < dot and no other dot between? */
#include "tar/key.h"

#include <stdbool.h>
#include <string.h>
#include <sys/types.h>

/* re.match(r"__[^/]*__($|/)", name): "$" also matches before a last newline.
 * And, for names without a slash, startswith("__") and endswith("__"). */
static bool is_meta(const char *name, size_t n)
{
	const char *slash = memchr(name, '/', n);
	size_t first = slash ? (size_t)(slash - name) : n;

	if (n < 2 || memcmp(name, "__", 2) != 0)
		return false;
	if (!slash && memcmp(name + n - 2, "__", 2) == 0)
		return true;
	if (!slash && name[n - 1] == '\n')
		first--;
	return first >= 4 && memcmp(name + first - 2, "__", 2) == 0;
}

size_t sfs_key_length(const char *name, size_t n)
{
	const char *slash = memrchr(name, '/', n), *dot, *newline, *p;
	size_t last =
		slash ? (size_t)(slash - name) + 1 : 0; /* start of the last component */
	size_t i, begin = 0;

	dot = memchr(name + last, '.', n - last);
	if (!dot || dot == name || is_meta(name, n))
		return 0;

	/* The earliest possible start: after the last dot of the folders. */
	p = memrchr(name, '.', last);
	if (p)
		begin = (size_t)(p - name) + 1;
	if (begin == 0)
		return (size_t)(dot - name); /* P = 0 */

	/* Else a slash in [begin - 1 + 1, dot - 1) that no newline precedes. */
	newline = memchr(name, '\n', n);
	for (i = begin; i + 1 < (size_t)(dot - name); i++) {
		if (newline && i > (size_t)(newline - name))
			break;
		if (name[i] == '/')
			return (size_t)(dot - name);
	}
	return 0;
}
