/* SPDX-License-Identifier: MIT */
/* A path or URL is taken apart as uri.h says, and what is no URL is refused. */
#include "base/alloc.h"
#include "base/rng.h"
#include "check.h"
#include "source/uri.h"

#include <ctype.h>
#include <errno.h>

/* In memory of just its size, so that sanitizers see every read beyond its end. */
static int parse(const char *text, struct sfs_uri *uri, struct sfs_error *err)
{
	sfs_autofree char *exact = sfs_strdup(text);

	return sfs_uri_parse(exact, uri, err);
}

static void check_field(const char *text, const char *field, const char *got,
			const char *wanted)
{
	if ((!got && !wanted) || (got && wanted && strcmp(got, wanted) == 0))
		return;
	fprintf(stderr, "'%s': %s is '%s', not '%s'\n", text, field, got ? got : "(NULL)",
		wanted ? wanted : "(NULL)");
	exit(1);
}

static void good_ones(void)
{
	static const struct {
		const char *text;
		enum sfs_scheme scheme;
		const char *location, *user, *origin, *path;
	} cases[] = {
		/* Local paths stay as they are, whatever they look like. */
		{"a/b.tar", SFS_SCHEME_FILE, "a/b.tar", NULL, NULL, "a/b.tar"},
		{"/x y/%41?b#c.tar", SFS_SCHEME_FILE, "/x y/%41?b#c.tar", NULL, NULL,
		 "/x y/%41?b#c.tar"},
		{"../t\xc3\xbcr.tar", SFS_SCHEME_FILE, "../t\xc3\xbcr.tar", NULL, NULL,
		 "../t\xc3\xbcr.tar"},
		{"C:/x.tar", SFS_SCHEME_FILE, "C:/x.tar", NULL, NULL, "C:/x.tar"},
		{"dir/http://x", SFS_SCHEME_FILE, "dir/http://x", NULL, NULL,
		 "dir/http://x"},
		{"1http://x", SFS_SCHEME_FILE, "1http://x", NULL, NULL, "1http://x"},
		{"http:/x", SFS_SCHEME_FILE, "http:/x", NULL, NULL, "http:/x"},

		{"file:///a/b%20c.tar", SFS_SCHEME_FILE, "/a/b c.tar", NULL, NULL,
		 "/a/b c.tar"},
		{"FILE://LocalHost/a%2", SFS_SCHEME_FILE, "/a%2", NULL, NULL, "/a%2"},
		{"file:///a%zz%4", SFS_SCHEME_FILE, "/a%zz%4", NULL, NULL, "/a%zz%4"},

		{"http://host/a.tar", SFS_SCHEME_HTTP, "http://host/a.tar", NULL,
		 "http://host:80", "/a.tar"},
		{"HTTPS://Host.Example/A.tar", SFS_SCHEME_HTTPS,
		 "https://Host.Example/A.tar", NULL, "https://host.example:443",
		 "/A.tar"},
		{"http://host:8080", SFS_SCHEME_HTTP, "http://host:8080/", NULL,
		 "http://host:8080", ""},
		{"http://host?x=1", SFS_SCHEME_HTTP, "http://host/?x=1", NULL,
		 "http://host:80", ""},
		{"http://host#part", SFS_SCHEME_HTTP, "http://host/", NULL,
		 "http://host:80", ""},
		{"http://host:65535/a?b=c&d=%2F#e?f", SFS_SCHEME_HTTP,
		 "http://host:65535/a?b=c&d=%2F", NULL, "http://host:65535", "/a"},
		{"http://host/a#b?c", SFS_SCHEME_HTTP, "http://host/a", NULL,
		 "http://host:80", "/a"},

		/* IPv6 */
		{"http://[::1]/x", SFS_SCHEME_HTTP, "http://[::1]/x", NULL,
		 "http://[::1]:80", "/x"},
		{"https://[2001:DB8::1]:8443/x", SFS_SCHEME_HTTPS,
		 "https://[2001:DB8::1]:8443/x", NULL, "https://[2001:db8::1]:8443",
		 "/x"},
		{"http://u:p@[::1]:81/x", SFS_SCHEME_HTTP, "http://[::1]:81/x", "u:p",
		 "http://[::1]:81", "/x"},

		/* Users are kept apart. */
		{"http://me@host/x", SFS_SCHEME_HTTP, "http://host/x", "me",
		 "http://host:80", "/x"},
		{"http://m%65:p%40ss%2Fw@host:81/x", SFS_SCHEME_HTTP, "http://host:81/x",
		 "me:p@ss/w", "http://host:81", "/x"},
		{"http://a@b@host/x", SFS_SCHEME_HTTP, "http://host/x", "a@b",
		 "http://host:80", "/x"},
		{"http://host/x@y:z@w", SFS_SCHEME_HTTP, "http://host/x@y:z@w", NULL,
		 "http://host:80", "/x@y:z@w"},
		{"https://host/path@2x.tar", SFS_SCHEME_HTTPS, "https://host/path@2x.tar",
		 NULL, "https://host:443", "/path@2x.tar"},
		{"http://nas:8080/set@1.2/me@example.com/x.tar", SFS_SCHEME_HTTP,
		 "http://nas:8080/set@1.2/me@example.com/x.tar", NULL, "http://nas:8080",
		 "/set@1.2/me@example.com/x.tar"},
		{"http://nas:80/me@example.com/x.tar", SFS_SCHEME_HTTP,
		 "http://nas:80/me@example.com/x.tar", NULL, "http://nas:80",
		 "/me@example.com/x.tar"},

		/* What no URL may hold is encoded; what is encoded stays. */
		{"http://h/a b\t\xc3\xbc\"<>.tar?x= y#z", SFS_SCHEME_HTTP,
		 "http://h/a%20b%09%C3%BC%22%3C%3E.tar?x=%20y", NULL, "http://h:80",
		 "/a b\t\xc3\xbc\"<>.tar"},

		/* The path is decoded where that is harmless. */
		{"http://h/a%20b/t%C3%BCr.tar", SFS_SCHEME_HTTP,
		 "http://h/a%20b/t%C3%BCr.tar", NULL, "http://h:80",
		 "/a b/t\xc3\xbcr.tar"},
		{"http://h/%2e%2E%2e/x%2Etar", SFS_SCHEME_HTTP,
		 "http://h/%2e%2E%2e/x%2Etar", NULL, "http://h:80", "/.../x.tar"},
		{"http://h/%2541", SFS_SCHEME_HTTP, "http://h/%2541", NULL, "http://h:80",
		 "/%41"},
		{"http://h/a%20b%2Fc", SFS_SCHEME_HTTP, "http://h/a%20b%2Fc", NULL,
		 "http://h:80", "/a%20b%2Fc"},
		{"http://h/%20/%2e%2e/x", SFS_SCHEME_HTTP, "http://h/%20/%2e%2e/x", NULL,
		 "http://h:80", "/%20/%2e%2e/x"},
		{"http://h/%20/.%2e", SFS_SCHEME_HTTP, "http://h/%20/.%2e", NULL,
		 "http://h:80", "/%20/.%2e"},
		{"http://h/%2E/%20x", SFS_SCHEME_HTTP, "http://h/%2E/%20x", NULL,
		 "http://h:80", "/%2E/%20x"},
		{"http://h/a%00%20b", SFS_SCHEME_HTTP, "http://h/a%00%20b", NULL,
		 "http://h:80", "/a%00%20b"},
		{"http://h/a%0A%20b", SFS_SCHEME_HTTP, "http://h/a%0A%20b", NULL,
		 "http://h:80", "/a%0A%20b"},
		{"http://h/a%7f%20b", SFS_SCHEME_HTTP, "http://h/a%7f%20b", NULL,
		 "http://h:80", "/a%7f%20b"},
		{"http://h/%zz%4", SFS_SCHEME_HTTP, "http://h/%zz%4", NULL, "http://h:80",
		 "/%zz%4"},
	};
	struct sfs_error err = {0};
	struct sfs_uri uri;
	size_t i;

	for (i = 0; i < SFS_COUNT(cases); i++) {
		memset(&uri, 0x5a, sizeof uri);
		if (parse(cases[i].text, &uri, &err) != 0)
			check_field(cases[i].text, "the error", err.text, NULL);
		CHECK_EQ(uri.scheme, cases[i].scheme);
		check_field(cases[i].text, "location", uri.location, cases[i].location);
		check_field(cases[i].text, "user", uri.user, cases[i].user);
		check_field(cases[i].text, "origin", uri.origin, cases[i].origin);
		check_field(cases[i].text, "path", uri.path, cases[i].path);
		sfs_uri_done(&uri);
		sfs_uri_done(&uri);
	}
}

static void bad_ones(void)
{
	static const struct {
		const char *text, *words;
	} cases[] = {
		{"", "empty"},
		{"a\nb.tar", "control character"},
		{"a\x7f.tar", "control character"},
		{"rsync://bucket/a.tar", "'rsync://' is not understood"},
		{"ftp://host/a.tar", "'ftp://'"},
		{"httpss://host/a", "'httpss://'"},
		{"h+t.t-p://host/a", "'h+t.t-p://'"},
		{"file://host/a.tar", "another machine"},
		{"file://a.tar", "another machine"},
		{"file://localhost", "another machine"},
		{"file://localhostess/a", "another machine"},
		{"file:///a%00b", "NUL"},
		{"file:///a%0ab", "control character"},
		{"http://", "no host"},
		{"http:///a.tar", "no host"},
		{"http://?a", "no host"},
		{"http://:80/a.tar", "no host"},
		{"http://me@/a.tar", "no host"},
		{"http://host:0/a", "port"},
		{"http://host:65536/a", "port"},
		{"http://host:184467440737095516160080/a", "port"},
		{"http://host:8o/a", "port"},
		{"http://host:-80/a", "port"},
		{"http://[::1]:x/a", "port"},
		{"https://user:12/3@host/x.tar", "write a '/' in a password as %2F"},
		{"https://user:007/3/4@host/x.tar", "write a '/' in a password as %2F"},
		{"https://user:123456/7@host/x.tar", "write a '/' in a password as %2F"},
		{"https://user:/7@host/x.tar", "write a '/' in a password as %2F"},
	};
	struct sfs_uri uri = {.location = (char *)1, .path = (char *)2}, was = uri;
	struct sfs_error err;
	size_t i;

	for (i = 0; i < SFS_COUNT(cases); i++) {
		err.text[0] = 0;
		if (parse(cases[i].text, &uri, &err) != -EINVAL)
			check_field(cases[i].text, "the result", "good", "-EINVAL");
		CHECK_HAS(err.text, cases[i].words);
		CHECK(memcmp(&uri, &was, sizeof uri) == 0);
		CHECK_EQ(parse(cases[i].text, &uri, NULL), -EINVAL);
	}
}

static void schemes(void)
{
	CHECK(sfs_uri_has_scheme("http://x"));
	CHECK(sfs_uri_has_scheme("a+b-c.9://"));
	CHECK(!sfs_uri_has_scheme("://x"));
	CHECK(!sfs_uri_has_scheme(""));
	CHECK(!sfs_uri_has_scheme("9p://x"));
	CHECK(!sfs_uri_has_scheme("a/b://x"));
	CHECK(!sfs_uri_has_scheme("http:/"));
}

/* What may be sent to a server: a URL with nothing in it that would end a line or
 * a word of the request. */
static void check_sound(const char *text, const struct sfs_uri *uri)
{
	const char *p;

	for (p = uri->location; *p; p++)
		if ((unsigned char)*p <= ' ' || *p == 0x7f)
			check_field(text, "location", uri->location, "a URL");
	CHECK(strchr(uri->location, '#') == NULL);
	CHECK(strncmp(uri->location, "http", 4) == 0);
	CHECK(strncmp(uri->origin, "http", 4) == 0);
	for (p = uri->origin; *p; p++)
		CHECK(!isupper((unsigned char)*p) && !iscntrl((unsigned char)*p));
	CHECK(isdigit((unsigned char)p[-1]));
}

static void random_ones(void)
{
	static const char *const parts[] = {
		"http://", "https://", "file://",  "://", "host", "/",	 "/",
		".",	   "..",       ":",	   "80",  "@",	  "%2f", "%2E",
		"%00",	   "%",	       "[",	   "]",	  "::1",  "?",	 "#",
		" ",	   "\n",       "\xc3\xbc", "~",	  "\"",	  "a",
	};
	struct sfs_rng r = {1};
	struct sfs_error err;
	struct sfs_uri uri;
	char text[200];
	int round, n_good = 0;
	size_t k;

	for (round = 0; round < 100000; round++) {
		strcpy(text, parts[sfs_rng_below(&r, 3)]);
		for (k = sfs_rng_below(&r, 12); k > 0; k--)
			strcat(text, parts[sfs_rng_below(&r, SFS_COUNT(parts))]);
		err.text[0] = 0;
		if (parse(text, &uri, &err) < 0) {
			CHECK(err.text[0]);
			continue;
		}
		n_good++;
		if (uri.scheme != SFS_SCHEME_FILE)
			check_sound(text, &uri);
		else
			CHECK(uri.location[0] == '/' && !uri.origin && !uri.user);
		sfs_uri_done(&uri);
	}
	CHECK(n_good > 1000);
}

int main(void)
{
	good_ones();
	bad_ones();
	schemes();
	random_ones();
	return 0;
}
