/* SPDX-License-Identifier: MIT */
/* A comma is between two values and nowhere else, whatever is nested; strings are
 * escaped. */
#include "base/json-writer.h"
#include "check.h"

int main(void)
{
	struct sfs_strbuf text = {0};
	struct sfs_json_writer w = {.text = &text};

	sfs_json_open(&w, NULL, '{');
	sfs_json_open(&w, "empty", '[');
	sfs_json_close(&w, ']');
	sfs_json_open(&w, "list", '[');
	sfs_json_put_uint(&w, NULL, UINT64_MAX);
	sfs_json_open(&w, NULL, '{');
	sfs_json_close(&w, '}');
	sfs_json_open(&w, NULL, '[');
	sfs_json_put_bool(&w, NULL, true);
	sfs_json_put_bool(&w, NULL, false);
	sfs_json_close(&w, ']');
	sfs_json_close(&w, ']');
	sfs_json_newline(&w);
	sfs_json_put_string(&w, "text", "a \"b\"\n\xff");
	sfs_json_put_string(&w, "none", NULL);
	sfs_json_put_double(&w, "x", 2, 1.005e3);
	sfs_json_close(&w, '}');
	CHECK_STR(text.s,
		  "{\"empty\":[],\"list\":[18446744073709551615,{},[true,false]],\n"
		  "\"text\":\"a \\\"b\\\"\\u000a\xef\xbf\xbd\",\"none\":null,"
		  "\"x\":1005.00}");
	sfs_strbuf_done(&text);
	return 0;
}
