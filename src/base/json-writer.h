/* SPDX-License-Identifier: MIT */
/* json-writer - appends JSON to a text: escapes strings and places commas.
 *
 *	struct sfs_json_writer w = {.text = &text};
 *
 *	sfs_json_open(&w, NULL, '{');
 *	sfs_json_put_string(&w, "dataset", "imagenet");
 *	sfs_json_open(&w, "shards", '[');
 *	sfs_json_put_uint(&w, NULL, 7);
 *	sfs_json_close(&w, ']');
 *	sfs_json_close(&w, '}');	{"dataset":"imagenet","shards":[7]}
 *
 * `name` is that of a member of an object, and needs no escapes; NULL in an array, and
 * for the value as a whole.  One thread.
 */
#ifndef SFS_JSON_WRITER_H
#define SFS_JSON_WRITER_H

#include "base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>

struct sfs_json_writer {
	struct sfs_strbuf *text; /* borrowed */
	bool needs_comma;	 /* before the next value */
	bool needs_newline;	 /* and after that comma */
};

void sfs_json_open(struct sfs_json_writer *w, const char *name, char bracket);
void sfs_json_close(struct sfs_json_writer *w, char bracket);

/* Start a new line before the next value. */
void sfs_json_newline(struct sfs_json_writer *w);

/* Bytes of s that are not UTF-8 become U+FFFD.  NULL: null. */
void sfs_json_put_string(struct sfs_json_writer *w, const char *name, const char *s);
void sfs_json_put_uint(struct sfs_json_writer *w, const char *name, uint64_t n);
void sfs_json_put_double(struct sfs_json_writer *w, const char *name, int n_decimals,
			 double x);
void sfs_json_put_bool(struct sfs_json_writer *w, const char *name, bool is_true);

#endif
