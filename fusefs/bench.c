/* SPDX-License-Identifier: MIT */
/* How this works: bench-source.h and bench-order.h measure without a mount.  Then a
 * thread reads a temporary mount, because a read may take as long as the source does,
 * while this thread shows progress and waits for signals.  After a signal, it stops the
 * daemon first: that ends the read.
 *
 * Each stage reads another epoch, so that it does not find pages of the stage before. */
#include "bench.h"

#include "temp-mount.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/threadpool.h"
#include "cli/bench-order.h"
#include "cli/bench-source.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define READ_BYTES   ((size_t)1 << 20)
#define ALIGNMENT    4096
#define MOST_THREADS 4

enum { EPOCH_SOURCE, EPOCH_ORDER, EPOCH_MOUNT };

/* A way to read a mounted stream. */
struct kind {
	enum sfs_bench_stage stage;
	int flags, n_threads;
};

struct reader {
	char *path;
	const struct kind *kind;
	uint64_t most; /* bytes to read; only zeros follow */
	int fd;
	int event_fd; /* signals the first byte, and the end */
	_Atomic uint64_t next, n_bytes;
	atomic_bool is_stopping, is_done;
	atomic_int err;
};

struct bench {
	const struct sfs_bench_options *wanted;
	struct sfs_bench_run run;
	struct sfs_bench_facts facts;
	char *absent; /* why there is no mount */
	struct sfs_temp_mount mount;
};

/* ---- reading a mounted stream ---- */

/* Read the next MiB.  false: that was the end. */
static bool read_one(struct reader *r, char *buffer)
{
	uint64_t at = atomic_fetch_add(&r->next, READ_BYTES);
	ssize_t n;

	if (at >= r->most)
		return false;
	n = pread(r->fd, buffer, READ_BYTES, (off_t)at);
	if (n < 0) {
		atomic_store(&r->err, -errno);
		atomic_store(&r->is_stopping, true);
	}
	if (n <= 0)
		return false;
	if (atomic_fetch_add(&r->n_bytes, (uint64_t)n) == 0)
		eventfd_write(r->event_fd, 1);
	return true;
}

/* One of the threads that read together; each has a read in flight. */
static void *read_on(void *arg)
{
	struct reader *r = arg;
	sfs_autofree char *buffer = NULL;

	if (posix_memalign((void **)&buffer, ALIGNMENT, READ_BYTES) != 0) {
		atomic_store(&r->err, -ENOMEM);
		return NULL;
	}
	while (!atomic_load(&r->is_stopping) && read_one(r, buffer))
		;
	return NULL;
}

static void read_together(struct reader *r)
{
	pthread_t others[MOST_THREADS - 1];
	int i, n = r->kind->n_threads - 1;

	for (i = 0; i < n; i++)
		others[i] = sfs_thread_start("sfs-bench", read_on, r);
	read_on(r);
	for (i = 0; i < n; i++)
		pthread_join(others[i], NULL);
}

static void *run_reader(void *arg)
{
	struct reader *r = arg;

	r->fd = open(r->path, O_RDONLY | O_CLOEXEC | r->kind->flags);
	if (r->fd < 0) {
		atomic_store(&r->err, -errno);
	} else {
		read_together(r);
		close(r->fd);
	}
	atomic_store(&r->is_done, true);
	eventfd_write(r->event_fd, 1);
	return NULL;
}

static struct sfs_cpu cpu(struct bench *b)
{
	struct sfs_cpu cpu = sfs_bench_cpu();

	cpu.own_s += sfs_temp_mount_cpu_s(&b->mount);
	return cpu;
}

/* A mount does not say how full its buffer is: assume that filling it takes as long as in
 * the stage before. */
static bool is_filling(const struct bench *b, const struct sfs_ratemeter *m,
		       uint64_t now_ns)
{
	double gone_s = (double)(now_ns - m->first_ns) / SFS_NS_PER_S;

	return m->first_ns && gone_s < b->facts.fill_s;
}

/* Wait until the time is up or the reader has ended; -EINTR, -ECHILD. */
static int watch(struct bench *b, enum sfs_bench_stage stage, struct reader *r,
		 struct sfs_ratemeter *m)
{
	eventfd_t n;
	uint64_t now_ns;
	bool is_done;
	int ret;

	do {
		ret = sfs_temp_mount_wait(&b->mount, r->event_fd, SFS_BENCH_LOOK_MS);
		eventfd_read(r->event_fd, &n);
		is_done = atomic_load(&r->is_done);
		now_ns = sfs_clock_ns();
		m->is_filling = is_filling(b, m, now_ns);
		sfs_ratemeter_mark(m, now_ns, atomic_load(&r->n_bytes), cpu(b));
		sfs_bench_show(&b->run, stage, m);
	} while (ret == 0 && !is_done && !sfs_ratemeter_is_over(m, now_ns));
	return ret;
}

static int bench_explain(struct bench *b, const struct reader *r, int err,
			 struct sfs_error *ret_err)
{
	sfs_autofree char *words = sfs_temp_mount_last_words(&b->mount);

	if (err == -ECHILD)
		return sfs_error_set(ret_err, err, "the daemon of the mount exited%s%s",
				     *words ? ": " : "", words);
	return sfs_error_set(ret_err, err, "%s: read error at byte %" PRIu64 ": %s%s%s%s",
			     strstr(r->path, "epochs/"), atomic_load(&r->n_bytes),
			     strerror(-err), *words ? " (" : "", words,
			     *words ? ")" : "");
}

/* Read an epoch of the mount for a stage; *m was begun. */
static int measure_reader(struct bench *b, const struct kind *kind, uint64_t epoch,
			  struct sfs_ratemeter *m, struct sfs_error *err)
{
	struct reader r = {.path = sfs_asprintf("%s/epochs/%" PRIu64 ".tar",
						b->mount.folder, epoch),
			   .kind = kind,
			   .most = b->facts.epoch_bytes ? b->facts.epoch_bytes
							: UINT64_MAX,
			   .event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
	pthread_t thread;
	bool has_ended;
	int ret;

	thread = sfs_thread_start("sfs-bench", run_reader, &r);
	ret = watch(b, kind->stage, &r, m);
	has_ended = atomic_load(&r.is_done);
	atomic_store(&r.is_stopping, true);
	if (ret < 0)
		sfs_temp_mount_end(&b->mount); /* ends the read */
	pthread_join(thread, NULL);
	if (ret == 0 && has_ended)
		ret = r.err;
	if (ret == 0)
		b->facts.rates[kind->stage] = sfs_ratemeter_end(m, has_ended, 0);
	else if (ret == -EINTR)
		sfs_error_set(err, ret, "interrupted");
	else
		bench_explain(b, &r, ret, err);
	close(r.event_fd);
	free(r.path);
	return ret;
}

/* First with large direct reads, one after the other; then in other ways, for half the
 * time each. */
static int measure_mount(struct bench *b, struct sfs_ratemeter *m, struct sfs_error *err)
{
	static const struct kind kinds[] = {{SFS_BENCH_STAGE_MOUNT, O_DIRECT, 1},
					    {SFS_BENCH_STAGE_MOUNT2, O_DIRECT, 2},
					    {SFS_BENCH_STAGE_MOUNT4, O_DIRECT, 4},
					    {SFS_BENCH_STAGE_CACHED, 0, 1}};
	size_t i;
	int ret = 0;

	for (i = 0; ret == 0 && i < SFS_COUNT(kinds); i++) {
		if (i > 0)
			sfs_ratemeter_begin(m, b->run.wanted_ns / 2, sfs_clock_ns(),
					    cpu(b));
		ret = measure_reader(b, &kinds[i], EPOCH_MOUNT + i, m, err);
	}
	return ret;
}

/* If nothing can be mounted, that is no error: the report says so. */
static int stage_mount(struct bench *b, struct sfs_error *err)
{
	struct sfs_error why = {0};
	struct sfs_ratemeter meter;
	int ret;

	sfs_ratemeter_begin(&meter, b->run.wanted_ns, sfs_clock_ns(), sfs_bench_cpu());
	sfs_bench_show(&b->run, SFS_BENCH_STAGE_MOUNT, &meter);
	ret = sfs_temp_mount_start(&b->mount, &b->wanted->mount, &why);
	if (ret == 0)
		ret = measure_mount(b, &meter, err);
	else if (ret == -EINTR)
		sfs_error_set(err, ret, "interrupted");
	else
		b->absent = sfs_strdup(why.text);
	sfs_progress_clear(&b->run.progress);
	sfs_temp_mount_stop(&b->mount);
	b->facts.absent[SFS_BENCH_STAGE_MOUNT] = b->absent;
	if (b->mount.interrupted_by)
		raise(b->mount.interrupted_by);
	return b->absent ? 0 : ret;
}

/* ---- all stages ---- */

static int run_stages(struct bench *b, struct sfs_error *err)
{
	const bool *wants = b->wanted->wants;
	int ret;

	ret = sfs_bench_source(&b->run, !wants[SFS_BENCH_STAGE_SOURCE], &b->facts, err);
	if (ret == 0 && wants[SFS_BENCH_STAGE_ORDER])
		ret = sfs_bench_order(&b->run, EPOCH_ORDER, &b->facts, err);
	sfs_progress_clear(&b->run.progress);
	if (ret == 0 && wants[SFS_BENCH_STAGE_MOUNT])
		ret = stage_mount(b, err);
	return ret;
}

static bool has_measured(const struct sfs_bench_facts *facts)
{
	int i, n = 0;

	for (i = 0; i < SFS_BENCH_N_STAGES; i++)
		n += facts->rates[i].is_there;
	return n > 0;
}

int sfs_bench(struct sfs_options *options, const struct sfs_strings *specs,
	      const struct sfs_bench_options *wanted, struct sfs_strbuf *text,
	      struct sfs_error *err)
{
	struct bench b = {.wanted = wanted,
			  .run = {.options = options,
				  .specs = specs,
				  .wanted_ns = wanted->seconds * SFS_NS_PER_S},
			  .facts = {.wanted_s = wanted->seconds}};
	int ret;

	sfs_progress_init(&b.run.progress, STDERR_FILENO);
	ret = run_stages(&b, err);
	if (ret == 0 && !has_measured(&b.facts) && b.absent)
		ret = sfs_error_set(err, -EOPNOTSUPP, "cannot mount: %s", b.absent);
	if (ret == 0 || has_measured(&b.facts)) {
		if (wanted->as_json)
			sfs_bench_report_json(&b.facts, text);
		else
			sfs_bench_report_table(&b.facts, text);
	}
	free((char *)b.facts.dataset);
	free(b.absent);
	return ret;
}
