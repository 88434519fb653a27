/* SPDX-License-Identifier: MIT */
/* device-probe - what a device plug-in can do, by itself.
 *
 *	device-probe MEMORY SECONDS		MEMORY as of --memory
 *
 * Prints a line each: the device; whether what a network card writes there can be
 * shown, and how; whether it exports a dma-buf of its memory; and how many GB a second
 * it copies, of slots of 38.5 MB (256 images of 224x224x3), one behind the other and
 * four in flight. */
#include "ring/device.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/strbuf.h"
#include "check.h"

#include <sys/mman.h>
#include <unistd.h>

#define N_SLOTS 4
#define STRIDE	(38535168ULL / 4096 * 4096)

/* What plug-ins use of us, and else would not be linked. */
void *const needed[] = {sfs_strbuf_printf, sfs_strbuf_done, sfs_calloc};

static double copy_for(const struct sfs_device_ops *ops, struct sfs_device *d,
		       uint64_t seconds, uint32_t depth)
{
	uint64_t begin_ns = sfs_clock_ns(), now_ns = begin_ns, n = 0;
	struct sfs_error err;

	do {
		if (n >= depth)
			CHECK_EQ(ops->wait(d, n % depth, &err), 0);
		CHECK_EQ(ops->copy(d, n % depth, STRIDE, &err), 0);
		n++;
		now_ns = sfs_clock_ns();
	} while (now_ns - begin_ns < seconds * SFS_NS_PER_S || n < depth);
	for (uint32_t i = 0; i < depth; i++)
		CHECK_EQ(ops->wait(d, i, &err), 0);
	return (double)(n * STRIDE) / (double)(sfs_clock_ns() - begin_ns);
}

/* What comes with each batch that a card has written: a flush, if it needs one. */
static void check_shown(const struct sfs_device_ops *ops, struct sfs_device *d)
{
	uint64_t begin_ns = sfs_clock_ns();
	struct sfs_error err = {""};
	int i;

	for (i = 0; i < 1000; i++)
		if (ops->flush(d, 0, &err) < 0) {
			printf("flush: no: %s\n", err.text);
			return;
		}
	printf("flush: %.1f us each\n", (double)(sfs_clock_ns() - begin_ns) / 1e6);
}

int main(int argc, char **argv)
{
	struct sfs_device_settings s = {.n_slots = N_SLOTS, .slot_stride = STRIDE};
	const struct sfs_device_ops *ops;
	struct sfs_device_info info;
	struct sfs_error err = {""};
	struct sfs_device *d;
	int fd = -1;

	CHECK_EQ(argc, 3);
	s.staging = mmap(NULL, N_SLOTS * STRIDE, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(s.staging != MAP_FAILED);
	if (sfs_device_find(argv[1], &ops, &s, &err) < 0 || ops->open(&s, &d, &err) < 0)
		return fprintf(stderr, "%s\n", err.text), 1;
	ops->describe(d, &info);
	printf("device: %s, %s, %s, %llu bytes\n", info.memory.kind, info.memory.device,
	       info.name, (unsigned long long)info.memory.n_bytes);
	printf("direct: %s: %s\n", info.has_direct ? "yes" : "no", info.direct);
	check_shown(ops, d);
	if (ops->export_dma_buf(d, 0, STRIDE, &fd, &err) == 0)
		printf("dma-buf: yes, a descriptor of %llu bytes\n",
		       (unsigned long long)lseek(fd, 0, SEEK_END));
	else
		printf("dma-buf: no: %s\n", err.text);
	if (fd >= 0)
		close(fd);
	CHECK_EQ(ops->stage(d, &err), 0);
	printf("copies: %.1f GB/s one behind the other, %.1f GB/s with %d in flight\n",
	       copy_for(ops, d, strtoul(argv[2], NULL, 10), 1),
	       copy_for(ops, d, strtoul(argv[2], NULL, 10), N_SLOTS), N_SLOTS);
	ops->close(d);
	return 0;
}
