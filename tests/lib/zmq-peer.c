/* SPDX-License-Identifier: MIT */
/* One end of a test of the plug-in for ZeroMQ.
 *
 *	zmq-peer PLUGIN send URL N FIRST   N batches of 4 samples, the last has 3,
 *	                                   through 3 slots
 *	zmq-peer PLUGIN recv URL RING      into a ring, until standard input ends
 *	zmq-peer PLUGIN consume RING N     print N batches of a ring
 *	zmq-peer PLUGIN refuse URL DTYPE   print why a tensor of DTYPE is not sent
 *
 * Sample o has the label o, and an image of 5 x 3 bytes (7 o + i) mod 256.
 */
#include "transport/receiver.h"
#include "transport/transport.h"

#include "base/alloc.h"
#include "transport/auth.h"
#include "transport/guard.h"

#include "base/clock.h"
#include "base/log.h"

#include "check.h"

#include <dlfcn.h>
#include <errno.h>

#define N_ROWS 4

/* ThreadSanitizer does not see how ZeroMQ's threads hand messages on. */
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
	return "called_from_lib:libzmq.so\n";
}

/* What the plug-in takes from its program, and this program would not have otherwise. */
void *const needed[] = {sfs_asprintf,	   sfs_clock_ns,  sfs_json_put_string,
			sfs_json_put_uint, sfs_malloc,	  sfs_calloc,
			sfs_strdup,	   sfs_log,	  sfs_layout_add,
			sfs_ring_new,	   sfs_ring_take, sfs_ring_publish,
			sfs_ring_end,	   sfs_ring_fail, sfs_ring_free,
			sfs_guard_check,   sfs_secret_derive};

static void make_layout(const char *dtype, struct shufflefs_layout *ret_layout)
{
	struct sfs_row img = {.name = "img", .dtype = "u1", .rank = 2, .dims = {5, 3}};
	struct sfs_row cls = {.name = "cls", .dtype = dtype};

	memset(ret_layout, 0, sizeof *ret_layout);
	ret_layout->n_samples = N_ROWS;
	CHECK_EQ(sfs_layout_add(ret_layout, &img, NULL), 0);
	CHECK_EQ(sfs_layout_add(ret_layout, &cls, NULL), 0);
}

static void fill(const struct shufflefs_layout *layout, void *slot, uint32_t first)
{
	uint32_t i, j;

	for (i = 0; i < N_ROWS; i++) {
		uint32_t label = first + i;

		for (j = 0; j < 15; j++)
			sfs_layout_row(layout, 0, i, slot)[j] =
				(unsigned char)(7 * label + j);
		memcpy(sfs_layout_row(layout, 1, i, slot), &label, sizeof label);
	}
}

static int fail(const struct sfs_error *err)
{
	fprintf(stderr, "%s\n", err->text);
	return 1;
}

static int send_batches(const struct sfs_transport_ops *ops, const char *url, uint32_t n,
			uint32_t first)
{
	struct sfs_transport_settings settings = {.target = url,
						  .n_slots = 3,
						  .give_up_ms = 20000};
	struct sfs_transport *t;
	struct shufflefs_layout layout;
	struct sfs_error err = {0};
	uint32_t b;
	void *slot;
	int ret;

	make_layout("i4", &layout);
	if (ops->open(&settings, &layout, &t, &err) < 0)
		return fail(&err);
	for (b = 0; b < n; b++) {
		struct sfs_batch_info info = {.n_samples =
						      b + 1 < n ? N_ROWS : N_ROWS - 1};

		while ((ret = ops->take(t, 100, &slot, &err)) == -ETIMEDOUT)
			;
		if (ret < 0)
			return fail(&err);
		fill(&layout, slot, first + b * N_ROWS);
		if (ops->send(t, &info, &err) < 0)
			return fail(&err);
	}
	while ((ret = ops->finish(t, 100, &err)) == -ETIMEDOUT)
		;
	ops->close(t);
	return ret < 0 ? fail(&err) : 0;
}

static int refuse(const struct sfs_transport_ops *ops, const char *url, const char *dtype)
{
	struct sfs_transport_settings settings = {.target = url, .n_slots = 3};
	struct sfs_transport *t = NULL;
	struct shufflefs_layout layout;
	struct sfs_error err = {0};

	make_layout(dtype, &layout);
	CHECK(ops->open(&settings, &layout, &t, &err) < 0 && !t);
	puts(err.text);
	return 0;
}

static int receive(const struct sfs_receiver_ops *ops, const char *url, const char *ring)
{
	struct sfs_receiver_settings settings = {.source = url,
						 .ring = {.path = ring, .n_slots = 3},
						 .give_up_ms = 20000,
						 .stop_fd = 0};
	struct sfs_receiver *r;
	struct sfs_error err = {0};
	int ret;

	if (ops->open(&settings, &r, &err) < 0)
		return fail(&err);
	ret = ops->run(r, &err);
	ops->close(r);
	return ret == -ECANCELED ? 0 : fail(&err);
}

static void print_batch(const struct shufflefs_layout *layout,
			const struct shufflefs_batch *batch)
{
	uint32_t i, j, label;

	CHECK_EQ(layout->n_tensors, 2);
	CHECK_STR(layout->tensors[0].dtype, "u1");
	CHECK_STR(layout->tensors[1].dtype, "i4");
	for (i = 0; i < batch->n_samples; i++) {
		const unsigned char *row = sfs_layout_row(layout, 0, i, batch->data);

		memcpy(&label, sfs_layout_row(layout, 1, i, batch->data), sizeof label);
		for (j = 0; j < 15; j++)
			CHECK_EQ(row[j], (unsigned char)(7 * label + j));
		printf("%u\n", label);
	}
}

static int consume(const char *path, uint32_t n)
{
	struct shufflefs_ring *ring;
	struct shufflefs_batch batch;

	if (shufflefs_ring_attach(path, 20000, &ring) < 0)
		printf("%s\n", shufflefs_ring_error(ring));
	for (; n; n--) {
		if (shufflefs_ring_next(ring, 20000, &batch) != 1) {
			fprintf(stderr, "%s\n", shufflefs_ring_error(ring));
			return 1;
		}
		print_batch(shufflefs_ring_layout(ring), &batch);
		CHECK_EQ(shufflefs_ring_release(ring, batch.seq), 0);
	}
	shufflefs_ring_detach(ring);
	return 0;
}

int main(int argc, char **argv)
{
	const struct sfs_transport_ops *sender;
	const struct sfs_receiver_ops *receiver;
	void *plugin;

	CHECK(argc >= 5 && needed[0]);
	plugin = dlopen(argv[1], RTLD_NOW);
	if (!plugin)
		fprintf(stderr, "%s\n", dlerror());
	CHECK(plugin);
	sender = dlsym(plugin, "sfs_transport_plugin");
	receiver = dlsym(plugin, "sfs_receiver_plugin");
	CHECK(sender && sender->version == SFS_TRANSPORT_VERSION);
	CHECK(receiver && receiver->version == SFS_RECEIVER_VERSION);
	if (strcmp(argv[2], "send") == 0)
		return send_batches(sender, argv[3], (uint32_t)atoi(argv[4]),
				    (uint32_t)atoi(argv[5]));
	if (strcmp(argv[2], "recv") == 0)
		return receive(receiver, argv[3], argv[4]);
	if (strcmp(argv[2], "consume") == 0)
		return consume(argv[3], (uint32_t)atoi(argv[4]));
	return refuse(sender, argv[3], argv[4]);
}
