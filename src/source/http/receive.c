/* SPDX-License-Identifier: MIT */
#include "source/http/receive.h"

#include "base/clock.h"
#include "source/http/origin.h"

#include <errno.h>
#include <time.h>

#define MAX_HEAD (256 << 10) /* with those of all responses 1xx */

void sfs_receive_begin(struct sfs_get *get)
{
	sfs_http_headers_done(&get->response.headers);
	sfs_http_headers_init(&get->response.headers);
	get->response.has_head = get->response.has_begun = false;
	get->response.n_dropped = get->response.n_head = 0;
	get->response.err = 0;
}

int sfs_receive_line(struct sfs_get *get, const char *line, size_t n)
{
	if (!get->response
		     .has_begun) { /* later lines are no progress: they may never end */
		get->response.progress_ns = sfs_clock_ns();
		sfs_origin_responded(get, get->response.progress_ns);
	}
	get->response.has_begun = true;
	get->response.n_head += n;
	if (get->response.n_head > MAX_HEAD) {
		get->response.err = -EMSGSIZE;
		return get->response.err;
	}
	sfs_http_headers_add(&get->response.headers, line, n, time(NULL));
	return 0;
}

int sfs_receive_head(struct sfs_get *get)
{
	if (get->response.has_head)
		return get->response.err;
	get->response.has_head = true;
	get->response.watched_ns = get->response.progress_ns = sfs_clock_ns();
	get->response.watched_bytes = 0;
	if (get->response.headers.status == 429 || get->response.headers.status == 503)
		sfs_origin_refused(get, get->response.progress_ns);
	get->response.err = get->head(get, &get->response.headers);
	return get->response.err;
}

void sfs_receive_bytes(struct sfs_get *get, size_t n)
{
	get->response.progress_ns = sfs_clock_ns();
	get->response.watched_bytes += n;
	sfs_origin_served(get, n);
}
