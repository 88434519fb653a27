/* SPDX-License-Identifier: MIT */
/* http-source - the source of objects at HTTP servers (struct sfs_source): it gives each
 * request to the dialect of its store, and to transfer.h. */
#ifndef SFS_HTTP_SOURCE_H
#define SFS_HTTP_SOURCE_H

#include "source/http/fetch-options.h"
#include "source/source.h"

/* What these options say of a fetch, all but the owner of path_changed(); strings are
 * borrowed. */
struct sfs_fetch_options sfs_http_fetch_options(const struct sfs_http_options *options);

#endif
