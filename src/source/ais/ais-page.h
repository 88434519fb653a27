/* SPDX-License-Identifier: MIT */
/* ais-page - a page of a bucket's listing, as AIStore asks for it and gives it.
 *
 * Every byte of an answer comes from a server.  Pure.
 */
#ifndef SFS_AIS_PAGE_H
#define SFS_AIS_PAGE_H

#include "base/strbuf.h"
#include "source/ais/ais-version.h"
#include "source/http/listing.h"

/* Add the body of the request; `token` NULL: for the first page. */
void sfs_ais_page_ask(struct sfs_strbuf *body, const char *prefix, const char *token);

/* -EBADMSG: it is not such a page; *err says why. */
int sfs_ais_page_read(const char *json, size_t n, const struct sfs_ais_props *props,
		      struct sfs_listing *ret, struct sfs_error *err);

#endif
