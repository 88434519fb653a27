/* SPDX-License-Identifier: MIT */
/* Ini files.  An input that begins with 'V' is a value: written as a source of a dataset
 * it must arrive as it is, however long it is.  All others are the file itself. */
#include "fuzz.h"

#include "config/ini.h"

#include <ctype.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

struct outcome {
	struct sfs_options options;
	struct sfs_strings sources;
	struct sfs_error err;
	bool has_section;
	int ret;
};

static void done(struct outcome *got)
{
	sfs_options_done(&got->options);
	sfs_strings_done(&got->sources);
}

static void read_config(const char *bytes, size_t n, const char *name,
			struct outcome *got)
{
	int fd = memfd_create("conf", MFD_CLOEXEC);
	char path[64];

	*got = (struct outcome){0};
	sfs_options_init(&got->options);
	MUST(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	got->ret = sfs_ini_read(path, name, &got->options, &got->sources,
				&got->has_section, &got->err);
	close(fd);
	MUST(got->ret <= 0 && (got->ret == 0) == !got->err.text[0]);
	MUST(got->ret == 0 || strncmp(got->err.text, path, strlen(path)) == 0);
}

/* Is it what an ini file can hold: one line, no comment, no blanks around it? */
static bool is_plain(const char *value)
{
	const char *p;

	if (!*value || isspace((unsigned char)*value) ||
	    isspace((unsigned char)value[strlen(value) - 1]))
		return false;
	for (p = value; *p; p++)
		if (iscntrl((unsigned char)*p) ||
		    (*p == ';' && (p == value || p[-1] == ' ')))
			return false;
	return true;
}

/* inih takes lines of 200 bytes, and blanks and comment signs cannot stand at a cut: a
 * value with no place for one in so many bytes may be refused, but not changed. */
static bool cannot_be_cut(const char *value)
{
	size_t run = 0, i;

	for (i = 1; i < strlen(value) && run < 150; i++)
		run = value[i - 1] != ' ' && !strchr(" ;#", value[i]) ? 0 : run + 1;
	return run >= 150;
}

static void value_arrives(const char *value)
{
	char *file = malloc(2 * strlen(value) + 100);
	struct outcome got;
	size_t n;

	n = (size_t)sprintf(
		file, "seed=7\n[d]\nsource = %s\nlanes = 3 \nsource=%s\n[e]\nseed=8\n",
		value, value);
	read_config(file, n, "d", &got);
	MUST(got.ret == 0 || cannot_be_cut(value));
	if (got.ret == 0) {
		MUST(got.has_section && got.sources.n == 2);
		MUST(strcmp(got.sources.s[0], value) == 0);
		MUST(strcmp(got.sources.s[1], value) == 0);
		MUST(got.options.seed == 7 && got.options.lanes == 3);
	}
	done(&got);
	free(file);
}

static void any_file(const uint8_t *data, size_t n)
{
	char *bytes = fuzz_copy(data, n);
	struct outcome got;
	size_t i;

	for (i = 0; i < n; i++)
		bytes[i] = bytes[i] == '@' ? 'A'
					   : bytes[i]; /* header=@/dev/stdin would wait */
	read_config(bytes, n, NULL, &got);
	MUST(!got.has_section);
	done(&got);
	read_config(bytes, n, "d", &got);
	done(&got);
	free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *value;

	if (n > 0 && data[0] == 'V') {
		value = fuzz_string(data + 1, n - 1);
		if (is_plain(value))
			value_arrives(value);
		free(value);
	} else {
		any_file(data, n);
	}
	return 0;
}
