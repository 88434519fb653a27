/* SPDX-License-Identifier: MIT */
#include "source/http/origin.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/ledger.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#define LEAST_SMALL 8
#define NO_WINDOW   (1 << 30)
#define SMALL_AGAIN 8 /* so many have to end before there may be one more again */
#define MOST_IDLE   64
#define OF_LATE_NS  (10 * SFS_NS_PER_S)

/* GETs at a time, of all servers. */
static const int most_active[SFS_N_QUEUES] = {512, 256};

static int line_of(const struct sfs_get *get)
{
	return get->is_small ? SFS_QUEUE_SMALL : SFS_QUEUE_READ;
}

void sfs_origins_init(struct sfs_origins *hosts, int n_connections, int n_small)
{
	*hosts = (struct sfs_origins){.n_connections = n_connections, .n_small = n_small};
	sfs_list_init(&hosts->list);
}

static void forget(struct sfs_origins *hosts, struct sfs_origin *host)
{
	sfs_link_remove(&host->link);
	hosts->n--;
	free(host->origin);
	free(host);
}

void sfs_origins_done(struct sfs_origins *hosts)
{
	while (!sfs_list_is_empty(&hosts->list))
		forget(hosts, sfs_container(hosts->list.next, struct sfs_origin, link));
}

static bool has_line(const struct sfs_origin *host, int i)
{
	return !sfs_list_is_empty(&host->lines[i][0]) ||
	       !sfs_list_is_empty(&host->lines[i][1]);
}

static bool is_idle(const struct sfs_origin *host)
{
	int i;

	for (i = 0; i < SFS_N_QUEUES; i++)
		if (host->n_active[i] > 0 || has_line(host, i))
			return false;
	return host->n_waiting == 0;
}

/* Of the idle ones, the one that was not used for longest. */
static void forget_oldest(struct sfs_origins *hosts)
{
	struct sfs_origin *oldest = NULL;

	SFS_EACH (host, &hosts->list, struct sfs_origin, link) {
		if (is_idle(host) && (!oldest || host->used_ns < oldest->used_ns))
			oldest = host;
	}
	if (oldest)
		forget(hosts, oldest);
}

/* How much of a URL names its server. */
static size_t origin_length(const char *url)
{
	const char *host = strstr(url, "://");

	host = host ? host + 3 : url;
	return (size_t)(host - url) + strcspn(host, "/?#");
}

static struct sfs_origin *host_of(struct sfs_origins *hosts, const char *url)
{
	size_t n = origin_length(url), i;
	struct sfs_origin *host;

	SFS_EACH (known, &hosts->list, struct sfs_origin, link) {
		if (strlen(known->origin) == n && strncasecmp(known->origin, url, n) == 0)
			return known;
	}
	if (hosts->n >= MOST_IDLE)
		forget_oldest(hosts);
	host = sfs_calloc(1, sizeof *host);
	host->origin = sfs_asprintf("%.*s", (int)n, url);
	host->small_limit = hosts->n_small;
	sfs_concurrency_init(&host->concurrency, hosts->n_connections);
	for (i = 0; i < SFS_N_QUEUES; i++) {
		sfs_list_init(&host->lines[i][0]);
		sfs_list_init(&host->lines[i][1]);
	}
	sfs_list_push(&hosts->list, &host->link);
	hosts->n++;
	return host;
}

void sfs_origins_enqueue(struct sfs_origins *hosts, struct sfs_get *get, uint64_t now_ns)
{
	get->host = host_of(hosts, get->url);
	get->host->used_ns = now_ns;
	sfs_list_push(&get->host->lines[line_of(get)][get->is_urgent], &get->link);
}

static struct sfs_get *first_in(struct sfs_origin *host, int i)
{
	struct sfs_link *link = sfs_list_pop(&host->lines[i][1]);

	if (!link)
		link = sfs_list_pop(&host->lines[i][0]);
	return link ? sfs_container(link, struct sfs_get, link) : NULL;
}

struct sfs_get *sfs_origins_next(struct sfs_origins *hosts)
{
	struct sfs_get *get;
	int i, limit;

	SFS_EACH (host, &hosts->list, struct sfs_origin, link) {
		for (i = 0; i < SFS_N_QUEUES; i++) {
			limit = i == SFS_QUEUE_SMALL
					? host->small_limit
					: sfs_concurrency_limit(&host->concurrency);
			if (host->n_active[i] < limit &&
			    hosts->n_active[i] < most_active[i] &&
			    (get = first_in(host, i)) != NULL)
				return get;
		}
	}
	return NULL;
}

void sfs_origins_enter(struct sfs_origins *hosts, struct sfs_get *get)
{
	hosts->n_active[line_of(get)]++;
	get->host->n_active[line_of(get)]++;
}

void sfs_origins_leave(struct sfs_origins *hosts, struct sfs_get *get, uint64_t now_ns)
{
	struct sfs_origin *host = get->host;
	bool is_bound = has_line(host, SFS_QUEUE_READ);

	host->used_ns = now_ns;
	hosts->n_active[line_of(get)]--;
	host->n_active[line_of(get)]--;
	if (get->is_small && host->small_limit < hosts->n_small &&
	    ++host->n_small_ended % SMALL_AGAIN == 0)
		host->small_limit++;
	if (get->is_small)
		return;
	sfs_concurrency_ended(&host->concurrency, now_ns, is_bound);
	if (host->n_active[SFS_QUEUE_READ] == 0)
		sfs_concurrency_rest(&host->concurrency);
}

void sfs_origins_begin_waiting(struct sfs_origins *hosts, struct sfs_get *get)
{
	get->host = host_of(hosts, get->url);
	get->host->n_waiting++;
	get->is_waiting = true;
}

void sfs_origins_end_waiting(struct sfs_get *get)
{
	if (get->is_waiting)
		get->host->n_waiting--;
	get->is_waiting = false;
}

void sfs_origins_each_queue(struct sfs_origins *hosts,
			    void (*each)(void *ctx, struct sfs_link *line), void *ctx)
{
	int i;

	SFS_EACH (host, &hosts->list, struct sfs_origin, link) {
		for (i = 0; i < SFS_N_QUEUES; i++) {
			each(ctx, &host->lines[i][0]);
			each(ctx, &host->lines[i][1]);
		}
	}
}

struct sfs_netpath sfs_origins_path(struct sfs_origins *hosts, uint64_t now_ns)
{
	struct sfs_netpath p = {0};
	uint64_t wait_ns;

	SFS_EACH (host, &hosts->list, struct sfs_origin, link) {
		if (is_idle(host) && now_ns - host->used_ns > OF_LATE_NS)
			continue;
		p.n_parallel += sfs_concurrency_limit(&host->concurrency);
		p.bytes_per_s += (uint64_t)host->concurrency.rate;
		if (host->rtt_ns > p.rtt_ns)
			p.rtt_ns = host->rtt_ns;
		wait_ns = sfs_concurrency_wait_ns(&host->concurrency);
		if (wait_ns > p.wait_ns)
			p.wait_ns = wait_ns;
	}
	if (p.n_parallel > most_active[SFS_QUEUE_READ])
		p.n_parallel = most_active[SFS_QUEUE_READ];
	return p;
}

void sfs_origin_answered(struct sfs_get *get, uint64_t now_ns)
{
	sfs_concurrency_answered(&get->host->concurrency, now_ns - get->sent_ns, now_ns);
}

void sfs_origin_served(struct sfs_get *get, uint64_t n_bytes)
{
	get->host->served_bytes += n_bytes;
	if (!get->is_small)
		sfs_concurrency_bytes(&get->host->concurrency, n_bytes);
}

void sfs_origin_refused(struct sfs_get *get, uint64_t now_ns)
{
	struct sfs_origin *host = get->host;

	if (get->sent_ns < host->refused_ns)
		return;
	host->refused_ns = now_ns;
	sfs_concurrency_refused(&host->concurrency);
	host->small_limit =
		host->small_limit > 2 * LEAST_SMALL ? host->small_limit / 2 : LEAST_SMALL;
}

void sfs_origin_fell_silent(struct sfs_get *get, uint64_t now_ns)
{
	get->host->silent_ns = now_ns;
}

/* With the one that has just failed. */
static int n_requests(const struct sfs_origin *host)
{
	int i, n = 1 + host->n_waiting;

	for (i = 0; i < SFS_N_QUEUES; i++) {
		n += host->n_active[i];
		SFS_EACH (get, &host->lines[i][0], struct sfs_get, link)
			n++;
		SFS_EACH (get, &host->lines[i][1], struct sfs_get, link)
			n++;
	}
	return n;
}

void sfs_origin_failed(struct sfs_get *get, bool is_unreachable, const char *why,
		       uint64_t now_ns)
{
	struct sfs_origin *host = get->host;
	enum sfs_outage_news news =
		sfs_outage_failed(&host->outage, is_unreachable, now_ns);
	char then[64];
	int n;

	get->is_news = news == SFS_OUTAGE_SINGLE;
	if (news != SFS_OUTAGE_BEGUN)
		return;
	n = n_requests(host);
	snprintf(then, sizeof then, "retrying; %d request%s", n,
		 n == 1 ? " waits" : "s wait");
	sfs_ledger_add(SFS_EVENT_OUTAGE, host->origin, SFS_NO_OFFSET, then, "%s", why);
}

bool sfs_origin_did_well(struct sfs_get *get, uint64_t now_ns)
{
	uint64_t ns = 0;

	if (!sfs_outage_answered(&get->host->outage, now_ns, &ns))
		return false;
	sfs_ledger_add(SFS_EVENT_OUTAGE, get->host->origin, SFS_NO_OFFSET, "",
		       "answers again after %llu s",
		       (unsigned long long)((ns + SFS_NS_PER_S / 2) / SFS_NS_PER_S));
	return true;
}

/* What the kernel has measured: unlike our own clock, it knows nothing of threads that
 * wait for a processor. */
void sfs_origin_sends(struct sfs_get *get, int fd)
{
	struct sfs_origin *host = get->host;
	struct tcp_info info = {0};
	socklen_t n = sizeof info;
	uint64_t ns;
	int window;

	if (fd < 0 || getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &n) < 0 ||
	    info.tcpi_rtt == 0)
		return;
	ns = info.tcpi_rtt * 1000ULL;
	if (host->rtt_ns == 0 || ns < host->rtt_ns)
		host->rtt_ns = ns;
	if (get->is_small)
		return;
	sfs_concurrency_round_trip(&host->concurrency, ns, get->sent_ns);
	window = (int)sfs_concurrency_window_bytes(&host->concurrency);
	host->has_windows |= window > 0;
	if (window == 0)
		window = NO_WINDOW;
	if (host->has_windows)
		setsockopt(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, &window, sizeof window);
}
