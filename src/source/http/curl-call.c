/* SPDX-License-Identifier: MIT */
#include "source/http/curl-call.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "source/http/curl-setup.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define MOST_BYTES    (16 << 20)
#define MOST_HEAD     (64 << 10)
#define LOCAL_WAIT_MS 1000L
#define LOCAL_MS      5000L

struct sfs_curl_caller {
	const struct sfs_http_options *options;
	const atomic_bool *is_stopped;
	CURL *easy;
};

static size_t on_header(char *line, size_t size, size_t n, void *data)
{
	struct sfs_curl_answer *answer = data;

	sfs_http_headers_add(&answer->headers, line, n * size, time(NULL));
	if (answer->head.n + n * size <= MOST_HEAD)
		sfs_strbuf_add(&answer->head, line, n * size);
	return n * size;
}

static size_t on_body(char *bytes, size_t size, size_t n, void *data)
{
	struct sfs_curl_answer *answer = data;

	if (answer->body.n + n * size > MOST_BYTES)
		return 0;
	sfs_strbuf_add(&answer->body, bytes, n * size);
	return n * size;
}

static int on_progress(void *data, curl_off_t n_all, curl_off_t n, curl_off_t n_all_up,
		       curl_off_t n_up)
{
	const struct sfs_curl_caller *c = data;

	return c->is_stopped && atomic_load(c->is_stopped);
}

static CURLcode set_options(struct sfs_curl_caller *c)
{
	const struct sfs_http_options *o = c->options;
	const struct sfs_curl_certificates certificates = {o->ca_file, o->ca_path,
							   o->cert, o->key};
	CURLcode code = sfs_curl_set_up(c->easy, &certificates);

	curl_easy_setopt(c->easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	curl_easy_setopt(c->easy, CURLOPT_PATH_AS_IS, 1L);
	curl_easy_setopt(c->easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(c->easy, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(c->easy, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(c->easy, CURLOPT_XFERINFOFUNCTION, on_progress);
	curl_easy_setopt(c->easy, CURLOPT_XFERINFODATA, c);
	return code;
}

struct sfs_curl_caller *sfs_curl_caller_new(const struct sfs_http_options *options,
					    const atomic_bool *is_stopped,
					    struct sfs_error *err)
{
	struct sfs_curl_caller *c = sfs_calloc(1, sizeof *c);
	CURLcode code;

	curl_global_init(CURL_GLOBAL_DEFAULT);
	c->options = options;
	c->is_stopped = is_stopped;
	c->easy = curl_easy_init();
	if (!c->easy)
		abort();
	code = set_options(c);
	if (code == CURLE_OK)
		return c;
	sfs_error_set(err, -EINVAL, "libcurl: %s", curl_easy_strerror(code));
	sfs_curl_caller_free(c);
	return NULL;
}

void sfs_curl_caller_free(struct sfs_curl_caller *c)
{
	if (!c)
		return;
	curl_easy_cleanup(c->easy);
	curl_global_cleanup();
	free(c);
}

bool sfs_curl_can_negotiate(void)
{
	return curl_version_info(CURLVERSION_NOW)->features & CURL_VERSION_SPNEGO;
}

static void set_limits(struct sfs_curl_caller *c, bool is_local)
{
	const struct sfs_http_options *o = c->options;

	curl_easy_setopt(c->easy, CURLOPT_CONNECTTIMEOUT_MS,
			 is_local ? LOCAL_WAIT_MS : (long)o->connect_timeout_ms);
	curl_easy_setopt(c->easy, CURLOPT_TIMEOUT_MS, is_local ? LOCAL_MS : 0L);
	curl_easy_setopt(c->easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
	curl_easy_setopt(c->easy, CURLOPT_LOW_SPEED_TIME,
			 (long)((o->stall_timeout_ms + 999) / 1000));
	curl_easy_setopt(c->easy, CURLOPT_PROXY, is_local ? "" : o->proxy);
}

/* Lines that end in CR LF, as libcurl's list. */
static struct curl_slist *list_lines(const char *lines)
{
	struct curl_slist *list = NULL;
	const char *end;

	for (; lines && (end = strstr(lines, "\r\n")) != NULL; lines = end + 2) {
		sfs_autofree char *line = sfs_strndup(lines, (size_t)(end - lines));

		list = curl_slist_append(list, line);
	}
	return list;
}

int sfs_curl_call(struct sfs_curl_caller *c, const struct sfs_curl_call *call,
		  struct sfs_curl_answer *ret, struct sfs_error *err)
{
	struct curl_slist *list = list_lines(call->lines);
	char why[CURL_ERROR_SIZE] = "";
	CURLcode code;

	*ret = (struct sfs_curl_answer){0};
	sfs_http_headers_init(&ret->headers);
	set_limits(c, call->is_local);
	curl_easy_setopt(c->easy, CURLOPT_HTTPGET, 1L);
	if (call->body) {
		curl_easy_setopt(c->easy, CURLOPT_POSTFIELDSIZE,
				 (long)strlen(call->body));
		curl_easy_setopt(c->easy, CURLOPT_POSTFIELDS, call->body);
	}
	curl_easy_setopt(c->easy, CURLOPT_NOBODY,
			 (long)(strcmp(call->method, "HEAD") == 0));
	curl_easy_setopt(c->easy, CURLOPT_CUSTOMREQUEST, call->method);
	curl_easy_setopt(c->easy, CURLOPT_URL, call->url);
	sfs_curl_log_in(c->easy, NULL, call->negotiates);
	curl_easy_setopt(c->easy, CURLOPT_HTTPHEADER, list);
	curl_easy_setopt(c->easy, CURLOPT_HEADERDATA, ret);
	curl_easy_setopt(c->easy, CURLOPT_WRITEDATA, ret);
	curl_easy_setopt(c->easy, CURLOPT_ERRORBUFFER, why);
	code = curl_easy_perform(c->easy);
	curl_easy_setopt(c->easy, CURLOPT_HTTPHEADER, NULL);
	curl_easy_setopt(c->easy, CURLOPT_ERRORBUFFER, NULL);
	curl_slist_free_all(list);
	if (code == CURLE_OK)
		return 0;
	if (code == CURLE_WRITE_ERROR)
		return sfs_error_set(err, -EMSGSIZE, "a response of more than 16 MiB");
	/* libcurl shows a proxy that it does not understand, with its password. */
	if (strchr(why, '@'))
		why[0] = 0;
	return sfs_error_set(err, code == CURLE_PEER_FAILED_VERIFICATION ? -EACCES : -EIO,
			     "%s", why[0] ? why : curl_easy_strerror(code));
}

void sfs_curl_answer_done(struct sfs_curl_answer *answer)
{
	sfs_http_headers_done(&answer->headers);
	sfs_strbuf_done(&answer->head);
	sfs_strbuf_done(&answer->body);
}
