/* SPDX-License-Identifier: MIT */
/* How this works: nearly all groups that are not plain are a plain header after a pax
 * extension of times and owners; Python's tarfile writes such a one before each member,
 * and so WebDataset's writer does.  libarchive is not asked about these: it takes
 * microseconds, and there is nothing in them that could change kind, size or end. */
#include "catalog/second-reader.h"

#include "base/alloc.h"
#include "base/log.h"
#include "tar/libarchive.h"
#include "tar/pax.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MAX_NAME = 300 }; /* bytes of it in the line */

void sfs_second_reader_done(struct sfs_second_reader *s)
{
	sfs_strbuf_done(&s->first);
}

static bool is_harmless(const struct sfs_pax_record *r)
{
	static const char *const keys[] = {
		"mtime", "atime", "ctime", "uid", "gid", "uname", "gname", "comment",
	};
	size_t i;

	for (i = 0; i < SFS_COUNT(keys); i++)
		if (sfs_pax_is(r, keys[i]))
			return !memchr(r->value, 0, r->n_value);
	return false;
}

/* Is the group a pax extension of harmless records, whose size is n_records, and a plain
 * header? */
static bool is_common(const unsigned char *bytes, uint64_t n_records,
		      const struct sfs_tar_entry *group)
{
	const char *p = (const char *)bytes + SFS_TAR_BLOCK, *end = p + n_records;
	uint64_t header = SFS_TAR_BLOCK + sfs_tar_padded(n_records);
	struct sfs_pax_record r;
	int ret;

	if (header + SFS_TAR_BLOCK != group->n_bytes ||
	    sfs_tar_look(bytes + header).kind != SFS_TAR_FILE)
		return false;
	while ((ret = sfs_pax_next(&p, end, &r)) == 1)
		if (!is_harmless(&r))
			return false;
	return ret == 0;
}

static void describe(struct sfs_second_reader *s, uint64_t start,
		     const struct sfs_tar_entry *g,
		     const struct sfs_libarchive_reading *r)
{
	struct sfs_strbuf *t = &s->first;
	bool is_long = g->n_name > MAX_NAME;

	sfs_strbuf_printf(t, "%" PRIu64 ": '%.*s%s': bsdtar ", start,
			  is_long ? MAX_NAME : (int)g->n_name, g->name,
			  is_long ? "..." : "");
	if (r->is_error)
		sfs_strbuf_printf(t, "cannot read this (%s), shufflefs reads ", r->why);
	else if (r->is_extension)
		sfs_strbuf_puts(t, "sees no member here, shufflefs reads ");
	else if (r->is_regular == g->is_regular && (!g->is_regular || r->size == g->size))
		sfs_strbuf_puts(t, "expects the next header at another byte than "
				   "shufflefs, which reads ");
	else if (r->is_regular)
		sfs_strbuf_printf(t, "reads %" PRIu64 " bytes here, shufflefs ", r->size);
	else
		sfs_strbuf_puts(t, "reads no file here, shufflefs ");
	if (g->is_regular)
		sfs_strbuf_printf(t, "%" PRIu64 " bytes", g->size);
	else
		sfs_strbuf_puts(t, "no file");
}

void sfs_second_reader_add(struct sfs_second_reader *s, uint64_t start,
			   const unsigned char *bytes, const struct sfs_tar_entry *group)
{
	struct sfs_libarchive_reading reading;
	struct sfs_tar_header h = sfs_tar_look(bytes);
	bool is_after_pax = s->saw_pax;

	s->saw_pax |= h.type == 'x' || h.type == 'X' || h.type == 'g';
	if (group->kind != SFS_TAR_ENTRY_MEMBER)
		return;
	if (h.type == 'x' && is_common(bytes, h.size, group))
		return;
	if (h.type == 'V' && group->next == group->data)
		return; /* to libarchive a label without data is not a member */
	sfs_libarchive_read(bytes, group, is_after_pax, &reading);
	if (!sfs_libarchive_agrees(&reading, group) && s->n++ == 0)
		describe(s, start, group, &reading);
}

void sfs_second_reader_report(const struct sfs_second_reader *s, const char *shard)
{
	char more[64] = "";

	if (s->n == 0)
		return;
	if (s->n > 1)
		snprintf(more, sizeof more, ", and %" PRIu64 " more member%s like this",
			 s->n - 1, s->n == 2 ? "" : "s");
	sfs_warning("%s @ %s%s: rewrite the shard with GNU tar or Python's tarfile to be "
		    "sure",
		    shard, s->first.s, more);
}
