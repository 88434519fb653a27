/* SPDX-License-Identifier: MIT */
/* key-pattern - which keys of a bucket does the end of a URL mean?
 *
 *	"" or "train/", with a slash at the end: all *.tar below it
 *	'*', '?' and "[...]" stand for characters, but not for a slash
 *	"**", in the place of a folder, stands for any number of them; at the end, for all
 *	*.tar below
 *
 * Everything else is one key.  (A '*' alone is written "[*]".)  Unlike in a local folder,
 * a '*' also matches what begins with a dot: a bucket hides nothing.  Pure.
 */
/* key-pattern - which keys of a bucket does the end of a URL mean?
 *
 *	""  "train/"	it ends in a slash: all *.tar below it
 *	"a/x-*.tar"	'*', '?' and "[...]" stand for characters, but not for a slash
 *	"a/" "**" "/x.tar"	"**" stands for any number of folders; at the end, for all
 *			*.tar below
 *
 * Everything else is one key.  (A '*' alone is written "[*]".)  Unlike in a local folder,
 * a '*' also matches what begins with a dot: a bucket hides nothing.  Pure.
 */
#ifndef SFS_KEY_PATTERN_H
#define SFS_KEY_PATTERN_H

#include <stdbool.h>

/* Does the name end in ".tar", behind something?  Folders and prefixes stand for such. */
bool sfs_is_tar_name(const char *name);

/* Does it mean more than the key of that name? */
bool sfs_key_pattern_is(const char *text);

/* What all its keys begin with.  The caller frees it. */
char *sfs_key_pattern_prefix(const char *pattern);

/* May a key that it means have a slash behind that prefix? */
bool sfs_key_pattern_is_deep(const char *pattern);

bool sfs_key_pattern_means(const char *pattern, const char *key);

/* May it mean a key below this folder, which ends in a slash? */
bool sfs_key_pattern_may_be_below(const char *pattern, const char *folder);

#endif
