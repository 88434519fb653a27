/* SPDX-License-Identifier: MIT */
/* Time is added to the state that ends, in all and of the last ten seconds; the state
 * with the largest share is named, with what helps. */
#include "base/clock.h"
#include "base/waits.h"
#include "check.h"

#define S SFS_NS_PER_S

static struct sfs_waits_total total;

static struct sfs_waits_sums window_of(struct sfs_waits_tally *a, uint64_t now_ns)
{
	struct sfs_waits_sums sums = {0};

	sfs_waits_enter(a, a->state, now_ns);
	sfs_waits_add_window(a, now_ns, &sums);
	return sums;
}

static void test_sums(void)
{
	const uint64_t t = 100 * S + S / 2; /* seconds begin within the spans */
	struct sfs_waits_tally a;
	struct sfs_waits_sums w;

	sfs_waits_init(&a, &total, t);
	sfs_waits_enter(&a, SFS_WAIT_SOURCE, t + S);
	sfs_waits_enter(&a, SFS_WAIT_NETWORK, t + 3 * S);
	sfs_waits_enter(&a, SFS_WAIT_READER, t + 4 * S);
	CHECK_EQ(a.sums.ns[SFS_WAIT_IDLE], S);
	CHECK_EQ(a.sums.ns[SFS_WAIT_SOURCE], 2 * S);
	CHECK_EQ(a.sums.ns[SFS_WAIT_NETWORK], S);
	CHECK_EQ(a.sums.ns[SFS_WAIT_READER], 0);

	/* An open span counts as soon as it is asked for. */
	w = window_of(&a, t + 5 * S);
	CHECK_EQ(w.ns[SFS_WAIT_READER], S);
	CHECK_EQ(sfs_waits_share(&w, SFS_WAIT_SOURCE), 50);
	CHECK_EQ(sfs_waits_share(&w, SFS_WAIT_NETWORK), 25);
	CHECK_EQ(sfs_waits_share(&w, SFS_WAIT_READER), 25);
	CHECK_EQ(sfs_waits_limit(&w), SFS_WAIT_SOURCE);

	/* A moment that is past changes the state, and no time. */
	sfs_waits_enter(&a, SFS_WAIT_CPU, t + 2 * S);
	sfs_waits_enter(&a, SFS_WAIT_BUDGET, t + 5 * S);
	CHECK_EQ(a.sums.ns[SFS_WAIT_CPU], 0);
	CHECK_EQ(a.sums.ns[SFS_WAIT_READER], S);
	CHECK_EQ(total.ns[SFS_WAIT_SOURCE], 2 * S);
	CHECK_EQ(total.ns[SFS_WAIT_READER], S);
}

static void test_window(void)
{
	struct sfs_waits_tally a;
	struct sfs_waits_sums w;

	sfs_waits_init(&a, NULL, 0);
	sfs_waits_enter(&a, SFS_WAIT_SOURCE, 0);
	sfs_waits_enter(&a, SFS_WAIT_READER, 5 * S);
	w = window_of(&a, 10 * S);
	CHECK_EQ(w.ns[SFS_WAIT_SOURCE], 4 * S); /* second 0 has gone */
	CHECK_EQ(w.ns[SFS_WAIT_READER], 5 * S);
	w = window_of(&a, 14 * S + S / 2);
	CHECK_EQ(w.ns[SFS_WAIT_SOURCE], 0);
	CHECK_EQ(sfs_waits_share(&w, SFS_WAIT_READER), 100);
	CHECK_EQ(a.sums.ns[SFS_WAIT_SOURCE], 5 * S);

	/* A long span fills the window and no more; nothing entered empties it. */
	sfs_waits_enter(&a, SFS_WAIT_BUDGET, 15 * S);
	sfs_waits_enter(&a, SFS_WAIT_CPU, 45 * S);
	w = window_of(&a, 45 * S);
	CHECK_EQ(w.ns[SFS_WAIT_BUDGET], 9 * S);
	CHECK_EQ(w.ns[SFS_WAIT_READER], 0);
	CHECK_EQ(a.sums.ns[SFS_WAIT_BUDGET], 30 * S);
	w = (struct sfs_waits_sums){0};
	sfs_waits_add_window(&a, 60 * S, &w);
	CHECK_EQ(w.ns[SFS_WAIT_BUDGET], 0);
	CHECK_EQ(sfs_waits_limit(&w), SFS_WAIT_IDLE);
	CHECK_EQ(sfs_waits_share(&w, SFS_WAIT_READER), 0);
}

/* Many short spans, across seconds and gaps, sum up to the time that has passed. */
static void test_every_moment_counts_once(void)
{
	struct sfs_waits_tally a;
	struct sfs_waits_sums w;
	uint64_t now = 7 * S + 1, sum, i;
	int k;

	sfs_waits_init(&a, NULL, now);
	for (i = 0; i < 5000; i++) {
		now += 1 + i * 7919 % (S / 50);
		sfs_waits_enter(&a, (enum sfs_wait)(i * i % SFS_N_WAITS), now);
	}
	for (k = 0, sum = 0; k < SFS_N_WAITS; k++)
		sum += a.sums.ns[k];
	CHECK_EQ(sum, now - 7 * S - 1);
	w = window_of(&a, now);
	for (k = 0, sum = 0; k < SFS_N_WAITS; k++)
		sum += w.ns[k];
	CHECK_EQ(sum, 9 * S + now % S);
}

static void test_a_reader_that_left(void)
{
	const uint64_t idle = SFS_WAITS_IDLE_S * S;
	struct sfs_waits_tally a;
	struct sfs_waits_sums w;
	uint64_t t;

	sfs_waits_init(&a, NULL, S);
	sfs_waits_enter(&a, SFS_WAIT_READER, S);
	for (t = 2 * S; t <= 100 * S; t += S) /* as who keeps it up to date */
		sfs_waits_enter(&a, SFS_WAIT_READER, t);
	CHECK_EQ(a.sums.ns[SFS_WAIT_READER], idle);
	CHECK_EQ(a.sums.ns[SFS_WAIT_IDLE], 99 * S - idle);
	w = window_of(&a, 100 * S);
	CHECK_EQ(sfs_waits_limit(&w), SFS_WAIT_IDLE);

	/* It comes back. */
	sfs_waits_enter(&a, SFS_WAIT_CPU, 100 * S);
	sfs_waits_enter(&a, SFS_WAIT_READER, 101 * S);
	sfs_waits_enter(&a, SFS_WAIT_SOURCE, 103 * S);
	CHECK_EQ(a.sums.ns[SFS_WAIT_READER], idle + 2 * S);
}

static void says(enum sfs_wait state, struct sfs_waits_facts facts, const char *words)
{
	struct sfs_waits_sums sums = {0};
	struct sfs_strbuf text = {0};

	if (state != SFS_WAIT_IDLE)
		sums.ns[SFS_WAIT_IDLE] = 500; /* is no share of anything */
	sums.ns[SFS_WAIT_NETWORK] = state != SFS_WAIT_IDLE ? 7 : 0;
	sums.ns[state] += 93;
	sfs_waits_explain(&sums, &facts, &text);
	CHECK_STR(text.s, words);
	sfs_strbuf_done(&text);
}

static void test_sentences(void)
{
	struct sfs_waits_facts f = {.n_ready = 64,
				    .n_in_flight = 32,
				    .n_connections = 32,
				    .budget_bytes = 64 << 20};

	says(SFS_WAIT_READER, f,
	     "the reader is the bottleneck: 93 % of the time, 64 parts were ready for "
	     "it");
	f.n_ready = 1;
	says(SFS_WAIT_READER, f,
	     "the reader is the bottleneck: 93 % of the time, 1 part was ready for it");
	f.n_ready = 0;
	says(SFS_WAIT_READER, f,
	     "the reader is the bottleneck: 93 % of the time, no read was waiting");
	says(SFS_WAIT_SOURCE, f,
	     "the source is the bottleneck: 93 % of the time, reads wait for responses "
	     "to start; all 32 connections are in use; raise connections=");
	says(SFS_WAIT_NETWORK, f,
	     "the network is the bottleneck: 100 % of the time, reads wait for bytes "
	     "to cross it; all 32 connections are in use; if the link has room, "
	     "raise connections=");
	f.n_in_flight = 3;
	says(SFS_WAIT_SOURCE, f,
	     "the source is the bottleneck: 93 % of the time, reads wait for responses "
	     "to start; 3 of 32 connections are in use, so raising connections= would "
	     "not help");
	f.is_local = true;
	says(SFS_WAIT_SOURCE, f,
	     "the source is the bottleneck: 93 % of the time, reads wait for the disk");
	says(SFS_WAIT_BUDGET, f,
	     "the budget is the bottleneck: 93 % of the time, reads wait for memory "
	     "within 64M; raise budget=, or read fewer streams at once");
	says(SFS_WAIT_CPU, f,
	     "the CPU is the bottleneck: 93 % of the time, reads wait for processing; "
	     "more cores or larger reads help");
	says(SFS_WAIT_BLOCK, f,
	     "the shuffle block is the bottleneck: 93 % of the time, reads wait for the "
	     "first blocks to fill; a smaller buffer= starts sooner, but changes the "
	     "order");
	says(SFS_WAIT_IDLE, f, "nobody is reading");
	f.n_far = 2;
	says(SFS_WAIT_IDLE, f, "2 random reads wait");
}

int main(void)
{
	test_sums();
	test_window();
	test_every_moment_counts_once();
	test_a_reader_that_left();
	test_sentences();
	return 0;
}
