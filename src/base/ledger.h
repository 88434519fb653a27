/* SPDX-License-Identifier: MIT */
/* ledger - every shard or sample that was retried, skipped or lost.
 *
 * What `.shufflefs/errors` shows: one JSON object a line, oldest first, e.g.
 *
 *   {"time":"2026-11-21T14:41:07.123Z","event":"retry","shard":"train-000123.tar",
 *    "offset":73400320,"cause":"HTTP 503","then":"retry 2 of 5 in 400 ms"}
 *
 * The same event goes to the log.  One ledger per process; any thread may call.
 * It keeps the newest 10,000 lines, of 4 MiB together at most, and says how many it has
 * dropped.
 */
#ifndef SFS_LEDGER_H
#define SFS_LEDGER_H

#include "base/error.h"
#include "base/log.h"
#include "base/strbuf.h"

#include <stdint.h>

enum sfs_event {
	SFS_EVENT_RETRY,   /* asked again; time was lost */
	SFS_EVENT_SKIP,	   /* left out, as on-error=skip wants */
	SFS_EVENT_LOST,	   /* readers get an errno here */
	SFS_EVENT_CHANGED, /* not the object that the mount began with */
	SFS_EVENT_HIDDEN,  /* a member's name is no safe path; not in samples/ */
	SFS_EVENT_INDEX,   /* an index is there, and cannot be used */
	SFS_EVENT_REFUSED, /* a name was looked up that cannot be had */
	SFS_EVENT_OUTAGE,  /* a server (which stands for the shard) is out of order, or
			    * well  again */
	SFS_N_EVENTS
};

#define SFS_NO_OFFSET UINT64_MAX

/* Note an event at byte `offset` of the shard (SFS_NO_OFFSET: of the whole).
 * `then` says what happens next; "" leaves it out.  `cause` is a format. */
void sfs_ledger_add(enum sfs_event event, const char *shard, uint64_t offset,
		    const char *then, const char *cause, ...)
	__attribute__((format(printf, 5, 6)));

/* The same without a line in the log: whoever calls tells the user in another way. */
void sfs_ledger_note(enum sfs_event event, const char *shard, uint64_t offset,
		     const char *then, const char *cause, ...)
	__attribute__((format(printf, 5, 6)));

/* From now on what is lost, changed or refused is not logged: the command ends with one
 * sentence, and has the cause by sfs_ledger_why(). */
void sfs_ledger_keep_errors(void);

/* Why did opening or reading `path` fail with this negative errno?  The newest of those
 * events that can be the cause: "train-000123.tar @ 73400320: HTTP 404", or without the
 * shard, if the path names it and the byte is unknown; or else the errno's text. */
void sfs_ledger_why(const char *path, int err, struct sfs_error *ret);

/* Count an event that needs no line of its own. */
void sfs_ledger_tally(enum sfs_event event);

/* All lines, appended to *text. */
void sfs_ledger_print(struct sfs_strbuf *text);

/* The lines as they are at a moment, as a file of n bytes.  It takes no memory: bytes are
 * read from the lines themselves, as long as they are kept. */
struct sfs_ledger_view {
	uint64_t n_bytes;
	uint64_t n_dropped, at; /* lines, and the bytes of all of them */
	uint64_t n_head;	/* bytes of the line that says so */
};
struct sfs_ledger_view sfs_ledger_look(void);

/* Read n bytes from `offset` on; they are there.  -ESTALE: lines of it were dropped
 * since.
 */
int sfs_ledger_read(const struct sfs_ledger_view *view, uint64_t offset, void *ret,
		    size_t n);

/* How many events of one kind there have been since the start. */
uint64_t sfs_ledger_count(enum sfs_event event);

const char *sfs_event_name(enum sfs_event event);

/* Forget everything (for tests and for leaving without a leak). */
void sfs_ledger_clear(void);

#endif
