/* SPDX-License-Identifier: MIT */
/* The token is in a file, as it is or as JSON, or in the environment.  A file that is
 * written anew is read again; one that is gone or half written changes nothing. */
#include "base/alloc.h"
#include "base/log.h"
#include "base/reload.h"
#include "check.h"
#include "source/ais/ais-token.h"

#include <unistd.h>

static char folder[] = "/tmp/sfs-ais-token-XXXXXX";
static char *path, *other;

static void put(const char *text)
{
	FILE *f = fopen(other, "w");

	CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
	CHECK_EQ(rename(other, path), 0);
}

static void reads(const char *text, const char *wanted)
{
	sfs_autofree char *copy = sfs_strdup(text),
			  *value = sfs_bearer_read(copy, sfs_ais_token_unwrap);

	if (wanted)
		CHECK_STR(value, wanted);
	else
		CHECK(!value);
}

static void refuses(const char *why)
{
	struct sfs_error err = {0};

	CHECK(!sfs_ais_token_start(&err));
	CHECK_HAS(err.text, why);
	CHECK(!strstr(err.text, "SECRET"));
}

int main(void)
{
	struct sfs_bearer *token;
	struct sfs_error err = {0};
	unsigned first, second;

	reads(" eyJ.a-b_c\n", "eyJ.a-b_c");
	reads("{\"x\": {}, \"token\": \"abc\"}\n", "abc");
	reads("{\"token\": \"abc\"", NULL);
	reads("{\"token\": \"a b\"}", NULL);
	reads("{\"x\": 1}", NULL);
	reads("a\r\nHost: x", NULL);
	reads(" \n", NULL);

	CHECK(mkdtemp(folder));
	path = sfs_asprintf("%s/token", folder);
	other = sfs_asprintf("%s/new", folder);
	unsetenv("AIS_AUTHN_TOKEN");
	setenv("HOME", folder, 1);
	unsetenv("AIS_AUTHN_TOKEN_FILE");
	token = sfs_ais_token_start(&err);
	CHECK(token && !sfs_bearer_get(token, &first));
	CHECK(!sfs_bearer_from(token) && !sfs_bearer_renew(token, first));
	sfs_bearer_stop(token);

	setenv("AIS_AUTHN_TOKEN_FILE", path, 1);
	refuses("No such file");
	put("SECRET 1");
	refuses("it holds no token");
	put(" \n");
	refuses("it is empty");
	put("one\n");
	token = sfs_ais_token_start(&err);
	CHECK_STR(sfs_bearer_get(token, &first), "one");
	CHECK_HAS(sfs_bearer_from(token), path);
	CHECK(!sfs_bearer_renew(token, first));
	put("{\"token\": \"two\"}");
	CHECK(sfs_bearer_renew(token, first));
	CHECK(sfs_bearer_renew(token, first)); /* another request, sent before */
	CHECK_STR(sfs_bearer_get(token, &second), "two");
	CHECK(second != first);
	put("three"); /* looked for within a second, or when that is requested */
	sfs_reload_request();
	CHECK_STR(sfs_bearer_get(token, &first), "three");
	put("two");
	sfs_reload_request();
	CHECK_STR(sfs_bearer_get(token, &second), "two");
	put("{\"token\": \"thr");
	CHECK(!sfs_bearer_renew(token, second));
	CHECK_EQ(unlink(path), 0);
	CHECK(!sfs_bearer_renew(token, second));
	CHECK_STR(sfs_bearer_get(token, &second), "two");
	sfs_bearer_stop(token);

	setenv("AIS_AUTHN_TOKEN", "env", 1);
	token = sfs_ais_token_start(&err);
	CHECK_STR(sfs_bearer_get(token, &first), "env");
	CHECK_STR(sfs_bearer_from(token), "AIS_AUTHN_TOKEN");
	sfs_bearer_stop(token);
	setenv("AIS_AUTHN_TOKEN", " padded\n", 1);
	token = sfs_ais_token_start(&err);
	CHECK_STR(sfs_bearer_get(token, &first), "padded");
	sfs_bearer_stop(token);
	setenv("AIS_AUTHN_TOKEN", "SECRET 1", 1);
	refuses("AIS_AUTHN_TOKEN holds a blank");
	free(path);
	free(other);
	CHECK_EQ(rmdir(folder), 0);
	return 0;
}
