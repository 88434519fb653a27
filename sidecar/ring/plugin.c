/* SPDX-License-Identifier: MIT */
#include "ring/plugin.h"

#include "base/alloc.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int sfs_plugin_load(const struct sfs_plugin *plugin, const void **ret,
		    struct sfs_error *err)
{
	const char *folder = getenv("SHUFFLEFS_PLUGINS");
	sfs_autofree char *path =
		sfs_asprintf("%s/%s.so", folder ? folder : PKGLIBDIR, plugin->name);
	const void *found;
	const char *why;
	void *library;

	if (access(path, F_OK) < 0)
		return sfs_error_set(
			err, -ENOENT,
			"%s: %s; build shufflefs with `configure %s`, or "
			"name the folder of the plug-in in SHUFFLEFS_PLUGINS",
			path, strerror(errno), plugin->option);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		why = dlerror(); /* it names a library that is missing */
		return sfs_error_set(
			err, -ENOENT, "cannot load the plug-in %s: %s%s", path, why,
			strstr(why, "cannot open shared object")
				? "; install it, or name its folder in LD_LIBRARY_PATH"
				: "");
	}
	found = dlsym(library, plugin->symbol);
	if (!found)
		return sfs_error_set(err, -ENOENT, "%s has no '%s': it is not a plug-in",
				     path, plugin->symbol);
	if (*(const uint32_t *)found != plugin->version)
		return sfs_error_set(err, -ENOENT,
				     "%s is of version %u, but this program needs %u; "
				     "install both from one build",
				     path, *(const uint32_t *)found, plugin->version);
	*ret = found;
	return 0;
}
