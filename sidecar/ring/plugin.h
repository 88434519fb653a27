/* SPDX-License-Identifier: MIT */
/* plugin - shared objects that are loaded when they are needed: PKGLIBDIR/NAME.so.
 *
 * A plug-in uses the functions of this program (it is linked with -export-dynamic), and
 * is never unloaded.  Its symbol is a structure that begins with a uint32_t, the version
 * of the interface.
 */
#ifndef SFS_PLUGIN_H
#define SFS_PLUGIN_H

#include "base/error.h"

#include <stdint.h>

struct sfs_plugin {
	const char *name;   /* of the file, without ".so" */
	const char *option; /* of configure, which builds it */
	const char *symbol;
	uint32_t version;
};

/* The symbol.  -ENOENT, with an error: it is not there, cannot be loaded, or has another
 * version. */
int sfs_plugin_load(const struct sfs_plugin *plugin, const void **ret,
		    struct sfs_error *err);

#endif
