/* SPDX-License-Identifier: MIT */
#include "source/http/origin.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/ledger.h"
#include "source/retry.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#define LEAST_SMALL 8
#define NO_WINDOW   (1 << 30)
#define SMALL_AGAIN 8 /* that many have to end before the limit grows by one */
#define MOST_IDLE   64
#define MAX_PATHS   4096
#define CUT_PART    8  /* of the GETs sent behind others, one in so many may be cut, */
#define N_CUT_FREE  64 /* and so many more */
#define OF_LATE_NS  (10 * SFS_NS_PER_S)

/* A near server's kernel completes a handshake within this, however busy it is. */
#define UNANSWERED_NS (25 * SFS_NS_PER_MS)

#define SAY_NS	    (60 * SFS_NS_PER_S) /* at most so often that a server is held */

/* What a new connection sends at once, with its headers; and until how much has come. */
#define FIRST_BYTES (13 << 10)
#define COLD_BYTES  (8 << 20)

/* GETs at a time, of all servers. */
static const int most_active[SFS_N_QUEUES] = {512, 256};

static int queue_of(const struct sfs_get *get)
{
	return get->is_small ? SFS_QUEUE_SMALL : SFS_QUEUE_READ;
}

void sfs_origins_init(struct sfs_origins *origins, int n_connections, int n_small)
{
	*origins =
		(struct sfs_origins){.n_connections = n_connections, .n_small = n_small};
	sfs_list_init(&origins->list);
	sfs_list_init(&origins->paths);
}

/* The path to a server that is perhaps forgotten. */
struct known_path {
	struct sfs_link link;
	char *name;
	struct sfs_netpath_record record;
};

/* NULL: there are too many of them. */
static struct sfs_netpath_record *path_of(struct sfs_origins *origins, const char *name)
{
	struct known_path *path;

	SFS_EACH (known, &origins->paths, struct known_path, link) {
		if (strcasecmp(known->name, name) == 0)
			return &known->record;
	}
	if (origins->n_paths == MAX_PATHS)
		return NULL;
	path = sfs_calloc(1, sizeof *path);
	path->name = sfs_strdup(name);
	sfs_list_push(&origins->paths, &path->link);
	origins->n_paths++;
	return &path->record;
}

static void free_paths(struct sfs_origins *origins)
{
	struct sfs_link *link;
	struct known_path *path;

	while ((link = sfs_list_pop(&origins->paths)) != NULL) {
		path = sfs_container(link, struct known_path, link);
		free(path->name);
		free(path);
	}
}

static void forget(struct sfs_origins *origins, struct sfs_origin *origin)
{
	sfs_link_remove(&origin->link);
	origins->n--;
	free(origin->name);
	free(origin);
}

void sfs_origins_done(struct sfs_origins *origins)
{
	while (!sfs_list_is_empty(&origins->list))
		forget(origins,
		       sfs_container(origins->list.next, struct sfs_origin, link));
	free_paths(origins);
}

static bool has_queued(const struct sfs_origin *origin, int i)
{
	return !sfs_list_is_empty(&origin->queues[i][0]) ||
	       !sfs_list_is_empty(&origin->queues[i][1]);
}

static bool is_idle(const struct sfs_origin *origin)
{
	int i;

	for (i = 0; i < SFS_N_QUEUES; i++)
		if (origin->n_active[i] > 0 || has_queued(origin, i))
			return false;
	return origin->n_waiting == 0 && origin->n_ahead == 0;
}

/* Of the idle ones, the one that was not used for longest. */
static void forget_oldest(struct sfs_origins *origins)
{
	struct sfs_origin *oldest = NULL;

	SFS_EACH (origin, &origins->list, struct sfs_origin, link) {
		if (is_idle(origin) && (!oldest || origin->used_ns < oldest->used_ns))
			oldest = origin;
	}
	if (oldest)
		forget(origins, oldest);
}

/* How much of a URL names its server. */
static size_t origin_length(const char *url)
{
	const char *host = strstr(url, "://");

	host = host ? host + 3 : url;
	return (size_t)(host - url) + strcspn(host, "/?#");
}

static struct sfs_origin *find_or_add(struct sfs_origins *origins, const char *url)
{
	size_t n = origin_length(url), i;
	struct sfs_origin *origin;

	SFS_EACH (known, &origins->list, struct sfs_origin, link) {
		if (strlen(known->name) == n && strncasecmp(known->name, url, n) == 0)
			return known;
	}
	if (origins->n >= MOST_IDLE)
		forget_oldest(origins);
	origin = sfs_calloc(1, sizeof *origin);
	origin->name = sfs_asprintf("%.*s", (int)n, url);
	origin->path = path_of(origins, origin->name);
	origin->small_limit = origins->n_small;
	sfs_concurrency_init(&origin->concurrency, origins->n_connections);
	for (i = 0; i < SFS_N_QUEUES; i++) {
		sfs_list_init(&origin->queues[i][0]);
		sfs_list_init(&origin->queues[i][1]);
	}
	sfs_list_push(&origins->list, &origin->link);
	origins->n++;
	return origin;
}

void sfs_origins_enqueue(struct sfs_origins *origins, struct sfs_get *get,
			 uint64_t now_ns)
{
	get->origin = find_or_add(origins, get->url);
	get->origin->used_ns = now_ns;
	sfs_list_push(&get->origin->queues[queue_of(get)][get->is_urgent], &get->link);
}

/* Without is_slow. */
static struct sfs_netpath path_to(const struct sfs_origin *origin)
{
	return (struct sfs_netpath){
		.n_parallel = sfs_concurrency_limit(&origin->concurrency),
		.rtt_ns = origin->rtt_ns,
		.wait_ns = sfs_concurrency_wait_ns(&origin->concurrency),
		.bytes_per_s = sfs_concurrency_bytes_per_s(&origin->concurrency),
	};
}

/* When all connections have brought their first bytes, each brings twice as many. */
uint64_t sfs_origin_cold_bytes(const struct sfs_origin *origin)
{
	uint64_t share;

	if (origin->rtt_ns < SFS_NETPATH_LONG_NS || origin->served_bytes > COLD_BYTES)
		return 0;
	share = origin->served_bytes / (uint64_t)origin->small_limit;
	return FIRST_BYTES * (1 + share / FIRST_BYTES);
}

static bool has_room(const struct sfs_origins *origins, const struct sfs_origin *origin,
		     int i)
{
	int limit = i == SFS_QUEUE_SMALL ? origin->small_limit
					 : sfs_concurrency_limit(&origin->concurrency);

	return origin->n_active[i] < limit && origins->n_active[i] < most_active[i];
}

/* A server that closes a connection after 100 responses cuts a few.  One that does not
 * know what to do with a request behind another cuts nearly all. */
static bool cuts_often(const struct sfs_origin *origin)
{
	return origin->n_cut > N_CUT_FREE + origin->n_behind / CUT_PART;
}

/* From a far server, what is asked for behind another comes at the same time.  From a
 * near one there is nothing to gain; one that has not responded yet may not know of it; and
 * one that had too much to do gets no more of them. */
static bool takes_behind(const struct sfs_origin *origin)
{
	struct sfs_netpath path = path_to(origin);

	return origin->is_ours && path.wait_ns > 0 && sfs_netpath_is_far(&path) &&
	       origin->refused_ns == 0 && !cuts_often(origin);
}

/* May this one of queue i begin?  One that will be split goes when small ones may: so the
 * pieces of one are all sent before those of the next.  One that may go behind others had
 * better wait for that than take the last of the room for a new connection. */
static bool is_its_turn(const struct sfs_origins *origins, const struct sfs_get *get,
			int i)
{
	const struct sfs_origin *origin = get->origin;

	if (get->may_be_split && sfs_origin_cold_bytes(origin) > 0)
		i = SFS_QUEUE_SMALL;
	if (get->may_follow && takes_behind(origin) &&
	    8 * origin->n_active[i] >= 7 * origin->small_limit)
		return false;
	return has_room(origins, origin, i);
}

/* Urgent ones first; and small ones, which belong to what has begun
 * before, before reads. */
static struct sfs_get *next_of(const struct sfs_origins *origins,
			       struct sfs_origin *origin)
{
	struct sfs_link *queue;
	struct sfs_get *get;
	int urgent, i;

	for (urgent = 1; urgent >= 0; urgent--) {
		for (i = SFS_N_QUEUES - 1; i >= 0; i--) {
			queue = &origin->queues[i][urgent];
			if (sfs_list_is_empty(queue))
				continue;
			get = sfs_container(queue->next, struct sfs_get, link);
			if (is_its_turn(origins, get, i))
				return get;
		}
	}
	return NULL;
}

struct sfs_get *sfs_origins_next(struct sfs_origins *origins)
{
	struct sfs_get *get;

	SFS_EACH (origin, &origins->list, struct sfs_origin, link) {
		get = next_of(origins, origin);
		if (get) {
			sfs_link_remove(&get->link);
			return get;
		}
	}
	return NULL;
}

struct sfs_get *sfs_origin_next_behind(struct sfs_origin *origin)
{
	struct sfs_link *queue = &origin->queues[SFS_QUEUE_SMALL][1];
	struct sfs_get *get;

	if (sfs_list_is_empty(queue) || !takes_behind(origin))
		return NULL;
	get = sfs_container(queue->next, struct sfs_get, link);
	if (!get->may_follow)
		return NULL;
	sfs_link_remove(&get->link);
	origin->n_behind++;
	return get;
}

void sfs_origin_cut(struct sfs_get *get)
{
	get->origin->n_cut++;
}

void sfs_origins_enter(struct sfs_origins *origins, struct sfs_get *get)
{
	origins->n_active[queue_of(get)]++;
	get->origin->n_active[queue_of(get)]++;
}

static struct sfs_netpath path_now(const struct sfs_origin *origin, uint64_t now_ns)
{
	struct sfs_netpath path = path_to(origin);

	path.is_slow = sfs_concurrency_is_path_slow(&origin->concurrency, now_ns);
	return path;
}

static void record_path(struct sfs_origin *origin, uint64_t now_ns)
{
	struct sfs_netpath path = path_now(origin, now_ns);

	if (origin->path)
		sfs_netpath_store(origin->path, &path);
}

void sfs_origins_leave(struct sfs_origins *origins, struct sfs_get *get, uint64_t now_ns)
{
	struct sfs_origin *origin = get->origin;
	bool is_bound = has_queued(origin, SFS_QUEUE_READ);

	origin->used_ns = now_ns;
	origins->n_active[queue_of(get)]--;
	origin->n_active[queue_of(get)]--;
	if (get->is_small && origin->small_limit < origins->n_small &&
	    ++origin->n_small_ended % SMALL_AGAIN == 0)
		origin->small_limit++;
	if (!get->is_small) {
		sfs_concurrency_ended(&origin->concurrency, now_ns, is_bound);
		if (origin->n_active[SFS_QUEUE_READ] == 0 && !is_bound)
			sfs_concurrency_rest(&origin->concurrency);
	}
	record_path(origin, now_ns);
}

void sfs_origins_begin_waiting(struct sfs_origins *origins, struct sfs_get *get)
{
	get->origin = find_or_add(origins, get->url);
	get->origin->n_waiting++;
	get->is_waiting = true;
}

void sfs_origins_end_waiting(struct sfs_get *get)
{
	if (get->is_waiting)
		get->origin->n_waiting--;
	get->is_waiting = false;
}

void sfs_origins_each_queue(struct sfs_origins *origins,
			    void (*each)(void *ctx, struct sfs_link *queue), void *ctx)
{
	int i;

	SFS_EACH (origin, &origins->list, struct sfs_origin, link) {
		for (i = 0; i < SFS_N_QUEUES; i++) {
			each(ctx, &origin->queues[i][0]);
			each(ctx, &origin->queues[i][1]);
		}
	}
}

struct sfs_netpath sfs_origins_path(struct sfs_origins *origins, uint64_t now_ns)
{
	struct sfs_netpath all = {0}, one;

	SFS_EACH (origin, &origins->list, struct sfs_origin, link) {
		if (is_idle(origin) && now_ns - origin->used_ns > OF_LATE_NS)
			continue;
		one = path_now(origin, now_ns);
		all.n_parallel += one.n_parallel;
		all.bytes_per_s += one.bytes_per_s;
		all.is_slow |= one.is_slow;
		if (one.rtt_ns > all.rtt_ns)
			all.rtt_ns = one.rtt_ns;
		if (one.wait_ns > all.wait_ns)
			all.wait_ns = one.wait_ns;
	}
	if (all.n_parallel > most_active[SFS_QUEUE_READ])
		all.n_parallel = most_active[SFS_QUEUE_READ];
	return all;
}

void sfs_origin_responded(struct sfs_get *get, uint64_t now_ns)
{
	struct sfs_concurrency *concurrency = &get->origin->concurrency;
	uint64_t wait_ns = now_ns - get->sent_ns;

	sfs_concurrency_answered(concurrency, wait_ns, now_ns);
	if (!get->is_small)
		sfs_concurrency_read_answered(concurrency, wait_ns, now_ns);
}

void sfs_origin_served(struct sfs_get *get, uint64_t n_bytes)
{
	/* A connection that has brought less is as slow as it was. */
	if (get->last - get->first >= FIRST_BYTES / 2)
		get->origin->served_bytes += n_bytes;
	if (!get->is_small)
		sfs_concurrency_bytes(&get->origin->concurrency, n_bytes);
}

void sfs_origin_refused(struct sfs_get *get, uint64_t now_ns)
{
	struct sfs_origin *origin = get->origin;

	if (get->sent_ns < origin->refused_ns)
		return;
	origin->refused_ns = now_ns;
	sfs_concurrency_refused(&origin->concurrency);
	origin->small_limit = origin->small_limit > 2 * LEAST_SMALL
				      ? origin->small_limit / 2
				      : LEAST_SMALL;
}

void sfs_origin_stalled(struct sfs_get *get, uint64_t now_ns)
{
	get->origin->stalled_ns = now_ns;
}

/* With the one that has just failed. */
static int n_requests(const struct sfs_origin *origin)
{
	int i, n = 1 + origin->n_waiting;

	for (i = 0; i < SFS_N_QUEUES; i++) {
		n += origin->n_active[i];
		SFS_EACH (get, &origin->queues[i][0], struct sfs_get, link)
			n++;
		SFS_EACH (get, &origin->queues[i][1], struct sfs_get, link)
			n++;
	}
	return n;
}

void sfs_origin_failed(struct sfs_get *get, bool is_unreachable, const char *why,
		       uint64_t now_ns)
{
	struct sfs_origin *origin = get->origin;
	enum sfs_outage_news news =
		sfs_outage_failed(&origin->outage, is_unreachable, now_ns);
	char then[64];
	int n;

	get->is_news = news == SFS_OUTAGE_SINGLE;
	if (news != SFS_OUTAGE_BEGUN)
		return;
	n = n_requests(origin);
	snprintf(then, sizeof then, "retrying; %d request%s", n,
		 n == 1 ? " waits" : "s wait");
	sfs_ledger_add(SFS_EVENT_OUTAGE, origin->name, SFS_NO_OFFSET, then, "%s", why);
}

bool sfs_origin_succeeded(struct sfs_get *get, uint64_t now_ns)
{
	uint64_t ns = 0;

	if (!sfs_outage_succeeded(&get->origin->outage, now_ns, &ns))
		return false;
	sfs_ledger_add(SFS_EVENT_OUTAGE, get->origin->name, SFS_NO_OFFSET, "",
		       "responds again after %llu s",
		       (unsigned long long)((ns + SFS_NS_PER_S / 2) / SFS_NS_PER_S));
	return true;
}

static void report_hold(struct sfs_origin *origin, uint64_t ms, uint64_t now_ns)
{
	int n = n_requests(origin);
	char then[96];

	if (origin->held_said_ns != 0 && now_ns - origin->held_said_ns < SAY_NS)
		return;
	origin->held_said_ns = now_ns;
	snprintf(then, sizeof then, "retry in %llu ms, as the server says; %d request%s",
		 (unsigned long long)ms, n, n == 1 ? " waits" : "s wait");
	sfs_ledger_add(SFS_EVENT_RETRY, origin->name, SFS_NO_OFFSET, then,
		       "HTTP 429 (too many requests)");
}

/* Those that were sent before it said so say nothing new. */
bool sfs_origin_hold(struct sfs_get *get, int64_t retry_after_s, uint64_t random,
		     uint64_t now_ns)
{
	const uint64_t ms = sfs_retry_after_ms(retry_after_s, random);
	struct sfs_origin *origin = get->origin;

	get->is_news = false;
	if (get->sent_ns < origin->held_ns)
		return false;
	origin->held_ns = now_ns;
	origin->held_until_ns = now_ns + ms * SFS_NS_PER_MS;
	/* Who cannot wait so long ends with an error, which says it. */
	if (get->latest_ns == 0 ||
	    now_ns + (uint64_t)retry_after_s * SFS_NS_PER_S < get->latest_ns)
		report_hold(origin, ms, now_ns);
	return true;
}

/* What the kernel has measured: unlike our own clock, it knows nothing of threads that
 * wait for a processor.  Returns the round trip; 0: not known. */
static uint64_t measure(int fd, struct tcp_info *info)
{
	socklen_t n = sizeof *info;

	*info = (struct tcp_info){0};
	if (fd < 0 || getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &n) < 0 ||
	    info->tcpi_state == TCP_SYN_SENT)
		return 0;
	return info->tcpi_rtt * 1000ULL;
}

/* What its socket has shown of the round trip: that of a handshake, or how long it has
 * waited for one.  0: nothing yet. */
static uint64_t shown_by(const struct sfs_get *get, uint64_t now_ns, uint64_t *next_ns)
{
	struct tcp_info info;
	uint64_t ns = 0, at_ns = get->curl.opened_ns + UNANSWERED_NS;

	if (!get->curl.easy || !get->curl.is_connecting || get->curl.fd < 0)
		return 0;
	ns = measure(get->curl.fd, &info);
	if (ns > 0 || info.tcpi_state != TCP_SYN_SENT)
		return ns;
	if (now_ns >= at_ns)
		return UNANSWERED_NS;
	if (at_ns < *next_ns)
		*next_ns = at_ns;
	return 0;
}

/* The first parts of one that is as far are split, over many connections. */
bool sfs_origin_is_worth_ahead(const struct sfs_get *get, uint64_t now_ns,
			       uint64_t *next_ns)
{
	struct sfs_origin *origin = get->origin;
	uint64_t ns = origin->rtt_ns;

	if (origin->has_ahead)
		return false;
	if (ns == 0)
		ns = shown_by(get, now_ns, next_ns);
	origin->has_ahead = ns > 0;
	return ns >= SFS_NETPATH_LONG_NS && origin->refused_ns == 0 &&
	       !origin->outage.is_out;
}

void sfs_origin_sends(struct sfs_get *get, int fd)
{
	struct sfs_origin *origin = get->origin;
	struct tcp_info info;
	uint64_t ns = measure(fd, &info);
	int window;

	if (ns == 0)
		return;
	if (origin->rtt_ns == 0 || ns < origin->rtt_ns)
		origin->rtt_ns = ns;
	if (get->is_small)
		return;
	sfs_concurrency_round_trip(&origin->concurrency, ns, get->sent_ns);
	if (info.tcpi_rcv_rtt > 0)
		sfs_concurrency_crossed(&origin->concurrency,
					info.tcpi_rcv_rtt * 1000ULL);
	window = (int)sfs_concurrency_window_bytes(&origin->concurrency);
	origin->has_windows |= window > 0;
	if (window == 0)
		window = NO_WINDOW;
	if (origin->has_windows)
		setsockopt(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, &window, sizeof window);
}
