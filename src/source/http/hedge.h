/* SPDX-License-Identifier: MIT */
/* hedge - when a GET is late, and what is asked for once more on other connections.
 *
 * Late is what takes longer than 99 of 100 GETs of its size do (latency.h), and at least
 * four times the median; where a reader waits, one and a half times the median.  While no
 * times are known for its size, late is a GET that brings next to nothing.
 *
 * A job is hedged three times at most.  All hedges together may ask for a twentieth of
 * the bytes that GETs have brought, or 512 KiB.
 *
 * The fetch thread's own. */
#ifndef SFS_HEDGE_H
#define SFS_HEDGE_H

#include "source/http/job.h"

#include <stdint.h>

/* The leg's GET begins, or goes on: set the times at which it is late. */
void sfs_hedge_set_deadline(struct sfs_leg *leg);

/* The leg's GET is late.  In how many legs should *ret_n_bytes from byte *ret_first of
 * the request on be asked for again?  Counts their cost.  0: in none, nothing is set. */
int sfs_hedge_plan(struct sfs_leg *leg, uint64_t *ret_first, uint64_t *ret_n_bytes);

/* The leg's GET has brought all that it asked for: note how long that took. */
void sfs_hedge_note_time(struct sfs_leg *leg);

#endif
