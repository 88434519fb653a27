/* SPDX-License-Identifier: MIT */
/* How this works: by libcurl's own parser, so that we and libcurl never read one URL in
 * two ways.  A secret must not go to a server that only we take for the same. */
#include "source/http/curl-url.h"

#include "base/alloc.h"

#include <curl/curl.h>
#include <string.h>
#include <strings.h>

/* One component of a URL; "" if it has none.  The caller frees it. */
static char *component(CURLU *u, CURLUPart part, unsigned flags)
{
	char *curls = NULL, *ours;

	if (curl_url_get(u, part, &curls, flags) != CURLUE_OK)
		return sfs_strdup("");
	ours = sfs_strdup(curls);
	curl_free(curls);
	return ours;
}

static CURLU *parse(const char *url)
{
	CURLU *u = curl_url();

	if (curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK)
		return u;
	curl_url_cleanup(u);
	return NULL;
}

bool sfs_url_same_origin(const char *a, const char *b)
{
	static const CURLUPart parts[] = {CURLUPART_SCHEME, CURLUPART_HOST,
					  CURLUPART_PORT};
	CURLU *ua = parse(a), *ub = parse(b);
	bool same = ua && ub;
	size_t i;

	for (i = 0; i < SFS_COUNT(parts) && same; i++) {
		sfs_autofree char *pa = component(ua, parts[i], CURLU_DEFAULT_PORT);
		sfs_autofree char *pb = component(ub, parts[i], CURLU_DEFAULT_PORT);

		same = strcasecmp(pa, pb) == 0;
	}
	curl_url_cleanup(ua);
	curl_url_cleanup(ub);
	return same;
}

char *sfs_url_host(const char *url)
{
	CURLU *u = parse(url);
	char *host = u ? component(u, CURLUPART_HOST, 0) : sfs_strdup("");

	curl_url_cleanup(u);
	return host;
}

bool sfs_url_is_downgrade(const char *from, const char *to)
{
	return strncasecmp(from, "https:", 6) == 0 && strncasecmp(to, "https:", 6) != 0;
}

char *sfs_url_resolve(const char *base, const char *location)
{
	CURLU *u = parse(base);
	char *url = NULL;

	if (u && curl_url_set(u, CURLUPART_URL, location, CURLU_URLENCODE) == CURLUE_OK) {
		sfs_autofree char *scheme = component(u, CURLUPART_SCHEME, 0);

		if (strcasecmp(scheme, "http") == 0 || strcasecmp(scheme, "https") == 0) {
			curl_url_set(u, CURLUPART_FRAGMENT, NULL, 0);
			curl_url_set(u, CURLUPART_USER, NULL, 0);
			curl_url_set(u, CURLUPART_PASSWORD, NULL, 0);
			url = component(u, CURLUPART_URL, 0);
		}
	}
	curl_url_cleanup(u);
	return url;
}
