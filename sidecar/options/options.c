/* SPDX-License-Identifier: MIT */
#include "options/options.h"

#include "base/alloc.h"
#include "config/help-text.h"
#include "config/options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum kind { KIND_NUMBER, KIND_SIZE, KIND_PERCENT, KIND_TEXT, KIND_FLAG, KIND_CHOICE };

static const struct row {
	unsigned commands;
	const char *name, *argument, *help;
	struct {
		enum kind kind;
		uint64_t least, most;
	} type;
	struct { /* in struct shufflefs_forward; n_bytes 0: not there */
		size_t at, n_bytes;
		uint32_t flag; /* of flags; 0: all of it */
	} in_forward;
} rows[] = {
#define SEND	SFS_SIDECAR_SEND
#define RECV	SFS_SIDECAR_RECV
#define FORWARD SFS_SIDECAR_FORWARD
#define BATCHES SFS_SIDECAR_BATCHES
/* clang-format off: a line here is a line there */
#define NUMBER(least, most) {KIND_NUMBER, least, most}
#define SIZE(least)	    {KIND_SIZE, least, UINT64_MAX}
#define PERCENT		    {KIND_PERCENT, 0, 1000000}
#define TEXT		    {KIND_TEXT, 0, 0}
#define FLAG		    {KIND_FLAG, 0, 0}
#define CHOICE		    {KIND_CHOICE, 0, 0}
#define FIELD(m) \
	offsetof(struct shufflefs_forward, m), sizeof((struct shufflefs_forward *)0)->m
#define MEMBER(m)	    {FIELD(m), 0}
#define BIT(flag)	    {FIELD(flags), flag}
#define NOWHERE		    {0, 0, 0}
/* clang-format on */
#define OPTION(commands, ID, name, kind, argument, in_forward, help) \
	[SFS_SIDECAR_##ID] = {commands, name, argument, help, kind, in_forward},
#include "options/options.def"
};

/* ---- values ---- */

/* Which of the words a|b|c it is; their number: none. */
static uint64_t find_word(const char *words, const char *text)
{
	uint64_t i = 0;
	size_t n;

	for (;; i++) {
		n = strcspn(words, "|");
		if (strlen(text) == n && strncmp(words, text, n) == 0)
			return i;
		if (!words[n])
			return i + 1;
		words += n + 1;
	}
}

static uint64_t count_words(const char *words)
{
	return find_word(words, "|");
}

static char *get_word(const char *words, uint64_t i)
{
	for (; i > 0; i--)
		words += strcspn(words, "|") + 1;
	return sfs_strndup(words, strcspn(words, "|"));
}

/* "a, b or c" */
static char *list_words(const char *words)
{
	struct sfs_strbuf text = {0};
	uint64_t i, n = count_words(words);

	for (i = 0; i < n; i++) {
		sfs_autofree char *word = get_word(words, i);

		sfs_strbuf_printf(&text, "%s%s",
				  i == 0       ? ""
				  : i + 1 == n ? " or "
					       : ", ",
				  word);
	}
	return text.s;
}

static int read_number(const struct row *row, const char *text, uint64_t *ret,
		       struct sfs_error *err)
{
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end || errno || n < row->type.least ||
	    n > row->type.most)
		return sfs_error_set(err, -EINVAL,
				     "--%s: '%s' is not a number from %llu to %llu",
				     row->name, text, (unsigned long long)row->type.least,
				     (unsigned long long)row->type.most);
	*ret = n;
	return 0;
}

static int read_size(const struct row *row, const char *text, uint64_t *ret,
		     struct sfs_error *err)
{
	char least[32];

	if (sfs_options_parse_size(text, ret) == 0 && *ret >= row->type.least)
		return 0;
	return sfs_error_set(
		err, -EINVAL,
		"--%s: '%s' is not a size of at least %s, such as 512M or 4G", row->name,
		text, sfs_format_size(row->type.least, least));
}

/* "0.5" or "0.5%" in millionths: 5000. */
static int read_percent(const struct row *row, const char *text, uint64_t *ret,
			struct sfs_error *err)
{
	char *end;
	double n = strtod(text, &end);

	if (text[0] < '0' || text[0] > '9' || (*end && strcmp(end, "%") != 0) ||
	    !(n >= 0 && n <= 100))
		return sfs_error_set(err, -EINVAL,
				     "--%s: '%s' is not a percentage from 0 to 100",
				     row->name, text);
	*ret = (uint64_t)(n * 10000 + 0.5);
	return 0;
}

static int read_choice(const struct row *row, const char *text, uint64_t *ret,
		       struct sfs_error *err)
{
	sfs_autofree char *words = NULL;
	uint64_t i = find_word(row->argument, text);

	if (i < count_words(row->argument)) {
		*ret = i;
		return 0;
	}
	words = list_words(row->argument);
	return sfs_error_set(err, -EINVAL, "--%s is %s, not '%s'", row->name, words,
			     text);
}

int sfs_sidecar_option_set(struct sfs_sidecar_values *v, enum sfs_sidecar_option_id id,
			   const char *text, struct sfs_error *err)
{
	const struct row *row = &rows[id];

	v->is_given[id] = true;
	v->texts[id] = text;
	switch (row->type.kind) {
	case KIND_NUMBER: return read_number(row, text, &v->numbers[id], err);
	case KIND_SIZE: return read_size(row, text, &v->numbers[id], err);
	case KIND_PERCENT: return read_percent(row, text, &v->numbers[id], err);
	case KIND_CHOICE: return read_choice(row, text, &v->numbers[id], err);
	case KIND_FLAG: v->numbers[id] = 1; break;
	case KIND_TEXT: break;
	}
	return 0;
}

const char *sfs_sidecar_option_name(enum sfs_sidecar_option_id id, unsigned command,
				    bool *ret_has_value)
{
	*ret_has_value = rows[id].type.kind != KIND_FLAG;
	return rows[id].commands & command ? rows[id].name : NULL;
}

#define FIRST_ID 256 /* of getopt_long()'s values */

int sfs_sidecar_options_parse(struct sfs_sidecar_values *v, unsigned command, int argc,
			      char **argv, struct sfs_error *err)
{
	struct option options[SFS_SIDECAR_OPTIONS + 1] = {0};
	bool has_value;
	const char *name;
	int i, n = 0, ret;

	for (i = 0; i < SFS_SIDECAR_OPTIONS; i++) {
		name = sfs_sidecar_option_name((enum sfs_sidecar_option_id)i, command,
					       &has_value);
		if (name)
			options[n++] = (struct option){name,
						       has_value ? required_argument
								 : no_argument,
						       NULL, FIRST_ID + i};
	}
	while ((i = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (i < FIRST_ID)
			return -EINVAL; /* getopt_long() has said why */
		ret = sfs_sidecar_option_set(v,
					     (enum sfs_sidecar_option_id)(i - FIRST_ID),
					     optarg, err);
		if (ret < 0)
			return ret;
	}
	return optind;
}

int sfs_sidecar_options_check_samples(const struct sfs_sidecar_values *v,
				      struct sfs_error *err)
{
	int i;

	for (i = 0; i < SFS_SIDECAR_OPTIONS; i++)
		if (v->is_given[i] && rows[i].commands & SFS_SIDECAR_BATCHES)
			return sfs_error_set(err, -EINVAL,
					     "--%s is for batches, but samples: gives "
					     "samples as they are; leave it out",
					     rows[i].name);
	return 0;
}

/* ---- the ioctl ---- */

static uint64_t get_number(const struct row *row, const struct shufflefs_forward *f)
{
	const char *p = (const char *)f + row->in_forward.at;
	uint32_t n32;
	uint64_t n;

	memcpy(&n32, p, sizeof n32);
	if (row->in_forward.n_bytes == sizeof n32)
		return row->in_forward.flag ? (n32 & row->in_forward.flag) != 0 : n32;
	memcpy(&n, p, sizeof n);
	return n;
}

static void put_number(const struct row *row, uint64_t n, struct shufflefs_forward *f)
{
	char *p = (char *)f + row->in_forward.at;
	uint32_t n32 = (uint32_t)n;

	if (row->in_forward.flag)
		f->flags |= n ? row->in_forward.flag : 0;
	else if (row->in_forward.n_bytes == sizeof n32)
		memcpy(p, &n32, sizeof n32);
	else
		memcpy(p, &n, sizeof n);
}

int sfs_sidecar_options_to_forward(const struct sfs_sidecar_values *v,
				   struct shufflefs_forward *f, struct sfs_error *err)
{
	const struct row *row;
	int i;

	for (i = 0; i < SFS_SIDECAR_OPTIONS; i++) {
		row = &rows[i];
		if (!v->is_given[i] || row->in_forward.n_bytes == 0)
			continue;
		if (row->type.kind == KIND_PERCENT && v->numbers[i] == 0)
			put_number(row, 1, f); /* the least: 0 is the default */
		else if (row->type.kind != KIND_TEXT)
			put_number(row, v->numbers[i], f);
		else if (strlen(v->texts[i]) >= row->in_forward.n_bytes)
			return sfs_error_set(err, -EINVAL,
					     "--%s is longer than %zu bytes",
					     row->name, row->in_forward.n_bytes - 1);
		else
			strcpy((char *)f + row->in_forward.at, v->texts[i]);
	}
	return 0;
}

char *sfs_sidecar_option_of_forward(enum sfs_sidecar_option_id id,
				    const struct shufflefs_forward *f)
{
	const struct row *row = &rows[id];
	sfs_autofree char *word = NULL;
	const char *text = (const char *)f + row->in_forward.at;
	uint64_t n;

	if (row->in_forward.n_bytes == 0 || !(row->commands & SFS_SIDECAR_SEND))
		return NULL;
	if (row->type.kind == KIND_TEXT)
		return *text ? sfs_asprintf("--%s=%s", row->name, text) : NULL;
	n = get_number(row, f);
	if (n == 0)
		return NULL;
	if (row->type.kind == KIND_FLAG)
		return sfs_asprintf("--%s", row->name);
	if (row->type.kind == KIND_NUMBER)
		return sfs_asprintf("--%s=%llu", row->name, (unsigned long long)n);
	if (row->type.kind == KIND_PERCENT)
		return sfs_asprintf("--%s=%g", row->name, (double)n / 10000);
	word = get_word(row->argument, n);
	return sfs_asprintf("--%s=%s", row->name, word);
}

int sfs_sidecar_options_check_choices(const struct shufflefs_forward *f,
				      struct sfs_error *err)
{
	int i;

	for (i = 0; i < SFS_SIDECAR_OPTIONS; i++)
		if (rows[i].type.kind == KIND_CHOICE && rows[i].in_forward.n_bytes > 0 &&
		    get_number(&rows[i], f) >= count_words(rows[i].argument))
			return sfs_error_set(err, -EINVAL, "%s: there is no such policy",
					     rows[i].name);
	return 0;
}

/* ---- help ---- */

#define HELP_COLUMN 30

/* The first sentence, without its full stop. */
static void help_plain(const struct row *row, struct sfs_strbuf *text)
{
	sfs_autofree char *left = sfs_asprintf("  --%s%s%s", row->name,
					       *row->argument ? "=" : "", row->argument);
	sfs_autofree char *words =
		sfs_strndup(row->help, sfs_help_sentence(row->help) - 1);

	sfs_help_add_row(text, left, HELP_COLUMN, words);
}

static void help_mdoc(const struct row *row, struct sfs_strbuf *text)
{
	sfs_strbuf_printf(text, ".It Fl -%s%s%s\n", row->name,
			  *row->argument ? " Ns = Ns Ar " : "", row->argument);
	sfs_help_add_sentences(text, row->help);
}

void sfs_sidecar_options_help(unsigned command, bool as_mdoc, struct sfs_strbuf *text)
{
	int i;

	if (as_mdoc)
		sfs_strbuf_puts(text, ".Bl -tag -width Ds\n");
	for (i = 0; i < SFS_SIDECAR_OPTIONS; i++) {
		if (!(rows[i].commands & command))
			continue;
		if (as_mdoc)
			help_mdoc(&rows[i], text);
		else
			help_plain(&rows[i], text);
	}
	if (as_mdoc)
		sfs_strbuf_puts(text, ".El\n");
}
