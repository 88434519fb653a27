/* SPDX-License-Identifier: MIT */
/* What a server of Azure's writes, and a service that gives tokens: a page of a listing
 * has names that are strings, and its sizes fit; a refusal shows only what can be
 * printed, in one line; a token can be a part of a header line. */
#include "fuzz.h"

#include "base/alloc.h"
#include "base/base64.h"
#include "source/azure/azure-account.h"
#include "source/azure/azure-page.h"
#include "source/azure/azure-refusal.h"
#include "source/http/credentials.h"

#include <ctype.h>
#include <errno.h>

static void check_page(const char *text, size_t n)
{
	struct sfs_listing page = {0};
	struct sfs_error err = {0};
	size_t i;

	if (sfs_azure_page_read(text, n, &page, &err) < 0) {
		MUST(err.text[0] && page.n == 0 && !page.items);
		return;
	}
	for (i = 0; i < page.n; i++) {
		MUST(page.items[i].key[0] && page.items[i].size <= UINT64_MAX >> 1);
		MUST(!page.items[i].tag || page.items[i].tag[0]);
	}
	MUST(!page.next || page.next[0]);
	sfs_listing_done(&page);
}

static void check_refusal(const char *text, size_t n)
{
	const struct sfs_azure_asked asked = {
		.container = "c", .url = "u", .account = "a", .by = n % 4, .from = "f"};
	const struct sfs_http_headers headers = {.status = 403};
	struct sfs_azure_refusal refusal;
	char why[768];
	const char *s;

	sfs_azure_refusal_read(&headers, text, n, &refusal);
	sfs_azure_refusal_describe(&refusal, &asked, why, sizeof why);
	for (s = why; *s; s++)
		MUST(isprint((unsigned char)*s));
	MUST(sfs_azure_refusal_err(&refusal) < 0);
}

static void check_grant(const char *text)
{
	struct sfs_credentials c = {0};
	struct sfs_error err = {0};

	if (sfs_credentials_read_grant(text, "f", 1000, &c, &err) == 0)
		MUST(c.token[0] && sfs_credentials_is_clean(c.token) &&
		     (c.expires_s == 0 || c.expires_s > 1000));
	else
		MUST(!c.token && err.text[0]);
	sfs_credentials_done(&c);
}

static void check_base64(const char *text)
{
	unsigned char bytes[64];
	ssize_t n = sfs_base64_decode(text, bytes, sizeof bytes);
	char *again;

	MUST(n == -EINVAL || (n >= 0 && (size_t)n <= sizeof bytes));
	if (n < 0)
		return;
	again = sfs_base64_encode(bytes, (size_t)n);
	MUST(strlen(again) == strlen(text));
	free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_data)
{
	char *text = fuzz_string(data, n_data), *value;

	check_page((const char *)data, n_data);
	check_refusal((const char *)data, n_data);
	check_grant(text);
	check_base64(text);
	value = sfs_azure_connection_get(text, "AccountKey");
	MUST(!value || !strchr(value, ';'));
	free(value);
	free(text);
	return 0;
}
