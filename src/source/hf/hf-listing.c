/* SPDX-License-Identifier: MIT */
/* How this works: a thread comes here with each URL, before the source starts.  Its
 * revision becomes a commit, which is asked for once, and patterns are listed.  A name of
 * one file is looked up in the list of its folder, if it is not the first of that: so the
 * sizes of many names in braces cost a few requests. */
#include "source/hf/hf-internal.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "source/hf/hf-page.h"
#include "source/http/curl-url.h"
#include "source/http/key-url.h"
#include "source/http/listing.h"
#include "source/key-pattern.h"

#include <errno.h>
#include <string.h>

#define MOST_REDIRECTS 5
#define MOST_PAGES     1000 /* of a folder of which single files were named */

/* What a revision is. */
struct pin {
	struct sfs_link link;
	char *root, *commit; /* "OWNER/NAME@REVISION/" as it is written */
};

/* Of which single files were named. */
struct folder {
	struct sfs_link link;
	char *key;		    /* with its slash */
	struct sfs_listing listing; /* so far, by key; `next` is where it goes on */
	int n_pages;
	bool is_whole;
};

/* ---- requests of the thread that lists ---- */

/* Where a redirect leads, if that is on the Hub, as of a dataset that was renamed. */
static char *follow(const struct sfs_hf *hf, const char *url,
		    const struct sfs_http_headers *a, struct sfs_error *err)
{
	sfs_autofree char *to = a->location ? sfs_url_resolve(url, a->location) : NULL,
			  *shown = to ? sfs_uri_redact(to) : NULL;

	if (to && sfs_hf_is_own(hf, to))
		return steal(&to);
	sfs_error_set(
		err, -EIO,
		"HTTP %d redirects to %s, which is not the Hub at %s: check endpoint= "
		"or HF_ENDPOINT",
		a->status, shown ? shown : "nowhere", hf->endpoint);
	return NULL;
}

/* An answer, and with which token it was asked for, and when. */
struct hub_answer {
	struct sfs_curl_answer curl;
	unsigned edition;
	uint64_t made_ns;
};

/* GET what is at the URL, for which the token is sent. */
static int hf_get(struct sfs_hf *hf, const char *url, struct hub_answer *answer,
		  enum sfs_renewal *ret_again, struct sfs_error *err)
{
	struct sfs_curl_answer *ret = &answer->curl;
	sfs_autofree char *at = sfs_strdup(url), *to = NULL;
	struct sfs_curl_call call = {.method = "GET"};
	struct sfs_strbuf lines = {0};
	int n, code = 0;

	*ret = (struct sfs_curl_answer){0};
	for (n = 0; code == 0; n++) {
		sfs_curl_answer_done(ret);
		sfs_strbuf_done(&lines);
		answer->made_ns = sfs_clock_ns();
		answer->edition = sfs_hf_add_token(hf, &lines);
		call.url = at;
		call.lines = lines.s;
		code = sfs_listing_call(hf->caller, &call, ret, ret_again, err);
		if (code < 0 || ret->headers.status < 300 || ret->headers.status >= 400)
			break;
		to = n < MOST_REDIRECTS ? follow(hf, at, &ret->headers, err) : NULL;
		if (n == MOST_REDIRECTS)
			sfs_error_set(err, -EIO, "more than %d redirects", n);
		if (!to)
			code = -EIO;
		free(at);
		at = steal(&to);
	}
	sfs_strbuf_done(&lines);
	return code;
}

/* The response is a refusal: what does it mean? */
static int refuse(struct sfs_hf *hf, const struct sfs_hf_name *name, const char *folder,
		  const struct hub_answer *answer, enum sfs_renewal *ret_again,
		  struct sfs_error *err)
{
	const char *body = answer->curl.body.s ? answer->curl.body.s : "";
	int status = answer->curl.headers.status;
	struct sfs_hf_refusal refusal;
	char why[768];

	sfs_hf_refusal_read(&answer->curl.headers, body, strlen(body), &refusal);
	sfs_hf_describe(hf, name, folder, true, &refusal, why, sizeof why);
	if (status == 401 || status == 403)
		*ret_again = sfs_hf_token_renew(hf->token, answer->edition,
						answer->made_ns, true);
	else if (sfs_response_is_later(status))
		*ret_again = SFS_RENEWAL_SOON;
	return sfs_error_set(err, sfs_hf_refusal_err(&refusal), "%s", why);
}

static int parse_ask(const struct sfs_listing_ask *ask, char **ret_url,
		     struct sfs_hf_name *ret, struct sfs_error *err)
{
	*ret_url = sfs_asprintf("hf://%s/%s", ask->bucket, ask->pattern);
	return sfs_hf_name_parse(*ret_url, ret, err);
}

/* ---- pins ---- */

const char *sfs_hf_commit_of(const struct sfs_hf *hf, const struct sfs_hf_name *name)
{
	SFS_EACH (pin, &hf->pins, struct pin, link) {
		if (strcmp(pin->root, name->root) == 0)
			return pin->commit;
	}
	return name->revision;
}

static void add_pin(struct sfs_hf *hf, const struct sfs_hf_name *name, char *commit)
{
	struct pin *pin = sfs_calloc(1, sizeof *pin);

	pin->root = sfs_strdup(name->root);
	pin->commit = commit;
	sfs_list_push(&hf->pins, &pin->link);
}

/* Ask which commit the revision is.  (Without `expand` the Hub lists all files.) */
static int ask_commit(struct sfs_hf *hf, const struct sfs_hf_name *name,
		      enum sfs_renewal *ret_again, struct sfs_error *err)
{
	struct sfs_strbuf url = {0};
	struct hub_answer answer;
	char *commit = NULL;
	int code;

	sfs_hf_add_url(&url, hf, "api/datasets", name->repo, "revision", name->revision);
	sfs_strbuf_puts(&url, "?expand=sha");
	code = hf_get(hf, url.s, &answer, ret_again, err);
	if (code == 0 && answer.curl.headers.status != 200)
		code = refuse(hf, name, NULL, &answer, ret_again, err);
	else if (code == 0)
		commit = sfs_hf_commit_read(answer.curl.body.s ? answer.curl.body.s : "",
					    answer.curl.body.n);
	if (code == 0 && !commit) {
		*ret_again = SFS_RENEWAL_SOON;
		code = sfs_error_set(err, -EBADMSG,
				     "no answer of the Hub is at %s: it names no commit; "
				     "check endpoint= or HF_ENDPOINT",
				     hf->endpoint);
	}
	if (commit)
		add_pin(hf, name, commit);
	sfs_curl_answer_done(&answer.curl);
	sfs_strbuf_done(&url);
	return code;
}

static int get_commit(void *ctx, const struct sfs_listing_ask *ask,
		      struct sfs_listing *ret, enum sfs_renewal *ret_again,
		      struct sfs_error *err)
{
	sfs_autofree char *url = NULL;
	struct sfs_hf_name name;
	int code = parse_ask(ask, &url, &name, err);

	if (code < 0)
		return code;
	code = ask_commit(ctx, &name, ret_again, err);
	sfs_hf_name_done(&name);
	return code;
}

static int pin_revision(struct sfs_hf *hf, const struct sfs_hf_name *name,
			struct sfs_error *err)
{
	const struct sfs_listing_ask ask = {"datasets", name->root, NULL};
	struct sfs_listing none;
	int code;

	if (sfs_hf_commit_of(hf, name) != name->revision)
		return 0;
	if (sfs_hf_is_commit(name->revision)) {
		add_pin(hf, name, sfs_strdup(name->revision));
		return 0;
	}
	code = sfs_listing_get_page(hf->http.n_retries, get_commit, hf, &ask, &none, err);
	return code == 0 ? 0
			 : sfs_error_wrap(err, code, "hf://datasets/%.*s",
					  (int)strlen(name->root) - 1, name->root);
}

/* ---- listing ---- */

/* The folder in which all is that the pattern means; "" for the whole dataset. */
static char *folder_of(const char *pattern)
{
	sfs_autofree char *prefix = sfs_key_pattern_prefix(pattern);
	const char *slash = strrchr(prefix, '/');

	return sfs_strndup(prefix, slash ? (size_t)(slash - prefix) : 0);
}

static char *tree_url(const struct sfs_hf *hf, const struct sfs_hf_name *name,
		      const char *folder, const char *query)
{
	bool is_deep = sfs_key_pattern_is_deep(name->path);
	struct sfs_strbuf url = {0};

	sfs_hf_add_url(&url, hf, "api/datasets", name->repo, "tree",
		       sfs_hf_commit_of(hf, name));
	if (*folder) {
		sfs_strbuf_puts(&url, "/");
		sfs_key_encode(&url, folder, true);
	}
	if (query)
		sfs_strbuf_printf(&url, "?%s", query);
	else
		sfs_strbuf_printf(&url, "?recursive=%s&expand=false",
				  is_deep ? "true" : "false");
	return url.s;
}

static int read_page(struct sfs_hf *hf, const struct sfs_hf_name *name, const char *query,
		     struct sfs_listing *ret, enum sfs_renewal *ret_again,
		     struct sfs_error *err)
{
	sfs_autofree char *folder = folder_of(name->path),
			  *url = tree_url(hf, name, folder, query);
	struct hub_answer answer;
	int code = hf_get(hf, url, &answer, ret_again, err);

	if (code == 0 && answer.curl.headers.status != 200) {
		code = refuse(hf, name, folder, &answer, ret_again, err);
	} else if (code == 0) {
		code = sfs_hf_page_read(answer.curl.body.s ? answer.curl.body.s : "",
					answer.curl.body.n, name->root, ret, err);
		if (code < 0) {
			*ret_again = SFS_RENEWAL_SOON;
			sfs_error_wrap(err, code, "the answer is not a listing of the Hub's");
		} else {
			ret->next = sfs_hf_page_next(answer.curl.head.s);
		}
	}
	sfs_curl_answer_done(&answer.curl);
	return code;
}

static int get_page(void *ctx, const struct sfs_listing_ask *ask, struct sfs_listing *ret,
		    enum sfs_renewal *ret_again, struct sfs_error *err)
{
	sfs_autofree char *url = NULL;
	struct sfs_hf_name name;
	int code = parse_ask(ask, &url, &name, err);

	if (code < 0)
		return code;
	code = read_page(ctx, &name, ask->token, ret, ret_again, err);
	sfs_hf_name_done(&name);
	return code;
}

static int list_pattern(struct sfs_hf *hf, const char *key, struct sfs_listing *ret,
			struct sfs_error *err)
{
	sfs_autofree char *location = sfs_asprintf("hf://datasets/%s", key);
	const struct sfs_uri uri = {.scheme = SFS_SCHEME_HF,
				    .location = location,
				    .origin = (char *)"hf://datasets"};

	return sfs_listing_read(&uri, hf->http.n_retries, get_page, hf, ret, err);
}

/* ---- names of single files ---- */

/* The folder of the file; NULL: none of it was named before. */
static struct folder *find_folder(const struct sfs_hf *hf, const char *key, size_t n)
{
	SFS_EACH (folder, &hf->folders, struct folder, link) {
		if (strlen(folder->key) == n && strncmp(folder->key, key, n) == 0)
			return folder;
	}
	return NULL;
}

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct sfs_listing_item *)a)->key,
		      ((const struct sfs_listing_item *)b)->key);
}

/* Another page.  A folder that cannot be listed is no error here: the file says it. */
static void list_more(struct sfs_hf *hf, struct folder *folder)
{
	sfs_autofree char *pattern = sfs_asprintf("%s*", folder->key),
			  *token = steal(&folder->listing.next);
	const struct sfs_listing_ask ask = {"datasets", pattern, token};
	struct sfs_listing page = {0};
	struct sfs_error ignored;
	size_t i;

	folder->is_whole = sfs_listing_get_page(hf->http.n_retries, get_page, hf, &ask,
						&page, &ignored) < 0 ||
			   !page.next || (token && strcmp(token, page.next) == 0) ||
			   ++folder->n_pages == MOST_PAGES;
	for (i = 0; i < page.n; i++)
		sfs_listing_add(&folder->listing, &page.items[i]);
	if (page.n > 0)
		qsort(folder->listing.items, folder->listing.n, sizeof *page.items,
		      by_key);
	folder->listing.next = steal(&page.next);
	sfs_listing_done(&page);
}

static const struct sfs_listing_item *find_listed(const struct folder *folder, char *key)
{
	const struct sfs_listing_item wanted = {.key = key};

	return folder->listing.n == 0 ? NULL
				      : bsearch(&wanted, folder->listing.items,
						folder->listing.n, sizeof wanted, by_key);
}

/* What the list of its folder says of one file.  -ENOTDIR: nothing, so it will be asked
 * for.  The list is read as far as it takes to find it. */
static int look_up(struct sfs_hf *hf, char *key, struct sfs_listing *ret)
{
	size_t n = (size_t)(strrchr(key, '/') + 1 - key);
	struct folder *folder = find_folder(hf, key, n);
	const struct sfs_listing_item *found;
	struct sfs_listing_item copy;

	if (!folder) {
		folder = sfs_calloc(1, sizeof *folder);
		folder->key = sfs_strndup(key, n);
		sfs_list_push(&hf->folders, &folder->link);
		return -ENOTDIR;
	}
	while (!(found = find_listed(folder, key)) && !folder->is_whole)
		list_more(hf, folder);
	if (!found)
		return -ENOTDIR;
	copy = (struct sfs_listing_item){.key = sfs_strdup(found->key),
					 .size = found->size,
					 .tag = found->tag ? sfs_strdup(found->tag)
							   : NULL};
	*ret = (struct sfs_listing){0};
	sfs_listing_add(ret, &copy);
	return 0;
}

int sfs_hf_meet(struct sfs_store *store, const struct sfs_uri *uri, struct sfs_error *err)
{
	struct sfs_hf_name name;
	int code = sfs_hf_name_parse(uri->location, &name, err);

	if (code < 0)
		return code;
	code = pin_revision(sfs_hf_of(store), &name, err);
	sfs_hf_name_done(&name);
	return code;
}

int sfs_hf_list(struct sfs_store *store, const struct sfs_uri *uri,
		struct sfs_listing *ret, struct sfs_error *err)
{
	struct sfs_hf *hf = sfs_hf_of(store);
	sfs_autofree char *key = NULL;
	struct sfs_hf_name name;
	int code = sfs_hf_name_parse(uri->location, &name, err);

	if (code < 0)
		return code;
	code = pin_revision(hf, &name, err);
	key = sfs_asprintf("%s%s", name.root, name.path);
	if (code == 0)
		code = sfs_key_pattern_is(key) ? list_pattern(hf, key, ret, err)
					       : look_up(hf, key, ret);
	sfs_hf_name_done(&name);
	return code;
}

/* ---- life ---- */

void sfs_hf_listing_init(struct sfs_hf *hf)
{
	sfs_list_init(&hf->pins);
	sfs_list_init(&hf->folders);
}

void sfs_hf_listing_done(struct sfs_hf *hf)
{
	struct sfs_link *link;
	struct folder *folder;
	struct pin *pin;

	while ((link = sfs_list_pop(&hf->pins)) != NULL) {
		pin = sfs_container(link, struct pin, link);
		free(pin->root);
		free(pin->commit);
		free(pin);
	}
	while ((link = sfs_list_pop(&hf->folders)) != NULL) {
		folder = sfs_container(link, struct folder, link);
		sfs_listing_done(&folder->listing);
		free(folder->key);
		free(folder);
	}
}
