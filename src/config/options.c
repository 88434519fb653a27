/* SPDX-License-Identifier: MIT */
/* How this works: options.def expands to the rows of a table.  A row knows its kind, and
 * each kind has one function that reads a value.  All numbers are uint64_t, so a row
 * needs just an offset. */
#include "config/options.h"

#include "base/alloc.h"
#include "order/order.h"
#include "source/http/user-headers.h"
#include "source/uri.h"

#include <ctype.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
	IDENTITY,
	LIST
};

struct row {
	enum section group;
	const char *name;
	enum kind kind;
	size_t offset;
	const char *initial, *argument, *help;
};

#define OPTION(group, name, kind, field, initial, argument, help) \
	{group, name, kind, offsetof(struct sfs_options, field), initial, argument, help},
static const struct row rows[] = {
#include "config/options.def"
};

static const char *const group_titles[N_GROUPS] = {"The order of samples", "Sources",
						   "Mounts and memory"};

/* Flags of mount(8): passed to the kernel, or without meaning for a program. */
static const char *const kernel_flags[] = {"nosuid", "nodev", "noexec",	 "suid",
					   "dev",    "exec",  "noatime", "nodiratime"};
static const char *const idle_flags[] = {"ro",	   "defaults", "auto", "noauto",
					 "nofail", "_netdev",  "user", "users",
					 "nouser", "owner",    "group"};

void sfs_strings_add(struct sfs_strings *list, const char *s)
{
	list->s = sfs_reallocarray(list->s, (size_t)list->n + 1, sizeof *list->s);
	list->s[list->n++] = sfs_strdup(s);
}

void sfs_strings_done(struct sfs_strings *list)
{
	while (list->n > 0)
		free(list->s[--list->n]);
	free(steal(&list->s));
}

static uint64_t *number_of(const struct sfs_options *o, const struct row *row)
{
	return (uint64_t *)((char *)o + row->offset);
}

static char **string_of(const struct sfs_options *o, const struct row *row)
{
	return (char **)((char *)o + row->offset);
}

static struct sfs_strings *list_of(const struct sfs_options *o, const struct row *row)
{
	return (struct sfs_strings *)((char *)o + row->offset);
}

/* ---- values ---- */

static int bad(const struct row *row, const char *value, const char *expected,
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

static int parse_id(const struct row *row, const char *s, uint64_t *ret)
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

static int set_range(const struct row *row, const char *value, uint64_t low,
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

static int set_octal(const struct row *row, const char *value, uint64_t *ret,
		     struct sfs_error *err)
{
	if (!*value || strspn(value, "01234567") != strlen(value) || strlen(value) > 4)
		return bad(row, value, "an octal number like 022", err);
	*ret = strtoull(value, NULL, 8);
	return 0;
}

/* Add a header line: it must be a single line, with a name. */
static int add_header(const struct row *row, const char *line, struct sfs_strings *list,
		      struct sfs_error *err)
{
	if (!sfs_user_headers_is_line(line))
		return sfs_error_set(err, -EINVAL, "option '%s': expected 'Name: value'",
				     row->name);
	sfs_strings_add(list, line);
	return 0;
}

/* "@" and the absolute path.  Links stay, as they may lead to another file later. */
static char *absolute_spec(const char *path)
{
	sfs_autofree char *cwd = path[0] == '/' ? NULL : getcwd(NULL, 0);

	return cwd ? sfs_asprintf("@%s/%s", cwd, path) : sfs_asprintf("@%s", path);
}

/* Keep the lines that were read from a file.  A pipe of the shell or a descriptor can be
 * read only once. */
static void add_header_spec(struct sfs_options *o, const char *path, int fd, int first)
{
	bool is_file = strncmp(path, "/dev/", 5) != 0 && strncmp(path, "/proc/", 6) != 0;
	sfs_autofree char *name = absolute_spec(path);
	struct sfs_strbuf spec = {0};
	struct stat st;

	is_file = is_file && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
	sfs_strbuf_puts(&spec, name);
	for (; first < o->headers.n; first++) {
		sfs_strbuf_printf(&spec, "\n%s", o->headers.s[first]);
		if (!is_file)
			sfs_strings_add(&o->header_specs, o->headers.s[first]);
	}
	if (is_file)
		sfs_strings_add(&o->header_specs, spec.s);
	sfs_strbuf_done(&spec);
}

static int add_header_file(const struct row *row, const char *path, struct sfs_options *o,
			   struct sfs_error *err)
{
	sfs_autofree char *line = NULL;
	int ret = 0, n_before = o->headers.n;
	size_t capacity = 0;
	ssize_t n;
	FILE *f = fopen(path, "re");

	if (!f)
		return sfs_error_set(err, -errno, "option '%s': %s: %s", row->name, path,
				     strerror(errno));
	while (ret == 0 && (n = getline(&line, &capacity, f)) > 0) {
		while (n > 0 && isspace((unsigned char)line[n - 1]))
			line[--n] = 0;
		if (n > 0)
			ret = add_header(row, line, &o->headers, err);
	}
	if (ret == 0)
		add_header_spec(o, path, fileno(f), n_before);
	fclose(f);
	return ret;
}

/* A line, or "@FILE". */
static int set_header(const struct row *row, const char *value, struct sfs_options *o,
		      struct sfs_error *err)
{
	int ret;

	if (*value == '@')
		return add_header_file(row, value + 1, o, err);
	ret = add_header(row, value, &o->headers, err);
	if (ret == 0)
		sfs_strings_add(&o->header_specs, value);
	return ret;
}

static bool is_identity(const char *s)
{
	return strlen(s) == 16 && strspn(s, "0123456789abcdef") == 16;
}

/* "shard", "sample", or a size. */
static int set_segment(const struct row *row, const char *value, uint64_t *ret,
		       struct sfs_error *err)
{
	uint64_t v;

	if (strcmp(value, "shard") == 0)
		v = SFS_SEGMENT_SHARD;
	else if (strcmp(value, "sample") == 0)
		v = SFS_SEGMENT_SAMPLE;
	else if (sfs_options_parse_size(value, &v) < 0 || v < SFS_SEGMENT_SIZE_MIN)
		return bad(row, value,
			   "shard, sample, or a size of at least 512, like 1M", err);
	*ret = v;
	return 0;
}

static int set_value(struct sfs_options *o, const struct row *row, const char *value,
		     struct sfs_error *err)
{
	uint64_t *number = number_of(o, row), v;
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
		free(*string_of(o, row));
		*string_of(o, row) = *value ? sfs_strdup(value) : NULL;
		return 0;
	case LIST: return *value ? set_header(row, value, o, err) : 0;
	}
	return 0;
}

/* ---- names ---- */

static const struct row *find_row(const char *name)
{
	size_t i;

	for (i = 0; i < SFS_COUNT(rows); i++)
		if (strcmp(rows[i].name, name) == 0)
			return &rows[i];
	return NULL;
}

static int no_such(const char *name, struct sfs_error *err)
{
	const char *nearest = NULL;
	size_t i, d, least = 3;

	for (i = 0; i < SFS_COUNT(rows); i++) {
		d = sfs_strbuf_distance(name, rows[i].name);
		if (d < least) {
			least = d;
			nearest = rows[i].name;
		}
	}
	if (nearest)
		return sfs_error_set(err, -EINVAL, "no option '%s'; did you mean '%s'?",
				     name, nearest);
	/* A value with a comma, which may be a secret. */
	if (name[strcspn(name, ": ")])
		return sfs_error_set(
			err, -EINVAL,
			"no option '%.*s...'; write a comma in a value as '\\,'",
			(int)strcspn(name, ": "), name);
	return sfs_error_set(err, -EINVAL, "no option '%s'", name);
}

static bool is_one_of(const char *name, const char *const *names, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/* Handle a flag of mount(8).  false: it is none. */
static bool set_mount_flag(struct sfs_options *o, const char *name)
{
	char *all;

	if (is_one_of(name, idle_flags, SFS_COUNT(idle_flags)) ||
	    strncmp(name, "x-", 2) == 0)
		return true;
	if (!is_one_of(name, kernel_flags, SFS_COUNT(kernel_flags)))
		return false;
	all = sfs_asprintf("%s%s%s", o->kernel ? o->kernel : "", o->kernel ? "," : "",
			   name);
	free(o->kernel);
	o->kernel = all;
	return true;
}

int sfs_options_set(struct sfs_options *o, const char *name, const char *value,
		    const char *origin, struct sfs_error *err)
{
	const struct row *row = find_row(name);
	char **was;
	int ret;

	if (!row && strcmp(name, "rw") == 0)
		return sfs_error_set(err, -EINVAL,
				     "a shufflefs mount is read-only; remove 'rw'");
	if (!row && set_mount_flag(o, name))
		return 0;
	if (!row)
		return no_such(name, err);
	if (!value && row->kind != FLAG)
		return sfs_error_set(err, -EINVAL, "option '%s' needs a value: %s=%s",
				     name, name, row->argument);
	ret = set_value(o, row, value ? value : "yes", err);
	if (ret < 0)
		return ret;
	was = &o->origins[row - rows];
	free(*was);
	*was = sfs_strdup(origin);
	return 0;
}

/* Cut the next item from a list, at a comma without a backslash. */
static char *next_item(const char **list)
{
	char *item = sfs_malloc(strlen(*list) + 1), *p = item;
	const char *s = *list;

	for (; *s && *s != ','; s++) {
		if (*s == '\\' && (s[1] == ',' || s[1] == '\\'))
			s++;
		*p++ = *s;
	}
	*p = 0;
	*list = *s ? s + 1 : s;
	return item;
}

int sfs_options_set_list(struct sfs_options *o, const char *list, const char *origin,
			 struct sfs_error *err)
{
	char *equals;
	int ret = 0;

	while (ret == 0 && *list) {
		sfs_autofree char *item = next_item(&list);

		if (!*item)
			continue;
		equals = strchr(item, '=');
		if (equals)
			*equals++ = 0;
		ret = sfs_options_set(o, item, equals, origin, err);
	}
	return ret;
}

int sfs_options_has_argument(const char *name, struct sfs_error *err)
{
	const struct row *row = find_row(name);

	return row ? row->kind != FLAG : no_such(name, err);
}

void sfs_options_init(struct sfs_options *o)
{
	size_t i;

	*o = (struct sfs_options){0};
	o->origins = sfs_calloc(SFS_COUNT(rows), sizeof *o->origins);
	for (i = 0; i < SFS_COUNT(rows); i++) {
		set_value(o, &rows[i], rows[i].initial, NULL);
		o->origins[i] = sfs_strdup("default");
	}
}

void sfs_options_done(struct sfs_options *o)
{
	size_t i;

	for (i = 0; i < SFS_COUNT(rows); i++) {
		if (rows[i].kind == STRING || rows[i].kind == IDENTITY)
			free(steal(string_of(o, &rows[i])));
		else if (rows[i].kind == LIST)
			sfs_strings_done(list_of(o, &rows[i]));
		if (o->origins)
			free(o->origins[i]);
	}
	free(steal(&o->origins));
	free(steal(&o->kernel));
	free(steal(&o->index_to));
	sfs_strings_done(&o->header_specs);
}

/* ---- output for users ---- */

static void print_choice(const char *choices, uint64_t i, struct sfs_strbuf *text)
{
	while (i-- > 0)
		choices += strcspn(choices, "|") + 1;
	sfs_strbuf_add(text, choices, strcspn(choices, "|"));
}

/* A URL may contain a password, and that of a proxy may lack its scheme. */
static void print_string(const struct row *row, const char *value,
			 struct sfs_strbuf *text)
{
	sfs_autofree char *shown = NULL;

	if (strcmp(row->name, "proxy") == 0)
		shown = sfs_strdup("(set)");
	else if (sfs_uri_has_scheme(value))
		shown = sfs_uri_redact(value);
	sfs_strbuf_puts(text, shown ? shown : value);
}

void sfs_options_print_segment(uint64_t segment, struct sfs_strbuf *text)
{
	static const char units[] = " KMG";
	int u = 0;

	if (segment == SFS_SEGMENT_SHARD || segment == SFS_SEGMENT_SAMPLE) {
		sfs_strbuf_puts(text, segment == SFS_SEGMENT_SHARD ? "shard" : "sample");
		return;
	}
	for (; segment % 1024 == 0 && u < 3; u++)
		segment /= 1024;
	sfs_strbuf_printf(text, "%llu%.*s", (unsigned long long)segment, u > 0,
			  &units[u]);
}

static void print_value(const struct sfs_options *o, const struct row *row,
			struct sfs_strbuf *text)
{
	uint64_t v = row->kind < STRING ? *number_of(o, row) : 0;
	const struct sfs_strings *list;
	char buf[32];
	int i;

	switch (row->kind) {
	case BUDGET:
	case SIZE: sfs_strbuf_puts(text, sfs_format_size(v, buf)); break;
	case TIME:
		sfs_strbuf_printf(text, v % 1000 ? "%llums" : "%llus",
				  (unsigned long long)(v % 1000 ? v : v / 1000));
		break;
	case SEGMENT: sfs_options_print_segment(v, text); break;
	case FLAG: sfs_strbuf_puts(text, v ? "yes" : "no"); break;
	case CHOICE: print_choice(row->argument, v, text); break;
	case OCTAL: sfs_strbuf_printf(text, "%03llo", (unsigned long long)v); break;
	case ID: sfs_strbuf_printf(text, "%lld", (long long)v); break;
	case IDENTITY:
	case STRING:
		if (*string_of(o, row))
			print_string(row, *string_of(o, row), text);
		break;
	case LIST: /* values of headers are often secrets: print only names */
		list = list_of(o, row);
		for (i = 0; i < list->n; i++)
			sfs_strbuf_printf(text, "%s%.*s: ***", i ? ", " : "",
					  (int)strcspn(list->s[i], ":"), list->s[i]);
		break;
	default: sfs_strbuf_printf(text, "%llu", (unsigned long long)v);
	}
}

void sfs_options_print(const struct sfs_options *o, struct sfs_strbuf *text)
{
	struct sfs_strbuf line = {0};
	size_t i;

	for (i = 0; i < SFS_COUNT(rows); i++) {
		sfs_strbuf_printf(&line, "%s = ", rows[i].name);
		print_value(o, &rows[i], &line);
		sfs_strbuf_printf(text, "%-40s # %s\n", line.s, o->origins[i]);
		sfs_strbuf_done(&line);
	}
}

/* The length of the first sentence. */
static int first_sentence(const char *help)
{
	const char *end = strstr(help, ". ");

	return end ? (int)(end - help + 1) : (int)strlen(help);
}

static void help_plain(const struct row *row, struct sfs_strbuf *text)
{
	struct sfs_strbuf left = {0};

	sfs_strbuf_printf(&left, "  %s%s%s", row->name, *row->argument ? "=" : "",
			  row->argument);
	sfs_strbuf_printf(text, "%-36s %.*s", left.s, first_sentence(row->help),
			  row->help);
	if (*row->initial && row->kind != FLAG && row->kind != ID)
		sfs_strbuf_printf(text, " [%s]", row->initial);
	sfs_strbuf_puts(text, "\n");
	sfs_strbuf_done(&left);
}

/* As mdoc wants it: each sentence starts a line, and lines have at most 80 characters. */
static void add_sentences(struct sfs_strbuf *text, const char *words)
{
	size_t column = 0, n;

	for (; *words; words += n + (words[n] == ' ')) {
		n = strcspn(words, " ");
		if (column > 0 && column + n > 78)
			column = 0, sfs_strbuf_puts(text, "\n");
		if (column > 0)
			sfs_strbuf_puts(text, " ");
		else if (words[0] == '.')
			sfs_strbuf_puts(text, "\\&"); /* no macro */
		sfs_strbuf_add(text, words, n);
		column += n + 1;
		if (words[n - 1] == '.')
			column = 0, sfs_strbuf_puts(text, "\n");
	}
}

static void help_mdoc(const struct row *row, struct sfs_strbuf *text)
{
	sfs_strbuf_printf(text, ".It Cm %s", row->name);
	if (*row->argument)
		sfs_strbuf_printf(text, " Ns = Ns Ar %s", row->argument);
	sfs_strbuf_puts(text, "\n");
	add_sentences(text, row->help);
	if (*row->initial && row->kind != FLAG && row->kind != ID)
		sfs_strbuf_printf(text, "The default is\n.Cm %s .\n", row->initial);
}

void sfs_options_help(struct sfs_strbuf *text, bool as_mdoc)
{
	size_t i;
	int g;

	for (g = 0; g < N_GROUPS; g++) {
		sfs_strbuf_printf(text,
				  as_mdoc ? ".Ss %s\n.Bl -tag -width Ds\n" : "\n%s:\n",
				  group_titles[g]);
		for (i = 0; i < SFS_COUNT(rows); i++) {
			if ((int)rows[i].group != g)
				continue;
			if (as_mdoc)
				help_mdoc(&rows[i], text);
			else
				help_plain(&rows[i], text);
		}
		if (as_mdoc)
			sfs_strbuf_puts(text, ".El\n");
	}
}
