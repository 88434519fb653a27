/* SPDX-License-Identifier: MIT */
/* The memory limit is more than nothing and no more than the machine has. */
#include "check.h"
#include "memory.h"

#include <sys/sysinfo.h>

int main(void)
{
	uint64_t limit = sfs_memory_limit();
	struct sysinfo info;

	CHECK(sysinfo(&info) == 0);
	CHECK(limit > 0);
	CHECK(limit <= (uint64_t)info.totalram * info.mem_unit);
	CHECK(limit == sfs_memory_limit());
	return 0;
}
