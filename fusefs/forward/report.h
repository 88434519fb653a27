/* SPDX-License-Identifier: MIT */
/* report - reads what a sidecar reports: lines of JSON, as they come.
 *
 * One thread.
 */
#ifndef SFS_FORWARD_REPORT_H
#define SFS_FORWARD_REPORT_H

#include "shufflefs/ioctl.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What must be known of the reports before; zeroed before the first. */
struct sfs_reports {
	uint64_t rated_ns, rated_bytes; /* of that up to which the rate is known */
};

/* Set in *st what the report in this line says.  false: it is none, and
 * *st is as it was. */
bool sfs_reports_read(struct sfs_reports *reports, const char *line, size_t n,
		      struct shufflefs_status *st);

#endif
