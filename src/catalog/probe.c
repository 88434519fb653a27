/* SPDX-License-Identifier: MIT */
/* How this works: the probed shards are all requested at once and checked spec by spec;
 * the first spec that fails ends the probe.  The sizes of the other shards are requested
 * meanwhile, as most probes succeed.
 *
 * How long to wait for the sizes is a compromise: a stream cannot be opened before all
 * are known, so the wait costs its reader nothing; but `ls` needs none.  Over a network
 * it is short.  Local files answer within that time, unless the disk is asleep or
 * overloaded. */
#include "catalog/probe.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/cond.h"
#include "base/ledger.h"
#include "base/log.h"
#include "base/stall.h"
#include "tar/header.h"
#include "tar/magic.h"

#include <errno.h>
#include <string.h>

#define MAX_SPECS  32
#define NETWORK_MS 1500
#define LOCAL_MS   10000

/* One probed shard. */
struct ask {
	struct sfs_request request;
	unsigned char head[SFS_HEAD_BYTES];
	struct sfs_error error;
	struct probe *probe;
	bool is_done;
	int err;
};

/* A spec, and its shards `first` to `end` - 1. */
struct spec {
	uint32_t first, end;
	struct ask *asks[2]; /* the second is NULL if it has one shard */
	bool is_missing;     /* both are */
};

struct probe {
	struct sfs_shards *shards;
	struct spec specs[MAX_SPECS];
	int n_specs;
	struct ask asks[2 * MAX_SPECS];
	int n_asks;
	uint64_t until_ns; /* the time limit */

	pthread_mutex_t lock; /* guards all below, and is_done and err of the asks */
	pthread_cond_t wake;
	int n_left;   /* asks that are not done */
	bool is_left; /* the caller has gone: the last ask frees it */
};

static void free_probe(struct probe *p)
{
	pthread_cond_destroy(&p->wake);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

/* ---- asking ---- */

static void on_answer(struct sfs_request *request, int err)
{
	struct ask *ask = sfs_container(request, struct ask, request);
	struct probe *p = ask->probe;
	bool is_last;

	pthread_mutex_lock(&p->lock);
	ask->err = err;
	ask->is_done = true;
	is_last = --p->n_left == 0 && p->is_left;
	pthread_cond_signal(&p->wake);
	pthread_mutex_unlock(&p->lock);
	if (is_last)
		free_probe(p);
}

static struct ask *add_ask(struct probe *p, uint32_t shard)
{
	struct ask *ask = &p->asks[p->n_asks++];

	ask->probe = p;
	ask->request = (struct sfs_request){
		.kind = SFS_REQUEST_ASK,
		.object = p->shards->shards[shard].object,
		.is_urgent = true,
		.is_probe = true,
		.head = ask->head,
		.done = on_answer,
		.error = &ask->error,
	};
	return ask;
}

static void choose(struct probe *p, const uint32_t *spec_of)
{
	uint32_t n = p->shards->n, first, end;
	struct spec *spec;

	for (first = 0; first < n && p->n_specs < MAX_SPECS; first = end) {
		for (end = first + 1; end < n && spec_of[end] == spec_of[first];)
			end++;
		spec = &p->specs[p->n_specs++];
		spec->first = first;
		spec->end = end;
		spec->asks[0] = add_ask(p, first);
		spec->asks[1] = end - first > 1 ? add_ask(p, end - 1) : NULL;
	}
}

static struct sfs_shard *shard_of(const struct probe *p, const struct ask *ask)
{
	return &p->shards->shards[sfs_shards_number(p->shards, ask->request.object)];
}

/* false: it was not done in time. */
static bool wait_until(struct ask *ask, uint64_t until_ns)
{
	struct probe *p = ask->probe;
	bool is_done;

	pthread_mutex_lock(&p->lock);
	while (!ask->is_done && sfs_cond_wait_until(&p->wake, &p->lock, until_ns))
		;
	is_done = ask->is_done;
	pthread_mutex_unlock(&p->lock);
	return is_done;
}

static void probe_explain(const struct ask *ask, struct sfs_cause *cause)
{
	*cause = (struct sfs_cause){.offset = SFS_NO_OFFSET};
	sfs_object_explain(ask->request.object, SFS_NO_OFFSET, "the size", cause);
}

static bool wait_for(struct ask *ask)
{
	uint64_t until_ns = ask->probe->until_ns, say_ns = sfs_stall_say_at();
	struct sfs_cause cause;

	if (say_ns >= until_ns)
		return wait_until(ask, until_ns);
	if (wait_until(ask, say_ns))
		return true;
	probe_explain(ask, &cause);
	sfs_stall_say(&cause, until_ns, "gives up");
	return wait_until(ask, until_ns);
}

static int no_answer(const struct ask *ask, struct sfs_error *err)
{
	struct sfs_cause cause;

	probe_explain(ask, &cause);
	return sfs_error_set(err, -ETIMEDOUT,
			     "%s: no answer within %llu s (read-timeout): waited for %s",
			     cause.shard,
			     (unsigned long long)(sfs_stall_limit_ns() / SFS_NS_PER_S),
			     cause.text);
}

/* ---- the first bytes ---- */

enum kind {
	TAR,	 /* the first block is a header */
	DAMAGED, /* it was one */
	SHORT,	 /* the server gave less than a block */
	UNKNOWN,
	EMPTY,	/* not even a block of zeros */
	FOREIGN /* another known format */
};

static enum kind kind_of(const struct ask *ask, const struct sfs_magic **ret_magic)
{
	size_t n = ask->request.n_got;

	*ret_magic = NULL;
	if (ask->request.object->size == 0)
		return EMPTY;
	if (n == SFS_TAR_BLOCK && sfs_tar_look(ask->head).kind != SFS_TAR_BAD)
		return TAR;
	if (n == SFS_TAR_BLOCK && memcmp(ask->head + SFS_TAR_MAGIC, "ustar", 5) == 0)
		return DAMAGED;
	*ret_magic = sfs_magic_find(ask->head, n);
	if (*ret_magic)
		return FOREIGN;
	return n < SFS_TAR_BLOCK && n < ask->request.object->size ? SHORT : UNKNOWN;
}

static int no_tar(const struct ask *ask, const struct sfs_magic *magic,
		  struct sfs_error *err)
{
	sfs_autofree char *shown = sfs_uri_redact(ask->request.object->uri.location);

	if (ask->request.object->size == 0)
		return sfs_error_set(err, -EBADMSG, "%s is an empty file, not a tar",
				     shown);
	if (magic)
		return sfs_error_set(err, -EBADMSG, "%s is %s, not a tar: %s", shown,
				     magic->what, magic->advice);
	return sfs_error_set(err, -EBADMSG,
			     "%s is not a tar: it does not begin with a tar header",
			     shown);
}

/* One of two that is of another format is counted with the others, by sizes. */
static int check_heads(const struct spec *spec, struct sfs_error *err)
{
	const struct sfs_magic *magic, *magic_of_bad = NULL;
	const struct ask *bad = NULL;
	bool has_good = false;
	enum kind kind;
	int i;

	for (i = 0; i < 2 && spec->asks[i]; i++) {
		if (spec->asks[i]->err < 0)
			continue;
		kind = kind_of(spec->asks[i], &magic);
		has_good |= kind < UNKNOWN;
		if (kind >= UNKNOWN && (!bad || (magic && !magic_of_bad))) {
			bad = spec->asks[i];
			magic_of_bad = magic;
		}
	}
	if (!bad || has_good)
		return 0; /* readers get an error where it is damaged */
	return no_tar(bad, magic_of_bad, err);
}

/* ---- the result ---- */

static int check_spec(struct spec *spec, struct sfs_error *err)
{
	const struct ask *a = spec->asks[0], *b = spec->asks[1];

	if (a->err < 0 && (!b || b->err < 0)) {
		spec->is_missing = a->err == -ENOENT && b && b->err == -ENOENT;
		if (spec->is_missing)
			return 0;
		if (b && b->err == -EOPNOTSUPP)
			a = b;
		return sfs_error_set(err, a->err, "%s",
				     a->error.text[0] ? a->error.text
						      : strerror(-a->err));
	}
	return check_heads(spec, err);
}

static int check_specs(struct probe *p, struct sfs_error *err)
{
	struct spec *spec;
	int i, k, ret;

	for (i = 0; i < p->n_specs; i++) {
		spec = &p->specs[i];
		for (k = 0; k < 2 && spec->asks[k]; k++)
			if (!wait_for(spec->asks[k]))
				return no_answer(spec->asks[k], err);
		ret = check_spec(spec, err);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static unsigned patience_ms(const struct sfs_shards *shards)
{
	uint32_t i;

	for (i = 0; i < shards->n; i++)
		if (shards->shards[i].object->uri.scheme != SFS_SCHEME_FILE)
			return NETWORK_MS;
	return LOCAL_MS;
}

/* Wait for the sizes, for a while. */
static void wait_for_sizes(struct sfs_sizes *sizes, const struct sfs_shards *shards)
{
	uint64_t now_ns = sfs_clock_ns(), say_ns = sfs_stall_say_at(), left_ms,
		 until_ns = now_ns + patience_ms(shards) * SFS_NS_PER_MS;
	struct sfs_cause cause = {.offset = SFS_NO_OFFSET};
	struct sfs_sizes_tally t;

	if (say_ns < until_ns) {
		left_ms = say_ns > now_ns ? (say_ns - now_ns) / SFS_NS_PER_MS : 0;
		sfs_sizes_wait(sizes, (unsigned)left_ms);
		sfs_sizes_tally(sizes, 0, shards->n, &t);
		sfs_cause_set(&cause, NULL, SFS_NO_OFFSET,
			      "the sizes of %u of %u shards", t.n_shards - t.n_asked,
			      t.n_shards);
		if (t.n_asked < t.n_shards)
			sfs_stall_say(&cause, until_ns, "goes on without");
		now_ns = sfs_clock_ns();
	}
	if (now_ns < until_ns)
		sfs_sizes_wait(sizes, (unsigned)((until_ns - now_ns) / SFS_NS_PER_MS));
}

/* Specs of which both probed shards are missing: how many more are? */
static int check_missing(struct probe *p, struct sfs_sizes *sizes, struct sfs_error *err)
{
	struct sfs_sizes_tally t;
	const struct spec *spec;
	int i;

	for (i = 0; i < p->n_specs; i++) {
		spec = &p->specs[i];
		if (!spec->is_missing)
			continue;
		wait_for_sizes(sizes, p->shards);
		sfs_sizes_tally(sizes, spec->first, spec->end, &t);
		if (!t.is_skipping)
			return sfs_probe_shards(sizes, p->shards, false, err);
		if (t.n_missing == t.n_asked) {
			sfs_sizes_describe(&t, err);
			return -ENOENT;
		}
	}
	return 0;
}

/* What sizes has not requested itself. */
static void pass_heads(struct probe *p, struct sfs_sizes *sizes)
{
	int i;

	for (i = 0; i < p->n_asks; i++) {
		struct ask *ask = &p->asks[i];

		if (ask->err == 0)
			sfs_sizes_look(sizes, shard_of(p, ask), ask->head,
				       ask->request.n_got);
	}
}

static struct sfs_sizes *begin(struct probe *p)
{
	uint32_t chosen[2 * MAX_SPECS];
	struct sfs_sizes *sizes;
	int i;

	for (i = 0; i < p->n_asks; i++)
		chosen[i] = shard_of(p, &p->asks[i])->index;
	p->n_left = p->n_asks;
	for (i = 0; i < p->n_asks; i++)
		sfs_request_submit(&p->asks[i].request);
	sizes = sfs_sizes_start(p->shards, chosen, (size_t)p->n_asks);
	return sizes;
}

/* Cancel what is not done.  A hanging disk keeps its requests, and with
 * them the probe. */
static void end(struct probe *p)
{
	bool is_done;
	int i;

	for (i = 0; i < p->n_asks; i++)
		sfs_request_cancel(&p->asks[i].request);
	pthread_mutex_lock(&p->lock);
	p->is_left = p->n_left > 0;
	is_done = !p->is_left;
	pthread_mutex_unlock(&p->lock);
	if (is_done)
		free_probe(p);
}

int sfs_probe_start(struct sfs_shards *shards, const uint32_t *spec_of,
		    struct sfs_sizes **ret_sizes, struct sfs_error *err)
{
	struct probe *p = sfs_calloc(1, sizeof *p);
	int ret;

	p->shards = shards;
	p->until_ns = sfs_stall_deadline(sfs_clock_ns());
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->wake, NULL);
	choose(p, spec_of);
	*ret_sizes = begin(p);
	ret = check_specs(p, err);
	if (ret == 0) {
		sfs_sizes_settle(*ret_sizes);
		pass_heads(p, *ret_sizes);
		ret = check_missing(p, *ret_sizes, err);
	}
	end(p);
	return ret;
}

int sfs_probe_shards(struct sfs_sizes *sizes, const struct sfs_shards *shards,
		     bool may_wait, struct sfs_error *err)
{
	struct sfs_error line = {0};
	struct sfs_sizes_tally t;

	if (may_wait)
		wait_for_sizes(sizes, shards);
	sfs_sizes_report(sizes, &t);
	sfs_sizes_describe(&t, &line);
	if (t.n_refused > 0 || (t.n_missing + t.n_foreign > 0 && !t.is_skipping))
		return sfs_error_set(err,
				     t.n_refused > 0   ? -EACCES
				     : t.n_missing > 0 ? -ENOENT
						       : -EBADMSG,
				     "%s", line.text);
	if (line.text[0])
		sfs_warning("%s", line.text);
	return 0;
}
