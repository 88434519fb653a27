/* SPDX-License-Identifier: MIT */
/* How this works: a request asks the size of the index, the next one reads its first
 * bytes, and a third one the rest that is wanted.  When the last one has ended, or any
 * has failed, the search returns to the finder's queue. */
#include "catalog/index-find-internal.h"

#include "base/alloc.h"

#include <errno.h>
#include <string.h>

#define FIRST_BYTES ((uint64_t)64 << 10) /* of an index; mostly that is all */

static void on_read(struct sfs_request *request, int err)
{
	sfs_index_search_resume(sfs_container(request, struct sfs_index_search, request),
				err);
}

/* Read the wanted bytes from `from` on. */
static void read_remote(struct sfs_index_search *f, uint64_t from)
{
	f->iov = (struct iovec){.iov_base = (char *)f->bytes.bytes + from,
				.iov_len = f->bytes.n - (size_t)from};
	f->request = (struct sfs_request){.kind = SFS_REQUEST_READ,
					  .object = &f->remote,
					  .is_probe = true,
					  .offset = from,
					  .n_bytes = f->bytes.n - from,
					  .iov = &f->iov,
					  .n_iov = 1,
					  .done = on_read,
					  .error = &f->error};
	sfs_request_submit(&f->request);
}

/* The size of the index is known: is it possible for the shard?  Then read it. */
static void on_size(struct sfs_request *request, int err)
{
	struct sfs_index_search *f =
		sfs_container(request, struct sfs_index_search, request);
	uint64_t n = f->remote.size, shard_bytes = f->object->size;
	uint64_t most = sfs_index_search_is_import(f)
				? sfs_index_import_bytes_max(shard_bytes)
				: sfs_index_bytes_max(shard_bytes);

	if (err == 0 && n > most)
		err = sfs_error_set(&f->error, -EFBIG,
				    "its %llu bytes are too many for a shard of %llu",
				    (unsigned long long)n,
				    (unsigned long long)shard_bytes);
	else if (err == 0 && n == 0)
		err = sfs_error_set(&f->error, -EBADMSG, "it is empty");
	if (err == 0)
		err = sfs_index_search_hold(
			f, &f->bytes,
			n < FIRST_BYTES || sfs_index_search_is_import(f) ? n
									 : FIRST_BYTES,
			f->wants_members || sfs_index_search_is_import(f), &f->error);
	if (err < 0)
		sfs_index_search_resume(f, err);
	else
		read_remote(f, 0);
}

int sfs_index_search_fetch(struct sfs_index_search *f, const char *url, const char *user)
{
	struct sfs_uri uri;

	if (!f->indexes->http || sfs_uri_parse(url, &uri, NULL) < 0)
		return -ENOENT;
	if (user && !uri.user)
		uri.user = sfs_strdup(user);
	uri.is_foreign = f->object->uri.is_foreign && f->object->uri.origin &&
			 strcmp(uri.origin, f->object->uri.origin) == 0;
	sfs_object_init(&f->remote, &uri, f->indexes->http);
	f->remote.name = f->object->name;
	f->request = (struct sfs_request){.kind = SFS_REQUEST_ASK,
					  .object = &f->remote,
					  .is_probe = true,
					  .may_be_tiny = true,
					  .done = on_size,
					  .error = &f->error};
	sfs_request_submit(&f->request);
	return -EINPROGRESS;
}

/* Make f->bytes the wanted n bytes.  -EINPROGRESS: the rest is being read. */
static int want(struct sfs_index_search *f, uint64_t n, struct sfs_error *err)
{
	struct sfs_charge first = f->bytes;
	size_t n_first = first.n < n ? first.n : (size_t)n;
	int ret;

	if (first.n == n)
		return 0;
	f->bytes = (struct sfs_charge){0};
	ret = sfs_index_search_hold(f, &f->bytes, n, f->wants_members, err);
	if (ret == 0)
		memcpy(f->bytes.bytes, first.bytes, n_first);
	sfs_charge_done(&first);
	if (ret < 0 || n_first == n)
		return ret;
	read_remote(f, n_first);
	return -EINPROGRESS;
}

/* Take our index, of which the start or all wanted bytes are here. */
static int take_index(struct sfs_index_search *f, struct sfs_error *err)
{
	struct sfs_charge bytes;
	struct sfs_index index;
	int ret;

	ret = sfs_index_look(f->bytes.bytes, f->bytes.n, f->remote.size, &index, err);
	if (ret == 0)
		ret = sfs_index_search_check(f, &index, err);
	if (ret == 0)
		ret = want(f, sfs_index_search_wanted(f, &index, f->remote.size), err);
	if (ret < 0)
		return ret;
	bytes = f->bytes;
	f->bytes = (struct sfs_charge){0};
	ret = sfs_index_search_open(f, &bytes, f->remote.size, err);
	sfs_charge_done(&bytes);
	return ret;
}

static int take_claims(struct sfs_index_search *f, struct sfs_error *err)
{
	int ret = sfs_index_search_open_claims(f, &f->bytes, err);

	sfs_charge_done(&f->bytes);
	return ret;
}

int sfs_index_search_take_fetched(struct sfs_index_search *f)
{
	sfs_autofree char *shown = sfs_uri_redact(f->remote.uri.location);
	int ret = f->fetch_err;
	struct sfs_error why = f->error;

	if (ret == 0)
		ret = sfs_index_search_is_import(f) ? take_claims(f, &why)
						    : take_index(f, &why);
	if (ret == -EINPROGRESS)
		return ret;
	if (ret == 0 && sfs_index_search_is_import(f))
		f->claimed_by = steal(&shown);
	if (ret < 0)
		sfs_charge_done(&f->bytes);
	/* The source has noted failed requests in the ledger. */
	if (ret < 0 && (f->fetch_err == 0 || ret == -EFBIG || ret == -ENOMEM))
		ret = sfs_index_search_skip(f, shown, ret, &why);
	sfs_object_done(&f->remote);
	f->remote = (struct sfs_object){0};
	return ret;
}
