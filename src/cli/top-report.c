/* SPDX-License-Identifier: MIT */
#include "cli/top-report.h"

#include "base/alloc.h"
#include "base/json.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define BAR    20 /* letters */
#define N_HEAD 9  /* lines above the rows */
#define INDENT 7  /* of a sentence below its row */

#define MAX_SHOWN 1000 /* bytes of a string */
#define MAX_ROWS  1000 /* that are kept */

static const char letters[SFS_N_WAITS] = {
	[SFS_WAIT_READER] = 'R', [SFS_WAIT_SOURCE] = 'S', [SFS_WAIT_NETWORK] = 'N',
	[SFS_WAIT_BUDGET] = 'B', [SFS_WAIT_CPU] = 'C',	  [SFS_WAIT_BLOCK] = 'K',
};

/* ---- reading ---- */

void sfs_top_report_done(struct sfs_top_report *s)
{
	size_t i;

	for (i = 0; i < s->n_rows; i++)
		free(s->rows[i].verdict);
	free(s->rows);
	free(s->version);
	free(s->sources);
	free(s->huge_pages_off);
	*s = (struct sfs_top_report){0};
}

/* Append what can be printed; '?' for the rest. */
static void add_shown(struct sfs_strbuf *t, const char *s, size_t n)
{
	size_t i, length;

	for (i = 0; i < n; i += length ? length : 1) {
		length = sfs_strbuf_utf8(s + i, n - i);
		/* (C2 80 to C2 9F are control characters as well.) */
		if (length == 0 || (unsigned char)s[i] < 0x20 || s[i] == 0x7f ||
		    ((unsigned char)s[i] == 0xc2 && (unsigned char)s[i + 1] < 0xa0))
			sfs_strbuf_puts(t, "?");
		else
			sfs_strbuf_add(t, s + i, length);
	}
}

/* Take the next value if it is a string; otherwise skip it. */
static bool take_string(struct sfs_json *json, char **ret)
{
	enum sfs_json_token token = sfs_json_next(json);
	struct sfs_strbuf shown = {0};

	if (token != SFS_JSON_STRING)
		return sfs_json_skip(json, token);
	add_shown(&shown, json->text.s,
		  json->text.n < MAX_SHOWN ? json->text.n : MAX_SHOWN);
	free(*ret);
	*ret = shown.s ? shown.s : sfs_strdup("");
	return true;
}

/* The same for a whole number. */
static bool take_number(struct sfs_json *json, uint64_t *ret)
{
	enum sfs_json_token token = sfs_json_next(json);

	if (token != SFS_JSON_NUMBER)
		return sfs_json_skip(json, token);
	sfs_json_uint(json, ret);
	return true;
}

/* Is there another element in this object or array?  false also after an error. */
static bool has_more(struct sfs_json *json, enum sfs_json_token *ret_token)
{
	*ret_token = sfs_json_next(json);
	return *ret_token > SFS_JSON_END && *ret_token != SFS_JSON_OBJECT_END &&
	       *ret_token != SFS_JSON_ARRAY_END;
}

static bool take_sources(struct sfs_json *json, char **ret)
{
	enum sfs_json_token token = sfs_json_next(json);
	struct sfs_strbuf all = {0};

	if (token != SFS_JSON_ARRAY)
		return sfs_json_skip(json, token);
	while (has_more(json, &token)) {
		if (token == SFS_JSON_STRING && all.n < MAX_SHOWN) {
			sfs_strbuf_puts(&all, all.n ? ", " : "");
			add_shown(&all, json->text.s,
				  json->text.n < MAX_SHOWN ? json->text.n : MAX_SHOWN);
		} else if (!sfs_json_skip(json, token)) {
			break;
		}
	}
	free(*ret);
	*ret = all.s ? all.s : sfs_strdup("");
	return token == SFS_JSON_ARRAY_END;
}

static bool take_shares(struct sfs_json *json, uint64_t shares[SFS_N_WAITS])
{
	enum sfs_json_token token = sfs_json_next(json);
	uint64_t *share, unused, percent;
	int k;

	if (token != SFS_JSON_OBJECT)
		return sfs_json_skip(json, token);
	while (has_more(json, &token)) {
		share = &unused;
		for (k = 0; k < SFS_N_WAITS; k++)
			if (sfs_json_is(json, sfs_waits_name((enum sfs_wait)k)))
				share = &shares[k];
		percent = 0;
		if (!take_number(json, &percent))
			return false;
		*share = percent < 100 ? percent : 100;
	}
	return token == SFS_JSON_OBJECT_END;
}

struct field {
	const char *name;
	uint64_t *value;
};

/* Take a number that is wanted, or skip it. */
static bool take_field(struct sfs_json *json, const struct field *fields)
{
	enum sfs_json_token token;

	for (; fields->name; fields++)
		if (sfs_json_is(json, fields->name))
			return take_number(json, fields->value);
	token = sfs_json_next(json);
	return sfs_json_skip(json, token);
}

/* Takes the row's verdict. */
static void add_row(struct sfs_top_report *s, struct sfs_top_report_row *row)
{
	s->n_all++;
	s->n_requests += row->n_requests;
	if (s->n_rows == MAX_ROWS) {
		free(steal(&row->verdict));
		return;
	}
	s->rows = sfs_reallocarray(s->rows, s->n_rows + 1, sizeof *s->rows);
	s->rows[s->n_rows++] = *row;
	row->verdict = NULL;
}

static bool take_cursor(struct sfs_json *json, struct sfs_top_report *s,
			const struct sfs_top_report_row *stream)
{
	struct sfs_top_report_row row = *stream;
	const struct field fields[] = {{"offset", &row.offset},
				       {"requests", &row.n_requests},
				       {NULL, NULL}};
	enum sfs_json_token token;
	bool is_good = true;

	row.has_position = true;
	while (is_good && has_more(json, &token)) {
		if (sfs_json_is(json, "waits"))
			is_good = take_shares(json, row.shares);
		else if (sfs_json_is(json, "verdict"))
			is_good = take_string(json, &row.verdict);
		else
			is_good = take_field(json, fields);
	}
	add_row(s, &row);
	return is_good && token == SFS_JSON_OBJECT_END;
}

static bool take_cursors(struct sfs_json *json, struct sfs_top_report *s,
			 const struct sfs_top_report_row *stream)
{
	enum sfs_json_token token = sfs_json_next(json);
	bool is_good = true;

	if (token != SFS_JSON_ARRAY)
		return sfs_json_skip(json, token);
	while (is_good && has_more(json, &token))
		is_good = token == SFS_JSON_OBJECT ? take_cursor(json, s, stream)
						   : sfs_json_skip(json, token);
	return is_good && token == SFS_JSON_ARRAY_END;
}

static bool take_stream(struct sfs_json *json, struct sfs_top_report *s)
{
	struct sfs_top_report_row row = {.lane_step = 1};
	const struct field fields[] = {{"epoch", &row.epoch},
				       {"first_lane", &row.first_lane},
				       {"lane_step", &row.lane_step},
				       {"bytes", &row.n_bytes},
				       {NULL, NULL}};
	sfs_autofree char *verdict = NULL;
	uint64_t n_before = s->n_all;
	enum sfs_json_token token;
	bool is_good = true;

	while (is_good && has_more(json, &token)) {
		if (sfs_json_is(json, "cursors"))
			is_good = take_cursors(json, s, &row);
		else if (sfs_json_is(json, "verdict"))
			is_good = take_string(json, &verdict);
		else
			is_good = take_field(json, fields);
	}
	if (is_good && s->n_all == n_before) {
		row.verdict = steal(&verdict);
		add_row(s, &row);
	}
	return is_good && token == SFS_JSON_OBJECT_END;
}

static bool take_streams(struct sfs_json *json, struct sfs_top_report *s)
{
	enum sfs_json_token token = sfs_json_next(json);
	bool is_good = true;

	if (token != SFS_JSON_ARRAY)
		return sfs_json_skip(json, token);
	while (is_good && has_more(json, &token))
		is_good = token == SFS_JSON_OBJECT ? take_stream(json, s)
						   : sfs_json_skip(json, token);
	return is_good && token == SFS_JSON_ARRAY_END;
}

static bool take_all(struct sfs_json *json, struct sfs_top_report *s)
{
	const struct field fields[] = {{"uptime_ms", &s->uptime_ms},
				       {"shards", &s->shards},
				       {"delivered_bytes", &s->delivered_bytes},
				       {"fetched_bytes", &s->fetched_bytes},
				       {"budget_bytes", &s->budget_bytes},
				       {"budget_used_bytes", &s->budget_used_bytes},
				       {"slab_bytes", &s->slab_bytes},
				       {"huge_page_bytes", &s->huge_page_bytes},
				       {"requests", &s->requests},
				       {"requests_failed", &s->requests_failed},
				       {"events_retry", &s->events_retry},
				       {NULL, NULL}};
	enum sfs_json_token token;
	bool is_good = sfs_json_next(json) == SFS_JSON_OBJECT;

	while (is_good && has_more(json, &token)) {
		if (sfs_json_is(json, "streams"))
			is_good = take_streams(json, s);
		else if (sfs_json_is(json, "sources"))
			is_good = take_sources(json, &s->sources);
		else if (sfs_json_is(json, "version"))
			is_good = take_string(json, &s->version);
		else if (sfs_json_is(json, "huge_pages_off"))
			is_good = take_string(json, &s->huge_pages_off);
		else
			is_good = take_field(json, fields);
	}
	return is_good && sfs_json_next(json) == SFS_JSON_END;
}

int sfs_top_report_read(const void *bytes, size_t n, struct sfs_top_report *ret,
			struct sfs_error *err)
{
	struct sfs_top_report s = {0};
	struct sfs_json json;
	int ret_value = 0;

	sfs_json_init(&json, bytes, n);
	if (!take_all(&json, &s) || !s.version || s.shards == 0)
		ret_value =
			sfs_json_refuse(&json, err, "these are not the stats of a mount");
	sfs_json_done(&json);
	if (ret_value < 0)
		sfs_top_report_done(&s);
	else
		*ret = s;
	return ret_value;
}

/* ---- drawing ---- */

/* Cut what was added since `from` to `columns` characters. */
static void cut(struct sfs_strbuf *t, size_t from, unsigned columns)
{
	size_t at = from, n;

	if (columns == 0)
		return;
	for (; at < t->n && columns > 0; columns--) {
		n = sfs_strbuf_utf8(t->s + at, t->n - at);
		at += n ? n : 1;
	}
	t->n = at;
	t->s[at] = 0;
}

static void add_time(struct sfs_strbuf *t, uint64_t s)
{
	sfs_strbuf_printf(t, "%llu:%02u:%02u", (unsigned long long)(s / 3600),
			  (unsigned)(s / 60 % 60), (unsigned)(s % 60));
}

/* Bytes per second between two reports; `ret` gets it as text, "-" if it is not known. */
static uint64_t rate(const struct sfs_top_report *now,
		     const struct sfs_top_report *before, uint64_t is, uint64_t was,
		     char ret[40])
{
	uint64_t ms = before ? now->uptime_ms - before->uptime_ms : 0, n = 0;
	char size[32];

	snprintf(ret, 40, "-");
	if (!before || now->uptime_ms <= before->uptime_ms || is < was)
		return 0;
	n = (uint64_t)((double)(is - was) * 1000 / (double)ms);
	snprintf(ret, 40, "%s/s", sfs_format_size(n, size));
	return n;
}

/* Where the reader of a row was: the nearest position in that stream, not after it. */
static const struct sfs_top_report_row *find_before(const struct sfs_top_report *before,
						    const struct sfs_top_report_row *row)
{
	const struct sfs_top_report_row *found = NULL, *r;
	size_t i;

	for (i = 0; before && i < before->n_rows; i++) {
		r = &before->rows[i];
		if (r->has_position && r->epoch == row->epoch &&
		    r->first_lane == row->first_lane && r->lane_step == row->lane_step &&
		    r->offset <= row->offset && (!found || r->offset > found->offset))
			found = r;
	}
	return found;
}

static void add_bar(struct sfs_strbuf *t, const uint64_t shares[SFS_N_WAITS])
{
	uint64_t all = 0, sum = 0;
	int i, k = 0;

	for (i = 0; i < SFS_N_WAITS; i++)
		all += shares[i];
	for (i = 0; i < BAR && all > 0; i++) {
		/* Whose is the middle of letter i? */
		for (; 2 * BAR * sum <= (2 * (uint64_t)i + 1) * all; k++)
			sum += shares[k];
		sfs_strbuf_add(t, &letters[k - 1], 1);
	}
	for (; i < BAR; i++)
		sfs_strbuf_puts(t, ".");
}

static void draw_row(const struct sfs_top_report *now,
		     const struct sfs_top_report *before,
		     const struct sfs_top_report_row *row, struct sfs_strbuf *t)
{
	const struct sfs_top_report_row *was = find_before(before, row);
	char part[48] = "-", at[16] = "-", speed[40] = "-";
	uint64_t a_second = 0;

	if (row->lane_step > 1)
		snprintf(part, sizeof part, "%llu/%llu",
			 (unsigned long long)row->first_lane,
			 (unsigned long long)row->lane_step);
	if (row->has_position && row->n_bytes > 0)
		snprintf(at, sizeof at, "%.1f %%",
			 100.0 * (double)row->offset / (double)row->n_bytes);
	if (was)
		a_second = rate(now, before, row->offset, was->offset, speed);
	sfs_strbuf_printf(t, "%-6llu %-8s %7s %9s ", (unsigned long long)row->epoch, part,
			  at, speed);
	if (a_second > 0 && row->n_bytes > row->offset)
		add_time(t, (row->n_bytes - row->offset) / a_second);
	else
		sfs_strbuf_puts(t, "      -");
	sfs_strbuf_puts(t, "  ");
	add_bar(t, row->shares);
}

static void draw_head(const struct sfs_top_report *now, const char *where,
		      struct sfs_strbuf *t)
{
	sfs_strbuf_printf(t, "shufflefs %s  ", now->version);
	add_shown(t, where, strlen(where));
	sfs_strbuf_puts(t, "  up ");
	add_time(t, now->uptime_ms / 1000);
	sfs_strbuf_printf(t, "  %llu shard%s", (unsigned long long)now->shards,
			  now->shards == 1 ? "" : "s");
}

static void draw_rates(const struct sfs_top_report *now,
		       const struct sfs_top_report *before, struct sfs_strbuf *t)
{
	char delivered[40], fetched[40];

	rate(now, before, now->delivered_bytes, before ? before->delivered_bytes : 0,
	     delivered);
	rate(now, before, now->fetched_bytes, before ? before->fetched_bytes : 0,
	     fetched);
	sfs_strbuf_printf(t, "rate      %s delivered, %s fetched", delivered, fetched);
}

static void draw_budget(const struct sfs_top_report *now, struct sfs_strbuf *t)
{
	uint64_t used = now->budget_used_bytes,
		 all = now->budget_bytes ? now->budget_bytes : 1;
	char a[32], b[32];
	int i, n = used < all ? (int)((double)used * BAR / (double)all + 0.5) : BAR;

	sfs_strbuf_puts(t, "budget    [");
	for (i = 0; i < BAR; i++)
		sfs_strbuf_puts(t, i < n ? "#" : ".");
	sfs_strbuf_printf(t, "] %s of %s", sfs_format_size(used, a),
			  sfs_format_size(now->budget_bytes, b));
}

static void draw_memory(const struct sfs_top_report *now, struct sfs_strbuf *t)
{
	char size[32];

	sfs_strbuf_printf(t, "memory    %s for data, ",
			  sfs_format_size(now->slab_bytes, size));
	if (now->huge_pages_off)
		sfs_strbuf_printf(t, "huge pages are off: %s", now->huge_pages_off);
	else
		sfs_strbuf_printf(t, "%s in huge pages",
				  sfs_format_size(now->huge_page_bytes, size));
}

static void draw_requests(const struct sfs_top_report *now, struct sfs_strbuf *t)
{
	sfs_strbuf_printf(
		t, "requests  %llu in flight, %llu ended, %llu failed, %llu retried",
		(unsigned long long)now->n_requests, (unsigned long long)now->requests,
		(unsigned long long)now->requests_failed,
		(unsigned long long)now->events_retry);
}

/* How many of the n bytes of s fit into a line of `columns`: up to a space. */
static size_t line_of(const char *s, size_t n, unsigned columns)
{
	size_t at = 0, space = 0, length;

	for (; at < n && columns > 0; at += length ? length : 1, columns--) {
		length = sfs_strbuf_utf8(s + at, n - at);
		if (s[at] == ' ')
			space = at;
	}
	return at == n || s[at] == ' ' || space == 0 ? at : space;
}

/* On as many lines as needed. */
static void draw_verdict(const char *s, unsigned columns, struct sfs_strbuf *t)
{
	unsigned room = columns > INDENT + 10 ? columns - INDENT : 0;
	size_t n = strlen(s), k;

	do {
		k = room ? line_of(s, n, room) : n;
		sfs_strbuf_printf(t, "%*s", INDENT, "");
		sfs_strbuf_add(t, s, k);
		sfs_strbuf_puts(t, "\n");
		for (; k < n && s[k] == ' '; k++)
			;
		s += k;
		n -= k;
	} while (n > 0);
}

static void end_line(struct sfs_strbuf *t, size_t *from, unsigned columns)
{
	cut(t, *from, columns);
	sfs_strbuf_puts(t, "\n");
	*from = t->n;
}

static unsigned count_lines(const char *s)
{
	unsigned n = 0;

	for (; *s; s++)
		n += *s == '\n';
	return n;
}

/* As many rows as fit; a line says how many do not. */
static void draw_rows(const struct sfs_top_report *now,
		      const struct sfs_top_report *before, unsigned columns,
		      unsigned room, struct sfs_strbuf *t)
{
	size_t from = t->n, row_at, i;
	unsigned n_lines;

	for (i = 0; i < now->n_rows; i++) {
		row_at = t->n;
		draw_row(now, before, &now->rows[i], t);
		end_line(t, &from, columns);
		if (now->rows[i].verdict)
			draw_verdict(now->rows[i].verdict, columns, t);
		from = t->n;
		n_lines = count_lines(t->s + row_at);
		if (n_lines + (i + 1 < now->n_all) > room) {
			t->n = from = row_at;
			break;
		}
		room -= n_lines;
	}
	if (i < now->n_all && room > 0) {
		sfs_strbuf_printf(t, "and %llu more",
				  (unsigned long long)(now->n_all - i));
		end_line(t, &from, columns);
	}
	t->s[t->n] = 0;
}

void sfs_top_report_draw(const struct sfs_top_report *now,
			 const struct sfs_top_report *before, const char *where,
			 unsigned columns, unsigned lines, struct sfs_strbuf *t)
{
	size_t from = t->n;

	draw_head(now, where, t);
	end_line(t, &from, columns);
	sfs_strbuf_printf(t, "source    %s", now->sources ? now->sources : "-");
	end_line(t, &from, columns);
	draw_rates(now, before, t);
	end_line(t, &from, columns);
	draw_budget(now, t);
	end_line(t, &from, columns);
	draw_memory(now, t);
	end_line(t, &from, columns);
	draw_requests(now, t);
	end_line(t, &from, columns);
	sfs_strbuf_puts(
		t, "waits     R reader  S source  N network  B budget  C cpu  K block");
	end_line(t, &from, columns);
	end_line(t, &from, columns);
	sfs_strbuf_puts(t, "EPOCH  PART          AT      RATE     ETA  WAITS");
	end_line(t, &from, columns);
	draw_rows(now, before, columns,
		  lines == 0	   ? UINT_MAX
		  : lines > N_HEAD ? lines - N_HEAD
				   : 0,
		  t);
}
