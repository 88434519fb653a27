/* SPDX-License-Identifier: MIT */
/* Keys, held to WebDataset's regular expressions as they stand, tried by brute force:
 *
 *     ^((?:.*\/|)[^.]+)[.]([^\/]*)$        __[^\/]*__($|\/)     without the backslashes
 *
 * where "." is no newline, and "$" is the end or before a last newline. */
#include "fuzz.h"

#include "tar/key.h"

static size_t find(const char *s, size_t from, size_t n, char c)
{
	const char *p = from < n ? memchr(s + from, c, n - from) : NULL;

	return p ? (size_t)(p - s) : n;
}

/* re.match(r"__[^/]*__($|/)", name) */
static bool is_meta(const char *name, size_t n)
{
	size_t slash = find(name, 0, n, '/'), end;

	if (n < 2 || memcmp(name, "__", 2) != 0)
		return false;
	for (end = 4; end <= slash; end++) /* where the group begins */
		if (memcmp(name + end - 2, "__", 2) == 0 &&
		    (end == n || name[end] == '/' || (end + 1 == n && name[end] == '\n')))
			return true;
	return slash == n && memcmp(name + n - 2, "__", 2) == 0;
}

static size_t match(const char *name, size_t n)
{
	size_t start, dot;

	for (start = 0; start < n; start++) { /* of [^.]+ */
		if (start > 0 && name[start - 1] != '/')
			continue;
		if (find(name, 0, start, '\n') < start)
			break;
		dot = find(name, start, n, '.');
		if (dot > start && dot < n && find(name, dot, n, '/') == n)
			return dot;
	}
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *name = fuzz_copy(data, n < 2048 ? n : 2048);

	n = n < 2048 ? n : 2048;
	MUST(sfs_key_length(name, n) == (is_meta(name, n) ? 0 : match(name, n)));
	free(name);
	return 0;
}
