/* SPDX-License-Identifier: MIT */
/* blame - a tally of time: who is being waited for, and how long each was.
 *
 * A tally is in one state at a time; who keeps it says when that changes, and the
 * time since the last change is added to the state that ends.  It knows the sums since
 * its start and those of the last SFS_WAITS_WINDOW_S seconds, by whole seconds of the
 * clock.  sfs_waits_explain() makes a sentence of sums: the limit, and what helps.
 *
 * Pure: the clock is an argument.  Not thread-safe, but for the sums that tallies share.
 */
#ifndef SFS_WAITS_H
#define SFS_WAITS_H

#include "base/strbuf.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum sfs_wait {
	SFS_WAIT_IDLE,	  /* nobody is there to wait; not counted in any share */
	SFS_WAIT_READER,  /* no read waits: what comes next is up to the reader */
	SFS_WAIT_SOURCE,  /* a read waits for an answer to begin */
	SFS_WAIT_NETWORK, /* for an answer that has begun */
	SFS_WAIT_BUDGET,  /* for memory, or for what was asked for late for want of it */
	SFS_WAIT_CPU,	  /* for us: all that it needs is here */
	SFS_WAIT_BLOCK,	  /* for one of a lane's first blocks, which is here in part */
	SFS_N_WAITS
};

#define SFS_WAITS_WINDOW_S 10
#define SFS_WAITS_IDLE_S   60 /* a reader that was away for so long is none any more */

/* Nanoseconds of each state. */
struct sfs_waits_sums {
	uint64_t ns[SFS_N_WAITS];
};

/* What all tallies of a mount add up to; any thread may add and read. */
struct sfs_waits_total {
	_Atomic uint64_t ns[SFS_N_WAITS];
};

struct sfs_waits_tally {
	enum sfs_wait state;
	uint64_t since_ns;   /* what came before is in the sums */
	uint64_t entered_ns; /* when the state began */
	struct sfs_waits_sums sums;
	struct sfs_waits_total *total; /* or NULL */
	uint64_t second;	       /* of the newest slot */
	struct sfs_waits_sums slots[SFS_WAITS_WINDOW_S];
};

/* Idle from `now_ns` on.  `total` (or NULL) is borrowed, and gets all that is added. */
void sfs_waits_init(struct sfs_waits_tally *a, struct sfs_waits_total *total,
		    uint64_t now_ns);

/* `state` holds from `now_ns` on; a moment before the last call's counts as that.  The
 * same state again only brings the sums up to date.  Of a READER's time more than
 * SFS_WAITS_IDLE_S is IDLE. */
void sfs_waits_enter(struct sfs_waits_tally *a, enum sfs_wait state, uint64_t now_ns);

/* Add up the window that ends at `now_ns`, to *sums.  (Up to the last sfs_waits_enter():
 * enter the same state first.) */
void sfs_waits_add_window(const struct sfs_waits_tally *a, uint64_t now_ns,
			  struct sfs_waits_sums *sums);

/* "reader", "source", ...: one word, as in stats.json. */
const char *sfs_waits_name(enum sfs_wait state);

/* The share of a state in per cent of all but IDLE, rounded; 0 if there is nothing. */
unsigned sfs_waits_share(const struct sfs_waits_sums *sums, enum sfs_wait state);

/* The state with the largest share; IDLE if there is nothing but that. */
enum sfs_wait sfs_waits_limit(const struct sfs_waits_sums *sums);

/* What the sentence tells beside the shares. */
struct sfs_waits_facts {
	uint64_t n_ready;	/* parts' worth of bytes that lie ready for the reader */
	uint32_t n_on_way;	/* requests */
	uint32_t n_connections; /* that there may be */
	uint64_t budget_bytes;
	bool is_local;	/* no server: the shards are files */
	uint32_t n_far; /* reads far from every position, which no tally counts */
};

/* Add one line without its end: "the reader is the bottleneck: 93 % of the time 64 parts
 * wait for it". */
void sfs_waits_explain(const struct sfs_waits_sums *sums,
		       const struct sfs_waits_facts *facts, struct sfs_strbuf *text);

#endif
