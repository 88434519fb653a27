/* SPDX-License-Identifier: MIT */
/* ring-internal - what ring.c and ring-sessions.c share. */
#ifndef SFS_RING_INTERNAL_H
#define SFS_RING_INTERNAL_H

#include "ring/ring-copies.h"
#include "ring/ring-memory.h"
#include "ring/ring-socket.h"
#include "ring/ring-state.h"
#include "ring/ring-watch.h"
#include "ring/ring.h"

#include <stdbool.h>
#include <stdint.h>

struct sfs_ring {
	struct sfs_ring_settings settings;
	char *path;
	struct sfs_ring_state state;
	struct sfs_ring_watch watch;
	struct sfs_ring_socket socket;
	const struct sfs_device_ops *device_ops; /* NULL: the slots are on the host */
	struct sfs_device *device;
	struct sfs_device_info info;
	struct sfs_ring_copies *copies;
	bool is_staged;
	_Atomic(const char *) placement; /* NULL: not known yet */
	int filling;			 /* the slot that was taken; < 0: none */
	uint64_t n_numbered;		 /* batches that publish() has given a number */
	_Atomic uint64_t waited_ns, waits_since_ns; /* 0: it has a slot */
	_Atomic uint64_t full_ns, full_since_ns;    /* 0: a slot is free, or filled now */
	_Atomic uint64_t n_samples, n_bytes, next;  /* of what was published */
	_Atomic uint64_t n_dropped, n_redelivered;  /* of producers that died */
};

/* Begin with what trainers hold of producers that died: some may be dead themselves. */
void sfs_ring_settle(struct sfs_ring *ring);

#endif
