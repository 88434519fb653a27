/* SPDX-License-Identifier: MIT */
/* How this works: an array, and over it a hash table whose lists hang by numbers. */
#include "tree/names.h"

#include "base/alloc.h"

#include <pthread.h>

#define N_LISTS (1U << 12)
#define NONE	UINT32_MAX

struct entry {
	struct sfs_name name;
	struct sfs_place place;
	bool has_place;
	uint32_t next; /* in its list; or NONE */
};

struct sfs_names {
	pthread_mutex_t lock; /* guards all below */
	struct entry *entries;
	uint32_t n, capacity;
	uint32_t lists[N_LISTS];
};

struct sfs_names *sfs_names_new(void)
{
	struct sfs_names *names = sfs_calloc(1, sizeof *names);
	uint32_t i;

	pthread_mutex_init(&names->lock, NULL);
	for (i = 0; i < N_LISTS; i++)
		names->lists[i] = NONE;
	return names;
}

void sfs_names_free(struct sfs_names *names)
{
	if (!names)
		return;
	pthread_mutex_destroy(&names->lock);
	free(names->entries);
	free(names);
}

static uint32_t *list_of(struct sfs_names *names, const struct sfs_name *name)
{
	const uint64_t parts[] = {name->epoch,	  name->rank,	   name->n_ranks,
				  name->worker,	  name->n_workers, name->first,
				  name->has_first};
	uint64_t hash = 0;
	size_t i;

	for (i = 0; i < SFS_COUNT(parts); i++)
		hash = (hash ^ parts[i]) * 0x9e3779b97f4a7c15ULL;
	return &names->lists[hash >> 52];
}

bool sfs_names_put(struct sfs_names *names, const struct sfs_name *name,
		   uint32_t *ret_number)
{
	uint32_t *list = list_of(names, name), i;

	pthread_mutex_lock(&names->lock);
	for (i = *list; i != NONE; i = names->entries[i].next)
		if (sfs_name_equal(&names->entries[i].name, name))
			break;
	if (i == NONE && names->n < SFS_NAMES_MAX) {
		if (names->n == names->capacity) {
			names->capacity = names->capacity ? 2 * names->capacity : 16;
			names->entries = sfs_reallocarray(names->entries, names->capacity,
							  sizeof *names->entries);
		}
		i = names->n++;
		names->entries[i] = (struct entry){.name = *name, .next = *list};
		*list = i;
	}
	pthread_mutex_unlock(&names->lock);
	*ret_number = i;
	return i != NONE;
}

struct sfs_name sfs_names_get(struct sfs_names *names, uint32_t number)
{
	struct sfs_name name;

	pthread_mutex_lock(&names->lock);
	name = names->entries[number].name;
	pthread_mutex_unlock(&names->lock);
	return name;
}

bool sfs_names_next(struct sfs_names *names, const struct sfs_name *folder,
		    uint32_t *number, struct sfs_name *ret_name)
{
	struct sfs_name parent;
	bool is_found = false;

	pthread_mutex_lock(&names->lock);
	for (; *number < names->n; ++*number) {
		*ret_name = names->entries[*number].name;
		is_found = sfs_name_parent(ret_name, &parent) &&
			   sfs_name_equal(&parent, folder);
		if (is_found)
			break;
	}
	pthread_mutex_unlock(&names->lock);
	return is_found;
}

bool sfs_names_place(struct sfs_names *names, uint32_t number,
		     struct sfs_place *ret_place)
{
	bool has;

	pthread_mutex_lock(&names->lock);
	has = names->entries[number].has_place;
	*ret_place = names->entries[number].place;
	pthread_mutex_unlock(&names->lock);
	return has;
}

void sfs_names_set_place(struct sfs_names *names, uint32_t number, struct sfs_place place)
{
	pthread_mutex_lock(&names->lock);
	names->entries[number].place = place;
	names->entries[number].has_place = true;
	pthread_mutex_unlock(&names->lock);
}
