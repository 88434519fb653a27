/* SPDX-License-Identifier: MIT */
#include "source/s3/aws-keys.h"

#include "base/alloc.h"

#include <errno.h>
#include <string.h>

struct sfs_aws_keys {
	const struct sfs_http_options *options;
	struct sfs_renewer *renewer;
	struct sfs_curl_caller *caller; /* of whoever looks for credentials */
};

static bool is_same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool is_same(const void *a, const void *b)
{
	const struct sfs_aws_credentials *x = a, *y = b;

	return is_same_text(x->key_id, y->key_id) && is_same_text(x->secret, y->secret) &&
	       is_same_text(x->token, y->token);
}

static void *copy(const void *value)
{
	struct sfs_aws_credentials *c = sfs_calloc(1, sizeof *c);

	*c = sfs_aws_credentials_copy(value);
	return c;
}

static void free_value(void *value)
{
	sfs_aws_credentials_done(value);
	free(value);
}

static int find(void *ctx, const atomic_bool *is_stopped, void **ret_value,
		int64_t *ret_expires_s, struct sfs_error *err)
{
	struct sfs_aws_credentials found = {0};
	struct sfs_aws_keys *k = ctx;
	int ret;

	if (!k->caller)
		k->caller = sfs_curl_caller_new(k->options, is_stopped, err);
	if (!k->caller)
		return -EINVAL;
	ret = sfs_aws_credentials_find(k->caller, is_stopped, &found, err);
	if (ret < 0)
		return ret;
	*ret_expires_s = found.expires_s;
	*ret_value = copy(&found);
	sfs_aws_credentials_done(&found);
	return 0;
}

struct sfs_aws_keys *sfs_aws_keys_start(const struct sfs_http_options *options,
					struct sfs_error *err)
{
	static const struct sfs_renewer_ops ops = {
		.what = "S3: no new credentials",
		.find = find,
		.is_same = is_same,
		.copy = copy,
		.free = free_value,
	};
	struct sfs_aws_keys *k = sfs_calloc(1, sizeof *k);

	k->options = options;
	k->renewer = sfs_renewer_start(&ops, k, err);
	if (k->renewer)
		return k;
	sfs_aws_keys_stop(k);
	return NULL;
}

void sfs_aws_keys_stop(struct sfs_aws_keys *k)
{
	if (!k)
		return;
	sfs_renewer_stop(k->renewer);
	sfs_curl_caller_free(k->caller);
	free(k);
}

unsigned sfs_aws_keys_get(struct sfs_aws_keys *k, struct sfs_aws_credentials *ret)
{
	void *value;
	unsigned edition = sfs_renewer_get(k->renewer, &value);

	*ret = value ? *(struct sfs_aws_credentials *)value
		     : (struct sfs_aws_credentials){0};
	free(value);
	return edition;
}

enum sfs_renewal sfs_aws_keys_renew(struct sfs_aws_keys *k, unsigned edition,
				    uint64_t signed_ns, bool may_wait)
{
	return sfs_renewer_renew(k->renewer, edition, signed_ns, may_wait);
}
