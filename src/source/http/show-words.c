/* SPDX-License-Identifier: MIT */
#include "source/http/show-words.h"

#include "base/alloc.h"
#include "base/json-find.h"

#include <ctype.h>
#include <string.h>

void sfs_show_words(const char *text, const char *stops, char *to, size_t size)
{
	size_t n = 0;

	for (; *text && !strchr(stops, *text) && n + 1 < size; text++)
		to[n++] = isprint((unsigned char)*text) ? *text : '.';
	to[n] = 0;
}

void sfs_show_member(const char *body, size_t n, const char *path, const char *stops,
		     char *to, size_t size)
{
	sfs_autofree char *words =
		sfs_json_find(body ? body : "", body ? n : 0, path, false);

	sfs_show_words(words ? words : "", stops, to, size);
}
