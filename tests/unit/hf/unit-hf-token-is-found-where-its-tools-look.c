/* SPDX-License-Identifier: MIT */
/* The Hub's token is in the environment or in the file of the Hub's tools; a file that is
 * missing or empty is no token, and one that comes later, or behind a link's new target,
 * is found.  What the options name counts more, and must be there. */
#include "base/alloc.h"
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

static struct sfs_http_options options = {.read_timeout_ms = 60000};

static struct sfs_hf_token *start(struct sfs_error *err)
{
	return sfs_hf_token_start(&options, err);
}

/* Returns the edition.  NULL: none. */
static unsigned has(struct sfs_hf_token *token, const char *wanted)
{
	unsigned edition;
	sfs_autofree char *value = sfs_hf_token_get(token, &edition);

	if (wanted)
		CHECK_STR(value, wanted);
	else
		CHECK(!value && edition == 0 && !sfs_hf_token_from(token));
	return edition;
}

static void token_is(const char *wanted)
{
	struct sfs_error err = {0};
	struct sfs_hf_token *token = start(&err);

	CHECK(token);
	has(token, wanted);
	sfs_hf_token_stop(token);
}

static bool renews(struct sfs_hf_token *token, unsigned edition)
{
	return sfs_hf_token_renew(token, edition, 0, false) == SFS_RENEWAL_NOW;
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
	struct sfs_hf_token *token;
	unsigned first, second;

	points("HF_TOKEN_PATH", "link");
	token = start(&err);
	CHECK(token);
	first = has(token, NULL);
	CHECK_EQ(symlink("one", link), 0);
	CHECK(renews(token, first));
	first = has(token, "one");
	CHECK_HAS(sfs_hf_token_from(token), link);
	CHECK_EQ(symlink("two", next), 0);
	CHECK_EQ(rename(next, link), 0);
	CHECK(renews(token, first));
	second = has(token, "two");
	CHECK(second != first);
	sfs_hf_token_stop(token);
	CHECK_EQ(unlink(link), 0);
	unsetenv("HF_TOKEN_PATH");
}

static void by_options(void)
{
	sfs_autofree char *one = at("one"), *none = at("none"), *json = at("json");
	struct sfs_error err = {0};
	struct sfs_hf_token *token;

	put("json", "{\"access_token\": \"of-json\", \"expires_in\": 3599}");
	options.bearer_file = one;
	token_is("one");
	options.bearer_file = json;
	token_is("of-json");
	options.bearer_file = none;
	CHECK(!start(&err));
	CHECK_HAS(err.text, none);
	options.bearer_command = "echo of-command";
	token = start(&err);
	CHECK(token);
	has(token, "of-command");
	CHECK_STR(sfs_hf_token_from(token), "bearer-token-command");
	sfs_hf_token_stop(token);
	options.bearer_command = "echo SECRET 1";
	CHECK(!start(&err));
	CHECK(!strstr(err.text, "SECRET"));
	options.bearer_command = options.bearer_file = NULL;
	CHECK_EQ(unlink(json), 0);
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
	CHECK(!start(&err));
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
	by_options();
	setenv("HF_HUB_DISABLE_IMPLICIT_TOKEN", "YES", 1);
	token_is(NULL);
	by_options();
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
