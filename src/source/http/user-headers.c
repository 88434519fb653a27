/* SPDX-License-Identifier: MIT */
#include "source/http/user-headers.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/reload.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS	   SFS_NS_PER_S
#define MOST_BYTES (64 << 10)

/* A spec: a line of its own, a file, or a command. */
struct part {
	char *path; /* NULL: no file */
	bool is_bearer;
	struct sfs_header_file file; /* its stat all 0: look again */
	bool has_warned;
	struct sfs_header_command *command; /* NULL: none; */
	unsigned edition;		    /* of its lines, which are in `file` */
};

struct sfs_user_headers {
	struct part *parts;
	int n_parts;
	uint64_t looked_ns;
	unsigned reload; /* the request of which they were read */
	unsigned edition;
};

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

/* Returns the number of bytes, or an error. */
static ssize_t read_text(int fd, bool may_be_pipe, char *ret, struct stat *ret_stat,
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
	return n;
}

int sfs_header_file_read(const char *path, bool is_bearer, bool may_be_pipe,
			 struct sfs_header_file *ret, struct sfs_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | (may_be_pipe ? 0 : O_NONBLOCK));
	sfs_autofree char *text = sfs_calloc(1, MOST_BYTES + 2);
	struct sfs_header_file file = {0};
	ssize_t n;
	int code;

	if (fd < 0)
		return sfs_error_set(err, -errno, "%s", strerror(errno));
	n = read_text(fd, may_be_pipe, text, &file.stat, err);
	close(fd);
	if (n < 0)
		return (int)n;
	code = sfs_header_lines_read(text, (size_t)n, is_bearer, (int64_t)time(NULL),
				     &file.lines, err);
	explicit_bzero(text, MOST_BYTES + 2);
	if (code == 0)
		*ret = file;
	return code;
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev &&
	       a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
	       a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* As the option is written. */
static char *name_of(const struct part *part)
{
	return sfs_asprintf("%s%s", part->is_bearer ? "bearer-token-file=" : "header=@",
			    part->path);
}

/* Once, until it can be used again. */
static void warn(struct part *part, const char *why)
{
	sfs_autofree char *name = name_of(part);

	if (!part->has_warned)
		sfs_warning("%s: %s; shufflefs keeps sending what it held before", name,
			    why);
	part->has_warned = true;
}

/* true: the file holds other lines than before. */
static bool read_part(struct part *part)
{
	struct sfs_header_file now, before = part->file;
	struct sfs_error err;
	bool has_changed;

	memset(&part->file.stat, 0, sizeof part->file.stat);
	if (sfs_header_file_read(part->path, part->is_bearer, false, &now, &err) < 0) {
		warn(part, err.text);
		return false;
	}
	if (now.lines.n == 0)
		return false; /* it is being written */
	part->has_warned = false;
	part->file = now;
	has_changed = !sfs_header_lines_are_same(&before.lines, &now.lines);
	sfs_header_lines_done(&before.lines);
	return has_changed;
}

static void init_part(struct part *part, const char *spec)
{
	size_t n = spec[0] == '@' ? strcspn(spec, "\n") : 0;
	sfs_autofree char *lines = sfs_strdup(spec + n);

	if (n > 0)
		part->path = sfs_strndup(spec + 1, n - 1);
	part->file.lines = sfs_header_lines_split(lines);
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

static struct part *add_part(struct sfs_user_headers *h)
{
	h->parts = sfs_reallocarray(h->parts, (size_t)h->n_parts + 1, sizeof *h->parts);
	h->parts[h->n_parts] = (struct part){0};
	return &h->parts[h->n_parts++];
}

int sfs_user_headers_add_bearer_file(struct sfs_user_headers *h, const char *path,
				     struct sfs_error *err)
{
	struct sfs_header_file file = {0};
	struct part *part;
	int ret = sfs_header_file_read(path, true, false, &file, err);

	if (ret == 0 && file.lines.n == 0)
		ret = sfs_error_set(err, -EINVAL, "it is empty");
	if (ret < 0)
		return sfs_error_wrap(err, ret, "option 'bearer-token-file': %s", path);
	part = add_part(h);
	part->path = sfs_strdup(path);
	part->is_bearer = true;
	part->file = file;
	return 0;
}

void sfs_user_headers_add_command(struct sfs_user_headers *h,
				  struct sfs_header_command *command)
{
	struct part *part = add_part(h);

	part->command = command;
	part->edition = sfs_header_command_get(command, &part->file.lines);
}

void sfs_user_headers_free(struct sfs_user_headers *h)
{
	int i;

	if (!h)
		return;
	for (i = 0; i < h->n_parts; i++) {
		sfs_header_command_stop(h->parts[i].command);
		sfs_header_lines_done(&h->parts[i].file.lines);
		free(h->parts[i].path);
	}
	free(h->parts);
	free(h);
}

/* true: the command has printed other lines. */
static bool look_at_command(struct part *part)
{
	if (!part->command || sfs_header_command_edition(part->command) == part->edition)
		return false;
	sfs_header_lines_done(&part->file.lines);
	part->edition = sfs_header_command_get(part->command, &part->file.lines);
	return true;
}

static bool look_at_file(struct part *part, bool must)
{
	sfs_autofree char *name = NULL;
	struct stat st;

	if (!part->path ||
	    (!must && stat(part->path, &st) == 0 && is_same_file(&st, &part->file.stat)))
		return false;
	if (!read_part(part))
		return false;
	name = name_of(part);
	sfs_info("%s: read again", name);
	return true;
}

bool sfs_user_headers_look(struct sfs_user_headers *h, bool must, uint64_t now_ns)
{
	bool has_changed = false, has_time;
	int i;

	must = must || h->reload != sfs_reload_edition();
	has_time = must || now_ns - h->looked_ns >= LOOK_NS;
	h->reload = sfs_reload_edition();
	if (has_time)
		h->looked_ns = now_ns;
	for (i = 0; i < h->n_parts; i++) {
		has_changed |= look_at_command(&h->parts[i]);
		if (has_time)
			has_changed |= look_at_file(&h->parts[i], must);
	}
	h->edition += has_changed;
	return has_changed;
}

enum sfs_renewal sfs_user_headers_renew(struct sfs_user_headers *h, uint64_t made_ns)
{
	enum sfs_renewal all = SFS_RENEWAL_NO, one;
	const struct part *part;
	int i;

	for (i = 0; i < h->n_parts; i++) {
		part = &h->parts[i];
		if (!part->command)
			continue;
		one = sfs_header_command_renew(part->command, part->edition, made_ns,
					       false);
		if (one == SFS_RENEWAL_NOW)
			return one;
		all = one == SFS_RENEWAL_SOON ? one : all;
	}
	return all;
}

unsigned sfs_user_headers_edition(const struct sfs_user_headers *h)
{
	return h->edition;
}

int sfs_user_headers_n(const struct sfs_user_headers *h)
{
	int i, n = 0;

	for (i = 0; i < h->n_parts; i++)
		n += h->parts[i].file.lines.n;
	return n;
}

const char *sfs_user_headers_line(const struct sfs_user_headers *h, int number)
{
	const struct part *part = h->parts;

	for (; number >= part->file.lines.n; part++)
		number -= part->file.lines.n;
	return part->file.lines.s[number];
}
