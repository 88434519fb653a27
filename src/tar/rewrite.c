/* SPDX-License-Identifier: MIT */
/* How this works: readers take the name from the last pax record "path" (or
 * "GNU.sparse.name") of the entry, else from a GNU 'L' body, else from the header.  Each
 * has room to spare: pax and 'L' bodies are padded to 512, a header has its prefix.  The
 * new name is written where the old one was; if it does not fit, nothing is changed.
 *
 * A GNU or v7 header has no prefix field, so it becomes a POSIX one: what GNU keeps there
 * (access times, sparse maps) is not set in the header of a plain file. */
#include "tar/rewrite.h"

#include "base/alloc.h"
#include "base/keyhash.h"
#include "base/strbuf.h"
#include "tar/entry.h"
#include "tar/header.h"
#include "tar/key.h"
#include "tar/pax.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Write a size that is known to be small. */
static void set_size(unsigned char *block, size_t size)
{
	char octal[13];

	snprintf(octal, sizeof octal, "%011zo", size & 077777777777);
	memcpy(block + SFS_TAR_SIZE, octal, 12);
	sfs_tar_seal(block);
}

/* Replace the body (`size` bytes, padded) of the extension at `block`. */
static bool replace_body(unsigned char *block, uint64_t size, const char *body, size_t n)
{
	size_t room = sfs_tar_padded(size);

	if (sfs_tar_padded(n) != room)
		return false; /* the next header must stay where it is */
	memcpy(block + SFS_TAR_BLOCK, body, n);
	memset(block + SFS_TAR_BLOCK + n, 0, room - n);
	set_size(block, n);
	return true;
}

/* A pax extension with the folder in its name records; false: does not fit. */
static bool rename_in_pax(unsigned char *block, uint64_t size, const char *folder)
{
	const char *p = (const char *)block + SFS_TAR_BLOCK, *end = p + size;
	struct sfs_strbuf body = {0};
	struct sfs_pax_record r;
	bool fits;

	while (sfs_pax_next(&p, end, &r) == 1) {
		if (!sfs_pax_is_name(&r)) {
			sfs_strbuf_add(&body, r.start, r.n_bytes);
			continue;
		}
		sfs_strbuf_printf(&body, "%zu %.*s=%s/",
				  sfs_pax_length(r.n_key, r.n_value + strlen(folder) + 1),
				  (int)r.n_key, r.key, folder);
		sfs_strbuf_add(&body, r.value, r.n_value);
		sfs_strbuf_add(&body, "\n", 1);
	}
	fits = replace_body(block, size, body.s ? body.s : "", body.n);
	sfs_strbuf_done(&body);
	return fits;
}

static bool rename_in_gnu_name(unsigned char *block, uint64_t size, const char *folder)
{
	const char *old = (const char *)block + SFS_TAR_BLOCK;
	sfs_autofree char *name = NULL;

	name = sfs_asprintf("%s/%.*s", folder, (int)strnlen(old, size), old);
	return replace_body(block, size, name, strlen(name) + 1);
}

/* The oldest dialect: nothing follows the name of a link, except that GNU tar writes
 * device numbers where other dialects have them. */
static bool is_v7(const unsigned char *block)
{
	enum { DEVICES = 329 };
	int i;

	for (i = DEVICES; i < SFS_TAR_PREFIX; i++)
		if (block[i] && (block[i] < '0' || block[i] > '7'))
			return false;
	return sfs_tar_is_zero(block + SFS_TAR_MAGIC, DEVICES - SFS_TAR_MAGIC) &&
	       sfs_tar_is_zero(block + SFS_TAR_PREFIX, SFS_TAR_BLOCK - SFS_TAR_PREFIX);
}

static bool rename_in_header(unsigned char *block, const char *folder)
{
	unsigned char *prefix = block + SFS_TAR_PREFIX;
	bool is_posix = sfs_tar_has_prefix(block);
	bool is_gnu = sfs_tar_is_gnu(block);
	sfs_autofree char *name = NULL;
	char type = (char)block[SFS_TAR_TYPE];

	if (type != '0' && type != 0 && type != '7')
		return false; /* an old GNU sparse header keeps its map there */
	if (!is_posix && !is_gnu && !is_v7(block))
		return false; /* an unknown dialect */
	if (is_posix && prefix[0])
		name = sfs_asprintf("%s/%.*s", folder, SFS_TAR_PREFIX_BYTES,
				    (char *)prefix);
	else
		name = sfs_strdup(folder);
	if (strlen(name) > SFS_TAR_PREFIX_BYTES)
		return false;
	memcpy(block + SFS_TAR_MAGIC, "ustar\00000", 8);
	memset(prefix, 0, SFS_TAR_BLOCK - SFS_TAR_PREFIX);
	memcpy(prefix, name, strlen(name));
	sfs_tar_seal(block);
	return true;
}

/* Put the folder before the name of this entry, which sfs_tar_entry_read() accepted.
 * false: the name does not fit, or readers would disagree about it. */
static bool rename_entry(unsigned char *group, size_t n, const char *folder)
{
	unsigned char *gnu = NULL, *pax = NULL, *block = group;
	struct sfs_tar_header h, gnu_header = {0}, pax_header = {0};
	struct sfs_pax_record r;
	const char *p;

	for (; block + SFS_TAR_BLOCK < group + n;
	     block += SFS_TAR_BLOCK + sfs_tar_padded(h.size)) {
		h = sfs_tar_look(block);
		if (h.type == 'L') {
			gnu = block;
			gnu_header = h;
		}
		if (h.type != 'x' && h.type != 'X')
			continue;
		p = (const char *)block + SFS_TAR_BLOCK;
		while (sfs_pax_next(&p, (const char *)block + SFS_TAR_BLOCK + h.size,
				    &r) == 1) {
			if (!sfs_pax_is_name(&r))
				continue;
			if (pax && pax != block)
				return false; /* names in two extensions */
			pax = block;
			pax_header = h;
		}
	}
	if (pax && gnu)
		return false; /* readers disagree about which counts */
	if (pax)
		return rename_in_pax(pax, pax_header.size, folder);
	if (gnu)
		return rename_in_gnu_name(gnu, gnu_header.size, folder);
	return rename_in_header(group + n - SFS_TAR_BLOCK, folder);
}

/* Replace the records by one comment of the same size, so that nothing is set. */
static void blank_global(unsigned char *group)
{
	char *body = (char *)group + SFS_TAR_BLOCK;
	size_t size = (size_t)sfs_tar_look(group).size;
	char head[32];
	size_t n;

	if (size < 5)
		return; /* holds no record */
	n = (size_t)snprintf(head, sizeof head, "%zu %s=", size,
			     size < 16 ? "c" : "comment");
	if (n > size - 1)
		return;
	memcpy(body, head, n);
	memset(body + n, ' ', size - n - 1);
	body[size - 1] = '\n';
}

static bool is_renamed(const struct sfs_tar_entry *entry)
{
	return entry->is_regular && sfs_key_length(entry->name, entry->n_name) > 0;
}

int sfs_rewrite_entry(unsigned char *bytes, const struct sfs_tar_entry *entry,
		      const char *folder, struct sfs_error *err)
{
	switch (entry->kind) {
	case SFS_TAR_ENTRY_END:
		return sfs_error_set(err, -EBADMSG, "a zero block within a sample");
	case SFS_TAR_ENTRY_GLOBAL: blank_global(bytes); return 0;
	case SFS_TAR_ENTRY_MEMBER: break;
	}
	if (!folder || !is_renamed(entry) || rename_entry(bytes, entry->n_bytes, folder))
		return 0;
	return sfs_error_set(err, -ENAMETOOLONG,
			     "'%s/%.*s' does not fit into its header, or its dialect has "
			     "no room for it",
			     folder, (int)entry->n_name, entry->name);
}

char *sfs_rewrite_folder(const char *shard_name)
{
	size_t n = strlen(shard_name);

	if (n > 4 && strcmp(shard_name + n - 4, ".tar") == 0 && shard_name[n - 5] != '/')
		n -= 4;
	return sfs_asprintf("%s%.*s", strncmp(shard_name, "__", 2) == 0 ? "./" : "",
			    (int)n, shard_name);
}

uint64_t sfs_rewrite_key(uint64_t before, uint64_t key_hash, const char *folder,
			 bool *ret_is_renamed)
{
	*ret_is_renamed = before == key_hash;
	if (!*ret_is_renamed)
		return key_hash;
	return sfs_keyhash_prepend(sfs_keyhash_prepend(key_hash, "/", 1), folder,
				   strlen(folder));
}
