/* SPDX-License-Identifier: MIT */
/* The memory limit is more than nothing and no more than the machine has; of nested
 * control groups the lowest limit counts, of version 1 and 2, wherever they are mounted,
 * in a container too.  Clean cache is that of whatever has the limit. */
#include "base/alloc.h"
#include "base/cgroup.h"
#include "check.h"
#include "memory/limit.h"

#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#define V2  "30 23 0:26 / %s rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
#define MIB ((uint64_t)1 << 20)

static char *folder;

/* Write a file under the folder, and the folders that it lies in. */
static void put(const char *name, const char *text)
{
	sfs_autofree char *path = sfs_asprintf("%s/%s", folder, name);
	char *slash = path + strlen(folder);
	FILE *f;

	while ((slash = strchr(slash + 1, '/')) != NULL) {
		*slash = 0;
		mkdir(path, 0700);
		*slash = '/';
	}
	f = fopen(path, "w");
	CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static uint64_t limit(void)
{
	return sfs_memory_limit_of(folder);
}

/* "self" is the folder itself. */
static void clear(void)
{
	sfs_autofree char *renew =
		sfs_asprintf("rm -rf %s/* && ln -s . %s/self", folder, folder);

	CHECK_EQ(system(renew), 0);
}

/* `line` has a %s for the folder. */
static void put_mounts(const char *line)
{
	sfs_autofree char *head = sfs_asprintf("%.*s%s", (int)(strstr(line, "%s") - line),
					       line, folder),
			  *all = sfs_asprintf("1 1 0:1 / / rw - ext4 /dev/x rw\n%s%s",
					      head, strstr(line, "%s") + 2);

	put("mountinfo", all);
}

static void version_2(uint64_t machine)
{
	put("cgroup", "0::/a/b/c\n");
	CHECK_EQ(limit(), machine); /* no mount */
	put_mounts(V2);
	CHECK_EQ(limit(), machine); /* no limit anywhere */
	put("a/b/c/memory.max", "max\n");
	CHECK_EQ(limit(), machine);
	put("a/b/c/memory.max", "9437184\n");
	CHECK_EQ(limit(), 9 * MIB);
	/* The lowest on the way counts, wherever it is. */
	put("a/b/memory.max", "12582912\n");
	CHECK_EQ(limit(), 9 * MIB);
	put("a/memory.max", "5242880\n");
	CHECK_EQ(limit(), 5 * MIB);
	put("memory.max", "4194304\n");
	CHECK_EQ(limit(), 4 * MIB);
	put("memory.max", "9223372036854771712\n"); /* more than there is */
	CHECK_EQ(limit(), 5 * MIB);
	/* In no group but the root's. */
	put("cgroup", "0::/\n");
	CHECK_EQ(limit(), machine);
	/* Above "high" the kernel slows us down. */
	put("cgroup", "0::/a/b/c\n");
	put("a/memory.high", "max\n");
	CHECK_EQ(limit(), 5 * MIB);
	put("a/b/memory.high", "3145728\n");
	CHECK_EQ(limit(), 3 * MIB);
	clear();
}

static void version_1(uint64_t machine)
{
	put("cgroup", "9:name=systemd:/x\n4:cpu,memory:/a/b\n3:memoryx:/c\n0::/a\n");
	put("a/memory.limit_in_bytes", "7340032\n");
	put("a/b/memory.limit_in_bytes", "9223372036854771712\n"); /* v1's "max" */
	put("c/memory.limit_in_bytes", "1048576\n");
	CHECK_EQ(limit(), machine);
	put_mounts("35 31 0:32 / %s rw,relatime - cgroup cgroup rw,cpu\n");
	CHECK_EQ(limit(), machine); /* of another controller */
	put_mounts("35 31 0:32 / %s rw,relatime - cgroup cgroup rw,cpu,memory\n");
	CHECK_EQ(limit(), 7 * MIB);
	put("a/b/memory.limit_in_bytes", "6291456\n");
	CHECK_EQ(limit(), 6 * MIB);
	clear();
}

static void clean_cache(void)
{
	CHECK_EQ(sfs_memory_clean_of(folder), 0);
	put("meminfo", "MemTotal:  9 kB\nMemFree: 8 kB\nCached: 7 kB\nActive: 100 kB\n"
		       "Inactive: 50 kB\nActive(anon): 3 kB\nActive(file):   400 kB\n"
		       "Inactive(file):     60 kB\nDirty:   5 kB\nWriteback:  2 kB\n"
		       "WritebackTmp: 1 kB\nnonsense\n\n");
	CHECK_EQ(sfs_memory_clean_of(folder), 453 << 10);
	/* A group without a limit does not bound us; the lowest limit does. */
	put("cgroup", "0::/a/b\n");
	put_mounts(V2);
	put("a/b/memory.stat", "inactive_file 1000\n");
	CHECK_EQ(sfs_memory_clean_of(folder), 453 << 10);
	put("a/memory.max", "9437184\n");
	CHECK_EQ(sfs_memory_clean_of(folder), 0); /* not known */
	put("a/memory.stat", "anon 5\nfile 6\ninactive_file 7000\nactive_file 300\n"
			     "file_dirty 50\nfile_writeback 4\nfile_mapped 9\n");
	CHECK_EQ(sfs_memory_clean_of(folder), 7246);
	put("a/b/memory.high", "8388608\n");
	CHECK_EQ(sfs_memory_clean_of(folder), 1000);
	put("a/b/memory.stat", "inactive_file 1000\nfile_dirty 1001\n");
	CHECK_EQ(sfs_memory_clean_of(folder), 0);
	clear();
	put("cgroup", "4:memory:/a\n");
	put_mounts("35 31 0:32 / %s rw,relatime - cgroup cgroup rw,memory\n");
	put("a/memory.limit_in_bytes", "7340032\n");
	put("a/memory.stat", "inactive_file 1\ntotal_inactive_file 200\ntotal_dirty 3\n"
			     "total_active_file 40\ntotal_writeback 5\n");
	CHECK_EQ(sfs_memory_clean_of(folder), 232);
	clear();
}

/* The mount shows a group as its root: that of the container. */
static void container(uint64_t machine)
{
	put("cgroup", "4:memory:/docker/1234/job\n");
	put_mounts("35 31 0:32 /docker/1234 %s ro - cgroup memory rw,memory\n");
	CHECK_EQ(limit(), machine);
	put("memory.limit_in_bytes", "8388608\n");
	CHECK_EQ(limit(), 8 * MIB);
	put("job/memory.limit_in_bytes", "3145728\n");
	CHECK_EQ(limit(), 3 * MIB);
	/* Seen from inside, a group out of sight: what the mount shows still counts. */
	put("cgroup", "4:memory:/docker/9\n");
	CHECK_EQ(limit(), 8 * MIB);
	put("cgroup", "4:memory:/docker/12345\n");
	CHECK_EQ(limit(), 8 * MIB);
	clear();
}

static void nonsense(uint64_t machine)
{
	static const char *const cgroups[] = {"",	"0",	 "0:",	"0::",
					      "0::a\n", ":::\n", "\n\n"};
	static const char *const mounts[] = {"%s", "1 2 %s - cgroup2",
					     "- cgroup2 x rw %s",
					     " - cgroup2 cgroup2 rw %s\n", "%s - - - -"};
	size_t i, k, n_root;

	put("memory.max", "1048576\n");
	for (i = 0; i < SFS_COUNT(cgroups); i++) {
		put("cgroup", cgroups[i]);
		put_mounts(V2);
		CHECK_EQ(limit(), machine);
		for (k = 0; k < SFS_COUNT(mounts); k++) {
			put_mounts(mounts[k]);
			CHECK_EQ(limit(), machine);
		}
	}
	put("cgroup", "0::/\n");
	for (k = 0; k < SFS_COUNT(mounts); k++) {
		put_mounts(mounts[k]);
		CHECK_EQ(limit(), machine);
	}
	CHECK(!sfs_cgroup_folder("/nowhere", NULL, &n_root));
	put_mounts(V2);
	CHECK_EQ(limit(), MIB);
	put("memory.max", "");
	CHECK_EQ(limit(), machine);
	clear();
}

static void escapes(void)
{
	sfs_autofree char *group = NULL;
	size_t n_root;

	put("cgroup", "0::/a\n");
	put("mountinfo", "30 23 0:26 / /odd\\040place rw - cgroup2 cgroup2 rw\n");
	group = sfs_cgroup_folder(folder, NULL, &n_root);
	CHECK_STR(group, "/odd place/a");
	CHECK_EQ(n_root, strlen("/odd place"));
	clear();
}

int main(void)
{
	char name[] = "/tmp/shufflefs-unit-memory.XXXXXX";
	uint64_t here = sfs_memory_limit(), machine;
	sfs_autofree char *link = NULL;
	struct sysinfo info;

	CHECK(sysinfo(&info) == 0);
	machine = (uint64_t)info.totalram * info.mem_unit;
	CHECK(here > 0);
	CHECK(here <= machine);
	CHECK(here == sfs_memory_limit());

	folder = mkdtemp(name);
	CHECK(folder != NULL);
	clear();
	version_2(machine);
	version_1(machine);
	container(machine);
	clean_cache();
	nonsense(machine);
	escapes();
	link = sfs_asprintf("%s/self", folder);
	CHECK_EQ(unlink(link), 0);
	CHECK_EQ(rmdir(folder), 0);
	return 0;
}
