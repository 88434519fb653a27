/* SPDX-License-Identifier: MIT */
/* How this works: a report is one JSON object.  Members that are not known here may come,
 * and are skipped. */
#include "forward/report.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RATE_NS SFS_NS_PER_S

static uint32_t state_of(const struct sfs_json *json)
{
	static const struct {
		const char *name;
		uint32_t state;
	} states[] = {{"connecting", SHUFFLEFS_CONNECTING},
		      {"streaming", SHUFFLEFS_STREAMING},
		      {"draining", SHUFFLEFS_DRAINING},
		      {"done", SHUFFLEFS_DONE},
		      {"failed", SHUFFLEFS_FAILED}};
	size_t i;

	for (i = 0; i < SFS_COUNT(states); i++)
		if (sfs_json_is(json, states[i].name))
			return states[i].state;
	return SHUFFLEFS_NONE;
}

/* A time in seconds. */
static uint64_t read_ns(const struct sfs_json *json)
{
	double s = strtod(json->text.s, NULL);

	return s > 0 && s < 1e9 ? (uint64_t)(s * 1e9) : 0;
}

static void read_number(struct sfs_json *json, const char *name,
			struct shufflefs_status *st)
{
	const struct {
		const char *name;
		uint64_t *value;
	} counts[] = {{"batches", &st->ret_batches},
		      {"samples", &st->ret_samples},
		      {"skipped", &st->ret_skipped},
		      {"bytes", &st->ret_bytes},
		      {"next", &st->ret_next}};
	size_t i;

	for (i = 0; i < SFS_COUNT(counts); i++)
		if (strcmp(name, counts[i].name) == 0)
			sfs_json_uint(json, counts[i].value);
	if (strcmp(name, "seconds") == 0)
		st->ret_ns = read_ns(json);
}

static void read_wait(struct sfs_json *json, const char *name,
		      struct shufflefs_status *st)
{
	if (strcmp(name, "reader") == 0)
		st->ret_reader_ns = read_ns(json);
	else if (strcmp(name, "decoder") == 0)
		st->ret_decoder_ns = read_ns(json);
	else if (strcmp(name, "transport") == 0 || strcmp(name, "trainers") == 0)
		st->ret_target_ns = read_ns(json);
}

static void read_string(struct sfs_json *json, const char *name,
			struct shufflefs_status *st)
{
	const char *text = json->text.s ? json->text.s : "";

	if (strcmp(name, "state") == 0)
		st->ret_state = state_of(json);
	else if (strcmp(name, "error") == 0)
		snprintf(st->ret_error, sizeof st->ret_error, "%s", text);
}

/* The members of an object in a report: its "waits", or those of its "transport" or
 * "memory", where the placement is. */
static void read_object(struct sfs_json *json, const char *object,
			struct shufflefs_status *st)
{
	enum sfs_json_token token;
	char name[32];

	while ((token = sfs_json_next(json)) == SFS_JSON_KEY) {
		snprintf(name, sizeof name, "%s", json->text.s);
		token = sfs_json_next(json);
		if (token == SFS_JSON_NUMBER && strcmp(object, "waits") == 0)
			read_wait(json, name, st);
		else if (token == SFS_JSON_STRING && strcmp(name, "placement") == 0)
			snprintf(st->ret_placement, sizeof st->ret_placement, "%s",
				 json->text.s ? json->text.s : "");
		if (token == SFS_JSON_OBJECT && strcmp(name, "memory") == 0)
			read_object(json, name, st);
		else
			sfs_json_skip(json, token);
	}
}

/* One member of a report; others than these may come. */
static void read_member(struct sfs_json *json, const char *name,
			struct shufflefs_status *st)
{
	enum sfs_json_token token = sfs_json_next(json);

	if (token == SFS_JSON_NUMBER)
		read_number(json, name, st);
	else if (token == SFS_JSON_STRING)
		read_string(json, name, st);
	if (token == SFS_JSON_OBJECT &&
	    (strcmp(name, "waits") == 0 || strcmp(name, "transport") == 0))
		read_object(json, name, st);
	else
		sfs_json_skip(json, token);
}

/* The rate since the report before the last second. */
static void rate(struct sfs_reports *r, struct shufflefs_status *st)
{
	uint64_t ns = st->ret_ns - r->rated_ns;

	if (st->ret_ns < r->rated_ns + RATE_NS || st->ret_bytes < r->rated_bytes)
		return;
	st->ret_rate =
		(uint64_t)((double)(st->ret_bytes - r->rated_bytes) * 1e9 / (double)ns);
	r->rated_ns = st->ret_ns;
	r->rated_bytes = st->ret_bytes;
}

bool sfs_reports_read(struct sfs_reports *reports, const char *line, size_t n,
		      struct shufflefs_status *ret_st)
{
	struct shufflefs_status st = *ret_st;
	struct sfs_json json;
	enum sfs_json_token token;
	char name[32];

	sfs_json_init(&json, line, n);
	token = sfs_json_next(&json);
	while (token == SFS_JSON_OBJECT || token == SFS_JSON_KEY) {
		token = sfs_json_next(&json);
		if (token != SFS_JSON_KEY)
			break;
		snprintf(name, sizeof name, "%s", json.text.s);
		read_member(&json, name, &st);
	}
	sfs_json_done(&json);
	if (token != SFS_JSON_OBJECT_END)
		return false;
	rate(reports, &st);
	*ret_st = st;
	return true;
}
