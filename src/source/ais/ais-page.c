/* SPDX-License-Identifier: MIT */
#include "source/ais/ais-page.h"

#include "base/alloc.h"
#include "base/json-writer.h"
#include "base/json.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define PAGE 1000 /* keys; stores behind AIStore have no larger pages */

void sfs_ais_page_ask(struct sfs_strbuf *body, const char *prefix, const char *token)
{
	struct sfs_json_writer w = {.text = body};

	sfs_json_open(&w, NULL, '{');
	sfs_json_put_string(&w, "action", "list");
	sfs_json_open(&w, "value", '{');
	sfs_json_put_string(&w, "props", "name,size,version,checksum");
	sfs_json_put_string(&w, "prefix", prefix);
	sfs_json_put_uint(&w, "pagesize", PAGE);
	if (token)
		sfs_json_put_string(&w, "continuation_token", token);
	sfs_json_close(&w, '}');
	sfs_json_close(&w, '}');
}

struct entry {
	char *name, *size, *version, *checksum;
};

static void entry_done(struct entry *e)
{
	free(e->name);
	free(e->size);
	free(e->version);
	free(e->checksum);
	*e = (struct entry){0};
}

static bool is_text(const struct sfs_json *json)
{
	return json->text.n == 0 || !memchr(json->text.s, 0, json->text.n);
}

static void replace(char **field, const struct sfs_json *json)
{
	free(*field);
	*field = sfs_strdup(json->text.s ? json->text.s : "");
}

/* Digits only, below 2^63; without a size it is 0. */
static bool read_size(const char *s, uint64_t *ret)
{
	uint64_t v = 0;

	for (; s && isdigit((unsigned char)*s); s++) {
		if (v > (UINT64_MAX >> 1) / 10 - 1)
			return false;
		v = v * 10 + (uint64_t)(*s - '0');
	}
	*ret = v;
	return !s || *s == 0;
}

static int keep_entry(struct sfs_listing *page, const struct sfs_ais_props *props,
		      struct entry *e, const struct sfs_json *json, struct sfs_error *err)
{
	struct sfs_listing_item item = {0};
	char tag[SFS_AIS_TAG_BYTES];

	if (!e->name || !*e->name)
		return sfs_json_refuse(json, err, "an entry without its name");
	if (!read_size(e->size, &item.size))
		return sfs_json_refuse(json, err, "a size that is not a number");
	sfs_ais_tag(props, e->version, e->checksum, tag);
	item.tag = tag[0] ? sfs_strdup(tag) : NULL;
	item.key = steal(&e->name);
	sfs_listing_add(page, &item);
	return 0;
}

static int read_entry(struct sfs_json *json, struct entry *e, struct sfs_error *err)
{
	enum sfs_json_token token;
	char **field;

	while ((token = sfs_json_next(json)) == SFS_JSON_KEY) {
		field = sfs_json_is(json, "name")	? &e->name
			: sfs_json_is(json, "size")	? &e->size
			: sfs_json_is(json, "version")	? &e->version
			: sfs_json_is(json, "checksum") ? &e->checksum
							: NULL;
		token = sfs_json_next(json);
		if (field && (token == SFS_JSON_STRING || token == SFS_JSON_NUMBER)) {
			if (!is_text(json))
				return sfs_json_refuse(json, err, "a NUL in an entry");
			replace(field, json);
		} else if (!sfs_json_skip(json, token)) {
			return sfs_json_refuse(json, err, "no JSON");
		}
	}
	return token == SFS_JSON_OBJECT_END ? 0 : sfs_json_refuse(json, err, "no entry");
}

static int read_entries(struct sfs_json *json, const struct sfs_ais_props *props,
			struct sfs_listing *page, struct sfs_error *err)
{
	enum sfs_json_token token;
	struct entry entry = {0};
	int ret = 0;

	while (ret == 0 && (token = sfs_json_next(json)) == SFS_JSON_OBJECT) {
		ret = read_entry(json, &entry, err);
		if (ret == 0)
			ret = keep_entry(page, props, &entry, json, err);
		entry_done(&entry);
	}
	if (ret == 0 && token != SFS_JSON_ARRAY_END)
		ret = sfs_json_refuse(json, err, "an entry that is not an object");
	return ret;
}

/* The value of a member whose name was read. */
static int read_member(struct sfs_json *json, const struct sfs_ais_props *props,
		       struct sfs_listing *page, bool *has_entries, struct sfs_error *err)
{
	bool is_entries = sfs_json_is(json, "entries"),
	     is_token = sfs_json_is(json, "continuation_token");
	enum sfs_json_token token = sfs_json_next(json);

	*has_entries |= is_entries;
	if (is_entries && token == SFS_JSON_ARRAY)
		return read_entries(json, props, page, err);
	if (is_entries && token != SFS_JSON_NULL)
		return sfs_json_refuse(json, err, "'entries' is not an array");
	if (is_token && token == SFS_JSON_STRING && json->text.n > 0) {
		if (!is_text(json))
			return sfs_json_refuse(json, err, "a NUL in the token");
		replace(&page->next, json);
		return 0;
	}
	return sfs_json_skip(json, token) ? 0 : sfs_json_refuse(json, err, "no JSON");
}

int sfs_ais_page_read(const char *text, size_t n, const struct sfs_ais_props *props,
		      struct sfs_listing *ret, struct sfs_error *err)
{
	struct sfs_listing page = {0};
	enum sfs_json_token token;
	struct sfs_json json;
	bool has_entries = false;
	int code = 0;

	sfs_json_init(&json, text, n);
	token = sfs_json_next(&json);
	if (token != SFS_JSON_OBJECT)
		code = sfs_json_refuse(&json, err, "it is not an object");
	while (code == 0 && (token = sfs_json_next(&json)) == SFS_JSON_KEY)
		code = read_member(&json, props, &page, &has_entries, err);
	if (code == 0 &&
	    (token != SFS_JSON_OBJECT_END || sfs_json_next(&json) != SFS_JSON_END))
		code = sfs_json_refuse(&json, err, "it does not end as it should");
	if (code == 0 && !has_entries)
		code = sfs_error_set(err, -EBADMSG, "it has no 'entries'");
	sfs_json_done(&json);
	if (code < 0)
		sfs_listing_done(&page);
	else
		*ret = page;
	return code;
}
