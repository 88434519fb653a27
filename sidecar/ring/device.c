/* SPDX-License-Identifier: MIT */
#include "ring/device.h"

#include "ring/plugin.h"

#include "base/alloc.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

static const struct {
	const char *kind, *plugin, *option;
	bool has_fd;
} kinds[] = {
	{"cuda", "cuda", "--with-cuda=DIR", false},
	{"cuda-fd", "cuda", "--with-cuda=DIR", true},
	/* tests/lib/fakegpu.c: built by `make check`, never installed */
	{"fakegpu", "fakegpu", "...", false},
	{"fakegpu-fd", "fakegpu", "...", true},
};

static bool is_host(const char *memory)
{
	return !memory || strcmp(memory, "host") == 0;
}

/* The row of this name's kind; SFS_COUNT(kinds): none. */
static size_t find_kind(const char *memory)
{
	size_t n = strcspn(memory, ":"), i;

	for (i = 0; i < SFS_COUNT(kinds); i++)
		if (strlen(kinds[i].kind) == n && strncmp(memory, kinds[i].kind, n) == 0)
			break;
	return i;
}

int sfs_device_check_name(const char *memory, struct sfs_error *err)
{
	if (is_host(memory) || find_kind(memory) < SFS_COUNT(kinds))
		return 0;
	return sfs_error_set(err, -EINVAL,
			     "'%s' is not a place for a ring; use host, cuda, "
			     "cuda:UUID or cuda:N; or one of these with cuda-fd "
			     "instead of cuda",
			     memory);
}

int sfs_device_find(const char *memory, const struct sfs_device_ops **ret_ops,
		    struct sfs_device_settings *settings, struct sfs_error *err)
{
	int ret = sfs_device_check_name(memory, err);
	struct sfs_plugin plugin = {.symbol = "sfs_device_plugin",
				    .version = SFS_DEVICE_VERSION};
	const void *found;
	size_t kind;

	if (ret < 0)
		return ret;
	*ret_ops = NULL;
	if (is_host(memory))
		return 0;
	kind = find_kind(memory);
	plugin.name = kinds[kind].plugin;
	plugin.option = kinds[kind].option;
	ret = sfs_plugin_load(&plugin, &found, err);
	if (ret < 0)
		return ret;
	*ret_ops = found;
	memory += strlen(kinds[kind].kind);
	settings->which = *memory ? memory + 1 : "";
	settings->has_fd = kinds[kind].has_fd;
	return 0;
}
