/* SPDX-License-Identifier: MIT */
/* Members hold tars, stray headers, and headers with wrong sizes.  If what is taken for
 * the first sample from a cut on is not, headers that are hidden in members were seen;
 * unless no header of the shard itself lies between where reading began and the cut: all
 * that was read before the cut is the inside of one member.  That cannot be if no member
 * is as long as the look back.
 *
 * Headers with wrong sizes may lead from one member into another.  Then hidden headers
 * are seen only if the data that the chain passes over are fed, too. */
#include "base/rng.h"
#include "check.h"
#include "tar/resync.h"
#include "tars.h"

#define MOST	400
#define LONGEST (300 << 10) /* member */

enum kind { DENSE, RARE, ENDLESS, PLANTED, CHAINS, WRONG_SIZES, N_KINDS };
enum { HOP, READ_ALL, N_WAYS };

static struct sfs_rng rng = {37};
static uint64_t starts[MOST], headers[2 * MOST];
static size_t n_starts, n_headers;
static unsigned n_right, n_caught, n_missed;

static uint64_t below(uint64_t n)
{
	return sfs_rng_below(&rng, n);
}

/* ---- tars ---- */

/* 3 KB to LONGEST, as often in each octave. */
static size_t some_size(void)
{
	size_t octave = (size_t)3000 << below(7);

	octave += below(octave);
	return octave < LONGEST ? octave : LONGEST;
}

static void add_noise(struct tar *t, size_t n)
{
	unsigned char *p = tar_grow(t, (n + BLOCK - 1) / BLOCK * BLOCK);
	size_t i;

	for (i = 0; i < n; i++)
		p[i] = (unsigned char)sfs_rng_next(&rng);
}

static void add_noisy_file(struct tar *t, const char *name, size_t said, size_t n)
{
	tar_header(t, "ustar", '0', name, said);
	add_noise(t, n);
}

/* Small files; of some the header says a wrong size. */
static struct tar inner_tar(enum kind kind)
{
	size_t most = some_size(), size, said;
	struct tar t = {0};
	char name[32];
	unsigned i;

	for (i = 0; t.n < most; i++) {
		snprintf(name, sizeof name, "in/%04u.%s", i / 2, i % 2 ? "cls" : "jpg");
		size = 1 + below(most < 9000 ? most : 9000);
		said = kind == WRONG_SIZES && below(4) == 0 ? below(2 * LONGEST) : size;
		add_noisy_file(&t, name, said, size);
	}
	if (kind != ENDLESS)
		tar_end(&t);
	return t;
}

/* Noise, with a header or a chain of five in it. */
static struct tar planted(enum kind kind)
{
	unsigned n = kind == CHAINS ? 5 : 1, i;
	struct tar t = {0};
	char name[32];
	size_t size;

	add_noise(&t, some_size() / 2);
	for (i = 0; i < n; i++) {
		snprintf(name, sizeof name, "planted/%u.jpg", i);
		size = 1 + below(9000);
		add_noisy_file(&t, name, size, size);
	}
	add_noise(&t, some_size() / 2);
	return t;
}

static struct tar member_of(enum kind kind)
{
	struct tar t = {0};

	switch (kind) {
	case PLANTED:
	case CHAINS: return planted(kind);
	case RARE:
		if (below(50) > 0) {
			add_noise(&t, some_size());
			return t;
		}
		return inner_tar(kind);
	default: return inner_tar(kind);
	}
}

static struct tar make(enum kind kind)
{
	unsigned n_samples = kind == RARE ? 150 : 40, i;
	struct tar t = {0}, member;
	char name[32];

	for (i = 0; i < n_samples; i++) {
		snprintf(name, sizeof name, "%05u.bin", i);
		member = member_of(kind);
		tar_header(&t, "ustar", '0', name, member.n);
		tar_body(&t, member.bytes, member.n);
		tar_done(&member);
	}
	tar_end(&t);
	return t;
}

/* ---- what is true ---- */

static void on_member(void *ctx, uint64_t start, const struct sfs_tar_entry *group)
{
	(void)ctx;
	CHECK(group->n_bytes == BLOCK && n_headers < 2 * MOST);
	headers[n_headers++] = start;
}

static void on_sample(void *ctx, const struct sfs_extent *extent)
{
	(void)ctx;
	CHECK(n_starts < MOST);
	starts[n_starts++] = extent->start;
}

static void find_truth(const struct tar *t)
{
	const struct sfs_scan_sink sink = {.member = on_member, .sample = on_sample};
	struct sfs_scan scan;

	n_starts = n_headers = 0;
	sfs_scan_init(&scan, t->n);
	sfs_scan_feed(&scan, 0, t->bytes, t->n, &sink);
	CHECK(scan.is_complete);
	sfs_scan_done(&scan);
}

static uint64_t first_from(uint64_t cut)
{
	size_t i;

	for (i = 0; i < n_starts; i++)
		if (starts[i] >= cut)
			return starts[i];
	return UINT64_MAX;
}

static bool has_header_between(uint64_t from, uint64_t cut)
{
	size_t i;

	for (i = 0; i < n_headers; i++)
		if (headers[i] >= from && headers[i] < cut)
			return true;
	return false;
}

/* ---- what is found ---- */

static void read_as(struct sfs_resync *r, const struct tar *t, uint64_t from, int way)
{
	uint64_t wanted, at, end, read = from;

	while ((wanted = sfs_resync_wanted(r)) != UINT64_MAX) {
		at = way == READ_ALL && read < wanted ? read : wanted;
		end = wanted + BLOCK * (1 + below(16));
		end = end < t->n ? end : t->n;
		sfs_resync_feed(r, at, t->bytes + at, end - at);
		read = end > read ? end : read;
	}
}

static void check_cut(enum kind kind, const struct tar *t, uint64_t cut, uint64_t back,
		      int way)
{
	uint64_t from = cut > back ? cut - back : 0, found;
	struct sfs_resync r;

	sfs_resync_init(&r, t->n, from, cut);
	read_as(&r, t, from, way);
	sfs_resync_done(&r);
	n_caught += r.has_hidden;
	if (r.state == SFS_RESYNC_LATE)
		return;
	CHECK(r.state == SFS_RESYNC_FOUND || r.state == SFS_RESYNC_NONE);
	found = r.state == SFS_RESYNC_FOUND ? r.start : UINT64_MAX;
	if (found == first_from(cut)) {
		n_right++;
	} else if (!r.has_hidden) {
		n_missed++;
		CHECK(!has_header_between(from, cut) ||
		      (kind == WRONG_SIZES && way == HOP));
	}
}

static void check_kind(enum kind kind)
{
	struct tar t = make(kind);
	uint64_t cut, back;
	unsigned i, way;

	find_truth(&t);
	for (i = 0; i < 150; i++) {
		cut = BLOCK * below(t.n / BLOCK + 1);
		for (back = BLOCK; back <= 2 * LONGEST; back *= 2)
			for (way = 0; way < N_WAYS; way++)
				check_cut(kind, &t, cut, back, way);
	}
	tar_done(&t);
}

int main(void)
{
	unsigned kind;

	for (kind = 0; kind < N_KINDS; kind++) {
		n_right = n_caught = n_missed = 0;
		check_kind(kind);
		check_kind(kind);
		CHECK(n_right > 0 && n_caught > 0);
		CHECK(kind != DENSE || n_missed > 0); /* so much for long members */
	}
	return 0;
}
