/* SPDX-License-Identifier: MIT */
#include "source/http/keys.h"

#include "base/alloc.h"
#include "base/process.h"
#include "source/http/curl-call.h"
#include "source/http/token-json.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MOST_MS 60000 /* that a command may take */

struct sfs_keys {
	struct sfs_keys_options options;
	char *what, *folder; /* that of the start, which a daemon leaves */
	struct sfs_renewer_ops ops;
	struct sfs_renewer *renewer;
	struct sfs_curl_caller *caller; /* of whoever looks for credentials */
};

static bool is_same(const void *a, const void *b)
{
	return sfs_credentials_are_same(a, b);
}

static void *copy(const void *value)
{
	struct sfs_credentials *c = sfs_calloc(1, sizeof *c);

	*c = sfs_credentials_copy(value);
	return c;
}

static void free_value(void *value)
{
	sfs_credentials_done(value);
	free(value);
}

/* ---- the user's options ---- */

static int take_json(const char *text, const char *from, struct sfs_credentials *ret,
		     struct sfs_error *err)
{
	int code = sfs_token_json_read(text, strlen(text), (int64_t)time(NULL),
				       &ret->token, &ret->expires_s, err);

	if (code < 0)
		return sfs_error_wrap(err, code, "%s", from);
	ret->from = sfs_strdup(from);
	return 0;
}

/* It is between blanks, perhaps, or in JSON. */
static int take_token(char *text, const char *from, struct sfs_credentials *ret,
		      struct sfs_error *err)
{
	size_t n = strlen(text);

	if (sfs_token_json_is(text))
		return take_json(text, from, ret, err);
	while (n > 0 && isspace((unsigned char)text[n - 1]))
		text[--n] = 0;
	while (isspace((unsigned char)*text))
		text++;
	if (!*text || !sfs_credentials_is_clean(text))
		return sfs_error_set(err, -EINVAL,
				     "%s: no token is there, or not only one", from);
	ret->token = sfs_strdup(text);
	ret->from = sfs_strdup(from);
	return 0;
}

static int run_command(const struct sfs_keys *k, const atomic_bool *is_stopped,
		       struct sfs_credentials *ret, struct sfs_error *err)
{
	static const char from[] = "bearer-token-command";
	const struct sfs_http_options *o = k->options.http;
	uint64_t limit_ms = o->read_timeout_ms < MOST_MS ? o->read_timeout_ms : MOST_MS;
	struct sfs_strbuf text = {0};
	int code;

	code = sfs_process_run(o->bearer_command, k->folder, limit_ms, is_stopped, &text,
			       err);
	if (code < 0)
		sfs_error_wrap(err, code, "%s", from);
	sfs_strbuf_add(&text, "", 0);
	if (code == 0)
		code = take_token(text.s, from, ret, err);
	explicit_bzero(text.s, text.capacity);
	sfs_strbuf_done(&text);
	return code == -ENOENT ? -EIO : code;
}

static int read_file(const char *path, struct sfs_credentials *ret, struct sfs_error *err)
{
	sfs_autofree char *from = sfs_asprintf("the file '%s'", path);
	int code = 0;
	char *text = sfs_credentials_read_file(path, &code, err);

	if (!text)
		return sfs_error_wrap(err, code == -ENOENT ? -EINVAL : code,
				      "bearer-token-file");
	code = take_token(text, from, ret, err);
	explicit_bzero(text, strlen(text));
	free(text);
	return code;
}

/* ---- renewal ---- */

static int look(struct sfs_keys *k, const atomic_bool *is_stopped,
		struct sfs_credentials *ret, struct sfs_error *err)
{
	const struct sfs_http_options *o = k->options.http;

	if (k->options.takes_bearer && o->bearer_command)
		return run_command(k, is_stopped, ret, err);
	if (k->options.takes_bearer && o->bearer_file)
		return read_file(o->bearer_file, ret, err);
	return k->options.find(k->options.ctx, k->caller, is_stopped, ret, err);
}

static int find(void *ctx, const atomic_bool *is_stopped, void **ret_value,
		int64_t *ret_expires_s, struct sfs_error *err)
{
	struct sfs_credentials found = {0};
	struct sfs_keys *k = ctx;
	int ret;

	if (!k->caller)
		k->caller = sfs_curl_caller_new(k->options.http, is_stopped, err);
	if (!k->caller)
		return -EINVAL;
	ret = look(k, is_stopped, &found, err);
	if (ret < 0)
		return ret;
	*ret_expires_s = found.expires_s;
	*ret_value = copy(&found);
	sfs_credentials_done(&found);
	return 0;
}

struct sfs_keys *sfs_keys_start(const struct sfs_keys_options *o, struct sfs_error *err)
{
	struct sfs_keys *k = sfs_calloc(1, sizeof *k);

	k->options = *o;
	k->folder = getcwd(NULL, 0);
	k->what = sfs_asprintf("%s: no new credentials", o->name);
	k->ops = (struct sfs_renewer_ops){
		.what = k->what,
		.find = find,
		.is_same = is_same,
		.copy = copy,
		.free = free_value,
		.insists = o->takes_bearer && o->http->bearer_command,
	};
	k->renewer = sfs_renewer_start(&k->ops, k, err);
	if (k->renewer)
		return k;
	sfs_keys_stop(k);
	return NULL;
}

void sfs_keys_stop(struct sfs_keys *k)
{
	if (!k)
		return;
	sfs_renewer_stop(k->renewer);
	sfs_curl_caller_free(k->caller);
	free(k->what);
	free(k->folder);
	free(k);
}

unsigned sfs_keys_get(struct sfs_keys *k, struct sfs_credentials *ret)
{
	void *value;
	unsigned edition = sfs_renewer_get(k->renewer, &value);

	*ret = value ? *(struct sfs_credentials *)value : (struct sfs_credentials){0};
	free(value);
	return edition;
}

enum sfs_renewal sfs_keys_renew(struct sfs_keys *k, unsigned edition, uint64_t signed_ns,
				bool may_wait)
{
	return sfs_renewer_renew(k->renewer, edition, signed_ns, may_wait);
}
