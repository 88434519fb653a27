/* SPDX-License-Identifier: MIT */
#include "source/webhdfs/webhdfs-walk.h"

#include "base/alloc.h"
#include "source/key-pattern.h"

#include <errno.h>
#include <string.h>

#define MOST_FOLDERS 1000000

static int add_folder(struct sfs_webhdfs_walk *w, char *folder, struct sfs_error *err)
{
	if (w->n == MOST_FOLDERS) {
		free(folder);
		return sfs_error_set(err, -E2BIG, "more than %d folders", MOST_FOLDERS);
	}
	if ((w->n & (w->n - 1)) == 0) /* a power of two: full */
		w->folders =
			sfs_reallocarray(w->folders, 2 * w->n + 1, sizeof *w->folders);
	w->folders[w->n++] = folder;
	return 0;
}

void sfs_webhdfs_walk_init(struct sfs_webhdfs_walk *w, const char *pattern)
{
	sfs_autofree char *prefix = sfs_key_pattern_prefix(pattern);
	const char *slash = strrchr(prefix, '/');

	*w = (struct sfs_webhdfs_walk){.pattern = sfs_strdup(pattern)};
	add_folder(w, sfs_strndup(prefix, slash ? (size_t)(slash - prefix) + 1 : 0),
		   NULL);
}

void sfs_webhdfs_walk_done(struct sfs_webhdfs_walk *w)
{
	while (w->n > 0)
		free(w->folders[--w->n]);
	free(w->folders);
	free(w->after);
	free(w->pattern);
	*w = (struct sfs_webhdfs_walk){0};
}

const char *sfs_webhdfs_walk_folder(const struct sfs_webhdfs_walk *w)
{
	return w->folders[w->at];
}

static int take_item(struct sfs_webhdfs_walk *w, struct sfs_webhdfs_status *s,
		     struct sfs_listing *ret, struct sfs_error *err)
{
	const char *folder = sfs_webhdfs_walk_folder(w);
	struct sfs_listing_item item = {0};
	char tag[SFS_WEBHDFS_TAG_BYTES];

	if (!s->name[0])
		return sfs_error_set(err, -EINVAL,
				     "/%s is a file: write it without the '/' at its end",
				     folder);
	if (s->is_folder) {
		sfs_autofree char *below = sfs_asprintf("%s%s/", folder, s->name);

		return sfs_key_pattern_may_be_below(w->pattern, below)
			       ? add_folder(w, steal(&below), err)
			       : 0;
	}
	if (!s->is_file)
		return 0; /* a symbolic link */
	sfs_webhdfs_tag(s, tag);
	item.key = sfs_asprintf("%s%s", folder, s->name);
	item.size = s->length;
	item.mtime_s = (int64_t)(s->mtime_ms / 1000);
	item.tag = sfs_strdup(tag);
	sfs_listing_add(ret, &item);
	return 0;
}

int sfs_webhdfs_walk_take(struct sfs_webhdfs_walk *w, struct sfs_webhdfs_page *page,
			  struct sfs_listing *ret, struct sfs_error *err)
{
	const char *last = page->n > 0 ? page->items[page->n - 1].name : NULL;
	struct sfs_listing listing = {0};
	int code = 0;
	size_t i;

	if (page->n_left > 0 && w->after && strcmp(last, w->after) <= 0)
		return sfs_error_set(err, -EBADMSG,
				     "the server gives the same page of its listing "
				     "again");
	for (i = 0; i < page->n && code == 0; i++)
		code = take_item(w, &page->items[i], &listing, err);
	if (code < 0) {
		sfs_listing_done(&listing);
		return code;
	}
	free(steal(&w->after));
	if (page->n_left > 0)
		w->after = sfs_strdup(last);
	else
		w->at++;
	if (w->at < w->n)
		listing.next = sfs_asprintf("page %u", ++w->n_pages);
	*ret = listing;
	return 0;
}
