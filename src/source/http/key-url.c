/* SPDX-License-Identifier: MIT */
#include "source/http/key-url.h"

#include "base/alloc.h"
#include "source/uri.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

char *sfs_endpoint_read(const char *text, struct sfs_error *err)
{
	sfs_autofree char *shown = sfs_uri_redact(text);
	struct sfs_uri uri = {0};
	char *endpoint;
	size_t n;

	if (!sfs_uri_has_scheme(text)) {
		sfs_error_set(err, -EINVAL,
			      "'%s' is not an endpoint; write http:// or https:// "
			      "before it",
			      shown);
		return NULL;
	}
	if (sfs_uri_parse(text, &uri, err) < 0)
		return NULL;
	if ((uri.scheme != SFS_SCHEME_HTTP && uri.scheme != SFS_SCHEME_HTTPS) ||
	    uri.user || strchr(uri.location, '?')) {
		sfs_uri_done(&uri);
		sfs_error_set(err, -EINVAL,
			      "'%s' is not an endpoint: it needs http:// or https://, "
			      "a host, and neither a user nor a query",
			      shown);
		return NULL;
	}
	for (n = strlen(uri.location); uri.location[n - 1] == '/';)
		uri.location[--n] = 0;
	endpoint = steal(&uri.location);
	sfs_uri_done(&uri);
	return endpoint;
}

void sfs_key_encode(struct sfs_strbuf *text, const char *s, bool keeps_slashes)
{
	static const char digits[] = "0123456789ABCDEF";
	char escape[3] = "%";

	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if ((c < 0x80 && isalnum(c)) || strchr("-._~", c) ||
		    (c == '/' && keeps_slashes)) {
			sfs_strbuf_add(text, s, 1);
			continue;
		}
		escape[1] = digits[c >> 4];
		escape[2] = digits[c & 15];
		sfs_strbuf_add(text, escape, 3);
	}
}

void sfs_key_add_parameter(struct sfs_strbuf *url, const char *name, const char *value)
{
	sfs_strbuf_printf(url, "%s%s=", strchr(url->s, '?') ? "&" : "?", name);
	sfs_key_encode(url, value, false);
}

char *sfs_key_split(const char *location, const char **ret_key)
{
	const char *bucket = strstr(location, "://") + 3;
	size_t n = strcspn(bucket, "/");

	*ret_key = bucket + n + (bucket[n] == '/');
	return sfs_strndup(bucket, n);
}
