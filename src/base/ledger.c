/* SPDX-License-Identifier: MIT */
/* How this works: a ring of lines.  Each knows how many bytes all lines before it had,
 * also dropped ones, so a binary search finds an offset in a view. */
#include "base/ledger.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/json-writer.h"
#include "base/keyhash.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define MAX_LINES  10000
#define MAX_BYTES  ((uint64_t)4 << 20)
#define MAX_CAUSES 16
#define N_REFUSED  1024

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
	[SFS_EVENT_EMPTY] = {"empty", SFS_LOG_WARNING},
	[SFS_EVENT_OUTAGE] = {"outage", SFS_LOG_WARNING},
};

struct line {
	char *s;
	uint64_t at, n; /* bytes of the lines before, and of this one */
};

static struct {
	pthread_mutex_t lock;	      /* guards all below */
	struct line lines[MAX_LINES]; /* a ring; line i is at i % MAX_LINES */
	uint64_t first, n_lines;      /* the first one kept; ever added */
	uint64_t n_bytes;	      /* of all lines ever added */
	uint64_t counts[SFS_N_EVENTS];
	bool keeps_errors;
	/* A name that is refused may be looked up again and again: the lines of refused
	 * names, by a hash, the newest of each slot. */
	struct refused {
		uint64_t hash, line; /* line 0: none; else its number and one */
	} refused[N_REFUSED];
	struct cause {
		char *shard, *text;
		uint64_t offset;
	} causes[MAX_CAUSES]; /* the newest first */
} ledger = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct line *line_at(uint64_t i)
{
	return &ledger.lines[i % MAX_LINES];
}

/* How many bytes come before line i, which is kept, or the next one to be.  Locked. */
static uint64_t start_of(uint64_t i)
{
	return i == ledger.n_lines ? ledger.n_bytes : line_at(i)->at;
}

const char *sfs_event_name(enum sfs_event event)
{
	return events[event].name;
}

static char *make_line(enum sfs_event event, const char *shard, uint64_t offset,
		       const char *then, const char *cause)
{
	struct sfs_strbuf t = {0};
	struct sfs_json_writer w = {.text = &t};
	char when[32];

	sfs_json_open(&w, NULL, '{');
	sfs_json_put_string(&w, "time", sfs_clock_format(sfs_clock_wall_ms(), when));
	sfs_json_put_string(&w, "event", events[event].name);
	sfs_json_put_string(&w, event == SFS_EVENT_OUTAGE ? "server" : "shard", shard);
	if (offset != SFS_NO_OFFSET)
		sfs_json_put_uint(&w, "offset", offset);
	sfs_json_put_string(&w, "cause", cause);
	if (*then)
		sfs_json_put_string(&w, "then", then);
	sfs_json_close(&w, '}');
	sfs_strbuf_puts(&t, "\n");
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

/* Locked. */
static void drop_first(void)
{
	free(steal(&line_at(ledger.first)->s));
	ledger.first++;
}

/* Takes the line, and drops the oldest ones if there are too many.  Locked. */
static void keep(char *s)
{
	uint64_t n = strlen(s);

	while (ledger.first < ledger.n_lines &&
	       (ledger.n_lines - ledger.first == MAX_LINES ||
		ledger.n_bytes + n - start_of(ledger.first) > MAX_BYTES))
		drop_first();
	*line_at(ledger.n_lines++) = (struct line){.s = s, .at = ledger.n_bytes, .n = n};
	ledger.n_bytes += n;
}

/* Can a command end with this? */
static bool is_error(enum sfs_event event)
{
	return event == SFS_EVENT_LOST || event == SFS_EVENT_CHANGED ||
	       event == SFS_EVENT_REFUSED;
}

static void free_cause(struct cause *cause)
{
	free(steal(&cause->shard));
	free(steal(&cause->text));
}

/* Locked.  `then` may say what helps, after a semicolon; for a refused name, it says only
 * that.  What readers get does not matter to a command that ends. */
static void keep_cause(enum sfs_event event, const char *shard, uint64_t offset,
		       const char *then, const char *cause)
{
	const char *helps = strchr(then, ';');
	struct cause *k = ledger.causes;

	if (event == SFS_EVENT_REFUSED)
		helps = *then ? then : NULL;
	else if (helps)
		helps += strspn(helps, "; ");
	free_cause(&k[MAX_CAUSES - 1]);
	memmove(k + 1, k, (MAX_CAUSES - 1) * sizeof *k);
	k->shard = sfs_strdup(shard);
	k->offset = event == SFS_EVENT_REFUSED ? SFS_NO_OFFSET : offset;
	k->text = sfs_asprintf("%s%s%s", cause, helps ? "; " : "", helps ? helps : "");
}

/* Was the same name refused for the same reason in a line that is kept?  If not, the next
 * line will be it.  Locked. */
static bool was_refused(const char *name, const char *cause)
{
	uint64_t hash = sfs_keyhash_prepend(sfs_keyhash(cause, strlen(cause)), name,
					    strlen(name) + 1);
	struct refused *a = &ledger.refused[(hash ^ hash >> 32) % N_REFUSED];

	if (a->hash == hash && a->line > ledger.first)
		return true;
	*a = (struct refused){hash, ledger.n_lines + 1};
	return false;
}

/* Returns whether it must be logged. */
static bool note(enum sfs_event event, const char *shard, uint64_t offset,
		 const char *then, const char *cause)
{
	char *line = make_line(event, shard, offset, then, cause);
	bool is_kept, is_known;

	pthread_mutex_lock(&ledger.lock);
	is_known = event == SFS_EVENT_REFUSED && was_refused(shard, cause);
	if (!is_known)
		keep(steal(&line));
	ledger.counts[event]++;
	is_kept = ledger.keeps_errors && is_error(event);
	if (is_kept)
		keep_cause(event, shard, offset, then, cause);
	pthread_mutex_unlock(&ledger.lock);
	free(line);
	return !is_kept && !is_known;
}

void sfs_ledger_add(enum sfs_event event, const char *shard, uint64_t offset,
		    const char *then, const char *cause, ...)
{
	struct sfs_error error;
	const char *text = error.text;
	va_list args;

	va_start(args, cause);
	sfs_error_take(&error, cause, args);
	va_end(args);
	if (note(event, shard, offset, then, text))
		log_event(event, shard, offset, then, text);
}

void sfs_ledger_note(enum sfs_event event, const char *shard, uint64_t offset,
		     const char *then, const char *cause, ...)
{
	struct sfs_error error;
	const char *text = error.text;
	va_list args;

	va_start(args, cause);
	sfs_error_take(&error, cause, args);
	va_end(args);
	note(event, shard, offset, then, text);
}

void sfs_ledger_keep_errors(void)
{
	pthread_mutex_lock(&ledger.lock);
	ledger.keeps_errors = true;
	pthread_mutex_unlock(&ledger.lock);
}

/* An errno of a wrong path: only an event of that path can be the cause. */
static bool is_of_path(int err)
{
	return err == -ENOENT || err == -ENOTDIR || err == -EISDIR || err == -EINVAL ||
	       err == -EACCES;
}

/* The newest event that can be the cause; of events of one shard, that with the first
 * byte, because parts fail in any order.  NULL: none.  Locked. */
static const struct cause *find_cause(const char *path, int err)
{
	const struct cause *k, *found = NULL;

	for (k = ledger.causes; k < ledger.causes + MAX_CAUSES && k->shard; k++) {
		if (is_of_path(err) && !strstr(path, k->shard))
			continue;
		if (!found ||
		    (strcmp(k->shard, found->shard) == 0 && k->offset < found->offset))
			found = k;
	}
	return found;
}

void sfs_ledger_why(const char *path, int err, struct sfs_error *ret)
{
	const struct cause *k;

	pthread_mutex_lock(&ledger.lock);
	k = find_cause(path, err);
	sfs_error_set(ret, err, "%s", k ? k->text : strerror(-err));
	if (k && k->offset != SFS_NO_OFFSET)
		sfs_error_wrap(ret, err, "%s @ %llu", k->shard,
			       (unsigned long long)k->offset);
	else if (k && k->shard[0] != '(' && !strstr(path, k->shard))
		sfs_error_wrap(ret, err, "%s", k->shard);
	pthread_mutex_unlock(&ledger.lock);
}

void sfs_ledger_tally(enum sfs_event event)
{
	pthread_mutex_lock(&ledger.lock);
	ledger.counts[event]++;
	pthread_mutex_unlock(&ledger.lock);
}

/* The line before the first: how many are missing.  Returns its bytes. */
static size_t print_head(uint64_t n_dropped, char ret[64])
{
	return n_dropped ? (size_t)snprintf(ret, 64,
					    "{\"event\":\"dropped\",\"lines\":%llu}\n",
					    (unsigned long long)n_dropped)
			 : 0;
}

void sfs_ledger_print(struct sfs_strbuf *text)
{
	char head[64];
	uint64_t i;

	pthread_mutex_lock(&ledger.lock);
	sfs_strbuf_add(text, head, print_head(ledger.first, head));
	for (i = ledger.first; i < ledger.n_lines; i++)
		sfs_strbuf_puts(text, line_at(i)->s);
	pthread_mutex_unlock(&ledger.lock);
}

struct sfs_ledger_view sfs_ledger_look(void)
{
	struct sfs_ledger_view view;
	char head[64];

	pthread_mutex_lock(&ledger.lock);
	view.n_dropped = ledger.first;
	view.at = start_of(ledger.first);
	view.n_head = print_head(ledger.first, head);
	view.n_bytes = view.n_head + ledger.n_bytes - view.at;
	pthread_mutex_unlock(&ledger.lock);
	return view;
}

/* The line with a byte, counted from the first line ever.  Locked. */
static uint64_t find(uint64_t at)
{
	uint64_t low = ledger.first, high = ledger.n_lines - 1, middle;

	while (low < high) {
		middle = high - (high - low) / 2;
		if (line_at(middle)->at <= at)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/* Locked. */
static int copy(uint64_t at, char *ret, size_t n)
{
	const struct line *line;
	uint64_t i, from;
	size_t here;

	if (n == 0)
		return 0;
	if (at < start_of(ledger.first))
		return -ESTALE;
	for (i = find(at); n > 0; i++, at += here, ret += here, n -= here) {
		line = line_at(i);
		from = at - line->at;
		here = line->n - from < n ? (size_t)(line->n - from) : n;
		memcpy(ret, line->s + from, here);
	}
	return 0;
}

int sfs_ledger_read(const struct sfs_ledger_view *view, uint64_t offset, void *ret,
		    size_t n)
{
	char head[64], *to = ret;
	size_t n_head;
	int code;

	if (offset < view->n_head) {
		print_head(view->n_dropped, head);
		n_head = view->n_head - offset < n ? (size_t)(view->n_head - offset) : n;
		memcpy(to, head + offset, n_head);
		to += n_head;
		offset += n_head;
		n -= n_head;
	}
	pthread_mutex_lock(&ledger.lock);
	code = copy(view->at + offset - view->n_head, to, n);
	pthread_mutex_unlock(&ledger.lock);
	return code;
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
		free(steal(&ledger.lines[i].s));
	ledger.first = ledger.n_lines = ledger.n_bytes = 0;
	memset(ledger.refused, 0, sizeof ledger.refused);
	for (i = 0; i < SFS_N_EVENTS; i++)
		ledger.counts[i] = 0;
	for (i = 0; i < MAX_CAUSES; i++)
		free_cause(&ledger.causes[i]);
	ledger.keeps_errors = false;
	pthread_mutex_unlock(&ledger.lock);
}
