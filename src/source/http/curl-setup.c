/* SPDX-License-Identifier: MIT */
#include "source/http/curl-setup.h"

#include "base/alloc.h"

#include <stdlib.h>

static const char *or_variable(const char *value, const char *a, const char *b)
{
	const char *found = value ? value : getenv(a);

	return found && *found ? found : b ? getenv(b) : NULL;
}

CURLcode sfs_curl_set_up(CURL *easy, const struct sfs_curl_certificates *c)
{
	const struct {
		CURLoption option;
		const char *value;
	} strings[] = {
		{CURLOPT_CAINFO,
		 or_variable(c->ca_file, "CURL_CA_BUNDLE", "SSL_CERT_FILE")},
		{CURLOPT_CAPATH, or_variable(c->ca_path, "SSL_CERT_DIR", NULL)},
		{CURLOPT_SSLCERT, c->cert},
		{CURLOPT_SSLKEY, c->key},
		{CURLOPT_PROTOCOLS_STR, "http,https"},
		{CURLOPT_USERAGENT, "shufflefs/" VERSION},
	};
	CURLcode code = CURLE_OK;
	size_t i;

	for (i = 0; i < SFS_COUNT(strings) && code == CURLE_OK; i++)
		if (strings[i].value)
			code = curl_easy_setopt(easy, strings[i].option,
						strings[i].value);
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	return code;
}

const char *sfs_curl_default_folder(CURL *easy, const struct sfs_curl_certificates *c)
{
	const char *file = or_variable(c->ca_file, "CURL_CA_BUNDLE", "SSL_CERT_FILE"),
		   *folder = or_variable(NULL, "SSL_CERT_DIR", NULL);

	if (!file)
		curl_easy_getinfo(easy, CURLINFO_CAINFO, &file);
	if (!folder)
		curl_easy_getinfo(easy, CURLINFO_CAPATH, &folder);
	return file && !c->ca_path ? folder : NULL;
}

/* (SPNEGO takes the name from the ticket, but wants an empty one.) */
void sfs_curl_log_in(CURL *easy, const char *user, bool negotiates)
{
	curl_easy_setopt(easy, CURLOPT_HTTPAUTH,
			 (long)(negotiates ? CURLAUTH_NEGOTIATE : CURLAUTH_BASIC));
	curl_easy_setopt(easy, CURLOPT_USERPWD, negotiates ? ":" : user);
}
