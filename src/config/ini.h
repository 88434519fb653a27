/* SPDX-License-Identifier: MIT */
/* ini - reads the ini files; ini.c is the only file that includes inih.
 *
 * Lines before the first section apply to every dataset; a section is a dataset:
 *
 *     seed = 7
 *     [imagenet]
 *     source = https://host/imagenet-{000000..001281}.tar
 *     lanes = 192
 *
 * `source` may be repeated, or continue in lines that begin with a blank.
 */
#ifndef SFS_INI_H
#define SFS_INI_H

#include "config/options.h"

/* Read `path`, apply the settings for dataset `name` (NULL: no dataset) to *o, and add
 * its sources.  *has_section becomes true if there is a section of that name. -ENOENT: no
 * such file; *err is unchanged.  Other errors: *err names file and line. */
int sfs_ini_read(const char *path, const char *name, struct sfs_options *o,
		 struct sfs_strings *sources, bool *has_section, struct sfs_error *err);

/* The files that are read without config=: the system's, then the user's
 * ($XDG_CONFIG_HOME/shufflefs.conf or ~/.config/shufflefs.conf). */
void sfs_ini_paths(struct sfs_strings *paths);

#endif
