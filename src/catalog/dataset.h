/* SPDX-License-Identifier: MIT */
/* dataset - turns the specs that the user wrote into a list of shards with names.
 *
 * A spec is one source, or several with "::" between them.  A source is
 *
 *	a path or URL, with braces (braces.h) or a number of shards ("train-@001282.tar")
 *	a local folder, which stands for its *.tar in name order
 *	a folder, local or a URL, of which a part is wanted: energon has prepared it
 *	(energon.h)
 *	a local pattern, with '*', '?', '[...]' or "**" (folder.h)
 *	a URL of S3 or AIStore with a pattern, or that is a prefix
 *	@FILE, @URL or -, a list with a path or URL in each line (shard-list.h)
 *	a file or URL that ends in .json, an index of shards (wids.h); or in .yaml or
 *	.yml, a spec of WebDataset (wds-spec.h)
 *
 * A local path that exists is that path: "::", '@' and the characters of patterns are
 * then part of its name.  A shard that is named more than once is taken once, where it is
 * named first.  The name of a shard is its path without the folders that all shards have
 * in common; if two were the same, hosts count as folders, and URLs that differ in their
 * queries alone are numbered ("x.tar", "x~2.tar").  Names are unique.  Pure: the caller
 * looks at the disk, lists buckets, and gets what is at URLs.
 */
#ifndef SFS_DATASET_H
#define SFS_DATASET_H

#include "base/error.h"
#include "base/strbuf.h"
#include "source/folder.h"
#include "source/uri.h"

#include <stdbool.h>
#include <stdint.h>

/* What a listing says of an object. */
struct sfs_listed {
	char *url;
	uint64_t size;
	char *tag; /* NULL: nothing that tells versions apart */
	int64_t mtime_s;
};

/* What an index of the dataset says of a shard, which may be wrong; UINT64_MAX:
 * nothing. */
struct sfs_said {
	uint64_t n_bytes, n_samples;
};

struct sfs_dataset {
	uint32_t n;
	struct sfs_uri *uris; /* n of them; the caller may take them */
	char **names;	      /* likewise */
	uint32_t *spec_of;    /* the number of the source that each comes from */

	/* Of each: its listing; tag NULL: it was not listed.  The url is NULL. */
	struct sfs_listed *listed;
	struct sfs_said *said; /* of each */

	/* Sentences for the user, "" if there is nothing to say: which shards are named
	 * more than once, and what in folders is no shard. */
	struct sfs_error repeated, not_taken;
};

/* What is on the local disk; paths are absolute. */
struct sfs_dataset_disk {
	const char *cwd;   /* the folder of relative paths */
	const char *split; /* the part that is wanted of each source; NULL: all */

	/* Is there anything of that name?  A link counts, wherever it leads. */
	bool (*exists)(const char *path);

	/* See folder.h. */
	int (*list)(const char *folder, struct sfs_folder *ret, struct sfs_error *err);
	int (*match)(const char *pattern, char ***ret_paths, size_t *ret_n,
		     struct sfs_error *err);

	/* Append the text of a file; "-" is standard input.  *ret_is_pipe: it is in no
	 * folder.  < 0: *err says why. */
	int (*read)(const char *path, struct sfs_strbuf *text, bool *ret_is_pipe,
		    struct sfs_error *err);

	/* NULL, or: the objects that a URL of a store means, if it is a pattern or
	 * a prefix; the caller frees each and the array.  -ENOTDIR: it is neither,
	 * but an object. */
	int (*list_objects)(void *ctx, const struct sfs_uri *uri,
			    struct sfs_listed **ret_objects, size_t *ret_n,
			    struct sfs_error *err);

	/* NULL, or: append the text of a file at a URL that is not a local one.  -ENOENT,
	 * -EACCES: it is not there, or may not be read; others; *err says why, without
	 * the URL. */
	int (*fetch)(void *ctx, const struct sfs_uri *uri, struct sfs_strbuf *text,
		     struct sfs_error *err);
	void *ctx;
};

/* Expand the specs.  < 0: *err says why, and *ret_dataset is unchanged. */
int sfs_dataset_load(char *const *specs, int n_specs, const struct sfs_dataset_disk *disk,
		     struct sfs_dataset *ret_dataset, struct sfs_error *err);
void sfs_dataset_done(struct sfs_dataset *dataset);

#endif
