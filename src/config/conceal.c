/* SPDX-License-Identifier: MIT */
/* How this works: a word cannot get longer, so what is to be shown is cut where the word
 * ends, and the rest of a longer word becomes NULs, which ps shows as blanks. */
#include "config/conceal.h"

#include "base/alloc.h"
#include "base/strbuf.h"
#include "config/options.h"
#include "source/uri.h"

#include <stdbool.h>
#include <string.h>

static void overwrite(char *word, const char *shown)
{
	size_t n = strlen(word), n_shown = strlen(shown),
	       n_kept = n_shown < n ? n_shown : n;

	memcpy(word, shown, n_kept);
	explicit_bzero(word + n_kept, n - n_kept);
}

/* Add the value of an option as it may be seen. */
static void add_value(struct sfs_strbuf *text, const char *name, const char *value)
{
	sfs_autofree char *shown = NULL;

	if (strcmp(name, "header") == 0 && *value != '@')
		sfs_strbuf_printf(text, "%.*s: ***", (int)strcspn(value, ":"), value);
	else if (sfs_options_is_hidden(name))
		sfs_strbuf_puts(text, "(set)");
	else
		shown = sfs_uri_redact(value);
	if (shown)
		sfs_strbuf_puts(text, shown);
}

/* Add "name=value". */
static void add_item(struct sfs_strbuf *text, const char *item)
{
	const char *equals = strchr(item, '=');
	sfs_autofree char *name =
		equals ? sfs_strndup(item, (size_t)(equals - item)) : NULL;

	if (!equals) {
		sfs_strbuf_puts(text, item);
		return;
	}
	sfs_strbuf_printf(text, "%s=", name);
	add_value(text, name, equals + 1);
}

/* The length of the item at the start of a list: up to a comma without a backslash. */
static size_t item_length(const char *list)
{
	size_t n = 0;

	while (list[n] && list[n] != ',')
		n += list[n] == '\\' && list[n + 1] ? 2 : 1;
	return n;
}

static void conceal_list(char *list)
{
	struct sfs_strbuf text = {0};
	const char *p = list;
	size_t n;

	for (; *p; p += n) {
		n = item_length(p);
		sfs_autofree char *item = sfs_strndup(p, n);

		add_item(&text, item);
		if (p[n] == ',')
			sfs_strbuf_puts(&text, ",");
		n += p[n] == ',';
	}
	overwrite(list, text.s ? text.s : "");
	sfs_strbuf_done(&text);
}

/* "--name=value" */
static void conceal_long(char *word)
{
	struct sfs_strbuf text = {0};

	add_item(&text, word + 2);
	overwrite(word + 2, text.s);
	sfs_strbuf_done(&text);
}

static void conceal_value(const char *name, char *value)
{
	struct sfs_strbuf text = {0};

	sfs_strbuf_puts(&text, "");
	add_value(&text, name, value);
	overwrite(value, text.s);
	sfs_strbuf_done(&text);
}

static void conceal_word(char *word)
{
	sfs_autofree char *shown = sfs_uri_redact(word);

	overwrite(word, shown);
}

void sfs_conceal_args(int argc, char **argv, int first)
{
	bool is_over = false; /* after "--" */
	struct sfs_error ignored;
	int i;

	for (i = first; i < argc; i++) {
		if (is_over || argv[i][0] != '-') {
			conceal_word(argv[i]);
		} else if (strcmp(argv[i], "--") == 0) {
			is_over = true;
		} else if (strcmp(argv[i], "-o") == 0 && i + 1 < argc) {
			conceal_list(argv[++i]);
		} else if (strncmp(argv[i], "-o", 2) == 0) {
			conceal_list(argv[i] + 2);
		} else if (strncmp(argv[i], "--", 2) != 0) {
			continue;
		} else if (strchr(argv[i], '=')) {
			conceal_long(argv[i]);
		} else if (i + 1 < argc &&
			   sfs_options_has_argument(argv[i] + 2, &ignored) > 0) {
			conceal_value(argv[i] + 2, argv[i + 1]);
			i++;
		}
	}
}
