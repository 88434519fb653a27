/* SPDX-License-Identifier: MIT */
/* log - one line per event, to the terminal or to syslog.
 *
 * error: data is lost.  warning: time is lost, or a setting is doubtful.  info: starts
 * and stops.  debug: for developers.  What happens for every sample is a counter
 * (io/runtime.h), not a line.  Any thread may call.
 */
#ifndef SFS_LOG_H
#define SFS_LOG_H

#include <stdbool.h>

enum sfs_log_level { SFS_LOG_ERROR, SFS_LOG_WARNING, SFS_LOG_INFO, SFS_LOG_DEBUG };

/* Lines above `level` are dropped.  The default is SFS_LOG_WARNING. */
void sfs_log_set_level(enum sfs_log_level level);

/* From now on lines go to syslog (facility daemon) instead of standard error. */
void sfs_log_use_syslog(void);

/* One line, without "shufflefs: " and without the newline. */
void sfs_log(enum sfs_log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#define sfs_error(...)	 sfs_log(SFS_LOG_ERROR, __VA_ARGS__)
#define sfs_warning(...) sfs_log(SFS_LOG_WARNING, __VA_ARGS__)
#define sfs_info(...)	 sfs_log(SFS_LOG_INFO, __VA_ARGS__)
#define sfs_debug(...)	 sfs_log(SFS_LOG_DEBUG, __VA_ARGS__)

#endif
