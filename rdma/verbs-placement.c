/* SPDX-License-Identifier: MIT */
/* How this works.  Three ways are tried in turn:
 *
 *	dma-buf   the plug-in exports the GPU's memory as a descriptor, and the card's
 *		  driver takes it (ibv_reg_dmabuf_mr)
 *	peermem   the address in the GPU's memory is registered as if it were the host's;
 *		  the kernel module nvidia-peermem knows it then
 *	staged    the slots on the host, which the ring copies
 *
 * Whether a way works is not asked for in advance: drivers and modules differ, and
 * registering is the answer.  But a GPU that cannot show what a card writes is not
 * tried: the batches would be wrong and nobody would know.
 *
 * A registration keeps the dma-buf alive, so its descriptor is closed at once.  The
 * address that senders get is the GPU's in both ways. */
#include "verbs-placement.h"

#include "base/log.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

struct target {
	const struct sfs_device_ops *ops;
	struct sfs_device *device;
	struct sfs_device_info info;
};

static int access_of(const struct sfs_verbs_range *range)
{
	return IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
	       (range->is_relaxed ? (int)IBV_ACCESS_RELAXED_ORDERING : 0);
}

static int by_dma_buf(struct ibv_pd *pd, const struct target *t,
		      struct sfs_verbs_range *range, struct sfs_error *err)
{
	uint64_t n = t->info.memory.n_bytes;
	int fd, code, ret = t->ops->export_dma_buf(t->device, 0, n, &fd, err);

	if (ret < 0)
		return ret;
	range->memory = SFS_VERBS_DMA_BUF;
	range->mr = ibv_reg_dmabuf_mr(pd, 0, n, t->info.address, fd, access_of(range));
	code = errno;
	close(fd);
	return range->mr ? 0 : sfs_error_set(err, -code, "%s", strerror(code));
}

static int by_peermem(struct ibv_pd *pd, const struct target *t,
		      struct sfs_verbs_range *range, struct sfs_error *err)
{
	void *at = (void *)(uintptr_t)t->info.address; /* (nobody follows it) */

	range->memory = SFS_VERBS_PEERMEM;
	range->mr = ibv_reg_mr(pd, at, t->info.memory.n_bytes, access_of(range));
	return range->mr ? 0
			 : sfs_error_set(err, -errno, "%s%s", strerror(errno),
					 errno == EFAULT ? " (is nvidia-peermem loaded?)"
							 : "");
}

/* In the GPU's memory.  -EOPNOTSUPP, with why not. */
static int place_directly(struct ibv_pd *pd, const struct target *t,
			  struct sfs_verbs_range *range, struct sfs_error *err)
{
	struct sfs_error dma_buf = {""}, peermem = {""};

	if (!t->info.has_direct)
		return sfs_error_set(err, -EOPNOTSUPP, "%s", t->info.direct);
	if (by_dma_buf(pd, t, range, &dma_buf) == 0 ||
	    by_peermem(pd, t, range, &peermem) == 0)
		return 0;
	return sfs_error_set(err, -EOPNOTSUPP, "by dma-buf: %s; by peermem: %s",
			     dma_buf.text, peermem.text);
}

/* On the host, be it the ring itself or its staging.  -ENOMEM: it cannot be locked. */
static int place_on_host(struct ibv_pd *pd, struct sfs_ring *ring, uint32_t n_slots,
			 struct sfs_verbs_placement *ret, struct sfs_error *err)
{
	uint64_t stride;
	void *slots = sfs_ring_slots(ring, &stride);

	if (sfs_ring_stage(ring, err) < 0)
		return -ENOMEM;
	ret->address = (uintptr_t)slots;
	return sfs_verbs_register(pd, slots, stride * n_slots, true, &ret->range, err);
}

/* One line, not one for each connection. */
static void warn_once(struct sfs_ring *ring, const char *card, const struct target *t,
		      const char *why)
{
	struct sfs_ring_progress p;

	sfs_ring_look(ring, &p);
	if (p.placement && strcmp(p.placement, "staged") == 0)
		return;
	sfs_warning("%s cannot write into GPU %s, so batches are copied from the host: "
		    "%s",
		    card, t->info.memory.device, why);
}

int sfs_verbs_place(struct ibv_pd *pd, struct sfs_ring *ring,
		    const struct sfs_ring_settings *settings,
		    struct sfs_verbs_placement *ret, struct sfs_error *err)
{
	const char *card = ibv_get_device_name(pd->context->device);
	struct sfs_error why = {""};
	struct target t = {0};
	int code;

	t.ops = sfs_ring_device(ring, &t.device);
	if (!t.ops)
		return place_on_host(pd, ring, settings->n_slots, ret, err);
	t.ops->describe(t.device, &t.info);
	code = settings->placement == SFS_RING_STAGED
		       ? -EOPNOTSUPP
		       : place_directly(pd, &t, &ret->range, &why);
	if (code == 0) {
		ret->address = t.info.address;
		sfs_ring_set_placement(ring, sfs_verbs_memory_name(ret->range.memory));
		return 0;
	}
	if (settings->placement == SFS_RING_DIRECT)
		return sfs_error_set(err, code,
				     "--placement direct: %s cannot write into GPU %s: "
				     "%s",
				     card, t.info.memory.device, why.text);
	if (settings->placement == SFS_RING_AUTO)
		warn_once(ring, card, &t, why.text);
	code = place_on_host(pd, ring, settings->n_slots, ret, err);
	ret->range.memory = SFS_VERBS_STAGED;
	sfs_ring_set_placement(ring, sfs_verbs_memory_name(SFS_VERBS_STAGED));
	return code;
}

void sfs_verbs_unplace(struct sfs_verbs_placement *p)
{
	sfs_verbs_unregister(&p->range);
}
