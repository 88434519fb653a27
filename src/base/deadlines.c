/* SPDX-License-Identifier: MIT */
/* How this works: a ring of the newest ranges that failed.  What is asked again and fails
 * is noted as a part of the range that failed first, with that one's times, so a program
 * that reads again and again without a pause gets a full try every MOMENT_NS, and other
 * pages of the range are not given up with it. */
#include "base/deadlines.h"

#include "base/clock.h"

#define MOMENT_NS (2 * SFS_NS_PER_S) /* so long the kernel may be on its way back */
#define GRACE_NS  (SFS_NS_PER_S / 4)

uint64_t sfs_deadlines_grace(uint64_t timeout_ns)
{
	return timeout_ns / 8 < GRACE_NS ? timeout_ns / 8 : GRACE_NS;
}

/* The newest failure that covers the range, or NULL. */
static struct sfs_deadline *find(struct sfs_deadlines *d, uint64_t of, uint64_t from,
				 uint64_t to, uint64_t now_ns)
{
	struct sfs_deadline *f;
	unsigned i;

	if (now_ns - d->newest_ns > MOMENT_NS)
		return NULL;
	for (i = 1; i <= SFS_DEADLINES_MAX; i++) {
		f = &d->failed[(d->next - i) % SFS_DEADLINES_MAX];
		if (f->to == 0)
			return NULL;
		if (f->of == of && from >= f->from && to <= f->to &&
		    now_ns - f->failed_ns <= MOMENT_NS)
			return f;
	}
	return NULL;
}

uint64_t sfs_deadlines_begin(struct sfs_deadlines *d, uint64_t of, uint64_t offset,
			     size_t n, uint64_t timeout_ns, uint64_t now_ns,
			     bool *ret_is_again)
{
	struct sfs_deadline *f = find(d, of, offset, offset + n, now_ns);
	uint64_t until_ns;

	*ret_is_again = f != NULL;
	if (!f)
		return now_ns + timeout_ns;
	until_ns = now_ns + (f->is_over ? 0 : sfs_deadlines_grace(timeout_ns));
	return until_ns > f->deadline_ns ? until_ns : f->deadline_ns;
}

void sfs_deadlines_fail(struct sfs_deadlines *d, uint64_t of, uint64_t offset, size_t n,
			uint64_t deadline_ns, bool is_again, uint64_t now_ns)
{
	struct sfs_deadline failed = {.of = of,
				      .from = offset,
				      .to = offset + n,
				      .deadline_ns = deadline_ns,
				      .failed_ns = now_ns};
	struct sfs_deadline *f =
		is_again ? find(d, of, offset, offset + n, now_ns) : NULL;

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
