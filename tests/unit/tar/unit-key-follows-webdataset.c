/* SPDX-License-Identifier: MIT */
/* The key of a member is what WebDataset makes of its name, and has none where
 * WebDataset gives it none. */
#include "base/alloc.h"
#include "base/rng.h"
#include "check.h"
#include "tar/key.h"

#include <regex.h>
#include <stdbool.h>

/* In memory of just its size, so that nobody looks beside it unseen. */
static size_t key_length(const char *name, size_t n)
{
	sfs_autofree char *exact = sfs_malloc(n ? n : 1);

	memcpy(exact, name, n);
	return sfs_key_length(exact, n);
}

static void check(const char *name, const char *wanted)
{
	size_t n = key_length(name, strlen(name));

	if (n != strlen(wanted) || strncmp(name, wanted, n) != 0) {
		fprintf(stderr, "'%s': the key is '%.*s', not '%s'\n", name, (int)n, name,
			wanted);
		exit(1);
	}
}

/* What Python's re says; each was tried with WebDataset 1.0.2. */
static void known(void)
{
	check("a.jpg", "a");
	check("a.seg.PNG", "a");
	check("a.", "a");
	check("dir/a.jpg", "dir/a");
	check("./a.jpg", "./a");
	check("../a.jpg", "../a");
	check("/a.jpg", "/a");
	check("a.b/c.jpg", "a.b/c");
	check("a.b/c.d/e.f.g", "a.b/c.d/e");
	check("dir.ext/a", "");
	check("a b\t.jpg", "a b\t");
	check("t\xc3\xbcr.jpg", "t\xc3\xbcr");
	check("\xff\xfe.jpg", "\xff\xfe");

	/* No dot, nothing before it, nothing but it. */
	check("", "");
	check(".", "");
	check("..", "");
	check("/", "");
	check("README", "");
	check("dir/README", "");
	check(".hidden", "");
	check(".hidden.jpg", "");
	check("..jpg", "");
	check("a..jpg", "a");

	/* A key may end in a slash, if the folders have no dot after their last slash
	 * but one. */
	check("a/.hidden.jpg", "a/");
	check("/.jpg", "/");
	check("//.jpg", "//");
	check("a/b/.x", "a/b/");
	check("a.b/.x.jpg", "");
	check("a.b/c/.x.jpg", "a.b/c/");
	check("./.x.jpg", "");
	check("./a/.x.jpg", "./a/");

	/* A slash at the end: the last component is empty. */
	check("a.jpg/", "");
	check("a/b.c/", "");
}

static void meta(void)
{
	check("__meta__", "");
	check("__meta__/a.jpg", "");
	check("__meta__/b/c.jpg", "");
	check("____", "");
	check("____/a.b", "");
	check("__x__/a.b", "");
	check("___/a.b", "___/a"); /* three are not two and two */
	check("__/a.b", "__/a");
	check("__x_/a.b", "__x_/a");
	check("_x__/a.b", "_x__/a");
	check("__x__y/a.b", "__x__y/a");
	check("__x__.jpg", "__x__");
	check("__a.b__", ""); /* this does */
	check("__a.__", "");
	check("d/__x__/a.b", "d/__x__/a");
	check("d/__x__.jpg", "d/__x__");
	check("__a.b__/c.d", "");
	check("__x__/", "");
}

/* "." of a regular expression is no newline, "$" may stand before the last one. */
static void newlines(void)
{
	check("a\nb.jpg", "a\nb");
	check("a\n/b.jpg", "a\n/b");
	check("a.b\n/c.jpg", "");
	check("a.b/\nc.jpg", "a.b/\nc");
	check("\na.jpg", "\na");
	check("a.jpg\n", "a");
	check("__a.b__\n", "");
	check("__x__\n", "");
}

/* ---- the expressions themselves, by the C library ---- */

static regex_t rule, meta_rule;

static size_t by_regex(const char *name)
{
	regmatch_t m[3];
	size_t n = strlen(name);

	if (regexec(&rule, name, SFS_COUNT(m), m, 0) != 0 ||
	    regexec(&meta_rule, name, 0, NULL, 0) == 0)
		return 0;
	if (!strchr(name, '/') && n >= 2 && memcmp(name, "__", 2) == 0 &&
	    memcmp(name + n - 2, "__", 2) == 0)
		return 0;
	return (size_t)m[1].rm_eo;
}

static void random_names(void)
{
	static const char *const parts[] = {"a", "B",  ".", ".",  "/",
					    "/", "__", "_", "..", "./"};
	struct sfs_rng r = {3};
	int round, n_keys = 0;
	char name[64];
	size_t k, got, wanted;

	CHECK_EQ(regcomp(&rule, "^((.*/|)[^.]+)[.]([^/]*)$", REG_EXTENDED), 0);
	CHECK_EQ(regcomp(&meta_rule, "^__[^/]*__($|/)", REG_EXTENDED), 0);
	for (round = 0; round < 20000; round++) {
		name[0] = 0;
		for (k = sfs_rng_below(&r, 12); k > 0; k--)
			strcat(name, parts[sfs_rng_below(&r, SFS_COUNT(parts))]);
		got = key_length(name, strlen(name));
		wanted = by_regex(name);
		if (got != wanted) {
			fprintf(stderr, "'%s': %zu bytes of key, not %zu\n", name, got,
				wanted);
			exit(1);
		}
		n_keys += wanted > 0;
	}
	CHECK(n_keys > 2000);
	regfree(&rule);
	regfree(&meta_rule);
}

int main(void)
{
	known();
	meta();
	newlines();
	random_names();
	return 0;
}
