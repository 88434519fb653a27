/* SPDX-License-Identifier: MIT */
/* How this works: libyaml's events are written down as they come, and what is open is
 * kept in an array.  What an alias would bring a second time is never built. */
#include "catalog/yaml.h"

#include <errno.h>
#include <stddef.h>

#if HAVE_LIBYAML

#include "base/alloc.h"
#include "base/json.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

#define MAX_DEPTH (SFS_JSON_DEPTH - 1)

struct writer {
	struct sfs_strbuf *json;
	struct sfs_error *err;
	size_t line; /* lines of the text that the JSON has begun */
	unsigned depth;
	bool is_map[MAX_DEPTH + 1];   /* what is open */
	bool is_key[MAX_DEPTH + 1];   /* of a map: a key comes next */
	bool has_some[MAX_DEPTH + 1]; /* there was one before */
};

static int yaml_refuse(struct writer *w, const yaml_event_t *event, const char *why)
{
	return sfs_error_set(w->err, -EBADMSG, "line %zu: %s", event->start_mark.line + 1,
			     why);
}

/* Something begins: what comes between it and what was before? */
static int begin(struct writer *w, const yaml_event_t *event)
{
	unsigned d = w->depth;
	bool is_value = w->is_map[d] && !w->is_key[d];

	if (w->is_map[d] && w->is_key[d] && event->type != YAML_SCALAR_EVENT)
		return yaml_refuse(w, event, "a key is no plain text");
	if (is_value)
		sfs_strbuf_puts(w->json, ":");
	else if (w->has_some[d])
		sfs_strbuf_puts(w->json, ",");
	for (; w->line < event->start_mark.line; w->line++)
		sfs_strbuf_puts(w->json, "\n");
	w->has_some[d] = true;
	w->is_key[d] = !w->is_key[d];
	return 0;
}

static int open_one(struct writer *w, const yaml_event_t *event, bool is_map)
{
	int ret = begin(w, event);

	if (ret < 0)
		return ret;
	if (w->depth == MAX_DEPTH)
		return yaml_refuse(w, event, "it is nested too deep");
	w->depth++;
	w->is_map[w->depth] = w->is_key[w->depth] = is_map;
	w->has_some[w->depth] = false;
	sfs_strbuf_puts(w->json, is_map ? "{" : "[");
	return 0;
}

static bool is_one_of(const char *s, const char *const *words, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (strcasecmp(s, words[i]) == 0)
			return true;
	return false;
}

/* The JSON of a plain scalar that is no text; NULL: it is text. */
static const char *plain_value(const char *s)
{
	static const char *const nulls[] = {"", "~", "null"},
				 *const yes[] = {"true", "yes", "on"},
				 *const no[] = {"false", "no", "off"};
	const char *digits = s + (*s == '-');

	if (is_one_of(s, nulls, SFS_COUNT(nulls)))
		return "null";
	if (is_one_of(s, yes, SFS_COUNT(yes)))
		return "true";
	if (is_one_of(s, no, SFS_COUNT(no)))
		return "false";
	if (*digits && strspn(digits, "0123456789") == strlen(digits) &&
	    (*digits != '0' || !digits[1]))
		return s;
	return NULL;
}

static int add_scalar(struct writer *w, const yaml_event_t *event)
{
	const char *s = (const char *)event->data.scalar.value, *plain = NULL;
	bool is_plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE,
	     is_key = w->is_map[w->depth] && w->is_key[w->depth];
	int ret;

	if (strlen(s) != event->data.scalar.length)
		return yaml_refuse(w, event, "it has a NUL in it");
	if (is_key && is_plain && strcmp(s, "<<") == 0)
		return yaml_refuse(w, event, "merged maps ('<<') are not read");
	ret = begin(w, event);
	if (ret < 0)
		return ret;
	if (is_plain && !is_key)
		plain = plain_value(s);
	if (plain)
		sfs_strbuf_puts(w->json, plain);
	else
		sfs_strbuf_json(w->json, s);
	return 0;
}

/* What names a value, or gives it a type. */
static int check_properties(struct writer *w, const yaml_event_t *event)
{
	const unsigned char *anchor = NULL, *tag = NULL;

	switch (event->type) {
	case YAML_ALIAS_EVENT: anchor = event->data.alias.anchor; break;
	case YAML_SCALAR_EVENT:
		anchor = event->data.scalar.anchor;
		tag = event->data.scalar.tag;
		break;
	case YAML_SEQUENCE_START_EVENT:
		anchor = event->data.sequence_start.anchor;
		tag = event->data.sequence_start.tag;
		break;
	case YAML_MAPPING_START_EVENT:
		anchor = event->data.mapping_start.anchor;
		tag = event->data.mapping_start.tag;
		break;
	default: break;
	}
	if (anchor)
		return yaml_refuse(w, event, "anchors and aliases are not read");
	return tag ? yaml_refuse(w, event, "tags are not read") : 0;
}

static int add_event(struct writer *w, const yaml_event_t *event)
{
	int ret = check_properties(w, event);

	if (ret < 0)
		return ret;
	switch (event->type) {
	case YAML_DOCUMENT_START_EVENT:
		return w->has_some[0] ? yaml_refuse(w, event, "a second document") : 0;
	case YAML_SCALAR_EVENT: return add_scalar(w, event);
	case YAML_SEQUENCE_START_EVENT: return open_one(w, event, false);
	case YAML_MAPPING_START_EVENT: return open_one(w, event, true);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		sfs_strbuf_puts(w->json, w->is_map[w->depth] ? "}" : "]");
		w->depth--;
		return 0;
	default: return 0;
	}
}

static int describe(const yaml_parser_t *parser, struct sfs_error *err)
{
	if (!parser->problem)
		return sfs_error_set(err, -EBADMSG, "no YAML");
	return sfs_error_set(err, -EBADMSG, "line %zu: %s", parser->problem_mark.line + 1,
			     parser->problem);
}

int sfs_yaml_to_json(const char *bytes, size_t n, struct sfs_strbuf *json,
		     struct sfs_error *err)
{
	struct writer w = {.json = json, .err = err};
	yaml_parser_t parser;
	yaml_event_t event;
	bool is_over = false;
	int ret = 0;

	if (!yaml_parser_initialize(&parser))
		abort();
	yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&parser, (const unsigned char *)bytes, n);
	while (ret == 0 && !is_over) {
		if (!yaml_parser_parse(&parser, &event)) {
			ret = describe(&parser, err);
			break;
		}
		is_over = event.type == YAML_STREAM_END_EVENT;
		ret = add_event(&w, &event);
		yaml_event_delete(&event);
	}
	yaml_parser_delete(&parser);
	if (ret == 0 && !w.has_some[0])
		ret = sfs_error_set(err, -EBADMSG, "it is empty");
	return ret;
}

const char *sfs_yaml_version(void)
{
	return yaml_get_version_string();
}

#else

const char *sfs_yaml_version(void)
{
	return NULL;
}

int sfs_yaml_to_json(const char *bytes, size_t n, struct sfs_strbuf *json,
		     struct sfs_error *err)
{
	return sfs_error_set(err, -EOPNOTSUPP,
			     "this shufflefs was built without libyaml, so it reads no "
			     "YAML");
}

#endif
