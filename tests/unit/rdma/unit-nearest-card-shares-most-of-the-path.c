/* SPDX-License-Identifier: MIT */
/* Of several network cards the one that shares most of a GPU's way through PCI is
 * nearest: below one switch, below one host bridge, in one NUMA node, in the host.  Of
 * equal ones the first is it; one that is not on PCI is last; and what cannot be told is
 * an error.  In a tree of sysfs that is made here. */
#include "check.h"
#include "nearest.h"

#include "base/alloc.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#define GPU "0000:3b:00.0"

static char root[] = "/tmp/shufflefs-nearest-XXXXXX";

/* PATH/ in the tree, with the folders above it. */
static char *make_folder(const char *path)
{
	char *at = sfs_asprintf("%s/%s", root, path), *slash = at + strlen(root);

	while ((slash = strchr(slash + 1, '/')) != NULL) {
		*slash = '\0';
		mkdir(at, 0700);
		*slash = '/';
	}
	mkdir(at, 0700);
	return at;
}

static void make_link(const char *folder, const char *name, const char *to)
{
	char *at = make_folder(folder), *link = sfs_asprintf("%s/%s", at, name);

	unlink(link);
	CHECK_EQ(symlink(to, link), 0);
	free(link);
	free(at);
}

static void make_device(const char *path, int node)
{
	char *at = make_folder(path), *name = sfs_asprintf("%s/numa_node", at);
	FILE *file = fopen(name, "w");

	CHECK(file);
	fprintf(file, "%d\n", node);
	fclose(file);
	free(name);
	free(at);
}

/* The card `name` is at `path` of the tree. */
static void make_card(const char *name, const char *path, int node)
{
	char *folder = sfs_asprintf("class/infiniband/%s", name);
	char *to = sfs_asprintf("../../../%s", path);

	make_device(path, node);
	make_link(folder, "device", to);
	free(to);
	free(folder);
}

static struct sfs_nearest nearest;
static struct sfs_error err;

#define FIND(gpu, ...) find(gpu, (const char *const[]){__VA_ARGS__, NULL})
static const char *find(const char *gpu, const char *const *cards)
{
	size_t n = 0;
	int ret;

	while (cards[n])
		n++;
	ret = sfs_find_nearest(root, gpu, cards, n, &nearest, &err);
	CHECK(ret == 0 || ret == -ENODEV);
	return ret == 0 ? cards[nearest.card] : NULL;
}

static void each_is_nearer_than_those_behind_it(void)
{
	static const struct {
		const char *name;
		enum sfs_nearness nearness;
	} cards[] = {{"switch", SFS_NEAR_SWITCH},   {"far-switch", SFS_NEAR_SWITCH},
		     {"bridge", SFS_NEAR_BRIDGE},   {"node", SFS_NEAR_NODE},
		     {"other-node", SFS_NEAR_HOST}, {"soft", SFS_NEAR_UNKNOWN}};
	size_t i, j;

	for (i = 0; i < sizeof cards / sizeof *cards - 1; i++)
		for (j = i + 1; j < sizeof cards / sizeof *cards; j++) {
			CHECK_STR(FIND(GPU, cards[i].name, cards[j].name), cards[i].name);
			CHECK_EQ(nearest.nearness, cards[i].nearness);
			CHECK_STR(FIND(GPU, cards[j].name, cards[i].name), cards[i].name);
		}
	CHECK_STR(FIND(GPU, "soft", "other-node", "node", "bridge", "switch",
		       "far-switch"),
		  "switch");
	CHECK_EQ(nearest.n_hops, 4); /* its port, the switch, the GPU's port, the GPU */
}

static void equal_ones_are_in_turn(void)
{
	CHECK_STR(FIND(GPU, "node", "node-too"), "node");
	CHECK_STR(FIND(GPU, "node-too", "node"), "node-too");
}

static void addresses_of_cuda_are_known(void)
{
	CHECK_STR(FIND("00000000:3B:00.0", "bridge", "switch"), "switch");
}

/* (The folders above a host bridge are not PCI.) */
static void what_is_above_a_host_bridge_is_not_shared(void)
{
	CHECK_STR(FIND("0007:01:00.0", "arm", "arm-near"), "arm-near");
	CHECK_EQ(nearest.nearness, SFS_NEAR_BRIDGE);
	CHECK_STR(FIND("0007:01:00.0", "arm"), "arm");
	CHECK_EQ(nearest.nearness, SFS_NEAR_HOST);
}

static void what_cannot_be_told_is_an_error(void)
{
	CHECK(!FIND(GPU, "soft", "none"));
	CHECK_HAS(err.text, "at " GPU ": none is on PCI; name one");
	CHECK(!FIND("0000:3b:00.1", "switch", "bridge"));
	CHECK_HAS(err.text, "this host's sysfs has no such device");
	CHECK(!FIND("a GPU", "switch", "bridge"));

	/* There is only one. */
	CHECK_STR(FIND(GPU, "soft"), "soft");
	CHECK_STR(FIND("0000:3b:00.1", "switch"), "switch");
	CHECK_EQ(nearest.nearness, SFS_NEAR_UNKNOWN);
}

static void make_tree(void)
{
#define BRIDGE "devices/pci0000:3a/"
#define SWITCH BRIDGE "0000:3a:02.0/0000:38:00.0/"
#define ARM    "devices/platform/pcie@7/"
	make_device(SWITCH "0000:39:00.0/0000:3b:00.0", 0);
	make_link("bus/pci/devices", GPU, "../../../" SWITCH "0000:39:00.0/" GPU);
	make_card("switch", SWITCH "0000:39:01.0/0000:3c:00.0", 0);
	make_card("far-switch",
		  SWITCH "0000:39:02.0/0000:3d:00.0/0000:3e:01.0/0000:3f:00.0", 0);
	make_card("bridge", BRIDGE "0000:3a:03.0/0000:50:00.0", 0);
	make_card("node", "devices/pci0000:60/0000:60:01.0/0000:61:00.0", 0);
	make_card("node-too", "devices/pci0000:60/0000:60:02.0/0000:62:00.0", 0);
	make_card("other-node", "devices/pci0000:80/0000:80:01.0/0000:81:00.0", 1);
	free(make_folder("class/infiniband/soft"));
	make_device(ARM "pci0007:00/0007:00:00.0/0007:01:00.0", -1);
	make_link("bus/pci/devices", "0007:01:00.0",
		  "../../../" ARM "pci0007:00/0007:00:00.0/0007:01:00.0");
	make_card("arm", ARM "pci0008:00/0008:00:00.0/0008:01:00.0", -1);
	make_card("arm-near", ARM "pci0007:00/0007:00:01.0/0007:02:00.0", -1);
}

int main(void)
{
	char *remove;

	CHECK(mkdtemp(root));
	make_tree();
	each_is_nearer_than_those_behind_it();
	equal_ones_are_in_turn();
	addresses_of_cuda_are_known();
	what_is_above_a_host_bridge_is_not_shared();
	what_cannot_be_told_is_an_error();
	remove = sfs_asprintf("rm -r '%s'", root);
	CHECK_EQ(system(remove), 0);
	free(remove);
	return 0;
}
