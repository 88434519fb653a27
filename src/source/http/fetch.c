/* SPDX-License-Identifier: MIT */
/* How this works: a loop over curl_multi_perform and curl_multi_poll, which on
 * long fat links was steadier than socket events through epoll.  GETs wait in
 * line until their server has room (hosts.h), and then run on an easy handle; handles and
 * connections are kept.
 *
 * libcurl's own low-speed limit counts in whole seconds; stalls are timed here,
 * from the last byte of header or body.  Redirects are not followed here: only
 * the caller knows which headers are secrets and for whom.
 *
 * What is plain HTTP goes over wires (wire.h), whose sockets are polled together with
 * libcurl's: there a body is received where it is wanted, without a copy.
 *
 * HTTP/1.1 on several connections is as fast as it gets; HTTP/2 on one is a
 * third slower on a near link and shares one window on a far one. */
#include "source/http/fetch.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/rng.h"
#include "base/threadpool.h"
#include "source/http/conncache.h"
#include "source/http/http1-request.h"
#include "source/http/origin.h"
#include "source/http/user-headers.h"

#include <curl/curl.h>
#include <errno.h>
#include <malloc.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define BUFFER_BYTES	   (256L << 10)
#define SMALL_BUFFER_BYTES (16L << 10)
#define MAX_IDLE_EASY	   128
#define MAX_DROPPED	   (64 << 10)  /* of an unwanted body, to keep the connection */
#define MAX_HEAD	   (256 << 10) /* with those of all answers 1xx */
#define MAX_KEPT	   1024L       /* connections, of all servers */
#define MAX_IDLE_S	   118L	       /* libcurl's default */

struct sfs_fetch {
	struct sfs_fetch_options options; /* its strings are copies */
	CURLM *multi;
	pthread_t thread;
	atomic_bool is_closed, has_cancelled;

	pthread_mutex_t lock; /* guards the next two */
	struct sfs_link incoming;
	bool has_ended; /* the thread */

	/* The thread's own. */
	struct sfs_origins hosts;
	struct sfs_link delayed; /* until their time comes */
	struct sfs_link active;
	struct sfs_netpath told; /* to the owner */
	struct sfs_rng chance;
	struct sfs_user_headers *headers;
	CURL *idle_easy[MAX_IDLE_EASY];
	int n_idle_easy;

	struct sfs_http1_request *plain;
	struct sfs_conncache *conns;
	struct curl_waitfd *fds; /* what to poll for the GETs that are on wires, */
	struct sfs_get **polled; /* and which GET that is; NULL: it is over */
	unsigned n_polled;
};

/* What curl says, in our words. */
static const struct {
	CURLcode code;
	int err;
	enum sfs_fetch_outcome verdict;
} dialect[] = {
	/* A kept connection that has bytes left over looks like HTTP/0.9. */
	{CURLE_UNSUPPORTED_PROTOCOL, -EBADMSG, SFS_FETCH_NONSENSE},
	{CURLE_WEIRD_SERVER_REPLY, -EBADMSG, SFS_FETCH_NONSENSE},
	{CURLE_OUT_OF_MEMORY, -EBADMSG, SFS_FETCH_NONSENSE}, /* a header without an end */
	{CURLE_URL_MALFORMAT, -EINVAL, SFS_FETCH_FINAL},
	{CURLE_COULDNT_RESOLVE_PROXY, -EHOSTUNREACH, SFS_FETCH_REFUSED},
	{CURLE_COULDNT_RESOLVE_HOST, -EHOSTUNREACH, SFS_FETCH_REFUSED},
	{CURLE_COULDNT_CONNECT, -ECONNREFUSED, SFS_FETCH_REFUSED},
	{CURLE_OPERATION_TIMEDOUT, -ETIMEDOUT, SFS_FETCH_PASSING},
	{CURLE_SSL_CONNECT_ERROR, -ECONNRESET, SFS_FETCH_REFUSED},
	{CURLE_PEER_FAILED_VERIFICATION, -EACCES, SFS_FETCH_FINAL},
	{CURLE_SSL_CERTPROBLEM, -EACCES, SFS_FETCH_FINAL},
	{CURLE_SSL_CACERT_BADFILE, -EACCES, SFS_FETCH_FINAL},
	{CURLE_SSL_ISSUER_ERROR, -EACCES, SFS_FETCH_FINAL},
	{CURLE_SSL_PINNEDPUBKEYNOTMATCH, -EACCES, SFS_FETCH_FINAL},
	{CURLE_LOGIN_DENIED, -EACCES, SFS_FETCH_FINAL},
};

static void classify(CURLcode code, int *err, enum sfs_fetch_outcome *verdict)
{
	size_t i;

	*err = -ECONNRESET;
	*verdict = SFS_FETCH_PASSING;
	for (i = 0; i < SFS_COUNT(dialect); i++) {
		if (dialect[i].code != code)
			continue;
		*err = dialect[i].err;
		*verdict = dialect[i].verdict;
	}
}

/* ---- curl's callbacks ---- */

/* Of several addresses that are tried at a time, the last. */
static int on_socket(void *data, curl_socket_t fd, curlsocktype purpose)
{
	struct sfs_get *get = data;

	get->fd = fd;
	return CURL_SOCKOPT_OK;
}

/* There is a connection: from now on silence is the server's. */
static int on_request(void *data, char *their_ip, char *our_ip, int their_port,
		      int our_port)
{
	struct sfs_get *get = data;

	get->sent_ns = get->progress_ns = sfs_clock_ns();
	sfs_origin_sends(get, get->fd);
	return CURL_PREREQFUNC_OK;
}

static size_t on_header(char *line, size_t size, size_t n, void *data)
{
	struct sfs_get *get = data;

	if (!get->is_answered) { /* later lines are no progress: they may never end */
		get->progress_ns = sfs_clock_ns();
		sfs_origin_answered(get, get->progress_ns);
	}
	get->is_answered = true;
	get->n_head += n * size;
	if (get->n_head > MAX_HEAD) {
		get->err = -EMSGSIZE;
		return 0;
	}
	sfs_http_headers_add(&get->answer, line, n * size, time(NULL));
	return n * size;
}

/* The first byte of the body, or the end without one: the headers are whole. */
static int take_head(struct sfs_get *get)
{
	if (!get->has_head) {
		get->has_head = true;
		get->watched_ns = get->progress_ns = sfs_clock_ns();
		get->watched_bytes = 0;
		if (get->answer.status == 429 || get->answer.status == 503)
			sfs_origin_refused(get, sfs_clock_ns());
		get->err = get->head(get, &get->answer);
	}
	return get->err;
}

/* So much of a body came. */
static void count_bytes(struct sfs_get *get, size_t n)
{
	get->progress_ns = sfs_clock_ns();
	get->watched_bytes += n;
	sfs_origin_served(get, n);
}

static size_t on_body(char *bytes, size_t size, size_t n, void *data)
{
	struct sfs_get *get = data;

	if (take_head(get) < 0)
		return CURL_WRITEFUNC_ERROR;
	count_bytes(get, n * size);
	if (get->err > 0) {
		get->n_dropped += n * size;
		return get->n_dropped > MAX_DROPPED ? CURL_WRITEFUNC_ERROR : n * size;
	}
	get->err = get->body(get, bytes, n * size);
	return get->err < 0 ? CURL_WRITEFUNC_ERROR : n * size;
}

static struct curl_slist *make_lines(struct sfs_fetch *f, struct sfs_get *get)
{
	struct curl_slist *lines = curl_slist_append(NULL, "Accept-Encoding: identity");
	int n = get->has_headers ? sfs_user_headers_n(f->headers) : 0, i;

	if (get->if_match) {
		sfs_autofree char *line = sfs_asprintf("If-Match: %s", get->if_match);

		lines = curl_slist_append(lines, line);
	}
	for (i = 0; i < n; i++)
		lines = curl_slist_append(lines, sfs_user_headers_line(f->headers, i));
	return lines;
}

/* Options that are the same for each GET; kept when a handle is used again. */
static CURLcode set_common(struct sfs_fetch *f, CURL *easy)
{
	const struct sfs_fetch_options *o = &f->options;
	const struct {
		CURLoption option;
		const char *value;
	} strings[] = {
		{CURLOPT_PROXY, o->proxy},
		{CURLOPT_NETRC_FILE, o->netrc_file},
		{CURLOPT_CAINFO, o->ca_file},
		{CURLOPT_CAPATH, o->ca_path},
		{CURLOPT_SSLCERT, o->cert},
		{CURLOPT_SSLKEY, o->key},
		{CURLOPT_PROTOCOLS_STR, "http,https"},
		{CURLOPT_USERAGENT, "shufflefs/" VERSION},
	};
	CURLcode code = CURLE_OK;
	size_t i;

	for (i = 0; i < SFS_COUNT(strings) && code == CURLE_OK; i++)
		if (strings[i].value)
			code = curl_easy_setopt(easy, strings[i].option,
						strings[i].value);
	curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_OPTIONAL);
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)o->connect_timeout_ms);
	curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_socket);
	curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_request);
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	/* Each connection asks for the addresses of a name anew and takes any of them, so
	 * that they are spread; a cached answer would lead all to one. */
	curl_easy_setopt(easy, CURLOPT_DNS_CACHE_TIMEOUT, 0L);
	curl_easy_setopt(easy, CURLOPT_DNS_SHUFFLE_ADDRESSES, 1L);
	/* At exit, do not wait for a name server that does not answer. */
	curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
	return code;
}

/* libcurl's kept connections: none that was idle when its server fell silent (but for
 * two seconds, since libcurl counts in whole ones). */
static long max_idle_s(const struct sfs_origin *host)
{
	uint64_t s = (sfs_clock_ns() - host->silent_ns) / SFS_NS_PER_S;

	if (host->silent_ns == 0 || s > MAX_IDLE_S)
		return MAX_IDLE_S;
	return s > 1 ? (long)s - 1 : 1;
}

static CURL *get_easy(struct sfs_fetch *f, struct sfs_get *get)
{
	CURL *easy;

	if (f->n_idle_easy > 0) {
		easy = f->idle_easy[--f->n_idle_easy];
	} else {
		easy = curl_easy_init();
		if (!easy)
			abort();
		set_common(f, easy);
	}
	free(get->failure);
	get->failure = sfs_calloc(1, CURL_ERROR_SIZE);
	curl_easy_setopt(easy, CURLOPT_URL, get->url);
	curl_easy_setopt(easy, CURLOPT_USERPWD, get->user);
	curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, (long)get->is_wary);
	curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN, max_idle_s(get->host));
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, get);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, get);
	get->fd = CURL_SOCKET_BAD; /* if the connection is a kept one */
	curl_easy_setopt(easy, CURLOPT_SOCKOPTDATA, get);
	curl_easy_setopt(easy, CURLOPT_PREREQDATA, get);
	curl_easy_setopt(easy, CURLOPT_PRIVATE, get);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, get->failure);
	get->easy = easy;
	/* Until on_request(): the time to connect is not the server's silence. */
	get->sent_ns = sfs_clock_ns();
	get->progress_ns = get->sent_ns + f->options.connect_timeout_ms * SFS_NS_PER_MS;
	return easy;
}

static void put_easy(struct sfs_fetch *f, struct sfs_get *get)
{
	CURL *easy = steal(&get->easy);

	if (!easy)
		return;
	curl_multi_remove_handle(f->multi, easy);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, NULL);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, NULL);
	curl_slist_free_all(steal(&get->lines));
	if (f->n_idle_easy < MAX_IDLE_EASY)
		f->idle_easy[f->n_idle_easy++] = easy;
	else
		curl_easy_cleanup(easy);
}

static void begin_easy(struct sfs_fetch *f, struct sfs_get *get)
{
	CURL *easy = get_easy(f, get);
	char range[48];

	snprintf(range, sizeof range, "%llu-%llu", (unsigned long long)get->first,
		 (unsigned long long)get->last);
	get->lines = make_lines(f, get);
	curl_easy_setopt(easy, CURLOPT_RANGE, get->is_whole ? NULL : range);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, (struct curl_slist *)get->lines);
	curl_easy_setopt(easy, CURLOPT_CONNECT_ONLY, 0L);
	curl_easy_setopt(easy, CURLOPT_BUFFERSIZE,
			 get->is_small ? SMALL_BUFFER_BYTES : BUFFER_BYTES);
	curl_multi_add_handle(f->multi, easy);
}

/* ---- plain GETs, that go over wires ---- */

static void finish(struct sfs_fetch *f, struct sfs_get *get, int err,
		   enum sfs_fetch_outcome verdict, const char *why);

static void on_wire_line(void *reader, const char *line, size_t n)
{
	struct sfs_get *get = reader;

	on_header((char *)line, 1, n, get);
}

static int on_wire_head(void *reader)
{
	return take_head(reader);
}

static int on_wire_room(void *reader, struct iovec *pieces, int n_max)
{
	struct sfs_get *get = reader;

	return get->room(get, pieces, n_max);
}

static int on_wire_took(void *reader, size_t n)
{
	struct sfs_get *get = reader;

	count_bytes(get, n);
	get->err = get->took(get, n);
	return get->err;
}

/* libcurl connects: it knows names, addresses and time-outs. */
static void connect_wire(struct sfs_fetch *f, struct sfs_get *get)
{
	curl_easy_setopt(get_easy(f, get), CURLOPT_CONNECT_ONLY, 1L);
	curl_multi_add_handle(f->multi, get->easy);
}

static void begin_answer(struct sfs_get *get)
{
	sfs_http_headers_init(&get->answer);
	get->has_head = get->is_answered = false;
	get->n_dropped = get->n_head = 0;
	get->err = 0;
}

/* It ends: the wire waits for the next GET, if it may. */
static void leave_wire(struct sfs_fetch *f, struct sfs_get *get)
{
	unsigned i;

	for (i = 0; i < f->n_polled; i++)
		if (f->polled[i] == get)
			f->polled[i] = NULL;
	if (get->conn)
		sfs_conncache_put(f->conns, get->origin, get->conn, sfs_clock_ns());
	get->conn = NULL;
	free(steal(&get->text));
	free(steal(&get->origin));
}

static void run_wire(struct sfs_fetch *f, struct sfs_get *get)
{
	static const struct sfs_http1_reader reader = {on_wire_line, on_wire_head,
						       on_wire_room, on_wire_took};
	sfs_autofree char *why = NULL;
	int err;

	switch (sfs_http1_run(get->conn, &reader, get, &err)) {
	case SFS_HTTP1_WAITS: return;
	case SFS_HTTP1_ENDED: finish(f, get, err, SFS_FETCH_PASSING, ""); return;
	case SFS_HTTP1_ODD:
		sfs_conncache_avoid(f->conns, get->origin, sfs_clock_ns());
		leave_wire(f, get);
		begin_answer(get);
		begin_easy(f, get);
		return;
	case SFS_HTTP1_STALE:
		sfs_http1_free(steal(&get->conn));
		connect_wire(f, get);
		return;
	case SFS_HTTP1_LOST:
		why = sfs_strdup(sfs_http1_why(get->conn));
		finish(f, get, err, SFS_FETCH_PASSING, why);
		return;
	}
}

static void use_wire(struct sfs_fetch *f, struct sfs_get *get, struct sfs_http1 *conn)
{
	get->conn = conn;
	get->sent_ns = get->progress_ns = sfs_clock_ns();
	sfs_origin_sends(get, sfs_http1_fd(conn));
	sfs_http1_ask(conn, get->text, strlen(get->text));
	run_wire(f, get);
}

/* libcurl has connected: take the socket, and leave it its own to close. */
static void take_socket(struct sfs_fetch *f, struct sfs_get *get)
{
	curl_socket_t theirs = CURL_SOCKET_BAD;
	int ours, err;

	curl_easy_getinfo(get->easy, CURLINFO_ACTIVESOCKET, &theirs);
	ours = fcntl(theirs, F_DUPFD_CLOEXEC, 3);
	err = ours < 0 ? -errno : 0;
	put_easy(f, get);
	if (ours < 0)
		finish(f, get, err, SFS_FETCH_PASSING, "no socket");
	else
		use_wire(f, get, sfs_http1_new(ours));
}

/* What to poll for. */
static void list_wires(struct sfs_fetch *f)
{
	size_t n_max = (size_t)(f->hosts.n_active[SFS_QUEUE_READ] +
				f->hosts.n_active[SFS_QUEUE_SMALL]);

	f->n_polled = 0;
	f->fds = sfs_reallocarray(f->fds, n_max + 1, sizeof f->fds[0]);
	f->polled = sfs_reallocarray(f->polled, n_max + 1, sizeof f->polled[0]);
	SFS_EACH (get, &f->active, struct sfs_get, link) {
		if (!get->conn)
			continue;
		f->fds[f->n_polled] = (struct curl_waitfd){
			.fd = sfs_http1_fd(get->conn),
			.events = sfs_http1_sends(get->conn) ? CURL_WAIT_POLLOUT
							     : CURL_WAIT_POLLIN,
		};
		f->polled[f->n_polled++] = get;
	}
}

/* A GET may end others. */
static void run_wires(struct sfs_fetch *f)
{
	unsigned i;

	for (i = 0; i < f->n_polled; i++)
		if (f->polled[i] && f->fds[i].revents)
			run_wire(f, f->polled[i]);
	f->n_polled = 0;
}

static bool is_for_wire(struct sfs_fetch *f, struct sfs_get *get)
{
	get->text = sfs_http1_request_write(f->plain, get, &get->origin);
	if (get->text && sfs_conncache_is_avoided(f->conns, get->origin, sfs_clock_ns()))
		leave_wire(f, get);
	return get->text != NULL;
}

static void begin_on_wire(struct sfs_fetch *f, struct sfs_get *get)
{
	struct sfs_http1 *conn = NULL;

	if (!get->is_wary)
		conn = sfs_conncache_get(f->conns, get->origin, get->host->silent_ns,
					 sfs_clock_ns());
	if (conn)
		use_wire(f, get, conn);
	else
		connect_wire(f, get);
}

/* The user's headers, as they are now. */
static void look_at_headers(struct sfs_fetch *f, struct sfs_get *get, bool must)
{
	if (sfs_user_headers_look(f->headers, must, sfs_clock_ns()))
		sfs_http1_request_set_headers(f->plain, f->headers);
	get->headers_edition = sfs_user_headers_edition(f->headers);
}

bool sfs_fetch_has_new_headers(struct sfs_fetch *f, const struct sfs_get *get)
{
	struct sfs_get now = {0};

	look_at_headers(f, &now, true);
	return now.headers_edition != get->headers_edition;
}

static void begin(struct sfs_fetch *f, struct sfs_get *get)
{
	get->rtt_ns = get->host->rtt_ns;
	get->served_bytes = get->host->served_bytes;
	get->late_ns = 0;
	get->start(get);
	if (get->has_headers)
		look_at_headers(f, get, false);
	begin_answer(get);
	get->is_active = true;
	sfs_list_push(&f->active, &get->link);
	sfs_origins_enter(&f->hosts, get);
	if (is_for_wire(f, get))
		begin_on_wire(f, get);
	else
		begin_easy(f, get);
}

/* Take the GET off its handle or wire, whatever it does. */
static void take_off(struct sfs_fetch *f, struct sfs_get *get)
{
	sfs_link_remove(&get->link);
	sfs_origins_end_waiting(get);
	if (!get->is_active)
		return;
	get->is_active = false;
	sfs_origins_leave(&f->hosts, get, sfs_clock_ns());
	put_easy(f, get);
	leave_wire(f, get);
}

/* Its server is well again: all who wait for that go on. */
static void release(struct sfs_fetch *f, const struct sfs_origin *host)
{
	SFS_EACH (get, &f->delayed, struct sfs_get, link) {
		if (get->is_waiting && get->host == host)
			get->due_ns = 0;
	}
}

/* What does the end of an active GET say of its server? */
static void judge_server(struct sfs_fetch *f, struct sfs_get *get, int err,
			 enum sfs_fetch_outcome verdict, const char *why)
{
	const int status = get->answer.status;
	uint64_t now = sfs_clock_ns();
	char text[32];

	get->is_news = true;
	if (err < 0 && get->err == 0) {
		if (verdict <= SFS_FETCH_REFUSED && err != -ECANCELED && !get->is_probe)
			sfs_origin_failed(get, verdict == SFS_FETCH_REFUSED, why, now);
	} else if (status >= 500 || status == 408 || status == 425 || status == 429) {
		snprintf(text, sizeof text, "HTTP %d", status);
		if (!get->is_probe)
			sfs_origin_failed(get, false, text, now);
	} else if (err >= 0 && sfs_origin_did_well(get, now)) {
		release(f, get->host);
	}
}

static void finish(struct sfs_fetch *f, struct sfs_get *get, int err,
		   enum sfs_fetch_outcome verdict, const char *why)
{
	sfs_autofree char *failure = steal(&get->failure);

	if (get->is_active)
		judge_server(f, get, err, verdict, why);
	take_off(f, get);
	get->end(get, err, verdict, why);
}

void sfs_fetch_drop(struct sfs_fetch *f, struct sfs_get *get)
{
	pthread_mutex_lock(&f->lock); /* it may be among the incoming */
	sfs_link_remove(&get->link);
	pthread_mutex_unlock(&f->lock);
	take_off(f, get);
	free(steal(&get->failure));
}

/* libcurl shows a proxy that it does not understand, with its password. */
static char *without_secrets(const char *why)
{
	return sfs_strdup(strchr(why, '@') && strstr(why, "proxy")
				  ? "the URL of the proxy is not understood"
				  : why);
}

static void take_result(struct sfs_fetch *f, CURL *easy, CURLcode code)
{
	enum sfs_fetch_outcome verdict = SFS_FETCH_PASSING;
	struct sfs_get *get;
	sfs_autofree char *why = NULL;
	int err = 0;

	curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&get);
	if (get->text && code == CURLE_OK) {
		take_socket(f, get);
		return;
	}
	if (code == CURLE_OK)
		take_head(get);
	if (get->err != 0)
		err = get->err;
	else if (code != CURLE_OK)
		classify(code, &err, &verdict);
	if (err == -EMSGSIZE)
		verdict = SFS_FETCH_NONSENSE;
	why = err == -EMSGSIZE
		      ? sfs_strdup("headers without an end")
		      : without_secrets(get->failure[0] ? get->failure
							: curl_easy_strerror(code));
	finish(f, get, err, verdict, why);
}

static void take_results(struct sfs_fetch *f)
{
	CURLMsg *msg;
	int n_left;

	while ((msg = curl_multi_info_read(f->multi, &n_left)) != NULL)
		if (msg->msg == CURLMSG_DONE)
			take_result(f, msg->easy_handle, msg->data.result);
}

static void make_ready(struct sfs_fetch *f, struct sfs_get *get)
{
	sfs_origins_end_waiting(get);
	get->place(get);
	sfs_origins_enqueue(&f->hosts, get, sfs_clock_ns());
}

/* When it may be tried again, if its server is out of order. */
static void wait_for_server(struct sfs_fetch *f, struct sfs_get *get)
{
	struct sfs_outage *outage;

	get->place(get);
	sfs_origins_begin_waiting(&f->hosts, get);
	outage = &get->host->outage;
	if (outage->is_out)
		get->due_ns = sfs_outage_next_retry(outage, sfs_clock_ns(),
						    sfs_rng_next(&f->chance));
	if (get->due_ns > get->latest_ns)
		get->due_ns = get->latest_ns;
}

static void take_incoming(struct sfs_fetch *f)
{
	struct sfs_link arrived, *link;
	struct sfs_get *get;

	sfs_list_init(&arrived);
	pthread_mutex_lock(&f->lock);
	sfs_list_move(&arrived, &f->incoming);
	pthread_mutex_unlock(&f->lock);
	while ((link = sfs_list_pop(&arrived)) != NULL) {
		get = sfs_container(link, struct sfs_get, link);
		/* Nobody looks at these again before their turn comes. */
		if (atomic_load(get->is_cancelled)) {
			finish(f, get, -ECANCELED, SFS_FETCH_FINAL, "cancelled");
		} else if (get->due_ns == 0) {
			make_ready(f, get);
		} else {
			if (get->is_retry)
				wait_for_server(f, get);
			sfs_list_push(&f->delayed, &get->link);
		}
	}
}

/* Move what is due to its queue.  Returns when the next one falls due. */
static uint64_t take_due(struct sfs_fetch *f, uint64_t now)
{
	uint64_t next = UINT64_MAX;
	struct sfs_link due, *link, *following;
	struct sfs_get *get;

	sfs_list_init(&due);
	for (link = f->delayed.next; link != &f->delayed; link = following) {
		following = link->next;
		get = sfs_container(link, struct sfs_get, link);
		if (get->due_ns <= now) {
			sfs_link_remove(&get->link);
			sfs_list_push(&due, &get->link);
		} else if (get->due_ns < next) {
			next = get->due_ns;
		}
	}
	while ((link = sfs_list_pop(&due)) != NULL) { /* one may end others */
		get = sfs_container(link, struct sfs_get, link);
		if (atomic_load(get->is_cancelled))
			finish(f, get, -ECANCELED, SFS_FETCH_FINAL, "cancelled");
		else
			make_ready(f, get);
	}
	return next;
}

/* Tell the owner what has changed. */
static void tell_pace(struct sfs_fetch *f)
{
	struct sfs_netpath p = sfs_origins_path(&f->hosts, sfs_clock_ns());

	if (p.n_parallel == 0 ||
	    (p.n_parallel == f->told.n_parallel && p.rtt_ns == f->told.rtt_ns &&
	     p.wait_ns == f->told.wait_ns && p.bytes_per_s == f->told.bytes_per_s))
		return;
	f->told = p;
	f->options.paced(f->options.ctx, &p);
}

static void start_ready(struct sfs_fetch *f)
{
	struct sfs_get *get;

	while ((get = sfs_origins_next(&f->hosts)) != NULL)
		begin(f, get);
}

/* Has the body brought too little since it was last looked at? */
static bool is_slow(const struct sfs_fetch *f, struct sfs_get *get, uint64_t now)
{
	uint64_t ms = f->options.stall_timeout_ms;

	if (!get->has_head || now < get->watched_ns + ms * SFS_NS_PER_MS)
		return false;
	if (get->watched_bytes < f->options.low_speed_limit * ms / 1000)
		return true;
	get->watched_ns = now;
	get->watched_bytes = 0;
	return false;
}

struct ended {
	struct sfs_fetch *fetch;
	uint64_t now;
	struct sfs_link list;
};

/* Move to the ended what was cancelled, and the active ones that stalled. */
static void gather_ended(void *ctx, struct sfs_link *list)
{
	struct ended *ended = ctx;
	struct sfs_fetch *f = ended->fetch;
	const uint64_t stall_ns = f->options.stall_timeout_ms * SFS_NS_PER_MS;
	struct sfs_link *link, *following;
	struct sfs_get *get;

	for (link = list->next; link != list; link = following) {
		following = link->next;
		get = sfs_container(link, struct sfs_get, link);
		if (atomic_load(get->is_cancelled) || f->is_closed ||
		    (get->is_active && (ended->now >= get->progress_ns + stall_ns ||
					is_slow(f, get, ended->now)))) {
			sfs_link_remove(&get->link);
			sfs_list_push(&ended->list, &get->link);
		}
	}
}

/* The GET brings nothing any more, or too little. */
static void end_stalled(struct sfs_fetch *f, struct sfs_get *get, uint64_t now)
{
	const unsigned ms = f->options.stall_timeout_ms;
	bool is_silent = now >= get->progress_ns + ms * SFS_NS_PER_MS;
	char why[96];

	if (is_silent && get->is_answered && !get->has_head)
		snprintf(why, sizeof why, "headers not complete after %u ms", ms);
	else if (is_silent)
		snprintf(why, sizeof why, "no byte in %u ms", ms);
	else
		snprintf(why, sizeof why,
			 "%llu bytes in %u ms, less than low-speed-limit",
			 (unsigned long long)get->watched_bytes, ms);
	if (is_silent && !get->is_answered)
		sfs_origin_fell_silent(get, now);
	get->met_silence = true;
	finish(f, get, -ETIMEDOUT, SFS_FETCH_PASSING, why);
}

/* How many ended. */
static int end_some(struct sfs_fetch *f, uint64_t now)
{
	struct ended ended = {.fetch = f, .now = now};
	struct sfs_link *link;
	struct sfs_get *get;
	int n = 0;

	sfs_list_init(&ended.list);
	gather_ended(&ended, &f->active);
	if (atomic_exchange(&f->has_cancelled, false) || f->is_closed) {
		gather_ended(&ended, &f->delayed);
		sfs_origins_each_queue(&f->hosts, gather_ended, &ended);
	}
	for (; (link = sfs_list_pop(&ended.list)) != NULL; n++) {
		get = sfs_container(link, struct sfs_get, link);
		if (atomic_load(get->is_cancelled) || f->is_closed)
			finish(f, get, -ECANCELED, SFS_FETCH_FINAL, "cancelled");
		else
			end_stalled(f, get, now);
	}
	return n;
}

/* When a GET will be late, as things stand. */
static uint64_t late_at(const struct sfs_get *get)
{
	if (get->late_ns == 0)
		return UINT64_MAX;
	return atomic_load(get->is_needed) ? get->needed_late_ns : get->late_ns;
}

/* Tell those that are late by now; they may drop each other. */
static void tell_late(struct sfs_fetch *f, uint64_t now)
{
	struct sfs_link late, *link, *following;
	struct sfs_get *get;

	sfs_list_init(&late);
	for (link = f->active.next; link != &f->active; link = following) {
		following = link->next;
		if (now < late_at(sfs_container(link, struct sfs_get, link)))
			continue;
		sfs_link_remove(link);
		sfs_list_push(&late, link);
	}
	while ((link = sfs_list_pop(&late)) != NULL) {
		get = sfs_container(link, struct sfs_get, link);
		sfs_list_push(&f->active, link);
		get->late_ns = 0;
		get->late(get);
	}
}

/* The moment at which the first active GET will have stalled, or is late. */
static uint64_t next_deadline(struct sfs_fetch *f)
{
	uint64_t next = UINT64_MAX, at;

	SFS_EACH (get, &f->active, struct sfs_get, link) {
		at = get->has_head && get->watched_ns < get->progress_ns
			     ? get->watched_ns
			     : get->progress_ns;
		at += f->options.stall_timeout_ms * SFS_NS_PER_MS;
		next = at < next ? at : next;
		at = late_at(get);
		next = at < next ? at : next;
	}
	return next;
}

/* false: something has come in meanwhile. */
static bool end_thread(struct sfs_fetch *f)
{
	pthread_mutex_lock(&f->lock);
	f->has_ended = sfs_list_is_empty(&f->incoming);
	pthread_mutex_unlock(&f->lock);
	return f->has_ended;
}

static void *work(void *arg)
{
	struct sfs_fetch *f = arg;
	uint64_t now, next, deadline;
	int n_running, wait_ms;

	while (!f->is_closed) {
		curl_multi_perform(f->multi, &n_running);
		take_results(f);
		end_some(f, sfs_clock_ns());
		tell_late(f, sfs_clock_ns());
		/* Last before the poll: what ended just now has made room.  A handle
		 * that was added makes the poll return at once. */
		take_incoming(f);
		now = sfs_clock_ns();
		next = take_due(f, now);
		start_ready(f);
		tell_pace(f);
		deadline = next_deadline(f);
		next = deadline < next ? deadline : next;
		wait_ms = 1000;
		if (next < now + 1000 * SFS_NS_PER_MS)
			wait_ms =
				next > now ? (int)((next - now) / SFS_NS_PER_MS) + 1 : 0;
		list_wires(f);
		curl_multi_poll(f->multi, f->fds, f->n_polled, wait_ms, NULL);
		run_wires(f);
	}
	do
		take_incoming(f);
	while (end_some(f, sfs_clock_ns()) > 0 || !end_thread(f));
	return NULL;
}

void sfs_fetch_free(struct sfs_fetch *f)
{
	sfs_origins_done(&f->hosts);
	while (f->n_idle_easy > 0)
		curl_easy_cleanup(f->idle_easy[--f->n_idle_easy]);
	sfs_conncache_free(f->conns);
	free(f->fds);
	free(f->polled);
	sfs_http1_request_free(f->plain);
	curl_multi_cleanup(f->multi);
	curl_global_cleanup();
	sfs_user_headers_free(f->headers);
	free((char *)f->options.proxy);
	free((char *)f->options.netrc_file);
	free((char *)f->options.ca_file);
	free((char *)f->options.ca_path);
	free((char *)f->options.cert);
	free((char *)f->options.key);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

static const char *copy(const char *s)
{
	return s ? sfs_strdup(s) : NULL;
}

/* libcurl frees its buffer behind each transfer and allocates the next.  Have malloc keep
 * them: by default each would be new pages, zeroed by the kernel for every MiB or so. */
static void keep_buffers(int n)
{
	mallopt(M_MMAP_THRESHOLD, 4 * BUFFER_BYTES);
	mallopt(M_TRIM_THRESHOLD, (int)(n * BUFFER_BYTES));
}

/* Connections need descriptors; what the system allows by itself is often 1024. */
static void allow_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= 2 * MAX_KEPT)
		return;
	limit.rlim_cur = limit.rlim_max < 2 * MAX_KEPT ? limit.rlim_max : 2 * MAX_KEPT;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* The curl command's way to a CA file: these variables, then the built-in one. */
static const char *default_ca_file(void)
{
	const char *s = getenv("CURL_CA_BUNDLE");

	return s && *s ? s : getenv("SSL_CERT_FILE");
}

const char *sfs_fetch_version(void)
{
	static char text[128];
	const curl_version_info_data *info = curl_version_info(CURLVERSION_NOW);

	snprintf(text, sizeof text, "%s %s", info->version,
		 info->ssl_version ? info->ssl_version : "without TLS");
	return text;
}

struct sfs_fetch *sfs_fetch_start(const struct sfs_fetch_options *options,
				  struct sfs_error *err)
{
	struct sfs_fetch *f = sfs_calloc(1, sizeof *f);
	CURLcode code;
	CURL *easy;

	f->options = *options;
	f->options.proxy = copy(options->proxy);
	f->options.netrc_file = copy(options->netrc_file);
	f->options.ca_file =
		copy(options->ca_file ? options->ca_file : default_ca_file());
	f->options.ca_path =
		copy(options->ca_path ? options->ca_path : getenv("SSL_CERT_DIR"));
	f->options.cert = copy(options->cert);
	f->options.key = copy(options->key);
	f->headers = sfs_user_headers_new(options->headers, options->n_headers);
	pthread_mutex_init(&f->lock, NULL);
	sfs_list_init(&f->incoming);
	sfs_list_init(&f->delayed);
	sfs_list_init(&f->active);
	sfs_origins_init(&f->hosts, options->n_connections, options->n_small);
	keep_buffers(2 * options->n_connections);
	allow_descriptors();
	f->plain = sfs_http1_request_new(options);
	sfs_http1_request_set_headers(f->plain, f->headers);
	f->conns = sfs_conncache_new(MAX_KEPT);
	f->chance.state = sfs_clock_ns();
	curl_global_init(CURL_GLOBAL_DEFAULT);
	f->multi = curl_multi_init();
	curl_multi_setopt(f->multi, CURLMOPT_MAXCONNECTS, MAX_KEPT);

	easy = curl_easy_init();
	code = set_common(f, easy);
	if (code != CURLE_OK) {
		sfs_error_set(err, -EINVAL, "libcurl: %s", curl_easy_strerror(code));
		curl_easy_cleanup(easy);
		sfs_fetch_free(f);
		return NULL;
	}
	f->idle_easy[f->n_idle_easy++] = easy;
	f->thread = sfs_thread_start("sfs-fetch", work, f);
	return f;
}

void sfs_fetch_stop(struct sfs_fetch *f)
{
	f->is_closed = true;
	curl_multi_wakeup(f->multi);
	pthread_join(f->thread, NULL);
}

void sfs_fetch_add(struct sfs_fetch *f, struct sfs_get *get, uint64_t delay_ms)
{
	bool has_ended;

	get->due_ns = delay_ms ? sfs_clock_ns() + delay_ms * SFS_NS_PER_MS : 0;
	get->easy = NULL;
	get->lines = NULL;
	get->failure = NULL;
	get->conn = NULL;
	get->origin = get->text = NULL;
	get->is_active = get->is_waiting = false;
	pthread_mutex_lock(&f->lock);
	has_ended = f->has_ended;
	if (!has_ended)
		sfs_list_push(&f->incoming, &get->link);
	pthread_mutex_unlock(&f->lock);
	if (has_ended)
		get->end(get, -ECANCELED, SFS_FETCH_FINAL, "cancelled");
	else
		curl_multi_wakeup(f->multi);
}

void sfs_fetch_wake(struct sfs_fetch *f)
{
	atomic_store(&f->has_cancelled, true);
	curl_multi_wakeup(f->multi);
}

/* One part of a URL by curl's own parser; "" if it has none. */
static char *part_of(CURLU *u, CURLUPart part, unsigned flags)
{
	char *curls = NULL, *ours;

	if (curl_url_get(u, part, &curls, flags) != CURLUE_OK)
		return sfs_strdup("");
	ours = sfs_strdup(curls);
	curl_free(curls);
	return ours;
}

static CURLU *parse(const char *url)
{
	CURLU *u = curl_url();

	if (curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK)
		return u;
	curl_url_cleanup(u);
	return NULL;
}

bool sfs_fetch_same_origin(const char *a, const char *b)
{
	static const CURLUPart parts[] = {CURLUPART_SCHEME, CURLUPART_HOST,
					  CURLUPART_PORT};
	CURLU *ua = parse(a), *ub = parse(b);
	bool same = ua && ub;
	size_t i;

	for (i = 0; i < SFS_COUNT(parts) && same; i++) {
		sfs_autofree char *pa = part_of(ua, parts[i], CURLU_DEFAULT_PORT);
		sfs_autofree char *pb = part_of(ub, parts[i], CURLU_DEFAULT_PORT);

		same = strcasecmp(pa, pb) == 0;
	}
	curl_url_cleanup(ua);
	curl_url_cleanup(ub);
	return same;
}

bool sfs_fetch_is_downgrade(const char *from, const char *to)
{
	return strncasecmp(from, "https:", 6) == 0 && strncasecmp(to, "https:", 6) != 0;
}

char *sfs_fetch_resolve(const char *base, const char *location)
{
	CURLU *u = parse(base);
	char *url = NULL;

	if (u && curl_url_set(u, CURLUPART_URL, location, CURLU_URLENCODE) == CURLUE_OK) {
		sfs_autofree char *scheme = part_of(u, CURLUPART_SCHEME, 0);

		if (strcasecmp(scheme, "http") == 0 || strcasecmp(scheme, "https") == 0) {
			curl_url_set(u, CURLUPART_FRAGMENT, NULL, 0);
			curl_url_set(u, CURLUPART_USER, NULL, 0);
			curl_url_set(u, CURLUPART_PASSWORD, NULL, 0);
			url = part_of(u, CURLUPART_URL, 0);
		}
	}
	curl_url_cleanup(u);
	return url;
}
