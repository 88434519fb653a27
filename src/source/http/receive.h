/* SPDX-License-Identifier: MIT */
/* receive - takes a GET's response, whichever kind of connection brings it, and counts it
 * for the GET's server.
 *
 * The fetch thread's own. */
#ifndef SFS_RECEIVE_H
#define SFS_RECEIVE_H

#include "source/http/get.h"

#include <stddef.h>

/* A response may begin. */
void sfs_receive_begin(struct sfs_get *get);

/* Take a header line, with or without its CR LF.  0, or -EMSGSIZE: there is no end of
 * them. */
int sfs_receive_line(struct sfs_get *get, const char *line, size_t n);

/* The headers are complete: a body begins, or there is none.  May be called again.
 * Returns what the GET's head() says. */
int sfs_receive_head(struct sfs_get *get);

/* n bytes of the body have come. */
void sfs_receive_bytes(struct sfs_get *get, size_t n);

#endif
