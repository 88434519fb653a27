/* SPDX-License-Identifier: MIT */
/* header-command - header lines that a command of the user's prints, such as a token that
 * lives for an hour.
 *
 * The command runs when it is started, and again before what it printed expires, if it
 * says when (header-lines.h), when a server has refused that, or when the user wants
 * files read again: in a thread of its own (renewal.h), and
 * for a minute at most.  What it prints is secret, and never logged.  Any thread may
 * call.
 */
#ifndef SFS_HEADER_COMMAND_H
#define SFS_HEADER_COMMAND_H

#include "source/http/header-lines.h"
#include "source/http/renewal.h"

struct sfs_header_command;

/* Run it, and start the thread.  Waits.  It prints header lines or, if `is_bearer`, a
 * token.  `option` names it in messages; borrowed, as is the command.  limit_ms: how long
 * it may take, if that is less than a minute.  NULL and *err: it failed, or printed
 * something else. */
struct sfs_header_command *sfs_header_command_start(const char *option,
						    const char *command, bool is_bearer,
						    uint64_t limit_ms,
						    struct sfs_error *err);
void sfs_header_command_stop(struct sfs_header_command *command); /* NULL is fine */

/* The present lines, a copy, and the number of their edition. */
unsigned sfs_header_command_get(struct sfs_header_command *command,
				struct sfs_header_lines *ret);
unsigned sfs_header_command_edition(struct sfs_header_command *command);

/* Those of `edition` were refused, of a request that was made at `made_ns`; see
 * sfs_renewer_renew(). */
enum sfs_renewal sfs_header_command_renew(struct sfs_header_command *command,
					  unsigned edition, uint64_t made_ns,
					  bool may_wait);

#endif
