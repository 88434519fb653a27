/* SPDX-License-Identifier: MIT */
/* How this works: a thread runs the batcher for each FILE in turn, or, to samples:, what
 * gives samples; the main thread waits for its end, a signal, or the next second to
 * report. */
#include "batch.h"
#include "command.h"
#include "options/options.h"
#include "report.h"
#include "samples/samples.h"
#include "transport/secret.h"
#include "transport/transport.h"

#include "base/alloc.h"
#include "base/checksum.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/rng.h"
#include "base/threadpool.h"
#include "memory/limit.h"
#include "order/name.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define PIPE_BYTES (1 << 20)
#define STOP_MS	   20 /* a stop is said again and again */

#define LARGE_BYTES	    (4 << 20)
#define MEMORY_SHARE	    4	  /* of what the control group has; as a mount's */
#define MAX_SKIP_MILLIONTHS 10000 /* 1 % */

struct send {
	struct sfs_batch_settings batch;
	struct sfs_spec spec;
	bool has_spec, wants_help;
	const char *fields;	  /* its text */
	const char *secret_file;  /* NULL: none */
	struct sfs_secret secret;
	uint64_t epoch;		  /* of a FILE whose name does not tell */
	int stream_fd;		  /* -1: open FILE */
	enum sfs_input_kind kind; /* of stream_fd */
	struct sfs_report_outputs outputs;
	char **files;
	int n_files;

	struct sfs_batcher *batcher; /* or: */
	struct sfs_samples *samples;
	int ended_fd; /* an eventfd: the thread has ended */
	_Atomic int is_draining;
	int ret; /* of the thread, with its error */
	struct sfs_error err;
	uint64_t begin_ns;
};

/* ---- streams ---- */

/* The part of a path after its last "epochs/" tells epoch and first sample. */
static bool parse_name(const char *path, struct sfs_name *ret)
{
	const char *at = NULL, *p = path;
	sfs_autofree char *copy = NULL;
	struct sfs_name name, *folder = NULL;
	char *word, *rest;

	while ((p = strstr(p, "epochs/")) != NULL)
		at = p += strlen("epochs/");
	if (!at)
		return false;
	copy = sfs_strdup(at);
	for (word = strtok_r(copy, "/", &rest); word; word = strtok_r(NULL, "/", &rest)) {
		if (sfs_name_parse(folder, word, &name) < 0)
			return false;
		folder = &name;
	}
	if (!folder || name.is_folder || name.is_order || name.is_index)
		return false;
	*ret = name;
	return true;
}

static int open_stream(const struct send *s, const char *path, struct sfs_error *err)
{
	int fd;

	if (s->stream_fd >= 0)
		return s->stream_fd;
	if (strcmp(path, "-") == 0)
		return STDIN_FILENO;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return sfs_error_set(err, -errno, "cannot open: %s", strerror(errno));
	return fd;
}

static int send_file(struct send *s, int i, struct sfs_error *err)
{
	struct sfs_name name = {.epoch = s->epoch + (uint64_t)i};
	int fd, ret;

	parse_name(s->files[i], &name);
	fd = open_stream(s, s->files[i], err);
	if (fd < 0)
		return sfs_error_wrap(err, fd, "%s", s->files[i]);
	fcntl(fd, F_SETPIPE_SZ, PIPE_BYTES); /* if it is a pipe, a large one */
	if (s->samples)
		ret = sfs_samples_run(s->samples, fd, s->kind, name.epoch, name.first,
				      err);
	else
		ret = sfs_batcher_run(s->batcher, fd, s->kind, name.epoch, name.first,
				      err);
	if (fd != s->stream_fd && fd != STDIN_FILENO)
		close(fd);
	return ret < 0 ? sfs_error_wrap(err, ret, "%s", s->files[i]) : 0;
}

static void *send_run(void *arg)
{
	struct send *s = arg;
	int i;

	for (i = 0; i < s->n_files && s->ret == 0; i++)
		s->ret = send_file(s, i, &s->err);
	s->is_draining = 1;
	if (s->ret == 0)
		s->ret = s->samples ? sfs_samples_finish(s->samples, &s->err)
				    : sfs_batcher_finish(s->batcher, &s->err);
	if (s->ret < 0 && s->samples)
		sfs_samples_fail(s->samples, s->err.text);
	eventfd_write(s->ended_fd, 1);
	return NULL;
}

/* ---- reports ---- */

/* Returns whether it is open. */
static bool report_batches(struct send *s, struct sfs_report *r,
			   struct sfs_json_writer *json)
{
	struct sfs_batch_progress p;

	sfs_batcher_look(s->batcher, &p);
	r->n_batches = p.n_batches;
	r->n_samples = p.n_samples;
	r->n_skipped = p.n_skipped;
	r->n_bytes = p.n_bytes;
	r->next = p.next;
	r->n_waits = SFS_BATCH_WAITS;
	r->waits[0] = (struct sfs_report_wait){"reader", p.wait_ns[SFS_BATCH_READER]};
	r->waits[1] = (struct sfs_report_wait){"decoder", p.wait_ns[SFS_BATCH_DECODER]};
	r->waits[2] =
		(struct sfs_report_wait){"transport", p.wait_ns[SFS_BATCH_TRANSPORT]};
	sfs_batcher_describe(s->batcher, json);
	return p.is_open;
}

static bool report_samples(struct send *s, struct sfs_report *r,
			   struct sfs_json_writer *json)
{
	struct sfs_samples_status p;

	sfs_samples_look(s->samples, &p);
	r->has_no_batches = true;
	r->n_samples = p.given.n_samples;
	r->n_skipped = p.n_skipped;
	r->n_bytes = p.given.n_bytes;
	r->next = p.given.next;
	r->n_waits = SFS_SAMPLES_WAITS;
	r->waits[0] = (struct sfs_report_wait){"reader", p.wait_ns[SFS_SAMPLES_READER]};
	r->waits[1] =
		(struct sfs_report_wait){"trainers", p.wait_ns[SFS_SAMPLES_TRAINERS]};
	sfs_samples_describe(s->samples, json);
	return p.given.is_attached;
}

static void stop(struct send *s)
{
	if (s->samples)
		sfs_samples_stop(s->samples);
	else
		sfs_batcher_stop(s->batcher);
}

/* Who started this is gone.  Samples that a mount has handed out are whole without it. */
static void end_reports(struct send *s)
{
	if (s->samples)
		s->outputs.json_fd = -1;
	else
		stop(s);
}

static void report(struct send *s, const char *state, const char *error)
{
	struct sfs_report r = {.role = "send", .error = error};
	struct sfs_strbuf transport = {0};
	struct sfs_json_writer json = {.text = &transport};
	bool is_open =
		s->samples ? report_samples(s, &r, &json) : report_batches(s, &r, &json);

	r.state = state		   ? state
		  : s->is_draining ? "draining"
		  : is_open	   ? "streaming"
				   : "connecting";
	r.seconds = (double)sfs_clock_between(s->begin_ns, sfs_clock_ns()) / 1e9;
	r.transport = transport.s;
	if (sfs_report_write(&s->outputs, &r, state != NULL) == -EPIPE)
		end_reports(s);
	sfs_strbuf_done(&transport);
}

/* Until the thread has ended. */
static void watch(struct send *s, int signal_fd)
{
	struct pollfd fds[2] = {{.fd = s->ended_fd, .events = POLLIN},
				{.fd = signal_fd, .events = POLLIN}};

	for (;;) {
		poll(fds, 2, fds[1].fd < 0 ? STOP_MS : 1000);
		if (fds[0].revents)
			return;
		if (fds[1].revents || fds[1].fd < 0) {
			stop(s);
			fds[1].fd = -1;
		}
		if (fds[1].fd >= 0)
			report(s, NULL, NULL);
	}
}

static int open_target(struct send *s, struct sfs_error *err)
{
	const struct sfs_transport_settings *t = &s->batch.transport;
	struct sfs_samples_settings samples = {.target = t->target,
					       .on_consumer_death = t->on_consumer_death,
					       .give_up_ms = t->give_up_ms,
					       .skips = s->batch.skips,
					       .max_skip = s->batch.max_skip};

	if (sfs_samples_is_target(t->target))
		return sfs_samples_new(&samples, &s->samples, err);
	s->batcher = sfs_batcher_new(&s->batch);
	return 0;
}

static int send_all(struct send *s)
{
	pthread_t thread;
	sigset_t stops;
	int signal_fd;

	if (open_target(s, &s->err) < 0) {
		sfs_error("%s", s->err.text);
		return 1;
	}
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&stops);
	sigaddset(&stops, SIGINT);
	sigaddset(&stops, SIGTERM);
	sigprocmask(SIG_BLOCK, &stops, NULL);
	signal_fd = signalfd(-1, &stops, SFD_CLOEXEC);
	s->ended_fd = eventfd(0, EFD_CLOEXEC);
	s->begin_ns = sfs_clock_ns();
	if (signal_fd < 0 || s->ended_fd < 0) {
		sfs_error("cannot wait for signals: %s", strerror(errno));
		return 1;
	}
	thread = sfs_thread_start("committer", send_run, s);
	watch(s, signal_fd);
	pthread_join(thread, NULL);
	if (s->ret < 0)
		sfs_error("%s", s->err.text);
	report(s, s->ret < 0 ? "failed" : "done", s->ret < 0 ? s->err.text : NULL);
	sfs_batcher_free(s->batcher);
	sfs_samples_free(s->samples);
	close(s->ended_fd);
	close(signal_fd);
	return s->ret < 0;
}

/* ---- the command line ---- */

static bool parse_fields(struct send *s, const char *text)
{
	struct sfs_error err = {0};

	s->has_spec = text != NULL;
	s->fields = text;
	if (!text || sfs_spec_parse(text, &s->spec, &err) == 0)
		return true;
	sfs_error("%s", err.text);
	return false;
}

/* What was given replaces what is the default. */
static void take_values(struct send *s, const struct sfs_sidecar_values *v)
{
	struct sfs_transport_settings *t = &s->batch.transport;

	if (v->is_given[SFS_SIDECAR_BATCH])
		s->batch.n_samples = (uint32_t)v->numbers[SFS_SIDECAR_BATCH];
	if (v->is_given[SFS_SIDECAR_WORKERS])
		s->batch.n_workers = (uint32_t)v->numbers[SFS_SIDECAR_WORKERS];
	if (v->is_given[SFS_SIDECAR_SLOTS])
		t->n_slots = (uint32_t)v->numbers[SFS_SIDECAR_SLOTS];
	if (v->is_given[SFS_SIDECAR_GIVE_UP])
		t->give_up_ms = (uint32_t)v->numbers[SFS_SIDECAR_GIVE_UP] * 1000;
	t->on_consumer_death =
		(enum sfs_ring_policy)v->numbers[SFS_SIDECAR_ON_DEATH]; /* 0: fail */
	if (v->is_given[SFS_SIDECAR_STREAM_FD])
		s->stream_fd = (int)v->numbers[SFS_SIDECAR_STREAM_FD];
	s->kind = SFS_INPUT_BYTES;
	if (v->is_given[SFS_SIDECAR_PIECES_FD]) {
		s->stream_fd = (int)v->numbers[SFS_SIDECAR_PIECES_FD];
		s->kind = SFS_INPUT_PIECES;
	}
	if (v->is_given[SFS_SIDECAR_REPORT_FD])
		s->outputs.json_fd = s->batch.report_fd =
			(int)v->numbers[SFS_SIDECAR_REPORT_FD];
	if (v->is_given[SFS_SIDECAR_MEMORY_SIZE])
		s->batch.memory = v->numbers[SFS_SIDECAR_MEMORY_SIZE];
	if (v->is_given[SFS_SIDECAR_MAX_SKIP])
		s->batch.max_skip = (uint32_t)v->numbers[SFS_SIDECAR_MAX_SKIP];
	s->secret_file = v->texts[SFS_SIDECAR_SECRET];
	t->seed = v->numbers[SFS_SIDECAR_SEED];
	t->has_crc = v->is_given[SFS_SIDECAR_CRC];
	s->epoch = v->numbers[SFS_SIDECAR_EPOCH];
	s->batch.drops_last = v->is_given[SFS_SIDECAR_DROP_LAST];
	s->batch.skips = v->numbers[SFS_SIDECAR_ON_ERROR] == SHUFFLEFS_ON_ERROR_SKIP;
	s->outputs.stats_s = (uint32_t)v->numbers[SFS_SIDECAR_STATS];
	s->outputs.metrics = v->texts[SFS_SIDECAR_METRICS];
	s->wants_help = v->is_given[SFS_SIDECAR_HELP];
}

static uint64_t sum(const char *text)
{
	return sfs_checksum(text, strlen(text));
}

/* All that batches depend on.  0: standard input may be any stream. */
static uint64_t name_stream(const struct send *s)
{
	uint64_t words[] = {sum(s->fields), s->batch.n_samples, s->batch.drops_last,
			    s->batch.skips, s->epoch,		s->batch.transport.seed};
	struct sfs_rng rng;
	int i;

	sfs_rng_init(&rng, words, SFS_COUNT(words));
	for (i = 0; i < s->n_files; i++) {
		if (strcmp(s->files[i], "-") == 0)
			return 0;
		sfs_rng_name(&rng, sum(s->files[i]));
	}
	return sfs_rng_next(&rng);
}

static bool take_secret(struct send *s)
{
	struct sfs_error err = {0};

	if (!s->secret_file)
		return true;
	s->batch.transport.secret = &s->secret;
	if (sfs_secret_read(s->secret_file, &s->secret, &err) == 0)
		return true;
	sfs_error("%s", err.text);
	return false;
}

/* All but the options was given. */
static bool check_arguments(struct send *s, const struct sfs_sidecar_values *v)
{
	const char *target = s->batch.transport.target;
	struct sfs_error err = {0};
	int ret;

	if (s->stream_fd >= 0 && s->n_files > 1) {
		sfs_error("--%s-fd has one FILE, not %d",
			  s->kind == SFS_INPUT_PIECES ? "pieces" : "stream", s->n_files);
		return false;
	}
	if (sfs_samples_is_target(target)) {
		ret = sfs_sidecar_options_check_samples(v, &err);
		if (ret == 0 && s->secret_file)
			ret = sfs_error_set(&err, -EINVAL,
					    "--secret-file is for targets on other "
					    "hosts; samples: is for trainers on this "
					    "one: leave it out");
	} else {
		s->batch.stream = name_stream(s);
		ret = sfs_transport_find(target, &s->batch.ops, &err);
	}
	if (ret < 0)
		sfs_error("%s", err.text);
	return ret == 0 && take_secret(s);
}

static bool parse(struct send *s, int argc, char **argv)
{
	struct sfs_sidecar_values v = {0};
	int first = sfs_command_options(SFS_SIDECAR_SEND, argc, argv, &v);

	if (first < 0)
		return false;
	take_values(s, &v);
	if (s->wants_help)
		return true;
	if (!parse_fields(s, v.texts[SFS_SIDECAR_FIELDS]))
		return false;
	s->files = argv + first;
	s->n_files = argc - first - 1;
	if (s->n_files < 1 || (!s->has_spec && !sfs_samples_is_target(argv[argc - 1]))) {
		sfs_command_misused(&sfs_send_command);
		return false;
	}
	s->batch.transport.target = argv[argc - 1];
	return check_arguments(s, &v);
}

static int run_send(int argc, char **argv)
{
	long n_cores = sysconf(_SC_NPROCESSORS_ONLN);
	struct send s = {
		.stream_fd = -1,
		.outputs.json_fd = -1,
		.batch = {.n_samples = 256,
			  .n_workers = n_cores > 0 ? (uint32_t)n_cores : 1,
			  .memory = sfs_memory_limit() / MEMORY_SHARE,
			  .max_skip = MAX_SKIP_MILLIONTHS,
			  .report_fd = -1,
			  .transport = {.n_slots = 4,
					.give_up_ms = 60000}},
	};
	int status = 2;

	/* What is freed goes back to the system.  By itself malloc() would soon keep blocks
	 * of this size, in each worker's arena. */
	mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
	s.batch.spec = &s.spec;
	if (parse(&s, argc, argv))
		status =
			s.wants_help ? sfs_command_help(&sfs_send_command) : send_all(&s);
	sfs_spec_done(&s.spec);
	return status;
}

/* clang-format off: a line here is a line there */
const struct sfs_command sfs_send_command = {
	"send",
	"FILE... TARGET --fields=SPEC [OPTION...]\n"
	"       shufflefs-sidecar send FILE... samples:PATH [OPTION...]\n",
	"Decode streams of samples, and send batches of tensors.\n"
	"\n"
	"  FILE         a stream of a mount (DIR/epochs/0.tar), or any tar of samples,\n"
	"               which is one epoch; - is standard input\n"
	"  TARGET       local:PATH, a ring on this host; tcp://HOST:PORT or\n"
	"               rdma://HOST:PORT, where recv runs; zpush://HOST:PORT and its\n"
	"               like, ZeroMQ; samples:PATH gives samples as they are\n",
	SFS_SIDECAR_SEND,
	run_send,
};
/* clang-format on */
