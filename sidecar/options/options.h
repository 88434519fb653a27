/* SPDX-License-Identifier: MIT */
/* options - the options of `shufflefs-sidecar` and of `shufflefs forward`, by one table
 * (options.def): which there are, which values they take, and what to say of them.
 *
 * Pure, but for what sfs_sidecar_options_parse() prints.
 */
#ifndef SFS_SIDECAR_OPTIONS_H
#define SFS_SIDECAR_OPTIONS_H

#include "shufflefs/ioctl.h"

#include "base/error.h"
#include "base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>

enum sfs_sidecar_option_id {
#define OPTION(commands, ID, name, kind, argument, in_forward, help) SFS_SIDECAR_##ID,
#include "options/options.def"
#undef OPTION
	SFS_SIDECAR_OPTIONS
};

enum { /* commands, as bits; and what samples: refuses */
       SFS_SIDECAR_SEND = 1,
       SFS_SIDECAR_RECV = 2,
       SFS_SIDECAR_FORWARD = 4,
       SFS_SIDECAR_BATCHES = 8
};

/* What was given; 0, NULL and false where nothing was. */
struct sfs_sidecar_values {
	bool is_given[SFS_SIDECAR_OPTIONS];
	uint64_t numbers[SFS_SIDECAR_OPTIONS]; /* of a choice: which one */
	const char *texts[SFS_SIDECAR_OPTIONS];
};

/* Its name; NULL: the command has no such option.  has_value: an argument follows. */
const char *sfs_sidecar_option_name(enum sfs_sidecar_option_id id, unsigned command,
				    bool *ret_has_value);

/* Keep a value; the text is borrowed.  -EINVAL, with an error. */
int sfs_sidecar_option_set(struct sfs_sidecar_values *v, enum sfs_sidecar_option_id id,
			   const char *text, struct sfs_error *err);

/* Read the options of a command (getopt_long; argv[0] is its name).  The number of the
 * first argument, or -EINVAL, with an error, or none if getopt_long() has printed it. */
int sfs_sidecar_options_parse(struct sfs_sidecar_values *v, unsigned command, int argc,
			      char **argv, struct sfs_error *err);

/* The target is samples:.  -EINVAL, with an error: an option is for batches. */
int sfs_sidecar_options_check_samples(const struct sfs_sidecar_values *v,
				      struct sfs_error *err);

/* Put them into what the ioctl gets.  -EINVAL, with an error: a text is too long. */
int sfs_sidecar_options_to_forward(const struct sfs_sidecar_values *v,
				   struct shufflefs_forward *f, struct sfs_error *err);

/* The other way round: the option as `send` takes it, "--batch=256"; the caller frees it.
 * NULL: it is not in `f`, `send` has it not, or it is 0, which is the default. */
char *sfs_sidecar_option_of_forward(enum sfs_sidecar_option_id id,
				    const struct shufflefs_forward *f);

/* -EINVAL, with an error: a choice in `f` is none. */
int sfs_sidecar_options_check_choices(const struct shufflefs_forward *f,
				      struct sfs_error *err);

/* Add what --help says of a command's options; or the list for the manual. */
void sfs_sidecar_options_help(unsigned command, bool as_mdoc, struct sfs_strbuf *text);

#endif
