/* SPDX-License-Identifier: MIT */
#include "source/azure/azure-account.h"

#include "base/alloc.h"
#include "source/http/credentials.h"
#include "source/http/key-url.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#define SUFFIX "core.windows.net"

#define variable sfs_credentials_variable

char *sfs_azure_connection_get(const char *text, const char *name)
{
	size_t n_name = strlen(name), n;

	for (; *text; text += n + (text[n] == ';')) {
		n = strcspn(text, ";");
		if (n > n_name && text[n_name] == '=' &&
		    strncasecmp(text, name, n_name) == 0)
			return sfs_strndup(text + n_name + 1, n - n_name - 1);
	}
	return NULL;
}

/* The account's name in the URL of its blobs: the first part of its host, or, where that
 * is an address or has no parts, the first folder of its path, as emulators have it. */
static char *name_in(const char *url)
{
	const char *host = strstr(url, "://") + 3, *path = host + strcspn(host, "/");
	size_t n = strcspn(host, ".:/");

	if (*path == '/' && (host[n] != '.' || isdigit((unsigned char)host[0])))
		return sfs_strndup(path + 1, strcspn(path + 1, "/"));
	return sfs_strndup(host, n);
}

static bool is_name(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-");

	return n > 0 && s[n] == 0;
}

/* What the connection string says.  Its secrets are azure-credentials'. */
static int take_connection(const char *text, char **ret_endpoint,
			   struct sfs_azure_account *a, struct sfs_error *err)
{
	sfs_autofree char *suffix = sfs_azure_connection_get(text, "EndpointSuffix");
	sfs_autofree char *protocol =
		sfs_azure_connection_get(text, "DefaultEndpointsProtocol");

	a->name = sfs_azure_connection_get(text, "AccountName");
	*ret_endpoint = sfs_azure_connection_get(text, "BlobEndpoint");
	if (!*ret_endpoint && a->name)
		*ret_endpoint = sfs_asprintf("%s://%s.blob.%s",
					     protocol ? protocol : "https", a->name,
					     suffix ? suffix : SUFFIX);
	if (*ret_endpoint)
		return 0;
	return sfs_error_set(err, -EINVAL,
			     "AZURE_STORAGE_CONNECTION_STRING has neither an AccountName "
			     "nor a BlobEndpoint");
}

int sfs_azure_account_find(const char *endpoint, struct sfs_azure_account *ret,
			   struct sfs_error *err)
{
	const char *connection = variable("AZURE_STORAGE_CONNECTION_STRING"),
		   *name = variable("AZURE_STORAGE_ACCOUNT");
	struct sfs_azure_account a = {0};
	sfs_autofree char *url = NULL;
	int code = 0;

	name = name ? name : variable("AZURE_STORAGE_ACCOUNT_NAME");
	if (connection) {
		a.from = "AZURE_STORAGE_CONNECTION_STRING";
		code = take_connection(connection, &url, &a, err);
	} else if (name) {
		a.from = "AZURE_STORAGE_ACCOUNT";
		a.name = sfs_strdup(name);
		url = sfs_asprintf("https://%s.blob.%s", name, SUFFIX);
	}
	if (code == 0 && a.name && !is_name(a.name))
		code = sfs_error_set(err, -EINVAL,
				     "%s: '%s' is not a name of a storage account: those "
				     "have lower-case letters and digits",
				     a.from, a.name);
	if (endpoint) {
		free(url);
		url = sfs_strdup(endpoint);
		a.from = "endpoint=";
	}
	if (code == 0 && url) {
		a.url = sfs_endpoint_read(url, err);
		code = a.url ? 0 : -EINVAL;
	}
	if (a.url && !a.name)
		a.name = name_in(a.url);
	if (code < 0)
		sfs_azure_account_done(&a);
	else
		*ret = a;
	return code;
}

void sfs_azure_account_done(struct sfs_azure_account *a)
{
	free(steal(&a->name));
	free(steal(&a->url));
}

int sfs_azure_account_meet(struct sfs_azure_account *a, const char *bucket,
			   struct sfs_error *err)
{
	const char *host = strchr(bucket, '@');
	sfs_autofree char *url = NULL;

	if (!host && a->url)
		return 0;
	if (!host)
		return sfs_error_set(err, -EINVAL,
				     "az://%s/ needs an account: set "
				     "AZURE_STORAGE_ACCOUNT or endpoint=, or write "
				     "az://%s@account.blob." SUFFIX "/...",
				     bucket, bucket);
	if (!strstr(host, ".blob."))
		return sfs_error_set(err, -EINVAL,
				     "'%s' is not a host of Azure's blobs, like "
				     "account.blob." SUFFIX ": to use another host, "
				     "set endpoint=",
				     host + 1);
	url = sfs_asprintf("https://%s", host + 1);
	if (a->url && strcmp(a->url, url) != 0)
		return sfs_error_set(err, -EINVAL,
				     "az://%s/ is of another account than %s names (%s): "
				     "a mount reads one account",
				     bucket, a->from, a->url);
	if (a->url)
		return 0;
	a->url = steal(&url);
	a->name = name_in(a->url);
	a->from = "another URL";
	return 0;
}
