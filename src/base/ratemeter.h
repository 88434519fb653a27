/* SPDX-License-Identifier: MIT */
/* ratemeter - how fast bytes arrive, from marks of their number.
 *
 * A measurement lasts for a given time after its first byte.  Its first fifth does not
 * count: connections get up to speed, and what was fetched before the first byte is used
 * up.  Nor does the time in which the caller fills a buffer; then the measurement lasts
 * longer, up to four times.  If the bytes end early, or hardly any arrive, all of it
 * counts, also the time before the first byte.  Times are arguments.  Pure.
 */
#ifndef SFS_RATEMETER_H
#define SFS_RATEMETER_H

#include <stdbool.h>
#include <stdint.h>

#define SFS_RATEMETER_MARKS 32

/* CPU seconds used so far. */
struct sfs_cpu {
	double own_s; /* by what is measured */
	double all_s; /* by all programs of the machine */
};

struct sfs_mark {
	uint64_t ns, n_bytes;
	struct sfs_cpu cpu;
};

struct sfs_ratemeter {
	uint64_t wanted_ns;	     /* from the first byte on */
	uint64_t first_ns;	     /* when it arrived; 0: not yet */
	bool is_filling;	     /* set by the caller: bytes do not count yet */
	struct sfs_mark begun, warm; /* warm.ns 0: not yet */
	struct sfs_mark latest[SFS_RATEMETER_MARKS];
	uint32_t n_marks; /* the last one is in latest[(n_marks - 1) % MARKS] */
};

struct sfs_rate {
	double bytes_per_s, cpu_s_per_gib;
	double n_busy;	  /* processors of the machine, whatever uses them */
	double first_s;	  /* from the start to the first byte */
	double seconds;	  /* from the start to the end */
	uint64_t n_bytes; /* all that arrived */
	bool is_there;	  /* false: not measured, all is 0 */
	bool has_ended;	  /* there were no more bytes before the time was up */
	bool is_early;	  /* it was still filling its buffer at the end */
};

void sfs_ratemeter_begin(struct sfs_ratemeter *m, uint64_t wanted_ns, uint64_t now_ns,
			 struct sfs_cpu cpu);

/* Note that n_bytes have arrived; several times a second. */
void sfs_ratemeter_mark(struct sfs_ratemeter *m, uint64_t now_ns, uint64_t n_bytes,
			struct sfs_cpu cpu);

/* Is the time up? */
bool sfs_ratemeter_is_over(const struct sfs_ratemeter *m, uint64_t now_ns);

/* For the progress bar: how much of the time has passed (0 to 1), and the bytes per
 * second of the last few seconds. */
double sfs_ratemeter_done(const struct sfs_ratemeter *m, uint64_t now_ns);
double sfs_ratemeter_recent(const struct sfs_ratemeter *m);

/* The result, as of the last mark.  `grain`: how many bytes may be in flight and are
 * marked together; if only a few times as many arrived, the first fifth counts, too. */
struct sfs_rate sfs_ratemeter_end(const struct sfs_ratemeter *m, bool has_ended,
				  uint64_t grain);

#endif
