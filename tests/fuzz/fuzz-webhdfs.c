/* SPDX-License-Identifier: MIT */
/* What a server of WebHDFS writes, and Hadoop's file of tokens: a page has names that a
 * folder may hold, and numbers that fit; a refusal shows only what can be printed, in one
 * line; of a redirect only the range is taken; a token goes into a query as it is. */
#include "fuzz.h"

#include "base/alloc.h"
#include "source/webhdfs/webhdfs-page.h"
#include "source/webhdfs/webhdfs-refusal.h"
#include "source/webhdfs/webhdfs-token.h"
#include "source/webhdfs/webhdfs-url.h"

#include <ctype.h>
#include <errno.h>

static void check_page(const char *text, size_t n)
{
	struct sfs_webhdfs_page page = {0};
	struct sfs_webhdfs_status status = {0};
	char tag[SFS_WEBHDFS_TAG_BYTES];
	struct sfs_error err = {0};
	size_t i;

	if (sfs_webhdfs_status_read(text, n, &status, &err) == 0) {
		MUST(!status.name && status.length <= UINT64_MAX >> 1);
		sfs_webhdfs_tag(&status, tag);
		MUST(tag[0] == '"' && tag[strlen(tag) - 1] == '"');
	} else {
		MUST(err.text[0]);
	}
	err.text[0] = 0;
	if (sfs_webhdfs_page_read(text, n, &page, &err) < 0) {
		MUST(err.text[0] && page.n == 0 && !page.items);
		return;
	}
	for (i = 0; i < page.n; i++) {
		MUST(page.items[i].name && !strchr(page.items[i].name, '/'));
		MUST(page.items[i].length <= UINT64_MAX >> 1);
		MUST(!page.items[i].is_file || !page.items[i].is_folder);
	}
	MUST(page.n_left == 0 || page.n > 0);
	sfs_webhdfs_page_done(&page);
}

static void check_refusal(const char *text, size_t n)
{
	static const int statuses[] = {400, 401, 403, 404, 500};
	const struct sfs_webhdfs_asked asked = {.path = "p", .user = "u"};
	struct sfs_webhdfs_refusal r;
	char why[768];
	const char *s;
	size_t i;

	for (i = 0; i < SFS_COUNT(statuses); i++) {
		sfs_webhdfs_refusal_read(statuses[i], text, n, &r);
		MUST(sfs_webhdfs_refusal_err(&r) < 0);
		MUST(!strchr(r.message, '?') && !strchr(r.exception, '?'));
		sfs_webhdfs_refusal_describe(&r, &asked, why, sizeof why);
		for (s = why; *s; s++)
			MUST(isprint((unsigned char)*s));
	}
}

static void check_url(const char *text)
{
	char *url = sfs_strdup(text), *again;
	size_t n = strcspn(text, "?");

	sfs_webhdfs_drop_range(url);
	MUST(strncmp(url, text, n) == 0 && strlen(url) <= strlen(text));
	again = sfs_strdup(url);
	sfs_webhdfs_drop_range(again);
	MUST(strcmp(again, url) == 0);
	MUST(!sfs_webhdfs_url_is_own(url));
	free(again);
	free(url);
}

static void check_token(const char *text, size_t n)
{
	char *token = NULL;
	const char *s;

	if (!sfs_webhdfs_token_read(text, n, &token))
		MUST(!token);
	for (s = token; s && *s; s++)
		MUST(isalnum((unsigned char)*s) || *s == '-' || *s == '_');
	free(token);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_data)
{
	char *text = fuzz_string(data, n_data);

	check_page(text, strlen(text));
	check_refusal(text, strlen(text));
	check_url(text);
	check_token((const char *)data, n_data);
	free(text);
	return 0;
}
