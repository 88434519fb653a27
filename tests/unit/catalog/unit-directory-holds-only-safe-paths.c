/* SPDX-License-Identifier: MIT */
/* A shard's members are files and folders as tar would make them; a name that is no
 * safe path becomes none. */
#include "base/alloc.h"
#include "base/rng.h"
#include "catalog/directory.h"
#include "check.h"

#include <errno.h>

static struct sfs_directory *l;

static void begin(void)
{
	sfs_directory_free(l);
	l = sfs_directory_new();
}

/* In memory of just its size. */
static uint32_t put(const char *path)
{
	size_t n = strlen(path);
	sfs_autofree char *exact = sfs_malloc(n ? n : 1);

	memcpy(exact, path, n);
	return sfs_directory_put(l, exact, n);
}

/* The node at this path, by way of its folders; 0: none. */
static uint32_t find(const char *path)
{
	uint32_t node = SFS_DIRECTORY_ROOT;
	char name[300];
	size_t n;

	for (;; path += n + 1) {
		n = strcspn(path, "/");
		memcpy(name, path, n);
		name[n] = 0;
		node = sfs_directory_find(l, node, name);
		if (node == 0 || path[n] == 0)
			return node;
		CHECK(l->nodes[node].is_folder);
	}
}

static void is_file(const char *path, const char *wanted)
{
	uint32_t node = put(path);

	CHECK(node != 0);
	CHECK(!l->nodes[node].is_folder);
	CHECK_EQ(find(wanted), node);
	CHECK_EQ(put(path), node); /* once more is the same */
}

static void hidden(const char *path)
{
	uint32_t n = l->n;

	if (put(path) != 0) {
		fprintf(stderr, "'%s' is shown\n", path);
		exit(1);
	}
	CHECK_EQ(l->n, n); /* no half of it is left */
}

static void good_ones(void)
{
	begin();
	CHECK(l->nodes[SFS_DIRECTORY_ROOT].is_folder);
	CHECK_STR(sfs_directory_name(l, SFS_DIRECTORY_ROOT), "");
	CHECK_EQ(sfs_directory_find(l, SFS_DIRECTORY_ROOT, "a"), 0);
	CHECK_EQ(sfs_directory_find(l, SFS_DIRECTORY_ROOT, ""), 0);
	is_file("a.jpg", "a.jpg");
	is_file("d/b.jpg", "d/b.jpg");
	is_file("d/e/f/g.jpg", "d/e/f/g.jpg");
	is_file("/rooted.jpg", "rooted.jpg"); /* as tar does */
	is_file("///rooted/x.jpg", "rooted/x.jpg");
	is_file("./dotted.jpg", "dotted.jpg");
	is_file("././d/./h.jpg", "d/h.jpg");
	is_file("d//i.jpg", "d/i.jpg");
	is_file("...", "...");
	is_file("..a/b..", "..a/b..");
	is_file(".hidden", ".hidden");
	is_file("a b\n\xff\xfe\"\\", "a b\n\xff\xfe\"\\");
	is_file("-rf", "-rf");
	CHECK_EQ(put("./a.jpg"), find("a.jpg"));
	CHECK_EQ(sfs_directory_find(l, find("d"), "a.jpg"), 0);
	CHECK_EQ(sfs_directory_find(l, SFS_DIRECTORY_ROOT, "d/b.jpg"), 0);
	CHECK_EQ(sfs_directory_find(l, SFS_DIRECTORY_ROOT, "a.jp"), 0);
	CHECK_EQ(sfs_directory_find(l, SFS_DIRECTORY_ROOT, "a.jpgs"), 0);
}

static void bad_ones(void)
{
	char name[600];
	size_t i;

	begin();
	hidden("");
	hidden(".");
	hidden("/");
	hidden("./");
	hidden("..");
	hidden("../up.jpg");
	hidden("/../up.jpg");
	hidden("a/../../up.jpg");
	hidden("a/../b.jpg"); /* harmless, but no tar needs it */
	hidden("a/..");
	hidden("./..");
	hidden("new/folder/..");
	hidden("a.jpg/");
	hidden("a//");
	CHECK_EQ(sfs_directory_put(l, "a\0b", 3), 0);
	CHECK_EQ(sfs_directory_put(l, "a\0", 2), 0);

	/* As long as a component may be, and one more. */
	memset(name, 'n', sizeof name);
	name[255] = 0;
	is_file(name, name);
	name[255] = 'n';
	name[256] = 0;
	hidden(name);
	memmove(name + 2, name, 257);
	memcpy(name, "d/", 2);
	hidden(name);

	/* So deep, and deeper. */
	for (i = 0; i < 63; i++)
		memcpy(name + 2 * i, "d/", 2);
	strcpy(name + 2 * 63, "f");
	CHECK(put(name) != 0);
	begin();
	for (i = 0; i < 250; i++)
		memcpy(name + 2 * i, "d/", 2);
	strcpy(name + 2 * 250, "f");
	hidden(name);
}

static void file_or_folder(void)
{
	begin();
	is_file("a", "a");
	hidden("a/b");
	hidden("a/b/c");
	is_file("d/e", "d/e");
	hidden("d");
	hidden("./d");
	hidden("d/e/f");
	CHECK(!l->nodes[find("a")].is_folder);
	CHECK(l->nodes[find("d")].is_folder);
}

/* ---- members ---- */

static int add(const char *name, uint64_t start, uint64_t size, bool is_regular)
{
	struct sfs_tar_entry g = {.kind = SFS_TAR_ENTRY_MEMBER,
				  .name = name,
				  .n_name = strlen(name),
				  .is_regular = is_regular,
				  .size = size,
				  .data = 512,
				  .mtime = (int64_t)size,
				  .mode = 0640};

	return sfs_directory_add(l, start, &g);
}

static void members(void)
{
	struct sfs_sparse_run runs[] = {{512, 100}, {4096, 50}};
	struct sfs_tar_entry g = {.kind = SFS_TAR_ENTRY_MEMBER,
				  .name = "holes",
				  .n_name = 5,
				  .is_regular = true,
				  .size = 10000,
				  .data = 1024};
	const struct sfs_directory_node *n;
	uint32_t nodes;

	begin();
	CHECK_EQ(add("d/a.jpg", 1024, 700, true), 0);
	n = &l->nodes[find("d/a.jpg")];
	CHECK_EQ(n->data, 1536);
	CHECK_EQ(n->size, 700);
	CHECK_EQ(n->mtime, 700);
	CHECK_EQ(n->mode, 0640);
	CHECK(!n->runs);

	/* Of two with one name the later counts. */
	nodes = l->n;
	CHECK_EQ(add("d//a.jpg", 51200, 800, true), -EEXIST);
	CHECK_EQ(l->n, nodes);
	CHECK_EQ(l->nodes[find("d/a.jpg")].data, 51712);
	CHECK_EQ(l->nodes[find("d/a.jpg")].size, 800);

	CHECK_EQ(l->n_hidden, 1);
	CHECK_EQ(add("link", 0, 0, false), 0); /* left out */
	CHECK_EQ(add("../link", 0, 0, false), 0);
	CHECK_EQ(find("link"), 0);
	CHECK_EQ(l->n_hidden, 1);
	CHECK_EQ(add("../up.jpg", 0, 0, true), -EINVAL);
	/* Safe, but a file and a folder at a time. */
	CHECK_EQ(add("d/a.jpg/b", 0, 0, true), -ENOTDIR);
	CHECK_EQ(add("d", 0, 0, true), -ENOTDIR);
	CHECK_EQ(add("d/a.jpg/../b", 0, 0, true), -EINVAL);
	CHECK_EQ(l->n_hidden, 5);

	g.is_sparse = true;
	g.runs = runs;
	g.n_runs = 2;
	CHECK_EQ(sfs_directory_add(l, 0, &g), 0);
	memset(runs, 0xff, sizeof runs); /* it has its own */
	n = &l->nodes[find("holes")];
	CHECK(n->n_runs == 2 && n->runs[1].offset == 4096 && n->runs[1].n_bytes == 50);
	CHECK_EQ(add("holes", 0, 5, true), -EEXIST);
	n = &l->nodes[find("holes")];
	CHECK(!n->runs);
	CHECK_EQ(n->n_runs, 0);
}

/* ---- many ---- */

/* Children come in the order in which they were put, and memory is counted. */
static void many(uint32_t n)
{
	uint32_t i, k, seen = 0;
	uint64_t memory;
	char name[50];

	begin();
	memory = sfs_directory_memory(l);
	CHECK(memory > 0);
	for (i = 0; i < n; i++) {
		snprintf(name, sizeof name, "f%u/%u.jpg", i % 7, i);
		CHECK_EQ(add(name, i * 512, i, true), 0);
	}
	CHECK_EQ(l->n, 1 + n + (n < 7 ? n : 7));
	CHECK(sfs_directory_memory(l) >= l->n * sizeof *l->nodes);
	for (i = 0; i < n; i++) {
		snprintf(name, sizeof name, "f%u/%u.jpg", i % 7, i);
		CHECK_EQ(l->nodes[find(name)].size, i);
	}
	for (k = l->nodes[0].first_child; k; k = l->nodes[k].next_sibling) {
		snprintf(name, sizeof name, "f%u", seen);
		CHECK_STR(sfs_directory_name(l, k), name);
		CHECK_EQ(l->nodes[k].parent, 0);
		for (i = l->nodes[k].first_child; i; i = l->nodes[i].next_sibling) {
			CHECK_EQ(l->nodes[i].parent, k);
			CHECK(l->nodes[i].next_sibling == 0 ||
			      l->nodes[l->nodes[i].next_sibling].size ==
				      l->nodes[i].size + 7);
		}
		seen++;
	}
	CHECK_EQ(seen, n < 7 ? n : 7);
}

/* The same bytes give the same numbers, so that a listing may be made anew; and no name
 * of any make gets out. */
static void random_names(void)
{
	static const char *const parts[] = {"a",  "b",	 "/",  "/",  ".",
					    "..", "../", "./", "\n", "x.y"};
	uint32_t numbers[2000], i, k;
	struct sfs_rng r;
	char name[100];
	int round;

	for (round = 0; round < 2; round++) {
		begin();
		r = (struct sfs_rng){6};
		for (i = 0; i < SFS_COUNT(numbers); i++) {
			name[0] = 0;
			for (k = 0; k < 1 + i % 8; k++)
				strcat(name, parts[sfs_rng_below(&r, SFS_COUNT(parts))]);
			k = put(name);
			CHECK(round == 0 || numbers[i] == k);
			numbers[i] = k;
		}
	}
	for (i = 1; i < l->n; i++) {
		const char *s = sfs_directory_name(l, i);

		CHECK(*s && !strchr(s, '/') && strcmp(s, ".") != 0 &&
		      strcmp(s, "..") != 0);
		CHECK_EQ(sfs_directory_find(l, l->nodes[i].parent, s), i);
	}
	CHECK(l->n > 100);
}

int main(void)
{
	good_ones();
	bad_ones();
	file_or_folder();
	members();
	many(1);
	many(10);
	many(10000);
	random_names();
	sfs_directory_free(l);
	sfs_directory_free(NULL);
	return 0;
}
