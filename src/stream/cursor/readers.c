/* SPDX-License-Identifier: MIT */
#include "stream/cursor/readers.h"

#include "base/clock.h"

#define GONE_NS	    SFS_NS_PER_S
#define QUICK_NS    (50 * SFS_NS_PER_MS) /* who has read since then is not slow */
#define EAGER_NS    (5 * SFS_NS_PER_MS)	 /* who reads again so soon is at full rate */
#define PATIENCE_NS SFS_NS_PER_S	 /* the most; it grows by a third of the time */

/* ---- who is where ---- */

static void forget(struct sfs_readers *r, int i)
{
	r->all[i] = r->all[--r->n];
}

static void forget_gone(struct sfs_readers *r, uint64_t now_ns)
{
	int i;

	for (i = r->n - 1; i >= 0; i--)
		if (r->all[i].until_ns <= now_ns)
			forget(r, i);
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* The nearest reader to which a read may belong, or -1. */
static int find(const struct sfs_readers *r, const void *file, uint64_t offset)
{
	uint64_t nearest = SFS_READERS_NEAR, d;
	int i, found = -1;

	for (i = 0; i < r->n; i++) {
		d = distance(r->all[i].at, offset);
		if (r->all[i].file != file || d > nearest)
			continue;
		nearest = d;
		found = i;
	}
	return found;
}

/* A place in the list: a new one, or that of who was unread for longest. */
static int add(struct sfs_readers *r)
{
	int i, oldest = 0;

	if (r->n < SFS_READERS_MAX)
		return r->n++;
	for (i = 1; i < r->n; i++)
		if (r->all[i].until_ns < r->all[oldest].until_ns)
			oldest = i;
	return oldest;
}

/* Readers of the same file, so near behind number `i` that their next reads are its. */
static void merge_near(struct sfs_readers *r, int i)
{
	const void *file = r->all[i].file;
	uint64_t at = r->all[i].at;
	int k;

	for (k = r->n - 1; k >= 0; k--)
		if (r->all[k].file == file && r->all[k].at < at &&
		    at - r->all[k].at <= SFS_READERS_NEAR / 2)
			forget(r, k);
}

void sfs_readers_note(struct sfs_readers *r, const void *file, uint64_t offset,
		      uint64_t end, uint64_t now_ns)
{
	int i;

	forget_gone(r, now_ns);
	i = find(r, file, offset);
	if (i < 0) {
		i = add(r);
		r->all[i].file = file;
		r->all[i].at = 0;
	}
	if (end > r->all[i].at)
		r->all[i].at = end;
	r->all[i].read_ns = now_ns;
	r->all[i].until_ns = now_ns + GONE_NS;
	merge_near(r, i);
}

void sfs_readers_expect(struct sfs_readers *r, const void *file, uint64_t at,
			uint64_t now_ns)
{
	int i;

	forget_gone(r, now_ns);
	i = add(r);
	r->all[i].file = file;
	r->all[i].at = at;
	r->all[i].read_ns = 0;
	r->all[i].until_ns = now_ns + GONE_NS;
}

void sfs_readers_forget(struct sfs_readers *r, const void *file)
{
	int i;

	for (i = r->n - 1; i >= 0; i--)
		if (r->all[i].file == file)
			forget(r, i);
}

/* Of those who have read since then. */
static uint64_t hindmost_since(const struct sfs_readers *r, uint64_t from, uint64_t to,
			       uint64_t since_ns, uint64_t now_ns)
{
	uint64_t at = UINT64_MAX;
	int i;

	for (i = 0; i < r->n; i++)
		if (r->all[i].until_ns > now_ns && r->all[i].read_ns >= since_ns &&
		    r->all[i].at >= from && r->all[i].at < to && r->all[i].at < at)
			at = r->all[i].at;
	return at;
}

uint64_t sfs_readers_hindmost(const struct sfs_readers *r, uint64_t from, uint64_t to,
			      uint64_t now_ns)
{
	return hindmost_since(r, from, to, 0, now_ns);
}

/* ---- what is kept ---- */

/* The next reads of a reader need the stream from here on. */
static uint64_t needed_from(uint64_t at)
{
	return at > SFS_READERS_NEAR ? at - SFS_READERS_NEAR : 0;
}

static uint64_t before(uint64_t front, uint64_t n)
{
	return front > n ? front - n : 0;
}

uint64_t sfs_readers_keep_from(const struct sfs_readers *r,
			       const struct sfs_readers_span *span, uint64_t now_ns)
{
	uint64_t keep = before(span->front, span->least),
		 lowest = before(span->front, span->most),
		 at = sfs_readers_hindmost(r, span->start, span->front, now_ns);

	if (at < span->front && needed_from(at) < keep)
		keep = needed_from(at);
	return keep > lowest ? keep : lowest;
}

/* ---- patience ---- */

void sfs_patience_init(struct sfs_patience *p, uint64_t now_ns)
{
	*p = (struct sfs_patience){.left_ns = PATIENCE_NS,
				   .looked_ns = now_ns,
				   .gap = UINT64_MAX};
}

/* It grows while the front reads, and shrinks while it waits. */
static void update(struct sfs_patience *p, uint64_t now_ns)
{
	uint64_t passed_ns = now_ns - p->looked_ns;

	p->looked_ns = now_ns;
	if (p->is_waiting)
		p->left_ns -= passed_ns < p->left_ns ? passed_ns : p->left_ns;
	else if ((p->left_ns += passed_ns / 3) > PATIENCE_NS)
		p->left_ns = PATIENCE_NS;
}

/* Patience has ended.  Has it brought the one behind nearer? */
static void judge(struct sfs_patience *p, uint64_t gap)
{
	p->has_given_up = gap > p->gap - p->gap / 8;
	p->gap = gap;
}

/* Does somebody come from behind, and is the way to here shorter than what would then be
 * read together? */
static bool is_worth(struct sfs_patience *p, const struct sfs_readers_span *span,
		     uint64_t behind, uint64_t end, uint64_t now_ns)
{
	if (behind >= span->start) { /* nobody */
		p->gap = UINT64_MAX;
		p->has_given_up = false;
		return false;
	}
	if (p->is_waiting && p->left_ns == 0)
		judge(p, end - behind);
	/* A front that does not read at full rate is reached anyway. */
	return !p->has_given_up && end - behind <= (span->end - span->front) / 2 &&
	       (p->is_waiting || now_ns - p->answered_ns < EAGER_NS);
}

bool sfs_patience_waits(struct sfs_patience *p, const struct sfs_readers *r,
			const struct sfs_readers_span *span, uint64_t end,
			uint64_t now_ns)
{
	uint64_t since_ns = now_ns > QUICK_NS ? now_ns - QUICK_NS : 1,
		 behind = hindmost_since(r, 0, span->start, since_ns, now_ns),
		 own = hindmost_since(r, span->start, end, since_ns, now_ns);
	bool has_reason;

	update(p, now_ns);
	has_reason = (own < end && end - needed_from(own) > span->most) ||
		     is_worth(p, span, behind, end, now_ns);
	p->is_waiting = has_reason && p->left_ns > 0;
	return p->is_waiting;
}
