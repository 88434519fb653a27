/* SPDX-License-Identifier: MIT */
#include "base/alloc.h"
#include "check.h"
#include "source/key-pattern.h"

#include <fnmatch.h>
#include <stdio.h>

#define YES true
#define NO  false

static const struct {
	const char *pattern, *key;
	bool is_meant;
} cases[] = {
	{"", "a.tar", YES},
	{"", "a/b.tar", YES},
	{"", "a.txt", NO},
	{"", ".tar", NO},
	{"t/", "t/a.tar", YES},
	{"t/", "t/u/a.tar", YES},
	{"t/", "s/a.tar", NO},
	{"*.tar", "a.tar", YES},
	{"*.tar", "a/b.tar", NO},
	{"t/*.tar", "t/.a.tar", YES},
	{"t/?.tar", "t//.tar", NO},
	{"t/[ab].tar", "t/b.tar", YES},
	{"t/[*].tar", "t/*.tar", YES},
	{"t/[*].tar", "t/x.tar", NO},
	{"a\\*", "a\\x", YES},
	{"*/x.tar", "t/x.tar", YES},
	{"*/x.tar", "x.tar", NO},
	{"**", "x.tar", YES},
	{"**", "a/b/x.tar", YES},
	{"**", "a/b/x", NO},
	{"t/**", "t/x.tar", YES},
	{"t/**", "tx.tar", NO},
	{"t**", "tx", YES},
	{"t**", "t/x.tar", NO},
	{"**/x.tar", "x.tar", YES},
	{"**/x.tar", "a/b/x.tar", YES},
	{"**/x.tar", "a/bx.tar", NO},
	{"a/**/b/*.tar", "a/b/1.tar", YES},
	{"a/**/b/*.tar", "a/b/b/1.tar", YES},
	{"a/**/b/*.tar", "a/c/b/c/b/1.tar", YES},
	{"a/**/b/*.tar", "a/c/1.tar", NO},
	{"**/**/a/**/x", "a/x", YES},
	{"**/a/**/b/**", "b/a/a/b/1.tar", YES},
	{"**/a/**/b/**", "b/a/a/c/1.tar", NO},
	{"**/a/b", "a/c/a/b", YES},
	{"**/a/b", "a/b/c", NO},
};

/* The same, as it is defined. */
static bool defined_as(const char *pattern, const char *key)
{
	size_t n = strcspn(pattern, "/"), m = strcspn(key, "/");
	sfs_autofree char *p = sfs_strndup(pattern, n), *k = sfs_strndup(key, m);

	if (strcmp(p, "**") == 0) {
		if (!pattern[n])
			return strlen(key) > 4 &&
			       strcmp(key + strlen(key) - 4, ".tar") == 0;
		return defined_as(pattern + n + 1, key) ||
		       (key[m] && defined_as(pattern, key + m + 1));
	}
	if (fnmatch(p, k, FNM_NOESCAPE) != 0 || !pattern[n] != !key[m])
		return false;
	return !key[m] || defined_as(pattern + n + 1, key + m + 1);
}

static void join(char *text, const char *const *parts, unsigned number, unsigned base)
{
	for (*text = 0; number > 0; number /= base)
		sprintf(text + strlen(text), "%s%s", *text ? "/" : "",
			parts[number % base]);
}

static void check_all_small_ones(void)
{
	static const char *const of_patterns[] = {"**", "a", "*", "b.tar"};
	static const char *const of_keys[] = {"a", "c", "b.tar"};
	char pattern[64], key[64];
	unsigned p, k;

	for (p = 1; p < 4 * 4 * 4 * 4 * 4; p++) {
		join(pattern, of_patterns, p, 4);
		if (!strchr(pattern, '*'))
			continue;
		for (k = 1; k < 3 * 3 * 3 * 3; k++) {
			join(key, of_keys, k, 3);
			CHECK_EQ(sfs_key_pattern_means(pattern, key),
				 defined_as(pattern, key));
		}
	}
}

static void check_prefix(const char *pattern, const char *prefix, bool is_deep)
{
	sfs_autofree char *got = sfs_key_pattern_prefix(pattern);

	CHECK_STR(got, prefix);
	CHECK_EQ(sfs_key_pattern_is_deep(pattern), is_deep);
}

int main(void)
{
	size_t i;

	for (i = 0; i < sizeof cases / sizeof *cases; i++)
		CHECK_EQ(sfs_key_pattern_means(cases[i].pattern, cases[i].key),
			 cases[i].is_meant);
	check_all_small_ones();
	check_prefix("a/b-*.tar", "a/b-", false);
	check_prefix("a/*/b.tar", "a/", true);
	check_prefix("a/**", "a/", true);
	check_prefix("**", "", true);
	check_prefix("a**", "a", false);
	check_prefix("a/", "a/", true);
	CHECK(sfs_key_pattern_is("") && sfs_key_pattern_is("a/") &&
	      sfs_key_pattern_is("a[b]"));
	CHECK(!sfs_key_pattern_is("a/b.tar"));
	return 0;
}
