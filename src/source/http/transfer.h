/* SPDX-License-Identifier: MIT */
/* transfer - fetches what a job wants, by GETs, and ends it.  On the fetch thread, but
 * for the beginning. */
#ifndef SFS_TRANSFER_H
#define SFS_TRANSFER_H

#include "source/http/job.h"

/* The job is new, and has no legs yet.  Any thread. */
void sfs_transfer_begin(struct sfs_job *job);

#endif
