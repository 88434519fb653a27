/* SPDX-License-Identifier: MIT */
/* meter - how fast bytes come, from marks of how many there are by now.
 *
 * A measurement lasts so long from its first byte on.  Its first fifth does not count:
 * connections get up to speed, and what was fetched before the first byte is used up. Who
 * fills a buffer first may say so; then that does not count either, and the measurement
 * lasts longer, up to four times.  If the bytes end before the time is up, or hardly any
 * come, all of it counts, the waiting for the first byte as well.  Times are given: it
 * has no clock.  Pure.
 */
#ifndef SFS_RATEMETER_H
#define SFS_RATEMETER_H

#include <stdbool.h>
#include <stdint.h>

#define SFS_RATEMETER_MARKS 32

/* Seconds that processors have worked so far. */
struct sfs_cpu {
	double own_s; /* for what is measured */
	double all_s; /* for all programs of the machine */
};

struct sfs_mark {
	uint64_t ns, n_bytes;
	struct sfs_cpu cpu;
};

struct sfs_ratemeter {
	uint64_t wanted_ns; /* from the first byte on */
	uint64_t first_ns;  /* when that came; 0: it has not */
	bool is_filling;    /* set by the caller: what comes does not count yet */
	struct sfs_mark begun, warm; /* warm.ns 0: not yet */
	struct sfs_mark latest[SFS_RATEMETER_MARKS];
	uint32_t n_marks; /* the last one is in latest[(n_marks - 1) %
			     SFS_RATEMETER_MARKS] */
};

struct sfs_rate {
	double bytes_per_s, cpu_s_per_gib;
	double n_busy;	  /* processors of the machine, with whatever */
	double first_s;	  /* from the beginning to the first byte */
	double seconds;	  /* from the beginning to the end */
	uint64_t n_bytes; /* all that came */
	bool is_there;	  /* else all is 0: it was not measured */
	bool has_ended;	  /* there were no more bytes before the time was up */
	bool is_early;	  /* it was filling its buffer to the end */
};

void sfs_ratemeter_begin(struct sfs_ratemeter *m, uint64_t wanted_ns, uint64_t now_ns,
			 struct sfs_cpu cpu);

/* So many bytes have come by now; several times a second. */
void sfs_ratemeter_mark(struct sfs_ratemeter *m, uint64_t now_ns, uint64_t n_bytes,
			struct sfs_cpu cpu);

/* Is the time up? */
bool sfs_ratemeter_is_over(const struct sfs_ratemeter *m, uint64_t now_ns);

/* For people who wait: how much of the time is gone (0 to 1), and how many bytes a second
 * came in the last few. */
double sfs_ratemeter_done(const struct sfs_ratemeter *m, uint64_t now_ns);
double sfs_ratemeter_recent(const struct sfs_ratemeter *m);

/* The result, as of the last mark.  `grain` is how many bytes may be on their way and are
 * marked together: if no more than a few times as many came, the first fifth counts too.
 */
struct sfs_rate sfs_ratemeter_end(const struct sfs_ratemeter *m, bool has_ended,
				  uint64_t grain);

#endif
