/* SPDX-License-Identifier: MIT */
/* waits - a tally of time: what reads wait for, and for how long.
 *
 * A tally is in one state at a time.  Its owner says when that changes, and the time
 * since the last change is added to the state that ends.  It has the sums since its
 * start, and those of the last SFS_WAITS_WINDOW_S seconds, by whole seconds of the clock.
 * sfs_waits_explain() turns sums into a sentence: the bottleneck, and what helps.
 *
 * Pure: the clock is an argument.  Not thread-safe, except for the sums that tallies
 * share.
 */
#ifndef SFS_WAITS_H
#define SFS_WAITS_H

#include "base/strbuf.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum sfs_wait {
	SFS_WAIT_IDLE,	  /* there is no reader; in no share */
	SFS_WAIT_READER,  /* no read is waiting: we wait for the reader */
	SFS_WAIT_SOURCE,  /* a read waits for a server to respond, or for a disk */
	SFS_WAIT_NETWORK, /* for data in transit */
	SFS_WAIT_BUDGET,  /* for memory, or data requested late for lack of it */
	SFS_WAIT_CPU,	  /* for us: all that it needs has arrived */
	SFS_WAIT_BLOCK,	  /* for one of a lane's first blocks to fill */
	SFS_N_WAITS
};

#define SFS_WAITS_WINDOW_S 10
#define SFS_WAITS_IDLE_S   60 /* a reader that pauses longer is gone */

/* Nanoseconds of each state. */
struct sfs_waits_sums {
	uint64_t ns[SFS_N_WAITS];
};

/* The sums of all tallies of a mount; any thread may add and read. */
struct sfs_waits_total {
	_Atomic uint64_t ns[SFS_N_WAITS];
};

struct sfs_waits_tally {
	enum sfs_wait state;
	uint64_t since_ns;   /* earlier time is in the sums */
	uint64_t entered_ns; /* when the state began */
	struct sfs_waits_sums sums;
	struct sfs_waits_total *total; /* or NULL */
	uint64_t second;	       /* of the newest slot */
	struct sfs_waits_sums slots[SFS_WAITS_WINDOW_S];
};

/* Start, in the state IDLE.  `total` (or NULL) is borrowed; all that is added to this
 * tally is added to it, too. */
void sfs_waits_init(struct sfs_waits_tally *a, struct sfs_waits_total *total,
		    uint64_t now_ns);

/* Change to `state` at `now_ns` (at the time of the last call, if that is
 * later).  The same state again only updates the sums.  After SFS_WAITS_IDLE_S,
 * READER time is IDLE. */
void sfs_waits_enter(struct sfs_waits_tally *a, enum sfs_wait state, uint64_t now_ns);

/* Add the window that ends at `now_ns` to *sums; up to the last sfs_waits_enter(), so
 * enter the same state first. */
void sfs_waits_add_window(const struct sfs_waits_tally *a, uint64_t now_ns,
			  struct sfs_waits_sums *sums);

/* "reader", "source", ...: one word, as in stats.json. */
const char *sfs_waits_name(enum sfs_wait state);

/* The share of a state, in percent of all but IDLE, rounded; 0 if that is nothing. */
unsigned sfs_waits_share(const struct sfs_waits_sums *sums, enum sfs_wait state);

/* The state with the largest share; IDLE if there is no other. */
enum sfs_wait sfs_waits_limit(const struct sfs_waits_sums *sums);

/* What the sentence mentions besides the shares. */
struct sfs_waits_facts {
	uint64_t n_ready;	/* parts that are ready for the reader */
	uint32_t n_in_flight;	/* requests */
	uint32_t n_connections; /* allowed */
	uint64_t budget_bytes;
	bool is_local;	/* the shards are local files */
	uint32_t n_far; /* random reads, which no tally counts */
};

/* Append a line, without a newline: "the reader is the bottleneck: 93 % of the time, 64
 * parts were ready for it". */
void sfs_waits_explain(const struct sfs_waits_sums *sums,
		       const struct sfs_waits_facts *facts, struct sfs_strbuf *text);

#endif
