/* SPDX-License-Identifier: MIT */
/* ring-policy - what becomes of a batch that a trainer had taken, and not released, when it
 * died: --on-consumer-death.
 */
#ifndef SFS_RING_POLICY_H
#define SFS_RING_POLICY_H

enum sfs_ring_policy { /* in the order of the option's words */
	SFS_RING_FAIL,	    /* all trainers get an error that names it */
	SFS_RING_REDELIVER, /* the next trainer gets it: it may be seen twice */
	SFS_RING_DROP	    /* nobody gets it again; it is counted */
};

#endif
