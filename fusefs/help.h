/* SPDX-License-Identifier: MIT */
/* help - what `shufflefs --help` and `--version` print. */
#ifndef SFS_HELP_H
#define SFS_HELP_H

/* What git calls the commit that this was built from ("v0.1.0-3-g82f8b61-dirty"); "" if
 * that is not known.  In commit.c, which the Makefile writes. */
extern const char sfs_commit[];

/* Print the synopsis and all options; or for the manual, with "--mdoc", the options
 * alone, and with "--mdoc-forward" those of `shufflefs forward`. */
void sfs_help_print(const char *how);

/* Print what one command does, and its arguments and options. */
void sfs_help_print_command(const char *name);

/* Print the versions of shufflefs and of the libraries it runs with, one a line.  (inih
 * has no way to ask for its version: it is that of the build.) */
void sfs_version_print(void);

#endif
