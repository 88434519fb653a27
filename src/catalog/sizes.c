/* SPDX-License-Identifier: MIT */
/* How this works: a fixed number of request slots; each idle one takes the next shard,
 * first from the stack of those that a caller waits for, then in dataset order.  A
 * request that failed has failed for all who waited for it and for those who ask soon
 * after; later calls request the size again.
 *
 * Shards are not requested one after another but in strides of about 0.618 of their
 * number. So those that were requested by any moment are spread evenly over the dataset,
 * and a second of it finds a gap of one part in a hundred.
 *
 * The first bytes of a shard show whether it is a tar at all.  A server's response holds
 * them; of local files only the first few that are requested are looked at, which the
 * stride spreads over the dataset as well.
 *
 * Requests start while the engine still probes whether the dataset can be read at all,
 * which saves two round trips when a far dataset is mounted.  Until sfs_sizes_settle(),
 * failures are held back and retried later, and the shards that the probe requests are
 * left to it. */
#include "catalog/sizes.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/cond.h"
#include "base/ledger.h"
#include "base/log.h"
#include "tar/header.h"
#include "tar/magic.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MAX_SLOTS  1024
#define N_EARLY	   112 /* requests before it is settled: the probe needs connections */
#define N_LOCAL	   256 /* local files that are looked at */
#define ALL_SHARDS UINT32_MAX
#define RETRY_NS   (2 * SFS_NS_PER_S) /* after a failure */

/* MISSING: known to be missing, which counts as an empty shard.  FOREIGN: the size is
 * known, and it is no tar. */
enum { WAITING, IN_FLIGHT, KNOWN, MISSING, FOREIGN, FAILED, HELD };

struct slot {
	struct sfs_request request; /* first */
	struct sfs_error error;
	unsigned char head[SFS_HEAD_BYTES];
	struct sfs_sizes *sizes;
	struct sfs_shard *shard;
	struct sfs_link link; /* in sizes->idle */
};

struct sfs_sizes {
	struct sfs_shards *shards;

	pthread_mutex_t lock; /* guards all below, and the waiters' links */
	unsigned char *state; /* of each shard */
	uint32_t stride;
	uint32_t next;	    /* a turn: no WAITING shard comes before it */
	uint32_t n_pending; /* WAITING or IN_FLIGHT */
	uint32_t n_known;
	uint32_t n_early;    /* requested before it was settled */
	uint32_t n_local;    /* local files that were looked at */
	uint32_t n_first;    /* shards that begin with the plain header of a file, */
	uint64_t first_bytes; /* and how long these files are */
	int failure;	     /* the latest error, if a shard FAILED */
	uint64_t failed_ns;  /* when that was */
	uint32_t first_bad;  /* the first shard that is bad: see is_bad() */
	char *why;	     /* why it is bad; NULL: there is none */
	uint32_t n_reported; /* bad shards that the user knows of, */
	bool has_reported;   /* if this is true; else nothing is logged */
	pthread_cond_t all_ended;
	bool is_closed, is_settled;
	struct sfs_link waiters, idle;
	uint32_t *wanted; /* shards to request first: a stack */
	size_t n_wanted, wanted_capacity;
	uint32_t n_slots;
	struct slot *slots;
};

static void on_size(struct sfs_request *request, int err);

static uint32_t gcd(uint32_t a, uint32_t b)
{
	return b == 0 ? a : gcd(b, a % b);
}

static uint32_t choose_stride(uint32_t n)
{
	uint32_t stride = (uint32_t)(n * 0.618) + 1;

	while (gcd(n, stride) != 1)
		stride++;
	return stride;
}

/* The shard whose turn it is. */
static uint32_t at_turn(const struct sfs_sizes *s, uint32_t turn)
{
	return (uint32_t)((uint64_t)turn * s->stride % s->shards->n);
}

/* The shard to request next.  Locked. */
static struct sfs_shard *choose(struct sfs_sizes *s)
{
	uint32_t i;

	while (s->n_wanted > 0) {
		i = s->wanted[--s->n_wanted];
		if (s->state[i] == WAITING)
			return &s->shards->shards[i];
	}
	while (s->next < s->shards->n && s->state[at_turn(s, s->next)] != WAITING)
		s->next++;
	return s->next < s->shards->n ? &s->shards->shards[at_turn(s, s->next)] : NULL;
}

/* Are the first bytes of the shard wanted with its size?  Locked. */
static bool wants_head(struct sfs_sizes *s, const struct sfs_shard *shard)
{
	if (shard->object.uri.scheme != SFS_SCHEME_FILE)
		return true;
	return s->n_local < N_LOCAL && ++s->n_local;
}

/* Put idle slots to work; their requests go to *out, to be submitted without the lock.
 * Locked. */
static void dispatch(struct sfs_sizes *s, struct sfs_link *out)
{
	struct sfs_shard *shard;
	struct slot *slot;

	while (!s->is_closed && !sfs_list_is_empty(&s->idle) &&
	       (s->is_settled || s->n_early < N_EARLY) && (shard = choose(s)) != NULL) {
		s->n_early += !s->is_settled;
		slot = sfs_container(sfs_list_pop(&s->idle), struct slot, link);
		s->state[shard->index] = IN_FLIGHT;
		slot->shard = shard;
		slot->request = (struct sfs_request){
			.kind = SFS_REQUEST_ASK,
			.object = &shard->object,
			.is_urgent = true,
			.is_probe = !s->is_settled,
			.head = wants_head(s, shard) ? slot->head : NULL,
			.done = on_size,
			.error = &slot->error,
		};
		sfs_list_push(out, &slot->link);
	}
}

static void submit(struct sfs_link *out)
{
	struct sfs_link *link;

	while ((link = sfs_list_pop(out)) != NULL)
		sfs_request_submit(&sfs_container(link, struct slot, link)->request);
}

/* Take out the waiters of this shard, and those of all shards if none is left.  Locked.
 */
static void take_waiters(struct sfs_sizes *s, uint32_t shard, struct sfs_link *ended)
{
	struct sfs_link *link, *following;
	struct sfs_waiter *w;

	for (link = s->waiters.next; link != &s->waiters; link = following) {
		following = link->next;
		w = sfs_container(link, struct sfs_waiter, link);
		if (w->shard == shard || (w->shard == ALL_SHARDS && s->n_pending == 0))
			sfs_waiter_tell(w, ended);
	}
}

#define TOO_LARGE "larger than 1 TiB; split the shard"

static bool is_too_large(const struct sfs_shard *shard)
{
	return shard->object.size > SFS_SAMPLE_TABLE_SHARD_MAX;
}

/* The request for its size has failed with `err`, or the size is known (0): note errors
 * in the ledger.  Returns the error; none for a missing shard that counts as empty. */
static int check_size(struct sfs_sizes *s, struct sfs_shard *shard, int err,
		      const char *why)
{
	if (err < 0 && err != -ECANCELED)
		sfs_source_count_failed_ask(shard->object.source);
	if (err == -ENOENT && s->shards->skip_damaged) {
		sfs_ledger_note(SFS_EVENT_SKIP, shard->name, SFS_NO_OFFSET,
				"it counts as an empty shard", "%s", why);
		shard->object.size = 0;
		pthread_mutex_lock(&shard->lock);
		shard->has_totals = true;
		pthread_mutex_unlock(&shard->lock);
		return 0;
	}
	if (err == 0 && is_too_large(shard)) {
		err = -EFBIG;
		why = TOO_LARGE;
	}
	if (err < 0 && err != -ECANCELED)
		sfs_ledger_note(SFS_EVENT_LOST, shard->name, SFS_NO_OFFSET,
				"all streams get EIO until it is readable", "%s", why);
	return err;
}

static bool is_bad(unsigned char state)
{
	return state == FAILED || state == MISSING || state == FOREIGN;
}

/* Keep why the first shard is bad, a sentence that names it.  Locked. */
static void keep_why(struct sfs_sizes *s, uint32_t shard, const char *why)
{
	if (s->why && s->first_bad < shard)
		return;
	free(s->why);
	s->why = sfs_strdup(why);
	s->first_bad = shard;
}

static void keep_too_large(struct sfs_sizes *s, const struct sfs_shard *shard)
{
	sfs_autofree char *shown = sfs_uri_redact(shard->object.uri.location);
	sfs_autofree char *why = sfs_asprintf("%s: " TOO_LARGE, shown);

	keep_why(s, shard->index, why);
}

static void measure_first_file(struct sfs_sizes *s, const unsigned char *head, size_t n)
{
	struct sfs_tar_header h;

	if (n < SFS_TAR_BLOCK)
		return;
	h = sfs_tar_look(head);
	if (h.kind != SFS_TAR_FILE)
		return;
	s->n_first++;
	s->first_bytes += SFS_TAR_BLOCK + sfs_tar_padded(h.size);
}

/* The size of the shard is known, and it may begin with these bytes: if it is no tar,
 * note that.  Locked. */
static void look(struct sfs_sizes *s, const struct sfs_shard *shard,
		 const unsigned char *head, size_t n)
{
	const struct sfs_magic *magic = sfs_magic_instead_of_tar(head, n);
	bool is_empty = shard->object.size == 0;
	sfs_autofree char *shown = NULL, *why = NULL;

	measure_first_file(s, head, n);
	if (!magic && !is_empty)
		return;
	shown = sfs_uri_redact(shard->object.uri.location);
	why = is_empty ? sfs_asprintf("%s is an empty file, not a tar", shown)
		       : sfs_asprintf("%s is %s: %s", shown, magic->what, magic->advice);
	s->state[shard->index] = FOREIGN;
	keep_why(s, shard->index, why);
}

/* Is a retry useless? */
static bool is_refused(int err)
{
	switch (err) {
	case -EACCES:
	case -EPERM:
	case -EINVAL:
	case -EFBIG:
	case -EISDIR:
	case -ELOOP:
	case -ENAMETOOLONG:
	case -ENOTDIR:
	case -EOPNOTSUPP: return true;
	}
	return false;
}

static uint32_t n_bad(const struct sfs_sizes_tally *t)
{
	return t->n_missing + t->n_refused + t->n_failed + t->n_foreign;
}

static void count_bad(const struct sfs_sizes *s, uint32_t shard,
		      struct sfs_sizes_tally *t)
{
	const struct sfs_shard *failed = &s->shards->shards[shard];
	int err = failed->size_err;

	if (n_bad(t) == 0) {
		if (s->why && s->first_bad == shard)
			sfs_error_set(&t->first, 0, "%s", s->why);
		else if (s->state[shard] == FOREIGN)
			sfs_error_set(&t->first, 0, "%s", failed->name);
		else
			sfs_error_set(&t->first, 0, "%s: %s", failed->name,
				      strerror(-err));
	}
	if (s->state[shard] == FOREIGN)
		t->n_foreign++;
	else if (err == -ENOENT)
		t->n_missing++;
	else if (is_refused(err))
		t->n_refused++;
	else
		t->n_failed++;
}

/* Locked. */
static void tally(const struct sfs_sizes *s, uint32_t first, uint32_t end,
		  struct sfs_sizes_tally *t)
{
	uint32_t i;

	*t = (struct sfs_sizes_tally){.n_shards = end - first,
				      .is_skipping = s->shards->skip_damaged};
	for (i = first; i < end; i++) {
		t->n_asked += s->state[i] == KNOWN || is_bad(s->state[i]);
		if (is_bad(s->state[i]))
			count_bad(s, i, t);
	}
}

/* What is wrong with n shards? */
static const char *fault(const struct sfs_sizes_tally *t, uint32_t n)
{
	if (n == t->n_missing)
		return n == 1 ? "is missing" : "are missing";
	if (n == t->n_foreign)
		return n == 1 ? "is no tar file" : "are no tar files";
	return "cannot be read";
}

/* What is done about it, or can be: only missing and foreign shards can be left out. */
static const char *remedy(const struct sfs_sizes_tally *t, uint32_t n)
{
	if (n != t->n_missing + t->n_foreign || n == t->n_asked)
		return "";
	if (t->is_skipping)
		return n == 1 ? "; it is left out" : "; they are left out";
	return n == 1 ? "; on-error=skip leaves it out"
		      : "; on-error=skip leaves them out";
}

void sfs_sizes_describe(const struct sfs_sizes_tally *t, struct sfs_error *ret)
{
	uint32_t n = n_bad(t);
	bool is_all = n == t->n_asked, is_whole = t->n_asked == t->n_shards;
	char count[16], of[64];

	if (n == 0)
		return;
	if (t->n_shards == 1) {
		*ret = t->first;
		return;
	}
	snprintf(count, sizeof count, !is_all ? "%u of" : is_whole ? "all" : "all of", n);
	if (is_whole)
		snprintf(of, sizeof of, "%u shards", t->n_shards);
	else
		snprintf(of, sizeof of, "the first %u shards that answered", t->n_asked);
	sfs_error_set(ret, 0, "%s %s %s%s: %s%s", count, of, fault(t, n),
		      n == 1 ? "" : ", the first", t->first.text, remedy(t, n));
}

/* No shard is left.  *ret gets what the user does not know yet, for the caller to log.
 * Locked. */
static void end_round(struct sfs_sizes *s, struct sfs_error *ret)
{
	struct sfs_sizes_tally t;

	pthread_cond_broadcast(&s->all_ended);
	if (!s->why || !s->has_reported || s->is_closed)
		return;
	tally(s, 0, s->shards->n, &t);
	if (n_bad(&t) != s->n_reported)
		sfs_sizes_describe(&t, ret);
	s->n_reported = n_bad(&t);
}

/* It failed before it was settled: request it again then, or now. */
static void hold(struct sfs_sizes *s, struct slot *slot, struct sfs_link *out)
{
	uint32_t i = slot->shard->index;

	pthread_mutex_lock(&s->lock);
	s->state[i] = s->is_settled ? WAITING : HELD;
	s->next = 0;
	sfs_list_push(&s->idle, &slot->link);
	if (s->is_settled)
		dispatch(s, out);
	pthread_mutex_unlock(&s->lock);
}

static void on_size(struct sfs_request *request, int err)
{
	struct slot *slot = (struct slot *)request;
	struct sfs_sizes *s = slot->sizes;
	struct sfs_shard *shard = slot->shard;
	struct sfs_error line = {0};
	struct sfs_link ended, out;
	int size_err;

	sfs_list_init(&ended);
	sfs_list_init(&out);
	if (request->is_probe && err < 0) {
		hold(s, slot, &out);
		submit(&out);
		return;
	}
	size_err = err;
	err = check_size(s, shard, err, slot->error.text);
	pthread_mutex_lock(&s->lock);
	shard->size_err = err < 0 ? err : size_err;
	s->state[shard->index] = err < 0 ? FAILED : size_err < 0 ? MISSING : KNOWN;
	s->n_known += err == 0;
	s->n_pending--;
	if (s->state[shard->index] == KNOWN)
		look(s, shard, slot->head, request->head ? request->n_got : 0);
	else if (size_err == 0)
		keep_too_large(s, shard);
	else if (is_bad(s->state[shard->index]))
		keep_why(s, shard->index, slot->error.text);
	if (err < 0) {
		s->failure = err;
		s->failed_ns = sfs_clock_ns();
	}
	sfs_list_push(&s->idle, &slot->link);
	dispatch(s, &out);
	take_waiters(s, shard->index, &ended);
	if (s->n_pending == 0)
		end_round(s, &line);
	pthread_mutex_unlock(&s->lock);
	if (line.text[0])
		sfs_warning("%s", line.text);
	submit(&out);
	sfs_waiters_end(&ended, err == -ECANCELED ? err : 0);
}

/* Take the sizes that a listing has given. */
static void take_listed(struct sfs_sizes *s)
{
	uint32_t i;

	for (i = 0; i < s->shards->n; i++) {
		struct sfs_shard *shard = &s->shards->shards[i];

		if (s->state[i] != WAITING || shard->object.size == SFS_SIZE_UNKNOWN)
			continue;
		s->n_pending--;
		shard->size_err = check_size(s, shard, 0, "");
		s->state[i] = shard->size_err < 0 ? FAILED : KNOWN;
		if (shard->size_err < 0) {
			keep_too_large(s, shard);
			s->failure = shard->size_err;
		} else {
			s->n_known++;
			look(s, shard, (const unsigned char *)"", 0);
		}
	}
}

struct sfs_sizes *sfs_sizes_start(struct sfs_shards *shards, const uint32_t *left_out,
				  size_t n_left_out)
{
	struct sfs_sizes *s = sfs_calloc(1, sizeof *s);
	struct sfs_link out;
	size_t i;

	s->shards = shards;
	s->state = sfs_calloc(shards->n, 1);
	s->stride = choose_stride(shards->n);
	s->n_pending = shards->n;
	sfs_lock_init(&s->lock, SFS_LOCK_SIZES);
	pthread_cond_init(&s->all_ended, NULL);
	sfs_list_init(&s->waiters);
	sfs_list_init(&s->idle);
	sfs_list_init(&out);
	for (i = 0; i < n_left_out; i++)
		s->state[left_out[i]] = HELD;
	s->n_slots = shards->n < MAX_SLOTS ? shards->n : MAX_SLOTS;
	s->slots = sfs_calloc(s->n_slots, sizeof *s->slots);
	for (i = 0; i < s->n_slots; i++) {
		s->slots[i].sizes = s;
		sfs_list_push(&s->idle, &s->slots[i].link);
	}
	pthread_mutex_lock(&s->lock);
	take_listed(s);
	dispatch(s, &out);
	pthread_mutex_unlock(&s->lock);
	submit(&out);
	return s;
}

void sfs_sizes_settle(struct sfs_sizes *s)
{
	struct sfs_shard *shard;
	struct sfs_link out;
	uint32_t i;

	sfs_list_init(&out);
	pthread_mutex_lock(&s->lock);
	s->is_settled = true;
	for (i = 0; i < s->shards->n; i++) {
		shard = &s->shards->shards[i];
		if (s->state[i] != HELD)
			continue;
		s->state[i] = WAITING;
		/* The probe has got it. */
		if (shard->object.size != SFS_SIZE_UNKNOWN && !is_too_large(shard)) {
			s->state[i] = KNOWN;
			s->n_known++;
			s->n_pending--;
		}
	}
	s->next = 0;
	dispatch(s, &out);
	if (s->n_pending == 0)
		pthread_cond_broadcast(&s->all_ended);
	pthread_mutex_unlock(&s->lock);
	submit(&out);
}

void sfs_sizes_look(struct sfs_sizes *s, struct sfs_shard *shard,
		    const unsigned char *head, size_t n)
{
	pthread_mutex_lock(&s->lock);
	if (s->state[shard->index] == KNOWN)
		look(s, shard, head, n);
	pthread_mutex_unlock(&s->lock);
}

void sfs_sizes_wait(struct sfs_sizes *s, unsigned timeout_ms)
{
	uint64_t end_ns = sfs_clock_ns() + timeout_ms * SFS_NS_PER_MS;

	pthread_mutex_lock(&s->lock);
	while (s->n_pending > 0 && !s->is_closed &&
	       sfs_cond_wait_until(&s->all_ended, &s->lock, end_ns))
		;
	pthread_mutex_unlock(&s->lock);
}

void sfs_sizes_tally(struct sfs_sizes *s, uint32_t first, uint32_t end,
		     struct sfs_sizes_tally *ret_tally)
{
	pthread_mutex_lock(&s->lock);
	tally(s, first, end, ret_tally);
	pthread_mutex_unlock(&s->lock);
}

void sfs_sizes_report(struct sfs_sizes *s, struct sfs_sizes_tally *ret_tally)
{
	pthread_mutex_lock(&s->lock);
	tally(s, 0, s->shards->n, ret_tally);
	s->n_reported = n_bad(ret_tally);
	s->has_reported = true;
	pthread_mutex_unlock(&s->lock);
}

void sfs_sizes_stop(struct sfs_sizes *s)
{
	struct sfs_link ended;

	if (!s)
		return;
	sfs_list_init(&ended);
	pthread_mutex_lock(&s->lock);
	s->is_closed = true;
	sfs_waiters_tell(&s->waiters, &ended);
	pthread_mutex_unlock(&s->lock);
	sfs_waiters_end(&ended, -ECANCELED);
}

void sfs_sizes_free(struct sfs_sizes *s)
{
	if (!s)
		return;
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->all_ended);
	free(s->why);
	free(s->state);
	free(s->wanted);
	free(s->slots);
	free(s);
}

static void want(struct sfs_sizes *s, uint32_t shard)
{
	if (s->n_wanted == s->wanted_capacity) {
		s->wanted_capacity = 2 * s->wanted_capacity + 16;
		s->wanted = sfs_reallocarray(s->wanted, s->wanted_capacity,
					     sizeof *s->wanted);
	}
	s->wanted[s->n_wanted++] = shard;
}

/* Request again what failed.  Locked. */
static void retry_failed(struct sfs_sizes *s)
{
	uint32_t i;

	for (i = 0; i < s->shards->n; i++) {
		if (s->state[i] != FAILED)
			continue;
		s->state[i] = WAITING;
		s->n_pending++;
	}
	s->next = 0;
}

static bool may_retry(const struct sfs_sizes *s)
{
	return sfs_clock_ns() - s->failed_ns >= RETRY_NS;
}

/* Explain the size that this waiter waits for, or one of all that are in flight.  Locked.
 */
static void explain(struct sfs_waiter *waiter, struct sfs_cause *cause)
{
	const struct sfs_sizes *s = waiter->owner;
	uint32_t i = waiter->shard;

	if (i == ALL_SHARDS)
		for (i = 0; i + 1 < s->shards->n && s->state[i] != IN_FLIGHT;)
			i++;
	sfs_object_explain(&s->shards->shards[i].object, SFS_NO_OFFSET,
			   waiter->shard == ALL_SHARDS ? "the size, among others,"
						       : "the size",
			   cause);
}

/* Keep the waiter, request what it waits for, unlock. */
static int wait_for(struct sfs_sizes *s, uint32_t shard, struct sfs_waiter *waiter)
{
	struct sfs_link out;

	sfs_list_init(&out);
	dispatch(s, &out);
	if (waiter) {
		waiter->lock = &s->lock;
		waiter->explain = explain;
		waiter->owner = s;
		waiter->shard = shard;
		sfs_list_push(&s->waiters, &waiter->link);
	}
	pthread_mutex_unlock(&s->lock);
	submit(&out);
	return -EINPROGRESS;
}

int sfs_sizes_shard(struct sfs_sizes *s, struct sfs_shard *shard,
		    struct sfs_waiter *waiter)
{
	int ret;

	pthread_mutex_lock(&s->lock);
	switch (s->state[shard->index]) {
	case KNOWN:
	case FOREIGN:
	case MISSING: ret = 0; break;
	case FAILED:
		ret = shard->size_err;
		if (!may_retry(s))
			break;
		s->state[shard->index] = WAITING;
		s->n_pending++;
		/* fall through */
	case WAITING: want(s, shard->index); /* fall through */
	default: return wait_for(s, shard->index, waiter);
	}
	pthread_mutex_unlock(&s->lock);
	return ret;
}

int sfs_sizes_all(struct sfs_sizes *s, struct sfs_waiter *waiter)
{
	int ret;

	pthread_mutex_lock(&s->lock);
	ret = s->n_known == s->shards->n ? 0 : s->failure;
	if (s->n_pending == 0 && ret < 0 && may_retry(s))
		retry_failed(s);
	if (s->n_pending > 0)
		return wait_for(s, ALL_SHARDS, waiter);
	pthread_mutex_unlock(&s->lock);
	return ret;
}

uint64_t sfs_sizes_first_files(struct sfs_sizes *s)
{
	uint64_t ret;

	pthread_mutex_lock(&s->lock);
	ret = s->n_first > 0 ? s->first_bytes / s->n_first : 0;
	pthread_mutex_unlock(&s->lock);
	return ret;
}

uint32_t sfs_sizes_known(struct sfs_sizes *s)
{
	uint32_t n;

	pthread_mutex_lock(&s->lock);
	n = s->n_known;
	pthread_mutex_unlock(&s->lock);
	return n;
}
