/* SPDX-License-Identifier: MIT */
#include "source/http/receive.h"

#include "base/clock.h"
#include "source/http/origin.h"

#include <errno.h>
#include <time.h>

#define MAX_HEAD (256 << 10) /* with those of all responses 1xx */

void sfs_receive_begin(struct sfs_get *get)
{
	sfs_http_headers_done(&get->headers);
	sfs_http_headers_init(&get->headers);
	get->has_head = get->has_begun = false;
	get->n_dropped = get->n_head = 0;
	get->err = 0;
}

int sfs_receive_line(struct sfs_get *get, const char *line, size_t n)
{
	if (!get->has_begun) { /* later lines are no progress: they may never end */
		get->progress_ns = sfs_clock_ns();
		sfs_origin_responded(get, get->progress_ns);
	}
	get->has_begun = true;
	get->n_head += n;
	if (get->n_head > MAX_HEAD) {
		get->err = -EMSGSIZE;
		return get->err;
	}
	sfs_http_headers_add(&get->headers, line, n, time(NULL));
	return 0;
}

int sfs_receive_head(struct sfs_get *get)
{
	if (get->has_head)
		return get->err;
	get->has_head = true;
	get->watched_ns = get->progress_ns = sfs_clock_ns();
	get->watched_bytes = 0;
	if (get->headers.status == 429 || get->headers.status == 503)
		sfs_origin_refused(get, get->progress_ns);
	get->err = get->head(get, &get->headers);
	return get->err;
}

void sfs_receive_bytes(struct sfs_get *get, size_t n)
{
	get->progress_ns = sfs_clock_ns();
	get->watched_bytes += n;
	sfs_origin_served(get, n);
}
