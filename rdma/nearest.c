/* SPDX-License-Identifier: MIT */
/* How this works.  Both devices are links to where they are in the tree:
 *
 *	.../devices/pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0/0000:03:00.0
 *		    host bridge	root port   a switch,	 its port     the device
 *
 * What two such paths begin with together is what the devices share.  Devices of several
 * host bridges may still be of one NUMA node. */
#include "nearest.h"

#include "base/alloc.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *sfs_nearness_name(enum sfs_nearness nearness)
{
	static const char *const names[] = {[SFS_NEAR_UNKNOWN] = "nothing that is known",
					    [SFS_NEAR_HOST] = "the host",
					    [SFS_NEAR_NODE] = "a NUMA node",
					    [SFS_NEAR_BRIDGE] = "a PCI host bridge",
					    [SFS_NEAR_SWITCH] = "a PCI switch"};

	return names[nearness];
}

/* What `link` leads to; NULL: there is none.  To be freed. */
static char *follow(char *link)
{
	char *path = realpath(link, NULL);

	free(link);
	return path;
}

static char *find_gpu(const char *sysfs, const char *gpu)
{
	unsigned int domain, bus, device, function;

	if (sscanf(gpu, "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4)
		return NULL;
	return follow(sfs_asprintf("%s/bus/pci/devices/%04x:%02x:%02x.%x", sysfs, domain,
				   bus, device, function));
}

/* < 0: it has none. */
static int node_of(const char *path)
{
	char *name = sfs_asprintf("%s/numa_node", path);
	FILE *file = fopen(name, "re");
	int node = -1;

	if (file && fscanf(file, "%d", &node) != 1)
		node = -1;
	if (file)
		fclose(file);
	free(name);
	return node;
}

/* The host bridge in a path, and what is behind it; NULL: it is not on PCI. */
static const char *find_bridge(const char *path)
{
	const char *at = path;
	unsigned int domain, bus;

	while ((at = strstr(at, "/pci")) != NULL)
		if (sscanf(++at, "pci%x:%x", &domain, &bus) == 2)
			return at;
	return NULL;
}

static unsigned int count_parts(const char *path)
{
	unsigned int n = 0;

	for (; *path; path++)
		n += *path == '/';
	return n;
}

/* How many devices both begin with, the host bridge among them. */
static unsigned int count_shared(const char *a, const char *b)
{
	unsigned int n = 0;
	size_t i;

	for (i = 0; a[i] == b[i] && a[i]; i++)
		n += a[i] == '/';
	return n + ((!a[i] || a[i] == '/') && (!b[i] || b[i] == '/'));
}

static void compare(const char *gpu, const char *card, struct sfs_nearest *ret)
{
	const char *a = find_bridge(gpu), *b = card ? find_bridge(card) : NULL;
	unsigned int n_shared;
	int node;

	ret->nearness = SFS_NEAR_UNKNOWN;
	ret->n_hops = 0;
	if (!a || !b)
		return;
	n_shared = count_shared(a, b);
	node = node_of(gpu);
	if (n_shared > 0) {
		ret->nearness = n_shared > 1 ? SFS_NEAR_SWITCH : SFS_NEAR_BRIDGE;
		ret->n_hops = count_parts(a) + count_parts(b) + 2 - 2 * n_shared;
	} else {
		ret->nearness = node >= 0 && node == node_of(card) ? SFS_NEAR_NODE
								   : SFS_NEAR_HOST;
	}
}

static bool is_nearer(const struct sfs_nearest *a, const struct sfs_nearest *b)
{
	if (a->nearness != b->nearness)
		return a->nearness > b->nearness;
	return a->n_hops < b->n_hops;
}

int sfs_find_nearest(const char *sysfs, const char *gpu, const char *const *cards,
		     size_t n, struct sfs_nearest *ret, struct sfs_error *err)
{
	char *at = find_gpu(sysfs, gpu), *card;
	struct sfs_nearest this;
	size_t i;

	memset(ret, 0, sizeof *ret);
	for (i = 0; at && i < n; i++) {
		card = follow(
			sfs_asprintf("%s/class/infiniband/%s/device", sysfs, cards[i]));
		this.card = i;
		compare(at, card, &this);
		free(card);
		if (i == 0 || is_nearer(&this, ret))
			*ret = this;
	}
	if (ret->nearness != SFS_NEAR_UNKNOWN || n == 1) {
		free(at);
		return 0;
	}
	sfs_error_set(err, -ENODEV,
		      "cannot tell which RDMA device is nearest to the GPU at %s: %s; "
		      "name one with device=",
		      gpu,
		      at ? "none is on PCI" : "this host's sysfs has no such device");
	free(at);
	return -ENODEV;
}
