/* SPDX-License-Identifier: MIT */
#include "config/help-text.h"

#include <stdbool.h>
#include <string.h>

#define WIDTH	   79 /* of a line of --help */
#define MDOC_WIDTH 78

size_t sfs_help_sentence(const char *words)
{
	const char *end = strstr(words, ". ");

	return end ? (size_t)(end - words) + 1 : strlen(words);
}

void sfs_help_add_row(struct sfs_strbuf *text, const char *left, size_t column,
		      const char *words)
{
	bool is_first = true;
	size_t at = strlen(left), n;

	sfs_strbuf_puts(text, left);
	for (; *words; words += n + (words[n] == ' ')) {
		n = strcspn(words, " ");
		if (at >= column && (is_first || at + 1 + n > WIDTH)) {
			sfs_strbuf_puts(text, "\n");
			at = 0;
		}
		if (at < column)
			sfs_strbuf_printf(text, "%*s", (int)(column - at), "");
		else
			sfs_strbuf_puts(text, " ");
		sfs_strbuf_add(text, words, n);
		at = (at < column ? column : at + 1) + n;
		is_first = false;
	}
	sfs_strbuf_puts(text, "\n");
}

void sfs_help_add_sentences(struct sfs_strbuf *text, const char *words)
{
	size_t column = 0, n;

	for (; *words; words += n + (words[n] == ' ')) {
		n = strcspn(words, " ");
		if (column > 0 && column + n > MDOC_WIDTH)
			column = 0, sfs_strbuf_puts(text, "\n");
		if (column > 0)
			sfs_strbuf_puts(text, " ");
		else if (words[0] == '.')
			sfs_strbuf_puts(text, "\\&"); /* no macro */
		sfs_strbuf_add(text, words, n);
		column += n + 1;
		if (words[n - 1] == '.')
			column = 0, sfs_strbuf_puts(text, "\n");
	}
	if (column > 0)
		sfs_strbuf_puts(text, "\n");
}
