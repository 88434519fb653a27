/* SPDX-License-Identifier: MIT */
/* Whatever happens and in whatever order, a request ends exactly once; if it ends well,
 * all its bytes are right; it never claims a byte that is not there, nor writes one again
 * that it has called ready; and when it ends, none of its GETs is left.
 *
 * Chance plays the servers and the readers.  TEST_SEED=N repeats the round that failed.
 */
#include "scripted-fetch.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/rng.h"

#define SIZE	  1000448
#define N_ACTIVE  4
#define N_ROUNDS  400
#define MAX_STEPS 200000

/* What the server may do, and so which errors a request may end with. */
enum {
	CUTS = 1,
	NO = 2,
	MISSING = 4,
	REFUSED = 8,
	CHANGED = 16,
	CANCELLED = 32,
	HASTY = 64
};

struct reader {
	struct asked asked;
	bool is_active, was_cancelled;
	uint64_t n_marked; /* ready bytes that were changed since */
};

static unsigned char content[2][SIZE + 1];
static struct sfs_rng rng;
static struct sfs_source *source;
static struct sfs_object object;
static struct reader readers[N_ACTIVE];
static unsigned faults;	   /* that may happen in this round */
static bool is_calm;	   /* no more faults */
static int version, known; /* the server's, and the one that was asked for its size */
static bool has_tag, verify_size_only;

static bool one_in(uint64_t n)
{
	return sfs_rng_below(&rng, n) == 0;
}

static bool fault(unsigned kind, uint64_t n)
{
	return !is_calm && (faults & kind) && one_in(n);
}

/* ---- the readers ---- */

static unsigned char right_byte(const struct reader *r, uint64_t at)
{
	unsigned char byte = content[known][r->asked.request.offset + at];

	return at < r->n_marked ? byte ^ 0xff : byte;
}

static unsigned char *byte_at(struct reader *r, uint64_t at)
{
	struct asked *a = &r->asked;

	return at < a->n[0] ? a->memory[0] + GUARD + at
			    : a->memory[1] + GUARD + at - a->n[0];
}

static void check_bytes(struct reader *r, uint64_t from, uint64_t end)
{
	uint64_t i;

	for (i = from; i < end; i++)
		if (*byte_at(r, i) != right_byte(r, i)) {
			fprintf(stderr, "byte %llu of %llu is wrong\n",
				(unsigned long long)i,
				(unsigned long long)r->asked.request.n_bytes);
			exit(1);
		}
}

/* Ready bytes are the reader's: it changes them, and sees if they are written again. */
static void check_ready(struct reader *r)
{
	uint64_t n = atomic_load(&r->asked.request.n_ready);

	CHECK(n >= r->n_marked && n <= r->asked.request.n_bytes);
	check_bytes(r, r->n_marked, n);
	for (; r->n_marked < n; r->n_marked++)
		*byte_at(r, r->n_marked) ^= 0xff;
}

static bool may_end_with(const struct reader *r, int err)
{
	switch (err) {
	case 0: return true;
	case -ECANCELED: return r->was_cancelled;
	case -ESTALE: return faults & CHANGED;
	case -ENOENT: return faults & MISSING;
	case -EACCES: return faults & REFUSED;
	case -EIO: return faults & (NO | CUTS);
	case -EOPNOTSUPP:
	case -EPROTO: return faults & NO;
	case -ECONNRESET: return faults & HASTY;
	default: return false;
	}
}

static void check_end(struct reader *r)
{
	const struct sfs_request *q = &r->asked.request;
	int err = r->asked.err;

	CHECK_EQ(r->asked.n_done, 1);
	if (!may_end_with(r, err)) {
		fprintf(stderr, "ended with %d: %s\n", err, r->asked.error.text);
		exit(1);
	}
	CHECK(err == 0 || err == -ECANCELED || r->asked.error.text[0]);
	if (q->kind == SFS_REQUEST_READ) {
		CHECK(q->n_got <= q->n_bytes && q->n_got >= q->n_ready);
		CHECK(err != 0 || q->n_got == q->n_bytes);
		check_ready(r);
		check_bytes(r, 0, q->n_got);
	}
	asked_free(&r->asked);
	r->is_active = false;
}

static void check_all(void)
{
	int i;

	for (i = 0; i < N_ACTIVE; i++) {
		if (!readers[i].is_active)
			continue;
		if (readers[i].asked.n_done > 0)
			check_end(&readers[i]);
		else if (readers[i].asked.request.kind == SFS_REQUEST_READ)
			check_ready(&readers[i]);
	}
}

static int n_active(void)
{
	int i, n = 0;

	for (i = 0; i < N_ACTIVE; i++)
		n += readers[i].is_active;
	return n;
}

static void submit_read(void)
{
	uint64_t n = 1 + sfs_rng_below(&rng, one_in(3) ? 500000 : 30000);
	struct reader *r = readers;

	while (r->is_active)
		r++;
	*r = (struct reader){.is_active = true};
	prepare_read(&r->asked, &object, sfs_rng_below(&rng, SIZE - n + 1), n);
	r->asked.request.is_urgent = one_in(3);
	r->asked.request.is_ahead = !r->asked.request.is_urgent && one_in(2);
	sfs_request_submit(&r->asked.request);
}

static void disturb_reader(void)
{
	struct reader *r = &readers[sfs_rng_below(&rng, N_ACTIVE)];

	if (!r->is_active)
		return;
	if (fault(CANCELLED, 20)) {
		r->was_cancelled = true;
		sfs_request_cancel(&r->asked.request);
	} else if (one_in(2)) {
		sfs_request_hurry(&r->asked.request);
	} else if (r->asked.request.kind == SFS_REQUEST_READ) {
		sfs_request_await(&r->asked.request);
	}
}

/* ---- the server ---- */

static const char *tag(void)
{
	return !has_tag ? "" : version ? "ETag: \"two\"\n" : "ETag: \"one\"\n";
}

/* Bytes of the body that were sent: a field that only the real fetch uses. */
static uint64_t *n_sent(struct sfs_get *get)
{
	return &get->response.watched_bytes;
}

static void respond_with_bytes(struct sfs_get *get)
{
	uint64_t first = get->first, last = get->last;
	char length[64] = "";

	if (get->is_whole) {
		script_head(get, "HTTP/1.1 200 OK\nContent-Length: %d\n%s", SIZE, tag());
		return;
	}
	if (last >= SIZE)
		last = SIZE - 1;
	if (one_in(4)) /* less at a time */
		last = first + sfs_rng_below(&rng, last - first + 1);
	if (fault(NO, 20))
		first++;
	/* A body without a length is never received in place. */
	if (script.is_in_place || !one_in(4) || first > last)
		snprintf(length, sizeof length, "Content-Length: %llu\n",
			 (unsigned long long)(last - first + 1));
	script_head(
		get,
		"HTTP/1.1 206 Partial Content\nContent-Range: bytes %llu-%llu/%d\n%s%s",
		(unsigned long long)first, (unsigned long long)last, SIZE, length, tag());
}

static void respond(struct sfs_get *get)
{
	get->response.watched_ns = (uint64_t)version; /* which its bytes are of */
	if (fault(CUTS, 20))
		script_head(get, "HTTP/1.1 503 Busy\n%s",
			    one_in(2) ? "Retry-After: 1\n" : "");
	else if (fault(NO, 30))
		script_head(get, "HTTP/1.1 200 OK\nContent-Length: %d\n%s", SIZE, tag());
	else if (fault(NO, 50))
		script_head(get, "HTTP/1.1 416 No\n");
	else if (fault(MISSING, 50))
		script_head(get, "HTTP/1.1 404 No\n");
	else if (fault(REFUSED, 50))
		script_head(get, "HTTP/1.1 %d No\n", one_in(2) ? 401 : 403);
	else if (get->if_match && strcmp(get->if_match, "\"two\"") != 0 &&
		 fault(CHANGED, 50))
		script_head(get, "HTTP/1.1 412 No\nETag: \"two\"\n");
	else if (one_in(30) && !is_calm)
		script_head(get, "HTTP/1.1 302 There\nLocation: http://%c/x.tar\n",
			    "abcd"[sfs_rng_below(&rng, 4)]);
	else
		respond_with_bytes(get);
}

static void send_body(struct sfs_get *get)
{
	const struct sfs_http_headers *a = &get->response.headers;
	bool has_length = a->length != SFS_HTTP_UNKNOWN;
	uint64_t at = a->first + *n_sent(get), n_left = a->last + 1 - at, n;

	if (get->response.err > 0 || !a->has_range) {
		script_end(get);
		return;
	}
	n = sfs_rng_below(&rng, n_left + 1);
	if (one_in(3))
		n = n_left;
	if (!has_length && n == n_left && fault(NO, 3)) { /* too long */
		script_body(get, content[get->response.watched_ns] + at, n + 1);
		return;
	}
	*n_sent(get) += n;
	if (!script_body(get, content[get->response.watched_ns] + at, n))
		return;
	if (n == n_left || (!has_length && fault(CUTS, 10)))
		script_end(get);
}

static void disturb_get(void)
{
	size_t n = script_n();
	struct sfs_get *get = n ? script_nth(sfs_rng_below(&rng, n)) : NULL;

	if (!get)
		return;
	if (!get->is_active) {
		*n_sent(get) = 0;
		script_begin(get);
	} else if (fault(CUTS, 15)) {
		script_lose(get);
	} else if (get->late_ns > 0 && one_in(8)) {
		script_late(get);
	} else if (!get->response.has_head) {
		respond(get);
	} else {
		send_body(get);
	}
}

static void disturb_server(void)
{
	if (fault(REFUSED, 40))
		script.edition++;
	if (fault(CHANGED, 200))
		version = 1;
}

/* ---- a round ---- */

static void step(void)
{
	disturb_get();
	if (one_in(10))
		disturb_reader();
	disturb_server();
	check_all();
}

static void finish_all(void)
{
	int i;

	for (i = 0; n_active() > 0; i++) {
		CHECK(i < MAX_STEPS);
		step();
	}
}

static void ask(void)
{
	readers[0] = (struct reader){.is_active = true};
	ask_for_size(&readers[0].asked, &object);
	finish_all();
	known = object.tag && strcmp(object.tag, "\"two\"") == 0;
}

static void stop_source(void)
{
	int i;

	for (i = 0; i < N_ACTIVE; i++)
		readers[i].was_cancelled = true;
	sfs_source_stop(source);
	check_all();
	CHECK_EQ(n_active(), 0);
	sfs_source_free(source);
	sfs_object_done(&object);
}

static void run(uint64_t seed)
{
	struct sfs_http_options options = {.n_connections = 8, .n_retries = 3};
	struct sfs_error err;
	int i, n_reads;

	rng.state = seed;
	faults = one_in(4) ? 0 : (unsigned)sfs_rng_below(&rng, 128);
	has_tag = one_in(2);
	verify_size_only = one_in(4);
	if (!has_tag || verify_size_only) /* what nobody can notice */
		faults &= ~(unsigned)CHANGED;
	is_calm = false;
	version = known = 0;
	options.verify_size_only = verify_size_only;
	options.read_timeout_ms = faults & HASTY ? 0 : 3600000;
	script.is_in_place = one_in(2);
	source = sfs_source_http_start(&options, &err);
	CHECK(source != NULL);
	script.cold_bytes = one_in(2) ? 13 << 10 : 0;
	make_object(&object, source, "http://me:secret@origin/x.tar");
	ask();
	n_reads = object.size == SIZE ? 20 : 0;
	for (i = 0; n_reads > 0 && i < MAX_STEPS; i++) {
		if (n_active() < N_ACTIVE && one_in(5)) {
			submit_read();
			n_reads--;
		}
		step();
	}
	is_calm = !one_in(4);
	if (is_calm)
		finish_all();
	stop_source();
}

int main(void)
{
	const char *given = getenv("TEST_SEED");
	uint64_t seed = given ? strtoull(given, NULL, 10) : sfs_clock_ns();
	int i;

	sfs_log_set_level(SFS_LOG_ERROR);
	for (i = 0; i < SIZE; i++) {
		content[0][i] = (unsigned char)(i * 7 + i / 251);
		content[1][i] = (unsigned char)(i * 11 + i / 241 + 1);
	}
	for (i = 0; i < (given ? 1 : N_ROUNDS); i++) {
		fprintf(stderr, "TEST_SEED=%llu\n", (unsigned long long)seed + i);
		run(seed + (uint64_t)i);
	}
	return 0;
}
