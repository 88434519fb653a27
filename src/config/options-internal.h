/* SPDX-License-Identifier: MIT */
/* options-internal - the table of options, which options.c (names, life, lists),
 * options-value.c (reads values) and options-print.c share. */
#ifndef SFS_OPTIONS_INTERNAL_H
#define SFS_OPTIONS_INTERNAL_H

#include "config/options.h"

#include <stddef.h>

enum section { ORDER, SOURCE, MOUNT, N_GROUPS };
enum kind {
	NUMBER,
	LANES,
	SEGMENT,
	SIZE,
	BUDGET,
	TIME,
	CONNECTIONS,
	RETRIES,
	FLAG,
	CHOICE,
	ID,
	OCTAL,
	STRING,
	PATH, /* of a file or folder: absolute, as a mount's folder will be another */
	IDENTITY,
	LIST
};

struct sfs_option_row {
	enum section group;
	const char *name;
	enum kind kind;
	size_t offset;
	const char *initial, *argument, *help;
};

#define OPTION(group, name, kind, field, initial, argument, help) +1
enum {
	N_OPTIONS = 0
#include "config/options.def"
};
#undef OPTION

extern const struct sfs_option_row sfs_option_rows[N_OPTIONS];

/* The value of an option; its kind says which of these fits. */
static inline uint64_t *sfs_option_number(const struct sfs_options *o,
					  const struct sfs_option_row *row)
{
	return (uint64_t *)((char *)o + row->offset);
}

static inline char **sfs_option_string(const struct sfs_options *o,
				       const struct sfs_option_row *row)
{
	return (char **)((char *)o + row->offset);
}

static inline struct sfs_strings *sfs_option_list(const struct sfs_options *o,
						  const struct sfs_option_row *row)
{
	return (struct sfs_strings *)((char *)o + row->offset);
}

/* Read a value into its field.  -EINVAL: *err says what was expected. */
int sfs_option_set_value(struct sfs_options *o, const struct sfs_option_row *row,
			 const char *value, struct sfs_error *err);

#endif
