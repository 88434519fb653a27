/* SPDX-License-Identifier: MIT */
#include "source/hf/hf-name.h"

#include "base/alloc.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define PREFIX	     "hf://datasets/"
#define COMMIT_CHARS 40

void sfs_hf_name_done(struct sfs_hf_name *name)
{
	free(name->repo);
	free(name->revision);
	free(name->root);
	*name = (struct sfs_hf_name){0};
}

bool sfs_hf_is_commit(const char *revision)
{
	return strlen(revision) == COMMIT_CHARS &&
	       strspn(revision, "0123456789abcdef") == COMMIT_CHARS;
}

/* How many characters at s can be those of an owner or a name? */
static size_t word_length(const char *s)
{
	size_t n = 0;

	while (isalnum((unsigned char)s[n]) || (s[n] && strchr("-._", s[n])))
		n++;
	return n;
}

static int hex_value(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

/* Decode %XX; NULL: it holds what no revision has. */
static char *decode(const char *s, size_t n)
{
	char *out = sfs_malloc(n + 1), *p = out;
	size_t i;

	for (i = 0; i < n; i++, p++) {
		*p = s[i];
		if (s[i] == '%' && i + 2 < n && isxdigit((unsigned char)s[i + 1]) &&
		    isxdigit((unsigned char)s[i + 2])) {
			*p = (char)(hex_value(s[i + 1]) * 16 + hex_value(s[i + 2]));
			i += 2;
		}
		if ((unsigned char)*p <= ' ' || *p == 0x7f || strchr("*?[]~^:\\", *p)) {
			free(out);
			return NULL;
		}
	}
	*p = 0;
	return out;
}

/* "refs/convert/NAME" and "refs/pr/NUMBER" may be written as they are. */
static size_t revision_length(const char *s)
{
	size_t n = 0;

	if (strncmp(s, "refs/convert/", 13) == 0)
		n = 13;
	else if (strncmp(s, "refs/pr/", 8) == 0)
		n = 8;
	return n + strcspn(s + n, "/");
}

static int refuse(const char *location, const char *why, struct sfs_error *err)
{
	return sfs_error_set(err, -EINVAL,
			     "'%s' %s: write hf://datasets/OWNER/NAME/FOLDER/ or "
			     "hf://datasets/OWNER/NAME@REVISION/FOLDER/NAME.tar",
			     location, why);
}

/* At the end of OWNER/NAME: what follows it, if anything. */
static int parse_rest(const char *location, const char *s, struct sfs_hf_name *name,
		      struct sfs_error *err)
{
	size_t n;

	if (*s == '@') {
		n = revision_length(++s);
		name->revision = n > 0 ? decode(s, n) : NULL;
		if (!name->revision)
			return refuse(location,
				      "has an '@' without a branch, a tag or a commit "
				      "after it",
				      err);
		s += n;
	} else {
		name->revision = sfs_strdup("main");
	}
	if (*s && *s != '/')
		return refuse(location,
			      "has a character that the Hub does not allow in the name "
			      "of an owner or a dataset",
			      err);
	name->path = s + (*s == '/');
	if (*name->path == '/' || strstr(name->path, "//"))
		return refuse(location, "has a folder without a name", err);
	return 0;
}

int sfs_hf_name_parse(const char *location, struct sfs_hf_name *ret,
		      struct sfs_error *err)
{
	struct sfs_hf_name name = {0};
	size_t n_owner, n_name;
	const char *s;
	int code;

	if (strncmp(location, PREFIX, strlen(PREFIX)) != 0)
		return refuse(location,
			      "is not a dataset of the Hugging Face Hub (its models, "
			      "spaces and buckets are not supported)",
			      err);
	s = location + strlen(PREFIX);
	n_owner = word_length(s);
	n_name = s[n_owner] == '/' ? word_length(s + n_owner + 1) : 0;
	if (n_owner == 0 || n_name == 0)
		return refuse(location, "lacks the owner or the name of a dataset", err);
	name.repo = sfs_strndup(s, n_owner + 1 + n_name);
	code = parse_rest(location, s + n_owner + 1 + n_name, &name, err);
	if (code < 0) {
		sfs_hf_name_done(&name);
		return code;
	}
	name.root = sfs_asprintf("%.*s%s", (int)(name.path - s), s,
				 name.path[-1] == '/' ? "" : "/");
	*ret = name;
	return 0;
}
