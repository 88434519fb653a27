/* SPDX-License-Identifier: MIT */
/* screen - what `shufflefs top` shows: the stats of a mount, as a few lines for people.
 *
 * Stats are read from the text of .shufflefs/stats.json.  Rates are differences between
 * two of them.  The file may be of anybody's mount: what it says is not trusted with more
 * than printable characters, and with no more of them than a screen holds.  Pure.
 */
#ifndef SFS_TOP_REPORT_H
#define SFS_TOP_REPORT_H

#include "base/error.h"
#include "base/strbuf.h"
#include "base/waits.h"

#include <stddef.h>
#include <stdint.h>

/* A position in a stream; or a stream of which nobody reads. */
struct sfs_top_report_row {
	uint64_t epoch, first_lane, lane_step, n_bytes; /* of the stream */
	uint64_t offset, n_requests, shares[SFS_N_WAITS];
	bool has_position;
	char *verdict; /* NULL: none */
};

struct sfs_top_report {
	char *version;
	char *sources; /* one line */
	uint64_t uptime_ms, shards, delivered_bytes, fetched_bytes;
	uint64_t budget_bytes, budget_used_bytes;
	uint64_t requests, requests_failed, events_retry;
	uint64_t n_requests; /* on the way, of all rows */
	struct sfs_top_report_row *rows;
	size_t n_rows; /* the first of n_all */
	uint64_t n_all;
};

/* Read n bytes of JSON.  -EBADMSG and a sentence: no stats.  Free with done(). */
int sfs_top_report_read(const void *json, size_t n, struct sfs_top_report *ret,
			struct sfs_error *err);
void sfs_top_report_done(struct sfs_top_report *screen); /* one of zeros is fine */

/* Add the lines of a mount at `where`.  `before`: the same mount's, some time ago, or
 * NULL. `columns`: no line is longer (if there are more than a few); 0: they are as long
 * as they are.  `lines`: there are no more, and the last says how many rows have no room;
 * 0: as many as there are, within reason. */
void sfs_top_report_draw(const struct sfs_top_report *now,
			 const struct sfs_top_report *before, const char *where,
			 unsigned columns, unsigned lines, struct sfs_strbuf *text);

#endif
