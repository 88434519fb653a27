/* SPDX-License-Identifier: MIT */
#include "source/webhdfs/webhdfs-page.h"

#include "base/alloc.h"
#include "base/json.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- one entry ---- */

static bool read_number(struct sfs_json *json, enum sfs_json_token token, uint64_t *ret)
{
	return token == SFS_JSON_NUMBER && sfs_json_uint(json, ret) &&
	       *ret <= UINT64_MAX >> 1;
}

/* A name in a folder: no slash, nothing that no path may hold. */
static bool is_name(const struct sfs_json *json)
{
	const char *s = json->text.s;
	size_t i;

	for (i = 0; i < json->text.n; i++)
		if (s[i] == '/' || iscntrl((unsigned char)s[i]))
			return false;
	return json->text.n == 0 || (strcmp(s, ".") != 0 && strcmp(s, "..") != 0);
}

static int read_name(struct sfs_json *json, enum sfs_json_token token,
		     struct sfs_webhdfs_status *s, struct sfs_error *err)
{
	if (token != SFS_JSON_STRING || !is_name(json))
		return sfs_json_refuse(json, err, "a name that no file has");
	free(s->name);
	s->name = sfs_strdup(json->text.s ? json->text.s : "");
	return 0;
}

/* The value of a member whose name was read. */
static int read_member(struct sfs_json *json, struct sfs_webhdfs_status *s,
		       bool *has_length, struct sfs_error *err)
{
	uint64_t *number = sfs_json_is(json, "length")		   ? &s->length
			   : sfs_json_is(json, "modificationTime") ? &s->mtime_ms
			   : sfs_json_is(json, "fileId")	   ? &s->id
								   : NULL;
	bool is_of_name = sfs_json_is(json, "pathSuffix"),
	     is_of_type = sfs_json_is(json, "type");
	enum sfs_json_token token = sfs_json_next(json);

	*has_length |= number == &s->length;
	if (number)
		return read_number(json, token, number)
			       ? 0
			       : sfs_json_refuse(json, err,
						 "a length, time or number of a file "
						 "that is none");
	if (is_of_name)
		return read_name(json, token, s, err);
	if (is_of_type && token == SFS_JSON_STRING) {
		s->is_folder = sfs_json_is(json, "DIRECTORY");
		s->is_file = sfs_json_is(json, "FILE");
		return 0;
	}
	return sfs_json_skip(json, token) ? 0 : sfs_json_refuse(json, err, "no JSON");
}

/* A status whose object has begun. */
static int read_status(struct sfs_json *json, struct sfs_webhdfs_status *s,
		       struct sfs_error *err)
{
	enum sfs_json_token token;
	bool has_length = false;
	int code = 0;

	while (code == 0 && (token = sfs_json_next(json)) == SFS_JSON_KEY)
		code = read_member(json, s, &has_length, err);
	if (code == 0 && token != SFS_JSON_OBJECT_END)
		code = sfs_json_refuse(json, err, "a status that does not end");
	if (code == 0 && (!has_length || (!s->is_file && !s->is_folder && !s->name)))
		code = sfs_json_refuse(json, err, "a status without a length or a type");
	return code;
}

/* ---- a page ---- */

static void add_item(struct sfs_webhdfs_page *page, const struct sfs_webhdfs_status *s)
{
	if ((page->n & (page->n - 1)) == 0) /* a power of two: full */
		page->items = sfs_reallocarray(page->items, 2 * page->n + 1,
					       sizeof *page->items);
	page->items[page->n++] = *s;
}

static int read_items(struct sfs_json *json, struct sfs_webhdfs_page *page,
		      struct sfs_error *err)
{
	enum sfs_json_token token;
	int code = 0;

	while (code == 0 && (token = sfs_json_next(json)) == SFS_JSON_OBJECT) {
		struct sfs_webhdfs_status s = {0};

		code = read_status(json, &s, err);
		if (code == 0 && !s.name)
			code = sfs_json_refuse(json, err, "an entry without its name");
		if (code == 0)
			add_item(page, &s);
		else
			free(s.name);
	}
	if (code == 0 && token != SFS_JSON_ARRAY_END)
		code = sfs_json_refuse(json, err, "an entry that is not an object");
	return code;
}

/* What the object around it is called, and what is wanted of it.  `depth` says how deep
 * the array is: DirectoryListing, partialListing, FileStatuses, FileStatus. */
static int read_levels(struct sfs_json *json, int depth, struct sfs_webhdfs_page *page,
		       bool *has_items, struct sfs_error *err)
{
	static const char *const levels[] = {"DirectoryListing", "partialListing",
					     "FileStatuses", "FileStatus"};
	enum sfs_json_token token;
	bool is_level, is_left;
	int code = 0;

	while (code == 0 && (token = sfs_json_next(json)) == SFS_JSON_KEY) {
		is_level = sfs_json_is(json, levels[depth]);
		is_left = depth == 1 && sfs_json_is(json, "remainingEntries");
		token = sfs_json_next(json);
		if (is_level && depth == 3 && token == SFS_JSON_ARRAY) {
			*has_items = true;
			code = read_items(json, page, err);
		} else if (is_level && depth < 3 && token == SFS_JSON_OBJECT) {
			code = read_levels(json, depth + 1, page, has_items, err);
		} else if (is_left && !read_number(json, token, &page->n_left)) {
			code = sfs_json_refuse(json, err,
					       "remainingEntries is no number");
		} else if (!is_left && !sfs_json_skip(json, token)) {
			code = sfs_json_refuse(json, err, "no JSON");
		}
	}
	if (code == 0 && token != SFS_JSON_OBJECT_END)
		code = sfs_json_refuse(json, err, "it does not end as it should");
	return code;
}

static int check_end(struct sfs_json *json, struct sfs_error *err)
{
	return sfs_json_next(json) == SFS_JSON_END
		       ? 0
		       : sfs_json_refuse(json, err, "it does not end as it should");
}

int sfs_webhdfs_page_read(const char *text, size_t n, struct sfs_webhdfs_page *ret,
			  struct sfs_error *err)
{
	struct sfs_webhdfs_page page = {0};
	struct sfs_json json;
	bool has_items = false;
	int code = 0;

	sfs_json_init(&json, text, n);
	if (sfs_json_next(&json) != SFS_JSON_OBJECT)
		code = sfs_json_refuse(&json, err, "it is not an object");
	if (code == 0)
		code = read_levels(&json, 0, &page, &has_items, err);
	if (code == 0)
		code = check_end(&json, err);
	if (code == 0 && !has_items)
		code = sfs_error_set(err, -EBADMSG, "it has no list of files");
	if (code == 0 && page.n_left > 0 && page.n == 0)
		code = sfs_error_set(err, -EBADMSG,
				     "an empty page, and others behind it");
	sfs_json_done(&json);
	if (code < 0)
		sfs_webhdfs_page_done(&page);
	else
		*ret = page;
	return code;
}

void sfs_webhdfs_page_done(struct sfs_webhdfs_page *page)
{
	size_t i;

	for (i = 0; i < page->n; i++)
		free(page->items[i].name);
	free(page->items);
	*page = (struct sfs_webhdfs_page){0};
}

int sfs_webhdfs_status_read(const char *text, size_t n, struct sfs_webhdfs_status *ret,
			    struct sfs_error *err)
{
	struct sfs_webhdfs_status s = {0};
	struct sfs_json json;
	int code = 0;

	sfs_json_init(&json, text, n);
	if (sfs_json_next(&json) != SFS_JSON_OBJECT ||
	    sfs_json_next(&json) != SFS_JSON_KEY || !sfs_json_is(&json, "FileStatus") ||
	    sfs_json_next(&json) != SFS_JSON_OBJECT)
		code = sfs_json_refuse(&json, err, "it is not a FileStatus");
	if (code == 0)
		code = read_status(&json, &s, err);
	if (code == 0 && sfs_json_next(&json) != SFS_JSON_OBJECT_END)
		code = sfs_json_refuse(&json, err, "it does not end as it should");
	if (code == 0)
		code = check_end(&json, err);
	sfs_json_done(&json);
	free(steal(&s.name));
	if (code == 0)
		*ret = s;
	return code;
}

void sfs_webhdfs_tag(const struct sfs_webhdfs_status *s, char ret[SFS_WEBHDFS_TAG_BYTES])
{
	snprintf(ret, SFS_WEBHDFS_TAG_BYTES, "\"%llu-%llu-%llu\"",
		 (unsigned long long)s->id, (unsigned long long)s->mtime_ms,
		 (unsigned long long)s->length);
}
