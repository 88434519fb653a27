/* SPDX-License-Identifier: MIT */
/* list - items that carry their own links (a ring with a head, as in Linux).
 *
 * An item is in at most one list per link.  Nothing here locks. */
#ifndef SFS_LIST_H
#define SFS_LIST_H

#include "base/alloc.h"

#include <stdbool.h>

struct sfs_link {
	struct sfs_link *next, *prev; /* both NULL: in no list */
};

/* A head is an sfs_link too; make it an empty list before use. */
static inline void sfs_list_init(struct sfs_link *head)
{
	head->next = head->prev = head;
}

static inline bool sfs_list_is_empty(const struct sfs_link *head)
{
	return head->next == head;
}

static inline bool sfs_link_is_in(const struct sfs_link *link)
{
	return link->next != NULL;
}

static inline void sfs_list_push(struct sfs_link *head, struct sfs_link *link)
{
	link->prev = head->prev;
	link->next = head;
	head->prev->next = link;
	head->prev = link;
}

/* Take out of its list; fine if it is in none. */
static inline void sfs_link_remove(struct sfs_link *link)
{
	if (!sfs_link_is_in(link))
		return;
	link->prev->next = link->next;
	link->next->prev = link->prev;
	link->next = link->prev = NULL;
}

/* Take out the first, NULL if empty. */
static inline struct sfs_link *sfs_list_pop(struct sfs_link *head)
{
	struct sfs_link *first = head->next;

	if (first == head)
		return NULL;
	sfs_link_remove(first);
	return first;
}

/* Move all of `from` to the end of `to`; `from` is empty then. */
static inline void sfs_list_move(struct sfs_link *to, struct sfs_link *from)
{
	struct sfs_link *link;

	while ((link = sfs_list_pop(from)) != NULL)
		sfs_list_push(to, link);
}

/* SFS_EACH(item, &head, struct type, member) { ... }: do not remove inside. */
#define SFS_EACH(item, head, type, member)                           \
	for (type *item = sfs_container((head)->next, type, member); \
	     &item->member != (head);                                \
	     item = sfs_container(item->member.next, type, member))

#endif
