/* SPDX-License-Identifier: MIT */
#include "decode/skips.h"

#include "base/log.h"

#include <errno.h>

#define LOGGED	10
#define MILLION 1000000.0
#define ENOUGH	1000

void sfs_skips_init(struct sfs_skips *s, uint32_t most)
{
	*s = (struct sfs_skips){.most = most};
}

void sfs_skips_add(struct sfs_skips *s, const struct sfs_error *why)
{
	s->last = *why;
	s->n++;
	if (s->n <= LOGGED)
		sfs_warning("%s; it is skipped%s", why->text,
			    s->n == LOGGED ? ", and further ones are only counted" : "");
}

int sfs_skips_check(const struct sfs_skips *s, uint64_t n_good, bool is_end,
		    struct sfs_error *err)
{
	uint64_t n = s->n + n_good;

	if ((!is_end && n < ENOUGH) ||
	    (double)s->n <= (double)n * (double)s->most / MILLION)
		return 0;
	return sfs_error_set(err, -EBADMSG,
			     "%llu of %llu samples are broken, which is more than "
			     "--max-skip=%g%%; the last: %s",
			     (unsigned long long)s->n, (unsigned long long)n,
			     (double)s->most * 100 / MILLION, s->last.text);
}
