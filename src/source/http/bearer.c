/* SPDX-License-Identifier: MIT */
#include "source/http/bearer.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/reload.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOK_NS	   SFS_NS_PER_S
#define MOST_BYTES (64 << 10)

struct sfs_bearer {
	char *path; /* NULL: it comes from no file */
	char *(*unwrap)(const char *text);
	char *forms;
	char *value, *from;
	unsigned edition;
	uint64_t looked_ns;
	unsigned reload;  /* the request of which it was read */
	struct stat stat; /* all 0: look again */
	bool has_warned;
};

static void forget(char **value)
{
	if (*value)
		explicit_bzero(*value, strlen(*value));
	free(steal(value));
}

/* ---- what a file holds ---- */

/* It goes into a header line. */
static bool is_token(const char *s)
{
	const char *p;

	for (p = s; *p; p++)
		if ((unsigned char)*p <= ' ' || (unsigned char)*p >= 0x7f)
			return false;
	return p > s;
}

/* Where the text begins, without the blanks around it. */
static char *trim(char *text)
{
	size_t n = strlen(text);

	while (n > 0 && isspace((unsigned char)text[n - 1]))
		text[--n] = 0;
	while (isspace((unsigned char)*text))
		text++;
	return text;
}

char *sfs_bearer_read(char *text, char *(*unwrap)(const char *text))
{
	char *value;

	text = trim(text);
	value = unwrap && *text == '{' ? unwrap(text) : sfs_strdup(text);
	if (value && !is_token(value))
		forget(&value);
	return value;
}

static ssize_t read_all(int fd, char *to)
{
	size_t n = 0;
	ssize_t more;

	while (n <= MOST_BYTES) {
		more = read(fd, to + n, MOST_BYTES + 1 - n);
		if (more < 0)
			return -errno;
		if (more == 0)
			break;
		n += (size_t)more;
	}
	to[n] = 0;
	return (ssize_t)n;
}

/* The token in this text, of which n bytes were read. */
static int take_text(const struct sfs_bearer *b, char *text, size_t n, char **ret,
		     struct sfs_error *err)
{
	char *value = n <= MOST_BYTES ? sfs_bearer_read(text, b->unwrap) : NULL;

	if (!value && !*trim(text))
		return sfs_error_set(err, -ENODATA, "it is empty");
	if (!value)
		return sfs_error_set(err, -EINVAL, "it holds no token, %s", b->forms);
	*ret = value;
	return 0;
}

/* The token that is in the file now. */
static int read_file(const struct sfs_bearer *b, char **ret, struct stat *ret_stat,
		     struct sfs_error *err)
{
	int fd = open(b->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), code;
	sfs_autofree char *text = NULL;
	ssize_t n;

	if (fd < 0)
		return sfs_error_set(err, -errno, "%s", strerror(errno));
	text = sfs_malloc(MOST_BYTES + 2);
	if (fstat(fd, ret_stat) < 0 || !S_ISREG(ret_stat->st_mode)) {
		code = sfs_error_set(err, -EINVAL, "not a regular file");
	} else if ((n = read_all(fd, text)) < 0) {
		code = sfs_error_set(err, (int)n, "%s", strerror((int)-n));
	} else {
		code = take_text(b, text, (size_t)n, ret, err);
		explicit_bzero(text, (size_t)n);
	}
	close(fd);
	return code;
}

/* ---- the present one ---- */

static void bearer_take(struct sfs_bearer *b, char *value)
{
	if (b->value && strcmp(b->value, value) == 0) {
		forget(&value);
		return;
	}
	forget(&b->value);
	b->value = value;
	b->edition++;
}

static void look(struct sfs_bearer *b)
{
	struct sfs_error err;
	struct stat st;
	char *value;

	b->looked_ns = sfs_clock_ns();
	if (!b->path)
		return;
	if (stat(b->path, &st) == 0 && st.st_ino == b->stat.st_ino &&
	    st.st_size == b->stat.st_size &&
	    st.st_mtim.tv_sec == b->stat.st_mtim.tv_sec &&
	    st.st_mtim.tv_nsec == b->stat.st_mtim.tv_nsec &&
	    st.st_ctim.tv_sec == b->stat.st_ctim.tv_sec &&
	    st.st_ctim.tv_nsec == b->stat.st_ctim.tv_nsec)
		return;
	if (read_file(b, &value, &st, &err) == 0) {
		b->stat = st;
		b->has_warned = false;
		bearer_take(b, value);
		return;
	}
	if (!b->has_warned && b->value)
		sfs_warning("the token from %s: %s; shufflefs keeps sending the old one",
			    b->from, err.text);
	b->has_warned = true;
}

const char *sfs_bearer_get(struct sfs_bearer *b, unsigned *ret_edition)
{
	if (b->reload != sfs_reload_edition()) {
		b->reload = sfs_reload_edition();
		memset(&b->stat, 0, sizeof b->stat);
		look(b);
	} else if (sfs_clock_ns() - b->looked_ns >= LOOK_NS) {
		look(b);
	}
	*ret_edition = b->edition;
	return b->value;
}

bool sfs_bearer_renew(struct sfs_bearer *b, unsigned edition)
{
	if (b->edition == edition)
		look(b);
	return b->edition != edition;
}

const char *sfs_bearer_from(const struct sfs_bearer *b)
{
	return b->value ? b->from : NULL;
}

/* ---- life ---- */

/* 1: the variable holds it. */
static int take_variable(struct sfs_bearer *b, const char *name, struct sfs_error *err)
{
	const char *value = getenv(name);
	sfs_autofree char *copy = value ? sfs_strdup(value) : NULL;
	const char *text = copy ? trim(copy) : "";

	if (!*text)
		return 0;
	if (!is_token(text))
		return sfs_error_set(err, -EINVAL,
				     "%s holds a blank, or a byte that no token has",
				     name);
	b->from = sfs_strdup(name);
	bearer_take(b, sfs_strdup(text));
	return 1;
}

static int take_first_of_file(struct sfs_bearer *b, bool must_exist,
			      struct sfs_error *err)
{
	char *found;
	int code = read_file(b, &found, &b->stat, err);

	b->from = sfs_asprintf("the file '%s'", b->path);
	b->looked_ns = sfs_clock_ns();
	if (code == 0)
		bearer_take(b, found);
	else if (must_exist || (code != -ENODATA && access(b->path, F_OK) == 0))
		return sfs_error_wrap(err, -EINVAL, "the token from %s", b->from);
	return 0;
}

static int take_first(struct sfs_bearer *b, const struct sfs_bearer_places *places,
		      struct sfs_error *err)
{
	const char *const *name;
	int ret = 0;

	for (name = places->variables; *name && ret == 0; name++)
		ret = take_variable(b, *name, err);
	if (ret != 0 || !places->path)
		return ret < 0 ? ret : 0;
	b->path = sfs_strdup(places->path);
	return take_first_of_file(b, places->must_exist, err);
}

struct sfs_bearer *sfs_bearer_start(const struct sfs_bearer_places *places,
				    struct sfs_error *err)
{
	struct sfs_bearer *b = sfs_calloc(1, sizeof *b);

	b->unwrap = places->unwrap;
	b->forms = sfs_strdup(places->forms);
	b->reload = sfs_reload_edition();
	if (take_first(b, places, err) == 0)
		return b;
	sfs_bearer_stop(b);
	return NULL;
}

void sfs_bearer_stop(struct sfs_bearer *b)
{
	if (!b)
		return;
	forget(&b->value);
	free(b->path);
	free(b->forms);
	free(b->from);
	free(b);
}
