/* SPDX-License-Identifier: MIT */
/* How this works: the thread that runs reads samples one after the other, describes each
 * (samples-wire.h), and puts some at a time into the server's queue, at the latest before
 * it waits for bytes.  It reads no further while the queue is full, or the pool is.
 *
 * A reader lives until the last of its samples was released, which may be long after its
 * stream has ended: `source` counts them. */
#include "samples/samples.h"

#include "decode/sample.h"
#include "decode/skips.h"
#include "samples/samples-wire.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define SCHEME	     "samples:"
#define MEMORY_MIB   256
#define LEAST_MIB    16
#define MOST_MIB     (64 << 10)
#define SLICE_MS     500
#define PUT_SAMPLES  32
#define PUT_BYTES    (256U << 10)

enum { OURS, MOUNTS }; /* memories */

struct source {
	atomic_uint n_refs;
	struct sfs_sample_reader *reader;
};

struct item {
	struct sfs_samples_item base;
	struct sfs_sample *sample;
	struct source *source;
};

struct sfs_samples {
	struct sfs_samples_settings settings;
	struct sfs_pool *pool;
	uint64_t limit;
	struct sfs_samples_server *server;

	/* For the thread that runs. */
	struct sfs_samples_memory memories[SFS_SAMPLES_MEMORIES];
	uint32_t n_memories;
	uint64_t epoch;
	struct sfs_link items; /* to be put */
	uint32_t n_items;
	uint64_t n_items_bytes;
	struct sfs_skips skips;
	bool has_begun_late; /* behind the first sample of an epoch */

	atomic_bool is_stopped;
	_Atomic uint64_t n_read, n_skipped, n_shared_bytes, n_copied_bytes;
	_Atomic uint64_t wait_ns[SFS_SAMPLES_WAITS];
	_Atomic uint64_t waits_since_ns; /* 0: it does not wait */
	atomic_int waits_for;

	pthread_mutex_t lock; /* guards all below */
	struct sfs_sample_reader *reader;
	pthread_t reading;
};

/* ---- samples ---- */

static void unref(struct source *source)
{
	if (atomic_fetch_sub(&source->n_refs, 1) > 1)
		return;
	sfs_sample_reader_free(source->reader);
	free(source);
}

static void release(void *arg, struct sfs_samples_item *base)
{
	struct item *item = sfs_container(base, struct item, base);

	sfs_sample_free(item->sample);
	unref(item->source);
	free(item->base.wire);
	free(item);
}

static bool is_full(void *arg)
{
	struct sfs_samples *s = arg;

	return sfs_pool_used(s->pool) > s->limit;
}

/* ---- waiting ---- */

static void begin_wait(struct sfs_samples *s, int whom)
{
	atomic_store(&s->waits_for, whom);
	atomic_store(&s->waits_since_ns, sfs_clock_ns());
}

static void end_wait(struct sfs_samples *s)
{
	uint64_t since_ns = atomic_exchange(&s->waits_since_ns, 0);

	if (since_ns > 0)
		atomic_fetch_add(&s->wait_ns[atomic_load(&s->waits_for)],
				 sfs_clock_between(since_ns, sfs_clock_ns()));
}

static void put_items(struct sfs_samples *s)
{
	if (s->n_items > 0)
		sfs_samples_server_put(s->server, &s->items);
	s->n_items = 0;
	s->n_items_bytes = 0;
}

static void before_read(void *arg)
{
	struct sfs_samples *s = arg;

	put_items(s);
	end_wait(s);
	begin_wait(s, SFS_SAMPLES_READER);
}

static int wait_for_room(struct sfs_samples *s, struct sfs_error *err)
{
	int ret = sfs_samples_server_wait(s->server, 0, err);

	if (ret == -ETIMEDOUT)
		put_items(s);
	while (ret == -ETIMEDOUT) {
		begin_wait(s, SFS_SAMPLES_TRAINERS);
		ret = sfs_samples_server_wait(s->server, SLICE_MS, err);
		end_wait(s);
	}
	return ret;
}

/* ---- reading ---- */

/* Trainers get their hello when it is known where samples lie. */
static void begin(struct sfs_samples *s, const struct source *source)
{
	struct sfs_pool_memory ours;
	struct sfs_records_memory mounts;
	int fds[SFS_SAMPLES_MEMORIES];
	uint64_t n_bytes[SFS_SAMPLES_MEMORIES];
	uint32_t i;

	if (s->n_memories > 0)
		return;
	sfs_pool_look(s->pool, &ours);
	s->memories[OURS] = (struct sfs_samples_memory){ours.bytes, ours.n_bytes};
	fds[OURS] = ours.fd;
	s->n_memories = 1;
	if (source && sfs_sample_reader_memory(source->reader, &mounts)) {
		s->memories[MOUNTS] =
			(struct sfs_samples_memory){mounts.bytes, mounts.n_bytes};
		fds[MOUNTS] = mounts.fd;
		s->n_memories = 2;
	}
	for (i = 0; i < s->n_memories; i++)
		n_bytes[i] = s->memories[i].n_bytes;
	sfs_samples_server_begin(s->server, fds, n_bytes, s->n_memories);
}

static void count_bytes(struct sfs_samples *s, const struct sfs_sample *sample)
{
	const struct sfs_samples_memory *ours = &s->memories[OURS];
	uint64_t n_copied = 0;
	uint32_t i;

	for (i = 0; i < sample->n_fields; i++)
		if (sample->fields[i].bytes >= ours->bytes &&
		    sample->fields[i].bytes < ours->bytes + ours->n_bytes)
			n_copied += sample->fields[i].n_bytes;
	atomic_fetch_add(&s->n_copied_bytes, n_copied);
	atomic_fetch_add(&s->n_shared_bytes, sample->n_bytes - n_copied);
}

static int skip(struct sfs_samples *s, struct sfs_sample *sample, int code,
		struct sfs_error *err)
{
	sfs_sample_free(sample);
	if (!s->settings.skips)
		return code;
	atomic_fetch_add(&s->n_skipped, 1);
	sfs_skips_add(&s->skips, err);
	return sfs_skips_check(&s->skips, s->n_read, false, err);
}

/* Takes the sample. */
static int add(struct sfs_samples *s, struct source *source, struct sfs_sample *sample,
	       struct sfs_error *err)
{
	struct item *item;
	unsigned char *wire;
	size_t n_wire;
	int ret;

	ret = sfs_samples_pack(sample, s->epoch, s->memories, s->n_memories, &wire,
			       &n_wire, err);
	if (ret < 0)
		return skip(s, sample, ret, err);
	count_bytes(s, sample);
	item = sfs_calloc(1, sizeof *item);
	item->sample = sample;
	item->source = source;
	atomic_fetch_add(&source->n_refs, 1);
	item->base.wire = wire;
	item->base.n_wire = n_wire;
	item->base.n_bytes = sample->n_bytes;
	item->base.ordinal = sample->ordinal;
	sfs_list_push(&s->items, &item->base.link);
	s->n_items++;
	s->n_items_bytes += sample->n_bytes;
	atomic_fetch_add(&s->n_read, 1);
	if (s->n_items >= PUT_SAMPLES || s->n_items_bytes >= PUT_BYTES)
		put_items(s);
	return 0;
}

static int read_all(struct sfs_samples *s, struct source *source, struct sfs_error *err)
{
	struct sfs_sample *sample;
	int ret;

	do {
		ret = wait_for_room(s, err);
		if (ret < 0)
			return ret;
		ret = sfs_sample_next(source->reader, &sample, err);
		end_wait(s);
		begin(s, source);
		if (ret == 1 && add(s, source, sample, err) < 0)
			ret = -EIO;
	} while (ret == 1);
	return ret == 0 ? sfs_skips_check(&s->skips, s->n_read, true, err) : ret;
}

static void set_reader(struct sfs_samples *s, struct sfs_sample_reader *reader)
{
	pthread_mutex_lock(&s->lock);
	s->reader = reader;
	s->reading = pthread_self();
	pthread_mutex_unlock(&s->lock);
}

int sfs_samples_run(struct sfs_samples *s, int fd, enum sfs_input_kind kind,
		    uint64_t epoch, uint64_t first, struct sfs_error *err)
{
	struct source *source = sfs_calloc(1, sizeof *source);
	sigset_t wakes;
	int ret;

	sigemptyset(&wakes);
	sigaddset(&wakes, SIGUSR1); /* see sfs_sample_reader_stop() */
	s->epoch = epoch;
	s->has_begun_late |= first > 0;
	source->n_refs = 1;
	source->reader = sfs_sample_reader_new(fd, kind, first, before_read, s);
	set_reader(s, source->reader);
	pthread_sigmask(SIG_UNBLOCK, &wakes, NULL);
	ret = sfs_sample_reader_use_pool(source->reader, s->pool);
	if (ret < 0)
		sfs_error_set(err, ret, "no room in shared memory");
	else
		ret = read_all(s, source, err);
	put_items(s);
	set_reader(s, NULL);
	unref(source);
	if (ret < 0 && s->is_stopped)
		return sfs_error_set(err, -ECANCELED, "stopped");
	return ret;
}

/* ---- the end ---- */

int sfs_samples_finish(struct sfs_samples *s, struct sfs_error *err)
{
	int ret;

	if (s->n_read == 0 && s->n_skipped == 0 && s->has_begun_late)
		begin(s, NULL); /* who goes on at the end of an epoch has had it all */
	else if (s->n_read == 0)
		return sfs_error_set(err, -ENODATA,
				     "no sample was sent; %llu were skipped",
				     (unsigned long long)s->n_skipped);
	sfs_samples_server_end(s->server);
	do {
		begin_wait(s, SFS_SAMPLES_TRAINERS);
		ret = sfs_samples_server_finish(s->server, SLICE_MS, err);
		end_wait(s);
	} while (ret == -ETIMEDOUT && !s->is_stopped);
	if (s->is_stopped)
		return sfs_error_set(err, -ECANCELED, "stopped");
	return ret;
}

void sfs_samples_fail(struct sfs_samples *s, const char *why)
{
	uint32_t give_up_ms = s->settings.give_up_ms;
	uint64_t until_ns = sfs_clock_deadline(give_up_ms > 0 ? (int64_t)give_up_ms : -1);
	struct sfs_error ignored;

	begin(s, NULL);
	sfs_samples_server_fail(s->server, why, s->is_stopped);
	while (!s->is_stopped && sfs_clock_ns() < until_ns &&
	       sfs_samples_server_finish(s->server, SLICE_MS, &ignored) == -ETIMEDOUT)
		;
}

void sfs_samples_stop(struct sfs_samples *s)
{
	if (!atomic_exchange(&s->is_stopped, true))
		sfs_samples_server_fail(s->server, "shufflefs-sidecar was stopped", true);
	pthread_mutex_lock(&s->lock);
	if (s->reader)
		sfs_sample_reader_stop(s->reader, s->reading);
	pthread_mutex_unlock(&s->lock);
}

/* ---- life ---- */

bool sfs_samples_is_target(const char *target)
{
	return strncmp(target, SCHEME, strlen(SCHEME)) == 0;
}

/* "PATH" or "PATH?memory=MIB"; cuts `path`. */
static int parse_target(char *path, uint64_t *ret_limit, struct sfs_error *err)
{
	char *query = strchr(path, '?'), *end;
	unsigned long n = MEMORY_MIB;

	if (query) {
		*query++ = 0;
		if (strncmp(query, "memory=", 7) != 0)
			return sfs_error_set(err, -EINVAL,
					     SCHEME "%s?%s: only ?memory=MIB can follow "
						    "the path",
					     path, query);
		n = strtoul(query + 7, &end, 10);
		if (query[7] < '0' || query[7] > '9' || *end || n < LEAST_MIB ||
		    n > MOST_MIB)
			return sfs_error_set(err, -EINVAL,
					     SCHEME "%s?%s: memory is a number of MiB "
						    "from %d to %d",
					     path, query, LEAST_MIB, MOST_MIB);
	}
	*ret_limit = (uint64_t)n << 20;
	return 0;
}

static int open_all(struct sfs_samples *s, struct sfs_error *err)
{
	sfs_autofree char *path = sfs_strdup(s->settings.target + strlen(SCHEME));
	struct sfs_samples_server_settings server = {.path = path,
						     .policy = s->settings.on_consumer_death,
						     .give_up_ms = s->settings.give_up_ms,
						     .is_full = is_full,
						     .release = release,
						     .arg = s};
	int ret;

	ret = parse_target(path, &s->limit, err);
	if (ret == 0)
		ret = sfs_pool_new(s->limit, &s->pool, err);
	if (ret == 0)
		ret = sfs_samples_server_new(&server, &s->server, err);
	return ret;
}

int sfs_samples_new(const struct sfs_samples_settings *settings, struct sfs_samples **ret,
		    struct sfs_error *err)
{
	struct sfs_samples *s = sfs_calloc(1, sizeof *s);
	int code;

	s->settings = *settings;
	sfs_skips_init(&s->skips, settings->max_skip);
	sfs_list_init(&s->items);
	pthread_mutex_init(&s->lock, NULL);
	code = open_all(s, err);
	if (code < 0)
		sfs_samples_free(s);
	else
		*ret = s;
	return code;
}

void sfs_samples_free(struct sfs_samples *s)
{
	if (!s)
		return;
	sfs_samples_server_free(s->server);
	sfs_pool_free(s->pool);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* ---- telling ---- */

void sfs_samples_look(struct sfs_samples *s, struct sfs_samples_status *ret)
{
	uint64_t since_ns = atomic_load(&s->waits_since_ns), now_ns = sfs_clock_ns();
	int i;

	sfs_samples_server_look(s->server, &ret->given);
	ret->n_skipped = s->n_skipped;
	for (i = 0; i < SFS_SAMPLES_WAITS; i++)
		ret->wait_ns[i] = s->wait_ns[i];
	if (since_ns > 0)
		ret->wait_ns[atomic_load(&s->waits_for)] +=
			sfs_clock_between(since_ns, now_ns);
}

void sfs_samples_describe(struct sfs_samples *s, struct sfs_json_writer *json)
{
	sfs_json_put_uint(json, "memory", s->limit);
	sfs_json_put_uint(json, "memory_used", sfs_pool_used(s->pool));
	sfs_json_put_uint(json, "shared_bytes", s->n_shared_bytes);
	sfs_json_put_uint(json, "copied_bytes", s->n_copied_bytes);
	sfs_samples_server_describe(s->server, json);
}
