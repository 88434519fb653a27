/* SPDX-License-Identifier: MIT */
/* azure-refusal - why Azure Blob Storage refused a request, and what to do about it.
 *
 * The reason is in the body, as XML.  Every byte of it comes from a server.  Of what it
 * says only the code is shown: its words may hold signatures.  Pure.
 */
#ifndef SFS_AZURE_REFUSAL_H
#define SFS_AZURE_REFUSAL_H

#include "source/http/headers.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sfs_azure_reason {
	SFS_AZURE_OTHER,
	SFS_AZURE_SIGNATURE, /* of the key or SAS, or its time */
	SFS_AZURE_TOKEN,
	SFS_AZURE_DENIED, /* the credentials are good, but not for this */
	SFS_AZURE_NO_KEYS, /* the account takes no keys */
	SFS_AZURE_NO_CONTAINER,
	SFS_AZURE_NO_BLOB,
	SFS_AZURE_PRIVATE, /* there is none, or it is not open to everybody */
	SFS_AZURE_ARCHIVED,
	SFS_AZURE_LATER, /* the server is busy */
};

struct sfs_azure_refusal {
	enum sfs_azure_reason reason;
	int status;
	char code[64];	/* the server's; printable */
	int64_t date_s; /* the server's time; 0: it did not say */
};

/* `body` may be NULL. */
void sfs_azure_refusal_read(const struct sfs_http_headers *headers, const char *body,
			    size_t n, struct sfs_azure_refusal *ret);

/* What a request is authorized by. */
enum sfs_azure_by { SFS_AZURE_BY_NOTHING, SFS_AZURE_BY_KEY, SFS_AZURE_BY_SAS,
		    SFS_AZURE_BY_TOKEN };

/* What the sentence names. */
struct sfs_azure_asked {
	const char *container, *key; /* key NULL: the request was for a listing */
	const char *url, *account;
	enum sfs_azure_by by;
	const char *from;	 /* where the credentials come from; NULL: BY_NOTHING */
	bool is_anonymous;	 /* and was to have none */
	int64_t start_s, end_s;	 /* of a SAS; 0: not known */
	int64_t now_s;		 /* the time on this machine */
};

/* Is our clock as wrong as a server does not take it? */
bool sfs_azure_refusal_is_of_clock(const struct sfs_azure_refusal *refusal,
				   enum sfs_azure_by by, int64_t now_s);

/* Write a sentence that says what is wrong and what to change. */
void sfs_azure_refusal_describe(const struct sfs_azure_refusal *refusal,
				const struct sfs_azure_asked *asked, char *why,
				size_t size);

/* The negative errno of a refusal. */
int sfs_azure_refusal_err(const struct sfs_azure_refusal *refusal);

#endif
