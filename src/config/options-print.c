/* SPDX-License-Identifier: MIT */
/* Prints options: the values for .shufflefs/config, the table for --help
 * and the manual. */
#include "config/options-internal.h"

#include "base/alloc.h"
#include "config/help-text.h"
#include "order/order.h"
#include "source/uri.h"

#include <string.h>

static const char *const group_titles[N_GROUPS] = {"The order of samples", "Sources",
						   "Mounts and memory"};

static void print_choice(const char *choices, uint64_t i, struct sfs_strbuf *text)
{
	while (i-- > 0)
		choices += strcspn(choices, "|") + 1;
	sfs_strbuf_add(text, choices, strcspn(choices, "|"));
}

/* That of a proxy may lack its scheme, and a command may have a password among its
 * words. */
bool sfs_options_is_hidden(const char *name)
{
	return strcmp(name, "proxy") == 0 || strcmp(name, "header-command") == 0 ||
	       strcmp(name, "bearer-token-command") == 0;
}

/* A URL may contain a password. */
static void print_string(const struct sfs_option_row *row, const char *value,
			 struct sfs_strbuf *text)
{
	sfs_autofree char *shown = NULL;

	if (sfs_options_is_hidden(row->name))
		shown = sfs_strdup("(set)");
	else if (sfs_uri_has_scheme(value))
		shown = sfs_uri_redact(value);
	sfs_strbuf_puts(text, shown ? shown : value);
}

void sfs_options_print_segment(uint64_t segment, struct sfs_strbuf *text)
{
	static const char units[] = " KMG";
	static const char *const names[] = {[SFS_SEGMENT_SHARD] = "shard",
					    [SFS_SEGMENT_SAMPLE] = "sample",
					    [SFS_SEGMENT_RANDOM] = "random"};
	int u = 0;

	if (segment < SFS_COUNT(names)) {
		sfs_strbuf_puts(text, names[segment]);
		return;
	}
	for (; segment % 1024 == 0 && u < 3; u++)
		segment /= 1024;
	sfs_strbuf_printf(text, "%llu%.*s", (unsigned long long)segment, u > 0,
			  &units[u]);
}

static void print_value(const struct sfs_options *o, const struct sfs_option_row *row,
			struct sfs_strbuf *text)
{
	uint64_t v = row->kind < STRING ? *sfs_option_number(o, row) : 0;
	const struct sfs_strings *list;
	char buf[32];
	int i;

	switch (row->kind) {
	case BUDGET:
	case SIZE: sfs_strbuf_puts(text, sfs_format_size(v, buf)); break;
	case TIME:
		sfs_strbuf_printf(text, v % 1000 ? "%llums" : "%llus",
				  (unsigned long long)(v % 1000 ? v : v / 1000));
		break;
	case SEGMENT: sfs_options_print_segment(v, text); break;
	case FLAG: sfs_strbuf_puts(text, v ? "yes" : "no"); break;
	case CHOICE: print_choice(row->argument, v, text); break;
	case OCTAL: sfs_strbuf_printf(text, "%03llo", (unsigned long long)v); break;
	case ID: sfs_strbuf_printf(text, "%lld", (long long)v); break;
	case IDENTITY:
	case PATH:
	case STRING:
		if (*sfs_option_string(o, row))
			print_string(row, *sfs_option_string(o, row), text);
		break;
	case LIST: /* values of headers are often secrets: print only names */
		list = sfs_option_list(o, row);
		for (i = 0; i < list->n; i++)
			sfs_strbuf_printf(text, "%s%.*s: ***", i ? ", " : "",
					  (int)strcspn(list->s[i], ":"), list->s[i]);
		break;
	default: sfs_strbuf_printf(text, "%llu", (unsigned long long)v);
	}
}

void sfs_options_print(const struct sfs_options *o, struct sfs_strbuf *text)
{
	struct sfs_strbuf line = {0};
	size_t i;

	for (i = 0; i < N_OPTIONS; i++) {
		sfs_strbuf_printf(&line, "%s = ", sfs_option_rows[i].name);
		print_value(o, &sfs_option_rows[i], &line);
		sfs_strbuf_printf(text, "%-40s # %s\n", line.s, o->origins[i]);
		sfs_strbuf_done(&line);
	}
}

#define HELP_COLUMN 37 /* where the help of an option begins */

static void help_plain(const struct sfs_option_row *row, struct sfs_strbuf *text)
{
	struct sfs_strbuf left = {0}, right = {0};

	sfs_strbuf_printf(&left, "  %s%s%s", row->name, *row->argument ? "=" : "",
			  row->argument);
	sfs_strbuf_add(&right, row->help, sfs_help_sentence(row->help));
	if (*row->initial && row->kind != FLAG && row->kind != ID)
		sfs_strbuf_printf(&right, " [%s]", row->initial);
	sfs_help_add_row(text, left.s, HELP_COLUMN, right.s);
	sfs_strbuf_done(&left);
	sfs_strbuf_done(&right);
}

static void help_mdoc(const struct sfs_option_row *row, struct sfs_strbuf *text)
{
	sfs_strbuf_printf(text, ".It Cm %s", row->name);
	if (*row->argument)
		sfs_strbuf_printf(text, " Ns = Ns Ar %s", row->argument);
	sfs_strbuf_puts(text, "\n");
	sfs_help_add_sentences(text, row->help);
	if (*row->initial && row->kind != FLAG && row->kind != ID)
		sfs_strbuf_printf(text, "The default is\n.Cm %s .\n", row->initial);
}

void sfs_options_help(struct sfs_strbuf *text, bool as_mdoc)
{
	size_t i;
	int g;

	for (g = 0; g < N_GROUPS; g++) {
		sfs_strbuf_printf(text,
				  as_mdoc ? ".Ss %s\n.Bl -tag -width Ds\n" : "\n%s:\n",
				  group_titles[g]);
		for (i = 0; i < N_OPTIONS; i++) {
			if ((int)sfs_option_rows[i].group != g)
				continue;
			if (as_mdoc)
				help_mdoc(&sfs_option_rows[i], text);
			else
				help_plain(&sfs_option_rows[i], text);
		}
		if (as_mdoc)
			sfs_strbuf_puts(text, ".El\n");
	}
}
