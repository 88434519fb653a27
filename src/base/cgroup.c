/* SPDX-License-Identifier: MIT */
/* How this works: /proc/self/cgroup names the group, "0::/a/b" (v2) or "4:memory:/a/b"
 * (v1; several controllers may share a line), and /proc/self/mountinfo says where such
 * groups are mounted, and which group the mount shows as its root. */
#include "base/cgroup.h"

#include "base/alloc.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Is `word` one of those between the commas? */
static bool has_word(const char *words, const char *word)
{
	size_t n = strlen(word), k;

	for (;; words += k + 1) {
		k = strcspn(words, ",");
		if (k == n && strncmp(words, word, n) == 0)
			return true;
		if (!words[k])
			return false;
	}
}

/* "4:memory:/a/b": is it the one, then *ret_group. */
static bool take_group(char *line, const char *controller, char **ret_group)
{
	char *controllers = strchr(line, ':'),
	     *group = controllers ? strchr(controllers + 1, ':') : NULL;

	if (!group || group[1] != '/')
		return false;
	*controllers++ = *group++ = 0;
	if (controller ? !has_word(controllers, controller) : *controllers != 0)
		return false;
	*ret_group = sfs_strdup(group);
	return true;
}

/* Spaces and the like are written as \040. */
static char *unescaped(const char *s)
{
	char *copy = sfs_strdup(s), *to = copy;
	unsigned byte;

	for (; *s; s++) {
		if (s[0] == '\\' && sscanf(s + 1, "%3o", &byte) == 1 && s[1] && s[2] &&
		    s[3]) {
			*to++ = (char)byte;
			s += 3;
		} else {
			*to++ = *s;
		}
	}
	*to = 0;
	return copy;
}

struct mount {
	char *root, *point;
};

/* "35 31 0:32 /root /point options [tag...] - type source super-options" */
static bool take_mount(char *line, const char *controller, struct mount *ret_mount)
{
	char *dash = strstr(line, " - "), *save, *root, *point, *type, *options;
	int i;

	if (!dash)
		return false;
	*dash = 0;
	root = strtok_r(line, " ", &save);
	for (i = 0; i < 3 && root; i++)
		root = strtok_r(NULL, " ", &save);
	point = root ? strtok_r(NULL, " ", &save) : NULL;
	type = strtok_r(dash + 3, " ", &save);
	options = type && strtok_r(NULL, " ", &save) ? strtok_r(NULL, " ", &save) : NULL;
	if (!point || !options || strcmp(type, controller ? "cgroup" : "cgroup2") != 0 ||
	    (controller && !has_word(options, controller)))
		return false;
	*ret_mount = (struct mount){.root = unescaped(root), .point = unescaped(point)};
	return true;
}

/* The group, seen from the mount: without what the mount shows as its root. */
static const char *below(const char *group, const char *root)
{
	size_t n = strlen(root);

	if (strcmp(root, "/") != 0 && strncmp(group, root, n) == 0 &&
	    (group[n] == '/' || !group[n]))
		group += n;
	return strcmp(group, "/") == 0 ? "" : group;
}

/* The first line of a file that one of the two takes. */
static void find_line(const char *path, const char *controller, char **ret_group,
		      struct mount *ret_mount)
{
	FILE *f = fopen(path, "re");
	bool is_found = false;
	char *line = NULL;
	size_t n = 0;

	while (f && !is_found && getline(&line, &n, f) > 0) {
		line[strcspn(line, "\n")] = 0;
		is_found = ret_group ? take_group(line, controller, ret_group)
				     : take_mount(line, controller, ret_mount);
	}
	free(line);
	if (f)
		fclose(f);
}

char *sfs_cgroup_folder(const char *proc_self, const char *controller, size_t *ret_n_root)
{
	sfs_autofree char *cgroups = sfs_asprintf("%s/cgroup", proc_self);
	sfs_autofree char *mounts = sfs_asprintf("%s/mountinfo", proc_self);
	sfs_autofree char *group = NULL, *folder = NULL;
	struct mount mount = {0};

	find_line(cgroups, controller, &group, NULL);
	find_line(mounts, controller, NULL, &mount);
	if (group && mount.point) {
		folder = sfs_asprintf("%s%s", mount.point, below(group, mount.root));
		*ret_n_root = strlen(mount.point);
	}
	free(mount.root);
	free(mount.point);
	return steal(&folder);
}
