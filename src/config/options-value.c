/* SPDX-License-Identifier: MIT */
/* Reads the values of options: one function for each kind. */
#include "config/options-internal.h"

#include "base/alloc.h"
#include "order/order.h"
#include "source/http/user-headers.h"

#include <ctype.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int bad(const struct sfs_option_row *row, const char *value, const char *expected,
	       struct sfs_error *err)
{
	return sfs_error_set(err, -EINVAL, "option '%s': '%s' is not %s", row->name,
			     value, expected);
}

/* Digits only: no sign, no blank, no hexadecimal. */
static int parse_number(const char *s, uint64_t *ret)
{
	char *end;

	if (!isdigit((unsigned char)*s))
		return -EINVAL;
	errno = 0;
	*ret = strtoull(s, &end, 10);
	return errno || *end ? -EINVAL : 0;
}

int sfs_options_parse_size(const char *s, uint64_t *ret_bytes)
{
	static const char units[] = "KMGT";
	double value;
	const char *u;
	char *end;
	int shift = 0;

	if (!isdigit((unsigned char)*s))
		return -EINVAL;
	if (parse_number(s, ret_bytes) == 0)
		return 0;
	value = strtod(s, &end);
	if (strspn(s, "0123456789.") != (size_t)(end - s) || !*end)
		return -EINVAL;
	u = strchr(units, toupper((unsigned char)*end));
	if (!u)
		return -EINVAL;
	shift = 10 * (int)(u - units + 1);
	end++;
	if (strcmp(end, "iB") == 0 || strcmp(end, "B") == 0)
		end += strlen(end);
	value *= (double)(1ULL << shift);
	if (*end || value >= 9.2e18)
		return -EINVAL;
	*ret_bytes = (uint64_t)value;
	return 0;
}

static int parse_time(const char *s, uint64_t *ret_ms)
{
	static const struct {
		const char *unit;
		double ms;
	} units[] = {{"ms", 1},	  {"s", 1e3},	 {"", 1e3},
		     {"m", 60e3}, {"min", 60e3}, {"h", 3600e3}};
	double value;
	char *end;
	size_t i;

	if (!isdigit((unsigned char)*s))
		return -EINVAL;
	value = strtod(s, &end);
	if (strspn(s, "0123456789.") != (size_t)(end - s))
		return -EINVAL;
	for (i = 0; i < SFS_COUNT(units); i++) {
		if (strcmp(end, units[i].unit) != 0)
			continue;
		value *= units[i].ms;
		if (value < 1 || value > 30 * 86400e3)
			return -EINVAL;
		*ret_ms = (uint64_t)value;
		return 0;
	}
	return -EINVAL;
}

static int parse_flag(const char *s, uint64_t *ret)
{
	static const char *const words[][2] = {{"no", "yes"},
					       {"0", "1"},
					       {"false", "true"},
					       {"off", "on"}};
	size_t i;

	for (i = 0; i < SFS_COUNT(words); i++) {
		if (strcmp(s, words[i][0]) == 0 || strcmp(s, words[i][1]) == 0) {
			*ret = strcmp(s, words[i][1]) == 0;
			return 0;
		}
	}
	return -EINVAL;
}

/* The index of s in "fail|skip". */
static int parse_choice(const char *choices, const char *s, uint64_t *ret)
{
	uint64_t i = 0;
	size_t n;

	for (;; i++, choices += n + 1) {
		n = strcspn(choices, "|");
		if (n > 0 && strlen(s) == n && strncmp(s, choices, n) == 0) {
			*ret = i;
			return 0;
		}
		if (choices[n] == 0)
			return -EINVAL;
	}
}

static int parse_id(const struct sfs_option_row *row, const char *s, uint64_t *ret)
{
	const struct passwd *pw;
	const struct group *gr;

	if (strcmp(s, "-1") == 0) {
		*ret = UINT64_MAX;
		return 0;
	}
	if (parse_number(s, ret) == 0)
		return *ret < UINT32_MAX ? 0 : -EINVAL;
	if (strcmp(row->name, "uid") == 0) {
		pw = getpwnam(s);
		*ret = pw ? pw->pw_uid : 0;
		return pw ? 0 : -EINVAL;
	}
	gr = getgrnam(s);
	*ret = gr ? gr->gr_gid : 0;
	return gr ? 0 : -EINVAL;
}

static int set_range(const struct sfs_option_row *row, const char *value, uint64_t low,
		     uint64_t high, uint64_t *ret, struct sfs_error *err)
{
	char expected[80];
	uint64_t v;

	snprintf(expected, sizeof expected, "a number from %llu to %llu",
		 (unsigned long long)low, (unsigned long long)high);
	if (parse_number(value, &v) < 0 || v < low || v > high)
		return bad(row, value, expected, err);
	*ret = v;
	return 0;
}

static int set_octal(const struct sfs_option_row *row, const char *value, uint64_t *ret,
		     struct sfs_error *err)
{
	if (!*value || strspn(value, "01234567") != strlen(value) || strlen(value) > 4)
		return bad(row, value, "an octal number like 022", err);
	*ret = strtoull(value, NULL, 8);
	return 0;
}

/* Links stay, as they may lead to another file later. */
static char *absolute_path(const char *path)
{
	sfs_autofree char *cwd = path[0] == '/' ? NULL : getcwd(NULL, 0);

	return cwd ? sfs_asprintf("%s/%s", cwd, path) : sfs_strdup(path);
}

/* A pipe of the shell or a descriptor can be read only once. */
static bool can_be_read_again(const char *path, const struct sfs_header_file *file)
{
	return strncmp(path, "/dev/", 5) != 0 && strncmp(path, "/proc/", 6) != 0 &&
	       S_ISREG(file->stat.st_mode);
}

static int add_header_file(const struct sfs_option_row *row, const char *path,
			   struct sfs_options *o, struct sfs_error *err)
{
	sfs_autofree char *name = absolute_path(path);
	struct sfs_header_file file;
	struct sfs_strbuf spec = {0};
	struct sfs_error why;
	int ret, i;

	ret = sfs_header_file_read(path, false, true, &file, &why);
	if (ret < 0)
		return sfs_error_set(err, ret, "option '%s': %s: %s", row->name, path,
				     why.text);
	sfs_strbuf_printf(&spec, "@%s", name);
	for (i = 0; i < file.lines.n; i++) {
		sfs_strbuf_printf(&spec, "\n%s", file.lines.s[i]);
		sfs_strings_add(&o->headers, file.lines.s[i]);
		if (!can_be_read_again(path, &file))
			sfs_strings_add(&o->header_specs, file.lines.s[i]);
	}
	if (can_be_read_again(path, &file))
		sfs_strings_add(&o->header_specs, spec.s);
	sfs_strbuf_done(&spec);
	sfs_header_lines_done(&file.lines);
	return 0;
}

/* A line, or "@FILE". */
static int set_header(const struct sfs_option_row *row, const char *value,
		      struct sfs_options *o, struct sfs_error *err)
{
	if (*value == '@')
		return add_header_file(row, value + 1, o, err);
	if (!sfs_header_lines_is_one(value))
		return sfs_error_set(err, -EINVAL, "option '%s': expected 'Name: value'",
				     row->name);
	sfs_strings_add(&o->headers, value);
	sfs_strings_add(&o->header_specs, value);
	return 0;
}

static bool is_identity(const char *s)
{
	return strlen(s) == 16 && strspn(s, "0123456789abcdef") == 16;
}

/* "shard", "sample", "random", or a size. */
static int set_segment(const struct sfs_option_row *row, const char *value, uint64_t *ret,
		       struct sfs_error *err)
{
	uint64_t v;

	if (strcmp(value, "shard") == 0)
		v = SFS_SEGMENT_SHARD;
	else if (strcmp(value, "sample") == 0)
		v = SFS_SEGMENT_SAMPLE;
	else if (strcmp(value, "random") == 0)
		v = SFS_SEGMENT_RANDOM;
	else if (sfs_options_parse_size(value, &v) < 0 || v < SFS_SEGMENT_SIZE_MIN)
		return bad(row, value,
			   "shard, random, sample, or a size of at least 512, like 1M",
			   err);
	*ret = v;
	return 0;
}

int sfs_option_set_value(struct sfs_options *o, const struct sfs_option_row *row,
			 const char *value, struct sfs_error *err)
{
	uint64_t *number = sfs_option_number(o, row), v;
	char expected[80];

	switch (row->kind) {
	case NUMBER: return set_range(row, value, 0, UINT64_MAX, number, err);
	case LANES: return set_range(row, value, 1, SFS_LANES_MAX, number, err);
	case SEGMENT: return set_segment(row, value, number, err);
	case CONNECTIONS: return set_range(row, value, 1, 1024, number, err);
	case RETRIES: return set_range(row, value, 0, 1000, number, err);
	case OCTAL: return set_octal(row, value, number, err);
	case BUDGET:
		if (strcmp(value, "auto") == 0) {
			*number = 0;
			return 0;
		}
		/* fall through */
	case SIZE:
		if (sfs_options_parse_size(value, &v) < 0)
			return bad(row, value, "a size like 256M or 4G", err);
		*number = v;
		return 0;
	case TIME:
		if (parse_time(value, &v) < 0)
			return bad(row, value, "a time like 500ms, 30s or 5m", err);
		*number = v;
		return 0;
	case FLAG:
		if (parse_flag(value, &v) < 0)
			return bad(row, value, "yes or no", err);
		*number = v;
		return 0;
	case CHOICE:
		if (parse_choice(row->argument, value, &v) < 0) {
			snprintf(expected, sizeof expected, "one of %s", row->argument);
			return bad(row, value, expected, err);
		}
		*number = v;
		return 0;
	case ID:
		if (parse_id(row, value, &v) < 0)
			return bad(row, value, "a number or a name on this system", err);
		*number = v;
		return 0;
	case IDENTITY:
		if (*value && !is_identity(value))
			return bad(row, value, "a number of 16 hexadecimal digits", err);
		/* fall through */
	case STRING:
		free(*sfs_option_string(o, row));
		*sfs_option_string(o, row) = *value ? sfs_strdup(value) : NULL;
		return 0;
	case PATH:
		free(*sfs_option_string(o, row));
		*sfs_option_string(o, row) = *value ? absolute_path(value) : NULL;
		return 0;
	case LIST: return *value ? set_header(row, value, o, err) : 0;
	}
	return 0;
}
