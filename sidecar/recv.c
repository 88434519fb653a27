/* SPDX-License-Identifier: MIT */
/* How this works: a thread runs the receiver; the main thread waits for its end, a
 * signal, or the next second to report.  With --show, a third is a consumer of the ring:
 * it draws the first batch that it gets, and stops the receiver. */
#include "command.h"
#include "options/options.h"
#include "ring/device.h"
#include "decode/png-sheet.h"
#include "transport/receiver.h"
#include "transport/secret.h"
#include "report.h"

#include "shufflefs/ring.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/threadpool.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define SHOW_SLICE_MS 100
#define DRAIN_NS      (10 * SFS_NS_PER_S) /* of what is in the ring when it is stopped */

struct recv {
	struct sfs_receiver_settings settings;
	const struct sfs_receiver_ops *ops;
	const char *show; /* NULL: nothing */
	bool wants_help;
	const char *secret_file; /* NULL: none */
	struct sfs_secret secret;
	struct sfs_report_outputs outputs;

	struct sfs_receiver *receiver;
	int ended_fd; /* an eventfd: the receiver's thread has ended */
	int ret;      /* of that thread, with its error */
	struct sfs_error err;
	uint64_t begin_ns;
	bool has_signal;
	const char *placement; /* that was told; NULL: none yet */
	atomic_bool has_ended; /* tells the thread of --show */
	int show_ret;	       /* with its error */
	struct sfs_error show_err;
};

/* ---- --show */

/* The first batch.  -ECANCELED: the receiver has ended before. */
static int take_first(struct recv *r, struct shufflefs_ring *ring,
		      struct shufflefs_batch *ret_batch)
{
	int ret;

	do
		ret = shufflefs_ring_next(ring, SHOW_SLICE_MS, ret_batch);
	while ((ret == -ETIMEDOUT || ret == -EINTR) && !r->has_ended);
	if (ret == 1)
		return 0;
	if (ret == 0 || ret == -ETIMEDOUT || ret == -EINTR)
		return sfs_error_set(&r->show_err, -ECANCELED, "no batch came");
	return sfs_error_set(&r->show_err, ret, "%s", shufflefs_ring_error(ring));
}

static int show_batch(struct recv *r)
{
	struct shufflefs_ring *ring = NULL;
	struct shufflefs_batch batch;
	int ret;

	/* (Before there is a ring of ours, the path may be another's.) */
	while (!r->ops->ring(r->receiver) && !r->has_ended)
		poll(NULL, 0, SHOW_SLICE_MS / 5);
	if (!r->ops->ring(r->receiver))
		return sfs_error_set(&r->show_err, -ECANCELED, "no batch came");
	ret = shufflefs_ring_attach(r->settings.ring.path, 5000, &ring);
	if (ret < 0)
		sfs_error_set(&r->show_err, ret, "%s", shufflefs_ring_error(ring));
	else
		ret = take_first(r, ring, &batch);
	if (ret == 0)
		ret = sfs_png_sheet_write(r->show, shufflefs_ring_layout(ring), &batch,
					  &r->show_err);
	shufflefs_ring_detach(ring);
	return ret;
}

static void *run_show(void *arg)
{
	struct recv *r = arg;

	r->show_ret = show_batch(r);
	eventfd_write(r->settings.stop_fd, 1);
	return NULL;
}

/* ---- reports */

/* Where it listens: with the port that it got. */
static void announce(struct recv *r)
{
	struct sfs_strbuf text = {0};
	struct sfs_json_writer writer = {.text = &text};
	struct sfs_json json;
	bool is_source = false;
	enum sfs_json_token token;

	sfs_json_open(&writer, NULL, '{');
	r->ops->describe(r->receiver, &writer);
	sfs_json_close(&writer, '}');
	sfs_json_init(&json, text.s, text.n);
	while ((token = sfs_json_next(&json)) > SFS_JSON_END) {
		if (token == SFS_JSON_STRING && is_source)
			fprintf(stderr, "recv: waiting for senders on %s\n", json.text.s);
		is_source = token == SFS_JSON_KEY && sfs_json_is(&json, "source");
	}
	sfs_json_done(&json);
	sfs_strbuf_done(&text);
}

/* Where batches lie, and how they come there, once it is known or changes. */
static void announce_placement(struct recv *r, const struct sfs_ring_progress *p)
{
	if (!p->placement || (r->placement && strcmp(p->placement, r->placement) == 0))
		return;
	r->placement = p->placement;
	if (strcmp(p->memory, "host") != 0)
		fprintf(stderr, "recv: batches lie in %s %s; placement: %s\n", p->memory,
			p->device, p->placement);
}

static void report(struct recv *r, const char *state, const char *error)
{
	struct sfs_ring *ring = r->ops->ring(r->receiver);
	struct sfs_ring_progress p = {0};
	struct sfs_report report = {.role = "recv", .error = error};

	if (ring)
		sfs_ring_look(ring, &p);
	report.state = state ? state : ring ? "streaming" : "connecting";
	report.n_batches = p.n_batches;
	report.n_samples = p.n_samples;
	report.n_bytes = p.n_bytes;
	report.next = p.next;
	report.n_refused = r->ops->refused(r->receiver);
	report.seconds = (double)sfs_clock_between(r->begin_ns, sfs_clock_ns()) / 1e9;
	report.n_waits = 1;
	report.waits[0] = (struct sfs_report_wait){"trainer", p.full_ns};
	report.memory = p.memory;
	report.device = p.device;
	report.placement = p.placement;
	if (ring)
		announce_placement(r, &p);
	sfs_report_write(&r->outputs, &report, state != NULL);
}

/* ---- running */

/* A stop is the end of an endless source: trainers get what is in the ring. */
static void drain(struct recv *r)
{
	struct sfs_ring *ring = r->ops->ring(r->receiver);
	uint64_t until_ns = sfs_clock_ns() + DRAIN_NS;
	struct sfs_ring_progress p = {0};

	if (ring)
		sfs_ring_look(ring, &p);
	while (p.n_batches > 0 && sfs_ring_alone_ms(ring) == 0 &&
	       sfs_clock_ns() < until_ns &&
	       sfs_ring_wait_consumed(ring, p.n_batches - 1, 100, NULL) == -ETIMEDOUT)
		;
}

static void *run_receiver(void *arg)
{
	struct recv *r = arg;

	r->ret = r->ops->run(r->receiver, &r->err);
	r->has_ended = true;
	eventfd_write(r->ended_fd, 1);
	return NULL;
}

/* Until the thread has ended. */
static void watch(struct recv *r, int signal_fd)
{
	struct pollfd fds[2] = {{.fd = r->ended_fd, .events = POLLIN},
				{.fd = signal_fd, .events = POLLIN}};

	for (;;) {
		poll(fds, 2, 1000);
		if (fds[0].revents)
			return;
		if (fds[1].revents) {
			r->has_signal = true;
			eventfd_write(r->settings.stop_fd, 1);
			fds[1].fd = -1;
		}
		report(r, NULL, NULL);
	}
}

/* What the command says and returns, after all threads have ended. */
static int conclude(struct recv *r)
{
	bool is_shown = r->show && r->show_ret == 0;

	if (r->ret == -ECANCELED && (is_shown || (r->has_signal && r->ops->is_endless)))
		r->ret = 0;
	if (r->ret == -ECANCELED && r->show)
		sfs_error_set(&r->err, r->ret, "%s", r->show_err.text);
	else if (r->ret == -ECANCELED)
		sfs_error_set(&r->err, r->ret,
			      "stopped by a signal before all senders had ended");
	else if (r->ret == 0 && r->show && !is_shown)
		r->ret = sfs_error_set(&r->err, r->show_ret, "%s", r->show_err.text);
	if (r->ret < 0)
		sfs_error("%s", r->err.text);
	report(r, r->ret < 0 ? "failed" : "done", r->ret < 0 ? r->err.text : NULL);
	return r->ret < 0;
}

static int receive(struct recv *r, int signal_fd)
{
	pthread_t receiver, show = 0;
	int status;

	if (r->ops->open(&r->settings, &r->receiver, &r->err) < 0) {
		sfs_error("%s", r->err.text);
		return 1;
	}
	announce(r);
	receiver = sfs_thread_start("receiver", run_receiver, r);
	if (r->show)
		show = sfs_thread_start("show", run_show, r);
	watch(r, signal_fd);
	pthread_join(receiver, NULL);
	if (r->show)
		pthread_join(show, NULL);
	if (r->ops->is_endless && r->ret == -ECANCELED)
		drain(r);
	status = conclude(r);
	r->ops->close(r->receiver);
	return status;
}

static int receive_all(struct recv *r)
{
	sigset_t stops;
	int signal_fd, status;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&stops);
	sigaddset(&stops, SIGINT);
	sigaddset(&stops, SIGTERM);
	sigprocmask(SIG_BLOCK, &stops, NULL);
	signal_fd = signalfd(-1, &stops, SFD_CLOEXEC);
	r->ended_fd = eventfd(0, EFD_CLOEXEC);
	r->settings.stop_fd = eventfd(0, EFD_CLOEXEC);
	r->begin_ns = sfs_clock_ns();
	if (signal_fd < 0 || r->ended_fd < 0 || r->settings.stop_fd < 0) {
		sfs_error("cannot wait for signals: %s", strerror(errno));
		return 1;
	}
	status = receive(r, signal_fd);
	close(signal_fd);
	close(r->ended_fd);
	close(r->settings.stop_fd);
	return status;
}

/* ---- the command line */

static bool refuse(const char *option, const struct sfs_error *err)
{
	sfs_error("%s%s", option, err->text);
	return false;
}

static void take_numbers(struct recv *r, const struct sfs_sidecar_values *v)
{
	struct sfs_ring_settings *ring = &r->settings.ring;

	if (v->is_given[SFS_SIDECAR_SLOTS])
		ring->n_slots = (uint32_t)v->numbers[SFS_SIDECAR_SLOTS];
	if (v->is_given[SFS_SIDECAR_SENDERS])
		r->settings.n_senders = (uint32_t)v->numbers[SFS_SIDECAR_SENDERS];
	if (v->is_given[SFS_SIDECAR_GIVE_UP])
		r->settings.give_up_ms = (uint32_t)v->numbers[SFS_SIDECAR_GIVE_UP] * 1000;
	if (v->is_given[SFS_SIDECAR_HUNG])
		ring->hung_ms = (uint32_t)v->numbers[SFS_SIDECAR_HUNG] * 1000;
	r->outputs.stats_s = (uint32_t)v->numbers[SFS_SIDECAR_STATS];
}

/* What was given replaces what is the default. */
static bool take_values(struct recv *r, const struct sfs_sidecar_values *v)
{
	static const enum sfs_ring_placement placements[] = {SFS_RING_AUTO,
							     SFS_RING_DIRECT,
							     SFS_RING_STAGED};
	struct sfs_ring_settings *ring = &r->settings.ring;
	struct sfs_error err = {0};

	take_numbers(r, v);
	r->outputs.metrics = v->texts[SFS_SIDECAR_METRICS];
	r->show = v->texts[SFS_SIDECAR_SHOW];
	r->secret_file = v->texts[SFS_SIDECAR_SECRET];
	r->settings.is_insecure = v->is_given[SFS_SIDECAR_INSECURE];
	r->wants_help = v->is_given[SFS_SIDECAR_HELP];
	ring->path = v->texts[SFS_SIDECAR_RING];
	ring->memory = v->texts[SFS_SIDECAR_MEMORY];
	ring->policy =
		(enum sfs_ring_policy)v->numbers[SFS_SIDECAR_ON_DEATH]; /* 0: fail */
	ring->placement = placements[v->numbers[SFS_SIDECAR_PLACEMENT]]; /* 0: auto */
	if (ring->memory && sfs_device_check_name(ring->memory, &err) < 0)
		return refuse("--memory: ", &err);
	return true;
}

static bool is_on_host(const struct recv *r)
{
	const char *memory = r->settings.ring.memory;

	return !memory || strcmp(memory, "host") == 0;
}

/* Can it be so with this memory and this source? */
static bool check_placement(struct recv *r)
{
	enum sfs_ring_placement *placement = &r->settings.ring.placement;

	if (is_on_host(r) && *placement != SFS_RING_AUTO) {
		sfs_error("--placement is for a ring in a GPU's memory: add --memory "
			  "cuda, or leave it out");
		return false;
	}
	if (!r->ops->has_direct && *placement == SFS_RING_DIRECT) {
		sfs_error("--placement direct: only senders of rdma:// can write into a "
			  "GPU's memory, not those of %s",
			  r->settings.source);
		return false;
	}
	if (is_on_host(r) || !r->ops->has_direct)
		*placement = SFS_RING_STAGED;
	return true;
}

static bool take_secret(struct recv *r)
{
	struct sfs_error err = {0};

	if (!r->secret_file)
		return true;
	if (r->settings.is_insecure) {
		sfs_error("--insecure and --secret-file exclude each other: leave one "
			  "out");
		return false;
	}
	r->settings.secret = &r->secret;
	if (sfs_secret_read(r->secret_file, &r->secret, &err) == 0)
		return true;
	sfs_error("%s", err.text);
	return false;
}

static bool parse(struct recv *r, int argc, char **argv)
{
	struct sfs_sidecar_values v = {0};
	struct sfs_error err = {0};
	int first = sfs_command_options(SFS_SIDECAR_RECV, argc, argv, &v);

	if (first < 0 || !take_values(r, &v))
		return false;
	if (r->wants_help)
		return true;
	if (argc - first != 1 || !r->settings.ring.path) {
		sfs_command_misused(&sfs_recv_command);
		return false;
	}
	if (r->show && !is_on_host(r)) {
		sfs_error(
			"--show needs batches in the host's memory: leave out --memory");
		return false;
	}
	r->settings.source = argv[first];
	if (sfs_receiver_find(r->settings.source, &r->ops, &err) < 0) {
		sfs_error("%s", err.text);
		return false;
	}
	return check_placement(r) && take_secret(r);
}

static int run_recv(int argc, char **argv)
{
	struct recv r = {
		.outputs.json_fd = -1,
		.settings = {.n_senders = 1,
			     .give_up_ms = 60000,
			     .ring = {.placement = SFS_RING_AUTO,
				      .n_slots = 4,
				      .hung_ms = 30000}},
	};

	if (!parse(&r, argc, argv))
		return 2;
	return r.wants_help ? sfs_command_help(&sfs_recv_command) : receive_all(&r);
}

/* clang-format off: a line here is a line there */
const struct sfs_command sfs_recv_command = {
	"recv",
	"SOURCE --ring=PATH [OPTION...]\n",
	"Receive batches of tensors into a ring, where trainers take them.\n"
	"\n"
	"  SOURCE       tcp://HOST:PORT or rdma://HOST:PORT, an address of this host;\n"
	"               zpull://HOST:PORT and its like, ZeroMQ\n",
	SFS_SIDECAR_RECV,
	run_recv,
};
/* clang-format on */
