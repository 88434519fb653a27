/* SPDX-License-Identifier: MIT */
#include "catalog/directory.h"

#include "base/alloc.h"
#include "base/keyhash.h"

#include <errno.h>
#include <string.h>

#define MAX_COMPONENT 255
#define MAX_DEPTH     64

struct sfs_directory *sfs_directory_new(void)
{
	struct sfs_directory *l = sfs_calloc(1, sizeof *l);

	l->capacity = 64;
	l->nodes = sfs_calloc(l->capacity, sizeof *l->nodes);
	l->nodes[0].is_folder = true;
	l->n = 1;
	l->names_capacity = 1024;
	l->names = sfs_calloc(l->names_capacity, 1);
	l->n_names = 1; /* the root's is "" */
	l->table_size = 128;
	l->table = sfs_calloc(l->table_size, sizeof *l->table);
	return l;
}

void sfs_directory_free(struct sfs_directory *l)
{
	uint32_t i;

	if (!l)
		return;
	for (i = 0; i < l->n; i++)
		free(l->nodes[i].runs);
	free(l->nodes);
	free(l->names);
	free(l->table);
	free(l);
}

uint64_t sfs_directory_memory(const struct sfs_directory *l)
{
	return l->capacity * sizeof *l->nodes + l->names_capacity +
	       l->table_size * sizeof *l->table;
}

static uint32_t slot_of(const struct sfs_directory *l, uint32_t parent, const char *name,
			size_t n)
{
	uint64_t h =
		sfs_keyhash_prepend(SFS_KEYHASH_EMPTY ^ parent * 0x9e3779b97f4a7c15ULL,
				    name, n);

	return (uint32_t)(h ^ h >> 32) & (l->table_size - 1);
}

/* The slot of the child, or the free one where it would be. */
static uint32_t *find_slot(const struct sfs_directory *l, uint32_t parent,
			   const char *name, size_t n)
{
	uint32_t i = slot_of(l, parent, name, n), node;

	for (;; i = (i + 1) & (l->table_size - 1)) {
		node = l->table[i];
		if (node == 0 || (l->nodes[node].parent == parent &&
				  strncmp(sfs_directory_name(l, node), name, n) == 0 &&
				  sfs_directory_name(l, node)[n] == 0))
			return &l->table[i];
	}
}

uint32_t sfs_directory_find(const struct sfs_directory *l, uint32_t parent,
			    const char *name)
{
	return *find_slot(l, parent, name, strlen(name));
}

static void grow_table(struct sfs_directory *l)
{
	const char *name;
	uint32_t i;

	l->table_size *= 2;
	free(l->table);
	l->table = sfs_calloc(l->table_size, sizeof *l->table);
	for (i = 1; i < l->n; i++) {
		name = sfs_directory_name(l, i);
		*find_slot(l, l->nodes[i].parent, name, strlen(name)) = i;
	}
}

static size_t add_name(struct sfs_directory *l, const char *name, size_t n)
{
	size_t at = l->n_names;

	while (at + n + 1 > l->names_capacity) {
		l->names_capacity *= 2;
		l->names = sfs_realloc(l->names, l->names_capacity);
	}
	memcpy(l->names + at, name, n);
	l->names[at + n] = 0;
	l->n_names += n + 1;
	return at;
}

static uint32_t add_node(struct sfs_directory *l, uint32_t parent, const char *name,
			 size_t n)
{
	struct sfs_directory_node *p;
	uint32_t id = l->n;

	if (2 * (l->n + 1) > l->table_size)
		grow_table(l);
	if (l->n == l->capacity) {
		l->capacity *= 2;
		l->nodes = sfs_reallocarray(l->nodes, l->capacity, sizeof *l->nodes);
	}
	l->n++;
	l->nodes[id] = (struct sfs_directory_node){.parent = parent,
						   .name = add_name(l, name, n)};
	p = &l->nodes[parent];
	if (p->last_child)
		l->nodes[p->last_child].next_sibling = id;
	else
		p->first_child = id;
	p->last_child = id;
	*find_slot(l, parent, name, n) = id;
	return id;
}

/* Cut the next component off *path; its length, 0 at the end. */
static size_t next_component(const char **path, size_t *n, const char **ret)
{
	const char *slash;
	size_t length;

	for (;;) {
		while (*n > 0 && **path == '/') {
			(*path)++;
			(*n)--;
		}
		if (*n == 0)
			return 0;
		slash = memchr(*path, '/', *n);
		length = slash ? (size_t)(slash - *path) : *n;
		*ret = *path;
		*path += length;
		*n -= length;
		if (length != 1 || (*ret)[0] != '.')
			return length; /* "." is no component */
	}
}

/* May this name become a path? */
static bool is_safe(const char *path, size_t n)
{
	const char *c;
	size_t length;
	int depth = 0;

	if (n == 0 || memchr(path, 0, n) || path[n - 1] == '/')
		return false;
	while ((length = next_component(&path, &n, &c)) > 0)
		if (length > MAX_COMPONENT || ++depth > MAX_DEPTH ||
		    (length == 2 && c[0] == '.' && c[1] == '.'))
			return false;
	return depth > 0;
}

static void fill(struct sfs_directory_node *node, uint64_t start,
		 const struct sfs_tar_entry *g)
{
	free(steal(&node->runs));
	node->data = start + g->data;
	node->size = g->size;
	node->mtime = g->mtime;
	node->mode = g->mode;
	node->n_runs = g->n_runs;
	if (g->is_sparse) {
		node->runs = sfs_calloc(g->n_runs, sizeof *node->runs);
		memcpy(node->runs, g->runs, g->n_runs * sizeof *node->runs);
	}
}

uint32_t sfs_directory_put(struct sfs_directory *l, const char *path, size_t n)
{
	uint32_t parent = SFS_DIRECTORY_ROOT, child;
	const char *c, *next_c;
	size_t length, next;

	if (!is_safe(path, n))
		return 0;
	length = next_component(&path, &n, &c);
	for (;; c = next_c, length = next) {
		next = next_component(&path, &n, &next_c);
		child = *find_slot(l, parent, c, length);
		if (child && l->nodes[child].is_folder != (next > 0))
			return 0;
		if (!child) {
			child = add_node(l, parent, c, length);
			l->nodes[child].is_folder = next > 0;
		}
		if (next == 0)
			return child;
		parent = child;
	}
}

int sfs_directory_add(struct sfs_directory *l, uint64_t start,
		      const struct sfs_tar_entry *g)
{
	uint32_t node, n_before = l->n;

	if (!g->is_regular)
		return 0;
	node = sfs_directory_put(l, g->name, g->n_name);
	if (node > 0)
		fill(&l->nodes[node], start, g);
	if (node >= n_before)
		return 0;
	l->n_hidden++;
	if (node > 0)
		return -EEXIST;
	return is_safe(g->name, g->n_name) ? -ENOTDIR : -EINVAL;
}
