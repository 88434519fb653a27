/* SPDX-License-Identifier: MIT */
/* ring-guard - who cuts a state's file kills nobody.
 *
 * The file lies beside the socket, where its user can truncate it, and to touch a page
 * behind its end is a SIGBUS.  So there is a handler for that: it puts zeros in the place
 * of the whole file in this process, which has no magic then, and its user sees that the
 * ring is broken (sfs_ring_is_whole()).  A fault anywhere else is for who handled the
 * signal before.  A thread that touches the memory must not block SIGBUS.
 *
 * (All in a header, for the library of trainers is one source file.)
 */
#ifndef SFS_RING_GUARD_H
#define SFS_RING_GUARD_H

#include "ring/ring-memory.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>

#define SFS_RING_GUARDED 256 /* mappings of a process at a time; more have no guard */

static _Atomic uintptr_t sfs_ring_guarded[SFS_RING_GUARDED];
static struct sigaction sfs_ring_handled_before;
static pthread_once_t sfs_ring_guard_once = PTHREAD_ONCE_INIT;

static inline void sfs_ring_on_fault(int number, siginfo_t *info, void *context)
{
	uintptr_t at = (uintptr_t)info->si_addr, begin;
	int i;

	for (i = 0; i < SFS_RING_GUARDED; i++) {
		begin = atomic_load(&sfs_ring_guarded[i]);
		if (begin != 0 && at - begin < SFS_RING_SLOTS_OFFSET &&
		    mmap((void *)begin, SFS_RING_SLOTS_OFFSET, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED)
			return;
	}
	if (sfs_ring_handled_before.sa_flags & SA_SIGINFO)
		sfs_ring_handled_before.sa_sigaction(number, info, context);
	else if (sfs_ring_handled_before.sa_handler != SIG_DFL &&
		 sfs_ring_handled_before.sa_handler != SIG_IGN)
		sfs_ring_handled_before.sa_handler(number);
	else
		signal(number, SIG_DFL); /* it happens again when this returns */
}

static inline void sfs_ring_handle_faults(void)
{
	struct sigaction ours = {.sa_sigaction = sfs_ring_on_fault,
				 .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};

	sigaction(SIGBUS, &ours, &sfs_ring_handled_before);
}

/* The first part of a ring's memory is mapped at `m`. */
static inline void sfs_ring_guard(const struct sfs_ring_memory *m)
{
	uintptr_t none;
	int i;

	pthread_once(&sfs_ring_guard_once, sfs_ring_handle_faults);
	for (i = 0; i < SFS_RING_GUARDED; i++) {
		none = 0;
		if (atomic_compare_exchange_strong(&sfs_ring_guarded[i], &none,
						   (uintptr_t)m))
			return;
	}
}

/* Before it is unmapped. */
static inline void sfs_ring_unguard(const struct sfs_ring_memory *m)
{
	uintptr_t begin;
	int i;

	for (i = 0; i < SFS_RING_GUARDED; i++) {
		begin = (uintptr_t)m;
		if (atomic_compare_exchange_strong(&sfs_ring_guarded[i], &begin, 0))
			return;
	}
}

/* Is its file what it was?  Looks at the first and at the last page. */
static inline bool sfs_ring_is_whole(const struct sfs_ring_memory *m)
{
	(void)*(const volatile unsigned char *)((const unsigned char *)m +
						SFS_RING_SLOTS_OFFSET - 1);
	return memcmp((const void *)m->magic, SFS_RING_MAGIC, sizeof m->magic) == 0;
}

#endif
