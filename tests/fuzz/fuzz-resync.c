/* SPDX-License-Identifier: MIT */
/* Finding the first sample behind a cut must not depend on how the bytes come, ends, and
 * looks at no block too often, whatever the shard holds.  From byte 0 it says what a scan
 * says.  From elsewhere, in a sound tar whose members hold nothing like a header, it says
 * the same or that it began too late; and it sees no hidden headers where there are none.
 *
 * The first two bytes choose the sizes of the pieces, the next four the cut and
 * `from`; the rest is for maketar.h. */
#include "fuzz.h"
#include "maketar.h"

#include "base/rng.h"
#include "tar/resync.h"

enum { MOST_STARTS = 4096 };

/* What a scan from the start says. */
struct truth {
	uint64_t starts[MOST_STARTS]; /* of all samples, and of one that damage ends */
	size_t n_starts;
	bool is_sound, lacks_end;
	bool has_hidden; /* a block in a member, or a map, looks like a header */
};

struct outcome {
	enum sfs_resync_state state;
	uint64_t start;
	bool has_hidden;
};

/* ---- the truth ---- */

static void note_start(void *ctx, const struct sfs_extent *extent)
{
	struct truth *truth = ctx;

	MUST(truth->n_starts < MOST_STARTS);
	truth->starts[truth->n_starts++] = extent->start;
}

static bool looks_like_header(const unsigned char *block)
{
	enum sfs_tar_kind kind = sfs_tar_look(block).kind;

	return kind != SFS_TAR_ZERO && kind != SFS_TAR_BAD;
}

static bool has_header(const struct fuzz_tar *tar, uint64_t at, uint64_t end)
{
	for (; at + SFS_TAR_BLOCK <= end; at += SFS_TAR_BLOCK)
		if (looks_like_header(tar->bytes + at))
			return true;
	return false;
}

/* A group from `at` to `end`: of its blocks, its extensions and its last header only may
 * be headers. */
static bool has_hidden_in_group(const struct fuzz_tar *tar, uint64_t at, uint64_t end)
{
	struct sfs_tar_header h = sfs_tar_look(tar->bytes + at);
	uint64_t body = at + SFS_TAR_BLOCK, next;

	if (h.kind != SFS_TAR_EXTENSION)
		return has_header(tar, body, end);
	next = body + sfs_tar_padded(h.size);
	return has_header(tar, body, next) || has_hidden_in_group(tar, next, end);
}

static int read_group(const struct fuzz_tar *tar, uint64_t at,
		      struct sfs_tar_entry *group)
{
	struct sfs_error error;
	int ret = sfs_tar_entry_read(tar->bytes + at, tar->n - at, tar->n - at, group,
				     &error);

	if (ret == 0)
		sfs_tar_entry_done(group);
	return ret;
}

static bool has_hidden(const struct fuzz_tar *tar)
{
	struct sfs_tar_entry group;
	uint64_t at;

	for (at = 0; read_group(tar, at, &group) == 0 && group.kind != SFS_TAR_ENTRY_END;
	     at += group.next)
		if (has_hidden_in_group(tar, at, at + group.n_bytes) ||
		    has_header(tar, at + group.n_bytes, at + group.next))
			return true;
	return false;
}

static void find_truth(const struct fuzz_tar *tar, struct truth *truth)
{
	const struct sfs_scan_sink sink = {.ctx = truth, .sample = note_start};
	struct sfs_scan scan;

	*truth = (struct truth){0};
	sfs_scan_init(&scan, tar->n);
	sfs_scan_feed(&scan, 0, tar->bytes, tar->n, &sink);
	if (scan.sample.is_open)
		truth->starts[truth->n_starts++] = scan.sample.start;
	truth->is_sound = scan.is_complete;
	truth->lacks_end = scan.lacks_end;
	sfs_scan_done(&scan);
	truth->has_hidden = truth->is_sound && has_hidden(tar);
}

static struct outcome expected(const struct truth *truth, uint64_t cut)
{
	size_t i;

	for (i = 0; i < truth->n_starts; i++)
		if (truth->starts[i] >= cut)
			return (struct outcome){SFS_RESYNC_FOUND, truth->starts[i],
						false};
	return (struct outcome){truth->is_sound || truth->lacks_end ? SFS_RESYNC_NONE
								    : SFS_RESYNC_LOST,
				0, false};
}

/* Does the first header from `from` on belong to extensions that begin before it and say
 * something else about its size?  Then it leads astray. */
static bool is_led_astray(const struct fuzz_tar *tar, uint64_t from)
{
	struct sfs_tar_entry group, rest;
	uint64_t at = 0;

	while (from + SFS_TAR_BLOCK <= tar->n && !looks_like_header(tar->bytes + from))
		from += SFS_TAR_BLOCK;
	while (read_group(tar, at, &group) == 0 && group.kind != SFS_TAR_ENTRY_END &&
	       at + group.next <= from)
		at += group.next;
	return at < from && from + SFS_TAR_BLOCK <= tar->n &&
	       (read_group(tar, from, &rest) < 0 || from + rest.next != at + group.next);
}

/* ---- feeding ---- */

/* Feed the n bytes at `at`, from memory of their own. */
static void feed(struct sfs_resync *r, const struct fuzz_tar *tar, uint64_t at, size_t n)
{
	uint64_t wanted = sfs_resync_wanted(r), next;
	unsigned n_tries = r->n_tries;
	void *piece = fuzz_copy(tar->bytes + at, n);

	next = sfs_resync_feed(r, at, piece, n);
	MUST(next == sfs_resync_wanted(r));
	MUST((next == UINT64_MAX) == (r->state != SFS_RESYNC_READING));
	MUST(next == UINT64_MAX || next < tar->n);
	MUST(next > wanted || r->n_tries > n_tries);
	free(piece);
}

/* How many blocks each piece has, and how many that are not wanted are before them. */
static void choose(struct sfs_rng *rng, unsigned how, size_t *ret_n, size_t *ret_before)
{
	*ret_before = 0;
	switch (how % 4) {
	case 0: *ret_n = 1; break; /* each block by itself: see check_work */
	case 1: *ret_n = 1 + sfs_rng_below(rng, 6); break;
	case 2:
		*ret_n = 1 + sfs_rng_below(rng, 20);
		*ret_before = sfs_rng_below(rng, 20);
		break;
	default: *ret_n = *ret_before = FUZZ_TAR_MOST; /* the whole file */
	}
}

/* Each try looks once at a block, at most. */
static void check_work(uint64_t n_looked_at, uint64_t from, uint64_t end)
{
	uint64_t n = (end - from + SFS_TAR_BLOCK - 1) / SFS_TAR_BLOCK;

	MUST(n_looked_at <= SFS_RESYNC_TRIES * n);
}

static struct outcome resync(const struct fuzz_tar *tar, uint64_t from, uint64_t cut,
			     unsigned seed, unsigned how)
{
	uint64_t wanted, n_fed = 0, end = from;
	struct sfs_rng rng = {seed};
	struct sfs_resync r;
	size_t n, before;

	sfs_resync_init(&r, tar->n, from, cut);
	while ((wanted = sfs_resync_wanted(&r)) != UINT64_MAX) {
		choose(&rng, how, &n, &before);
		before = SFS_TAR_BLOCK * before + wanted % SFS_TAR_BLOCK;
		before = before < wanted ? before : wanted;
		n = before + SFS_TAR_BLOCK * n - wanted % SFS_TAR_BLOCK;
		n = n < tar->n - (wanted - before) ? n : tar->n - (wanted - before);
		feed(&r, tar, wanted - before, n);
		n_fed++;
		end = wanted - before + n > end ? wanted - before + n : end;
	}
	if (how % 4 == 0)
		check_work(n_fed, from, end);
	sfs_resync_done(&r);
	MUST(r.state != SFS_RESYNC_READING);
	MUST(from > 0 || r.state != SFS_RESYNC_LATE);
	MUST(from == 0 || r.state != SFS_RESYNC_LOST);
	MUST(r.state != SFS_RESYNC_FOUND ||
	     (r.start >= cut && r.start < tar->n && r.start % SFS_TAR_BLOCK == 0));
	return (struct outcome){r.state, r.state == SFS_RESYNC_FOUND ? r.start : 0,
				r.has_hidden};
}

static bool is_same(struct outcome a, struct outcome b)
{
	return a.state == b.state && a.start == b.start;
}

static void say(const char *what, struct outcome o)
{
	fprintf(stderr, "%s: state %d, start %llu, hidden %d\n", what, (int)o.state,
		(unsigned long long)o.start, o.has_hidden);
}

/* Say what it was about, before MUST ends the run. */
#define MUST_BE(condition, wanted, got)        \
	do {                                   \
		if (!(condition)) {            \
			say("wanted", wanted); \
			say("got", got);       \
			MUST(condition);       \
		}                              \
	} while (0)

static void check(const struct fuzz_tar *tar, uint64_t from, uint64_t cut, unsigned seed)
{
	static struct truth truth;
	struct outcome whole, pieces, want;
	unsigned how;
	bool is_astray;

	find_truth(tar, &truth);
	want = expected(&truth, cut);
	is_astray = is_led_astray(tar, from);
	whole = resync(tar, from, cut, seed, 3);
	if (from == 0)
		MUST_BE(is_same(whole, want), want, whole);
	if (truth.is_sound && !truth.has_hidden) {
		MUST_BE(whole.state == SFS_RESYNC_LATE || is_same(whole, want) ||
				(is_astray && whole.has_hidden),
			want, whole);
		MUST_BE(!whole.has_hidden || is_astray, want, whole);
	}
	for (how = 0; how < 3; how++) {
		pieces = resync(tar, from, cut, seed, how);
		MUST_BE(is_same(pieces, whole), whole, pieces);
		MUST_BE(whole.has_hidden || !pieces.has_hidden, whole, pieces);
	}
}

/* The tar as a member of another one, between two others. */
static void put_into_a_tar(struct fuzz_tar *tar)
{
	struct fuzz_tar outer = {0};

	fuzz_tar_header(&outer, FUZZ_USTAR, "a.jpg", 5, '0', 700);
	fuzz_tar_fill(&outer, 700);
	fuzz_tar_header(&outer, FUZZ_USTAR, "b.tar", 5, '0', tar->n);
	fuzz_tar_add(&outer, tar->bytes, tar->n);
	fuzz_tar_pad(&outer);
	fuzz_tar_header(&outer, FUZZ_USTAR, "c.jpg", 5, '0', 700);
	fuzz_tar_fill(&outer, 700);
	fuzz_tar_grow(&outer, 2 * SFS_TAR_BLOCK);
	fuzz_tar_fit(&outer);
	free(tar->bytes);
	*tar = outer;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct fuzz_in in = {data, n};
	unsigned seed = fuzz_byte(&in), how = fuzz_byte(&in);
	uint64_t cut = fuzz_below(&in, 65536), from = fuzz_below(&in, 65536), n_blocks;
	struct fuzz_tar tar = fuzz_tar_make(in.p, in.n);

	if (how % 4 == 3)
		put_into_a_tar(&tar);
	n_blocks = sfs_tar_padded(tar.n) / SFS_TAR_BLOCK;
	cut %= n_blocks + 1;
	from = cut > 0 ? from % cut : 0;
	if (tar.n > 0)
		check(&tar, SFS_TAR_BLOCK * from, SFS_TAR_BLOCK * cut, seed);
	free(tar.bytes);
	return 0;
}
