/* SPDX-License-Identifier: MIT */
#include "base/json-writer.h"

static void begin(struct sfs_json_writer *w, const char *name)
{
	if (w->needs_comma)
		sfs_strbuf_puts(w->text, ",");
	if (w->needs_newline)
		sfs_strbuf_puts(w->text, "\n");
	if (name)
		sfs_strbuf_printf(w->text, "\"%s\":", name);
	w->needs_comma = true;
	w->needs_newline = false;
}

void sfs_json_open(struct sfs_json_writer *w, const char *name, char bracket)
{
	begin(w, name);
	sfs_strbuf_add(w->text, &bracket, 1);
	w->needs_comma = false;
}

void sfs_json_close(struct sfs_json_writer *w, char bracket)
{
	sfs_strbuf_add(w->text, &bracket, 1);
	w->needs_comma = true;
}

void sfs_json_newline(struct sfs_json_writer *w)
{
	w->needs_newline = true;
}

void sfs_json_put_string(struct sfs_json_writer *w, const char *name, const char *s)
{
	begin(w, name);
	if (s)
		sfs_strbuf_json(w->text, s);
	else
		sfs_strbuf_puts(w->text, "null");
}

void sfs_json_put_uint(struct sfs_json_writer *w, const char *name, uint64_t n)
{
	begin(w, name);
	sfs_strbuf_printf(w->text, "%llu", (unsigned long long)n);
}

void sfs_json_put_double(struct sfs_json_writer *w, const char *name, int n_decimals,
			 double x)
{
	begin(w, name);
	sfs_strbuf_printf(w->text, "%.*f", n_decimals, x);
}

void sfs_json_put_bool(struct sfs_json_writer *w, const char *name, bool is_true)
{
	begin(w, name);
	sfs_strbuf_puts(w->text, is_true ? "true" : "false");
}
