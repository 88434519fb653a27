/* SPDX-License-Identifier: MIT */
/* How this works: the reader puts samples into the window, workers decode any of them,
 * the committer takes the oldest.  A worker decodes into the item's staging rows, because
 * nobody knows yet which row of which batch the sample gets: one before it may be
 * skipped.
 *
 * Without images there is nothing to decode: the committer does it, into the slot.
 *
 * A full batch is kept until the next good sample is there, or the end: only then it is
 * known whether it is the last one. */
#include "batch.h"

#include "decode/cost.h"
#include "decode/skips.h"
#include "window.h"

#include "base/alloc.h"
#include "base/checksum.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/rng.h"
#include "base/threadpool.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

#define TAKE_MS	  100
#define CHECK_MS  500 /* without a sample: whether somebody is there to take it */
#define ORPHAN_MS 200
#define TRIM	  4 /* one of so many parts of the memory is for buffers of decoders */

struct sfs_batcher {
	struct sfs_batch_settings settings;
	bool is_direct; /* the committer decodes */
	struct sfs_window *window;

	pthread_mutex_t lock; /* guards the progress */
	struct sfs_batch_progress progress;
	uint64_t waits_since_ns; /* 0: it does not wait */
	enum sfs_batch_wait waits_for;

	/* of the committer */
	struct sfs_transport *transport;
	struct shufflefs_layout layout;
	uint64_t epoch, n_rows_bytes;
	struct sfs_batch_info info; /* of the slot that is filled */
	unsigned char *slot;	    /* NULL: none was taken */
	struct sfs_decoder *decoder;
	struct sfs_sample_reader *reader; /* of one stream */
	struct sfs_skips skips;
	bool has_begun_late; /* behind the first sample of an epoch */
};

static bool is_image(const struct sfs_spec *spec)
{
	uint32_t i;

	for (i = 0; i < spec->n; i++)
		if (spec->tensors[i].kind == SFS_SPEC_IMAGE)
			return true;
	return false;
}

struct sfs_batcher *sfs_batcher_new(const struct sfs_batch_settings *settings)
{
	struct sfs_batcher *b = sfs_calloc(1, sizeof *b);

	b->settings = *settings;
	b->is_direct = !is_image(settings->spec);
	b->window = sfs_window_new(settings->n_workers);
	sfs_window_limit(b->window, settings->memory);
	sfs_skips_init(&b->skips, settings->max_skip);
	pthread_mutex_init(&b->lock, NULL);
	return b;
}

void sfs_batcher_free(struct sfs_batcher *b)
{
	if (!b)
		return;
	if (b->transport)
		b->settings.ops->close(b->transport);
	sfs_window_free(b->window);
	pthread_mutex_destroy(&b->lock);
	free(b);
}

void sfs_batcher_stop(struct sfs_batcher *b)
{
	sfs_window_stop(b->window);
}

void sfs_batcher_look(struct sfs_batcher *b, struct sfs_batch_progress *ret)
{
	pthread_mutex_lock(&b->lock);
	*ret = b->progress;
	if (b->waits_since_ns > 0)
		ret->wait_ns[b->waits_for] +=
			sfs_clock_between(b->waits_since_ns, sfs_clock_ns());
	pthread_mutex_unlock(&b->lock);
}

void sfs_batcher_describe(struct sfs_batcher *b, struct sfs_json_writer *json)
{
	struct sfs_batch_progress p;

	sfs_batcher_look(b, &p);
	if (p.is_open) /* (and it is until sfs_batcher_free()) */
		b->settings.ops->describe(b->transport, json);
}

/* ---- reader and workers ---- */

static void flush(void *arg)
{
	sfs_window_flush(((struct sfs_batcher *)arg)->window);
}

static void *read_samples(void *arg)
{
	struct sfs_batcher *b = arg;
	struct sfs_error err = {0};
	struct sfs_sample *sample;
	sigset_t wakes;
	int ret;

	sigemptyset(&wakes);
	sigaddset(&wakes, SIGUSR1); /* see sfs_sample_reader_stop() */
	pthread_sigmask(SIG_UNBLOCK, &wakes, NULL);
	while ((ret = sfs_sample_next(b->reader, &sample, &err)) == 1)
		if (!sfs_window_put(b->window, sample,
				    sfs_decode_cost(b->settings.spec, sample)))
			break;
	sfs_window_end(b->window, ret < 0 ? ret : 0, &err);
	return NULL;
}

static struct sfs_decoder *new_decoder(const struct sfs_batcher *b)
{
	const struct sfs_decode_settings settings = {.spec = b->settings.spec,
						     .seed = b->settings.transport.seed,
						     .epoch = b->epoch};

	return sfs_decoder_new(&settings);
}

static void decode(struct sfs_batcher *b, struct sfs_decoder *decoder,
		   struct sfs_window_item *item)
{
	void *rows[SHUFFLEFS_TENSORS_MAX];
	unsigned char *at;
	uint32_t t;

	if (!item->rows)
		item->rows = sfs_malloc(b->n_rows_bytes);
	at = item->rows;
	for (t = 0; t < b->layout.n_tensors; t++) {
		rows[t] = at;
		at += (b->layout.tensors[t].row_bytes + 63) & ~63ULL;
	}
	item->ret =
		sfs_decode_sample(decoder, item->sample, &b->layout, rows, &item->err);
}

static void *work(void *arg)
{
	struct sfs_batcher *b = arg;
	struct sfs_decoder *decoder = new_decoder(b);
	uint64_t most = b->settings.memory / TRIM / b->settings.n_workers;
	struct sfs_window_item *item;

	while ((item = sfs_window_take(b->window)) != NULL) {
		decode(b, decoder, item);
		sfs_decoder_trim(decoder, most);
		sfs_window_give(b->window, item);
	}
	sfs_decoder_free(decoder);
	return NULL;
}

/* ---- committer ---- */

static int failed(const struct sfs_batcher *b, const struct sfs_window_item *item,
		  int ret, struct sfs_error *err)
{
	return sfs_error_set(err, ret, "sample %llu ('%s') of epoch %llu: %s",
			     (unsigned long long)item->sample->ordinal, item->sample->key,
			     (unsigned long long)b->epoch, item->err.text);
}

static void begin_wait(struct sfs_batcher *b, enum sfs_batch_wait whom)
{
	pthread_mutex_lock(&b->lock);
	b->waits_since_ns = sfs_clock_ns();
	b->waits_for = whom;
	pthread_mutex_unlock(&b->lock);
}

static void end_wait(struct sfs_batcher *b)
{
	pthread_mutex_lock(&b->lock);
	b->progress.wait_ns[b->waits_for] +=
		sfs_clock_between(b->waits_since_ns, sfs_clock_ns());
	b->waits_since_ns = 0;
	pthread_mutex_unlock(&b->lock);
}

/* Nothing can be sent now.  Has the transport failed meanwhile? */
static int check_transport(struct sfs_batcher *b, struct sfs_error *err)
{
	if (!b->transport || !b->settings.ops->check)
		return 0;
	return b->settings.ops->check(b->transport, err);
}

/* The oldest item.  1; 0: the stream has ended. */
static int wait_for(struct sfs_batcher *b, bool is_decoded,
		    struct sfs_window_item **ret_item, struct sfs_error *err)
{
	bool is_decoding = false;
	int ret;

	ret = sfs_window_oldest(b->window, is_decoded, 0, ret_item, &is_decoding, err);
	while (ret == -ETIMEDOUT) {
		begin_wait(b, is_decoding ? SFS_BATCH_DECODER : SFS_BATCH_READER);
		ret = sfs_window_oldest(b->window, is_decoded, CHECK_MS, ret_item,
					&is_decoding, err);
		end_wait(b);
		if (ret == -ETIMEDOUT && check_transport(b, err) < 0)
			return -EPIPE;
	}
	return ret;
}

/* Are too many broken? */
static int check_skips(struct sfs_batcher *b, bool is_end, struct sfs_error *err)
{
	return sfs_skips_check(&b->skips, b->progress.n_samples + b->info.n_samples,
			       is_end, err);
}

/* It is broken: 0 if that is to be skipped. */
static int skip(struct sfs_batcher *b, struct sfs_window_item *item, int ret,
		struct sfs_error *err)
{
	ret = failed(b, item, ret, err);
	if (!b->settings.skips || ret != -EBADMSG)
		return ret;
	pthread_mutex_lock(&b->lock);
	b->progress.n_skipped++;
	pthread_mutex_unlock(&b->lock);
	sfs_skips_add(&b->skips, err);
	sfs_window_release(b->window);
	return check_skips(b, false, err);
}

static int batcher_take(struct sfs_batcher *b, struct sfs_error *err)
{
	void *slot;
	int ret = b->settings.ops->take(b->transport, 0, &slot, err);

	if (ret == -ETIMEDOUT) {
		begin_wait(b, SFS_BATCH_TRANSPORT);
		do
			ret = sfs_window_is_stopped(b->window)
				      ? sfs_error_set(err, -ECANCELED, "stopped")
				      : b->settings.ops->take(b->transport, TAKE_MS,
							      &slot, err);
		while (ret == -ETIMEDOUT);
		end_wait(b);
	}
	if (ret == 0)
		b->slot = slot;
	return ret;
}

static int send_batch(struct sfs_batcher *b, struct sfs_error *err)
{
	uint64_t n_bytes = 0;
	uint32_t t;
	int ret;

	ret = b->settings.ops->send(b->transport, &b->info, err);
	if (ret < 0)
		return ret;
	for (t = 0; t < b->layout.n_tensors; t++)
		n_bytes += sfs_layout_bytes(&b->layout, t, b->info.n_samples);
	pthread_mutex_lock(&b->lock);
	b->progress.n_batches++;
	b->progress.n_samples += b->info.n_samples;
	b->progress.n_bytes += n_bytes;
	b->progress.next = b->info.end;
	pthread_mutex_unlock(&b->lock);
	b->slot = NULL;
	b->info.first = b->info.end;
	b->info.n_samples = 0;
	return 0;
}

/* Put the item into the next row. */
static int fill_row(struct sfs_batcher *b, struct sfs_window_item *item)
{
	void *rows[SHUFFLEFS_TENSORS_MAX];
	const unsigned char *at = item->rows;
	uint32_t t;

	for (t = 0; t < b->layout.n_tensors; t++)
		rows[t] = sfs_layout_row(&b->layout, t, b->info.n_samples, b->slot);
	if (b->is_direct)
		return sfs_decode_sample(b->decoder, item->sample, &b->layout, rows,
					 &item->err);
	for (t = 0; item->ret == 0 && t < b->layout.n_tensors; t++) {
		memcpy(rows[t], at, b->layout.tensors[t].row_bytes);
		at += (b->layout.tensors[t].row_bytes + 63) & ~63ULL;
	}
	return item->ret;
}

static int commit(struct sfs_batcher *b, struct sfs_window_item *item,
		  struct sfs_error *err)
{
	int ret = 0;

	if (b->info.n_samples == b->layout.n_samples)
		ret = send_batch(b, err);
	if (ret == 0 && !b->slot)
		ret = batcher_take(b, err);
	if (ret < 0)
		return ret;
	ret = fill_row(b, item);
	if (ret < 0)
		return skip(b, item, ret, err);
	b->info.n_samples++;
	b->info.end = item->sample->ordinal + 1;
	sfs_window_release(b->window);
	return 0;
}

/* The batches of a session are the same whoever decodes them: what they depend on names
 * it, with the first sample, for files of one name may differ. */
static uint64_t name_session(const struct sfs_batcher *b, const struct sfs_sample *sample)
{
	uint64_t words[] = {b->settings.stream, sfs_layout_hash(&b->layout),
			    sample->ordinal,
			    sfs_checksum(sample->key, strlen(sample->key))};
	struct sfs_rng rng;
	uint32_t i;

	if (b->settings.stream == 0)
		return 0;
	sfs_rng_init(&rng, words, SFS_COUNT(words));
	for (i = 0; i < sample->n_fields; i++)
		sfs_rng_name(&rng, sfs_checksum(sample->fields[i].bytes,
						sample->fields[i].n_bytes));
	return sfs_rng_next(&rng);
}

/* What the slots leave of the memory is for samples. */
static int check_memory(struct sfs_batcher *b, struct sfs_error *err)
{
	uint64_t n = b->settings.transport.n_slots * b->layout.slot_bytes;

	if (n > b->settings.memory)
		return sfs_error_set(
			err, -ENOMEM,
			"%u slots for batches of %u samples take %llu MiB, and --memory "
			"is %llu MiB: choose a smaller --batch or fewer --slots, or "
			"give more memory",
			b->settings.transport.n_slots, b->settings.n_samples,
			(unsigned long long)(n >> 20),
			(unsigned long long)(b->settings.memory >> 20));
	sfs_window_limit(b->window, b->settings.memory - n);
	return 0;
}

/* The first sample of a session says what batches are. */
static int open_by(struct sfs_batcher *b, struct sfs_window_item *item,
		   struct sfs_error *err)
{
	uint32_t t;
	int ret;

	ret = sfs_decode_layout(b->decoder, item->sample, b->settings.n_samples,
				&b->layout, &item->err);
	if (ret < 0)
		return skip(b, item, ret, err);
	b->settings.transport.session = name_session(b, item->sample);
	for (t = 0; t < b->layout.n_tensors; t++)
		b->n_rows_bytes += (b->layout.tensors[t].row_bytes + 63) & ~63ULL;
	if (!b->is_direct)
		sfs_window_weigh(b->window, b->n_rows_bytes);
	ret = check_memory(b, err);
	if (ret < 0)
		return ret;
	ret = b->settings.ops->open(&b->settings.transport, &b->layout, &b->transport,
				    err);
	pthread_mutex_lock(&b->lock);
	b->progress.is_open = ret == 0;
	pthread_mutex_unlock(&b->lock);
	return ret;
}

static int commit_all(struct sfs_batcher *b, struct sfs_error *err)
{
	struct sfs_window_item *item;
	int ret;

	while ((ret = wait_for(b, !b->is_direct, &item, err)) == 1) {
		ret = commit(b, item, err);
		if (ret < 0)
			return ret;
	}
	if (ret == 0 && (b->info.n_samples == b->layout.n_samples ||
			 (b->info.n_samples > 0 && !b->settings.drops_last)))
		ret = send_batch(b, err);
	return ret == 0 ? check_skips(b, true, err) : ret;
}

static int batcher_run(struct sfs_batcher *b, struct sfs_error *err)
{
	uint32_t i, n_workers = b->is_direct ? 0 : b->settings.n_workers;
	sfs_autofree pthread_t *workers = sfs_calloc(n_workers + 1, sizeof *workers);
	struct sfs_window_item *item;
	int ret = 1;

	while (!b->transport && (ret = wait_for(b, false, &item, err)) == 1) {
		ret = open_by(b, item, err);
		if (ret < 0)
			return ret;
	}
	if (!b->transport)
		return ret < 0 ? ret : check_skips(b, true, err);
	for (i = 0; i < n_workers; i++)
		workers[i] = sfs_thread_start("decode", work, b);
	ret = commit_all(b, err);
	sfs_window_close(b->window);
	for (i = 0; i < n_workers; i++)
		pthread_join(workers[i], NULL);
	return ret;
}

static void begin(struct sfs_batcher *b, uint64_t epoch, uint64_t first)
{
	b->epoch = epoch;
	b->info = (struct sfs_batch_info){.epoch = epoch, .first = first, .end = first};
}

static void end_reader(struct sfs_batcher *b, pthread_t thread)
{
	sfs_window_close(b->window);
	while (!sfs_window_has_ended(b->window))
		sfs_sample_reader_stop(b->reader, thread);
	pthread_join(thread, NULL);
	sfs_window_begin(b->window); /* lets go of its samples */
}

/* Was it cut because the mount that writes it has died?  Its end of the reports closes
 * with the process, perhaps a little later. */
static bool is_orphan(const struct sfs_batcher *b, int ret)
{
	struct pollfd report = {.fd = b->settings.report_fd};

	return ret == -EPIPE && report.fd >= 0 && poll(&report, 1, ORPHAN_MS) > 0;
}

/* Can a process go on that is started anew?  It can after a stop, and after the death of
 * the mount whose file this is. */
static bool is_passing(const struct sfs_batcher *b, int ret)
{
	return ret == -ECANCELED || ret == -ENOTCONN || ret == -ECONNABORTED ||
	       is_orphan(b, ret);
}

static void tell(struct sfs_batcher *b, int ret, const char *why)
{
	const struct sfs_transport_ops *ops = b->settings.ops;

	if (ops->leave && is_passing(b, ret)) {
		ops->leave(b->transport, why);
		return;
	}
	ops->fail(b->transport, why);
	while (ops->wait_told && !sfs_window_is_stopped(b->window) &&
	       ops->wait_told(b->transport, TAKE_MS) == -ETIMEDOUT)
		;
}

int sfs_batcher_run(struct sfs_batcher *b, int fd, enum sfs_input_kind kind,
		    uint64_t epoch, uint64_t first, struct sfs_error *err)
{
	pthread_t thread;
	int ret;

	begin(b, epoch, first);
	b->has_begun_late |= first > 0;
	b->reader = sfs_sample_reader_new(fd, kind, first, flush, b);
	b->decoder = new_decoder(b);
	thread = sfs_thread_start("reader", read_samples, b);
	ret = batcher_run(b, err);
	end_reader(b, thread);
	sfs_decoder_free(b->decoder);
	sfs_sample_reader_free(b->reader);
	if (ret < 0 && b->transport)
		tell(b, ret, err->text);
	return ret;
}

static int finish(struct sfs_batcher *b, struct sfs_error *err)
{
	int ret;

	begin_wait(b, SFS_BATCH_TRANSPORT);
	do
		ret = sfs_window_is_stopped(b->window)
			      ? sfs_error_set(err, -ECANCELED, "stopped")
			      : b->settings.ops->finish(b->transport, TAKE_MS, err);
	while (ret == -ETIMEDOUT);
	end_wait(b);
	return ret;
}

int sfs_batcher_finish(struct sfs_batcher *b, struct sfs_error *err)
{
	int ret = 0;

	/* Who goes on at the end of an epoch has had it all. */
	if (b->progress.n_batches == 0 && b->has_begun_late && b->progress.n_skipped == 0)
		ret = b->transport ? finish(b, err) : 0;
	else if (b->progress.n_batches == 0)
		ret = sfs_error_set(err, -ENODATA,
				    "no batch was sent; %llu broken samples were skipped",
				    (unsigned long long)b->progress.n_skipped);
	else
		ret = finish(b, err);
	if (ret < 0 && b->transport)
		tell(b, ret, err->text);
	return ret;
}
