/* SPDX-License-Identifier: MIT */
/* What a server of S3 writes, and a file of AWS's: a page of a listing has keys that are
 * strings, its sizes fit, and there is a next one only with a token; a refusal shows only
 * what can be printed, in one line, and a region that can be a part of a host's name. */
#include "fuzz.h"

#include "base/alloc.h"
#include "source/s3/aws-profile.h"
#include "source/s3/s3-page.h"
#include "source/s3/s3-refusal.h"
#include "base/xml.h"

#include <ctype.h>
#include <errno.h>

static void check_xml(const char *text, size_t n)
{
	enum sfs_xml_token token;
	struct sfs_xml xml;
	int depth = 0;

	sfs_xml_init(&xml, text, n);
	while ((token = sfs_xml_next(&xml)) > SFS_XML_END) {
		depth += token == SFS_XML_OPEN;
		MUST(depth == xml.depth && depth > 0 && depth <= SFS_XML_DEPTH);
		MUST(strlen(xml.text.s) == xml.text.n);
		depth -= token == SFS_XML_CLOSE;
	}
	MUST((token == SFS_XML_BAD) == (xml.error.text[0] != 0));
	MUST(token == SFS_XML_BAD || depth == 0);
	MUST(sfs_xml_next(&xml) == token);
	sfs_xml_done(&xml);
}

static void check_page(const char *text, size_t n)
{
	struct sfs_listing page = {0};
	struct sfs_error err = {0};
	size_t i;

	if (sfs_s3_page_read(text, n, n % 2, &page, &err) < 0) {
		MUST(err.text[0] && page.n == 0 && !page.items);
		return;
	}
	for (i = 0; i < page.n; i++) {
		MUST(page.items[i].key && page.items[i].size <= UINT64_MAX >> 1);
		MUST(!page.items[i].tag || page.items[i].tag[0]);
	}
	MUST(!page.next || page.next[0]);
	sfs_listing_done(&page);
}

static void check_refusal(const char *text, size_t n)
{
	const struct sfs_s3_asked asked = {.words = &sfs_s3_words_aws, .bucket = "b", .url = "u", .region = "r"};
	const struct sfs_http_headers headers = {.status = 400};
	struct sfs_s3_refusal refusal;
	char why[768];
	const char *s;

	sfs_s3_refusal_read(&headers, text, n, &refusal);
	sfs_s3_refusal_describe(&refusal, &asked, why, sizeof why);
	for (s = why; *s; s++)
		MUST(isprint((unsigned char)*s));
	for (s = refusal.region; *s; s++)
		MUST(isalnum((unsigned char)*s) || *s == '-');
	MUST(sfs_s3_refusal_err(&refusal) < 0);
}

static void check_profile(const char *text)
{
	static const char *const names[] = {"region", "aws_access_key_id", NULL};
	char *found;
	size_t i;

	for (i = 0; i < SFS_COUNT(names); i++) {
		found = sfs_aws_profile_find(text, i ? "default" : "profile a", names[i]);
		MUST(!found || !strchr(found, '\n'));
		free(found);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_data)
{
	char *text = fuzz_string(data, n_data);

	check_xml((const char *)data, n_data);
	check_page((const char *)data, n_data);
	check_refusal((const char *)data, n_data);
	check_profile(text);
	free(text);
	return 0;
}
