/* SPDX-License-Identifier: MIT */
/* A value of a JSON object is found by the names that lead to it, also in a text that is cut off
 * behind it; what is no string and no number is no text. */
#include "base/alloc.h"
#include "base/json-find.h"
#include "check.h"

/* wanted NULL: there is none. */
static void at(const char *text, const char *path, bool is_whole, const char *wanted)
{
	/* In memory of just its size, so that sanitizers see every read beyond its end. */
	size_t n = strlen(text);
	sfs_autofree char *exact = sfs_malloc(n ? n : 1), *value = NULL;

	memcpy(exact, text, n);
	value = sfs_json_find(exact, n, path, is_whole);
	if (wanted)
		CHECK_STR(value, wanted);
	else
		CHECK(!value);
}

static void both(const char *text, const char *path, const char *wanted)
{
	at(text, path, false, wanted);
	at(text, path, true, wanted);
}

static void token_at(const char *text, const char *path, enum sfs_json_token wanted)
{
	struct sfs_json json;

	sfs_json_init(&json, text, strlen(text));
	CHECK_EQ(sfs_json_seek(&json, path), wanted);
	sfs_json_done(&json);
}

int main(void)
{
	both("{\"a\": \"x\\u0041\", \"b\": 12}", "a", "xA");
	both("{\"a\": \"x\", \"b\": -1.5e3}", "b", "-1.5e3");
	both("{\"a\": {\"b\": {\"c\": \"deep\"}}, \"b\": 1}", "a.b.c", "deep");
	both("{\"a\": {\"b\": 1, \"x\": []}, \"b\": \"top\"}", "b", "top");
	both("{\"a\": [{\"b\": 1}]}", "a.b", NULL);
	both("{\"a\": \"x\"}", "a.b", NULL);
	both("{\"a\": {\"b\": 1}}", "a", "");
	both("{\"a\": null}", "a", "");
	both("{\"a\": \"\"}", "a", "");
	both("{\"a\": \"x\\u0000y\"}", "a", "");
	both("{\"a\": 1, \"a\": 2}", "a", "2");
	both("{\"a\": {\"b\": 1}, \"a\": {\"b\": 2}}", "a.b", "2");
	both("{\"\": {\"b\": 1}}", "b", NULL);
	both("{}", "a", NULL);
	both("[\"a\"]", "a", NULL);
	both("\"a\"", "a", NULL);
	both("", "a", NULL);
	both("{\"ab\": 1}", "a", NULL);
	both("{\"a\": 1}", "ab", NULL);

	/* It ends, or goes on, where it should not. */
	at("{\"a\": \"x\", \"b\": \"y", "a", false, "x");
	at("{\"a\": \"x\", \"b\": \"y", "a", true, NULL);
	at("{\"a\": \"x\", \"b\": \"y", "b", false, NULL);
	at("{\"a\": {\"b\": 1", "a.b", false, "1");
	at("{\"a\": {\"b\": 1", "a.b", true, NULL);
	at("{\"a\": \"x\"} y", "a", true, NULL);
	at("{\"a\": \"x\"} y", "a", false, "x");
	at("{\"a\" \"x\"}", "a", false, NULL);

	token_at("{\"x\": [1, {}], \"a\": {\"b\": {}}}", "a.b", SFS_JSON_OBJECT);
	token_at("{\"a\": [1]}", "a", SFS_JSON_ARRAY);
	token_at("{\"a\": true}", "a", SFS_JSON_TRUE);
	token_at("{\"a\": {}}", "a.b", SFS_JSON_BAD);
	token_at("{\"a\": [1, ", "b", SFS_JSON_BAD);
	token_at("[]", "a", SFS_JSON_BAD);
	return 0;
}
