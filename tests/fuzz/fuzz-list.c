/* SPDX-License-Identifier: MIT */
/* Lists of shards.  What is checked beyond "does not crash": a line that is given has no
 * blank at its ends, no newline and no NUL; there are no more than lines; and the lines
 * that were given make a list that gives them again. */
#include "fuzz.h"

#include "base/strbuf.h"
#include "catalog/shard-list.h"

#include <errno.h>

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Read the list, and write its lines to *ret_text.  Returns their number, or < 0. */
static int read_list(const void *bytes, size_t n, struct sfs_strbuf *ret_text)
{
	struct sfs_shard_list list;
	struct sfs_error err = {0};
	int ret, n_lines = 0;
	char *line;

	sfs_shard_list_init(&list, bytes, n);
	while ((ret = sfs_shard_list_next(&list, &line, &err)) > 0) {
		MUST(*line && *line != '#' && !strchr(line, '\n'));
		MUST(!is_blank(*line) && !is_blank(line[strlen(line) - 1]));
		n_lines++;
		MUST(list.n_lines >= (unsigned)n_lines);
		sfs_strbuf_printf(ret_text, "%s\n", line);
		free(line);
	}
	MUST(ret == 0 || (ret == -EBADMSG && err.text[0]));
	return ret < 0 ? ret : n_lines;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_data)
{
	struct sfs_strbuf text = {0}, again = {0};
	void *copy = fuzz_copy(data, n_data);
	int n = read_list(copy, n_data, &text);

	/* (A first line with a byte order mark of its own would lose that.) */
	if (n > 0 && strncmp(text.s, "\xef\xbb\xbf", 3) != 0) {
		MUST(read_list(text.s, text.n, &again) == n);
		MUST(again.n == text.n && memcmp(again.s, text.s, text.n) == 0);
	}
	sfs_strbuf_done(&text);
	sfs_strbuf_done(&again);
	free(copy);
	return 0;
}
