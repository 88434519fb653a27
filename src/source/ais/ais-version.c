/* SPDX-License-Identifier: MIT */
#include "source/ais/ais-version.h"

#include "base/json.h"

#include <stdio.h>
#include <string.h>

#define MOST_VERSION  95
#define MOST_CHECKSUM 143

/* Read the members of an object that has begun, until its end.  false: it is no JSON. */
static bool read_versioning(struct sfs_json *json, bool *is_enabled)
{
	enum sfs_json_token token;
	bool is_it;

	while ((token = sfs_json_next(json)) == SFS_JSON_KEY) {
		is_it = sfs_json_is(json, "enabled");
		token = sfs_json_next(json);
		if (is_it)
			*is_enabled = token == SFS_JSON_TRUE;
		if (!sfs_json_skip(json, token))
			return false;
	}
	return token == SFS_JSON_OBJECT_END;
}

static bool read_checksum(struct sfs_json *json, bool *is_whole)
{
	bool is_range = false, is_none = true, is_type, is_read_range;
	enum sfs_json_token token;

	while ((token = sfs_json_next(json)) == SFS_JSON_KEY) {
		is_type = sfs_json_is(json, "type");
		is_read_range = sfs_json_is(json, "enable_read_range");
		token = sfs_json_next(json);
		if (is_type)
			is_none = token != SFS_JSON_STRING || sfs_json_is(json, "none") ||
				  sfs_json_is(json, "");
		if (is_read_range)
			is_range = token != SFS_JSON_FALSE;
		if (!sfs_json_skip(json, token))
			return false;
	}
	*is_whole = !is_none && !is_range;
	return token == SFS_JSON_OBJECT_END;
}

bool sfs_ais_props_read(const char *text, size_t n, struct sfs_ais_props *ret)
{
	struct sfs_ais_props props = {0};
	enum sfs_json_token token;
	struct sfs_json json;
	bool is_good, is_versioning, is_checksum;

	sfs_json_init(&json, text, n);
	is_good = sfs_json_next(&json) == SFS_JSON_OBJECT;
	while (is_good && (token = sfs_json_next(&json)) == SFS_JSON_KEY) {
		is_versioning = sfs_json_is(&json, "versioning");
		is_checksum = sfs_json_is(&json, "checksum");
		token = sfs_json_next(&json);
		if (is_versioning && token == SFS_JSON_OBJECT)
			is_good = read_versioning(&json, &props.has_versions);
		else if (is_checksum && token == SFS_JSON_OBJECT)
			is_good = read_checksum(&json, &props.has_checksums);
		else
			is_good = sfs_json_skip(&json, token);
	}
	is_good = is_good && token == SFS_JSON_OBJECT_END &&
		  sfs_json_next(&json) == SFS_JSON_END;
	sfs_json_done(&json);
	if (is_good)
		*ret = props;
	return is_good;
}

static const char *part_of(bool counts, const char *s, size_t n_most)
{
	const char *p;

	for (p = s; counts && p && *p; p++)
		if (*p <= ' ' || *p >= 0x7f || *p == '"')
			return "";
	return counts && s && strlen(s) <= n_most ? s : "";
}

void sfs_ais_tag(const struct sfs_ais_props *props, const char *version,
		 const char *checksum, char ret[SFS_AIS_TAG_BYTES])
{
	version = part_of(props->has_versions, version, MOST_VERSION);
	checksum = part_of(props->has_checksums, checksum, MOST_CHECKSUM);
	ret[0] = 0;
	if (*version || *checksum)
		snprintf(ret, SFS_AIS_TAG_BYTES, "\"%s-%s\"", version, checksum);
}
