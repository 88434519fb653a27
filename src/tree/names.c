/* SPDX-License-Identifier: MIT */
/* How this works: an array, and over it a hash table with as many lists as the array has
 * room, which hang by numbers. */
#include "tree/names.h"

#include "base/alloc.h"

#include <pthread.h>

#define FIRST_BITS 4
#define NONE	   UINT32_MAX

struct entry {
	struct sfs_name name;
	union { /* a stream has a place, a text a size */
		struct sfs_place place;
		struct sfs_text_size text;
	};
	bool has_place, has_text;
	uint32_t next; /* in its list; or NONE */
};

struct sfs_names {
	pthread_mutex_t lock; /* guards all below */
	struct entry *entries;
	uint32_t n, *lists;
	int bits; /* of the capacity of both */
};

static uint32_t *list_of(const struct sfs_names *names, const struct sfs_name *name)
{
	const uint64_t parts[] = {name->epoch,	  name->rank,	   name->n_ranks,
				  name->worker,	  name->n_workers, name->first,
				  name->has_first};
	uint64_t hash = 0;
	size_t i;

	for (i = 0; i < SFS_COUNT(parts); i++)
		hash = (hash ^ parts[i]) * 0x9e3779b97f4a7c15ULL;
	return &names->lists[hash >> (64 - names->bits)];
}

static void resize(struct sfs_names *names, int bits)
{
	uint32_t capacity = 1U << bits, *list, i;

	names->bits = bits;
	names->entries =
		sfs_reallocarray(names->entries, capacity, sizeof *names->entries);
	names->lists = sfs_reallocarray(names->lists, capacity, sizeof *names->lists);
	for (i = 0; i < capacity; i++)
		names->lists[i] = NONE;
	for (i = 0; i < names->n; i++) {
		list = list_of(names, &names->entries[i].name);
		names->entries[i].next = *list;
		*list = i;
	}
}

struct sfs_names *sfs_names_new(void)
{
	struct sfs_names *names = sfs_calloc(1, sizeof *names);

	pthread_mutex_init(&names->lock, NULL);
	resize(names, FIRST_BITS);
	return names;
}

void sfs_names_free(struct sfs_names *names)
{
	if (!names)
		return;
	pthread_mutex_destroy(&names->lock);
	free(names->entries);
	free(names->lists);
	free(names);
}

bool sfs_names_put(struct sfs_names *names, const struct sfs_name *name,
		   uint32_t *ret_number)
{
	uint32_t *list, i;

	pthread_mutex_lock(&names->lock);
	for (i = *list_of(names, name); i != NONE; i = names->entries[i].next)
		if (sfs_name_equal(&names->entries[i].name, name))
			break;
	if (i == NONE && names->n < SFS_NAMES_MAX) {
		if (names->n == 1U << names->bits)
			resize(names, names->bits + 1);
		list = list_of(names, name);
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

bool sfs_names_text(struct sfs_names *names, uint32_t number,
		    struct sfs_text_size *ret_size)
{
	bool has;

	pthread_mutex_lock(&names->lock);
	has = names->entries[number].has_text;
	*ret_size = names->entries[number].text;
	pthread_mutex_unlock(&names->lock);
	return has;
}

void sfs_names_set_text(struct sfs_names *names, uint32_t number,
			struct sfs_text_size size)
{
	pthread_mutex_lock(&names->lock);
	names->entries[number].text = size;
	names->entries[number].has_text = true;
	pthread_mutex_unlock(&names->lock);
}
