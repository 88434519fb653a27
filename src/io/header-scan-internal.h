/* SPDX-License-Identifier: MIT */
/* header-scan-internal - what header-scan.c (which scans run, and who waits) and
 * header-scan-work.c (what one scan reads) share. */
#ifndef SFS_HEADER_SCAN_INTERNAL_H
#define SFS_HEADER_SCAN_INTERNAL_H

#include "catalog/index-find.h"
#include "catalog/second-reader.h"
#include "io/header-scan.h"
#include "tar/scan.h"

enum sfs_header_need {
	SFS_HEADER_TABLE = 1, /* MEMBERS and LISTING need it, too */
	SFS_HEADER_MEMBERS = 2,
	SFS_HEADER_LISTING = 4,
	SFS_HEADER_INDEX = 8,  /* the table, if there is an index */
	SFS_HEADER_FIRST = 16, /* of a stretch: where its first sample begins */
};

/* What a scan at work needs. */
struct sfs_header_work {
	struct sfs_header_scan *hs;

	bool is_finding; /* an index; under the scanner's lock, and find_err with it */
	int find_err;

	bool is_found; /* the search has ended, and its result was used */
	struct sfs_index_search search;
	struct sfs_scan scan; /* for the listing, or for the members */
	struct sfs_directory *listing;
	bool needs_table;		 /* else only INDEX, or FIRST */
	bool needs_members, has_members; /* has: they are read, not found */
	struct sfs_members members;
	struct sfs_charge members_held; /* counts them */
	struct sfs_second_reader second;
	struct sfs_header_fetch fetch;
	int err;
};

struct sfs_header_scan {
	struct sfs_header_scanner *scanner;
	struct sfs_shard *shard;
	struct sfs_link link; /* in the queue */
	struct sfs_task task;
	struct sfs_header_work *work; /* the task's; NULL: the scan has not begun */
	atomic_bool is_quiet;

	/* Under the scanner's lock. */
	struct sfs_link waiters;
	struct sfs_link index_waiters; /* until an index was looked for */
	bool has_sought;	       /* that is so */
	unsigned needs;		      /* a bit each; final when is_open is false */
	bool is_open;		      /* the scan has not begun */
	bool is_proof;		      /* it counts as one */
	struct sfs_link late_waiters; /* for what is not among its needs */
	unsigned late_needs;
	uint64_t progress; /* bytes that it has scanned or jumped over */
};

/* ---- header-scan-work.c; for the scan's task */

/* Look for an index, unless headers must be read anyway. */
void sfs_header_work_find_index(struct sfs_header_work *w);

/* Has the search for an index ended, if there was one? */
bool sfs_header_work_has_found(struct sfs_header_work *w);

/* Bytes of the shard, for the table and the scan of its own; of struct
 * sfs_header_work. */
void sfs_header_work_feed(void *work, uint64_t offset, const void *bytes, size_t n);

/* Take what has come. */
void sfs_header_work_take_chunks(struct sfs_header_work *w);

/* The byte that the consumers want next: the lower of the two. */
uint64_t sfs_header_work_wanted(struct sfs_header_work *w);

/* Hand over what was read. */
void sfs_header_work_keep_result(struct sfs_header_work *w);

#endif
