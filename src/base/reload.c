/* SPDX-License-Identifier: MIT */
#include "base/reload.h"

#include <stdatomic.h>

static atomic_uint edition;

void sfs_reload_request(void)
{
	atomic_fetch_add(&edition, 1);
}

unsigned sfs_reload_edition(void)
{
	return atomic_load(&edition);
}
