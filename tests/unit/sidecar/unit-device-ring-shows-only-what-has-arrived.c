/* SPDX-License-Identifier: MIT */
/* Batches of a ring in a GPU's memory (tests/lib/fakegpu.c) come out in order, when their
 * bytes are there, whether they are copied or a network card writes them; a copy that
 * fails, fails the ring behind the batches before it; and a successor of a producer that
 * was killed goes on after what was taken. */
#include "ring/device.h"
#include "fakegpu.h"
#include "ring/ring-memory.h"
#include "ring/ring.h"

#include "check.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

static char path[64];
static struct shufflefs_layout layout = {.n_samples = 4};
static enum sfs_ring_placement placement;

static struct sfs_ring *make_ring(const char *memory)
{
	struct sfs_ring_settings s = {.path = path,
				      .n_slots = 3,
				      .memory = memory,
				      .placement = placement,
				      .policy = SFS_RING_FAIL};
	struct sfs_ring *ring;
	struct sfs_error err;

	if (sfs_ring_new(&s, &layout, &ring, &err) < 0)
		fprintf(stderr, "%s\n", err.text), exit(1);
	return ring;
}

static int put(struct sfs_ring *ring, int byte)
{
	struct sfs_error err;
	void *slot;
	int ret = sfs_ring_take(ring, 20000, &slot, &err);

	if (ret < 0)
		return ret;
	memset(slot, byte, layout.slot_bytes);
	sfs_ring_publish(ring, &(struct shufflefs_batch){.n_samples = 4});
	return 0;
}

/* A consumer, and the memory as it sees it. */
struct trainer {
	struct shufflefs_ring *ring;
	const unsigned char *gpu;
};

static struct trainer attach(void)
{
	struct trainer t;

	CHECK_EQ(shufflefs_ring_attach(path, 10000, &t.ring), 0);
	CHECK_STR(shufflefs_ring_memory(t.ring)->kind, "fakegpu");
	t.gpu = fakegpu_open(t.ring);
	CHECK(t.gpu != NULL);
	return t;
}

static void detach(struct trainer *t)
{
	fakegpu_close(shufflefs_ring_memory(t->ring), t->gpu);
	shufflefs_ring_detach(t->ring);
}

static void check_next(struct trainer *t, uint64_t seq, int byte)
{
	struct shufflefs_batch b;
	uint64_t i;

	CHECK_EQ(shufflefs_ring_next(t->ring, 10000, &b), 1);
	CHECK_EQ(b.seq, seq);
	CHECK(b.data == NULL);
	for (i = 0; i < layout.slot_bytes; i++)
		CHECK_EQ(t->gpu[b.offset + i], byte);
}

/* The fake copies late: what is seen too early is zeros. */
static void batches_arrive_in_order(void)
{
	struct sfs_ring *ring = make_ring("fakegpu:1");
	struct trainer t = attach();
	int i;

	CHECK_STR(shufflefs_ring_memory(t.ring)->device, "FAKE-1");
	for (i = 0; i < 20; i++) {
		CHECK_EQ(put(ring, i + 1), 0);
		if (i % 3 != 2)
			continue;
		check_next(&t, i - 2, i - 1);
		check_next(&t, i - 1, i);
		check_next(&t, i, i + 1);
		CHECK_EQ(shufflefs_ring_release(t.ring, i - 1), 0);
		CHECK_EQ(shufflefs_ring_release(t.ring, i), 0);
		CHECK_EQ(shufflefs_ring_release(t.ring, i - 2), 0);
	}
	sfs_ring_end(ring); /* with two on their way */
	check_next(&t, 18, 19);
	check_next(&t, 19, 20);
	detach(&t);
	sfs_ring_free(ring);
}

/* As a network card: where the slot is in the GPU's memory. */
static unsigned char *write_as_card(struct sfs_ring *ring, const void *slot, int byte)
{
	struct sfs_device *device;
	const struct sfs_device_ops *ops = sfs_ring_device(ring, &device);
	const unsigned char *slots;
	struct sfs_device_info info;
	unsigned char *at;
	uint64_t stride;

	ops->describe(device, &info);
	CHECK(info.has_direct);
	slots = sfs_ring_slots(ring, &stride);
	at = (unsigned char *)(uintptr_t)info.address +
	     ((const unsigned char *)slot - slots);
	memset(at, byte, layout.slot_bytes);
	return at;
}

/* Every third batch is copied, the others are written; two of them are read before. */
static void what_a_card_writes_keeps_the_order(const char *ordering)
{
	struct sfs_ring *ring;
	struct sfs_error err;
	struct trainer t;
	int i;

	setenv("FAKEGPU_ORDERING", ordering, 1);
	placement = SFS_RING_AUTO;
	ring = make_ring("fakegpu");
	CHECK_EQ(sfs_ring_stage(ring, &err), 0);
	t = attach();
	for (i = 0; i < 20; i++) {
		struct shufflefs_batch batch = {.n_samples = 4};
		const unsigned char *read;
		void *slot;

		CHECK_EQ(sfs_ring_take(ring, 20000, &slot, &err), 0);
		batch.data = slot;
		if (i % 3 == 0)
			memset(slot, i + 1, layout.slot_bytes);
		else
			batch.data = write_as_card(ring, slot, i + 1);
		if (i % 5 == 3) {
			read = sfs_ring_read(ring, batch.data, &err);
			CHECK(read != NULL && read[0] == i + 1);
			CHECK_EQ(read[layout.slot_bytes - 1], i + 1);
		}
		sfs_ring_publish(ring, &batch);
		if (i % 2 == 0)
			continue;
		check_next(&t, i - 1, i);
		check_next(&t, i, i + 1);
		CHECK_EQ(shufflefs_ring_release(t.ring, i), 0);
		CHECK_EQ(shufflefs_ring_release(t.ring, i - 1), 0);
	}
	detach(&t);
	sfs_ring_free(ring);
	placement = SFS_RING_STAGED;
	unsetenv("FAKEGPU_ORDERING");
}

static void a_copy_that_fails_comes_after_those_before(void)
{
	struct shufflefs_batch b;
	struct sfs_error err;
	struct sfs_ring *ring;
	struct trainer t;

	setenv("FAKEGPU_FAILS_AT", "2", 1);
	ring = make_ring("fakegpu");
	t = attach();
	CHECK_EQ(put(ring, 1), 0);
	CHECK_EQ(put(ring, 2), 0);
	CHECK_EQ(sfs_ring_wait_consumed(ring, 1, 10000, &err), -EIO);
	CHECK_HAS(err.text, "GPU FAKE-0: the copy into slot 1 failed");
	CHECK_EQ(put(ring, 3), -EIO);
	check_next(&t, 0, 1);
	CHECK_EQ(shufflefs_ring_next(t.ring, -1, &b), -EIO);
	CHECK_HAS(shufflefs_ring_error(t.ring), "the copy into slot 1 failed");
	detach(&t);
	sfs_ring_free(ring);
	unsetenv("FAKEGPU_FAILS_AT");
}

static void produce_three(void)
{
	struct sfs_ring *ring = make_ring("fakegpu");
	struct sfs_error err;
	int i;

	sfs_ring_session(ring, 9, &err);
	for (i = 0; i < 3; i++)
		put(ring, i + 1);
	for (;;)
		pause();
}

/* From a GPU's memory into the host's. */
static void a_successor_goes_on(void)
{
	pid_t child = fork();
	struct sfs_ring_past past;
	struct shufflefs_batch b;
	struct sfs_ring *ring;
	struct sfs_error err;
	struct trainer t;

	if (child == 0)
		produce_three();
	t = attach();
	check_next(&t, 0, 1);
	check_next(&t, 1, 2);
	kill(child, SIGKILL);
	CHECK_EQ(waitpid(child, NULL, 0), child);
	CHECK_EQ(shufflefs_ring_next(t.ring, 20000, &b), -EPIPE);
	ring = make_ring("host");
	CHECK_EQ(sfs_ring_session(ring, 9, &err), 0);
	CHECK(sfs_ring_look_at_session(ring, 0, &past));
	CHECK_EQ(past.n, 2);
	detach(&t);
	sfs_ring_free(ring);
}

/* A consumer that is killed while batches are under way. */
static void a_dead_consumer_is_none(void)
{
	struct sfs_ring *ring = make_ring("fakegpu");
	pid_t child = fork();
	struct shufflefs_batch b;
	struct sfs_error err;
	struct trainer t;

	if (child == 0) {
		t = attach();
		shufflefs_ring_next(t.ring, 10000, &b);
		raise(SIGKILL);
	}
	CHECK_EQ(put(ring, 1), 0);
	CHECK_EQ(waitpid(child, NULL, 0), child);
	CHECK_EQ(sfs_ring_wait_consumed(ring, 0, 10000, &err), -EIO);
	CHECK_HAS(err.text, "died while it held batch 0");
	sfs_ring_free(ring);
}

static void names_are_checked(void)
{
	const struct sfs_device_ops *ops;
	struct sfs_error err;
	struct sfs_device_settings s = {.which = "?"};

	CHECK_EQ(sfs_device_find("gpu", &ops, &s, &err), -EINVAL);
	CHECK_HAS(err.text, "'gpu' is not a place for a ring");
	CHECK_EQ(sfs_device_find("cud", &ops, &s, &err), -EINVAL);
	CHECK_EQ(sfs_device_find("host", &ops, &s, &err), 0);
	CHECK(ops == NULL);
	CHECK_EQ(sfs_device_find("fakegpu:FAKE-1", &ops, &s, &err), 0);
	CHECK_STR(s.which, "FAKE-1");
	CHECK(!s.has_fd);
	CHECK_EQ(sfs_device_find("fakegpu-fd", &ops, &s, &err), 0);
	CHECK_STR(s.which, "");
	CHECK(s.has_fd);
}

int main(void)
{
	struct sfs_row row = {.name = "x", .dtype = "u1", .rank = 1, .dims = {3000}};
	char folder[512];

	snprintf(folder, sizeof folder, "%s/tests/lib", getenv("abs_top_builddir"));
	setenv("SHUFFLEFS_PLUGINS", folder, 1);
	snprintf(path, sizeof path, "/tmp/sfs-device-ring-%d", (int)getpid());
	CHECK_EQ(sfs_layout_add(&layout, &row, NULL), 0);
	names_are_checked();
	setenv("FAKEGPU_COPY_US", "2000", 1);
	batches_arrive_in_order();
	what_a_card_writes_keeps_the_order("owner");
	what_a_card_writes_keeps_the_order("none");
	a_copy_that_fails_comes_after_those_before();
	unsetenv("FAKEGPU_COPY_US");
	a_successor_goes_on();
	a_dead_consumer_is_none();
	return 0;
}
