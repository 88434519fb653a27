/* SPDX-License-Identifier: MIT */
/* What the pool gives belongs to nobody else, until it is put back; a reader of its
 * descriptor sees what was written, cannot write, and cannot change the size.  Memory
 * beyond the limit goes back. */
#include "check.h"

#include "decode/pool.h"

#include "base/rng.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIMIT ((uint64_t)1 << 20)
#define MANY  64

static struct sfs_rng rng;

struct part {
	unsigned char *bytes;
	uint64_t n;
	unsigned char mark;
};

static void check_part(const struct part *p)
{
	CHECK(p->bytes[0] == p->mark && p->bytes[p->n - 1] == p->mark);
}

static void takes_and_puts(struct sfs_pool *pool)
{
	struct part parts[MANY] = {0}, *p;
	uint64_t n_used = 0;
	int i;

	for (i = 0; i < 20000; i++) {
		p = &parts[sfs_rng_below(&rng, MANY)];
		if (p->bytes) {
			check_part(p);
			sfs_pool_put(pool, p->bytes);
			n_used -= (p->n + 4095) / 4096 * 4096;
			p->bytes = NULL;
		} else {
			p->n = 1 + sfs_rng_below(&rng, 100000);
			p->mark = (unsigned char)i;
			p->bytes = sfs_pool_get(pool, p->n);
			CHECK(p->bytes && (uintptr_t)p->bytes % 4096 == 0);
			memset(p->bytes, p->mark, p->n);
			n_used += (p->n + 4095) / 4096 * 4096;
		}
		CHECK_EQ(sfs_pool_used(pool), n_used);
	}
	for (p = parts; p < parts + MANY; p++)
		if (p->bytes)
			sfs_pool_put(pool, p->bytes);
	CHECK_EQ(sfs_pool_used(pool), 0);
}

static void readers_only_read(struct sfs_pool *pool)
{
	struct sfs_pool_memory m;
	unsigned char *bytes = sfs_pool_get(pool, 10), *seen;

	sfs_pool_look(pool, &m);
	memcpy(bytes, "123456789", 10);
	seen = mmap(NULL, m.n_bytes, PROT_READ, MAP_SHARED, m.fd, 0);
	CHECK(seen != MAP_FAILED);
	CHECK_STR((char *)seen + (bytes - m.bytes), "123456789");
	munmap(seen, m.n_bytes);
	CHECK(mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, m.fd, 0) == MAP_FAILED);
	CHECK(pwrite(m.fd, "x", 1, 0) < 0 && ftruncate(m.fd, 0) < 0);
	sfs_pool_put(pool, bytes);
}

static void memory_goes_back(struct sfs_pool *pool)
{
	struct sfs_pool_memory m;
	struct stat st;
	unsigned char *bytes = sfs_pool_get(pool, 32 * LIMIT);

	sfs_pool_look(pool, &m);
	memset(bytes, 1, 32 * LIMIT);
	sfs_pool_put(pool, bytes);
	CHECK_EQ(fstat(m.fd, &st), 0);
	CHECK((uint64_t)st.st_blocks * 512 <= LIMIT);
	bytes = sfs_pool_get(pool, SFS_POOL_LARGEST); /* (nothing is written) */
	CHECK(bytes);
	CHECK(!sfs_pool_get(pool, m.n_bytes));
	sfs_pool_put(pool, bytes);
}

int main(void)
{
	struct sfs_pool *pool;

	sfs_rng_init(&rng, (uint64_t[]){7}, 1);
	CHECK_EQ(sfs_pool_new(LIMIT, &pool, NULL), 0);
	takes_and_puts(pool);
	readers_only_read(pool);
	memory_goes_back(pool);
	sfs_pool_free(pool);
	return 0;
}
