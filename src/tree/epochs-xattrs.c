/* SPDX-License-Identifier: MIT */
/* How this works: attributes of a stream's file; what they say is of the file, which may
 * begin later than its stream (@K). */
#include "tree/epochs-internal.h"

#include "engine/fingerprint.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ORDER	  "user.shufflefs.order"
#define SAMPLES	  "user.shufflefs.samples"
#define REPEATED  "user.shufflefs.repeated"
#define DROPPED	  "user.shufflefs.dropped"
#define SAMPLE_AT "user.shufflefs.sample-at."

/* From a number in the stream to one in this file, which may begin later (@K). */
static uint64_t own_number(const struct sfs_name *name, uint64_t number)
{
	return number > name->first ? number - name->first : 0;
}

/* Find the number in the stream of the sample at a byte of the file. */
static int find_sample(struct sfs_epochs *e, uint64_t node, const struct sfs_name *name,
		       uint64_t offset, struct sfs_waiter *waiter, uint64_t *ret_number)
{
	struct sfs_extract extract;
	struct sfs_stream *stream;
	bool is_sure;
	int ret;

	ret = sfs_epochs_find_extract(e, node, waiter, &extract, &is_sure);
	if (ret < 0)
		return ret;
	stream = sfs_epochs_open_stream(e, node);
	ret = sfs_stream_number(stream, extract.offset + offset, waiter, ret_number);
	sfs_stream_close(stream);
	return ret;
}

static bool read_offset(const char *s, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(s, &end, 10);
	return isdigit((unsigned char)*s) && *end == 0 && errno == 0 && *ret <= INT64_MAX;
}

static int print_order(struct sfs_epochs *e, struct sfs_strbuf *text)
{
	sfs_strbuf_printf(text, "%016llx",
			  (unsigned long long)sfs_fingerprint(&e->engine->runtime));
	return 0;
}

/* Print the number of samples in the file, or of those that `equal` repeats or drops in
 * its stream. */
static int print_count(struct sfs_epochs *e, uint64_t node, const struct sfs_name *name,
		       const char *attribute, struct sfs_waiter *waiter,
		       struct sfs_strbuf *text)
{
	struct sfs_place place;
	uint64_t n;
	int ret;

	ret = sfs_epochs_locate(e, node, name, waiter, &place);
	if (ret < 0)
		return ret;
	n = strcmp(attribute, REPEATED) == 0  ? place.n_repeated
	    : strcmp(attribute, DROPPED) == 0 ? place.n_dropped
					      : own_number(name, place.n_samples);
	sfs_strbuf_printf(text, "%llu", (unsigned long long)n);
	return 0;
}

static int print_sample_at(struct sfs_epochs *e, uint64_t node,
			   const struct sfs_name *name, const char *offset,
			   struct sfs_waiter *waiter, struct sfs_strbuf *text)
{
	uint64_t at, number;
	int ret;

	if (!read_offset(offset, &at))
		return -EINVAL;
	ret = find_sample(e, node, name, at, waiter, &number);
	if (ret == 0)
		sfs_strbuf_printf(text, "%llu",
				  (unsigned long long)own_number(name, number));
	return ret;
}

static bool is_count(const char *attribute)
{
	return strcmp(attribute, SAMPLES) == 0 || strcmp(attribute, REPEATED) == 0 ||
	       strcmp(attribute, DROPPED) == 0;
}

int sfs_epochs_xattr(struct sfs_epochs *e, uint64_t node, const char *attribute,
		     struct sfs_waiter *waiter, struct sfs_strbuf *text)
{
	bool is_at = strncmp(attribute, SAMPLE_AT, strlen(SAMPLE_AT)) == 0;
	bool is_order = strcmp(attribute, ORDER) == 0;
	struct sfs_name name;
	int ret;

	if (node == SFS_EPOCHS_ROOT || (!is_at && !is_order && !is_count(attribute)))
		return -ENODATA;
	name = sfs_epochs_name(e, node);
	if (name.is_folder || sfs_epochs_is_text_name(&name))
		return -ENODATA;
	ret = is_order ? sfs_epochs_know_sizes(e, waiter)
		       : sfs_epochs_know_shards(e, waiter);
	if (ret < 0)
		return ret;
	if (is_order)
		return print_order(e, text);
	if (is_at)
		return print_sample_at(e, node, &name, attribute + strlen(SAMPLE_AT),
				       waiter, text);
	return print_count(e, node, &name, attribute, waiter, text);
}

/* Is the number of samples known without reading a shard? */
static bool is_counted(struct sfs_epochs *e, uint64_t node)
{
	struct sfs_stream *stream;
	bool is_known;

	if (sfs_epochs_know_shards(e, NULL) < 0)
		return false;
	if (sfs_epochs_is_exact(e))
		return true;
	stream = sfs_epochs_open_stream(e, node);
	is_known = sfs_stream_end(stream) != UINT64_MAX;
	sfs_stream_close(stream);
	return is_known;
}

void sfs_epochs_list_xattrs(struct sfs_epochs *e, uint64_t node, struct sfs_strbuf *text)
{
	struct sfs_name name;

	if (node == SFS_EPOCHS_ROOT)
		return;
	name = sfs_epochs_name(e, node);
	if (name.is_folder || sfs_epochs_is_text_name(&name))
		return;
	sfs_strbuf_add(text, ORDER, sizeof ORDER);
	if (!is_counted(e, node))
		return;
	sfs_strbuf_add(text, SAMPLES, sizeof SAMPLES);
	if (e->engine->runtime.order.equal != SFS_EQUAL_NONE) {
		sfs_strbuf_add(text, REPEATED, sizeof REPEATED);
		sfs_strbuf_add(text, DROPPED, sizeof DROPPED);
	}
}
