/* SPDX-License-Identifier: MIT */
/* How this works: memory is given up fast, because those who wait for it do nothing else,
 * and taken back slowly, so that we are not the ones who bring the pressure back.  Between
 * the two marks nothing changes, or two mounts would chase each other. */
#include "memory/psi.h"

#include "base/alloc.h"
#include "base/cgroup.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HIGH 1000 /* hundredths of a percent */
#define LOW  100

char *sfs_psi_file(const char *proc)
{
	size_t n_root;
	sfs_autofree char *self = sfs_asprintf("%s/self", proc);
	sfs_autofree char *group = sfs_cgroup_folder(self, NULL, &n_root);
	sfs_autofree char *path = NULL;

	if (group)
		path = sfs_asprintf("%s/memory.pressure", group);
	if (path && access(path, R_OK) == 0)
		return steal(&path);
	return sfs_asprintf("%s/pressure/memory", proc);
}

uint32_t sfs_psi_parse(const char *text)
{
	unsigned percent, hundredths;
	const char *some = strstr(text, "some avg10=");

	if (!some || sscanf(some, "some avg10=%3u.%2u", &percent, &hundredths) != 2 ||
	    100 * percent + hundredths > 10000)
		return SFS_PSI_UNKNOWN;
	return 100 * percent + hundredths;
}

uint32_t sfs_psi_read(const char *path)
{
	FILE *f = fopen(path, "re");
	char text[256];
	size_t n;

	if (!f)
		return SFS_PSI_UNKNOWN;
	n = fread(text, 1, sizeof text - 1, f);
	fclose(f);
	text[n] = 0;
	return sfs_psi_parse(text);
}

uint32_t sfs_psi_allow(uint32_t allowed, uint32_t pressure)
{
	if (pressure != SFS_PSI_UNKNOWN && pressure > HIGH)
		return allowed / 2;
	if (pressure != SFS_PSI_UNKNOWN && pressure >= LOW)
		return allowed;
	allowed += SFS_PSI_ALL / 10;
	return allowed < SFS_PSI_ALL ? allowed : SFS_PSI_ALL;
}
