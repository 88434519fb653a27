/* SPDX-License-Identifier: MIT */
/* progress - one line on a terminal that tells how far something is.
 *
 * The line is written anew at each call and never longer than the terminal is wide; where
 * there is no terminal, nothing is written.  One thread.
 */
#ifndef SFS_PROGRESS_H
#define SFS_PROGRESS_H

#include <stdbool.h>

struct sfs_progress {
	int fd;
	bool is_shown; /* false: every call does nothing */
};

/* On the descriptor, which stays borrowed, if it is a terminal. */
void sfs_progress_init(struct sfs_progress *p, int fd);

/* Show a bar of which `done` (0 to 1) is full, and a text behind it; no bar if `done` is
 * below 0.  May wait for the terminal. */
void sfs_progress_show(const struct sfs_progress *p, double done, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Take the line away. */
void sfs_progress_clear(const struct sfs_progress *p);

#endif
