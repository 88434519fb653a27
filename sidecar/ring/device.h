/* SPDX-License-Identifier: MIT */
/* device - the memory of a GPU, for the slots of a ring.
 *
 * A plug-in `PKGLIBDIR/KIND.so` has a symbol `sfs_device_plugin`, a `const struct
 * sfs_device_ops`.  It is loaded only when a ring asks for such memory.  One thread
 * begins copies, another waits for them.  All errors come with a sentence.
 *
 * Bytes come into a slot in one of two ways: copy() and wait() bring them from the slot's
 * staging on the host; or a network card writes them there, and flush() shows them.
 */
#ifndef SFS_DEVICE_H
#define SFS_DEVICE_H

#include "shufflefs/ring.h"

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

#define SFS_DEVICE_VERSION 3
#define SFS_DEVICE_BUS_MAX 32

struct sfs_device; /* each kind has its own */

struct sfs_device_settings {
	const char *which; /* a UUID, or a number from 0; "": the plug-in's first */
	bool has_fd;	   /* trainers get the memory as a descriptor, not as a handle */
	uint32_t n_slots;
	uint64_t slot_stride; /* a multiple of 4096 */
	void *staging; /* n_slots * slot_stride on the host, mapped until close() */
};

struct sfs_device_info {
	struct shufflefs_memory memory; /* for trainers */
	int fd;		  /* the device's, which they get, too; < 0: the handle is all */
	char name[128];	  /* of the device */
	uint64_t address; /* of slot 0, for a network card */
	bool has_direct;  /* a card may write there: what it writes can be shown */
	bool needs_flush; /* and flush() does something */
	char direct[192]; /* why it may not; or what the device says of it */
};

struct sfs_device_ops {
	uint32_t version; /* SFS_DEVICE_VERSION */
	const char *kind; /* "cuda" */

	/* Where the device `which` (see above) is on PCI, such as "0000:3b:00.0". */
	int (*locate)(const char *which, char ret_bus[SFS_DEVICE_BUS_MAX],
		      struct sfs_error *err);

	/* Find the device and allocate the slots. */
	int (*open)(const struct sfs_device_settings *settings, struct sfs_device **ret,
		    struct sfs_error *err);

	void (*describe)(const struct sfs_device *d, struct sfs_device_info *ret);

	/* Prepare the staging on the host, once, before the first copy(). */
	int (*stage)(struct sfs_device *d, struct sfs_error *err);

	/* Begin to copy the first n_bytes of a slot from the host.  The slot on the host
	 * is not to be changed until wait(). */
	int (*copy)(struct sfs_device *d, uint32_t slot, uint64_t n_bytes,
		    struct sfs_error *err);

	/* Wait until the slot's last copy is there, for any process to see. */
	int (*wait)(struct sfs_device *d, uint32_t slot, struct sfs_error *err);

	/* A network card has written into the slot, and has said so: wait until any
	 * process sees what it wrote.  Any thread. */
	int (*flush)(struct sfs_device *d, uint32_t slot, struct sfs_error *err);

	/* Copy the first n_bytes of a slot to its staging on the host.  Any thread. */
	int (*read)(struct sfs_device *d, uint32_t slot, uint64_t n_bytes,
		    struct sfs_error *err);

	/* A dma-buf of the slots' bytes from `offset` on, for a network card to write to;
	 * both numbers are multiples of 4096.  -EOPNOTSUPP: this device has none. */
	int (*export_dma_buf)(struct sfs_device *d, uint64_t offset, uint64_t n_bytes,
			      int *ret_fd, struct sfs_error *err);

	void (*close)(struct sfs_device *d); /* waits for copies, and frees all */
};

/* The ops for "cuda", "cuda:UUID" or "cuda:N", or the same with "cuda-fd"; sets `which`
 * to what stands behind the ":" ("" if nothing), and has_fd.  "host" and NULL: 0, with
 * *ret_ops NULL.  -EINVAL: there is no such memory.  -ENOENT: its plug-in cannot be
 * loaded; *err says why. */
int sfs_device_find(const char *memory, const struct sfs_device_ops **ret_ops,
		    struct sfs_device_settings *settings, struct sfs_error *err);

/* Would sfs_device_find() know this name?  -EINVAL, with an error. */
int sfs_device_check_name(const char *memory, struct sfs_error *err);

#endif
