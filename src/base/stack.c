/* SPDX-License-Identifier: MIT */
/* How this works: the stack of the first thread grows up to the limit of that moment, so
 * the limit is raised before it is needed.  The size of other threads' stacks was taken
 * from it when the process began: libraries start threads, too, so the default is set,
 * and not what each of ours is started with. */
#include "base/stack.h"

#include <errno.h>
#include <pthread.h>
#include <sys/resource.h>

#define WANTED ((rlim_t)2 << 20)

/* Up to what is allowed; root may go beyond. */
static void raise_limit(struct rlimit *limit)
{
	struct rlimit more = {.rlim_cur = WANTED, .rlim_max = limit->rlim_max};

	if (more.rlim_max < WANTED)
		more.rlim_max = WANTED;
	if (setrlimit(RLIMIT_STACK, &more) < 0) {
		more.rlim_cur = more.rlim_max = limit->rlim_max;
		if (setrlimit(RLIMIT_STACK, &more) < 0)
			return;
	}
	*limit = more;
}

static void raise_default(void)
{
	pthread_attr_t attr;
	size_t n;

	if (pthread_getattr_default_np(&attr) != 0)
		return;
	if (pthread_attr_getstacksize(&attr, &n) == 0 && n < WANTED) {
		pthread_attr_setstacksize(&attr, WANTED);
		pthread_setattr_default_np(&attr);
	}
	pthread_attr_destroy(&attr);
}

int sfs_stack_ensure(struct sfs_error *error)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_STACK, &limit) < 0)
		return 0; /* it is not known to be low */
	if (limit.rlim_cur < WANTED) /* RLIM_INFINITY is the largest number */
		raise_limit(&limit);
	if (limit.rlim_cur < SFS_STACK_LEAST)
		return sfs_error_set(error, -EPERM,
				     "the limit of the stack is %llu KiB, and may not be "
				     "raised: at least %llu KiB are needed (ulimit -s)",
				     (unsigned long long)limit.rlim_cur >> 10,
				     (unsigned long long)SFS_STACK_LEAST >> 10);
	raise_default();
	return 0;
}
