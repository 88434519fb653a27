/* SPDX-License-Identifier: MIT */
/* ledger - the list of events: what was retried, skipped or lost.
 *
 * `.shufflefs/errors` shows it: one JSON object per line, oldest first, e.g.
 *
 *   {"time":"2026-11-21T14:41:07.123Z","event":"retry","shard":"train-000123.tar",
 *    "offset":73400320,"cause":"HTTP 503","then":"retry 2 of 5 in 400 ms"}
 *
 * The log gets the same events.  One ledger per process; any thread may call.  It keeps
 * the newest 10,000 lines, at most 4 MiB, and says how many older ones it dropped.
 */
#ifndef SFS_LEDGER_H
#define SFS_LEDGER_H

#include "base/error.h"
#include "base/log.h"
#include "base/strbuf.h"

#include <stdint.h>

enum sfs_event {
	SFS_EVENT_RETRY,   /* requested again; time was lost */
	SFS_EVENT_SKIP,	   /* left out, because of on-error=skip */
	SFS_EVENT_LOST,	   /* readers get an errno here */
	SFS_EVENT_CHANGED, /* not the object that was mounted */
	SFS_EVENT_HIDDEN,  /* not in samples/: an unsafe path, a folder's, or a later one's */
	SFS_EVENT_INDEX,   /* an index exists, and cannot be used */
	SFS_EVENT_REFUSED, /* a name that was looked up is not valid */
	SFS_EVENT_EMPTY,   /* a name that was looked up has no samples */
	SFS_EVENT_OUTAGE,  /* a server (given as the shard) fails, or works again */
	SFS_N_EVENTS
};

#define SFS_NO_OFFSET UINT64_MAX

/* Add an event at byte `offset` of the shard (SFS_NO_OFFSET: of the whole shard).  `then`
 * says what happens next, or ""; `cause` is a format.  A name that is refused has one
 * line, however often it is looked up; all are counted. */
void sfs_ledger_add(enum sfs_event event, const char *shard, uint64_t offset,
		    const char *then, const char *cause, ...)
	__attribute__((format(printf, 5, 6)));

/* The same without a line in the log: the caller reports it in another way. */
void sfs_ledger_note(enum sfs_event event, const char *shard, uint64_t offset,
		     const char *then, const char *cause, ...)
	__attribute__((format(printf, 5, 6)));

/* From now on, do not log what is lost, changed or refused: the command ends with one
 * error, and gets its cause from sfs_ledger_why(). */
void sfs_ledger_keep_errors(void);

/* Why did opening or reading `path` fail with this negative errno?  The newest event that
 * can be the cause: "train-000123.tar @ 73400320: HTTP 404", without the shard if the
 * path names it and the byte is not known; or else the text of the errno. */
void sfs_ledger_why(const char *path, int err, struct sfs_error *ret);

/* Count an event without adding a line. */
void sfs_ledger_tally(enum sfs_event event);

/* Append all lines to *text. */
void sfs_ledger_print(struct sfs_strbuf *text);

/* A snapshot of the lines as a file of n_bytes.  It takes no memory: the bytes are read
 * from the lines, as long as these are kept. */
struct sfs_ledger_view {
	uint64_t n_bytes;
	uint64_t n_dropped, at; /* lines, and their bytes */
	uint64_t n_head;	/* bytes of the first line, which says so */
};
struct sfs_ledger_view sfs_ledger_look(void);

/* Read n bytes from `offset` on, which must exist.  -ESTALE: some lines were dropped
 * since. */
int sfs_ledger_read(const struct sfs_ledger_view *view, uint64_t offset, void *ret,
		    size_t n);

/* How many events of this kind there were since the start. */
uint64_t sfs_ledger_count(enum sfs_event event);

const char *sfs_event_name(enum sfs_event event);

/* Remove everything (for tests, and to exit without a leak). */
void sfs_ledger_clear(void);

#endif
