/* SPDX-License-Identifier: MIT */
/* How this works: libarchive reads a tar that is made around the group: a plain member
 * before it, because libarchive is choosy about the first header of a file only; the
 * group; as many bytes as we say that are stored, which it can only skip; and the header
 * of an empty file where we say that the next one is.  What it wants to read anywhere
 * else is not there.  How far it has come after it skipped the data says where the next
 * header is to it. */
#include "tar/libarchive.h"

#include "base/alloc.h"

#include <archive.h>
#include <archive_entry.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BEFORE = 3 * SFS_TAR_BLOCK };

struct client {
	unsigned char before[MAX_BEFORE], after[SFS_TAR_BLOCK];
	uint64_t group, data, next, end; /* where these begin */
	const unsigned char *bytes;	 /* of the group */
	uint64_t at;			 /* read or skipped so far */
	bool is_beyond;			 /* it wants to skip what is behind `next` */
};

/* Write a header of an empty file, or of `size` bytes of records. */
static void make_header(unsigned char *block, char type, unsigned size)
{
	memset(block, 0, SFS_TAR_BLOCK);
	memcpy(block, "a.a", 3);
	memcpy(block + 100, "0000444\0000000000\0000000000", 24);
	snprintf((char *)block + SFS_TAR_SIZE, SFS_TAR_SIZE_BYTES, "%011o", size);
	memcpy(block + 136, "00000000000", 11);
	block[SFS_TAR_TYPE] = (unsigned char)type;
	memcpy(block + SFS_TAR_MAGIC, "ustar\00000", 8);
	sfs_tar_seal(block);
}

static void make_tar(struct client *c, const unsigned char *group,
		     const struct sfs_tar_entry *entry, bool is_after_pax)
{
	static const char record[] = "12 comment=\n";
	unsigned char *before = c->before;

	memset(c, 0, sizeof *c);
	if (is_after_pax) {
		make_header(before, 'x', sizeof record - 1);
		memcpy(before + SFS_TAR_BLOCK, record, sizeof record - 1);
		before += 2 * (size_t)SFS_TAR_BLOCK;
	}
	make_header(before, '0', 0);
	make_header(c->after, '0', 0);
	c->bytes = group;
	c->group = (uint64_t)(before - c->before) + SFS_TAR_BLOCK;
	c->data = c->group + entry->data;
	c->next = c->group + entry->next;
	c->end = c->next + SFS_TAR_BLOCK;
}

static la_ssize_t read_bytes(struct archive *a, void *ctx, const void **ret_bytes)
{
	struct client *c = ctx;
	uint64_t n = 0;

	if (c->at < c->group) {
		*ret_bytes = c->before + c->at;
		n = c->group - c->at;
	} else if (c->at < c->data) {
		*ret_bytes = c->bytes + (c->at - c->group);
		n = c->data - c->at;
	} else if (c->at >= c->next && c->at < c->end && !c->is_beyond) {
		*ret_bytes = c->after + (c->at - c->next);
		n = c->end - c->at;
	}
	c->at += n;
	return (la_ssize_t)n;
}

/* It asks for at most 1 GiB at a time, and again as long as it gets all. */
static la_int64_t skip_bytes(struct archive *a, void *ctx, la_int64_t n)
{
	struct client *c = ctx;
	uint64_t n_left = c->at < c->next ? c->next - c->at : 0;

	if (c->at < c->group)
		return 0; /* let it read */
	if ((uint64_t)n > n_left) {
		c->is_beyond = true;
		n = (la_int64_t)n_left;
	}
	c->at += (uint64_t)n;
	return n;
}

static struct archive *open_tar(struct client *c)
{
	struct archive *a = archive_read_new();

	if (!a)
		abort();
	archive_read_support_format_tar(a);
	archive_read_set_read_callback(a, read_bytes);
	archive_read_set_skip_callback(a, skip_bytes);
	archive_read_set_callback_data(a, c);
	return a;
}

/* What it cannot understand of a member, it only warns about. */
static bool is_answer(int ret)
{
	return ret == ARCHIVE_OK || ret == ARCHIVE_WARN;
}

static void take_entry(struct archive_entry *entry, struct sfs_libarchive_reading *r)
{
	la_int64_t size = archive_entry_size(entry); /* 0 if it is not set */

	r->size = size > 0 ? (uint64_t)size : 0;
	r->is_regular = archive_entry_filetype(entry) == AE_IFREG &&
			(!archive_entry_hardlink(entry) || r->size > 0);
}

void sfs_libarchive_read(const unsigned char *group, const struct sfs_tar_entry *entry,
			 bool is_after_pax, struct sfs_libarchive_reading *ret)
{
	struct archive_entry *found;
	struct archive *a;
	struct client c;
	const char *why;

	make_tar(&c, group, entry, is_after_pax);
	*ret = (struct sfs_libarchive_reading){0};
	a = open_tar(&c);
	if (archive_read_open1(a) != ARCHIVE_OK ||
	    !is_answer(archive_read_next_header(a, &found)) ||
	    !is_answer(archive_read_next_header(a, &found))) {
		why = archive_error_string(a);
		ret->is_error = true;
		snprintf(ret->why, sizeof ret->why, "%s", why ? why : "no tar header");
		goto out;
	}
	ret->is_extension = (uint64_t)archive_filter_bytes(a, 0) > c.next;
	take_entry(found, ret);
	ret->is_end_elsewhere = archive_read_data_skip(a) != ARCHIVE_OK || c.is_beyond ||
				(uint64_t)archive_filter_bytes(a, 0) != c.next;
out:
	archive_read_free(a);
}

bool sfs_libarchive_agrees(const struct sfs_libarchive_reading *r,
			   const struct sfs_tar_entry *entry)
{
	if (r->is_error || r->is_extension)
		return false;
	return !r->is_end_elsewhere && r->is_regular == entry->is_regular &&
	       (!entry->is_regular || r->size == entry->size);
}

const char *sfs_libarchive_version(void)
{
	return strchr(archive_version_string(), ' ') + 1; /* "libarchive 3.6.2" */
}
