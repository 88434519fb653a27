/* SPDX-License-Identifier: MIT */
/* conceal - hides what is secret in the words of a command line.
 *
 * Every user of the machine may read them (ps, /proc/PID/cmdline), for as long as a mount
 * lives.  Pure.
 */
#ifndef SFS_CONCEAL_H
#define SFS_CONCEAL_H

/* Overwrite, where they are, the words from argv[first] on: the values of headers,
 * passwords and queries in URLs, and options whose values no view shows.  What remains is
 * what messages show of them.  They must have been copied before. */
void sfs_conceal_args(int argc, char **argv, int first);

#endif
