/* SPDX-License-Identifier: MIT */
#include "check.h"
#include "source/ais/ais-version.h"

static struct sfs_ais_props props;
static char tag[SFS_AIS_TAG_BYTES];

static const char *tag_of(const char *version, const char *checksum)
{
	sfs_ais_tag(&props, version, checksum, tag);
	return tag;
}

static bool read_props(const char *json)
{
	return sfs_ais_props_read(json, strlen(json), &props);
}

int main(void)
{
	char longer[200];

	CHECK(read_props(
		" {\"provider\":\"ais\",\"versioning\":{\"enabled\":true,"
		"\"validate_warm_get\":false},\"checksum\":{\"type\":\"xxhash2\","
		"\"enable_read_range\":false},\"x\":{\"enabled\":false}}\r"));
	CHECK(props.has_versions && props.has_checksums);
	CHECK_STR(tag_of("3", "ab"), "\"3-ab\"");
	CHECK_STR(tag_of("3", ""), "\"3-\"");
	CHECK_STR(tag_of(NULL, "ab"), "\"-ab\"");
	CHECK_STR(tag_of("", NULL), "");
	/* What no tag may hold, or what is too long, is as if it were not there. */
	CHECK_STR(tag_of("3\"", "a b"), "");
	memset(longer, 'a', sizeof longer - 1);
	longer[sizeof longer - 1] = 0;
	CHECK_STR(tag_of("3", longer), "\"3-\"");

	CHECK(read_props("{\"versioning\":{\"enabled\":false},\"checksum\":{\"type\":"
			 "\"xxhash2\",\"enable_read_range\":false}}"));
	CHECK_STR(tag_of("1", "ab"), "\"-ab\"");
	CHECK(read_props("{\"versioning\":{\"enabled\":true},\"checksum\":{\"type\":"
			 "\"xxhash2\",\"enable_read_range\":true}}"));
	CHECK_STR(tag_of("1", "ab"), "\"1-\"");
	CHECK(read_props("{\"versioning\":{\"enabled\":false},\"checksum\":{\"type\":"
			 "\"none\",\"enable_read_range\":false}}"));
	CHECK_STR(tag_of("1", "ab"), "");

	props.has_versions = true;
	CHECK(!read_props("") && !read_props("{") && !read_props("[]"));
	CHECK(!read_props("{\"versioning\":{\"enabled\":tru}}") && !read_props("{} x"));
	CHECK(props.has_versions);
	return 0;
}
