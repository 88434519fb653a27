/* SPDX-License-Identifier: MIT */
/* What the kernel says of memory pressure is understood or not known; above 10 % half of
 * what is allowed goes, below 1 % a tenth comes back, and between the two nothing
 * changes. */
#include "base/alloc.h"
#include "check.h"
#include "memory/psi.h"

#include <sys/stat.h>
#include <unistd.h>

#define FULL "full avg10=99.00 avg60=0.00 avg300=0.00 total=0\n"

static void parsing(void)
{
	static const char *const nonsense[] = {
		"",
		"some",
		"some avg10=",
		"some avg10=x",
		"some avg10=5",
		"some avg10=100.01",
		"some avg10=-1.00",
		"some avg10=999.00",
		FULL,
		"avg10=5.00",
		"\n\n",
		"some avg60=1.00 avg10=5.00",
	};
	size_t i;

	for (i = 0; i < SFS_COUNT(nonsense); i++)
		CHECK_EQ(sfs_psi_parse(nonsense[i]), SFS_PSI_UNKNOWN);
	CHECK_EQ(sfs_psi_parse("some avg10=0.00 avg60=9.00 avg300=0.00 total=1\n" FULL),
		 0);
	CHECK_EQ(sfs_psi_parse("some avg10=0.07 avg60=9.00\n" FULL), 7);
	CHECK_EQ(sfs_psi_parse("some avg10=12.34 avg60=9.00\n" FULL), 1234);
	CHECK_EQ(sfs_psi_parse(FULL "some avg10=60.00 avg60=9.00\n"), 6000);
	CHECK_EQ(sfs_psi_parse("some avg10=100.00 avg60=9.00\n"), 10000);
}

static void write_file(const char *folder, const char *name, const char *text)
{
	sfs_autofree char *path = sfs_asprintf("%s/%s", folder, name);
	FILE *f = fopen(path, "w");

	CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

/* The group's file if there is one, else the machine's; it may be missing, too. */
static void check_file(const char *folder, const char *wanted, uint32_t pressure)
{
	sfs_autofree char *path = sfs_psi_file(folder);
	sfs_autofree char *full = sfs_asprintf("%s/%s", folder, wanted);

	CHECK_STR(path, full);
	CHECK_EQ(sfs_psi_read(path), pressure);
}

static void files(const char *folder)
{
	sfs_autofree char *self = sfs_asprintf("%s/self", folder);
	sfs_autofree char *group = sfs_asprintf("%s/group", folder);
	sfs_autofree char *mounts =
		sfs_asprintf("1 2 0:3 / %s rw - cgroup2 cgroup2 rw\n", folder);

	CHECK(mkdir(self, 0700) == 0 && mkdir(group, 0700) == 0);
	check_file(folder, "pressure/memory", SFS_PSI_UNKNOWN);
	write_file(self, "cgroup", "4:memory:/other\n0::/group\n");
	write_file(self, "mountinfo", mounts);
	check_file(folder, "pressure/memory", SFS_PSI_UNKNOWN);
	write_file(group, "memory.pressure", "some avg10=3.21 avg60=0.00\n");
	check_file(folder, "group/memory.pressure", 321);
	write_file(group, "memory.pressure", "");
	check_file(folder, "group/memory.pressure", SFS_PSI_UNKNOWN);
	CHECK_EQ(sfs_psi_read("/"), SFS_PSI_UNKNOWN);
}

static void decision(void)
{
	uint32_t a = SFS_PSI_ALL, before, p;
	int i;

	/* Down to nothing within seconds, and there it stays. */
	CHECK_EQ(sfs_psi_allow(a, 10000), SFS_PSI_ALL / 2);
	for (i = 0; i < 10; i++)
		a = sfs_psi_allow(a, 1001);
	CHECK_EQ(a, 0);
	CHECK_EQ(sfs_psi_allow(a, 6000), 0);
	/* Between the marks nothing changes, wherever it is. */
	for (p = 100; p <= 1000; p += 50) {
		CHECK_EQ(sfs_psi_allow(0, p), 0);
		CHECK_EQ(sfs_psi_allow(300, p), 300);
		CHECK_EQ(sfs_psi_allow(SFS_PSI_ALL, p), SFS_PSI_ALL);
	}
	/* Back in steps of a tenth, and never beyond all. */
	for (i = 0; i < 10; i++) {
		before = a;
		a = sfs_psi_allow(a, i % 2 ? 99 : SFS_PSI_UNKNOWN);
		CHECK_EQ(a - before, SFS_PSI_ALL / 10);
	}
	CHECK_EQ(a, SFS_PSI_ALL);
	CHECK_EQ(sfs_psi_allow(a, 0), SFS_PSI_ALL);
	CHECK_EQ(sfs_psi_allow(a - 1, 0), SFS_PSI_ALL);
}

int main(void)
{
	char folder[] = "/tmp/shufflefs-unit-pressure.XXXXXX";
	sfs_autofree char *remove = NULL;

	parsing();
	CHECK(mkdtemp(folder) != NULL);
	files(folder);
	remove = sfs_asprintf("rm -r %s", folder);
	CHECK_EQ(system(remove), 0);
	decision();
	return 0;
}
