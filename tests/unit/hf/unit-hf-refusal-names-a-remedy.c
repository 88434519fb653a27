/* SPDX-License-Identifier: MIT */
/* A refusal of the Hub becomes a sentence with what to do, by its code, its status and
 * whether a token was sent; what the server says is shown without queries. */
#include "check.h"
#include "source/hf/hf-refusal.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

static const char *said(int status, const char *code, const char *body, const char *from,
			const char *path, bool is_folder)
{
	const struct sfs_hf_asked asked = {.repo = "o/n",
					   .revision = "main",
					   .endpoint = "https://hub",
					   .path = path,
					   .is_folder = is_folder,
					   .token_from = from};
	struct sfs_http_headers headers = {.status = status};
	struct sfs_hf_refusal refusal;
	static char why[768];

	snprintf(headers.error_code, sizeof headers.error_code, "%s", code);
	sfs_hf_refusal_read(&headers, body, strlen(body), &refusal);
	sfs_hf_refusal_describe(&refusal, &asked, why, sizeof why);
	return why;
}

int main(void)
{
	const struct sfs_hf_refusal denied = {.status = 403}, missing = {.status = 404},
				    other = {.status = 500};

	CHECK_HAS(said(401, "GatedRepo", "", NULL, NULL, false),
		  "HTTP 401 GatedRepo: the dataset 'o/n' is gated: accept its terms at "
		  "https://hub/datasets/o/n, and use a token");
	CHECK_HAS(said(403, "GatedRepo", "", "HF_TOKEN", "x.tar", false),
		  "the token from HF_TOKEN may not read it: accept its terms");
	CHECK_HAS(said(401, "RepoNotFound", "", NULL, NULL, false),
		  "or it is private and needs a token");
	CHECK_HAS(said(401, "", "{\"error\":\"Repository not found\"}", NULL, NULL,
		       false),
		  "or it is private and needs a token");
	CHECK_HAS(said(404, "RepoNotFound", "", "HF_TOKEN", NULL, false),
		  "the token from HF_TOKEN may not read it: check the name");
	CHECK_HAS(
		said(401, "", "", "HF_TOKEN", NULL, false),
		"the token from HF_TOKEN is not valid, or has expired: make a new one at "
		"https://hub/settings/tokens");
	CHECK_HAS(said(403, "", "", "HF_TOKEN", NULL, false), "give it that permission");
	CHECK_HAS(said(403, "", "{\"error\":\"Access to this resource is disabled.\"}",
		       "HF_TOKEN", NULL, false),
		  "the Hub has disabled the dataset 'o/n'");
	CHECK_HAS(said(404, "RevisionNotFound", "", NULL, NULL, false),
		  "has no revision 'main'");
	CHECK_HAS(said(404, "RevisionNotFound", "", NULL, "a/x.tar", false),
		  "has gone from the dataset 'o/n': mount it anew");
	CHECK_HAS(said(404, "EntryNotFound", "", NULL, "a/b", true),
		  "has no folder 'a/b' at the revision 'main'");
	CHECK_HAS(said(404, "EntryNotFound", "", NULL, "a/b", false), "put a '/' at its end");
	CHECK(!strstr(said(404, "EntryNotFound", "", NULL, "a/b.tar", false),
		      "put a '/'"));
	CHECK_HAS(said(404, "", "", NULL, NULL, false), "HF_ENDPOINT");
	CHECK_HAS(said(429, "", "{\"error\":\"slow down\"}", NULL, NULL, false),
		  "with a token more are allowed");
	CHECK_STR(said(429, "", "{\"error\":\"slow down\"}", "HF_TOKEN", NULL, false),
		  "HTTP 429: slow down");
	CHECK_STR(said(500, "", "{\"error\":\"x\\n?Signature=SECRET\"}", NULL, NULL,
		       false),
		  "HTTP 500: x.");
	CHECK_STR(said(502, "", "<html>", NULL, NULL, false), "HTTP 502");

	CHECK_EQ(sfs_hf_refusal_err(&denied), -EACCES);
	CHECK_EQ(sfs_hf_refusal_err(&missing), -ENOENT);
	CHECK_EQ(sfs_hf_refusal_err(&other), -EIO);
	return 0;
}
