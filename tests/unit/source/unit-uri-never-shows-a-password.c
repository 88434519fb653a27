/* SPDX-License-Identifier: MIT */
/* Neither what people may read of a URL nor any error sentence has its password or
 * its query. */
#include "base/alloc.h"
#include "check.h"
#include "source/uri.h"

#include <errno.h>

static void redacted(const char *text, const char *wanted)
{
	sfs_autofree char *got = sfs_uri_redact(text);

	CHECK_STR(got, wanted);
}

static void known(void)
{
	redacted("", "");
	redacted("a/b?c#d@e:f.tar", "a/b?c#d@e:f.tar");
	redacted("http://host/a.tar", "http://host/a.tar");
	redacted("http://user:SECRET@host:81/a.tar", "http://***@host:81/a.tar");
	redacted("http://us@er:SECRET@host/a@b", "http://***@host/a@b");
	redacted("https://SECRET@host", "https://***@host");
	redacted("https://user:12/SECRET@host/x.tar", "https://***@host/x.tar");
	redacted("https://user:12/SEC/RET@host/x.tar", "https://***@host/x.tar");
	redacted("https://user:99999/SECRET@host/x.tar", "https://***@host/x.tar");
	redacted("https://user:/SECRET@host/x.tar", "https://***@host/x.tar");
	redacted("https://user:1234/SECRET@host.com/x.tar", "https://***@host.com/x.tar");
	redacted("https://host:8080/set@1.2/a@b.tar",
		 "https://host:8080/set@1.2/a@b.tar");
	redacted("https://host/a?sig=SECRET", "https://host/a?***");
	redacted("https://host?sig=SECRET#x", "https://host?***");
	redacted("https://host/a#x", "https://host/a");
	redacted("https://host/a#x?y", "https://host/a");
	redacted("s3://key:SECRET@bucket/x-{0..9}.tar?token=SECRET",
		 "s3://***@bucket/x-{0..9}.tar?***");
	redacted("https://u:SECRET@[::1]:81/", "https://***@[::1]:81/");
	/* What no URL may have in a password, and people write there. */
	redacted("http://u:SEC/RET@host/x.tar", "http://***@host/x.tar");
	redacted("http://u:SEC?RET@host/x.tar?sig=SECRET", "http://***@host/x.tar?***");
	redacted("http://u:SEC#RET@host/x.tar", "http://***@host/x.tar");
	redacted("http://u:S/E@C/RET@host/x-{0..9}.tar", "http://***@host/x-{0..9}.tar");
	redacted("http://u:S{E,C}/RET@host/{a,b}", "http://***@host/{a,b}");
	redacted("http://u:S{E,C}RET@host/{a,b}", "http://***@host/{a,b}");
	redacted("http://{a,u:S@b}.org/{a,b}", "http://{a,***@b}.org/{a,b}");
	/* A port is none, and neither is an address. */
	redacted("http://host:8080/a@1.tar", "http://host:8080/a@1.tar");
	redacted("http://[::1]/a@1.tar", "http://[::1]/a@1.tar");
	redacted("http://host:{80,81}/a@1.tar", "http://host:{80,81}/a@1.tar");
	redacted("http://host:x/a.tar", "http://host:x/a.tar");
}

/* Specs have braces, and a brace may hold whole URLs. */
static void no_secret_in(const char *text)
{
	sfs_autofree char *got = sfs_uri_redact(text);

	if (strstr(got, "SECRET")) {
		fprintf(stderr, "'%s' is shown as '%s'\n", text, got);
		exit(1);
	}
}

static void in_braces(void)
{
	no_secret_in("{https://u:SECRET@a/x,https://v:SECRET@b/x}-{0..9}.tar");
	no_secret_in("https://{u:SECRET@a,v:SECRET@b}/x.tar");
	no_secret_in("https://{u:SECRET@a/x,v:SECRET@b/y}.tar");
	no_secret_in("{https://a/x?sig=SECRET,https://b/x?sig=SECRET}");
	no_secret_in("https://u:p{SECRET,SECRET}@host/x.tar");
	no_secret_in("https://u:{SE/CRET}SECRET@host/x.tar");
	no_secret_in("{https://u:p{SECRET}@a/x,https://v:{SECRET,b}@b/x}");
	no_secret_in("https://u:p{SECRET@host/x.tar");
	no_secret_in("http{s://u:SECRET@a,://v:SECRET@b}/x.tar");
}

static void in_sentences(void)
{
	static const char *const bad[] = {
		"http://u:SECRET@/a",	       "http://u:SECRET@host:0/a",
		"http://u:SECRET@host:x/a",    "http://u:SECRET@host:99999/a",
		"http://u:SECRET@:80/a",       "http://:0/a?sig=SECRET",
		"s3://u:SECRET@bucket/a",      "file://u:SECRET@host/a",
		"http://host:x/a?sig=SECRET",  "http://u:SECRET/SECRET@host/a",
		"http://u:SECRET?SECRET@host", "http://u:SECRET#SECRET@host/a",
		"https://u:SECRET/@host:/a",
	};
	struct sfs_error err;
	struct sfs_uri uri;
	size_t i;

	for (i = 0; i < SFS_COUNT(bad); i++) {
		err.text[0] = 0;
		CHECK_EQ(sfs_uri_parse(bad[i], &uri, &err), -EINVAL);
		CHECK(err.text[0]);
		if (strstr(err.text, "SECRET")) {
			fprintf(stderr, "'%s': the sentence is: %s\n", bad[i], err.text);
			exit(1);
		}
	}
}

int main(void)
{
	known();
	in_sentences();
	in_braces();
	return 0;
}
