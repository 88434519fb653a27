/* SPDX-License-Identifier: MIT */
#include "source/http/keys.h"

#include "base/alloc.h"
#include "source/http/curl-call.h"

#include <errno.h>

struct sfs_keys {
	struct sfs_keys_options options;
	char *what;
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
	ret = k->options.find(k->options.ctx, k->caller, is_stopped, &found, err);
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
	k->what = sfs_asprintf("%s: no new credentials", o->name);
	k->ops = (struct sfs_renewer_ops){
		.what = k->what,
		.find = find,
		.is_same = is_same,
		.copy = copy,
		.free = free_value,
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
