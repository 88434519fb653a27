/* SPDX-License-Identifier: MIT */
#include "forward/target.h"

#include "base/alloc.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PATH_MOST 96 /* of a socket, as the sidecar has it */

enum kind { PATH, PLACE, ENDPOINT };

/* What is behind ":" or "://". */
static const struct {
	const char *scheme;
	enum kind kind;
} schemes[] = {
	{"local:", PATH},	    {"samples:", PATH},
	{"tcp://", PLACE},	    {"rdma://", PLACE},
	{"zpush://", PLACE},	    {"zpush+tcp://", PLACE},
	{"zrpush://", PLACE},	    {"zrpush+tcp://", PLACE},
	{"zpub://", PLACE},	    {"zpub+tcp://", PLACE},
	{"zrpub://", PLACE},	    {"zrpub+tcp://", PLACE},
	{"zpush+ipc://", ENDPOINT}, {"zrpush+ipc://", ENDPOINT},
	{"zpub+ipc://", ENDPOINT},  {"zrpub+ipc://", ENDPOINT},
};

/* Where it goes on behind its scheme; NULL: there is no such scheme. */
static const char *behind_scheme(const char *target, enum kind *ret_kind)
{
	size_t i, n;

	for (i = 0; i < SFS_COUNT(schemes); i++) {
		n = strlen(schemes[i].scheme);
		*ret_kind = schemes[i].kind;
		if (strncmp(target, schemes[i].scheme, n) == 0)
			return target + n;
	}
	return NULL;
}

static int check_path(const char *target, const char *path, enum kind kind,
		      struct sfs_error *err)
{
	size_t n = strcspn(path, "?#");

	if (n == 0)
		return sfs_error_set(err, -EINVAL, "target: '%s' has no path", target);
	if (*path != '/' && !(kind == ENDPOINT && *path == '@'))
		return sfs_error_set(err, -EINVAL,
				     "target: the path in '%s' must be absolute, "
				     "because the mount has another working directory",
				     target);
	if (n > PATH_MOST)
		return sfs_error_set(err, -EINVAL,
				     "target: the path of a socket has at most %d bytes, "
				     "not %zu",
				     PATH_MOST, n);
	return 0;
}

/* "HOST:PORT". */
static int check_place(const char *target, const char *place, struct sfs_error *err)
{
	size_t n = strcspn(place, "?#/"), at = n;
	unsigned long port;
	char *end;

	while (at > 0 && place[at - 1] != ':')
		at--;
	port = strtoul(place + at, &end, 10);
	if (at > 1 && at < n && place[at] >= '0' && place[at] <= '9' &&
	    end == place + n && port > 0 && port <= 65535)
		return 0;
	return sfs_error_set(err, -EINVAL, "target: '%s' is not %.*sHOST:PORT", target,
			     (int)(place - target), target);
}

int sfs_target_check(const char *target, struct sfs_error *err)
{
	enum kind kind;
	const char *rest = behind_scheme(target, &kind);

	if (!rest)
		return sfs_error_set(err, -EINVAL,
				     "target: '%s' has an unknown scheme; use "
				     "local:PATH, samples:PATH, tcp://HOST:PORT, "
				     "rdma://HOST:PORT, zpush://HOST:PORT, "
				     "zpub://HOST:PORT, ...",
				     target);
	return kind == PLACE ? check_place(target, rest, err)
			     : check_path(target, rest, kind, err);
}

char *sfs_target_absolute(const char *target, const char *folder)
{
	enum kind kind;
	const char *rest = behind_scheme(target, &kind);
	bool is_relative = rest && kind != PLACE && *rest && !strchr("/@?#", *rest);

	if (!is_relative)
		return sfs_strdup(target);
	return sfs_asprintf("%.*s%s/%s", (int)(rest - target), target,
			    strcmp(folder, "/") == 0 ? "" : folder, rest);
}
