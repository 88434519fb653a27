/* SPDX-License-Identifier: MIT */
/* curl-call - one HTTP request at a time, of any method, whose caller waits for it.
 *
 * For what is small and not on the data path: a page of a listing, credentials.  The
 * fetch thread has curl-get.h.  Redirects are not followed.  A caller belongs to one
 * thread; its connections are kept for its next call.
 */
#ifndef SFS_CURL_CALL_H
#define SFS_CURL_CALL_H

#include "base/error.h"
#include "base/strbuf.h"
#include "source/http/headers.h"
#include "source/source.h"

#include <stdatomic.h>
#include <stdbool.h>

struct sfs_curl_caller;

/* The certificates, proxy and time limits of `options`, which are borrowed.  A call ends
 * soon after *is_stopped has become true (NULL is fine).  NULL and *err: libcurl refuses
 * an option. */
struct sfs_curl_caller *sfs_curl_caller_new(const struct sfs_http_options *options,
					    const atomic_bool *is_stopped,
					    struct sfs_error *err);
void sfs_curl_caller_free(struct sfs_curl_caller *caller); /* NULL is fine */

/* Is this libcurl made for SPNEGO? */
bool sfs_curl_can_negotiate(void);

struct sfs_curl_call {
	const char *method, *url;
	const char *lines; /* header lines, each with its CR LF; or NULL */
	const char *body;  /* or NULL */
	bool negotiates;   /* by SPNEGO, with the user's Kerberos ticket */
	bool is_local;	   /* a service of this machine: no proxy, and it has a second to
			    * connect, and five in all */
};

struct sfs_curl_answer {
	struct sfs_http_headers headers;
	struct sfs_strbuf head; /* its lines as they came, 64 KiB at most */
	struct sfs_strbuf body; /* `s` is NULL if there is none */
};

/* 0: there is a response, of whatever status.  < 0: there is none, or one of more than 16
 * MiB; *err says why, without the URL.  *ret is to be freed in any case. */
int sfs_curl_call(struct sfs_curl_caller *caller, const struct sfs_curl_call *call,
		  struct sfs_curl_answer *ret, struct sfs_error *err);
void sfs_curl_answer_done(struct sfs_curl_answer *answer);

#endif
