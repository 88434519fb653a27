/* SPDX-License-Identifier: MIT */
/* A plain GET is written as libcurl would write it; what libcurl would change, replace
 * or look up is not plain. */
#include "base/alloc.h"
#include "check.h"
#include "source/http/http1-request.h"

#include <fcntl.h>
#include <unistd.h>

#define END                              \
	"User-Agent: shufflefs/" VERSION \
	"\r\nAccept: */*\r\nAccept-Encoding: identity\r\n"

static struct sfs_fetch_options options;
static struct sfs_get get;

static struct sfs_http1_request *new_plain(void)
{
	struct sfs_user_headers *headers =
		sfs_user_headers_new(options.headers, options.n_headers);
	struct sfs_http1_request *plain = sfs_http1_request_new(&options);

	sfs_http1_request_set_headers(plain, headers);
	sfs_user_headers_free(headers);
	return plain;
}

/* Is the GET plain with these options? */
static bool is_plain(void)
{
	struct sfs_http1_request *plain = new_plain();
	char *origin = NULL, *text = sfs_http1_request_write(plain, &get, &origin);
	bool is = text != NULL;

	CHECK_EQ(is, origin != NULL);
	free(text);
	free(origin);
	sfs_http1_request_free(plain);
	return is;
}

static void writes(const char *url, const char *wanted, const char *wanted_origin)
{
	struct sfs_http1_request *plain = new_plain();
	sfs_autofree char *origin = NULL;
	sfs_autofree char *text = NULL;

	get.url = url;
	text = sfs_http1_request_write(plain, &get, &origin);
	CHECK_STR(text, wanted);
	CHECK_STR(origin, wanted_origin);
	sfs_http1_request_free(plain);
}

static void texts(void)
{
	char *headers[] = {(char *)"X: y", (char *)"Authorization: Bearer z"};

	get = (struct sfs_get){.first = 0, .last = 511};
	writes("http://host:8080/a.tar?b=%2F",
	       "GET /a.tar?b=%2F HTTP/1.1\r\nHost: host:8080\r\nRange: "
	       "bytes=0-511\r\n" END "\r\n",
	       "host:8080");
	get = (struct sfs_get){.first = 1, .last = UINT64_MAX >> 1, .if_match = "\"x\""};
	options.headers = headers;
	options.n_headers = 2;
	writes("http://10.0.0.1:80/",
	       "GET / HTTP/1.1\r\nHost: 10.0.0.1\r\nRange: "
	       "bytes=1-9223372036854775807\r\n" END "If-Match: \"x\"\r\n\r\n",
	       "10.0.0.1");
	get = (struct sfs_get){.first = 7, .last = 7, .has_user_headers = true};
	writes("http://a-b.c_d.e/~x/$y",
	       "GET /~x/$y HTTP/1.1\r\nHost: a-b.c_d.e\r\nRange: bytes=7-7\r\n" END
	       "X: y\r\nAuthorization: Bearer z\r\n\r\n",
	       "a-b.c_d.e");
	options = (struct sfs_fetch_options){0};
	/* With TLS it is another server, and so is another port. */
	get = (struct sfs_get){.is_whole = true};
	writes("https://h:443/a", "GET /a HTTP/1.1\r\nHost: h\r\n" END "\r\n", "https://h");
	writes("https://h:80/a", "GET /a HTTP/1.1\r\nHost: h:80\r\n" END "\r\n",
	       "https://h:80");
	writes("http://h:443/a", "GET /a HTTP/1.1\r\nHost: h:443\r\n" END "\r\n", "h:443");
}

static void urls(void)
{
	static const char *const refused[] = {
		"HTTPS://h/a",	     "HTTP://h/a",	   "ftp://h/a",
		"http:///a",	     "http://h",	   "http://h?a",
		"http://u@h/a",	     "http://u:p@h/a",	   "http://[::1]/a",
		"http://h%41/a",     "http://127.1/a",	   "http://0x7f.1/a",
		"http://1/a",	     "http://1.2.3.4./a",  "http://h:/a",
		"http://h:0/a",	     "http://h:080/a",	   "http://h:123456/a",
		"http://h:8x/a",     "http://\xc3\xbc/a",  "http://h/a b",
		"http://h/\xc3\xbc", "http://h/a\r\nX: y", "http://h/a\x7f",
		"http://h/../a",     "http://h/a/.",	   "http://h/./a",
		"http://h/%2e%2E/a", "http://h/a#b",	   "http://h/a?",
		"http://h/a\\b",     "http:/h/a",
	};
	size_t i;

	get = (struct sfs_get){0};
	for (i = 0; i < SFS_COUNT(refused); i++) {
		get.url = refused[i];
		if (is_plain())
			fprintf(stderr, "%s\n", refused[i]);
		CHECK(!is_plain());
	}
	get.url = "http://h:65535/a";
	CHECK(is_plain());
}

static void credentials(void)
{
	char folder[] = "plain-XXXXXX";
	sfs_autofree char *netrc = NULL;
	int fd;

	get = (struct sfs_get){.url = "http://h/a", .user = "u:p"};
	CHECK(!is_plain());
	get.user = NULL;
	CHECK(is_plain());
	CHECK(mkdtemp(folder));
	netrc = sfs_asprintf("%s/.netrc", folder);
	setenv("HOME", folder, 1);
	CHECK(is_plain());
	fd = open(netrc, O_WRONLY | O_CREAT, 0600);
	close(fd);
	CHECK(!is_plain());
	setenv("HOME", "/nowhere", 1);
	CHECK(is_plain());
	options.netrc_file = netrc;
	CHECK(!is_plain());
	options.netrc_file = NULL;
	unlink(netrc);
	rmdir(folder);
}

static void proxies(void)
{
	static const struct {
		const char *variable, *url;
		bool is_for_it;
	} cases[] = {
		{"http_proxy", "http://h/a", true},   {"all_proxy", "http://h/a", true},
		{"ALL_PROXY", "http://h/a", true},    {"https_proxy", "https://h/a", true},
		{"HTTPS_PROXY", "https://h/a", true}, {"all_proxy", "https://h/a", true},
		{"ALL_PROXY", "https://h/a", true},   {"http_proxy", "https://h/a", false},
		{"https_proxy", "http://h/a", false}, {"HTTPS_PROXY", "http://h/a", false},
	};
	size_t i;

	for (i = 0; i < SFS_COUNT(cases); i++) {
		get = (struct sfs_get){.url = cases[i].url};
		setenv(cases[i].variable, "http://p:1", 1);
		CHECK_EQ(is_plain(), !cases[i].is_for_it);
		options.proxy = ""; /* none, whatever the environment says */
		CHECK(is_plain());
		options.proxy = NULL;
		setenv(cases[i].variable, "", 1);
		CHECK(is_plain());
		options.proxy = "http://p:1";
		CHECK(!is_plain());
		options.proxy = NULL;
	}
}

static void headers(void)
{
	static const char *const refused[] = {
		"Host: x",	    "user-agent: x",
		"Range: bytes=0-1", "Connection: close",
		"Accept:",	    "X-Empty: ",
		"X-Semi;",	    "Transfer-Encoding: chunked",
		"X: a\rY: b",
	};
	char *line;
	size_t i;

	get = (struct sfs_get){.url = "http://h/a", .has_user_headers = true};
	options.headers = &line;
	options.n_headers = 1;
	for (i = 0; i < SFS_COUNT(refused); i++) {
		line = (char *)refused[i];
		CHECK(!is_plain());
		get.has_user_headers = false; /* at another host */
		CHECK(is_plain());
		get.has_user_headers = true;
	}
	line = (char *)"Accept-Language: de";
	CHECK(is_plain());
	get.if_match = "\"a\r\nX: y\"";
	CHECK(!is_plain());
	options = (struct sfs_fetch_options){0};
}

int main(void)
{
	unsetenv("http_proxy");
	unsetenv("all_proxy");
	unsetenv("ALL_PROXY");
	unsetenv("https_proxy");
	unsetenv("HTTPS_PROXY");
	setenv("HOME", "/nowhere", 1);
	texts();
	urls();
	credentials();
	proxies();
	headers();
	return 0;
}
