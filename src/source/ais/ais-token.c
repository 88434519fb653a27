/* SPDX-License-Identifier: MIT */
#include "source/ais/ais-token.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/reload.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOK_NS	     SFS_NS_PER_S
#define MOST_BYTES   (64 << 10)
#define DEFAULT_FILE ".config/ais/cli/auth.token"

struct sfs_ais_token {
	char *path; /* NULL: it comes from no file */
	char *value, *from;
	unsigned edition;
	uint64_t looked_ns;
	unsigned reload; /* the request of which it was read */
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

/* The member "token" of a JSON object. */
static char *read_json(const char *text)
{
	enum sfs_json_token token;
	struct sfs_json json;
	char *value = NULL;
	bool is_it;

	sfs_json_init(&json, text, strlen(text));
	token = sfs_json_next(&json);
	while (token == SFS_JSON_OBJECT && sfs_json_next(&json) == SFS_JSON_KEY) {
		is_it = sfs_json_is(&json, "token");
		token = sfs_json_next(&json);
		if (is_it && token == SFS_JSON_STRING) {
			forget(&value);
			value = sfs_strdup(json.text.s ? json.text.s : "");
		} else if (!sfs_json_skip(&json, token)) {
			break;
		}
		token = SFS_JSON_OBJECT;
	}
	if (token != SFS_JSON_OBJECT || sfs_json_next(&json) != SFS_JSON_END)
		forget(&value); /* it is being written */
	sfs_json_done(&json);
	return value;
}

char *sfs_ais_token_read(char *text)
{
	size_t n = strlen(text);
	char *value;

	while (n > 0 && isspace((unsigned char)text[n - 1]))
		text[--n] = 0;
	while (isspace((unsigned char)*text))
		text++;
	value = *text == '{' ? read_json(text) : sfs_strdup(text);
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

/* The token that is in the file now; NULL and *err: none. */
static char *read_file(const char *path, struct stat *ret_stat, struct sfs_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	sfs_autofree char *text = NULL;
	char *value = NULL;
	ssize_t n;

	if (fd < 0) {
		sfs_error_set(err, -errno, "%s", strerror(errno));
		return NULL;
	}
	text = sfs_malloc(MOST_BYTES + 2);
	if (fstat(fd, ret_stat) < 0 || !S_ISREG(ret_stat->st_mode)) {
		sfs_error_set(err, -EINVAL, "not a regular file");
	} else if ((n = read_all(fd, text)) < 0) {
		sfs_error_set(err, (int)n, "%s", strerror((int)-n));
	} else {
		value = n <= MOST_BYTES ? sfs_ais_token_read(text) : NULL;
		if (!value)
			sfs_error_set(err, -EINVAL,
				      "it holds no token, neither as it is nor as "
				      "{\"token\": ...}");
		explicit_bzero(text, (size_t)n);
	}
	close(fd);
	return value;
}

/* ---- the present one ---- */

static void ais_token_take(struct sfs_ais_token *t, char *value)
{
	if (t->value && strcmp(t->value, value) == 0) {
		forget(&value);
		return;
	}
	forget(&t->value);
	t->value = value;
	t->edition++;
}

static void look(struct sfs_ais_token *t)
{
	struct sfs_error err;
	struct stat st;
	char *value;

	t->looked_ns = sfs_clock_ns();
	if (!t->path)
		return;
	if (stat(t->path, &st) == 0 && st.st_ino == t->stat.st_ino &&
	    st.st_size == t->stat.st_size &&
	    st.st_mtim.tv_sec == t->stat.st_mtim.tv_sec &&
	    st.st_mtim.tv_nsec == t->stat.st_mtim.tv_nsec &&
	    st.st_ctim.tv_sec == t->stat.st_ctim.tv_sec &&
	    st.st_ctim.tv_nsec == t->stat.st_ctim.tv_nsec)
		return;
	value = read_file(t->path, &st, &err);
	if (value) {
		t->stat = st;
		t->has_warned = false;
		ais_token_take(t, value);
		return;
	}
	if (!t->has_warned && t->value)
		sfs_warning("the token from %s: %s; shufflefs keeps sending the old one",
			    t->from, err.text);
	t->has_warned = true;
}

const char *sfs_ais_token_get(struct sfs_ais_token *t, unsigned *ret_edition)
{
	if (t->reload != sfs_reload_edition()) {
		t->reload = sfs_reload_edition();
		memset(&t->stat, 0, sizeof t->stat);
		look(t);
	} else if (sfs_clock_ns() - t->looked_ns >= LOOK_NS) {
		look(t);
	}
	*ret_edition = t->edition;
	return t->value;
}

bool sfs_ais_token_renew(struct sfs_ais_token *t, unsigned edition)
{
	if (t->edition == edition)
		look(t);
	return t->edition != edition;
}

const char *sfs_ais_token_from(const struct sfs_ais_token *t)
{
	return t->value ? t->from : NULL;
}

/* ---- life ---- */

static int take_first(struct sfs_ais_token *t, struct sfs_error *err)
{
	const char *value = getenv("AIS_AUTHN_TOKEN"),
		   *path = getenv("AIS_AUTHN_TOKEN_FILE"), *home = getenv("HOME");
	char *found;

	if (value && *value) {
		t->from = sfs_strdup("AIS_AUTHN_TOKEN");
		if (!is_token(value))
			return sfs_error_set(err, -EINVAL,
					     "AIS_AUTHN_TOKEN holds a blank, or a byte "
					     "that no token has");
		ais_token_take(t, sfs_strdup(value));
		return 0;
	}
	t->path = path && *path ? sfs_strdup(path)
		  : home	? sfs_asprintf("%s/" DEFAULT_FILE, home)
				: NULL;
	if (!t->path)
		return 0;
	t->from = sfs_asprintf("the file '%s'", t->path);
	found = read_file(t->path, &t->stat, err);
	if (found)
		ais_token_take(t, found);
	else if ((path && *path) || access(t->path, F_OK) == 0)
		return sfs_error_wrap(err, -EINVAL, "the token from %s", t->from);
	t->looked_ns = sfs_clock_ns();
	return 0;
}

struct sfs_ais_token *sfs_ais_token_start(struct sfs_error *err)
{
	struct sfs_ais_token *t = sfs_calloc(1, sizeof *t);

	if (take_first(t, err) == 0)
		return t;
	sfs_ais_token_stop(t);
	return NULL;
}

void sfs_ais_token_stop(struct sfs_ais_token *t)
{
	if (!t)
		return;
	forget(&t->value);
	free(t->path);
	free(t->from);
	free(t);
}
