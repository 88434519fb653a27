/* SPDX-License-Identifier: MIT */
/* wids - reads an index of shards in JSON, as the wids library writes it: wids_version 1,
 * "__kind__": "wids-shard-index-v1".
 *
 *	{"wids_version": 1, "base": "https://host/folder",
 *	 "shardlist": [{"url": "a.tar", "nsamples": 100, "filesize": 51200}, ...],
 *	 "datasets": [{"shardlist": [...]}, {"source_url": "other.json"}, ...]}
 *
 * The shards are those of the list, and then those of each dataset.  URLs are relative to
 * the base or, without one, to the folder of the file.  All else (names, checksums,
 * weights) is left to its readers.  Pure.
 */
#ifndef SFS_WIDS_H
#define SFS_WIDS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SFS_WIDS_UNKNOWN UINT64_MAX

struct sfs_wids_shard {
	char *url;
	uint64_t n_samples, n_bytes; /* SFS_WIDS_UNKNOWN: it does not say */
};

/* A list of shards, or another file with one. */
struct sfs_wids_part {
	char *base, *source_url; /* NULL: none */
	bool has_list;
	struct sfs_wids_shard *shards;
	size_t n;
};

struct sfs_wids {
	struct sfs_wids_part *parts; /* the file's own list first, empty if it has none */
	size_t n;
};

/* Read the n bytes.  -EBADMSG: they are no such index; *err says why, with the line. */
int sfs_wids_read(const char *bytes, size_t n, struct sfs_wids *ret,
		  struct sfs_error *err);
void sfs_wids_done(struct sfs_wids *wids);

/* A URL or path as seen from `base` (a URL or path of a folder): both may be either.  An
 * absolute path at a URL stays at its host.  The caller frees it. */
char *sfs_wids_resolve(const char *base, const char *url);

#endif
