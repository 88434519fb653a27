/* SPDX-License-Identifier: MIT */
#include "source/http/user-headers.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/reload.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOK_NS	   SFS_NS_PER_S
#define MOST_BYTES (64 << 10)

/* A spec: a line of its own, or a file. */
struct part {
	char *path;		     /* NULL: no file */
	struct sfs_header_file file; /* its stat all 0: look again */
	bool has_warned;
};

struct sfs_user_headers {
	struct part *parts;
	int n_parts;
	uint64_t looked_ns;
	unsigned reload; /* the request of which they were read */
	unsigned edition;
};

bool sfs_user_headers_is_line(const char *line)
{
	size_t n = strcspn(line, ":");

	return n > 0 && line[n] == ':' && !strpbrk(line, "\r\n") &&
	       strcspn(line, " \t") >= n;
}

void sfs_header_file_done(struct sfs_header_file *file)
{
	while (file->n > 0)
		free(file->lines[--file->n]);
	free(steal(&file->lines));
}

/* Split the text, in place, into its lines that are not blank. */
static int split(char *text, char ***ret_lines)
{
	char **lines = NULL, *line, *rest = text;
	int n = 0;
	size_t k;

	while ((line = strsep(&rest, "\n")) != NULL) {
		for (k = strlen(line); k > 0 && isspace((unsigned char)line[k - 1]);)
			line[--k] = 0;
		if (k == 0)
			continue;
		lines = sfs_reallocarray(lines, (size_t)n + 1, sizeof *lines);
		lines[n++] = sfs_strdup(line);
	}
	*ret_lines = lines;
	return n;
}

/* Read to the end, but at most one byte too many.  Returns how many. */
static ssize_t read_all(int fd, char *ret)
{
	size_t n = 0;
	ssize_t got = 1;

	while (got != 0 && n <= MOST_BYTES) {
		got = read(fd, ret + n, MOST_BYTES + 1 - n);
		if (got < 0 && errno != EINTR)
			return -errno;
		n += got > 0 ? (size_t)got : 0;
	}
	return (ssize_t)n;
}

static int read_text(int fd, bool may_be_pipe, char *ret, struct stat *ret_stat,
		     struct sfs_error *err)
{
	ssize_t n;

	if (fstat(fd, ret_stat) < 0)
		return sfs_error_set(err, -errno, "%s", strerror(errno));
	if (!may_be_pipe && !S_ISREG(ret_stat->st_mode))
		return sfs_error_set(err, -EINVAL, "not a regular file");
	n = read_all(fd, ret);
	if (n < 0)
		return sfs_error_set(err, (int)n, "%s", strerror((int)-n));
	if (n > MOST_BYTES)
		return sfs_error_set(err, -EINVAL, "larger than 64 KiB");
	if (memchr(ret, 0, (size_t)n))
		return sfs_error_set(err, -EINVAL, "it has a NUL in it");
	return 0;
}

int sfs_header_file_read(const char *path, bool may_be_pipe, struct sfs_header_file *ret,
			 struct sfs_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | (may_be_pipe ? 0 : O_NONBLOCK));
	sfs_autofree char *text = sfs_calloc(1, MOST_BYTES + 2);
	struct sfs_header_file file = {0};
	int i, code;

	if (fd < 0)
		return sfs_error_set(err, -errno, "%s", strerror(errno));
	code = read_text(fd, may_be_pipe, text, &file.stat, err);
	close(fd);
	if (code < 0)
		return code;
	file.n = split(text, &file.lines);
	for (i = 0; i < file.n && sfs_user_headers_is_line(file.lines[i]);)
		i++;
	if (i == file.n) {
		*ret = file;
		return 0;
	}
	sfs_header_file_done(&file);
	return sfs_error_set(err, -EINVAL, "expected 'Name: value' on each line");
}

static bool is_same(const struct sfs_header_file *a, const struct sfs_header_file *b)
{
	int i;

	if (a->n != b->n)
		return false;
	for (i = 0; i < a->n; i++)
		if (strcmp(a->lines[i], b->lines[i]) != 0)
			return false;
	return true;
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev &&
	       a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
	       a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* Once, until it can be used again. */
static void warn(struct part *part, const char *why)
{
	if (!part->has_warned)
		sfs_warning("header=@%s: %s; shufflefs keeps sending what it held before",
			    part->path, why);
	part->has_warned = true;
}

/* true: the file holds other lines than before. */
static bool read_part(struct part *part)
{
	struct sfs_header_file now, before = part->file;
	struct sfs_error err;
	bool has_changed;

	memset(&part->file.stat, 0, sizeof part->file.stat);
	if (sfs_header_file_read(part->path, false, &now, &err) < 0) {
		warn(part, err.text);
		return false;
	}
	if (now.n == 0)
		return false; /* it is being written */
	part->has_warned = false;
	part->file = now;
	has_changed = !is_same(&before, &now);
	sfs_header_file_done(&before);
	return has_changed;
}

static void init_part(struct part *part, const char *spec)
{
	size_t n = spec[0] == '@' ? strcspn(spec, "\n") : 0;
	sfs_autofree char *lines = sfs_strdup(spec + n);

	if (n > 0)
		part->path = sfs_strndup(spec + 1, n - 1);
	part->file.n = split(lines, &part->file.lines);
}

struct sfs_user_headers *sfs_user_headers_new(char **specs, int n)
{
	struct sfs_user_headers *h = sfs_calloc(1, sizeof *h);
	int i;

	h->parts = sfs_calloc((size_t)n + 1, sizeof *h->parts);
	h->n_parts = n;
	for (i = 0; i < n; i++)
		init_part(&h->parts[i], specs[i]);
	return h;
}

void sfs_user_headers_free(struct sfs_user_headers *h)
{
	int i;

	if (!h)
		return;
	for (i = 0; i < h->n_parts; i++) {
		sfs_header_file_done(&h->parts[i].file);
		free(h->parts[i].path);
	}
	free(h->parts);
	free(h);
}

bool sfs_user_headers_look(struct sfs_user_headers *h, bool must, uint64_t now_ns)
{
	bool has_changed = false;
	struct part *part;
	struct stat st;
	int i;

	must = must || h->reload != sfs_reload_edition();
	if (!must && now_ns - h->looked_ns < LOOK_NS)
		return false;
	h->reload = sfs_reload_edition();
	h->looked_ns = now_ns;
	for (i = 0; i < h->n_parts; i++) {
		part = &h->parts[i];
		if (!part->path || (!must && stat(part->path, &st) == 0 &&
				    is_same_file(&st, &part->file.stat)))
			continue;
		if (!read_part(part))
			continue;
		has_changed = true;
		sfs_info("header=@%s: read again", part->path);
	}
	h->edition += has_changed;
	return has_changed;
}

unsigned sfs_user_headers_edition(const struct sfs_user_headers *h)
{
	return h->edition;
}

int sfs_user_headers_n(const struct sfs_user_headers *h)
{
	int i, n = 0;

	for (i = 0; i < h->n_parts; i++)
		n += h->parts[i].file.n;
	return n;
}

const char *sfs_user_headers_line(const struct sfs_user_headers *h, int number)
{
	const struct part *part = h->parts;

	for (; number >= part->file.n; part++)
		number -= part->file.n;
	return part->file.lines[number];
}
