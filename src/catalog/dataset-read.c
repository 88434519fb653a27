/* SPDX-License-Identifier: MIT */
/* How this works: a text that says which shards there are is a local file, or an object
 * at a URL, which is got whole.  Relative names in it count from its folder, so that is a
 * path or a URL, too. */
#include "catalog/dataset-internal.h"

#include "base/alloc.h"
#include "source/target.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

/* Is it a page for people, as a server shows one instead of what it does not give? */
static bool is_page(const struct sfs_strbuf *text)
{
	static const char *const begins[] = {"<!doctype", "<html", "<?xml"};
	const char *s = text->s ? text->s : "";
	size_t i;

	s += strspn(s, " \t\r\n");
	for (i = 0; i < SFS_COUNT(begins); i++)
		if (strncasecmp(s, begins[i], strlen(begins[i])) == 0)
			return true;
	return false;
}

static int fetch(const struct sfs_loader *l, const char *name, const struct sfs_uri *uri,
		 struct sfs_strbuf *text, struct sfs_error *err)
{
	sfs_autofree char *shown = sfs_uri_redact(name);
	int ret = l->disk->fetch ? l->disk->fetch(l->disk->ctx, uri, text, err)
				 : sfs_error_set(err, -EOPNOTSUPP, "it is no local file");

	if (ret == 0 && is_page(text))
		ret = sfs_error_set(err, -EBADMSG,
				    "a web page is there, perhaps to log in, and no list "
				    "or index of shards");
	return ret < 0 ? sfs_error_wrap(err, ret, "cannot read %s", shown) : 0;
}

static bool is_foreign(const struct sfs_loader *l, const struct sfs_uri *uri)
{
	return l->by_origin && uri->origin && strcmp(uri->origin, l->by_origin) != 0;
}

int sfs_loader_read(const struct sfs_loader *l, const char *name, struct sfs_strbuf *text,
		    bool *ret_is_pipe, struct sfs_error *err)
{
	struct sfs_uri uri;
	int ret;

	*ret_is_pipe = false;
	if (!sfs_uri_has_scheme(name))
		return l->disk->read(name, text, ret_is_pipe, err);
	ret = sfs_uri_parse(name, &uri, err);
	if (ret < 0)
		return ret;
	ret = sfs_loader_check(l, &uri, err);
	if (ret == 0)
		ret = uri.scheme == SFS_SCHEME_FILE /* as an index may name another */
			      ? l->disk->read(uri.location, text, ret_is_pipe, err)
			      : fetch(l, name, &uri, text, err);
	sfs_uri_done(&uri);
	return ret;
}

bool sfs_loader_enter(struct sfs_loader *l, const char *name)
{
	struct sfs_uri uri;

	if (l->by_origin || !sfs_uri_has_scheme(name) ||
	    sfs_uri_parse(name, &uri, NULL) < 0)
		return false;
	l->by_origin = steal(&uri.origin);
	sfs_uri_done(&uri);
	return l->by_origin != NULL;
}

void sfs_loader_leave(struct sfs_loader *l)
{
	free(steal(&l->by_origin));
}

int sfs_loader_check(const struct sfs_loader *l, struct sfs_uri *uri,
		     struct sfs_error *err)
{
	sfs_autofree char *host = NULL, *why = NULL;

	uri->is_foreign = is_foreign(l, uri);
	if (!uri->is_foreign)
		return 0;
	host = sfs_target_host(uri->origin);
	if (sfs_target_may_name(host))
		return 0;
	why = sfs_target_refusal(host, false);
	return sfs_error_set(err, -EACCES, "%s", why);
}

char *sfs_loader_folder_of(const char *name)
{
	bool has_query = strncasecmp(name, "http", 4) == 0 && sfs_uri_has_scheme(name);
	size_t n = has_query ? strcspn(name, "?#") : strlen(name);
	const char *host = sfs_uri_has_scheme(name) ? strstr(name, "://") + 3 : name,
		   *slash = memrchr(host, '/', n - (size_t)(host - name));

	return sfs_strndup(name, slash ? (size_t)(slash - name) : n);
}
