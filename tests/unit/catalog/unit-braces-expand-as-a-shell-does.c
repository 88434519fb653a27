/* SPDX-License-Identifier: MIT */
/* Braces give the names that bash gives, in its order; what bash would leave as it is
 * for want of a range or a list is an error. */
#include "base/alloc.h"
#include "catalog/braces.h"
#include "check.h"

#include <errno.h>

/* In memory of just its size, so that sanitizers see every read beyond its end. */
static int expand(const char *spec, char ***ret_names, size_t *ret_n,
		  struct sfs_error *err)
{
	sfs_autofree char *exact = sfs_strdup(spec);

	return sfs_braces_expand(exact, ret_names, ret_n, err);
}

/* All names with a blank after each; "!" and the sentence if it is refused. */
static void check(const char *spec, const char *wanted)
{
	struct sfs_error err = {0};
	char got[4096] = "", **names;
	size_t n, i;

	if (expand(spec, &names, &n, &err) < 0) {
		fprintf(stderr, "'%s' is refused: %s\n", spec, err.text);
		exit(1);
	}
	for (i = 0; i < n; i++) {
		CHECK(strlen(got) + strlen(names[i]) + 2 < sizeof got);
		strcat(strcat(got, names[i]), " ");
	}
	sfs_braces_free(names, n);
	if (strcmp(got, wanted) != 0) {
		fprintf(stderr, "'%s' gives '%s', not '%s'\n", spec, got, wanted);
		exit(1);
	}
}

static void plain(void)
{
	check("a/b c.tar", "a/b c.tar ");
	check("", " ");
	check("https://host/x?y=1,2", "https://host/x?y=1,2 ");
}

static void numbers(void)
{
	check("x-{000000..000003}.tar",
	      "x-000000.tar x-000001.tar x-000002.tar x-000003.tar ");
	check("{0..3}", "0 1 2 3 ");
	check("{7..7}", "7 ");
	check("{3..1}", "3 2 1 ");
	check("{9..11}", "9 10 11 ");
	check("{09..11}", "09 10 11 ");
	check("{9..011}", "009 010 011 ");
	check("{08..10}", "08 09 10 "); /* not octal */
	check("{-1..1}", "-1 0 1 ");
	check("{-01..1}", "-01 000 001 ");
	check("{1..-1}", "1 0 -1 ");
	check("{-0..1}", "0 1 ");
	check("{0..00}", "00 ");
	check("{+1..3}", "1 2 3 ");
	check("{999999999999999998..999999999999999999}",
	      "999999999999999998 999999999999999999 ");
}

static void steps(void)
{
	check("{0..10..5}", "0 5 10 ");
	check("{0..9..5}", "0 5 ");
	check("{00..10..5}", "00 05 10 ");
	check("{0..2..3}", "0 ");
	check("{5..1..2}", "5 3 1 ");
	check("{1..5..-2}", "1 3 5 ");
	check("{5..1..-2}", "5 3 1 ");
	check("{1..3..0}", "1 2 3 ");
	check("{0..1..999999999999999999}", "0 ");
	check("{-999999999999999999..999999999999999999..999999999999999999}",
	      "-999999999999999999 0 999999999999999999 ");
}

static void letters(void)
{
	check("{a..e}", "a b c d e ");
	check("{e..a..2}", "e c a ");
	check("{X..Z}", "X Y Z ");
	check("{z..z}", "z ");
	check("shard-{a..b}{0..1}", "shard-a0 shard-a1 shard-b0 shard-b1 ");
}

static void lists(void)
{
	check("{a,b,c}", "a b c ");
	check("x{,-new}.tar", "x.tar x-new.tar ");
	check("{,}", "  ");
	check("{b,a,b}", "b a b ");
	check("{a..c,x}", "a..c x ");
	check("{1..2,5}", "1..2 5 ");
	check("{a,{b,c}}", "a b c ");
	check("{{a,b},{c,d}}-{1,2}", "a-1 a-2 b-1 b-2 c-1 c-2 d-1 d-2 ");
	check("{{0..2},9}", "0 1 2 9 ");
	check("{train/{0..1},test/{0..0}}.tar", "train/0.tar train/1.tar test/0.tar ");
	check("{https://a/x,/b}/{0..1}.tar",
	      "https://a/x/0.tar https://a/x/1.tar /b/0.tar /b/1.tar ");
}

static void protected(void)
{
	check("\\{a,b\\}", "{a,b} ");
	check("{a\\,b,c}", "a,b c ");
	check("{\\{,\\}}", "{ } ");
	check("a\\\\b", "a\\b ");
	check("a\\b", "a\\b "); /* of no meaning: kept, as in Windows paths */
	check("a\\", "a\\ ");
	check("{x\\},y}", "x} y ");
}

static void refused(const char *spec, const char *words)
{
	char **names = (char **)1;
	struct sfs_error err = {0};
	size_t n = 77;

	CHECK_EQ(expand(spec, &names, &n, &err), -EINVAL);
	CHECK_HAS(err.text, words);
	CHECK(names == (char **)1 && n == 77);
	CHECK_EQ(expand(spec, &names, &n, NULL), -EINVAL);
}

static void bad_ones(void)
{
	static const char *const no_range[] = {
		"{}",
		"{a}",
		"x{ab}y",
		"{0..x}",
		"{x..0}",
		"{0..}",
		"{..9}",
		"{..}",
		"{0...9}",
		"{0.9}",
		"{0..9..}",
		"{0..9..x}",
		"{0..9..1..1}",
		"{a..bc}",
		"{0x1..0x3}",
		"{1.5..2}",
		"{--1..2}",
		"{ 1..2}",
		"{0..9999999999999999999}",
		"{a,{b}}",
		"{{b},a}",
	};
	size_t i;

	for (i = 0; i < SFS_COUNT(no_range); i++)
		refused(no_range[i], "is neither a range");
	refused("x-{0..9.tar", "'{' without '}'");
	refused("{a,{b,c}", "'{' without '}'");
	refused("{a,b\\}", "'{' without '}'");
	refused("{", "'{' without '}'");
	refused("x-0..9}.tar", "'}' without '{'");
	refused("{0..9}}", "'}' without '{'");
	refused("}", "'}' without '{'");
}

/* A list of one list of one list ... */
static void nested(int depth)
{
	char spec[400] = "", wanted[400] = "";
	int i;

	for (i = 0; i < depth; i++)
		strcat(spec, "{");
	strcat(spec, "x");
	for (i = 0; i < depth; i++)
		strcat(spec, ",y}");
	strcat(wanted, "x ");
	for (i = 0; i < depth; i++)
		strcat(wanted, "y ");
	check(spec, wanted);
}

static void limits(void)
{
	char deep[20001];
	char **names;
	size_t n;

	nested(10);
	nested(30);
	memset(deep, '{', 10000);
	memset(deep + 10000, '}', 10000);
	deep[20000] = 0;
	CHECK_EQ(expand(deep, &names, &n, NULL), -EINVAL);
	memcpy(deep + 10000, "a,b", 3);
	CHECK_EQ(expand(deep, &names, &n, NULL), -EINVAL);

	CHECK_EQ(expand("{0..9}{0..9}{0..9}{0..9}", &names, &n, NULL), 0);
	CHECK_EQ(n, 10000);
	CHECK_STR(names[0], "0000");
	CHECK_STR(names[1234], "1234");
	CHECK_STR(names[9999], "9999");
	sfs_braces_free(names, n);
}

/* Ten million and one: 600 MB for a moment, more than a sanitizer should see. */
static void too_many(void)
{
#ifndef __SANITIZE_ADDRESS__
	char **names = (char **)1;
	struct sfs_error err = {0};
	size_t n = 77;

	CHECK_EQ(expand("{0..10000000}", &names, &n, &err), -E2BIG);
	CHECK_HAS(err.text, "more than 10000000 names");
	CHECK(names == (char **)1 && n == 77);
#endif
}

/* bash pads to a leading zero only without a plus. */
static void plus(void)
{
	check("{+1..+3}", "1 2 3 ");
	check("{+1..+03}", "1 2 3 ");
}

int main(void)
{
	plain();
	numbers();
	steps();
	letters();
	lists();
	protected();
	bad_ones();
	limits();
	too_many();
	plus();
	return 0;
}
