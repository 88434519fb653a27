/* SPDX-License-Identifier: MIT */
#include "ledger.h"

#include "clock.h"
#include "mem.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

#define MAX_LINES 10000

static const struct {
	const char *name;
	enum sfs_log_level level;
} events[SFS_N_EVENTS] = {
	[SFS_EVENT_RETRY] = {"retry", SFS_LOG_WARNING},
	[SFS_EVENT_SKIP] = {"skip", SFS_LOG_WARNING},
	[SFS_EVENT_LOST] = {"lost", SFS_LOG_ERROR},
	[SFS_EVENT_CHANGED] = {"changed", SFS_LOG_ERROR},
	[SFS_EVENT_HIDDEN] = {"hidden", SFS_LOG_WARNING},
	[SFS_EVENT_INDEX] = {"index", SFS_LOG_WARNING},
	[SFS_EVENT_REFUSED] = {"refused", SFS_LOG_WARNING},
};

static struct {
	pthread_mutex_t lock;	/* guards all below */
	char *lines[MAX_LINES]; /* a ring; line i is at i % MAX_LINES */
	uint64_t n_lines;	/* ever added */
	uint64_t counts[SFS_N_EVENTS];
} ledger = {.lock = PTHREAD_MUTEX_INITIALIZER};

const char *sfs_event_name(enum sfs_event event)
{
	return events[event].name;
}

static char *make_line(enum sfs_event event, const char *shard, uint64_t offset,
		       const char *then, const char *cause)
{
	struct sfs_text t = {0};
	char when[32];

	sfs_text_printf(&t, "{\"time\":\"%s\",\"event\":\"%s\",\"shard\":",
			sfs_clock_format(sfs_clock_wall_ms(), when), events[event].name);
	sfs_text_json(&t, shard);
	if (offset != SFS_NO_OFFSET)
		sfs_text_printf(&t, ",\"offset\":%llu", (unsigned long long)offset);
	sfs_text_puts(&t, ",\"cause\":");
	sfs_text_json(&t, cause);
	if (*then) {
		sfs_text_puts(&t, ",\"then\":");
		sfs_text_json(&t, then);
	}
	sfs_text_puts(&t, "}\n");
	return t.s;
}

static void log_event(enum sfs_event event, const char *shard, uint64_t offset,
		      const char *then, const char *cause)
{
	char at[32] = "";

	if (offset != SFS_NO_OFFSET)
		snprintf(at, sizeof at, " @ %llu", (unsigned long long)offset);
	sfs_log(events[event].level, "%s: %s%s: %s%s%s", events[event].name, shard, at,
		cause, *then ? ", " : "", then);
}

void sfs_ledger_add(enum sfs_event event, const char *shard, uint64_t offset,
		    const char *then, const char *cause, ...)
{
	char text[1024];
	va_list args;
	char **slot, *line;

	va_start(args, cause);
	vsnprintf(text, sizeof text, cause, args);
	va_end(args);
	log_event(event, shard, offset, then, text);
	line = make_line(event, shard, offset, then, text);

	pthread_mutex_lock(&ledger.lock);
	slot = &ledger.lines[ledger.n_lines++ % MAX_LINES];
	free(*slot);
	*slot = line;
	ledger.counts[event]++;
	pthread_mutex_unlock(&ledger.lock);
}

void sfs_ledger_print(struct sfs_text *text)
{
	uint64_t i, first = 0;

	pthread_mutex_lock(&ledger.lock);
	if (ledger.n_lines > MAX_LINES) {
		first = ledger.n_lines - MAX_LINES;
		sfs_text_printf(text, "{\"event\":\"dropped\",\"lines\":%llu}\n",
				(unsigned long long)first);
	}
	for (i = first; i < ledger.n_lines; i++)
		sfs_text_puts(text, ledger.lines[i % MAX_LINES]);
	pthread_mutex_unlock(&ledger.lock);
}

uint64_t sfs_ledger_count(enum sfs_event event)
{
	uint64_t n;

	pthread_mutex_lock(&ledger.lock);
	n = ledger.counts[event];
	pthread_mutex_unlock(&ledger.lock);
	return n;
}

void sfs_ledger_clear(void)
{
	int i;

	pthread_mutex_lock(&ledger.lock);
	for (i = 0; i < MAX_LINES; i++)
		free(steal(&ledger.lines[i]));
	ledger.n_lines = 0;
	for (i = 0; i < SFS_N_EVENTS; i++)
		ledger.counts[i] = 0;
	pthread_mutex_unlock(&ledger.lock);
}
