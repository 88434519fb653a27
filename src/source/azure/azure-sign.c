/* SPDX-License-Identifier: MIT */
/* How this works: the request is written as a canonical text, whose HMAC is the
 * signature.  Of a GET without a body most of the headers in that text are empty. */
#include "source/azure/azure-sign.h"

#include "base/alloc.h"
#include "base/base64.h"
#include "base/crypto.h"
#include "base/strbuf.h"

#include <ctype.h>
#include <string.h>
#include <time.h>

#define MOST_KEY 256 /* bytes; they have 64 */

static int hex_value(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

static void add_decoded(struct sfs_strbuf *text, const char *s, size_t n)
{
	size_t i;
	char c;

	for (i = 0; i < n; i++) {
		c = s[i];
		if (c == '%' && i + 2 < n && isxdigit((unsigned char)s[i + 1]) &&
		    isxdigit((unsigned char)s[i + 2])) {
			c = (char)(hex_value(s[i + 1]) * 16 + hex_value(s[i + 2]));
			i += 2;
		}
		sfs_strbuf_add(text, &c, 1);
	}
}

/* A line for each parameter, with its value decoded. */
static void add_query(struct sfs_strbuf *text, const char *query)
{
	size_t n, n_name;

	for (; *query; query += n + (query[n] == '&')) {
		n = strcspn(query, "&");
		n_name = strcspn(query, "=&");
		sfs_strbuf_printf(text, "\n%.*s:", (int)n_name, query);
		if (n > n_name)
			add_decoded(text, query + n_name + 1, n - n_name - 1);
	}
}

static char *canonical_text(const struct sfs_azure_request *r)
{
	struct sfs_strbuf text = {0};

	/* The method; Content-Encoding, -Language, -Length, -MD5, -Type, Date,
	 * If-Modified-Since; If-Match; If-None-Match, If-Unmodified-Since; Range. */
	sfs_strbuf_printf(&text, "GET\n\n\n\n\n\n\n\n%s\n\n\n%s\n",
			  r->if_match ? r->if_match : "", r->range ? r->range : "");
	sfs_strbuf_printf(&text, "x-ms-date:%s\nx-ms-version:%s\n", r->date, r->version);
	sfs_strbuf_printf(&text, "/%s%s", r->account, r->path);
	add_query(&text, r->query);
	return text.s;
}

char *sfs_azure_sign(const struct sfs_azure_request *r, const char *key)
{
	unsigned char bytes[MOST_KEY], hash[SFS_SHA256_BYTES];
	sfs_autofree char *text = NULL, *signature = NULL;
	ssize_t n = sfs_base64_decode(key, bytes, sizeof bytes);

	if (n <= 0)
		return NULL;
	text = canonical_text(r);
	sfs_hmac_sha256(bytes, (size_t)n, text, strlen(text), hash);
	explicit_bzero(bytes, sizeof bytes);
	signature = sfs_base64_encode(hash, sizeof hash);
	return sfs_asprintf("SharedKey %s:%s", r->account, signature);
}

const char *sfs_azure_time(int64_t s, char buf[32])
{
	time_t t = (time_t)s;
	struct tm tm;

	if (!gmtime_r(&t, &tm) ||
	    strftime(buf, 32, "%a, %d %b %Y %H:%M:%S GMT", &tm) == 0)
		memcpy(buf, "Thu, 01 Jan 1970 00:00:00 GMT", 30);
	return buf;
}
