/* SPDX-License-Identifier: MIT */
/* webhdfs-token - the user's delegation token, from the file that
 * HADOOP_TOKEN_FILE_LOCATION names.
 *
 * YARN writes such a file for its jobs, and hdfs fetchdt for anybody: the first token of
 * HDFS in it counts.  A file with the token as text is understood as well, as it is or as
 * the JSON in which a namenode gives it out.  It is read again when it was refused, or
 * with SIGHUP; a file that holds none then changes nothing.  One thread at a time.
 */
#ifndef SFS_WEBHDFS_TOKEN_H
#define SFS_WEBHDFS_TOKEN_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct sfs_webhdfs_token;

/* NULL and *err: the file holds none. */
struct sfs_webhdfs_token *sfs_webhdfs_token_start(struct sfs_error *err);
void sfs_webhdfs_token_stop(struct sfs_webhdfs_token *token); /* NULL is fine */

/* The present one, as a query has it; borrowed until the next call.  NULL: no file is
 * named, or it holds none of HDFS. */
const char *sfs_webhdfs_token_get(struct sfs_webhdfs_token *token);

/* It was refused: read the file. */
void sfs_webhdfs_token_renew(struct sfs_webhdfs_token *token);

/* Where it comes from, for sentences; NULL: there is none. */
const char *sfs_webhdfs_token_from(const struct sfs_webhdfs_token *token);

/* Pure: the token in a file's bytes.  false: they are not understood.  *ret NULL: they
 * hold tokens, but none of HDFS, as those of a job of YARN do where there is no Kerberos.
 * The caller frees it. */
bool sfs_webhdfs_token_read(const char *bytes, size_t n, char **ret);

#endif
