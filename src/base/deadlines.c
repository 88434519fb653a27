/* SPDX-License-Identifier: MIT */
/* How this works: a ring of the newest ranges that failed.  A repetition that fails is
 * noted as a part of the range that failed first, with its times.  So a program that
 * reads again and again without a pause gets a whole attempt every MOMENT_NS, and other
 * pages of the range do not fail with it. */
#include "base/deadlines.h"

#include "base/clock.h"

#define MOMENT_NS (2 * SFS_NS_PER_S) /* in which the kernel repeats a read */
#define GRACE_NS  (SFS_NS_PER_S / 4)

uint64_t sfs_deadlines_grace(uint64_t timeout_ns)
{
	return timeout_ns / 8 < GRACE_NS ? timeout_ns / 8 : GRACE_NS;
}

static uint64_t end_of(const struct sfs_page_range *r)
{
	return r->offset + r->n;
}

/* The newest failure that covers the range, or NULL. */
static struct sfs_deadline *find(struct sfs_deadlines *d, const struct sfs_page_range *r,
				 uint64_t now_ns)
{
	struct sfs_deadline *f;
	unsigned i;

	if (now_ns - d->newest_ns > MOMENT_NS)
		return NULL;
	for (i = 1; i <= SFS_DEADLINES_MAX; i++) {
		f = &d->failed[(d->next - i) % SFS_DEADLINES_MAX];
		if (f->to == 0)
			return NULL;
		if (f->node == r->node && r->offset >= f->from && end_of(r) <= f->to &&
		    now_ns - f->failed_ns <= MOMENT_NS)
			return f;
	}
	return NULL;
}

uint64_t sfs_deadlines_begin(struct sfs_deadlines *d, const struct sfs_page_range *range,
			     uint64_t timeout_ns, uint64_t now_ns, bool *ret_is_again)
{
	struct sfs_deadline *f = find(d, range, now_ns);
	uint64_t until_ns;

	*ret_is_again = f != NULL;
	if (!f)
		return now_ns + timeout_ns;
	until_ns = now_ns + (f->is_over ? 0 : sfs_deadlines_grace(timeout_ns));
	return until_ns > f->deadline_ns ? until_ns : f->deadline_ns;
}

void sfs_deadlines_fail(struct sfs_deadlines *d, const struct sfs_page_range *range,
			uint64_t deadline_ns, bool is_again, uint64_t now_ns)
{
	struct sfs_deadline failed = {.node = range->node,
				      .from = range->offset,
				      .to = end_of(range),
				      .deadline_ns = deadline_ns,
				      .failed_ns = now_ns};
	struct sfs_deadline *f = is_again ? find(d, range, now_ns) : NULL;

	if (is_again && (!f || now_ns < f->deadline_ns || f->is_over))
		return;
	if (f) {
		failed.failed_ns = f->failed_ns;
		failed.is_over = true;
	} else {
		d->newest_ns = now_ns;
	}
	d->failed[d->next++ % SFS_DEADLINES_MAX] = failed;
}
