/* SPDX-License-Identifier: MIT */
/* What the Hugging Face Hub writes, and a URL that names a dataset: a page has keys below
 * the dataset and sizes that fit; the query of the next page breaks no request line; a
 * tag can be sent; a refusal is one line that can be printed. */
#include "fuzz.h"

#include "source/hf/hf-name.h"
#include "source/hf/hf-page.h"
#include "source/hf/hf-refusal.h"

#include <ctype.h>
#include <errno.h>

static void check_page(const char *text, size_t n)
{
	struct sfs_listing page = {0};
	struct sfs_error err = {0};
	size_t i;

	if (sfs_hf_page_read(text, n, "o/n/", &page, &err) < 0) {
		MUST(err.text[0] && page.n == 0 && !page.items);
		return;
	}
	for (i = 0; i < page.n; i++) {
		MUST(strncmp(page.items[i].key, "o/n/", 4) == 0 && page.items[i].key[4]);
		MUST(page.items[i].size <= UINT64_MAX >> 1);
		MUST(!page.items[i].tag || sfs_http_etag_can_be_sent(page.items[i].tag));
	}
	MUST(!page.next);
	sfs_listing_done(&page);
}

static void check_head(const char *text)
{
	char *next = sfs_hf_page_next(text);
	const char *s;

	for (s = next; s && *s; s++)
		MUST(*s > ' ' && *s < 0x7f && *s != '#');
	MUST(!next || *next);
	free(next);
}

static void check_commit(const char *text, size_t n)
{
	char *commit = sfs_hf_commit_read(text, n);

	MUST(!commit || sfs_hf_is_commit(commit));
	free(commit);
}

static void check_tag(const char *text)
{
	char tag[SFS_HF_TAG_BYTES];

	sfs_hf_tag(text, tag);
	MUST(!tag[0] || sfs_http_etag_can_be_sent(tag));
}

static void check_refusal(const char *text, size_t n)
{
	const struct sfs_hf_asked asked = {.repo = "o/n",
					   .revision = "r",
					   .endpoint = "e",
					   .path = "p"};
	struct sfs_http_headers headers = {.status = 400 + (int)(n % 105)};
	struct sfs_hf_refusal refusal;
	char why[768];
	const char *s;

	snprintf(headers.error_code, sizeof headers.error_code, "%.*s", (int)(n % 39),
		 text);
	sfs_hf_refusal_read(&headers, text, n, &refusal);
	sfs_hf_refusal_describe(&refusal, &asked, why, sizeof why);
	for (s = why; *s; s++)
		MUST(isprint((unsigned char)*s));
	MUST(sfs_hf_refusal_err(&refusal) < 0);
}

static void check_name(const char *text)
{
	struct sfs_strbuf url = {0};
	struct sfs_error err = {0};
	struct sfs_hf_name name;

	sfs_strbuf_printf(&url, "hf://datasets/%s", text);
	if (sfs_hf_name_parse(url.s, &name, &err) < 0) {
		MUST(err.text[0]);
	} else {
		MUST(strchr(name.repo, '/') && name.revision[0]);
		MUST(name.root[strlen(name.root) - 1] == '/');
		MUST(strncmp(name.root, name.repo, strlen(name.repo)) == 0);
		MUST(name.path >= url.s && name.path <= url.s + url.n);
		sfs_hf_name_done(&name);
	}
	sfs_strbuf_done(&url);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_data)
{
	char *text = fuzz_string(data, n_data);

	check_page((const char *)data, n_data);
	check_head(text);
	check_commit((const char *)data, n_data);
	check_tag(text);
	check_refusal((const char *)data, n_data);
	check_name(text);
	free(text);
	return 0;
}
