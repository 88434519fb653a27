/* SPDX-License-Identifier: MIT */
/* What the hindmost reader needs is kept, as far as memory allows.  The front waits for
 * who would fall out of that, and for who comes nearer from behind; not for long, and not
 * for who reads slowly. */
#include "base/clock.h"
#include "check.h"
#include "stream/cursor/readers.h"

#define MIB   ((uint64_t)1 << 20)
#define LEAST (32 * MIB)
#define MOST  (256 * MIB)
#define NEAR  SFS_READERS_NEAR
#define MS    SFS_NS_PER_MS

static const char a, b, c; /* files */
static struct sfs_readers r;
static struct sfs_patience patience;
static struct sfs_readers_span span;
static uint64_t now;

static void begin(uint64_t start, uint64_t front)
{
	r = (struct sfs_readers){0};
	now = SFS_NS_PER_S * 100;
	span = (struct sfs_readers_span){.start = start,
					 .front = front,
					 .least = LEAST,
					 .most = MOST,
					 .end = 10000 * MIB};
	sfs_patience_init(&patience, now);
}

static void reads(const char *file, uint64_t at)
{
	sfs_readers_note(&r, file, at - MIB, at, now);
}

static void keeps(uint64_t from)
{
	CHECK_EQ(sfs_readers_keep_from(&r, &span, now), from);
}

static void what_is_kept(void)
{
	begin(0, 1000 * MIB);
	keeps(1000 * MIB - LEAST); /* whoever reads */
	reads(&a, 1000 * MIB);
	keeps(1000 * MIB - LEAST);
	reads(&b, 900 * MIB);
	keeps(900 * MIB - NEAR);
	reads(&c, 500 * MIB);
	keeps(1000 * MIB - MOST);
	sfs_readers_forget(&r, &c);
	keeps(900 * MIB - NEAR);
	now += SFS_NS_PER_S + 1; /* all have gone */
	keeps(1000 * MIB - LEAST);

	begin(0, 100 * MIB);
	sfs_readers_expect(&r, &b, 0, now);
	reads(&a, 100 * MIB);
	keeps(0);
	reads(&b, MIB); /* here it is */
	CHECK_EQ(r.n, 2);
	keeps(0);
	reads(&b, 50 * MIB); /* leapt: for a second, it may be at both */
	CHECK_EQ(r.n, 3);

	begin(400 * MIB, 500 * MIB); /* who is behind its start is not this cursor's */
	reads(&a, 300 * MIB);
	keeps(500 * MIB - LEAST);
	begin(0, 0);
	keeps(0);
}

static void who_is_one_reader(void)
{
	uint64_t i;

	begin(0, 100 * MIB);
	for (i = 1; i <= 40; i++) { /* four reads under way, the ends in any order */
		reads(&a, (4 * i + 3) * MIB);
		reads(&a, (4 * i + 1) * MIB);
		reads(&a, (4 * i + 2) * MIB);
		reads(&a, (4 * i + 0) * MIB);
	}
	CHECK_EQ(r.n, 1);
	CHECK_EQ(sfs_readers_hindmost(&r, 0, UINT64_MAX, now), 163 * MIB);
	reads(&a, 150 * MIB); /* a thread that fell behind */
	CHECK_EQ(r.n, 2);
	for (i = 151; i <= 162; i++)
		reads(&a, i * MIB);
	reads(&a, 164 * MIB); /* and has caught up */
	CHECK_EQ(r.n, 1);
	reads(&b, 162 * MIB); /* other files are others, however near */
	CHECK_EQ(r.n, 2);
	for (i = 0; i < 2 * SFS_READERS_MAX; i++, now += MS)
		reads(&a, (1000 + 10 * i) * MIB);
	CHECK_EQ(r.n, SFS_READERS_MAX);
	CHECK_EQ(sfs_readers_hindmost(&r, 0, UINT64_MAX, now),
		 (1000 + 10 * SFS_READERS_MAX) * MIB);
}

static bool front_waits(uint64_t to)
{
	return sfs_patience_waits(&patience, &r, &span, to, now);
}

/* For how long does it wait, asking every 5 ms, while `file` reads without getting on? */
static uint64_t wait_ms(uint64_t to, const char *file, uint64_t at)
{
	uint64_t begun = now;

	for (; front_waits(to); now += 5 * MS)
		reads(file, at);
	return (now - begun) / MS;
}

static void who_is_waited_for(void)
{
	uint64_t ms;

	begin(0, 1000 * MIB);
	reads(&a, 1000 * MIB);
	CHECK(!front_waits(1001 * MIB));
	reads(&b, 900 * MIB);
	CHECK(!front_waits(1001 * MIB)); /* there is memory */
	reads(&b, 745 * MIB);
	CHECK(front_waits(1001 * MIB)); /* there is none */
	now += 51 * MS;
	reads(&a, 1000 * MIB);
	reads(&b, 760 * MIB);
	CHECK(!front_waits(1001 * MIB));
	reads(&c, 745 * MIB);
	CHECK(front_waits(1001 * MIB));
	now += 51 * MS; /* it is slow */
	CHECK(!front_waits(1001 * MIB));

	begin(0, 1000 * MIB);
	reads(&b, 745 * MIB);
	ms = wait_ms(1001 * MIB, &b, 745 * MIB);
	CHECK(ms >= 1000 && ms <= 1010);
	now += 300 * MS; /* patience has grown by a third of that */
	ms = wait_ms(1001 * MIB, &b, 745 * MIB);
	CHECK(ms == 0);
	reads(&b, 745 * MIB);
	ms = wait_ms(1001 * MIB, &b, 745 * MIB);
	CHECK(ms >= 100 && ms <= 110);
}

/* Ask for a byte at the front, right after an answer. */
static bool waits_at_front(void)
{
	patience.answered_ns = now;
	return front_waits(span.front + MIB);
}

static void who_comes_from_behind(void)
{
	uint64_t at = 1000 * MIB, until;

	/* It comes nearer: the front waits on, a quarter of the time. */
	begin(3000 * MIB, 3032 * MIB);
	for (until = now + 20 * SFS_NS_PER_S; now < until; now += 5 * MS) {
		reads(&b, at += MIB / 2);
		if (waits_at_front())
			continue;
		CHECK(now >= SFS_NS_PER_S * 101);
	}
	CHECK(!patience.has_given_up);

	/* It does not: the front gives up. */
	begin(3000 * MIB, 3032 * MIB);
	for (until = now + 20 * SFS_NS_PER_S; now < until; now += 5 * MS) {
		reads(&b, 1000 * MIB);
		waits_at_front();
	}
	CHECK(patience.has_given_up);
	now += SFS_NS_PER_S; /* it has gone; another one comes */
	CHECK(!waits_at_front());
	reads(&c, 2000 * MIB);
	CHECK(waits_at_front());

	/* Too far behind, compared with what is left. */
	begin(7000 * MIB, 7032 * MIB);
	reads(&b, 3000 * MIB);
	CHECK(!waits_at_front());

	/* The front is slow itself. */
	begin(3000 * MIB, 3032 * MIB);
	reads(&b, 1000 * MIB);
	patience.answered_ns = now - 6 * MS;
	CHECK(!front_waits(3033 * MIB));
}

int main(void)
{
	what_is_kept();
	who_is_one_reader();
	who_is_waited_for();
	who_comes_from_behind();
	return 0;
}
