/* SPDX-License-Identifier: MIT */
#include "memory.h"

#include "mem.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The number in a file; UINT64_MAX if there is none ("max", no such file). */
static uint64_t read_limit(const char *path)
{
	FILE *f = fopen(path, "re");
	unsigned long long v;
	uint64_t limit = UINT64_MAX;

	if (!f)
		return limit;
	if (fscanf(f, "%llu", &v) == 1)
		limit = v;
	fclose(f);
	return limit;
}

/* The lowest limit of a group and those above it. */
static uint64_t lowest_limit(const char *root, char *group, const char *file)
{
	uint64_t lowest = UINT64_MAX, limit;
	char *slash;

	for (;;) {
		sfs_autofree char *path = sfs_asprintf("%s%s/%s", root, group, file);

		limit = read_limit(path);
		lowest = limit < lowest ? limit : lowest;
		slash = strrchr(group, '/');
		if (!slash)
			return lowest;
		*slash = 0;
	}
}

/* A line of /proc/self/cgroup: "0::/group" (v2) or "4:memory:/group" (v1). */
static uint64_t limit_of_line(char *line)
{
	char *controllers = strchr(line, ':'), *group;

	line[strcspn(line, "\n")] = 0;
	group = controllers ? strchr(controllers + 1, ':') : NULL;
	if (!group)
		return UINT64_MAX;
	*group++ = 0;
	controllers++;
	if (*controllers == 0)
		return lowest_limit("/sys/fs/cgroup", group, "memory.max");
	if (strcmp(controllers, "memory") == 0)
		return lowest_limit("/sys/fs/cgroup/memory", group,
				    "memory.limit_in_bytes");
	return UINT64_MAX;
}

uint64_t sfs_memory_limit(void)
{
	uint64_t lowest =
		(uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	FILE *f = fopen("/proc/self/cgroup", "re");
	char line[4096];
	uint64_t limit;

	while (f && fgets(line, sizeof line, f)) {
		limit = limit_of_line(line);
		lowest = limit < lowest ? limit : lowest;
	}
	if (f)
		fclose(f);
	return lowest;
}
