/* SPDX-License-Identifier: MIT */
#include "source/http/listing.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/ledger.h"
#include "base/rng.h"
#include "base/stall.h"
#include "source/http/key-url.h"
#include "source/key-pattern.h"
#include "source/retry.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MOST_TRIES 8 /* of a page, in a row */

struct lister {
	const char *bucket, *pattern;
	int n_retries;
	sfs_listing_get *get;
	void *ctx;
};

/* ---- what is listed ---- */

void sfs_listing_item_done(struct sfs_listing_item *item)
{
	free(item->key);
	free(item->tag);
	*item = (struct sfs_listing_item){0};
}

void sfs_listing_done(struct sfs_listing *listing)
{
	size_t i;

	for (i = 0; i < listing->n; i++)
		sfs_listing_item_done(&listing->items[i]);
	free(listing->items);
	free(listing->next);
	*listing = (struct sfs_listing){0};
}

void sfs_listing_add(struct sfs_listing *l, struct sfs_listing_item *item)
{
	if ((l->n & (l->n - 1)) == 0) /* a power of two: full */
		l->items = sfs_reallocarray(l->items, 2 * l->n + 1, sizeof *l->items);
	l->items[l->n++] = *item;
	*item = (struct sfs_listing_item){0};
}

bool sfs_listing_read_size(const char *s, uint64_t *ret)
{
	uint64_t v = 0;

	if (!*s)
		return false;
	for (; isdigit((unsigned char)*s); s++) {
		if (v > (UINT64_MAX >> 1) / 10 - 1)
			return false;
		v = v * 10 + (uint64_t)(*s - '0');
	}
	*ret = v;
	return *s == 0;
}

/* ---- pages ---- */

static void wait_ms(uint64_t ms)
{
	struct timespec left = {.tv_sec = (time_t)(ms / 1000),
				.tv_nsec = (long)(ms % 1000) * 1000000};

	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

/* Another one on each machine, and each time. */
static uint64_t any_number(void)
{
	struct sfs_rng rng = {.state = sfs_clock_ns() ^ (uint64_t)getpid() << 40};

	return sfs_rng_next(&rng);
}

/* There were too many requests, and the server says when it may be asked again: wait for
 * that.  false: it did not say so, or there is no time for it. */
static bool wait_as_told(const struct sfs_http_headers *a, const char *url,
			 uint64_t until_ns)
{
	sfs_autofree char *shown = NULL;
	const int64_t after_s = sfs_http_headers_after_s(a);
	uint64_t ms;
	char then[64];

	if (a->status != 429 || after_s < 0)
		return false;
	ms = sfs_retry_after_ms(after_s, any_number());
	if (sfs_clock_ns() + ms * SFS_NS_PER_MS >= until_ns)
		return false;
	shown = sfs_uri_redact(url);
	snprintf(then, sizeof then, "retry in %llu ms, as the server says",
		 (unsigned long long)ms);
	sfs_ledger_add(SFS_EVENT_RETRY, shown, SFS_NO_OFFSET, then,
		       "HTTP 429 (too many requests)");
	wait_ms(ms);
	return true;
}

int sfs_listing_call(struct sfs_curl_caller *caller, const struct sfs_curl_call *call,
		     struct sfs_curl_answer *ret, enum sfs_renewal *ret_again,
		     struct sfs_error *err)
{
	const uint64_t until_ns = sfs_stall_deadline(sfs_clock_ns());
	int code;

	for (;;) {
		code = sfs_curl_call(caller, call, ret, err);
		sfs_stall_note_answer();
		if (code < 0 || !wait_as_told(&ret->headers, call->url, until_ns))
			break;
		sfs_curl_answer_done(ret);
	}
	if (code == -EIO) /* no connection, or one that broke */
		*ret_again = SFS_RENEWAL_SOON;
	return code;
}

int sfs_listing_get_page(int n_retries, sfs_listing_get *get, void *ctx,
			 const struct sfs_listing_ask *ask, struct sfs_listing *ret,
			 struct sfs_error *err)
{
	const int most_later = n_retries < 2 ? n_retries : 2;
	int n_again = 0, n_later = 0;
	enum sfs_renewal again;
	int code;

	for (;;) {
		again = SFS_RENEWAL_NO;
		code = get(ctx, ask, ret, &again, err);
		if (code == 0 || again == SFS_RENEWAL_NO || ++n_again == MOST_TRIES)
			return code;
		if (again == SFS_RENEWAL_SOON && n_later++ == most_later)
			return code;
		if (again == SFS_RENEWAL_SOON) /* half a second or one, by 0.5 to 1.5 */
			wait_ms((250u << (n_later - 1)) +
				any_number() % (500u << (n_later - 1)));
	}
}

/* Move those that are meant. */
static void take_items(struct sfs_listing *all, struct sfs_listing *page,
		       const char *pattern)
{
	size_t i;

	for (i = 0; i < page->n; i++)
		if (sfs_key_pattern_means(pattern, page->items[i].key))
			sfs_listing_add(all, &page->items[i]);
}

static int read_pages(const struct lister *l, struct sfs_listing *all, size_t *n_listed,
		      struct sfs_error *err)
{
	struct sfs_listing_ask ask = {l->bucket, l->pattern, NULL};
	struct sfs_listing page = {0};
	sfs_autofree char *token = NULL;
	int code;

	do {
		ask.token = token;
		code = sfs_listing_get_page(l->n_retries, l->get, l->ctx, &ask, &page,
					    err);
		if (code < 0)
			return code;
		*n_listed += page.n;
		if (token && page.next && strcmp(token, page.next) == 0)
			code = sfs_error_set(err, -EBADMSG,
					     "the server gives the same page of its "
					     "listing again");
		take_items(all, &page, l->pattern);
		free(token);
		token = steal(&page.next);
		sfs_listing_done(&page);
	} while (token && code == 0);
	return code;
}

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct sfs_listing_item *)a)->key,
		      ((const struct sfs_listing_item *)b)->key);
}

/* The server has listed so many objects, and the dataset takes none of them. */
static int none(const char *pattern, const char *where, size_t n_listed,
		struct sfs_error *err)
{
	bool has_wildcard = strpbrk(pattern, "*?[") != NULL;

	if (n_listed == 0)
		return sfs_error_set(err, -ENOENT, "%s %s/%s: check the name",
				     has_wildcard ? "no object matches" : "nothing is below",
				     where, pattern);
	return sfs_error_set(err, -ENOENT,
			     "no %s %s/%s, only %zu other object%s: check the name",
			     has_wildcard ? "object matches" : "*.tar is below", where,
			     pattern, n_listed, n_listed == 1 ? "" : "s");
}

static int list(const struct lister *l, const char *where, struct sfs_listing *ret,
		struct sfs_error *err)
{
	struct sfs_listing all = {0};
	size_t n_listed = 0;
	int code = read_pages(l, &all, &n_listed, err);

	if (code < 0)
		sfs_error_wrap(err, code, "cannot list %s/%s", where, l->pattern);
	else if (all.n == 0)
		code = none(l->pattern, where, n_listed, err);
	if (code < 0) {
		sfs_listing_done(&all);
		return code;
	}
	qsort(all.items, all.n, sizeof *all.items, by_key);
	*ret = all;
	return 0;
}

int sfs_listing_read(const struct sfs_uri *uri, int n_retries, sfs_listing_get *get,
		     void *ctx, struct sfs_listing *ret, struct sfs_error *err)
{
	const char *pattern;
	sfs_autofree char *bucket = sfs_key_split(uri->location, &pattern);
	const struct lister lister = {bucket, pattern, n_retries, get, ctx};

	return sfs_key_pattern_is(pattern) ? list(&lister, uri->origin, ret, err)
					   : -ENOTDIR;
}
