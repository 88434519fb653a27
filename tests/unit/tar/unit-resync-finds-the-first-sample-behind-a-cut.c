/* SPDX-License-Identifier: MIT */
/* In tars of every kind, whatever the cut and wherever reading begins before it: the
 * first sample from the cut on is the one that a scan from the start finds, or reading
 * must begin further back; and it is the same however the bytes are cut. */
#include "base/rng.h"
#include "check.h"
#include "tar/resync.h"
#include "tars.h"

#define MAX 400

static struct sfs_rng rng = {62};
static uint64_t starts[MAX];
static size_t n_starts;

static uint64_t below(uint64_t n)
{
	return sfs_rng_below(&rng, n);
}

static void on_sample(void *ctx, const struct sfs_extent *extent)
{
	(void)ctx;
	CHECK(n_starts < MAX);
	starts[n_starts++] = extent->start;
}

static void find_starts(const struct tar *t)
{
	const struct sfs_scan_sink sink = {.sample = on_sample};
	struct sfs_scan scan;

	n_starts = 0;
	sfs_scan_init(&scan, t->n);
	sfs_scan_feed(&scan, 0, t->bytes, t->n, &sink);
	CHECK(scan.is_complete);
	sfs_scan_done(&scan);
}

/* Feed what is wanted, in whole blocks, some at a time.  It never says that the sample it
 * is looking for begins behind `first`. */
static void read_all(struct sfs_resync *r, const struct tar *t, uint64_t first)
{
	uint64_t at, n;

	while ((at = sfs_resync_wanted(r)) != UINT64_MAX) {
		CHECK(at < t->n);
		CHECK(sfs_resync_from(r) <= first);
		n = BLOCK * (1 + below(below(2) ? 3 : 100)) - at % BLOCK;
		sfs_resync_feed(r, at, t->bytes + at, n < t->n - at ? n : t->n - at);
	}
}

static void check_cut(const struct tar *t, uint64_t cut)
{
	uint64_t wanted = UINT64_MAX, back = BLOCK, from;
	struct sfs_resync r;
	size_t i;

	for (i = n_starts; i-- > 0 && starts[i] >= cut;)
		wanted = starts[i];
	for (;; back *= 2) {
		from = cut > back ? cut - back : 0;
		sfs_resync_init(&r, t->n, from, cut);
		read_all(&r, t, wanted);
		sfs_resync_done(&r);
		if (r.state != SFS_RESYNC_LATE)
			break;
		CHECK(from > 0);
	}
	if (wanted == UINT64_MAX) {
		CHECK_EQ(r.state, SFS_RESYNC_NONE);
	} else {
		CHECK_EQ(r.state, SFS_RESYNC_FOUND);
		CHECK_EQ(r.start, wanted);
	}
}

static void add_member(struct tar *t, const char *magic, const char *name, size_t size)
{
	unsigned char *data;
	size_t i;

	tar_header(t, magic, '0', name, size);
	data = tar_grow(t, (size + BLOCK - 1) / BLOCK * BLOCK);
	for (i = 0; i < size; i++)
		data[i] = (unsigned char)below(256);
}

static void add_some(struct tar *t, const char *magic, unsigned i)
{
	char name[64], longer[400];
	unsigned n = 1 + (unsigned)below(3), k;

	for (k = 0; k < n; k++) {
		snprintf(name, sizeof name, "dir/%05u.%c%u", i, "abc"[k], k);
		if (below(6) == 0) {
			snprintf(longer, sizeof longer, "%0150d/%05u.%c%u", 7, i,
				 "abc"[k], k);
			tar_pax(t, 'x', "path", longer);
		}
		add_member(t, magic, name, below(8) == 0 ? 0 : below(9000));
	}
	if (below(7) == 0)
		add_member(t, magic, "README", below(2000)); /* without a key */
	if (below(9) == 0)
		tar_pax(t, 'g', "comment", "between");
}

int main(void)
{
	static const char *const magics[] = {"ustar", "gnu", "v7"};
	struct tar t = {0};
	unsigned round, i, n;

	for (round = 0; round < 40; round++) {
		n = (unsigned)below(60);
		for (i = 0; i < n; i++)
			add_some(&t, magics[round % 3], i);
		tar_end(&t);
		find_starts(&t);
		for (i = 0; i < 60; i++)
			check_cut(&t, BLOCK * below(t.n / BLOCK + 1));
		tar_done(&t);
	}
	return 0;
}
