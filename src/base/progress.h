/* SPDX-License-Identifier: MIT */
/* progress - one line on a terminal that shows how far something is.
 *
 * Each call rewrites the line, which is never longer than the terminal is wide; without a
 * terminal, nothing is written.  One thread.
 */
#ifndef SFS_PROGRESS_H
#define SFS_PROGRESS_H

#include <stdbool.h>

struct sfs_progress {
	int fd;
	bool is_shown; /* false: every call does nothing */
};

/* Use the descriptor, which stays borrowed, if it is a terminal. */
void sfs_progress_init(struct sfs_progress *p, int fd);

/* Show a bar of which `done` (0 to 1) is full, and a text after it; no bar if `done` is
 * below 0.  May wait for the terminal. */
void sfs_progress_show(const struct sfs_progress *p, double done, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Clear the line. */
void sfs_progress_clear(const struct sfs_progress *p);

#endif
