/* SPDX-License-Identifier: MIT */
#include "source/webhdfs/webhdfs-url.h"

#include "base/alloc.h"
#include "source/http/key-url.h"

#include <string.h>
#include <strings.h>

#define DEFAULT_PORT 9870 /* of a namenode's HTTP */

char *sfs_webhdfs_endpoint(const char *location)
{
	const char *host = strstr(location, "://") + 3;
	size_t n = strcspn(host, "/");
	const char *colon = memrchr(host, ':', n);

	if (n == 0)
		return NULL;
	if (strncasecmp(location, "hdfs:", 5) == 0)
		return sfs_asprintf("http://%.*s:%d",
				    (int)(colon ? colon - host : (ptrdiff_t)n), host,
				    DEFAULT_PORT);
	return sfs_asprintf("http%s://%.*s",
			    strncasecmp(location, "swebhdfs:", 9) == 0 ? "s" : "", (int)n,
			    host);
}

char *sfs_webhdfs_url(const char *endpoint, const char *path, const char *user,
		      const char *token)
{
	struct sfs_strbuf url = {0};

	sfs_strbuf_printf(&url, "%s/webhdfs/v1/", endpoint);
	sfs_key_encode(&url, path, true);
	sfs_strbuf_puts(&url, "?");
	if (token || user) {
		sfs_strbuf_puts(&url, token ? "delegation=" : "user.name=");
		sfs_key_encode(&url, token ? token : user, false);
		sfs_strbuf_puts(&url, "&");
	}
	return url.s;
}

bool sfs_webhdfs_url_is_own(const char *url)
{
	size_t n = strlen(url);

	return strchr(url, '?') && (url[n - 1] == '?' || url[n - 1] == '&');
}

void sfs_webhdfs_add_read(struct sfs_strbuf *to, const char *url, uint64_t offset,
			  uint64_t n_bytes)
{
	bool is_own = sfs_webhdfs_url_is_own(url);

	sfs_strbuf_printf(to, "%s%soffset=%llu&length=%llu", url,
			  is_own	     ? "op=OPEN&"
			  : strchr(url, '?') ? "&"
					     : "?",
			  (unsigned long long)offset, (unsigned long long)n_bytes);
}

static bool is_range(const char *parameter)
{
	return strncasecmp(parameter, "offset=", 7) == 0 ||
	       strncasecmp(parameter, "length=", 7) == 0;
}

void sfs_webhdfs_drop_range(char *url)
{
	char *query = strchr(url, '?'), *to = query, *from;
	size_t n;

	if (!query)
		return;
	for (from = query + 1; *from; from += n + (from[n] == '&')) {
		n = strcspn(from, "&");
		if (n == 0 || is_range(from))
			continue;
		*to = to == query ? '?' : '&';
		memmove(to + 1, from, n);
		to += n + 1;
	}
	while (to > query && (to[-1] == '?' || to[-1] == '&'))
		to--; /* else it would be taken for an own one */
	*to = 0;
}
