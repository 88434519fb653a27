/* SPDX-License-Identifier: MIT */
/* Brace specs.  What is checked beyond "does not crash": a failure has a sentence, there
 * are no more names than the braces can give, and a name with its braces escaped
 * expands to itself. */
#include "fuzz.h"

#include "catalog/braces.h"

#include <ctype.h>
#include <errno.h>

enum { MOST = 5000, MAX_OPEN = 64 };

/* At most how many names?  Lists multiply by their items, ranges by their span; 10
 * million names are allowed, but would take seconds and a gigabyte here. */
static uint64_t most_names(const char *s)
{
	uint64_t bound = 1, commas[MAX_OPEN] = {0}, span = 1;
	long long number = 0;
	size_t depth = 0;

	for (; *s && bound <= MOST; s++) {
		if (*s == '\\' && s[1] && strchr("{},\\", s[1])) {
			s++;
			continue;
		}
		if (*s == '{' && ++depth < MAX_OPEN)
			commas[depth] = 0;
		if (*s == ',' && depth < MAX_OPEN)
			commas[depth]++;
		if (*s == '}' && depth > 0) {
			bound *= depth < MAX_OPEN ? commas[depth] + 1 : 1;
			depth--;
		}
		if (isalnum((unsigned char)*s)) {
			number = isdigit((unsigned char)*s) ? number * 10 + (*s - '0')
							    : 52;
			if (number > MOST)
				return number; /* the zeros before it do not count */
			continue;
		}
		span = 1 + 2 * (uint64_t)number;
		bound *= s[0] == '.' && s[1] == '.' ? span : 1;
		bound *= s[0] == '}' && number > 0 ? span : 1;
		number = 0;
	}
	return bound;
}

static void expands_to_itself(const char *name)
{
	char *spec = malloc(2 * strlen(name) + 1), *p = spec, **names;
	const char *s;
	size_t n;

	for (s = name; *s; s++) {
		if (strchr("{},\\", *s))
			*p++ = '\\';
		*p++ = *s;
	}
	*p = 0;
	MUST(sfs_braces_expand(spec, &names, &n, NULL) == 0);
	MUST(n == 1 && strcmp(names[0], name) == 0);
	sfs_braces_free(names, n);
	free(spec);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_data)
{
	char *spec = fuzz_string(data, n_data < 4096 ? n_data : 4096);
	struct sfs_error err = {0};
	uint64_t most = most_names(spec);
	char **names = NULL;
	size_t n = 0, i;
	int ret;

	if (most <= MOST) {
		ret = sfs_braces_expand(spec, &names, &n, &err);
		MUST(ret == 0 || (ret == -EINVAL && err.text[0] && !names));
		MUST(ret < 0 || (n >= 1 && n <= most));
		for (i = 0; i < n && i < 100; i++)
			expands_to_itself(names[i]);
		if (ret == 0)
			sfs_braces_free(names, n);
	}
	free(spec);
	return 0;
}
