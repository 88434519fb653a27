/* SPDX-License-Identifier: MIT */
#include "source/http/user-headers.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"

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
	char *path; /* NULL: no file */
	char **lines;
	int n;
	struct stat stat; /* of the file as it was read; all 0: look again */
	bool has_warned;
};

struct sfs_user_headers {
	struct part *parts;
	int n_parts;
	uint64_t looked_ns;
	unsigned edition;
};

bool sfs_user_headers_is_line(const char *line)
{
	size_t n = strcspn(line, ":");

	return n > 0 && line[n] == ':' && !strpbrk(line, "\r\n") &&
	       strcspn(line, " \t") >= n;
}

static void drop_lines(char **lines, int n)
{
	while (n > 0)
		free(lines[--n]);
	free(lines);
}

/* All of a regular file, as a string.  NULL: it cannot be read; errno says why. */
static char *read_file(const char *path, struct stat *ret_stat)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err = EINVAL;
	char *text = NULL;
	ssize_t n = -1;

	if (fd < 0)
		return NULL;
	if (fstat(fd, ret_stat) == 0 && S_ISREG(ret_stat->st_mode) &&
	    ret_stat->st_size <= MOST_BYTES) {
		text = sfs_calloc(1, MOST_BYTES + 1);
		n = pread(fd, text, MOST_BYTES, 0);
		err = errno;
	}
	close(fd);
	errno = err;
	if (n < 0)
		free(steal(&text));
	return text;
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

static bool are_headers(char **lines, int n)
{
	int i;

	for (i = 0; i < n; i++)
		if (!sfs_user_headers_is_line(lines[i]))
			return false;
	return true;
}

static bool is_same(const struct part *part, char **lines, int n)
{
	int i;

	if (part->n != n)
		return false;
	for (i = 0; i < n; i++)
		if (strcmp(part->lines[i], lines[i]) != 0)
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
	sfs_autofree char *text = NULL;
	char **lines = NULL;
	struct stat st;
	int n;

	memset(&part->stat, 0, sizeof part->stat);
	text = read_file(part->path, &st);
	if (!text) {
		warn(part, strerror(errno));
		return false;
	}
	n = split(text, &lines);
	if (n == 0 || !are_headers(lines, n)) {
		if (n > 0)
			warn(part, "not of the form 'Name: value'");
		drop_lines(lines, n);
		return false;
	}
	part->stat = st;
	part->has_warned = false;
	if (is_same(part, lines, n)) {
		drop_lines(lines, n);
		return false;
	}
	drop_lines(part->lines, part->n);
	part->lines = lines;
	part->n = n;
	return true;
}

static void init_part(struct part *part, const char *spec)
{
	size_t n = spec[0] == '@' ? strcspn(spec, "\n") : 0;
	sfs_autofree char *lines = sfs_strdup(spec + n);

	if (n > 0)
		part->path = sfs_strndup(spec + 1, n - 1);
	part->n = split(lines, &part->lines);
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
		drop_lines(h->parts[i].lines, h->parts[i].n);
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

	if (!must && now_ns - h->looked_ns < LOOK_NS)
		return false;
	h->looked_ns = now_ns;
	for (i = 0; i < h->n_parts; i++) {
		part = &h->parts[i];
		if (!part->path || (!must && stat(part->path, &st) == 0 &&
				    is_same_file(&st, &part->stat)))
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
		n += h->parts[i].n;
	return n;
}

const char *sfs_user_headers_line(const struct sfs_user_headers *h, int number)
{
	const struct part *part = h->parts;

	for (; number >= part->n; part++)
		number -= part->n;
	return part->lines[number];
}
