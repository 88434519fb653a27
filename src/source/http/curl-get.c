/* SPDX-License-Identifier: MIT */
/* How this works: curl_multi_perform and curl_multi_poll, which on long fat links were
 * steadier than socket events through epoll.
 *
 * libcurl's own low-speed limit counts in whole seconds, so fetch.c times stalls.
 * Redirects are not followed here: only the caller knows which headers are secrets and
 * for whom.
 *
 * HTTP/1.1 on several connections is as fast as it gets; HTTP/2 on one is a third slower
 * on a near link and shares one window on a far one.
 *
 * Most systems have the authorities in a file, 150 of them, and once more in a folder.
 * libcurl reads the file for each connection, which takes OpenSSL 10 to 30 ms, and once for
 * all only if it is not to look into a folder.  So it is told to do that only when a
 * certificate could not be verified by the file. */
#include "source/http/curl-get.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "source/http/curl-setup.h"
#include "source/http/origin.h"
#include "source/http/receive.h"
#include "source/target.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define BUFFER_BYTES	   (256L << 10)
#define SMALL_BUFFER_BYTES (16L << 10)
#define MAX_IDLE_EASY	   128
#define MAX_DROPPED	   (64 << 10) /* of an unwanted body, to keep the connection */
#define MAX_IDLE_S	   118L	      /* libcurl's default */

struct sfs_curl {
	const struct sfs_fetch_options *options;
	const struct sfs_user_headers *headers;
	struct sfs_curl_events events;
	CURLM *multi;
	CURL *idle_easy[MAX_IDLE_EASY];
	int n_idle_easy;
	struct curl_waitfd *fds; /* to poll */
	/* Of authorities, which libcurl looks into besides their file; NULL: it does that
	 * anyway, or never. */
	const char *folder;
	bool needs_folder; /* some server's authority is only there */
};

/* What libcurl says, in our words.  Any other code is a connection that was lost. */
static const struct {
	CURLcode code;
	int err;
	enum sfs_fetch_outcome outcome;
} failures[] = {
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

static void classify(CURLcode code, int *ret_err, enum sfs_fetch_outcome *ret_outcome)
{
	size_t i;

	*ret_err = -ECONNRESET;
	*ret_outcome = SFS_FETCH_PASSING;
	for (i = 0; i < SFS_COUNT(failures); i++) {
		if (failures[i].code != code)
			continue;
		*ret_err = failures[i].err;
		*ret_outcome = failures[i].outcome;
	}
}

/* ---- libcurl's callbacks ---- */

/* Before it is connected: the address that a name stands for now. */
static curl_socket_t on_open(void *data, curlsocktype purpose, struct curl_sockaddr *to)
{
	struct sfs_get *get = data;
	char text[INET6_ADDRSTRLEN] = "";
	const void *bytes = to->family == AF_INET6
				    ? (void *)&((struct sockaddr_in6 *)&to->addr)->sin6_addr
				    : (void *)&((struct sockaddr_in *)&to->addr)->sin_addr;

	if ((!get->is_elsewhere && !get->is_foreign) || sfs_target_may_reach(&to->addr))
		return socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
	inet_ntop(to->family, bytes, text, sizeof text);
	free(get->curl.refusal);
	get->curl.refusal = sfs_target_refusal(text, get->is_elsewhere);
	return CURL_SOCKET_BAD;
}

/* Of several addresses that are tried at a time, the last. */
static int on_socket(void *data, curl_socket_t fd, curlsocktype purpose)
{
	struct sfs_get *get = data;

	get->curl.fd = fd;
	get->curl.opened_ns = sfs_clock_ns();
	return CURL_SOCKOPT_OK;
}

/* There is a connection: from now on silence is the server's. */
static int on_request(void *data, char *their_ip, char *our_ip, int their_port,
		      int our_port)
{
	struct sfs_get *get = data;

	get->sent_ns = get->response.progress_ns = sfs_clock_ns();
	sfs_origin_sends(get, get->curl.fd);
	return CURL_PREREQFUNC_OK;
}

static size_t on_header(char *line, size_t size, size_t n, void *data)
{
	return sfs_receive_line(data, line, n * size) < 0 ? 0 : n * size;
}

static size_t on_body(char *bytes, size_t size, size_t n, void *data)
{
	struct sfs_get *get = data;

	if (sfs_receive_head(get) < 0)
		return CURL_WRITEFUNC_ERROR;
	sfs_receive_bytes(get, n * size);
	if (get->response.err > 0) {
		get->response.n_dropped += n * size;
		return get->response.n_dropped > MAX_DROPPED ? CURL_WRITEFUNC_ERROR
							     : n * size;
	}
	get->response.err = get->body(get, bytes, n * size);
	return get->response.err < 0 ? CURL_WRITEFUNC_ERROR : n * size;
}

/* ---- handles ---- */

static struct sfs_curl_certificates certificates_of(const struct sfs_fetch_options *o)
{
	return (struct sfs_curl_certificates){o->ca_file, o->ca_path, o->cert, o->key};
}

/* Options that are the same for each GET; kept when a handle is used again. */
static CURLcode set_common(const struct sfs_fetch_options *o, CURL *easy)
{
	const struct sfs_curl_certificates certificates = certificates_of(o);
	CURLcode code = sfs_curl_set_up(easy, &certificates);

	if (o->proxy && code == CURLE_OK)
		code = curl_easy_setopt(easy, CURLOPT_PROXY, o->proxy);
	if (o->netrc_file && code == CURLE_OK)
		code = curl_easy_setopt(easy, CURLOPT_NETRC_FILE, o->netrc_file);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)o->connect_timeout_ms);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open);
	curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_socket);
	curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_request);
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	/* Each connection asks again for the addresses of a name and takes any of them,
	 * so that they are spread; a cached answer would lead all to one. */
	curl_easy_setopt(easy, CURLOPT_DNS_CACHE_TIMEOUT, 0L);
	curl_easy_setopt(easy, CURLOPT_DNS_SHUFFLE_ADDRESSES, 1L);
	/* At exit, do not wait for a name server that does not answer. */
	curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
	return code;
}

/* The longest idle time of a kept connection that is used: none that was idle when its
 * server fell silent (but for two seconds, since libcurl counts in whole ones). */
static long max_idle_s(const struct sfs_origin *origin)
{
	uint64_t s = (sfs_clock_ns() - origin->stalled_ns) / SFS_NS_PER_S;

	if (origin->stalled_ns == 0 || s > MAX_IDLE_S)
		return MAX_IDLE_S;
	return s > 1 ? (long)s - 1 : 1;
}

static CURL *new_easy(struct sfs_curl *c)
{
	CURL *easy;

	if (c->n_idle_easy > 0)
		return c->idle_easy[--c->n_idle_easy];
	easy = curl_easy_init();
	if (!easy)
		abort();
	set_common(c->options, easy);
	return easy;
}

static void set_folder(const struct sfs_curl *c, struct sfs_get *get, CURL *easy)
{
	get->curl.lacks_folder = c->folder && !c->needs_folder;
	if (c->folder)
		curl_easy_setopt(easy, CURLOPT_CAPATH,
				 get->curl.lacks_folder ? NULL : c->folder);
}

static void expect_connection(const struct sfs_curl *c, struct sfs_get *get)
{
	/* Until on_request(): the time to connect is not the server's silence. */
	get->sent_ns = sfs_clock_ns();
	get->response.progress_ns =
		get->sent_ns + c->options->connect_timeout_ms * SFS_NS_PER_MS;
}

/* The handle is the GET's from now on. */
static void hand_to(const struct sfs_curl *c, CURL *easy, struct sfs_get *get)
{
	free(get->curl.failure);
	free(steal(&get->curl.refusal));
	get->curl.failure = sfs_calloc(1, CURL_ERROR_SIZE);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, get);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, get);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, get);
	curl_easy_setopt(easy, CURLOPT_SOCKOPTDATA, get);
	curl_easy_setopt(easy, CURLOPT_PREREQDATA, get);
	curl_easy_setopt(easy, CURLOPT_PRIVATE, get);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, get->curl.failure);
	get->curl.easy = easy;
	expect_connection(c, get);
}

static CURL *get_easy(struct sfs_curl *c, struct sfs_get *get)
{
	CURL *easy = new_easy(c);

	curl_easy_setopt(easy, CURLOPT_URL, get->url);
	sfs_curl_log_in(easy, get->user, get->negotiates);
	curl_easy_setopt(easy, CURLOPT_NETRC,
			 (long)(get->is_signed_url ? CURL_NETRC_IGNORED
						   : CURL_NETRC_OPTIONAL));
	curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, (long)get->is_signed_url);
	curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, (long)get->wants_new_connection);
	curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN, max_idle_s(get->origin));
	set_folder(c, get, easy);
	get->curl.fd = CURL_SOCKET_BAD; /* if the connection is a kept one */
	hand_to(c, easy, get);
	return easy;
}

static void put_easy(struct sfs_curl *c, CURL *easy)
{
	curl_multi_remove_handle(c->multi, easy);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, NULL);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, NULL);
	if (c->n_idle_easy < MAX_IDLE_EASY)
		c->idle_easy[c->n_idle_easy++] = easy;
	else
		curl_easy_cleanup(easy);
}

void sfs_curl_drop(struct sfs_curl *c, struct sfs_get *get)
{
	CURL *easy = steal(&get->curl.easy);

	if (!easy)
		return;
	put_easy(c, easy);
	curl_slist_free_all(steal(&get->curl.header_list));
}

/* ---- the beginning ---- */

static struct curl_slist *header_list(const struct sfs_curl *c, const struct sfs_get *get)
{
	struct curl_slist *list = curl_slist_append(NULL, "Accept-Encoding: identity");
	int n = get->has_user_headers ? sfs_user_headers_n(c->headers) : 0, i;
	const char *line = get->lines, *end;

	if (get->if_match) {
		sfs_autofree char *tag = sfs_asprintf("If-Match: %s", get->if_match);

		list = curl_slist_append(list, tag);
	}
	for (i = 0; i < n; i++)
		list = curl_slist_append(list, sfs_user_headers_line(c->headers, i));
	for (; line && (end = strstr(line, "\r\n")) != NULL; line = end + 2) {
		sfs_autofree char *one = sfs_strndup(line, (size_t)(end - line));

		list = curl_slist_append(list, one);
	}
	return list;
}

void sfs_curl_begin(struct sfs_curl *c, struct sfs_get *get)
{
	CURL *easy = get_easy(c, get);
	char range[48];

	snprintf(range, sizeof range, "%llu-%llu", (unsigned long long)get->first,
		 (unsigned long long)get->last);
	get->curl.is_connecting = false;
	get->curl.header_list = header_list(c, get);
	curl_easy_setopt(easy, CURLOPT_RANGE, get->is_whole ? NULL : range);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER,
			 (struct curl_slist *)get->curl.header_list);
	curl_easy_setopt(easy, CURLOPT_CONNECT_ONLY, 0L);
	curl_easy_setopt(easy, CURLOPT_BUFFERSIZE,
			 get->is_small ? SMALL_BUFFER_BYTES : BUFFER_BYTES);
	curl_multi_add_handle(c->multi, easy);
}

void sfs_curl_connect(struct sfs_curl *c, struct sfs_get *get)
{
	CURL *easy = get_easy(c, get);

	get->curl.is_connecting = true;
	curl_easy_setopt(easy, CURLOPT_CONNECT_ONLY, 1L);
	curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, SMALL_BUFFER_BYTES);
	curl_multi_add_handle(c->multi, easy);
}

void sfs_curl_take_over(struct sfs_curl *c, struct sfs_get *from, struct sfs_get *get)
{
	CURL *easy = steal(&from->curl.easy);

	get->curl.is_connecting = true;
	get->curl.fd = from->curl.fd;
	get->curl.opened_ns = from->curl.opened_ns;
	get->curl.lacks_folder = from->curl.lacks_folder;
	hand_to(c, easy, get);
}

/* ---- a connection with TLS: libcurl's, with its handle, until it is closed ---- */

struct tls {
	struct sfs_curl *curl;
	CURL *easy;
};

/* As the result of a system call: an errno in errno. */
static ssize_t result_of(CURLcode code, size_t n)
{
	if (code == CURLE_OK)
		return (ssize_t)n;
	errno = code == CURLE_AGAIN ? EAGAIN : ECONNRESET;
	return -1;
}

static ssize_t tls_receive(void *data, void *to, size_t n)
{
	struct tls *tls = data;
	size_t n_got = 0;
	CURLcode code = curl_easy_recv(tls->easy, to, n, &n_got);

	return result_of(code, n_got);
}

static ssize_t tls_send(void *data, const void *from, size_t n)
{
	struct tls *tls = data;
	size_t n_sent = 0;
	CURLcode code = curl_easy_send(tls->easy, from, n, &n_sent);

	return result_of(code, n_sent);
}

static void tls_close(void *data)
{
	struct tls *tls = data;

	put_easy(tls->curl, tls->easy); /* and its connection ends */
	free(tls);
}

static const struct sfs_http1_tls tls_ops = {tls_receive, tls_send, tls_close};

/* ---- the end ---- */

static struct sfs_http1 *keep_tls(struct sfs_curl *c, struct sfs_get *get, int fd)
{
	struct tls *tls = sfs_malloc(sizeof *tls);

	*tls = (struct tls){c, steal(&get->curl.easy)};
	curl_easy_setopt(tls->easy, CURLOPT_ERRORBUFFER, NULL); /* it is the GET's */
	return sfs_http1_new_tls(fd, &tls_ops, tls);
}

/* Take the socket, and leave libcurl its own to close. */
static struct sfs_http1 *take_socket(struct sfs_curl *c, struct sfs_get *get, int theirs)
{
	int ours = fcntl(theirs, F_DUPFD_CLOEXEC, 3);

	sfs_curl_drop(c, get);
	return ours < 0 ? NULL : sfs_http1_new(ours);
}

/* libcurl has connected. */
static void take_connection(struct sfs_curl *c, struct sfs_get *get)
{
	curl_socket_t fd = CURL_SOCKET_BAD;
	struct sfs_http1 *conn;

	curl_easy_getinfo(get->curl.easy, CURLINFO_ACTIVESOCKET, &fd);
	if (strncmp(get->url, "https:", 6) == 0)
		conn = keep_tls(c, get, fd);
	else
		conn = take_socket(c, get, fd);
	c->events.connected(c->events.ctx, get, conn);
}

/* libcurl shows a proxy that it does not understand, with its password. */
static char *without_secrets(const char *why)
{
	return sfs_strdup(strchr(why, '@') && strstr(why, "proxy")
				  ? "the URL of the proxy is not understood"
				  : why);
}

/* Was the server's certificate not verified by the file alone?  Then look into the folder,
 * and do so from now on. */
static bool try_folder(struct sfs_curl *c, struct sfs_get *get, CURLcode code)
{
	CURL *easy = get->curl.easy;

	if (!get->curl.lacks_folder ||
	    (code != CURLE_PEER_FAILED_VERIFICATION && code != CURLE_SSL_CACERT_BADFILE))
		return false;
	c->needs_folder = true;
	curl_multi_remove_handle(c->multi, easy);
	set_folder(c, get, easy);
	get->curl.failure[0] = 0;
	expect_connection(c, get);
	curl_multi_add_handle(c->multi, easy);
	return true;
}

static void take_result(struct sfs_curl *c, CURL *easy, CURLcode code)
{
	enum sfs_fetch_outcome outcome = SFS_FETCH_PASSING;
	sfs_autofree char *why = NULL;
	struct sfs_get *get;
	int err = 0;

	curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&get);
	if (get->curl.is_connecting && code == CURLE_OK) {
		take_connection(c, get);
		return;
	}
	if (try_folder(c, get, code))
		return;
	if (code == CURLE_OK)
		sfs_receive_head(get);
	if (get->response.err != 0)
		err = get->response.err;
	else if (code != CURLE_OK)
		classify(code, &err, &outcome);
	if (err == -EMSGSIZE) {
		outcome = SFS_FETCH_NONSENSE;
		why = sfs_strdup("headers without an end");
	} else if (code == CURLE_COULDNT_CONNECT && get->curl.refusal) {
		err = -EACCES;
		outcome = SFS_FETCH_FINAL;
		why = steal(&get->curl.refusal);
	} else {
		why = without_secrets(get->curl.failure[0] ? get->curl.failure
							   : curl_easy_strerror(code));
	}
	c->events.end(c->events.ctx, get, err, outcome, why);
}

void sfs_curl_run(struct sfs_curl *c)
{
	int n_running, n_left;
	CURLMsg *msg;

	curl_multi_perform(c->multi, &n_running);
	while ((msg = curl_multi_info_read(c->multi, &n_left)) != NULL)
		if (msg->msg == CURLMSG_DONE)
			take_result(c, msg->easy_handle, msg->data.result);
}

void sfs_curl_poll(struct sfs_curl *c, struct pollfd *fds, unsigned n, int wait_ms)
{
	unsigned i;

	c->fds = sfs_reallocarray(c->fds, n + 1, sizeof c->fds[0]);
	for (i = 0; i < n; i++)
		c->fds[i] = (struct curl_waitfd){
			.fd = fds[i].fd,
			.events = fds[i].events == POLLOUT ? CURL_WAIT_POLLOUT
							   : CURL_WAIT_POLLIN,
		};
	curl_multi_poll(c->multi, c->fds, n, wait_ms, NULL);
	for (i = 0; i < n; i++)
		fds[i].revents = c->fds[i].revents;
}

void sfs_curl_wake(struct sfs_curl *c)
{
	curl_multi_wakeup(c->multi);
}

void sfs_curl_free(struct sfs_curl *c)
{
	if (!c)
		return;
	while (c->n_idle_easy > 0)
		curl_easy_cleanup(c->idle_easy[--c->n_idle_easy]);
	free(c->fds);
	curl_multi_cleanup(c->multi);
	curl_global_cleanup();
	free(c);
}

/* libcurl frees its buffer after each transfer and allocates the next.  Have malloc keep
 * n of them: by default each would be new pages, zeroed by the kernel for every MiB or
 * so. */
static void keep_buffers(int n)
{
	mallopt(M_MMAP_THRESHOLD, 4 * BUFFER_BYTES);
	mallopt(M_TRIM_THRESHOLD, (int)(n * BUFFER_BYTES));
}

struct sfs_curl *sfs_curl_new(const struct sfs_fetch_options *options,
			      const struct sfs_user_headers *headers,
			      const struct sfs_curl_events *events, struct sfs_error *err)
{
	const struct sfs_curl_certificates certificates = certificates_of(options);
	struct sfs_curl *c = sfs_calloc(1, sizeof *c);
	CURLcode code;
	CURL *easy;

	c->options = options;
	c->headers = headers;
	c->events = *events;
	keep_buffers(2 * options->n_connections);
	curl_global_init(CURL_GLOBAL_DEFAULT);
	c->multi = curl_multi_init();
	curl_multi_setopt(c->multi, CURLMOPT_MAXCONNECTS, (long)SFS_FETCH_MAX_KEPT);
	easy = curl_easy_init();
	code = set_common(options, easy);
	if (code != CURLE_OK) {
		sfs_error_set(err, -EINVAL, "libcurl: %s", curl_easy_strerror(code));
		curl_easy_cleanup(easy);
		sfs_curl_free(c);
		return NULL;
	}
	c->folder = sfs_curl_default_folder(easy, &certificates);
	c->idle_easy[c->n_idle_easy++] = easy;
	return c;
}

const char *sfs_curl_version(void)
{
	static char text[128];
	const curl_version_info_data *info = curl_version_info(CURLVERSION_NOW);

	snprintf(text, sizeof text, "%s %s", info->version,
		 info->ssl_version ? info->ssl_version : "without TLS");
	return text;
}
