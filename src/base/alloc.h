/* SPDX-License-Identifier: MIT */
/* alloc - allocation that cannot fail, and locals that free themselves.
 *
 * When the system has no memory left, the process says so and aborts.  Large memory comes
 * from the budget and the slabs (budget.h, slab.h), where waiting for it is
 * back-pressure.
 */
#ifndef SFS_ALLOC_H
#define SFS_ALLOC_H

#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

/* As malloc, calloc, realloc, reallocarray, strdup, strndup; never NULL. */
void *sfs_malloc(size_t n_bytes);
void *sfs_calloc(size_t n, size_t size);
void *sfs_realloc(void *p, size_t n_bytes);
void *sfs_reallocarray(void *p, size_t n, size_t size);
char *sfs_strdup(const char *s);
char *sfs_strndup(const char *s, size_t n);

/* Room for `wanted` elements in `memory`, which has *n: as it is, or new and of zeros.
 * What was there may be lost; the old memory is freed before there is a new one. */
void *sfs_make_room(void *memory, size_t *n, size_t wanted, size_t size);

/* A new string, formatted as by printf; the caller frees it. */
char *sfs_asprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* sfs_autofree char *s = ...;  frees s when the scope is left. */
static inline void sfs_alloc_autofree(void *p)
{
	free(*(void **)p);
}
#define sfs_autofree __attribute__((cleanup(sfs_alloc_autofree)))

/* Give away what a local owns: the value of *p, which becomes NULL. */
#define steal(p)                                     \
	({                                           \
		__typeof__(*(p)) sfs_stolen_ = *(p); \
		*(p) = NULL;                         \
		sfs_stolen_;                         \
	})

#define SFS_COUNT(array)		 (sizeof(array) / sizeof((array)[0]))
#define sfs_container(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

#endif
