/* SPDX-License-Identifier: MIT */
/* The scan of a shard must not depend on how its bytes are cut into pieces: fed as a
 * whole, in pieces that begin where it wants them, and in pieces that cover the file from
 * its start, it reports the same members, samples and damage.  Each piece is memory of
 * its own, and each feeding of a wanted byte must get it on.
 *
 * The first two bytes choose the sizes of the pieces; the rest is for maketar.h. */
#include "fuzz.h"
#include "maketar.h"

#include "base/rng.h"
#include "base/strbuf.h"
#include "tar/scan.h"

static void note_member(void *ctx, uint64_t start, const struct sfs_tar_entry *g)
{
	struct sfs_strbuf *log = ctx;
	size_t i;

	sfs_strbuf_printf(
		log, "member %llu: headers %zu data %llu next %llu size %llu regular %d ",
		(unsigned long long)start, g->n_bytes, (unsigned long long)g->data,
		(unsigned long long)g->next, (unsigned long long)g->size, g->is_regular);
	sfs_strbuf_printf(log, "time %lld mode %o name ", (long long)g->mtime, g->mode);
	sfs_strbuf_add(log, g->name, g->n_name);
	for (i = 0; i < g->n_runs; i++)
		sfs_strbuf_printf(log, " %llu+%llu",
				  (unsigned long long)g->runs[i].offset,
				  (unsigned long long)g->runs[i].n_bytes);
	sfs_strbuf_puts(log, "\n");
}

static void note_sample(void *ctx, const struct sfs_extent *extent)
{
	sfs_strbuf_printf(ctx, "sample %llu+%llu %llx %d\n",
			  (unsigned long long)extent->start,
			  (unsigned long long)extent->n_bytes,
			  (unsigned long long)extent->key_hash, extent->has_global);
}

static void note_end(struct sfs_strbuf *log, const struct sfs_scan *scan)
{
	MUST(scan->is_complete == (scan->err == 0) && scan->pos <= scan->shard_bytes);
	MUST((scan->err < 0) == (scan->error.text[0] != 0));
	sfs_strbuf_printf(log, "end: %d at %llu: %s\n", scan->err,
			  (unsigned long long)scan->pos, scan->error.text);
}

/* Feed n bytes at `at`, from memory of their own. */
static void feed(struct sfs_scan *scan, const struct fuzz_tar *tar, uint64_t at, size_t n,
		 const struct sfs_scan_sink *sink)
{
	uint64_t wanted = sfs_scan_wanted(scan), next;
	void *piece = fuzz_copy(tar->bytes + at, n);

	next = sfs_scan_feed(scan, at, piece, n, sink);
	MUST(next == sfs_scan_wanted(scan));
	MUST(next == UINT64_MAX || next < scan->shard_bytes);
	MUST(at > wanted || at + n <= wanted || next > wanted);
	MUST(at <= wanted && at + n > wanted ? true : next == wanted || tar->n == 0);
	free(piece);
}

static size_t piece_size(struct sfs_rng *rng, unsigned how)
{
	switch (how % 4) {
	case 0: return 1 + sfs_rng_below(rng, 40);
	case 1: return 1 + sfs_rng_below(rng, 1200);
	case 2: return 512 * (1 + sfs_rng_below(rng, 6));
	default: return 1 + sfs_rng_below(rng, 9000);
	}
}

static struct sfs_strbuf scan_in_pieces(const struct fuzz_tar *tar, unsigned seed,
					unsigned how)
{
	struct sfs_strbuf log = {0};
	struct sfs_scan_sink sink = {.ctx = &log,
				     .member = note_member,
				     .sample = note_sample};
	struct sfs_rng rng = {seed};
	struct sfs_scan scan;
	uint64_t at = 0, wanted;
	size_t n;

	sfs_scan_init(&scan, tar->n);
	if (tar->n == 0)
		feed(&scan, tar, 0, 0, &sink);
	while (at < tar->n && (wanted = sfs_scan_wanted(&scan)) != UINT64_MAX) {
		at = how & 4 ? at : wanted;
		n = piece_size(&rng, how);
		n = n < tar->n - at ? n : tar->n - at;
		feed(&scan, tar, at, n, &sink);
		at += n;
	}
	note_end(&log, &scan);
	sfs_scan_done(&scan);
	return log;
}

static struct sfs_strbuf scan_whole(const struct fuzz_tar *tar)
{
	struct sfs_strbuf log = {0};
	struct sfs_scan_sink sink = {.ctx = &log,
				     .member = note_member,
				     .sample = note_sample};
	struct sfs_scan scan;

	sfs_scan_init(&scan, tar->n);
	feed(&scan, tar, 0, tar->n, &sink);
	note_end(&log, &scan);
	sfs_scan_done(&scan);
	return log;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct fuzz_in in = {data, n};
	unsigned seed = fuzz_byte(&in), how = fuzz_byte(&in), i;
	struct fuzz_tar tar = fuzz_tar_make(in.p, in.n);
	struct sfs_strbuf whole = scan_whole(&tar), pieces;

	for (i = 0; i < 2; i++) {
		pieces = scan_in_pieces(&tar, seed, how + 4 * i);
		if (pieces.n != whole.n || memcmp(pieces.s, whole.s, whole.n) != 0) {
			fprintf(stderr, "%.*s---\n%.*s", (int)whole.n, whole.s,
				(int)pieces.n, pieces.s);
			MUST(!"pieces change what is found");
		}
		sfs_strbuf_done(&pieces);
	}
	sfs_strbuf_done(&whole);
	free(tar.bytes);
	return 0;
}
