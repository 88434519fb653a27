/* SPDX-License-Identifier: MIT */
/* What was found of an index stays as it was found, whatever becomes of the file: cut
 * off, written over in place, gone.  And while somebody does that at random, what is
 * found is a whole index or none. */
#include "base/ledger.h"
#include "base/rng.h"
#include "base/threadpool.h"
#include "finding.h"

#include <fcntl.h>

#define N_SMALL	 20000 /* samples; more than a few pages */
#define N_LARGE	 60000
#define N_ROUNDS 300

static int find(struct sfs_index_finder *ix, struct sfs_index_search *f,
		const struct sfs_object *o)
{
	*f = (struct sfs_index_search){.object = o};
	return find_index(ix, f);
}

/* Every entry is that of make_table(). */
static void check_entries(const struct sfs_index_search *f)
{
	struct sfs_sample_table t = {0};
	uint64_t i;

	CHECK(f->index.n_samples == N_SMALL || f->index.n_samples == N_LARGE);
	sfs_sample_table_borrow(&t, f->index.entries, f->index.n_samples);
	for (i = 0; i < f->index.n_samples; i++) {
		struct sfs_sample_table_sample s = sfs_sample_table_get(&t, i);

		CHECK(s.start == i * 512 && s.n_bytes == 512 && s.place == i * 512);
	}
	sfs_sample_table_done(&t);
}

/* Write the file in place, as cp does: cut off, then piece by piece. */
static void write_in_place(const char *path, const char *bytes, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	size_t at, piece;

	CHECK(fd >= 0);
	for (at = 0; at < n; at += piece) {
		piece = n - at < 50000 ? n - at : 50000;
		CHECK_EQ(write(fd, bytes + at, piece), piece);
	}
	close(fd);
}

static void write_index(const char *path, uint64_t n_samples, const char *tag)
{
	size_t n;
	sfs_autofree void *bytes = make_index(n_samples, version_of(tag), &n);

	write_in_place(path, bytes, n);
}

static void stays_as_it_was(struct sfs_index_finder *ix, const struct sfs_object *o,
			    const char *path)
{
	struct sfs_index_search f;

	write_index(path, N_SMALL, "v");
	CHECK_EQ(find(ix, &f, o), 0);
	CHECK_EQ(truncate(path, 0), 0);
	check_entries(&f);
	write_index(path, N_LARGE, "another");
	check_entries(&f);
	CHECK_EQ(unlink(path), 0);
	check_entries(&f);
	sfs_index_search_done(&f);
}

/* ---- at random ---- */

static atomic_bool is_over;

static void *meddle(void *arg)
{
	const char *path = arg;
	struct sfs_rng r = {42};
	char junk[4096];
	off_t at;
	int fd;

	memset(junk, 'j', sizeof junk);
	while (!atomic_load(&is_over)) {
		switch (sfs_rng_below(&r, 4)) {
		case 0: write_index(path, N_SMALL, "v"); break;
		case 1: write_index(path, N_LARGE, "v"); break;
		case 2:
			CHECK_EQ(truncate(path, (off_t)sfs_rng_below(&r, 16 * N_SMALL)),
				 0);
			break;
		default:
			fd = open(path, O_WRONLY);
			at = (off_t)sfs_rng_below(&r, 16 * N_SMALL);
			CHECK_EQ(pwrite(fd, junk, sizeof junk, at), sizeof junk);
			close(fd);
		}
		sched_yield();
	}
	return NULL;
}

static void whole_or_none(struct sfs_index_finder *ix, const struct sfs_object *o,
			  char *path)
{
	struct sfs_index_search f;
	pthread_t thread;
	int i, k, n_found = 0;

	write_index(path, N_SMALL, "v");
	thread = sfs_thread_start("meddles", meddle, path);
	for (i = 0; i < N_ROUNDS; i++) {
		if (find(ix, &f, o) < 0)
			continue;
		for (k = 0; k < 3; k++)
			check_entries(&f);
		n_found++;
		sfs_index_search_done(&f);
	}
	atomic_store(&is_over, true);
	pthread_join(thread, NULL);
	printf("%d of %d found\n", n_found, N_ROUNDS);
}

int main(void)
{
	sfs_autofree char *shard = NULL, *path = NULL;
	struct sfs_index_finder_options options = {0};
	struct sfs_index_finder *ix;
	struct sfs_object o;
	struct sfs_error err;

	make_top();
	shard = sfs_asprintf("%s/train-0.tar", top);
	path = sfs_asprintf("%s.index", shard);
	o = object_of(shard, "v");
	o.size = SHARD_BYTES;
	CHECK_EQ(sfs_index_finder_new(&options, &ix, &err), 0);
	stays_as_it_was(ix, &o, path);
	whole_or_none(ix, &o, path);
	sfs_index_finder_stop(ix);
	sfs_index_finder_free(ix);
	sfs_object_done(&o);
	sfs_ledger_clear();
	return 0;
}
