/* SPDX-License-Identifier: MIT */
/* How this works: blocks are tried one after another.  From one that may be a header, a
 * scan goes on to the end of that member, and another one follows the chain from there:
 * the first member itself does not count, as reading may have begun amid its extensions.
 * If the chain breaks, the next block is tried.  It counts when it has led to N_CERTAIN
 * members, one of them behind the sample that is found, or to the shard's end. */
#include "tar/resync.h"

#define N_CERTAIN 4

void sfs_resync_init(struct sfs_resync *r, uint64_t shard_bytes, uint64_t from,
		     uint64_t cut)
{
	*r = (struct sfs_resync){.shard_bytes = shard_bytes,
				 .cut = cut,
				 .before = cut,
				 .pos = from};
	sfs_scan_init(&r->scan, shard_bytes);
	r->phase = from == 0 ? SFS_RESYNC_CHAIN : SFS_RESYNC_SEARCH;
}

void sfs_resync_done(struct sfs_resync *r)
{
	sfs_scan_done(&r->scan);
}

static void scan_from(struct sfs_resync *r, uint64_t offset)
{
	sfs_scan_done(&r->scan);
	sfs_scan_init(&r->scan, r->shard_bytes);
	r->scan.pos = offset;
	r->n_members = r->n_since = 0;
	r->before = r->cut;
	r->has_first = r->has_start = r->is_late = r->is_certain = false;
}

/* It was no header of the shard: try the next block.  But each of many headers may lead
 * far before its chain breaks, so there is an end to it. */
static void give_up(struct sfs_resync *r)
{
	r->has_hidden = true;
	r->phase = SFS_RESYNC_SEARCH;
	r->pos += SFS_TAR_BLOCK;
	r->data = r->data_end = 0;
	r->n_tries++;
	if (r->pos >= r->cut || r->n_tries == SFS_RESYNC_TRIES)
		r->state = SFS_RESYNC_LATE;
}

/* ---- the chain ---- */

/* Bytes that are fed to the chain. */
struct feeding {
	struct sfs_resync *r;
	uint64_t offset, n;
	const unsigned char *bytes;
};

/* A sample begins here, or (the first) is seen here first. */
static void consider(struct sfs_resync *r, uint64_t start)
{
	bool is_first = !r->has_first;

	if (!is_first && start == r->first)
		return;
	if (is_first)
		r->first = start;
	r->has_first = true;
	if (start < r->cut)
		r->before = start;
	if (start < r->cut || r->has_start || r->is_late)
		return;
	r->has_start = !is_first || r->pos == 0;
	r->is_late = !r->has_start; /* it may have begun before the cut */
	r->start = start;
}

static void on_sample(void *ctx, const struct sfs_extent *extent)
{
	const struct feeding *f = ctx;

	consider(f->r, extent->start);
}

static bool may_be_header(const unsigned char *block)
{
	enum sfs_tar_kind kind = sfs_tar_look(block).kind;

	return kind != SFS_TAR_ZERO && kind != SFS_TAR_BAD;
}

static void look_for_hidden(struct sfs_resync *r, const unsigned char *bytes, uint64_t n)
{
	uint64_t at;

	for (at = 0; at + SFS_TAR_BLOCK <= n && !r->has_hidden; at += SFS_TAR_BLOCK)
		r->has_hidden = may_be_header(bytes + at);
}

/* The chain passes over the data of its latest member.  What do they hold? */
static void look_at_data(const struct feeding *f)
{
	uint64_t at = f->r->data > f->offset ? f->r->data : f->offset;
	uint64_t end = f->r->data_end;

	end = end < f->offset + f->n ? end : f->offset + f->n;
	if (at < end)
		look_for_hidden(f->r, f->bytes + (at - f->offset), end - at);
}

/* And what do the data of extensions hold? */
static void look_at_group(struct sfs_resync *r, const unsigned char *bytes,
			  const struct sfs_tar_entry *group)
{
	struct sfs_tar_header header = {.kind = SFS_TAR_EXTENSION};
	size_t at, n = 0;

	for (at = 0; at < group->n_bytes && header.kind == SFS_TAR_EXTENSION; at += n) {
		header = sfs_tar_look(bytes + at);
		at += SFS_TAR_BLOCK;
		n = header.kind == SFS_TAR_EXTENSION ? (size_t)sfs_tar_padded(header.size)
						     : group->n_bytes - at;
		look_for_hidden(r, bytes + at, n);
	}
}

static void on_odd(void *ctx, uint64_t start, const unsigned char *bytes,
		   const struct sfs_tar_entry *group)
{
	const struct feeding *f = ctx;

	(void)start;
	look_at_group(f->r, bytes, group);
}

static void note_data(const struct feeding *f, uint64_t start,
		      const struct sfs_tar_entry *group)
{
	f->r->longest = group->next > f->r->longest ? group->next : f->r->longest;
	f->r->data = start + group->n_bytes;
	f->r->data_end = start + group->next;
	look_at_data(f);
}

static void consider_open(struct sfs_resync *r)
{
	if (r->scan.sample.is_open)
		consider(r, r->scan.sample.start);
}

static void on_member(void *ctx, uint64_t start, const struct sfs_tar_entry *group)
{
	const struct feeding *f = ctx;
	struct sfs_resync *r = f->r;

	note_data(f, start, group);
	/* (Each sample is considered when the next member comes, wherever pieces end:
	 * what comes later in a piece must not change what was certain.) */
	consider_open(r);
	r->n_members++;
	r->n_since += r->has_start || r->is_late;
	r->is_certain |= r->n_members >= N_CERTAIN && r->n_since > 0;
}

/* Does what is known by now decide? */
static void decide(struct sfs_resync *r)
{
	bool has_ended = r->scan.is_complete || r->scan.lacks_end;
	bool is_damaged = r->scan.err < 0 && !has_ended;

	if (r->pos == 0 || has_ended)
		consider_open(r);
	if (r->pos > 0 && !r->is_certain && is_damaged)
		give_up(r);
	else if (r->pos > 0 && !r->is_certain && !has_ended)
		return;
	else if (r->is_late)
		r->state = SFS_RESYNC_LATE;
	else if (r->has_start)
		r->state = SFS_RESYNC_FOUND;
	else if (has_ended)
		r->state = SFS_RESYNC_NONE;
	else if (is_damaged)
		r->state = SFS_RESYNC_LOST;
}

static void follow(struct sfs_resync *r, uint64_t offset, const void *bytes, size_t n)
{
	struct feeding f = {.r = r, .offset = offset, .n = n, .bytes = bytes};
	const struct sfs_scan_sink sink = {.ctx = &f,
					   .member = on_member,
					   .sample = on_sample,
					   .odd = on_odd};

	look_at_data(&f);
	sfs_scan_feed(&r->scan, offset, bytes, n, &sink);
	decide(r);
}

/* ---- where it begins ---- */

static void on_first_member(void *ctx, uint64_t start, const struct sfs_tar_entry *group)
{
	const struct feeding *f = ctx;
	struct sfs_resync *r = f->r;

	if (r->n_members++ > 0)
		return;
	note_data(f, start, group);
	r->passed = start;
	r->first = start + group->next;
}

static void on_first_odd(void *ctx, uint64_t start, const unsigned char *bytes,
			 const struct sfs_tar_entry *group)
{
	const struct feeding *f = ctx;

	if (f->r->n_members <= 1)
		on_odd(ctx, start, bytes, group);
}

static void ignore_sample(void *ctx, const struct sfs_extent *extent)
{
	(void)ctx;
	(void)extent;
}

/* Find the end of the first member. */
static void pass_first(struct sfs_resync *r, uint64_t offset, const void *bytes, size_t n)
{
	struct feeding f = {.r = r, .offset = offset, .n = n, .bytes = bytes};
	const struct sfs_scan_sink sink = {.ctx = &f,
					   .member = on_first_member,
					   .sample = ignore_sample,
					   .odd = on_first_odd};

	sfs_scan_feed(&r->scan, offset, bytes, n, &sink);
	if (r->n_members > 0) {
		r->phase = SFS_RESYNC_CHAIN;
		scan_from(r, r->first);
		r->is_late = r->passed >= r->cut; /* it may begin a sample */
		if (r->first == r->shard_bytes)
			follow(r, r->first, NULL, 0); /* there are no more bytes */
	} else if (r->scan.err < 0) {
		give_up(r);
	} else if (r->scan.is_complete) {
		r->state = SFS_RESYNC_NONE;
	}
}

/* Try the whole blocks of these bytes, from r->pos up to the cut. */
static void search(struct sfs_resync *r, uint64_t offset, const unsigned char *bytes,
		   size_t n)
{
	for (; r->pos < r->cut && r->pos - offset + SFS_TAR_BLOCK <= n;
	     r->pos += SFS_TAR_BLOCK) {
		if (may_be_header(bytes + (r->pos - offset))) {
			r->phase = SFS_RESYNC_FIRST;
			scan_from(r, r->pos);
			return;
		}
	}
	if (r->pos >= r->cut)
		r->state = SFS_RESYNC_LATE;
}

uint64_t sfs_resync_wanted(const struct sfs_resync *r)
{
	if (r->state != SFS_RESYNC_READING)
		return UINT64_MAX;
	return r->phase == SFS_RESYNC_SEARCH ? r->pos : sfs_scan_wanted(&r->scan);
}

uint64_t sfs_resync_from(const struct sfs_resync *r)
{
	if (r->phase == SFS_RESYNC_SEARCH)
		return r->cut;
	if (r->has_start || r->is_late)
		return r->has_start ? r->start : r->cut;
	if (r->scan.sample.is_open && r->scan.sample.start >= r->cut)
		return r->scan.sample.start; /* its turn comes with the next member */
	return r->scan.pos > r->cut ? r->scan.pos : r->cut;
}

uint64_t sfs_resync_feed(struct sfs_resync *r, uint64_t offset, const void *bytes,
			 size_t n)
{
	uint64_t wanted;

	while ((wanted = sfs_resync_wanted(r)) >= offset && wanted - offset < n) {
		switch (r->phase) {
		case SFS_RESYNC_CHAIN: follow(r, offset, bytes, n); break;
		case SFS_RESYNC_FIRST: pass_first(r, offset, bytes, n); break;
		case SFS_RESYNC_SEARCH: search(r, offset, bytes, n); break;
		}
		if (r->phase == SFS_RESYNC_SEARCH && sfs_resync_wanted(r) == wanted)
			break; /* a block that is cut */
	}
	return sfs_resync_wanted(r);
}
