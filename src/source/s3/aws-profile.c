/* SPDX-License-Identifier: MIT */
/* How this works: the files are in INI's form, of which AWS has its own: indented lines
 * are settings of a setting, and are skipped. */
#include "source/s3/aws-profile.h"

#include "base/alloc.h"
#include "source/http/credentials.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>


static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static const char *skip_blanks(const char *p, const char *end)
{
	while (p < end && is_blank(*p))
		p++;
	return p;
}

static const char *cut_blanks(const char *p, const char *end)
{
	while (end > p && is_blank(end[-1]))
		end--;
	return end;
}

/* Blanks between words count as one: "[profile  name]". */
static bool is_section(const char *p, const char *end, const char *section)
{
	const char *close = memchr(p, ']', (size_t)(end - p));

	if (!close)
		return false;
	p = skip_blanks(p + 1, close);
	close = cut_blanks(p, close);
	for (; p < close && *section; p++, section++) {
		if (is_blank(*p) != is_blank(*section) ||
		    (!is_blank(*p) && *p != *section))
			return false;
		while (is_blank(*p) && p + 1 < close && is_blank(p[1]))
			p++;
	}
	return p == close && !*section;
}

/* The value after '='; a comment is behind a blank. */
static char *value_of(const char *p, const char *end)
{
	const char *c;

	p = skip_blanks(p, end);
	for (c = p; c < end; c++)
		if ((*c == '#' || *c == ';') && c > p && is_blank(c[-1]))
			end = c;
	return sfs_strndup(p, (size_t)(cut_blanks(p, end) - p));
}

static bool is_name(const char *p, const char *end, const char *name)
{
	size_t n = (size_t)(cut_blanks(p, end) - p);

	return n == strlen(name) && strncasecmp(p, name, n) == 0;
}

char *sfs_aws_profile_find(const char *text, const char *section, const char *name)
{
	const char *p, *end, *equals;
	bool is_in_section = false;
	char *found = NULL;

	for (p = text; *p; p = *end ? end + 1 : end) {
		end = p + strcspn(p, "\n");
		if (*p == '[') {
			is_in_section = is_section(p, end, section);
			if (is_in_section && !name && !found)
				found = sfs_strdup("");
			continue;
		}
		equals = memchr(p, '=', (size_t)(end - p));
		if (!is_in_section || !name || !equals || is_blank(*p) ||
		    strchr("#;", *p) || !is_name(p, equals, name))
			continue;
		free(found);
		found = value_of(equals + 1, end);
	}
	return found;
}

/* ---- files ---- */

/* The variable, or the file in ~/.aws; NULL: there is no home. */
static char *path_of(const char *variable, const char *name)
{
	const char *value = getenv(variable), *home = getenv("HOME");

	if (value && *value)
		return sfs_strdup(value);
	return home && *home ? sfs_asprintf("%s/.aws/%s", home, name) : NULL;
}

/* Is it not there?  A HOME that may not be entered is as one without it. */
static bool is_absent(const char *path, const char *variable, int err)
{
	const char *value = getenv(variable);

	return err == -ENOENT || err == -ENOTDIR ||
	       (err == -EACCES && !(value && *value) && access(path, F_OK) < 0);
}

/* That it is not there is no error.  The variable may have named it. */
static int load_file(const char *path, const char *variable, char **ret_text,
		     struct sfs_error *err)
{
	struct sfs_error why = {0};
	int ret = 0;

	if (!path)
		return 0;
	*ret_text = sfs_credentials_read_file(path, &ret, &why);
	if (*ret_text || is_absent(path, variable, ret))
		return 0;
	return sfs_error_set(err, ret, "%s", why.text);
}

/* In the one file a profile is "[name]", in the other "[profile name]". */
static char *section_of_config(const struct sfs_aws_profile *p)
{
	return strcmp(p->name, "default") == 0 ? sfs_strdup("default")
					       : sfs_asprintf("profile %s", p->name);
}

static bool exists(const struct sfs_aws_profile *p)
{
	sfs_autofree char *section = section_of_config(p);
	sfs_autofree char *a =
		p->credentials ? sfs_aws_profile_find(p->credentials, p->name, NULL)
			       : NULL;
	sfs_autofree char *b =
		p->config ? sfs_aws_profile_find(p->config, section, NULL) : NULL;

	return a || b;
}

int sfs_aws_profile_load(struct sfs_aws_profile *ret, struct sfs_error *err)
{
	const char *named = getenv("AWS_PROFILE");
	struct sfs_aws_profile p = {
		.name = sfs_strdup(named && *named ? named : "default"),
		.credentials_path = path_of("AWS_SHARED_CREDENTIALS_FILE", "credentials"),
		.config_path = path_of("AWS_CONFIG_FILE", "config"),
	};
	int code;

	code = load_file(p.credentials_path, "AWS_SHARED_CREDENTIALS_FILE",
			 &p.credentials, err);
	if (code == 0)
		code = load_file(p.config_path, "AWS_CONFIG_FILE", &p.config, err);
	if (code == 0 && named && *named && !exists(&p))
		code = sfs_error_set(err, -EINVAL,
				     "AWS_PROFILE: no profile '%s' in %s or %s", p.name,
				     p.credentials_path ? p.credentials_path
							: "~/.aws/credentials",
				     p.config_path ? p.config_path : "~/.aws/config");
	if (code < 0)
		sfs_aws_profile_done(&p);
	else
		*ret = p;
	return code;
}

void sfs_aws_profile_done(struct sfs_aws_profile *p)
{
	free(p->name);
	free(p->credentials_path);
	free(p->config_path);
	free(p->credentials);
	free(p->config);
	*p = (struct sfs_aws_profile){0};
}

char *sfs_aws_profile_get(const struct sfs_aws_profile *p, const char *name)
{
	sfs_autofree char *section = section_of_config(p);
	char *value = NULL;

	if (p->credentials)
		value = sfs_aws_profile_find(p->credentials, p->name, name);
	if (!value && p->config)
		value = sfs_aws_profile_find(p->config, section, name);
	return value;
}
