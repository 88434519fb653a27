/* SPDX-License-Identifier: MIT */
/* A shard's samples and their extents are found wherever its bytes are cut, and the
 * scan ends well only at a whole trailer. */
#include "base/alloc.h"
#include "base/keyhash.h"
#include "base/rng.h"
#include "check.h"
#include "tar/scan.h"
#include "tars.h"

#include <errno.h>

#define MAX 200

static struct tar t;

/* What was found, or should be. */
struct found {
	struct sfs_extent extents[MAX];
	char names[MAX][20];
	uint64_t starts[MAX];
	size_t n, n_members;
};
static struct found wanted, got;

static void on_member(void *ctx, uint64_t start, const struct sfs_tar_entry *group)
{
	struct found *f = ctx;

	CHECK(f->n_members < MAX);
	f->starts[f->n_members] = start;
	snprintf(f->names[f->n_members++], sizeof f->names[0], "%.*s", (int)group->n_name,
		 group->name);
}

static void on_sample(void *ctx, const struct sfs_extent *extent)
{
	struct found *f = ctx;

	CHECK(f->n < MAX);
	f->extents[f->n++] = *extent;
}

static const struct sfs_scan_sink sink = {.ctx = &got,
					  .member = on_member,
					  .sample = on_sample};

/* ---- the shard ---- */

static void want(uint64_t start, const char *key, bool has_global)
{
	wanted.extents[wanted.n++] =
		(struct sfs_extent){start, t.n - start, sfs_keyhash(key, strlen(key)),
				    has_global};
}

/* A shard of every kind of group; the wanted extents are noted on the way. */
static void make_shard(void)
{
	uint64_t start;
	char name[301];
	int i;

	memset(&wanted, 0, sizeof wanted);
	tar_done(&t);

	tar_pax(&t, 'g', "comment", "before all");
	tar_file(&t, "README", 700, 'r');
	start = t.n; /* two fields */
	tar_file(&t, "a.jpg", 1500, 'x');
	tar_file(&t, "a.cls", 1, '1');
	want(start, "a", false);
	start = t.n; /* with what is in no sample between */
	tar_file(&t, "d/b.jpg", 0, 0);
	tar_file(&t, ".hidden.jpg", 600, 'h');
	tar_header(&t, "ustar", '5', "folder", 0);
	tar_header(&t, "ustar", '2', "d/b.lnk", 0);
	tar_file(&t, "__meta__/d/b.cls", 600, 'm');
	tar_file(&t, "d/b.cls", 512, '2');
	want(start, "d/b", false);
	tar_file(&t, "nodot", 513, 'n'); /* between samples */
	tar_pax(&t, 'g', "comment", "between samples");
	start = t.n; /* extensions are of the sample */
	tar_pax(&t, 'x', "mtime", "1700000000.5");
	tar_file(&t, "c.jpg", 100, 'c');
	tar_pax(&t, 'x', "path", "c.longer");
	tar_file(&t, "other", 100, 'c');
	want(start, "c", false);
	start = t.n; /* a global header inside, none after */
	tar_file(&t, "g.jpg", 10, 'g');
	tar_pax(&t, 'g', "comment", "inside");
	tar_file(&t, "g.cls", 10, 'g');
	want(start, "g", true);
	start = t.n;
	tar_file(&t, "h.jpg", 10, 'h');
	want(start, "h", false);
	tar_pax(&t, 'g', "comment", "behind");
	memset(name, 'n', 300);
	strcpy(name + 296, ".jpg");
	start = t.n;
	tar_extension(&t, 'L', name, 301);
	tar_file(&t, "nnnn", 5000, 'n');
	name[296] = 0;
	want(start, name, false);
	for (i = 0; i < 30; i++) { /* one key again, but not as a neighbour */
		start = t.n;
		snprintf(name, sizeof name, "%c.x", 'a' + i % 3);
		tar_file(&t, name, (size_t)i * 77, 'i');
		name[1] = 0;
		want(start, name, false);
	}
	tar_end(&t);
	tar_grow(&t, 8192); /* GNU fills up to 10 KiB */
}

static void check_found(void)
{
	size_t i;

	CHECK_EQ(got.n, wanted.n);
	for (i = 0; i < got.n; i++) {
		CHECK_EQ(got.extents[i].start, wanted.extents[i].start);
		CHECK_EQ(got.extents[i].n_bytes, wanted.extents[i].n_bytes);
		CHECK(got.extents[i].key_hash == wanted.extents[i].key_hash);
		CHECK_EQ(got.extents[i].has_global, wanted.extents[i].has_global);
	}
}

/* ---- the ways to feed it ---- */

static struct sfs_scan scan;

static void begin(void)
{
	memset(&got, 0, sizeof got);
	sfs_scan_init(&scan, t.n);
}

/* In memory of just its size. */
static uint64_t feed(uint64_t offset, size_t n)
{
	sfs_autofree unsigned char *exact = sfs_malloc(n ? n : 1);

	memcpy(exact, t.bytes + offset, n);
	return sfs_scan_feed(&scan, offset, exact, n, &sink);
}

static void ends_well(void)
{
	CHECK_EQ(scan.err, 0);
	CHECK(scan.is_complete);
	CHECK(sfs_scan_wanted(&scan) == UINT64_MAX);
	check_found();
	CHECK(feed(0, t.n) == UINT64_MAX); /* no more is wanted, nothing found twice */
	check_found();
	sfs_scan_done(&scan);
	sfs_scan_done(&scan);
}

static void at_once(void)
{
	begin();
	CHECK_EQ(sfs_scan_wanted(&scan), 0);
	CHECK(feed(0, t.n) == UINT64_MAX);
	ends_well();
	CHECK_EQ(got.n_members, 46);
	CHECK_STR(got.names[0], "README");
	CHECK_EQ(got.starts[0], 1024);
	CHECK_STR(got.names[3], "d/b.jpg");
	CHECK_STR(got.names[11], "c.longer");
}

static void in_pieces(size_t piece)
{
	size_t at;

	begin();
	for (at = 0; at < t.n; at += piece)
		feed(at, piece < t.n - at ? piece : t.n - at);
	ends_well();
}

/* Only what it wants, which is less than all. */
static void as_it_wants(size_t piece)
{
	uint64_t at;
	size_t n, fed = 0;

	begin();
	while ((at = sfs_scan_wanted(&scan)) != UINT64_MAX) {
		CHECK(at < t.n);
		n = piece < t.n - at ? piece : t.n - at;
		CHECK(feed(at, n) > at);
		fed += n;
	}
	CHECK(piece > 512 || fed < t.n - 5000);
	ends_well();
}

/* From anywhere, again and again. */
static void at_random(uint64_t seed)
{
	struct sfs_rng r = {seed};
	uint64_t at, was;
	size_t n;

	begin();
	while ((was = sfs_scan_wanted(&scan)) != UINT64_MAX) {
		at = sfs_rng_below(&r, 3)
			     ? was - sfs_rng_below(&r, was < 700 ? was + 1 : 700)
			     : sfs_rng_below(&r, t.n);
		n = sfs_rng_below(&r, 3000);
		n = n < t.n - at ? n : t.n - at;
		feed(at, n);
		if (at > was || at + n <= was)
			CHECK_EQ(sfs_scan_wanted(&scan), was);
		else
			CHECK(sfs_scan_wanted(&scan) > was);
	}
	ends_well();
}

static void without_members(void)
{
	struct sfs_scan_sink quiet = {.ctx = &got, .sample = on_sample};

	begin();
	sfs_scan_feed(&scan, 0, t.bytes, t.n, &quiet);
	ends_well();
}

/* ---- damage ---- */

/* The first n_bytes of the shard end in damage at `at`, and say these words. */
static void damaged(size_t n_bytes, uint64_t at, size_t n_samples, const char *words)
{
	size_t piece, i;

	for (piece = 100; piece < 100000; piece *= 5) {
		memset(&got, 0, sizeof got);
		sfs_scan_init(&scan, n_bytes);
		if (n_bytes == 0)
			feed(0, 0);
		for (i = 0; i < n_bytes; i += piece)
			feed(i, piece < n_bytes - i ? piece : n_bytes - i);
		CHECK(!scan.is_complete);
		CHECK_EQ(scan.err, -EBADMSG);
		CHECK_HAS(scan.error.text, words);
		CHECK_EQ(scan.pos, at);
		CHECK(sfs_scan_wanted(&scan) == UINT64_MAX);
		CHECK_EQ(got.n, n_samples);
		sfs_scan_done(&scan);
	}
}

static void cut_off(void)
{
	uint64_t last = wanted.extents[wanted.n - 1].start;
	uint64_t end = last + wanted.extents[wanted.n - 1].n_bytes;

	damaged(0, 0, 0, "an empty file");
	damaged(100, 0, 0, "ends within a header");
	damaged(1024, 1024, 0, "no end-of-archive mark");
	/* Within the last member, whose key says that the sample before is complete. */
	damaged(last + 512, last, wanted.n - 1, "after the end of the shard");
	damaged(end - 512, last, wanted.n - 1, "after the end of the shard");
	damaged(end - 1, last, wanted.n - 1,
		"after the end of the shard"); /* its padding */
	/* Within a header: of which sample? */
	damaged(last + 1, last, wanted.n - 2, "ends within a header");
	damaged(last + 100, last, wanted.n - 2, "ends within a header");
	damaged(last + 511, last, wanted.n - 2, "ends within a header");
	/* Where a header or the end may be: nobody says that no more were to come, but
	 * all that there is, is there. */
	damaged(last, last, wanted.n - 1, "no end-of-archive mark");
	damaged(end, end, wanted.n, "no end-of-archive mark");
	damaged(end + 1, end, wanted.n, "no end-of-archive mark");
	damaged(end + 511, end, wanted.n, "no end-of-archive mark");
	t.bytes[end + 300] = 1;
	damaged(end + 400, end, wanted.n - 1, "ends within a header");
	t.bytes[end + 300] = 0;
}

/* Within a sample of several members. */
static void cut_within_a_sample(void)
{
	struct tar whole = t;
	size_t first, second;

	t = (struct tar){0};
	tar_file(&t, "a.x", 10, 'a');
	tar_file(&t, "b.x", 10, 'b');
	first = t.n;
	tar_file(&t, "README", 700, 'r');
	second = t.n;
	tar_pax(&t, 'x', "path", "b.name-in-its-extension");
	tar_file(&t, "y", 700, 'b');
	tar_end(&t);
	/* It may continue after what is in no sample. */
	damaged(first + 600, first, 1, "after the end of the shard");
	damaged(second + 1024 + 600, second, 1, "after the end of the shard");
	damaged(second + 512, second, 1, "ends within a header");
	damaged(second + 1024, second, 1, "ends within a header");
	damaged(second, second, 2, "no end-of-archive mark");
	tar_done(&t);
	tar_file(&t, "b.x", 10, 'b');
	second = t.n;
	tar_pax(&t, 'x', "path", "c.name-in-its-extension");
	tar_file(&t, "b.y", 700, 'b');
	damaged(second + 1024 + 600, second, 1, "after the end of the shard");
	tar_done(&t);
	tar_file(&t, "b.x", 10, 'b');
	second = t.n;
	tar_header(&t, "ustar", '7', "c.x", 700);
	tar_grow(&t, 1024);
	damaged(second + 600, second, 1, "after the end of the shard");
	tar_done(&t);
	t = whole;
}

static void spoilt(void)
{
	uint64_t third = wanted.extents[3].start, end = t.n - 9216;

	t.bytes[third] ^= 4;
	damaged(t.n, third, 2, "checksum");
	t.bytes[third] ^= 4;
	memset(t.bytes + third, 'j', 512);
	damaged(t.n, third, 2, "checksum");
	make_shard();

	/* A zero block ends the shard, whatever follows; it must be zeros.  After a
	 * single one the sample before is in doubt, for that may have been a header. */
	memset(t.bytes + third, 0, 512);
	damaged(t.n, third + 512, 2, "data after the end");
	memset(t.bytes + third, 0, 1000);
	t.bytes[third + 1000] = 1;
	damaged(t.n, third + 1000, 2, "data after the end");
	memset(t.bytes + third, 0, 1024);
	t.bytes[third + 1024] = 1;
	damaged(t.n, third + 1024, 3, "data after the end");
	make_shard();
	t.bytes[t.n - 1] = 1;
	damaged(t.n, t.n - 1, wanted.n, "data after the end");
	make_shard();
	memcpy(t.bytes + end + 1024, t.bytes, 512);
	damaged(t.n, end + 1024, wanted.n, "two tars");
	make_shard();
}

/* Trailers as they come: one block, two, a part of one; any is an end. */
static void trailers(void)
{
	size_t end = t.n - 9216, n;
	static const size_t lengths[] = {512, 513, 1000, 1024, 5000, 9216};

	for (n = 0; n < SFS_COUNT(lengths); n++) {
		t.n = end + lengths[n];
		at_once();
		in_pieces(7);
	}
	t.n = end + 9216;
}

static void tiny_shards(void)
{
	struct tar whole = t;

	t = (struct tar){0};
	memset(&wanted, 0, sizeof wanted);
	tar_end(&t); /* no sample at all */
	in_pieces(1);
	in_pieces(1024);
	tar_done(&t);
	tar_file(&t, "README", 0, 0);
	tar_end(&t);
	in_pieces(1);
	in_pieces(2048);
	tar_done(&t);
	t = whole;
	make_shard();
}

/* A member of a long name whose data are cut off. */
static void cut_in_data(void)
{
	uint64_t start = wanted.extents[5].start;

	CHECK_EQ(wanted.extents[5].n_bytes, 512 + 512 + 512 + 5120);
	damaged(start + 1536 + 1024, start, 5, "after the end of the shard");
}

int main(void)
{
	static const size_t pieces[] = {1,   7,	   100,	 511,	512,
					513, 1024, 4096, 10000, 1 << 20};
	size_t i;

	make_shard();
	at_once();
	for (i = 0; i < SFS_COUNT(pieces); i++) {
		in_pieces(pieces[i]);
		as_it_wants(pieces[i]);
	}
	for (i = 0; i < 50; i++)
		at_random(i);
	without_members();
	cut_off();
	cut_within_a_sample();
	spoilt();
	trailers();
	tiny_shards();
	cut_in_data();
	tar_done(&t);
	return 0;
}
