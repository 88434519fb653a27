/* SPDX-License-Identifier: MIT */
/* How this works: the control group that bounds us is the one with the lowest limit, of
 * those that we are in and those around them; its files, and those of /proc for the
 * machine, have the same numbers under other names. */
#include "memory/limit.h"

#include "base/alloc.h"
#include "base/cgroup.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The words in a file of numbers: pages of files, and those of them to be written. */
struct words {
	const char *file, *cached[2], *unclean[2];
	uint64_t unit;
};

static const struct words of_machine = {
	"meminfo",
	{"Active(file):", "Inactive(file):"},
	{"Dirty:", "Writeback:"},
	1024,
};
static const struct words of_v1 = {
	"memory.stat",
	{"total_active_file", "total_inactive_file"},
	{"total_dirty", "total_writeback"},
	1,
};
static const struct words of_v2 = {
	"memory.stat",
	{"active_file", "inactive_file"},
	{"file_dirty", "file_writeback"},
	1,
};

/* What bounds us: a control group's folder, or /proc. */
struct bound {
	uint64_t limit;
	char *folder;
	const struct words *words;
};

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

/* Look at a group and those around it. */
static void find_lowest(const char *proc, const char *controller, const char *file,
			const struct words *words, struct bound *bound)
{
	sfs_autofree char *self = sfs_asprintf("%s/self", proc);
	size_t n_root = 0;
	sfs_autofree char *group = sfs_cgroup_folder(self, controller, &n_root);

	while (group) {
		sfs_autofree char *path = sfs_asprintf("%s/%s", group, file);
		uint64_t limit = read_limit(path);

		if (limit < bound->limit) {
			free(bound->folder);
			*bound = (struct bound){limit, sfs_strdup(group), words};
		}
		if (strlen(group) <= n_root)
			break;
		*strrchr(group, '/') = 0;
	}
}

/* The caller frees its folder. */
static struct bound find_bound(const char *proc)
{
	struct bound bound = {
		.limit = (uint64_t)sysconf(_SC_PHYS_PAGES) *
			 (uint64_t)sysconf(_SC_PAGESIZE),
		.folder = sfs_strdup(proc),
		.words = &of_machine,
	};

	find_lowest(proc, NULL, "memory.max", &of_v2, &bound);
	find_lowest(proc, NULL, "memory.high", &of_v2, &bound);
	find_lowest(proc, "memory", "memory.limit_in_bytes", &of_v1, &bound);
	return bound;
}

uint64_t sfs_memory_limit_of(const char *proc)
{
	struct bound bound = find_bound(proc);

	free(bound.folder);
	return bound.limit;
}

static bool is_either(const char *word, const char *const words[2])
{
	return strcmp(word, words[0]) == 0 || strcmp(word, words[1]) == 0;
}

uint64_t sfs_memory_clean_of(const char *proc)
{
	struct bound bound = find_bound(proc);
	const struct words *w = bound.words;
	sfs_autofree char *path = sfs_asprintf("%s/%s", bound.folder, w->file);
	FILE *f = fopen(path, "re");
	uint64_t cached = 0, unclean = 0;
	unsigned long long n;
	char line[256], word[64];

	free(bound.folder);
	while (f && fgets(line, sizeof line, f)) {
		if (sscanf(line, "%63s %llu", word, &n) != 2)
			continue;
		if (is_either(word, w->cached))
			cached += n * w->unit;
		else if (is_either(word, w->unclean))
			unclean += n * w->unit;
	}
	if (f)
		fclose(f);
	return cached > unclean ? cached - unclean : 0;
}

uint64_t sfs_memory_limit(void)
{
	return sfs_memory_limit_of("/proc");
}

uint64_t sfs_memory_clean(void)
{
	return sfs_memory_clean_of("/proc");
}
