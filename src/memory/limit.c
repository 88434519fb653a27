/* SPDX-License-Identifier: MIT */
#include "memory/limit.h"

#include "base/alloc.h"
#include "base/cgroup.h"

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

/* The lowest limit of a group and those around it. */
static uint64_t lowest_limit(const char *proc_self, const char *controller,
			     const char *file)
{
	size_t n_root = 0;
	sfs_autofree char *group = sfs_cgroup_folder(proc_self, controller, &n_root);
	uint64_t lowest = UINT64_MAX, limit;

	while (group) {
		sfs_autofree char *path = sfs_asprintf("%s/%s", group, file);

		limit = read_limit(path);
		lowest = limit < lowest ? limit : lowest;
		if (strlen(group) <= n_root)
			break;
		*strrchr(group, '/') = 0;
	}
	return lowest;
}

uint64_t sfs_memory_limit_of(const char *proc_self)
{
	uint64_t all = (uint64_t)sysconf(_SC_PHYS_PAGES) *
		       (uint64_t)sysconf(_SC_PAGESIZE),
		 v2 = lowest_limit(proc_self, NULL, "memory.max"),
		 v1 = lowest_limit(proc_self, "memory", "memory.limit_in_bytes"),
		 group = v1 < v2 ? v1 : v2;

	return all < group ? all : group;
}

uint64_t sfs_memory_limit(void)
{
	return sfs_memory_limit_of("/proc/self");
}
