/* SPDX-License-Identifier: MIT */
#include "source/uri.h"

#include "base/alloc.h"
#include "base/strbuf.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

static const struct scheme {
	const char *name;
	enum sfs_scheme scheme;
	int port;
} schemes[] = {
	{"file", SFS_SCHEME_FILE, 0},	  {"http", SFS_SCHEME_HTTP, 80},
	{"https", SFS_SCHEME_HTTPS, 443}, {"s3", SFS_SCHEME_S3, 0},
	{"ais", SFS_SCHEME_AIS, 0},	  {"gs", SFS_SCHEME_GS, 0},
	{"gcs", SFS_SCHEME_GS, 0},	  {"az", SFS_SCHEME_AZ, 0},
	{"abfs", SFS_SCHEME_AZ, 0},	  {"abfss", SFS_SCHEME_AZ, 0},
	{"webhdfs", SFS_SCHEME_WEBHDFS, 9870},
	{"swebhdfs", SFS_SCHEME_WEBHDFS, 9871},
	{"hdfs", SFS_SCHEME_WEBHDFS, 8020},
	{"hf", SFS_SCHEME_HF, 0},
};

/* The scheme that these n bytes name; NULL: they name none. */
static const struct scheme *find_scheme(const char *text, size_t n)
{
	size_t i;

	for (i = 0; i < SFS_COUNT(schemes); i++)
		if (strlen(schemes[i].name) == n &&
		    strncasecmp(text, schemes[i].name, n) == 0)
			return &schemes[i];
	return NULL;
}

/* Of the names that a scheme has, the one that it goes by. */
static const char *name_of(enum sfs_scheme scheme)
{
	size_t i = 0;

	while (schemes[i].scheme != scheme)
		i++;
	return schemes[i].name;
}

void sfs_uri_done(struct sfs_uri *uri)
{
	free(uri->location);
	free(uri->user);
	free(uri->origin);
	free(uri->path);
	*uri = (struct sfs_uri){0};
}

/* Length of "scheme" if text is "scheme://...", else 0. */
static size_t scheme_length(const char *text)
{
	size_t n = 0;

	if (!isalpha((unsigned char)text[0]))
		return 0;
	while (isalnum((unsigned char)text[n]) || (text[n] && strchr("+-.", text[n])))
		n++;
	return strncmp(text + n, "://", 3) == 0 ? n : 0;
}

bool sfs_uri_has_scheme(const char *text)
{
	return scheme_length(text) > 0;
}

bool sfs_scheme_has_keys(enum sfs_scheme scheme)
{
	return scheme == SFS_SCHEME_S3 || scheme == SFS_SCHEME_AIS ||
	       scheme == SFS_SCHEME_GS || scheme == SFS_SCHEME_AZ ||
	       scheme == SFS_SCHEME_WEBHDFS || scheme == SFS_SCHEME_HF;
}

bool sfs_uri_is_pipe(const char *text)
{
	return strncmp(text, "pipe:", 5) == 0;
}

static int hex_value(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

/* Decode %XX; NULL if the result would hold a NUL. */
static char *percent_decode(const char *s, size_t n)
{
	char *out = sfs_malloc(n + 1), *p = out;
	size_t i;

	for (i = 0; i < n; i++) {
		if (s[i] == '%' && i + 2 < n && isxdigit((unsigned char)s[i + 1]) &&
		    isxdigit((unsigned char)s[i + 2])) {
			*p = (char)(hex_value(s[i + 1]) * 16 + hex_value(s[i + 2]));
			i += 2;
		} else {
			*p = s[i];
		}
		if (*p++ == 0) {
			free(out);
			return NULL;
		}
	}
	*p = 0;
	return out;
}

static size_t count_char(const char *s, size_t n, char c)
{
	size_t i, count = 0;

	for (i = 0; i < n; i++)
		count += s[i] == c;
	return count;
}

static bool has_control(const char *s)
{
	for (; *s; s++)
		if (iscntrl((unsigned char)*s))
			return true;
	return false;
}

static bool has_dot_component(const char *path)
{
	size_t n;

	for (; *path; path += n + (path[n] == '/')) {
		n = strcspn(path, "/");
		if ((n == 1 && path[0] == '.') ||
		    (n == 2 && path[0] == '.' && path[1] == '.'))
			return true;
	}
	return false;
}

static char *decode_path(const char *s, size_t n)
{
	char *decoded = percent_decode(s, n);

	if (decoded && !has_control(decoded) && !has_dot_component(decoded) &&
	    count_char(decoded, strlen(decoded), '/') == count_char(s, n, '/'))
		return decoded;
	free(decoded);
	return sfs_strndup(s, n);
}

/* The URL's bytes with those encoded that no URL may hold. */
static void add_encoded(struct sfs_strbuf *t, const char *s, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c <= ' ' || c >= 0x7f || strchr("\"<>\\^`{|}", c))
			sfs_strbuf_printf(t, "%%%02X", c);
		else
			sfs_strbuf_add(t, s + i, 1);
	}
}

static int parse_local(const char *path, struct sfs_uri *uri, struct sfs_error *err)
{
	if (*path == 0)
		return sfs_error_set(err, -EINVAL, "an empty path names no shard");
	if (has_control(path))
		return sfs_error_set(err, -EINVAL, "'%s' has a control character in it",
				     path);
	uri->location = sfs_strdup(path);
	uri->path = sfs_strdup(path);
	return 0;
}

static int parse_file_url(const char *shown, const char *rest, struct sfs_uri *uri,
			  struct sfs_error *err)
{
	sfs_autofree char *path = NULL;

	if (strncasecmp(rest, "localhost/", 10) == 0)
		rest += 9;
	if (*rest != '/')
		return sfs_error_set(err, -EINVAL,
				     "'%s' names a file of another machine; write "
				     "file:///folder/name.tar",
				     shown);
	path = percent_decode(rest, strlen(rest));
	if (!path)
		return sfs_error_set(err, -EINVAL, "'%s' has a NUL in it", shown);
	return parse_local(path, uri, err);
}

/* The port in [p, end); 0: none.  The digits may be the start of a password with a '/' in
 * it: then an '@' follows, and the number is mostly one that no web server listens on. */
static int parse_port(const char *p, const char *end)
{
	int port = 0;

	for (; p < end; p++) {
		if (!isdigit((unsigned char)*p) || port > 65535)
			return 0;
		port = port * 10 + (*p - '0');
	}
	if (port > 65535 || (port < 80 && strchr(end, '@')))
		return 0;
	return port;
}

/* Fill uri->origin from "host[:port]". */
static int set_origin(const char *shown, const char *host, size_t n,
		      const struct scheme *scheme, struct sfs_uri *uri,
		      struct sfs_error *err)
{
	const char *colon = memrchr(host, ':', n), *end = host + n, *p;
	int port = scheme->port;
	char *c;

	if (colon && memchr(colon, ']', (size_t)(end - colon)))
		colon = NULL; /* of an IPv6 address */
	if (colon) {
		port = parse_port(colon + 1, end);
		n = (size_t)(colon - host);
	}
	if (n == 0)
		return sfs_error_set(err, -EINVAL, "'%s' has no host", shown);
	if (port == 0)
		return sfs_error_set(err, -EINVAL, "'%s' has no valid port number%s",
				     shown,
				     strchr(end, '@')
					     ? "; write a '/' in a password as %2F, a "
					       "'?' as %3F and a '#' as %23"
					     : "");
	for (p = host; p < host + n; p++)
		if ((unsigned char)*p <= ' ' || (unsigned char)*p >= 0x7f ||
		    strchr("\"<>\\^`{|}", *p))
			return sfs_error_set(err, -EINVAL,
					     "'%s' has a character that no host name has",
					     shown);
	uri->origin = sfs_asprintf("%s://%.*s:%d", scheme->name, (int)n, host, port);
	for (c = uri->origin; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	return 0;
}

static int parse_http(const char *shown, const char *rest, const struct scheme *scheme,
		      struct sfs_uri *uri, struct sfs_error *err)
{
	size_t n_authority = strcspn(rest, "/?#"), n_path, n_all;
	const char *path = rest + n_authority;
	const char *at = memrchr(rest, '@', n_authority);
	const char *host = at ? at + 1 : rest;
	struct sfs_strbuf url = {0};
	int ret;

	ret = set_origin(shown, host, (size_t)(path - host), scheme, uri, err);
	if (ret < 0)
		return ret;
	n_path = strcspn(path, "?#");
	n_all = strcspn(path, "#");
	if (at)
		uri->user = percent_decode(rest, (size_t)(at - rest));
	sfs_strbuf_printf(&url, "%s://%.*s%s", scheme->name, (int)(path - host), host,
			  n_path == 0 ? "/" : "");
	add_encoded(&url, path, n_all);
	uri->location = url.s;
	uri->path = decode_path(path, n_path);
	return 0;
}

static int check_key(const char *shown, const char *key, struct sfs_error *err)
{
	if (!has_control(key) && !has_dot_component(key))
		return 0;
	return sfs_error_set(err, -EINVAL,
			     "'%s' has a control character in its key, or a "
			     "component '.' or '..'",
			     shown);
}

/* `bucket` is what comes before the key. */
static int set_key(const char *shown, enum sfs_scheme scheme, const char *bucket,
		   const char *key, struct sfs_uri *uri, struct sfs_error *err)
{
	if (check_key(shown, key, err) < 0)
		return -EINVAL;
	uri->origin = sfs_asprintf("%s://%s", name_of(scheme), bucket);
	uri->location = sfs_asprintf("%s/%s", uri->origin, key);
	uri->path = sfs_asprintf("/%s", key);
	return 0;
}

/* A key is any text: '?', '#' and '%' are a part of it. */
static int parse_key(const char *shown, const char *rest, const struct scheme *scheme,
		     struct sfs_uri *uri, struct sfs_error *err)
{
	size_t n = strcspn(rest, "/"), i;
	sfs_autofree char *bucket = sfs_strndup(rest, n);

	for (i = 0; i < n && (isalnum((unsigned char)rest[i]) || strchr("-._", rest[i]));)
		i++;
	if (n == 0 || i < n)
		return sfs_error_set(err, -EINVAL,
				     "'%s' has no name of a %s: write "
				     "%s://%s/folder/name.tar",
				     shown,
				     scheme->scheme == SFS_SCHEME_HF ? "dataset" : "bucket",
				     scheme->name,
				     scheme->scheme == SFS_SCHEME_HF
					     ? "datasets/OWNER/NAME"
					     : "bucket");
	return set_key(shown, scheme->scheme, bucket, rest + n + (rest[n] == '/'), uri,
		       err);
}

/* How far do characters of a container's name go? */
static size_t container_length(const char *s)
{
	return strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-$");
}

/* "account", or the host of its blobs or of its data lake, which has the same blobs: the
 * host of its blobs, with an '@' before it.  NULL: it is no name of a host. */
static char *blob_host(const char *s, size_t n)
{
	sfs_autofree char *host = sfs_strndup(s, n);
	char *p, *lake;

	for (p = host; *p; p++) {
		*p = (char)tolower((unsigned char)*p);
		if (!isalnum((unsigned char)*p) && !strchr("-.:", *p))
			return NULL;
	}
	if (n == 0)
		return NULL;
	lake = strstr(host, ".dfs.");
	if (!strchr(host, '.'))
		return sfs_asprintf("@%s.blob.core.windows.net", host);
	return lake ? sfs_asprintf("@%.*s.blob.%s", (int)(lake - host), host, lake + 5)
		    : sfs_asprintf("@%s", host);
}

/* "container/key", "container@host/key" as Hadoop and fsspec have it, or
 * "host/container/key" as in a URL of Azure's. */
static int parse_azure(const char *shown, const char *rest, const struct scheme *scheme,
		       struct sfs_uri *uri, struct sfs_error *err)
{
	size_t n = strcspn(rest, "/"), n_container;
	const char *at = memchr(rest, '@', n), *container = rest, *key = rest + n;
	sfs_autofree char *host = NULL, *bucket = NULL;

	if (at) {
		host = blob_host(at + 1, (size_t)(key - at - 1));
	} else if (memchr(rest, '.', n)) {
		host = blob_host(rest, n);
		container = key + (*key == '/');
		key = container + strcspn(container, "/");
	}
	n_container = container_length(container);
	if (n_container == 0 || container + n_container != (at ? at : key) ||
	    ((at || container != rest) && !host))
		return sfs_error_set(
			err, -EINVAL,
			"'%s' has no name of a container (lower-case letters, digits and "
			"dashes), or of an account: write az://container/folder/name.tar "
			"or az://container@account.blob.core.windows.net/...",
			shown);
	if (strstr(key, "?") && strstr(key, "sig="))
		return sfs_error_set(err, -EINVAL,
				     "'%s' has a SAS in it: put that into "
				     "AZURE_STORAGE_SAS_TOKEN, or into a file that "
				     "sas-file= names",
				     shown);
	bucket = sfs_asprintf("%.*s%s", (int)n_container, container, host ? host : "");
	return set_key(shown, scheme->scheme, bucket, key + (*key == '/'), uri, err);
}

/* "webhdfs://user@host:port/path", where a path is as a key.  There may be no host. */
static int parse_hdfs(const char *shown, const char *rest, const struct scheme *scheme,
		      struct sfs_uri *uri, struct sfs_error *err)
{
	size_t n = strcspn(rest, "/");
	const char *at = memrchr(rest, '@', n), *host = at ? at + 1 : rest,
		   *end = rest + n, *key = end + (*end == '/');
	int ret = check_key(shown, key, err);

	if (ret == 0 && end > host)
		ret = set_origin(shown, host, (size_t)(end - host), scheme, uri, err);
	if (ret < 0)
		return ret;
	if (!uri->origin)
		uri->origin = sfs_asprintf("%s://", scheme->name);
	uri->location = sfs_asprintf("%s/%s", uri->origin, key);
	uri->path = sfs_asprintf("/%s", key);
	uri->user = at ? percent_decode(rest, (size_t)(at - rest)) : NULL;
	return 0;
}

int sfs_uri_parse(const char *text, struct sfs_uri *ret_uri, struct sfs_error *err)
{
	sfs_autofree char *shown = sfs_uri_redact(text); /* for sentences */
	size_t n = scheme_length(text);
	const struct scheme *scheme = find_scheme(text, n);
	struct sfs_uri uri = {0};
	int ret;

	if (sfs_uri_is_pipe(text))
		return sfs_error_set(
			err, -EINVAL,
			"'pipe:' is refused: a command's output can only be "
			"read from its start, and shards are read in ranges; "
			"name the path or URL that the command reads");
	if (n == 0) {
		ret = parse_local(text, &uri, err);
	} else {
		if (!scheme)
			return sfs_error_set(
				err, -EINVAL,
				"'%.*s://' is not understood; sources are local "
				"paths, file://, http://, https://, s3://, ais://, gs://, "
				"az://, hf://, webhdfs://, swebhdfs:// and hdfs://",
				(int)n, text);
		uri.scheme = scheme->scheme;
		if (uri.scheme == SFS_SCHEME_FILE)
			ret = parse_file_url(shown, text + n + 3, &uri, err);
		else if (uri.scheme == SFS_SCHEME_AZ)
			ret = parse_azure(shown, text + n + 3, scheme, &uri, err);
		else if (uri.scheme == SFS_SCHEME_WEBHDFS)
			ret = parse_hdfs(shown, text + n + 3, scheme, &uri, err);
		else if (sfs_scheme_has_keys(uri.scheme))
			ret = parse_key(shown, text + n + 3, scheme, &uri, err);
		else
			ret = parse_http(shown, text + n + 3, scheme, &uri, err);
	}
	if (ret < 0)
		sfs_uri_done(&uri);
	else
		*ret_uri = uri;
	return ret;
}

/* How long is the part of an authority at p?  In braces, a comma ends it too. */
static size_t authority_length(const char *p, int depth)
{
	return strcspn(p, depth > 0 ? "/?#{}," : "/?#{}");
}

/* The last '@' of an authority, if no brace that it is in was opened before p: a password
 * may have braces itself.  NULL: there is none. */
static const char *plain_at(const char *p, bool is_in_braces)
{
	const char *at = NULL;
	int depth = 0;

	for (; *p && depth >= 0; p++) {
		if (depth == 0 && (strchr("/?#", *p) || (is_in_braces && *p == ',')))
			break;
		if (depth == 0 && *p == '@')
			at = p;
		depth += (*p == '{') - (*p == '}');
	}
	return at;
}

/* Does the first folder of a path look like the end of a password and a host, as in
 * "/3@host.com/"?  A folder may have such a name, too: this is enough to hide it, but not
 * to refuse it. */
static bool may_end_password(const char *path)
{
	size_t n = *path == '/' ? strcspn(path + 1, "/?#") + 1 : 0;
	const char *at = n > 0 && path[n] == '/' ? memrchr(path, '@', n) : NULL;

	return at && memchr(at, '.', (size_t)(path + n - at)) &&
	       isalpha((unsigned char)path[n - 1]);
}

/* Is [p, end) a port, as far as can be seen?  Braces may give it more digits. */
static bool is_port(const char *p, const char *end)
{
	if (*end && strchr("{},", *end))
		return strspn(p, "0123456789") >= (size_t)(end - p);
	return parse_port(p, end) > 0 && !may_end_password(end);
}

/* The '@' after a password with a '/', '?' or '#' that is not encoded: what follows the
 * authority's ':' is no port.  NULL: there is none. */
static const char *stray_at(const char *p, size_t n)
{
	const char *colon = memrchr(p, ':', n), *end = p + n;

	if (!colon || memchr(colon, ']', (size_t)(end - colon)))
		return NULL;
	if (is_port(colon + 1, end))
		return NULL;
	return strrchr(end, '@');
}

static int depth_of(const char *p, size_t n)
{
	return (int)count_char(p, n, '{') - (int)count_char(p, n, '}');
}

/* Are these n bytes the scheme of a store? */
static bool names_key(const char *text, size_t n)
{
	const struct scheme *scheme = find_scheme(text, n);

	return scheme && sfs_scheme_has_keys(scheme->scheme);
}

/* Is what comes before the '@' the container of an Azure URL, and so no password? */
static bool is_container(const char *text, const char *p, const char *at)
{
	const struct scheme *scheme = find_scheme(text, scheme_length(text));

	return scheme && scheme->scheme == SFS_SCHEME_AZ && p + container_length(p) == at;
}

char *sfs_uri_redact(const char *text)
{
	bool in_authority = false, is_url = false, has_query = false;
	struct sfs_strbuf out = {0};
	const char *p = text, *at;
	int depth = 0;
	size_t n;

	while (*p) {
		if (in_authority) {
			at = plain_at(p, depth > 0);
			if (!at)
				at = stray_at(p, authority_length(p, depth));
			if (at && !is_container(text, p, at)) {
				sfs_strbuf_puts(&out, "***@");
				depth += depth_of(p, (size_t)(at - p));
				p = at + 1;
			}
			n = authority_length(p, depth);
			sfs_strbuf_add(&out, p, n);
			p += n;
			/* "{http://a,http://b}": this was the next one's scheme. */
			if (n > 0 && p[-1] == ':' && strncmp(p, "//", 2) == 0) {
				sfs_strbuf_puts(&out, "//");
				has_query = true;
				p += 2;
				continue;
			}
			in_authority = *p && strchr("{},", *p);
		} else if (strncmp(p, "://", 3) == 0) {
			sfs_strbuf_puts(&out, "://");
			has_query |= !names_key(text, (size_t)(p - text));
			p += 3;
			in_authority = is_url = true;
			continue;
		}
		/* In a key a '?' is a wildcard; but somebody may take it for HTTP's. */
		if ((*p == '?' && (has_query || (is_url && strchr(p, '=')))) ||
		    (*p == '#' && has_query)) {
			sfs_strbuf_puts(&out, *p == '?' ? "?***" : "");
			p += depth > 0 ? strcspn(p, ",}") : strlen(p);
			continue;
		}
		depth += (*p == '{') - (*p == '}');
		/* "http://{u:p@a/x,v:q@b/y}": another authority, perhaps. */
		in_authority |= is_url && depth > 0 && *p == ',';
		if (*p)
			sfs_strbuf_add(&out, p++, 1);
	}
	return out.s ? out.s : sfs_strdup("");
}
