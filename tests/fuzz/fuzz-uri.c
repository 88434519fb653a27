/* SPDX-License-Identifier: MIT */
/* Paths and URLs.  A URL to ask for holds no user and no byte that breaks a request line;
 * a path that becomes names of files holds nothing that leads elsewhere; what people
 * see holds no password. */
#include "fuzz.h"

#include "base/alloc.h"
#include "source/uri.h"

#include <ctype.h>
#include <errno.h>
#include <strings.h>

static void check_url(const struct sfs_uri *uri)
{
	const char *rest = strstr(uri->location, "://"), *s;
	struct sfs_uri again = {0};

	MUST(rest && uri->origin);
	MUST(!memchr(rest + 3, '@', strcspn(rest + 3, "/?#")));
	MUST(!strchr(uri->location, '#'));
	for (s = uri->location; *s; s++)
		MUST(*s > ' ' && *s < 0x7f);
	for (s = uri->origin; *s; s++)
		MUST(!isupper((unsigned char)*s));
	MUST(sfs_uri_parse(uri->location, &again, NULL) == 0);
	MUST(strcmp(again.location, uri->location) == 0);
	MUST(strcmp(again.origin, uri->origin) == 0);
	MUST(!again.user);
	sfs_uri_done(&again);
}

/* A key is any text without control characters. */
static void check_key(const struct sfs_uri *uri)
{
	struct sfs_uri again = {0};
	const char *s;

	MUST(strstr(uri->location, "://") && uri->path[0] == '/');
	MUST(!uri->user || uri->scheme == SFS_SCHEME_WEBHDFS);
	MUST(strncmp(uri->location, uri->origin, strlen(uri->origin)) == 0);
	for (s = uri->location; *s; s++)
		MUST(!iscntrl((unsigned char)*s));
	MUST(sfs_uri_parse(uri->location, &again, NULL) == 0);
	MUST(strcmp(again.location, uri->location) == 0);
	sfs_uri_done(&again);
}

/* In a key a '?' is no query. */
static bool names_key(const char *text)
{
	static const char *const names[] = {"s3",	 "ais",      "hf",	"gs",   "gcs",     "az",
					     "abfs", "abfss", "webhdfs", "swebhdfs", "hdfs"};
	size_t i, n;

	for (i = 0; i < SFS_COUNT(names); i++) {
		n = strlen(names[i]);
		if (strncasecmp(text, names[i], n) == 0 &&
		    strncmp(text + n, "://", 3) == 0)
			return true;
	}
	return false;
}

static void check_redacted(const char *text)
{
	char *shown = sfs_uri_redact(text), *twice = sfs_uri_redact(shown);
	const char *rest = strstr(shown, "://"), *at;

	/* With braces, several URLs, perhaps: unit-uri-never-shows-a-password. */
	MUST(strpbrk(text, "{}") || strcmp(shown, twice) == 0);
	if (strpbrk(text, "{}") || names_key(text)) {
		;
	} else if (sfs_uri_has_scheme(text)) {
		at = memchr(rest + 3, '@', strcspn(rest + 3, "/?#"));
		MUST(!at || (at == rest + 6 && strncmp(rest + 3, "***@", 4) == 0));
		at = strchr(rest + 3, '?');
		MUST(!at || strcmp(at, "?***") == 0);
		MUST(!strchr(rest + 3, '#'));
	} else if (!strstr(text, "://")) {
		MUST(strcmp(shown, text) == 0);
	}
	free(shown);
	free(twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_data)
{
	char *text = fuzz_string(data, n_data);
	struct sfs_uri uri = {.location = text};
	struct sfs_error err = {0};
	const char *s;
	int ret = sfs_uri_parse(text, &uri, &err);

	if (ret == 0) {
		MUST(uri.location && uri.path);
		MUST((uri.scheme == SFS_SCHEME_FILE) == !uri.origin);
		for (s = uri.path; *s; s++)
			MUST(!iscntrl((unsigned char)*s) || uri.origin);
		if (sfs_scheme_has_keys(uri.scheme))
			check_key(&uri);
		else if (uri.origin)
			check_url(&uri);
		sfs_uri_done(&uri);
	} else {
		MUST(ret == -EINVAL && err.text[0]);
		MUST(uri.location == text && !uri.path && !uri.user && !uri.origin);
	}
	check_redacted(text);
	free(text);
	return 0;
}
