/* SPDX-License-Identifier: MIT */
/* Whatever bytes a name has, its JSON string is valid UTF-8 between two quotes. */
#include "base/alloc.h"
#include "base/rng.h"
#include "base/strbuf.h"
#include "check.h"

#include <stdbool.h>

#define FFFD "\xef\xbf\xbd"

static void is(const char *s, const char *wanted)
{
	struct sfs_strbuf t = {0};

	/* In memory of just its size, so that sanitizers see every read
	 * beyond its end. */
	sfs_autofree char *exact = sfs_strdup(s);

	sfs_strbuf_json(&t, exact);
	CHECK_STR(t.s, wanted);
	CHECK_EQ(t.n, strlen(wanted));
	sfs_strbuf_done(&t);
}

static void known_strings(void)
{
	is("", "\"\"");
	is("train-000000.tar", "\"train-000000.tar\"");
	is("a\"b\\c/", "\"a\\\"b\\\\c/\"");
	is("\n\r\t\x1b[2J\x7f\x01", "\"\\u000a\\u000d\\u0009\\u001b[2J\\u007f\\u0001\"");
	is("\xc3\xbc \xe2\x82\xac \xf0\x9f\x98\x80",
	   "\"\xc3\xbc \xe2\x82\xac \xf0\x9f\x98\x80\"");
	is("\xed\x9f\xbf\xee\x80\x80", "\"\xed\x9f\xbf\xee\x80\x80\"");
	is("\xf4\x8f\xbf\xbf", "\"\xf4\x8f\xbf\xbf\"");
}

static void not_utf8(void)
{
	is("\xff", "\"" FFFD "\"");
	is("a\x80z", "\"a" FFFD "z\"");
	is("\xc0\xaf", "\"" FFFD FFFD "\"");		       /* '/' written too long */
	is("\xe0\x80\xaf", "\"" FFFD FFFD FFFD "\"");	       /* likewise */
	is("\xed\xa0\x80", "\"" FFFD FFFD FFFD "\"");	       /* a surrogate */
	is("\xf4\x90\x80\x80", "\"" FFFD FFFD FFFD FFFD "\""); /* behind U+10FFFF */
	is("\xf5\x80\x80\x80", "\"" FFFD FFFD FFFD FFFD "\"");
	/* Cut off at the end. */
	is("\xc3", "\"" FFFD "\"");
	is("\xe2\x82", "\"" FFFD FFFD "\"");
	is("\xf0\x9f\x98", "\"" FFFD FFFD FFFD "\"");
	/* What follows a broken one is not swallowed. */
	is("\xc3\"", "\"" FFFD "\\\"\"");
	is("\xe2\x82\n", "\"" FFFD FFFD "\\u000a\"");
}

/* A judge of its own: code point by code point, with the shortest form required. */
static bool is_valid_json_string(const char *s)
{
	static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *p = (const unsigned char *)s;
	unsigned c, n, i;

	if (*p++ != '"')
		return false;
	while (*p != '"') {
		if (*p < 0x20)
			return false;
		if (*p == '\\') {
			if (p[1] == 'u') {
				if (strspn((const char *)p + 2, "0123456789abcdef") < 4)
					return false;
				p += 6;
			} else if (p[1] == '"' || p[1] == '\\') {
				p += 2;
			} else {
				return false;
			}
			continue;
		}
		n = *p < 0x80 ? 1 : *p < 0xc0 ? 0 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : 4;
		if (n == 0 || *p >= 0xf8)
			return false;
		c = n == 1 ? *p : *p & (0x7fu >> n);
		for (i = 1; i < n; i++) {
			if (p[i] >> 6 != 2)
				return false;
			c = c << 6 | (p[i] & 0x3f);
		}
		if ((n > 1 && c < least[n]) || c > 0x10ffff ||
		    (c >= 0xd800 && c < 0xe000))
			return false;
		p += n;
	}
	return p[1] == 0;
}

static void random_bytes(void)
{
	static const unsigned char edges[] = {0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0,
					      0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0,
					      0xed, 0xef, 0xf0, 0xf4, 0xf5, 0xff,
					      '"',  '\\', '\n', 'a'};
	struct sfs_rng r = {1};
	char name[20];
	size_t n, i;
	int round;

	for (round = 0; round < 20000; round++) {
		n = sfs_rng_below(&r, sizeof name);
		for (i = 0; i < n; i++)
			name[i] = round % 2
					  ? (char)(1 + sfs_rng_below(&r, 255))
					  : (char)edges[sfs_rng_below(&r, sizeof edges)];
		name[n] = 0;

		struct sfs_strbuf t = {0};
		sfs_autofree char *exact = sfs_strdup(name);

		sfs_strbuf_json(&t, exact);
		CHECK_EQ(strlen(t.s), t.n);
		CHECK(is_valid_json_string(t.s));
		sfs_strbuf_done(&t);
	}
}

int main(void)
{
	known_strings();
	not_utf8();
	random_bytes();
	return 0;
}
