/* SPDX-License-Identifier: MIT */
/* options - everything that a user can set, from one table (options.def).
 *
 * A value comes from the default, an ini file, -o or --long; the later one wins, and each
 * remembers its origin.  Secrets are never printed.
 */
#ifndef SFS_OPTIONS_H
#define SFS_OPTIONS_H

#include "base/error.h"
#include "base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>

enum sfs_choice_samples { SFS_SAMPLES_LAZY, SFS_SAMPLES_YES, SFS_SAMPLES_NO };
enum sfs_choice_keys { SFS_KEYS_AUTO, SFS_KEYS_ASIS, SFS_KEYS_UNIQUE };
enum sfs_choice_on_error { SFS_ON_ERROR_FAIL, SFS_ON_ERROR_SKIP };
enum sfs_choice_next_epoch { SFS_NEXT_AUTO, SFS_NEXT_YES, SFS_NEXT_NO };
enum sfs_choice_verify { SFS_VERIFY_ETAG, SFS_VERIFY_SIZE };

struct sfs_strings {
	char **s;
	int n;
};

void sfs_strings_add(struct sfs_strings *list, const char *s); /* copies */
void sfs_strings_done(struct sfs_strings *list);

struct sfs_options {
	const char *only; /* settings of other options are not looked at; NULL: all are */

	/* Numbers, sizes (bytes), times (ms), flags and choices (the index in the table's
	 * list); the table knows the kind of each. */
	uint64_t seed, lanes, buffer, segment, equal, keys, on_error;
	uint64_t verify, connections, retries;
	uint64_t s3_style, anonymous, requester_pays;
	uint64_t connect_timeout_ms, stall_timeout_ms, read_timeout_ms;
	uint64_t low_speed_limit; /* bytes a second */
	uint64_t index_wait_ms;
	uint64_t budget; /* 0: auto */
	uint64_t next_epoch;
	uint64_t samples, epochs, direct_io, keep_pages, readahead, nonempty, allow_other,
		allow_root;
	uint64_t uid, gid; /* UINT64_MAX: those of the user who mounts */
	uint64_t umask, foreground, log_level;
	char *proxy, *netrc_file, *cacert, *capath, *cert, *key; /* NULL: not set */
	char *bearer_file, *bearer_command, *header_command;
	char *endpoint, *region, *provider, *sas_file, *user_project;
	char *split;
	char *fsname, *config, *expect_order;
	char *index, *index_cache;
	char *index_to;		    /* not in the table: --to of `shufflefs index` */
	struct sfs_strings headers; /* all lines, including those of files */

	/* Lines, and files, which may change: see headers.h. */
	struct sfs_strings header_specs;

	/* Options of mount(8) for the kernel, such as "noexec,noatime"; or NULL. */
	char *kernel;

	char **origins; /* of each option of the table */
	bool expects_streams; /* the command's, not the user's: epochs are read soon */
};

void sfs_options_init(struct sfs_options *o);
void sfs_options_done(struct sfs_options *o);

/* Set one option.  `value` is NULL if there was no '='.  `origin` is shown to users:
 * "-o",
 * "--seed", "/etc/shufflefs.conf:12".
 * -EINVAL: no such option, or a bad value; *err says which, with the nearest name. */
int sfs_options_set(struct sfs_options *o, const char *name, const char *value,
		    const char *origin, struct sfs_error *err);

/* Set all of "name=value,flag,..."; "\," is a comma in a value. */
int sfs_options_set_list(struct sfs_options *o, const char *list, const char *origin,
			 struct sfs_error *err);

/* Does --name take an argument?  -EINVAL: no such option; *err says so. */
int sfs_options_has_argument(const char *name, struct sfs_error *err);

/* May its value hold a secret that cannot be told from the rest, so that none of it is
 * shown? */
bool sfs_options_is_hidden(const char *name);

/* Print "seed = 7   # -o", a line for each option; for .shufflefs/config. */
void sfs_options_print(const struct sfs_options *o, struct sfs_strbuf *text);

/* Print "shard", "sample", or "1M": exact to the byte, as it is part of the order. */
void sfs_options_print_segment(uint64_t segment, struct sfs_strbuf *text);

/* Print the table for --help or, if `as_mdoc`, for the manual. */
void sfs_options_help(struct sfs_strbuf *text, bool as_mdoc);

/* Parse "64M", "1.5G" or "4096" to bytes.  -EINVAL: not a size. */
int sfs_options_parse_size(const char *s, uint64_t *ret_bytes);

#endif
