/* SPDX-License-Identifier: MIT */
/* How this works: by refusing.  What libcurl would rewrite (dots in a path, odd
 * addresses, names beyond ASCII, headers that replace its own) or look up (a proxy, a
 * password) is not plain, and loses nothing but some speed.  So a request written here
 * is the same, byte for byte, as libcurl's. */
#include "source/http/http1-request.h"

#include "base/alloc.h"
#include "base/strbuf.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <pwd.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

struct sfs_http1_request {
	bool is_direct, is_direct_tls; /* no proxy for http, and for https */
	bool has_plain_headers;
	char *netrc;		   /* libcurl takes credentials from it if it is there */
	struct sfs_strbuf headers; /* the user's, as lines */
};

static bool is_set(const char *variable)
{
	const char *value = getenv(variable);

	return value && *value;
}

static bool is_direct(const struct sfs_fetch_options *o, bool is_tls)
{
	if (o->proxy)
		return !*o->proxy;
	if (is_set("all_proxy") || is_set("ALL_PROXY"))
		return false;
	/* Not HTTP_PROXY: libcurl fears that a server's client has set it. */
	return is_tls ? !is_set("https_proxy") && !is_set("HTTPS_PROXY")
		      : !is_set("http_proxy");
}

/* The file that libcurl looks into. */
static char *netrc_path(const char *chosen)
{
	const char *home = getenv("HOME");
	struct passwd *user;

	if (chosen)
		return sfs_strdup(chosen);
	if (!home) {
		user = getpwuid(geteuid());
		home = user ? user->pw_dir : NULL;
	}
	return home ? sfs_asprintf("%s/.netrc", home) : NULL;
}

/* Would libcurl send this header of the user's as it is, and no other for it? */
static bool is_plain_header(const char *line)
{
	static const char *const own[] = {
		"Accept", "Connection", "Content-Length",    "Content-Type", "Cookie",
		"Expect", "Host",	"If-Range",	     "Range",	     "Referer",
		"TE",	  "Trailer",	"Transfer-Encoding", "Upgrade",	     "User-Agent",
	};
	const char *colon = strchr(line, ':');
	size_t i, n;

	if (!colon || !colon[1 + strspn(colon + 1, " \t")] || strpbrk(line, "\r\n"))
		return false;
	n = (size_t)(colon - line);
	for (i = 0; i < SFS_COUNT(own); i++)
		if (strlen(own[i]) == n && strncasecmp(own[i], line, n) == 0)
			return false;
	return true;
}

struct sfs_http1_request *sfs_http1_request_new(const struct sfs_fetch_options *o)
{
	struct sfs_http1_request *request = sfs_calloc(1, sizeof *request);

	request->is_direct = is_direct(o, false);
	request->is_direct_tls = is_direct(o, true);
	request->netrc = netrc_path(o->netrc_file);
	request->has_plain_headers = true;
	return request;
}

void sfs_http1_request_set_headers(struct sfs_http1_request *request,
				   const struct sfs_user_headers *headers)
{
	const char *line;
	int i;

	sfs_strbuf_done(&request->headers);
	request->has_plain_headers = true;
	for (i = 0; i < sfs_user_headers_n(headers); i++) {
		line = sfs_user_headers_line(headers, i);
		sfs_strbuf_printf(&request->headers, "%s\r\n", line);
		request->has_plain_headers &= is_plain_header(line);
	}
}

void sfs_http1_request_free(struct sfs_http1_request *request)
{
	if (!request)
		return;
	free(request->netrc);
	sfs_strbuf_done(&request->headers);
	free(request);
}

/* "example.org", "10.0.0.1", perhaps with ":8080": nothing that libcurl writes in
 * another way. */
static bool is_plain_authority(const char *s, size_t n)
{
	size_t n_host = 0, n_port, last = 0, i;
	char host[256];
	struct in_addr address;

	while (n_host < n && (isalnum((unsigned char)s[n_host]) || s[n_host] == '-' ||
			      s[n_host] == '.' || s[n_host] == '_'))
		n_host++;
	n_port = n_host < n ? n - n_host - 1 : 0;
	if (n_host == 0 || n_host >= sizeof host || (n_host < n && s[n_host] != ':') ||
	    n_port > 5 || (n_host < n && (n_port == 0 || s[n_host + 1] == '0')))
		return false;
	for (i = n_host + 1; i < n; i++)
		if (!isdigit((unsigned char)s[i]))
			return false;
	memcpy(host, s, n_host);
	host[n_host] = 0;
	for (i = 0; i + 1 < n_host; i++)
		if (host[i] == '.')
			last = i + 1;
	/* 127.1 and 0x7f000001 are addresses too. */
	return !isdigit((unsigned char)host[last]) ||
	       inet_pton(AF_INET, host, &address) == 1;
}

/* A path, and perhaps a query. */
static bool is_plain_target(const char *s)
{
	const char *c;

	for (c = s; *c; c++)
		if (*c <= ' ' || *c > '~' || *c == '#' || *c == '\\')
			return false;
	return *s == '/' && !strstr(s, "/.") && !strcasestr(s, "%2e") &&
	       s[strlen(s) - 1] != '?';
}

static bool is_allowed(const struct sfs_http1_request *request, const struct sfs_get *get)
{
	return !get->user && !get->negotiates &&
	       (request->has_plain_headers || !get->has_user_headers) &&
	       (!get->if_match || !strpbrk(get->if_match, "\r\n")) &&
	       (!request->netrc || get->is_signed_url ||
		access(request->netrc, F_OK) != 0);
}

char *sfs_http1_request_write(const struct sfs_http1_request *request,
			      const struct sfs_get *get, char **ret_origin)
{
	bool is_tls = strncmp(get->url, "https://", 8) == 0;
	const char *scheme = is_tls ? "https://" : "http://";
	const char *port = is_tls ? ":443" : ":80";
	const char *authority = get->url + strlen(scheme), *target;
	struct sfs_strbuf text = {0};
	size_t n, n_port = strlen(port);

	if (strncmp(get->url, scheme, strlen(scheme)) != 0 ||
	    !(is_tls ? request->is_direct_tls : request->is_direct))
		return NULL;
	n = strcspn(authority, "/?#");
	target = authority + n;
	if (!is_plain_authority(authority, n) || !is_plain_target(target) ||
	    !is_allowed(request, get))
		return NULL;
	if (n > n_port && memcmp(authority + n - n_port, port, n_port) == 0)
		n -= n_port;
	*ret_origin = sfs_asprintf("%s%.*s", is_tls ? scheme : "", (int)n, authority);
	sfs_strbuf_printf(&text, "GET %s HTTP/1.1\r\nHost: %.*s\r\n", target, (int)n,
			  authority);
	if (!get->is_whole)
		sfs_strbuf_printf(&text, "Range: bytes=%llu-%llu\r\n",
				  (unsigned long long)get->first,
				  (unsigned long long)get->last);
	sfs_strbuf_puts(&text, "User-Agent: shufflefs/" VERSION "\r\nAccept: */*\r\n"
			       "Accept-Encoding: identity\r\n");
	if (get->if_match)
		sfs_strbuf_printf(&text, "If-Match: %s\r\n", get->if_match);
	if (get->has_user_headers && request->headers.n > 0)
		sfs_strbuf_puts(&text, request->headers.s);
	if (get->lines)
		sfs_strbuf_puts(&text, get->lines);
	sfs_strbuf_puts(&text, "\r\n");
	return text.s;
}
