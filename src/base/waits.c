/* SPDX-License-Identifier: MIT */
/* How this works: the window is a ring of slots, one per second of the clock; a span of
 * time is split at full seconds.  So entering a state costs a few additions, and a window
 * holds between nine and ten seconds. */
#include "base/waits.h"

#include "base/clock.h"

#include <string.h>

static const char *const names[SFS_N_WAITS] = {
	[SFS_WAIT_IDLE] = "idle",     [SFS_WAIT_READER] = "reader",
	[SFS_WAIT_SOURCE] = "source", [SFS_WAIT_NETWORK] = "network",
	[SFS_WAIT_BUDGET] = "budget", [SFS_WAIT_CPU] = "cpu",
	[SFS_WAIT_BLOCK] = "block",
};

const char *sfs_waits_name(enum sfs_wait state)
{
	return names[state];
}

void sfs_waits_init(struct sfs_waits_tally *a, struct sfs_waits_total *total,
		    uint64_t now_ns)
{
	*a = (struct sfs_waits_tally){.since_ns = now_ns,
				      .entered_ns = now_ns,
				      .total = total,
				      .second = now_ns / SFS_NS_PER_S};
}

/* Go on to a later second: the slots between are empty. */
static void advance(struct sfs_waits_tally *a, uint64_t second)
{
	uint64_t n = second - a->second;

	if (n > SFS_WAITS_WINDOW_S)
		n = SFS_WAITS_WINDOW_S;
	for (; n > 0; n--)
		a->slots[(second - n + 1) % SFS_WAITS_WINDOW_S] =
			(struct sfs_waits_sums){0};
	a->second = second;
}

static void add_to_slots(struct sfs_waits_tally *a, enum sfs_wait state, uint64_t from,
			 uint64_t to)
{
	const uint64_t window = SFS_WAITS_WINDOW_S * SFS_NS_PER_S;
	uint64_t end;

	if (to - from > window)
		from = to - window;
	for (; from < to; from = end) {
		if (from / SFS_NS_PER_S > a->second)
			advance(a, from / SFS_NS_PER_S);
		end = (from / SFS_NS_PER_S + 1) * SFS_NS_PER_S;
		end = end < to ? end : to;
		a->slots[from / SFS_NS_PER_S % SFS_WAITS_WINDOW_S].ns[state] +=
			end - from;
	}
}

static void charge(struct sfs_waits_tally *a, enum sfs_wait state, uint64_t to)
{
	if (to <= a->since_ns)
		return;
	add_to_slots(a, state, a->since_ns, to);
	a->sums.ns[state] += to - a->since_ns;
	if (a->total)
		atomic_fetch_add_explicit(&a->total->ns[state], to - a->since_ns,
					  memory_order_relaxed);
	a->since_ns = to;
}

void sfs_waits_enter(struct sfs_waits_tally *a, enum sfs_wait state, uint64_t now_ns)
{
	uint64_t patience = a->entered_ns + SFS_WAITS_IDLE_S * SFS_NS_PER_S;

	if (a->state == SFS_WAIT_READER && now_ns > patience) {
		charge(a, SFS_WAIT_READER, patience);
		charge(a, SFS_WAIT_IDLE, now_ns);
	} else {
		charge(a, a->state, now_ns);
	}
	if (state != a->state)
		a->entered_ns = a->since_ns;
	a->state = state;
}

void sfs_waits_add_window(const struct sfs_waits_tally *a, uint64_t now_ns,
			  struct sfs_waits_sums *sums)
{
	uint64_t now = now_ns / SFS_NS_PER_S, second = a->second;
	int i, k;

	for (i = 0; i < SFS_WAITS_WINDOW_S && i <= (int)a->second; i++, second--) {
		if (second + SFS_WAITS_WINDOW_S <= now)
			break;
		for (k = 0; k < SFS_N_WAITS; k++)
			sums->ns[k] += a->slots[second % SFS_WAITS_WINDOW_S].ns[k];
	}
}

/* ---- the sentence ---- */

static uint64_t counted(const struct sfs_waits_sums *sums)
{
	uint64_t n = 0;
	int k;

	for (k = SFS_WAIT_IDLE + 1; k < SFS_N_WAITS; k++)
		n += sums->ns[k];
	return n;
}

unsigned sfs_waits_share(const struct sfs_waits_sums *sums, enum sfs_wait state)
{
	uint64_t all = counted(sums);

	return all > 0 ? (unsigned)((double)sums->ns[state] * 100 / (double)all + 0.5)
		       : 0;
}

enum sfs_wait sfs_waits_limit(const struct sfs_waits_sums *sums)
{
	enum sfs_wait found = SFS_WAIT_IDLE;
	uint64_t most = 0;
	int k;

	for (k = SFS_WAIT_IDLE + 1; k < SFS_N_WAITS; k++) {
		if (sums->ns[k] > most) {
			most = sums->ns[k];
			found = (enum sfs_wait)k;
		}
	}
	return found;
}

static void say_reader(const struct sfs_waits_facts *f, struct sfs_strbuf *t)
{
	if (f->n_ready > 0)
		sfs_strbuf_printf(t, "%llu part%s ready for it",
				  (unsigned long long)f->n_ready,
				  f->n_ready == 1 ? " was" : "s were");
	else
		sfs_strbuf_puts(t, "no read was waiting");
}

/* If responses are late, more connections help, if all are in use. */
static void say_connections(const struct sfs_waits_facts *f, struct sfs_strbuf *t)
{
	if (f->n_in_flight >= f->n_connections)
		sfs_strbuf_printf(t, "all %u connections are in use; raise connections=",
				  f->n_connections);
	else
		sfs_strbuf_printf(t,
				  "%u of %u connections are in use, so raising "
				  "connections= would not help",
				  f->n_in_flight, f->n_connections);
}

static void say_source(const struct sfs_waits_facts *f, struct sfs_strbuf *t)
{
	if (f->is_local) {
		sfs_strbuf_puts(t, "reads wait for the disk");
		return;
	}
	sfs_strbuf_puts(t, "reads wait for responses to start; ");
	say_connections(f, t);
}

static void say_network(const struct sfs_waits_facts *f, struct sfs_strbuf *t)
{
	sfs_strbuf_puts(t, "reads wait for bytes to cross it; ");
	if (f->n_in_flight >= f->n_connections)
		sfs_strbuf_printf(t,
				  "all %u connections are in use; if the link has room, "
				  "raise connections=",
				  f->n_connections);
	else
		say_connections(f, t);
}

static void say_budget(const struct sfs_waits_facts *f, struct sfs_strbuf *t)
{
	char size[32];

	sfs_strbuf_printf(t,
			  "reads wait for memory within %s; raise budget=, or read fewer "
			  "streams at once",
			  sfs_format_size(f->budget_bytes, size));
}

static void say_cpu(const struct sfs_waits_facts *f, struct sfs_strbuf *t)
{
	(void)f;
	sfs_strbuf_puts(t, "reads wait for processing; more cores or larger reads help");
}

static void say_block(const struct sfs_waits_facts *f, struct sfs_strbuf *t)
{
	(void)f;
	sfs_strbuf_puts(t, "reads wait for the first blocks to fill; a smaller buffer= "
			   "starts sooner, but changes the order");
}

static const struct phrase {
	const char *who;
	void (*say)(const struct sfs_waits_facts *facts, struct sfs_strbuf *text);
} phrases[SFS_N_WAITS] = {
	[SFS_WAIT_READER] = {"the reader", say_reader},
	[SFS_WAIT_SOURCE] = {"the source", say_source},
	[SFS_WAIT_NETWORK] = {"the network", say_network},
	[SFS_WAIT_BUDGET] = {"the budget", say_budget},
	[SFS_WAIT_CPU] = {"the CPU", say_cpu},
	[SFS_WAIT_BLOCK] = {"the shuffle block", say_block},
};

void sfs_waits_explain(const struct sfs_waits_sums *sums,
		       const struct sfs_waits_facts *facts, struct sfs_strbuf *text)
{
	enum sfs_wait limit = sfs_waits_limit(sums);

	if (limit == SFS_WAIT_IDLE && facts->n_far > 0) {
		sfs_strbuf_printf(text, "%u random read%s", facts->n_far,
				  facts->n_far == 1 ? " waits" : "s wait");
		return;
	}
	if (limit == SFS_WAIT_IDLE) {
		sfs_strbuf_puts(text, "nobody is reading");
		return;
	}
	sfs_strbuf_printf(text, "%s is the bottleneck: %u %% of the time, ",
			  phrases[limit].who, sfs_waits_share(sums, limit));
	phrases[limit].say(facts, text);
}
