/* SPDX-License-Identifier: MIT */
/* indexed - small shards, and the indexes of other tools for them: what the functions of
 * DALI's wds2idx.py give with GNU tar 1.34 (run from a copy, without DALI; v1.1 is the
 * same without names), and Energon's offsets by its rule with Python's tarfile. */
#ifndef SFS_TESTS_INDEXED_H
#define SFS_TESTS_INDEXED_H

#include "catalog/index-import.h"
#include "check.h"
#include "tar/key.h"
#include "tars.h"

/* Three samples of two members; `pax`: with an extension before each. */
static inline void six_members(struct tar *t, bool pax, bool long_name)
{
	static const struct {
		const char *name;
		size_t size;
	} members[] = {{"a.jpg", 700}, {"a.cls", 1},	      {"b.jpg", 0},
		       {"b.cls", 512}, {"d/c.seg.png", 1025}, {"d/c.cls", 1}};
	char name[256] = {0};
	size_t i;

	for (i = 0; i < 6; i++) {
		if (i == 2 && long_name) {
			memset(name, 'l', 150);
			strcpy(name + 150, ".jpg");
			tar_extension(t, 'L', name, strlen(name) + 1);
			tar_file(t, name, 10, 'x');
		}
		if (pax)
			tar_pax(t, 'x', "mtime", "1.5");
		tar_file(t, members[i].name, members[i].size, 'x');
	}
	tar_end(t);
}

/* What wds2idx treats in another way than WebDataset does. */
static inline void odd_members(struct tar *t)
{
	tar_file(t, "a.jpg", 700, 'x');
	tar_file(t, "README", 1, 'r');
	tar_header(t, "ustar", '5', "dir/", 0);
	tar_file(t, ".hid.jpg", 1, 'h');
	tar_file(t, "d/.hid.jpg", 1, 'h');
	tar_file(t, "__meta__/x.json", 2, '{');
	tar_file(t, "a.cls", 1, '1');
	tar_file(t, "./e.JPG", 1, 'e');
	tar_end(t);
}

#define DALI_PLAIN                              \
	"v1.2 3\n"                              \
	"jpg 512 700 a.jpg cls 2048 1 a.cls\n"  \
	"jpg 3072 0 b.jpg cls 3584 512 b.cls\n" \
	"seg.png 4608 1025 d/c.seg.png cls 6656 1 d/c.cls\n"

#define DALI_PLAIN_1_1              \
	"v1.1 3\n"                  \
	"jpg 512 700 cls 2048 1\n"  \
	"jpg 3072 0 cls 3584 512\n" \
	"seg.png 4608 1025 cls 6656 1\n"

#define L10 "llllllllll"
#define L50 L10 L10 L10 L10 L10
/* `at`: where the data of the member with the long name begin. */
#define DALI_LONG_AT(at)                        \
	"v1.2 4\n"                              \
	"jpg 512 700 a.jpg cls 2048 1 a.cls\n"  \
	"jpg " at " 10 " L50 L50 L50 ".jpg\n"   \
	"jpg 5120 0 b.jpg cls 5632 512 b.cls\n" \
	"seg.png 6656 1025 d/c.seg.png cls 8704 1 d/c.cls\n"

/* wds2idx up to 2022; and since, which takes the long name for the data. */
#define DALI_LONG	DALI_LONG_AT("4096")
#define DALI_LONG_WRONG DALI_LONG_AT("3072")

/* wds2idx up to 2022: wrong by 1024 wherever an extension follows. */
#define DALI_PAX                                \
	"v1.2 3\n"                              \
	"jpg 2560 700 a.jpg cls 5120 1 a.cls\n" \
	"jpg 7168 0 b.jpg cls 8704 512 b.cls\n" \
	"seg.png 10752 1025 d/c.seg.png cls 12800 1 d/c.cls\n"

/* And since; or with Python's tarfile. */
#define DALI_PAX_RIGHT                          \
	"v1.2 3\n"                              \
	"jpg 1536 700 a.jpg cls 4096 1 a.cls\n" \
	"jpg 6144 0 b.jpg cls 7680 512 b.cls\n" \
	"seg.png 9728 1025 d/c.seg.png cls 12800 1 d/c.cls\n"

#define DALI_ODD                        \
	"v1.2 5\n"                      \
	"jpg 512 700 a.jpg\n"           \
	"README 2048 1 README\n"        \
	"json 5632 2 __meta__/x.json\n" \
	"cls 6656 1 a.cls\n"            \
	"JPG 7680 1 ./e.JPG\n"

static const uint64_t energon_plain[] = {0, 2560, 4096, 7168};
static const uint64_t energon_long[] = {0, 2560, 4608, 6144, 9216};
static const uint64_t energon_pax[] = {0, 4608, 8192, 13312};

/* What a shard really has. */
struct real {
	struct sfs_extent samples[16];
	size_t n_samples;
	struct sfs_index_import_member members[32];
	char names[32][256];
	size_t n_members;
};

static inline void real_member(void *ctx, uint64_t start, const struct sfs_tar_entry *g)
{
	struct real *real = (struct real *)ctx;
	size_t n_key = g->is_regular ? sfs_key_length(g->name, g->n_name) : 0;
	size_t k = real->n_members;

	if (n_key == 0)
		return;
	memcpy(real->names[k], g->name, g->n_name);
	real->members[k].data = start + g->data;
	real->members[k].n_bytes = g->size;
	real->n_members++;
}

static inline void real_sample(void *ctx, const struct sfs_extent *extent)
{
	struct real *real = (struct real *)ctx;

	real->samples[real->n_samples++] = *extent;
}

/* By our own walk over its headers. */
static inline void look(const struct tar *t, struct real *real)
{
	const struct sfs_scan_sink sink = {.ctx = real,
					   .member = real_member,
					   .sample = real_sample};
	struct sfs_scan scan;
	size_t i, s = 0;

	memset(real, 0, sizeof *real);
	sfs_scan_init(&scan, t->n);
	sfs_scan_feed(&scan, 0, t->bytes, t->n, &sink);
	CHECK(scan.is_complete);
	sfs_scan_done(&scan);
	for (i = 0; i < real->n_members; i++) {
		while (real->members[i].data >=
		       real->samples[s].start + real->samples[s].n_bytes + 1)
			s++;
		real->members[i].sample = s;
	}
}

#endif
