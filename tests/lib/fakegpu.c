/* SPDX-License-Identifier: MIT */
/* How this works.  A copy only happens in wait(): what is published before that is seen
 * to be zeros.  For tests of errors: FAKEGPU_BYTES is how much memory there is,
 * FAKEGPU_FAILS_AT which copy fails (from 1), FAKEGPU_COPY_US how long each takes.
 *
 * A network card can write there: the memory is the host's, so its address is as one
 * that nvidia-peermem knows, and /dev/udmabuf makes a dma-buf of it.  FAKEGPU_ORDERING:
 * "owner" (trainers see at once what a card writes, the default), "none" (the card writes
 * to memory of its own, which flush() copies to where trainers look), "no-flush" (nor is
 * there a flush).  With FAKEGPU_NO_PEERMEM the address cannot be registered.
 * FAKEGPU_BUS is where it is on PCI, instead of where nothing is. */
#include "fakegpu.h"

#include "ring/device.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>

struct sfs_device {
	struct sfs_device_settings settings;
	int memfd, number;
	unsigned char *memory;
	int card_fd; /* where a card writes; -1: there, too */
	unsigned char *card;
	void *address; /* which a card gets */
	bool is_staged;
	uint64_t n_bytes, n_copied[64], n_waits;
};

static uint64_t number_in(const char *variable, uint64_t otherwise)
{
	const char *text = getenv(variable);

	return text ? strtoull(text, NULL, 10) : otherwise;
}

static bool is_set(const char *variable, const char *value)
{
	const char *text = getenv(variable);

	return text && strcmp(text, value) == 0;
}

/* NULL: there is none. */
static void *map_memfd(int *ret_fd, uint64_t n)
{
	void *at = MAP_FAILED;

	*ret_fd = memfd_create("fakegpu", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (*ret_fd >= 0 && ftruncate(*ret_fd, (off_t)n) == 0 &&
	    fcntl(*ret_fd, F_ADD_SEALS, F_SEAL_SHRINK) == 0)
		at = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, *ret_fd, 0);
	return at == MAP_FAILED ? NULL : at;
}

static void fake_close(struct sfs_device *d)
{
	if (d->address && d->address != d->card)
		munmap(d->address, d->n_bytes);
	if (d->card && d->card != d->memory)
		munmap(d->card, d->n_bytes);
	if (d->memory)
		munmap(d->memory, d->n_bytes);
	if (d->card_fd >= 0)
		close(d->card_fd);
	if (d->memfd >= 0)
		close(d->memfd);
	free(d);
}

/* Where a card writes, and what it gets to know of that. */
static bool make_card(struct sfs_device *d)
{
	d->card = is_set("FAKEGPU_ORDERING", "none") ? map_memfd(&d->card_fd, d->n_bytes)
						     : d->memory;
	d->address = d->card;
	if (getenv("FAKEGPU_NO_PEERMEM"))
		d->address = mmap(NULL, d->n_bytes, PROT_NONE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return d->card && d->address != MAP_FAILED;
}

static int find(const char *which, struct sfs_error *err)
{
	if (!*which || strcmp(which, "0") == 0 || strcmp(which, "FAKE-0") == 0)
		return 0;
	if (strcmp(which, "1") == 0 || strcmp(which, "FAKE-1") == 0)
		return 1;
	return sfs_error_set(err, -ENODEV,
			     "there is no GPU '%s'; choose one of FAKE-0 FAKE-1", which);
}

static int fake_locate(const char *which, char ret_bus[SFS_DEVICE_BUS_MAX],
		       struct sfs_error *err)
{
	int number = find(which, err);
	const char *bus = getenv("FAKEGPU_BUS");

	if (number < 0)
		return number;
	snprintf(ret_bus, SFS_DEVICE_BUS_MAX, "%s", bus ? bus : "ffff:00:1f.7");
	return 0;
}

static int fake_open(const struct sfs_device_settings *settings, struct sfs_device **ret,
		     struct sfs_error *err)
{
	uint64_t n_bytes = settings->n_slots * settings->slot_stride,
		 n_free = number_in("FAKEGPU_BYTES", UINT64_MAX);
	int number = find(settings->which, err);
	struct sfs_device *d;

	if (number < 0)
		return number;
	if (n_bytes > n_free)
		return sfs_error_set(err, -ENOMEM,
				     "GPU FAKE-%d: the ring needs %llu bytes, %llu are "
				     "free; use fewer --slots or a smaller --batch",
				     number, (unsigned long long)n_bytes,
				     (unsigned long long)n_free);
	d = calloc(1, sizeof *d);
	d->settings = *settings;
	d->number = number;
	d->n_bytes = n_bytes;
	d->card_fd = -1;
	d->memory = map_memfd(&d->memfd, n_bytes);
	if (!d->memory || !make_card(d)) {
		fake_close(d);
		return sfs_error_set(err, -ENOMEM, "no memory for a GPU's");
	}
	*ret = d;
	return 0;
}

static void fake_describe(const struct sfs_device *d, struct sfs_device_info *ret)
{
	memset(ret, 0, sizeof *ret);
	ret->fd = d->settings.has_fd ? d->memfd : -1;
	strcpy(ret->memory.kind, d->settings.has_fd ? "fakegpu-fd" : "fakegpu");
	snprintf(ret->memory.device, sizeof ret->memory.device, "FAKE-%d", d->number);
	if (!d->settings.has_fd)
		snprintf((char *)ret->memory.handle, sizeof ret->memory.handle,
			 "/proc/%d/fd/%d", (int)getpid(), d->memfd);
	ret->memory.n_bytes = d->n_bytes;
	strcpy(ret->name, "a memfd");
	ret->address = (uintptr_t)d->address;
	ret->has_direct = !is_set("FAKEGPU_ORDERING", "no-flush");
	ret->needs_flush = d->card != d->memory;
	strcpy(ret->direct, !ret->has_direct   ? "it cannot show what a card writes"
			    : ret->needs_flush ? "flushed"
					       : "ordered");
}

/* (Its staging is there already.) */
static int fake_stage(struct sfs_device *d, struct sfs_error *err)
{
	d->is_staged = true;
	return 0;
}

static int fake_copy(struct sfs_device *d, uint32_t slot, uint64_t n_bytes,
		     struct sfs_error *err)
{
	if (!d->is_staged)
		return sfs_error_set(err, -EIO, "GPU FAKE-%d: a copy without staging",
				     d->number);
	d->n_copied[slot] = n_bytes;
	return 0;
}

static int fake_wait(struct sfs_device *d, uint32_t slot, struct sfs_error *err)
{
	uint64_t at = slot * d->settings.slot_stride;

	usleep((useconds_t)number_in("FAKEGPU_COPY_US", 0));
	if (++d->n_waits == number_in("FAKEGPU_FAILS_AT", 0))
		return sfs_error_set(err, -EIO,
				     "GPU FAKE-%d: the copy into slot %u failed",
				     d->number, slot);
	memcpy(d->memory + at, (unsigned char *)d->settings.staging + at,
	       d->n_copied[slot]);
	return 0;
}

static int fake_flush(struct sfs_device *d, uint32_t slot, struct sfs_error *err)
{
	uint64_t at = slot * d->settings.slot_stride;

	if (d->card != d->memory)
		memcpy(d->memory + at, d->card + at, d->settings.slot_stride);
	return 0;
}

static int fake_read(struct sfs_device *d, uint32_t slot, uint64_t n_bytes,
		     struct sfs_error *err)
{
	uint64_t at = slot * d->settings.slot_stride;

	memcpy((unsigned char *)d->settings.staging + at, d->memory + at, n_bytes);
	return 0;
}

static int fake_export_dma_buf(struct sfs_device *d, uint64_t offset, uint64_t n_bytes,
			       int *ret_fd, struct sfs_error *err)
{
	struct udmabuf_create create = {.memfd = (uint32_t)(d->card_fd >= 0 ? d->card_fd
									    : d->memfd),
					.flags = UDMABUF_FLAGS_CLOEXEC,
					.offset = offset,
					.size = n_bytes};
	int fd = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return sfs_error_set(err, -EOPNOTSUPP, "/dev/udmabuf: %s",
				     strerror(errno));
	*ret_fd = ioctl(fd, UDMABUF_CREATE, &create);
	if (*ret_fd < 0)
		sfs_error_set(err, 0, "no dma-buf of a memfd: %s", strerror(errno));
	close(fd);
	return *ret_fd < 0 ? -EOPNOTSUPP : 0;
}

const struct sfs_device_ops sfs_device_plugin = {
	.version = SFS_DEVICE_VERSION,
	.kind = "fakegpu",
	.locate = fake_locate,
	.open = fake_open,
	.describe = fake_describe,
	.stage = fake_stage,
	.copy = fake_copy,
	.wait = fake_wait,
	.flush = fake_flush,
	.read = fake_read,
	.export_dma_buf = fake_export_dma_buf,
	.close = fake_close,
};
