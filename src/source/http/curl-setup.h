/* SPDX-License-Identifier: MIT */
/* curl-setup - the options that all our handles of libcurl have. */
#ifndef SFS_CURL_SETUP_H
#define SFS_CURL_SETUP_H

#include <curl/curl.h>
#include <stdbool.h>

/* Files of certificates.  NULL: what the curl command would take, which are
 * CURL_CA_BUNDLE or SSL_CERT_FILE, and SSL_CERT_DIR, and then the built-in places; no
 * cert or key. */
struct sfs_curl_certificates {
	const char *ca_file, *ca_path, *cert, *key;
};

/* HTTP/1.1 only, and no redirect is followed.  libcurl copies the strings, and may refuse
 * one. */
CURLcode sfs_curl_set_up(CURL *easy, const struct sfs_curl_certificates *certificates);

/* The folder of authorities that the handle looks into besides a file, if it is no option's:
 * SSL_CERT_DIR or the built-in one.  Else NULL.  libcurl reads the file once for all
 * connections only where there is no such folder. */
const char *sfs_curl_default_folder(CURL *easy,
				    const struct sfs_curl_certificates *certificates);

/* With "name:password" (NULL: none), or by SPNEGO with the user's Kerberos ticket. */
void sfs_curl_log_in(CURL *easy, const char *user, bool negotiates);

#endif
