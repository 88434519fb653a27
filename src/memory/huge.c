/* SPDX-License-Identifier: MIT */
/* How this works: in each file the word in brackets is the one that holds.  Since Linux 6.8
 * each size has a file of its own, which mostly says "inherit"; before that, the one above
 * them means 2 MiB. */
#include "memory/huge.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define SIZE "hugepages-2048kB"

/* The word that holds; "": no such file, or none. */
static void read_choice(const char *folder, const char *file, char ret_word[32])
{
	sfs_autofree char *path = sfs_asprintf("%s/%s", folder, file);
	FILE *f = fopen(path, "re");
	char line[256];
	const char *at = NULL;

	ret_word[0] = 0;
	if (!f)
		return;
	if (fgets(line, sizeof line, f))
		at = strchr(line, '[');
	if (at)
		sscanf(at, "[%31[^]]", ret_word);
	fclose(f);
}

static bool is_on(const char *word)
{
	return strcmp(word, "always") == 0 || strcmp(word, "madvise") == 0 ||
	       strcmp(word, "advise") == 0 || strcmp(word, "within_size") == 0 ||
	       strcmp(word, "force") == 0;
}

const char *sfs_huge_refusal(const char *folder, bool is_shared)
{
	char word[32];

	if (prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 1)
		return "they are disabled for this process (PR_SET_THP_DISABLE)";
	if (sysconf(_SC_PAGESIZE) != 4096)
		return "pages have another size than 4 KiB";
	read_choice(folder, is_shared ? SIZE "/shmem_enabled" : SIZE "/enabled", word);
	if (word[0] == 0 || strcmp(word, "inherit") == 0)
		read_choice(folder, is_shared ? "shmem_enabled" : "enabled", word);
	else if (!is_on(word))
		return "the kernel's setting for 2 MiB is never (hugepages-2048kB)";
	if (is_on(word))
		return NULL;
	return word[0] ? "the kernel's setting is never (transparent_hugepage)"
		       : "the kernel has none";
}

uint64_t sfs_huge_bytes(void)
{
	FILE *f = fopen("/proc/self/smaps_rollup", "re");
	unsigned long long kb;
	uint64_t sum = 0;
	char line[256];

	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "AnonHugePages: %llu", &kb) == 1 ||
		    sscanf(line, "ShmemPmdMapped: %llu", &kb) == 1)
			sum += kb << 10;
	if (f)
		fclose(f);
	return sum;
}
