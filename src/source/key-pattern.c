/* SPDX-License-Identifier: MIT */
/* How this works: pattern and key are compared folder by folder.  If they differ, the
 * last
 * "**" is tried one folder further.  Those before it need no other try: each stands at
 * its earliest place, which leaves most of the key to what follows. */
#include "source/key-pattern.h"

#include "base/alloc.h"

#include <fnmatch.h>
#include <string.h>

static const char wild[] = "*?[";

bool sfs_key_pattern_is(const char *text)
{
	size_t n = strlen(text);

	return n == 0 || text[n - 1] == '/' || strpbrk(text, wild);
}

char *sfs_key_pattern_prefix(const char *pattern)
{
	return sfs_strndup(pattern, strcspn(pattern, wild));
}

/* Is the next component "**"? */
static bool is_any_folders(const char *pattern)
{
	return strncmp(pattern, "**", 2) == 0 && (!pattern[2] || pattern[2] == '/');
}

bool sfs_key_pattern_is_deep(const char *pattern)
{
	const char *rest = pattern + strcspn(pattern, wild);

	if (!*rest || strchr(rest, '/'))
		return true;
	return is_any_folders(rest) && (rest == pattern || rest[-1] == '/');
}

bool sfs_is_tar_name(const char *name)
{
	size_t n = strlen(name);

	return n > 4 && strcmp(name + n - 4, ".tar") == 0;
}

static bool matches_component(const char *pattern, size_t n_pattern, const char *key,
			      size_t n_key)
{
	sfs_autofree char *p = sfs_strndup(pattern, n_pattern);
	sfs_autofree char *k = sfs_strndup(key, n_key);

	return fnmatch(p, k, FNM_NOESCAPE) == 0;
}

static bool matches(const char *pattern, const char *key)
{
	const char *after = NULL; /* what follows the last "**", */
	const char *retry = NULL; /* and where it is tried */
	size_t n_pattern, n_key;

	for (;;) {
		while (is_any_folders(pattern)) {
			if (!pattern[2])
				return sfs_is_tar_name(key);
			after = pattern += 3;
			retry = key;
		}
		n_pattern = strcspn(pattern, "/");
		n_key = strcspn(key, "/");
		if (!pattern[n_pattern] == !key[n_key] &&
		    matches_component(pattern, n_pattern, key, n_key)) {
			if (!key[n_key])
				return true;
			pattern += n_pattern + 1;
			key += n_key + 1;
			continue;
		}
		if (!retry || !retry[strcspn(retry, "/")])
			return false;
		retry += strcspn(retry, "/") + 1;
		key = retry;
		pattern = after;
	}
}

bool sfs_key_pattern_means(const char *pattern, const char *key)
{
	if (!strpbrk(pattern, wild))
		return sfs_is_tar_name(key) &&
		       strncmp(key, pattern, strlen(pattern)) == 0;
	return matches(pattern, key);
}

bool sfs_key_pattern_may_be_below(const char *pattern, const char *folder)
{
	size_t n_pattern, n_folder;

	if (!strpbrk(pattern, wild))
		return strncmp(folder, pattern, strlen(pattern)) == 0;
	for (; *folder; pattern += n_pattern + 1, folder += n_folder + 1) {
		if (is_any_folders(pattern))
			return true;
		n_pattern = strcspn(pattern, "/");
		n_folder = strcspn(folder, "/");
		if (!pattern[n_pattern] ||
		    !matches_component(pattern, n_pattern, folder, n_folder))
			return false;
	}
	return true;
}
