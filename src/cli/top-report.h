/* SPDX-License-Identifier: MIT */
/* top-report - what `shufflefs top` shows: the statistics of a mount, on one screen.
 *
 * They are parsed from the text of .shufflefs/stats.json.  Rates are differences between
 * two of these.  The file may belong to anybody: its strings are cut to a screen's length
 * and to printable characters.  Pure.
 */
#ifndef SFS_TOP_REPORT_H
#define SFS_TOP_REPORT_H

#include "base/error.h"
#include "base/strbuf.h"
#include "base/waits.h"

#include <stddef.h>
#include <stdint.h>

/* A reading position in a stream; or a stream without readers. */
struct sfs_top_report_row {
	uint64_t epoch, first_lane, lane_step, n_bytes; /* of the stream */
	uint64_t offset, n_requests, shares[SFS_N_WAITS];
	bool has_position;
	char *verdict; /* NULL: none */
};

struct sfs_top_report {
	char *version;
	char *sources; /* one line */
	char *huge_pages_off; /* why; NULL: they are on */
	uint64_t uptime_ms, shards, delivered_bytes, fetched_bytes;
	uint64_t budget_bytes, budget_used_bytes, slab_bytes, huge_page_bytes;
	uint64_t requests, requests_failed, events_retry;
	uint64_t n_requests; /* in flight, of all rows */
	struct sfs_top_report_row *rows;
	size_t n_rows; /* the first of n_all */
	uint64_t n_all;
};

/* Parse n bytes of JSON.  -EBADMSG, with an error: not the stats of a mount.  Free with
 * done(). */
int sfs_top_report_read(const void *json, size_t n, struct sfs_top_report *ret,
			struct sfs_error *err);
void sfs_top_report_done(struct sfs_top_report *report); /* zeroed is fine */

/* Append the lines of the mount at `where`.  `before`: its report of some time ago, or
 * NULL. `columns`: the longest line allowed (if there are more than a few); 0: no limit.
 * `lines`: the most lines; the last one then says how many rows are missing; 0: no limit.
 */
void sfs_top_report_draw(const struct sfs_top_report *now,
			 const struct sfs_top_report *before, const char *where,
			 unsigned columns, unsigned lines, struct sfs_strbuf *text);

#endif
