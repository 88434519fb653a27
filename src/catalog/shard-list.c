/* SPDX-License-Identifier: MIT */
#include "catalog/shard-list.h"

#include "base/alloc.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

void sfs_shard_list_init(struct sfs_shard_list *list, const char *bytes, size_t n)
{
	bool has_mark = n >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0;

	*list = (struct sfs_shard_list){.p = bytes, .end = bytes};
	if (n == 0)
		return;
	list->p += has_mark ? 3 : 0;
	list->end += n;
}

int sfs_shard_list_next(struct sfs_shard_list *list, char **ret_line,
			struct sfs_error *err)
{
	const char *p, *end;

	while (list->p < list->end) {
		p = list->p;
		end = memchr(p, '\n', (size_t)(list->end - p));
		list->p = end ? end + 1 : list->end;
		end = end ? end : list->end;
		list->n_lines++;
		while (p < end && is_blank(*p))
			p++;
		while (p < end && is_blank(end[-1]))
			end--;
		if (p == end || *p == '#')
			continue;
		if (memchr(p, 0, (size_t)(end - p)))
			return sfs_error_set(err, -EBADMSG,
					     "line %u has a NUL in it: this is not a "
					     "list of shards",
					     list->n_lines);
		*ret_line = sfs_strndup(p, (size_t)(end - p));
		return 1;
	}
	return 0;
}
