/* SPDX-License-Identifier: MIT */
/* report - the statistics of a command, as a line of text, of JSON, and
 * for Prometheus. */
#ifndef SFS_REPORT_H
#define SFS_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#define SFS_REPORT_WAITS 4

struct sfs_report_wait {
	const char *who;
	uint64_t ns;
};

struct sfs_report {
	const char *role;  /* "send", "recv" */
	const char *state; /* "connecting" "streaming" "draining" "done" "failed" */
	const char *error; /* NULL: none */
	uint64_t n_batches, n_samples, n_skipped, n_bytes;
	uint64_t n_refused; /* connections; of recv */
	uint64_t next; /* ordinal after the last batch */
	double seconds;
	struct sfs_report_wait waits[SFS_REPORT_WAITS];
	uint32_t n_waits;
	bool has_no_batches;   /* only samples */
	const char *transport; /* members of a JSON object; NULL: none */
	const char *memory, *device,
		*placement; /* of a ring (ring.h); placement NULL: not known */
};

struct sfs_report_outputs {
	uint32_t stats_s;    /* a line on standard error so often; 0: never */
	const char *metrics; /* Prometheus' file, replaced as a whole; NULL: none */
	int json_fd;	     /* a line for each report; -1: none */
	double next_s;	     /* the next line of text is due; begins as 0 */
	struct sfs_report last; /* of the line before: its counts; begins as 0 */
};

/* Write what is due, or all of it.  -EPIPE: nobody reads json_fd any more. */
int sfs_report_write(struct sfs_report_outputs *outputs, const struct sfs_report *report,
		     bool is_last);

#endif
