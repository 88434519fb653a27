/* SPDX-License-Identifier: MIT */
/* What RFC 8259 calls JSON is read as it was meant; all else is refused, and the error
 * has the line. */
#include "base/alloc.h"
#include "base/json.h"
#include "check.h"

#include <errno.h>

/* The tokens of a text: one character each, strings and numbers written out. */
static void tell(struct sfs_strbuf *t, const char *text, size_t n, struct sfs_error *err)
{
	static const char marks[] = "!.{}[]K$#tf0";
	struct sfs_json json;
	enum sfs_json_token token;
	/* In memory of just its size, so that sanitizers see every read
	 * beyond its end. */
	sfs_autofree char *exact = sfs_malloc(n ? n : 1);

	memcpy(exact, text, n);
	sfs_json_init(&json, exact, n);
	do {
		token = sfs_json_next(&json);
		if (token == SFS_JSON_KEY || token == SFS_JSON_STRING) {
			sfs_strbuf_json(t, json.text.s);
			sfs_strbuf_puts(t, token == SFS_JSON_KEY ? ":" : " ");
		} else if (token == SFS_JSON_NUMBER) {
			sfs_strbuf_printf(t, "%s ", json.text.s);
		} else {
			sfs_strbuf_add(t, &marks[token], 1);
		}
	} while (token > SFS_JSON_END);
	CHECK_EQ(sfs_json_next(&json), token); /* and so it stays */
	*err = json.error;
	sfs_json_done(&json);
}

static void is(const char *text, const char *wanted)
{
	struct sfs_strbuf t = {0};
	struct sfs_error err;

	tell(&t, text, strlen(text), &err);
	if (strcmp(t.s, wanted) != 0)
		fprintf(stderr, "%s\n", text);
	CHECK_STR(t.s, wanted);
	CHECK_STR(err.text, "");
	sfs_strbuf_done(&t);
}

static void is_refused(const char *text, const char *why)
{
	struct sfs_strbuf t = {0};
	struct sfs_error err;

	tell(&t, text, strlen(text), &err);
	if (t.s[t.n - 1] != '!')
		fprintf(stderr, "taken: %s\n", text);
	CHECK_EQ(t.s[t.n - 1], '!');
	CHECK_HAS(err.text, why);
	sfs_strbuf_done(&t);
}

static void values(void)
{
	is("{}", "{}.");
	is(" [ ] \r\n\t", "[].");
	is("[1,[],{\"a\":{}}]", "[1 []{\"a\":{}}].");
	is("true", "t.");
	is("[true,false,null]", "[tf0].");
	is("\"\"", "\"\" .");
	is("{\"a\" : 1 , \"a\":\"b\"}", "{\"a\":1 \"a\":\"b\" }.");
	is("[0,-0,10,-1.50,1e5,0E-07,1.0e+2]", "[0 -0 10 -1.50 1e5 0E-07 1.0e+2 ].");
}

static void strings(void)
{
	is("\"\\\"\\\\\\/a\"", "\"\\\"\\\\/a\" .");
	is("\"\\b\\f\\n\\r\\t\"", "\"\\u0008\\u000c\\u000a\\u000d\\u0009\" .");
	is("\"t\\u00fcr \\u20AC \\ud83d\\uDE00\"",
	   "\"t\xc3\xbcr \xe2\x82\xac \xf0\x9f\x98\x80\" .");
	is("\"\xc3\xbc\xf4\x8f\xbf\xbf\x7f\"", "\"\xc3\xbc\xf4\x8f\xbf\xbf\\u007f\" .");
	is("\"\\ufffd\\u0041\\u0800\\u07ff\"", "\"\xef\xbf\xbd"
					       "A\xe0\xa0\x80\xdf\xbf\" .");
	is("{\"\\u0061\":\"\"}", "{\"a\":\"\" }.");

	is_refused("\"", "a string has no end");
	is_refused("\"a", "a string has no end");
	is_refused("\"a\\", "a string has no end");
	is_refused("\"a\nb\"", "a control character");
	is_refused("\"\\x41\"", "an escape");
	is_refused("\"\\u00g0\"", "four hexadecimal digits");
	is_refused("\"\\u00", "four hexadecimal digits");
	is_refused("\"\\ud83d\"", "half of a surrogate pair");
	is_refused("\"\\ud83d\\", "half of a surrogate pair");
	is_refused("\"\\ud83d\\u0041\"", "half of a surrogate pair");
	is_refused("\"\\ude00\"", "half of a surrogate pair");
	is_refused("\"\xff\"", "not UTF-8");
	is_refused("\"\xc3", "not UTF-8");
	is_refused("\"\xed\xa0\x80\"", "not UTF-8");
}

static void not_json(void)
{
	is_refused("", "line 1: it ends too early");
	is_refused("\n\n ", "line 3: it ends too early");
	is_refused("{} {}", "something follows");
	is_refused("{},", "something follows");
	is_refused("{", "it ends too early");
	is_refused("[1", "it ends too early");
	is_refused("[1,", "it ends too early");
	is_refused("[1,]", "not a value");
	is_refused("[,1]", "not a value");
	is_refused("[1 2]", "a comma or a closing bracket");
	is_refused("[1}", "a comma or a closing bracket");
	is_refused("[}", "not a value");
	is_refused("]", "not a value");
	is_refused("{\"a\":1,}", "a name in quotes");
	is_refused("{\"a\"}", "a colon");
	is_refused("{\"a\":}", "not a value");
	is_refused("{\"a\":", "it ends too early");
	is_refused("{\"a\" 1}", "a colon");
	is_refused("{1:2}", "a name in quotes");
	is_refused("{]", "a name in quotes");
	is_refused("{'a':1}", "a name in quotes");
	is_refused("nul", "not a value");
	is_refused("nulls", "something follows");
	is_refused("NaN", "not a value");
	is_refused("\xef\xbb\xbf{}", "not a value");
	is_refused("[1] // one", "something follows");
	is_refused("01", "something follows");
	is_refused("+1", "not a value");
	is_refused("-", "not a number");
	is_refused("1.", "not a number");
	is_refused(".5", "not a value");
	is_refused("1e", "not a number");
	is_refused("-a", "not a number");
	is_refused("{\n\"a\": 1\n\"b\": 2}", "line 3: expected a comma");
}

static void nesting(void)
{
	struct sfs_strbuf text = {0}, t = {0};
	struct sfs_error err;
	int i;

	for (i = 0; i < SFS_JSON_DEPTH; i++)
		sfs_strbuf_puts(&text, i % 3 ? "[" : "{\"a\":");
	for (i = SFS_JSON_DEPTH - 1; i >= 0; i--)
		sfs_strbuf_puts(&text, i % 3			 ? "]"
				       : i == SFS_JSON_DEPTH - 1 ? "1}"
								 : "}");
	tell(&t, text.s, text.n, &err);
	CHECK_EQ(t.s[t.n - 1], '.');
	sfs_strbuf_done(&t);
	sfs_strbuf_done(&text);

	for (i = 0; i <= SFS_JSON_DEPTH; i++)
		sfs_strbuf_puts(&text, "[");
	tell(&t, text.s, text.n, &err);
	CHECK_HAS(err.text, "too deeply nested");
	sfs_strbuf_done(&t);
	sfs_strbuf_done(&text);
}

static void numbers_and_nuls(void)
{
	static const struct {
		const char *text;
		bool fits;
		uint64_t value;
	} cases[] = {
		{"0", true, 0},	   {"18446744073709551615", true, UINT64_MAX},
		{"1.0", false, 0}, {"18446744073709551616", false, 0},
		{"-1", false, 0},  {"99999999999999999999999", false, 0},
		{"1e3", false, 0},
	};
	struct sfs_json json;
	uint64_t v;
	size_t i;

	for (i = 0; i < SFS_COUNT(cases); i++) {
		v = 7;
		sfs_json_init(&json, cases[i].text, strlen(cases[i].text));
		CHECK_EQ(sfs_json_next(&json), SFS_JSON_NUMBER);
		CHECK_EQ(sfs_json_uint(&json, &v), cases[i].fits);
		CHECK(v == (cases[i].fits ? cases[i].value : 7));
		sfs_json_done(&json);
	}
	sfs_json_init(&json, "\"a\\u0000b\"", 10);
	CHECK_EQ(sfs_json_next(&json), SFS_JSON_STRING);
	CHECK_EQ(json.text.n, 3);
	CHECK(!sfs_json_is(&json, "a"));
	CHECK(!sfs_json_uint(&json, &v));
	sfs_json_done(&json);
}

static void skipping(void)
{
	static const char text[] =
		"{\"a\": {\"x\": [1, {\"y\": []}]}, \"b\": [[]], \"c\": 1,\n"
		"\"d\": \"e\"}";
	struct sfs_error err;
	struct sfs_json json;

	sfs_json_init(&json, text, strlen(text));
	CHECK_EQ(sfs_json_next(&json), SFS_JSON_OBJECT);
	CHECK(sfs_json_skip(&json, sfs_json_next(&json))); /* a name and its value */
	CHECK_EQ(sfs_json_next(&json), SFS_JSON_KEY);
	CHECK(sfs_json_is(&json, "b"));
	CHECK(sfs_json_skip(&json, sfs_json_next(&json)));
	CHECK(sfs_json_skip(&json, sfs_json_next(&json)));
	CHECK_EQ(sfs_json_next(&json), SFS_JSON_KEY);
	CHECK(sfs_json_is(&json, "d"));
	CHECK_EQ(sfs_json_refuse(&json, &err, "'%s' is not meant", json.text.s),
		 -EBADMSG);
	CHECK_STR(err.text, "line 2: 'd' is not meant");
	CHECK(sfs_json_skip(&json, SFS_JSON_KEY));
	CHECK_EQ(sfs_json_next(&json), SFS_JSON_OBJECT_END);
	CHECK_EQ(sfs_json_next(&json), SFS_JSON_END);
	sfs_json_done(&json);

	sfs_json_init(&json, "[[[", 3);
	CHECK(!sfs_json_skip(&json, sfs_json_next(&json)));
	CHECK_EQ(sfs_json_refuse(&json, &err, "not told"), -EBADMSG);
	CHECK_STR(err.text, "line 1: it ends too early");
	sfs_json_done(&json);
}

int main(void)
{
	values();
	strings();
	not_json();
	nesting();
	numbers_and_nuls();
	skipping();
	return 0;
}
