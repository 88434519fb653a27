/* SPDX-License-Identifier: MIT */
/* The Hub's token is in the environment or in the file of the Hub's tools; a file that is
 * missing or empty is no token, and one that comes later, or behind a link's new target,
 * is found. */
#include "base/alloc.h"
#include "base/reload.h"
#include "check.h"
#include "source/hf/hf-token.h"

#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/sfs-hf-token-XXXXXX";

static char *at(const char *name)
{
	return sfs_asprintf("%s/%s", folder, name);
}

static void put(const char *name, const char *text)
{
	sfs_autofree char *path = at(name);
	FILE *f = fopen(path, "w");

	CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

/* NULL: none. */
static void token_is(const char *wanted)
{
	struct sfs_error err = {0};
	struct sfs_bearer *token = sfs_hf_token_start(&err);
	unsigned edition;

	CHECK(token);
	if (wanted)
		CHECK_STR(sfs_bearer_get(token, &edition), wanted);
	else
		CHECK(!sfs_bearer_get(token, &edition) && edition == 0);
	sfs_bearer_stop(token);
}

/* The path of a file or folder of the test, as a variable. */
static void points(const char *variable, const char *name)
{
	sfs_autofree char *path = at(name);

	setenv(variable, path, 1);
}

static void later(void)
{
	sfs_autofree char *link = at("link"), *next = at("next");
	struct sfs_error err = {0};
	struct sfs_bearer *token;
	unsigned first, second;

	points("HF_TOKEN_PATH", "link");
	token = sfs_hf_token_start(&err);
	CHECK(token && !sfs_bearer_get(token, &first) && !sfs_bearer_from(token));
	CHECK_EQ(symlink("one", link), 0);
	CHECK(sfs_bearer_renew(token, first));
	CHECK_STR(sfs_bearer_get(token, &first), "one");
	CHECK_HAS(sfs_bearer_from(token), link);
	CHECK_EQ(symlink("two", next), 0);
	CHECK_EQ(rename(next, link), 0);
	CHECK(sfs_bearer_renew(token, first));
	CHECK_STR(sfs_bearer_get(token, &second), "two");
	CHECK(second != first);
	sfs_bearer_stop(token);
	CHECK_EQ(unlink(link), 0);
	unsetenv("HF_TOKEN_PATH");
}

int main(void)
{
	static const char *const made[] = {"one", "two", "token", "blank", "bad"};
	static const char *const variables[] = {
		"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_TOKEN_PATH",
		"HF_HOME",  "XDG_CACHE_HOME",	      "HF_HUB_DISABLE_IMPLICIT_TOKEN"};
	sfs_autofree char *cache = NULL, *hub = NULL, *inner = NULL;
	struct sfs_error err = {0};
	size_t i;

	CHECK(mkdtemp(folder));
	for (i = 0; i < SFS_COUNT(variables); i++)
		unsetenv(variables[i]);
	setenv("HOME", folder, 1);
	put("one", "one\n");
	put("two", "two");
	put("token", " of-home \r\n");
	put("blank", " \n");
	put("bad", "SECRET 1\n");

	token_is(NULL);
	cache = at(".cache");
	hub = at(".cache/huggingface");
	inner = at(".cache/huggingface/token");
	CHECK(mkdir(cache, 0700) == 0 && mkdir(hub, 0700) == 0);
	put(".cache/huggingface/token", "of-cache");
	token_is("of-cache");
	points("XDG_CACHE_HOME", "none");
	token_is(NULL);
	setenv("HF_HOME", "~/", 1);
	token_is("of-home");
	points("HF_TOKEN_PATH", "one");
	token_is("one");
	points("HF_TOKEN_PATH", "blank");
	token_is(NULL);
	points("HF_TOKEN_PATH", "none");
	token_is(NULL);
	points("HF_TOKEN_PATH", "bad");
	CHECK(!sfs_hf_token_start(&err));
	CHECK_HAS(err.text, "it holds no token");
	CHECK(!strstr(err.text, "SECRET"));
	setenv("HUGGING_FACE_HUB_TOKEN", "old", 1);
	token_is("old");
	setenv("HF_TOKEN", " new\n", 1);
	token_is("new");
	setenv("HF_TOKEN", "", 1);
	token_is("old");
	setenv("HF_HUB_DISABLE_IMPLICIT_TOKEN", "0", 1);
	token_is("old");
	setenv("HF_HUB_DISABLE_IMPLICIT_TOKEN", "YES", 1);
	token_is(NULL);
	unsetenv("HF_HUB_DISABLE_IMPLICIT_TOKEN");
	unsetenv("HF_TOKEN");
	unsetenv("HUGGING_FACE_HUB_TOKEN");
	later();

	CHECK(unlink(inner) == 0 && rmdir(hub) == 0 && rmdir(cache) == 0);
	for (i = 0; i < SFS_COUNT(made); i++) {
		sfs_autofree char *path = at(made[i]);

		CHECK_EQ(unlink(path), 0);
	}
	CHECK_EQ(rmdir(folder), 0);
	return 0;
}
