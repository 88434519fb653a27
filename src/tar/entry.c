/* SPDX-License-Identifier: MIT */
/* How this works: the first block decides.  FILE is the whole group.  Extensions are
 * skipped by their sizes up to the header that they belong to, which ends the group; then
 * either the extension changes no name, size or kind, or libarchive reads the group.
 *
 * Names are always read here, as they are bytes (docs/ORDER.md, section 6), but
 * libarchive converts them to characters: it normalises some and replaces others.
 *
 * Python's tarfile, and so WebDataset's writer, writes a pax extension with the fraction
 * of the mtime before each member: without the short cut for those, a scan of 2 KB
 * samples would spend 4 us per member in libarchive. */
#include "tar/entry.h"

#include "tar/magic.h"
#include "tar/pax.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void sfs_tar_entry_done(struct sfs_tar_entry *group)
{
	if (group->odd.runs)
		sfs_libarchive_done(&group->odd);
}

static int need(struct sfs_tar_entry *g, size_t n_bytes, uint64_t n_left,
		struct sfs_error *err)
{
	if (n_bytes > n_left)
		return sfs_error_set(err, -EBADMSG, "the shard ends within a header");
	if (n_bytes > SFS_LIBARCHIVE_MAX)
		return sfs_error_set(err, -EOVERFLOW, "a header longer than 1 MiB");
	g->need = n_bytes;
	return -EAGAIN;
}

static int bad_header(const unsigned char *bytes, struct sfs_error *err)
{
	const struct sfs_magic *magic = sfs_magic_find(bytes, SFS_TAR_BLOCK);

	if (magic)
		return sfs_error_set(err, -EBADMSG, "%s, not a tar header", magic->what);
	return sfs_error_set(err, -EBADMSG, "wrong header checksum");
}

/* Does this record leave the name, the size and the kind of its file alone? */
static bool is_harmless(const struct sfs_pax_record *r)
{
	static const char *const keys[] = {
		"mtime", "atime", "ctime", "uid", "gid", "uname", "gname", "comment",
	};
	size_t i;

	for (i = 0; i < sizeof keys / sizeof keys[0]; i++)
		if (sfs_pax_is(r, keys[i]))
			return true;
	return sfs_pax_begins(r, "LIBARCHIVE.") || sfs_pax_begins(r, "SCHILY.xattr.");
}

/* Are all records harmless?  Takes the mtime if there is one. */
static bool read_harmless(const char *p, const char *end, int64_t *mtime)
{
	struct sfs_pax_record r;
	int ret;

	while ((ret = sfs_pax_next(&p, end, &r)) == 1) {
		if (!is_harmless(&r) || memchr(r.value, 0, r.n_value))
			return false;
		if (sfs_pax_is(&r, "mtime"))
			*mtime = strtoll(r.value, NULL, 10);
	}
	return ret == 0;
}

static void take_plain(const unsigned char *block, const struct sfs_tar_header *h,
		       struct sfs_tar_entry *g)
{
	g->kind = SFS_TAR_ENTRY_MEMBER;
	g->name = g->name_buf;
	g->n_name = sfs_tar_name(block, g->name_buf);
	g->is_regular = true;
	g->size = h->size;
	g->mtime = h->mtime;
	g->mode = h->mode;
	g->data = g->n_bytes;
	g->next = g->data + sfs_tar_padded(h->size);
}

static bool is_regular_type(char type)
{
	return type == '0' || type == 0 || type == '7' || type == 'S';
}

/* The size of the data, by the header.  An empty field is 0: GNU tar leaves it so in
 * volume labels.  false: it is no number, and readers take that for different sizes. */
static bool read_size(const unsigned char *header, uint64_t *ret)
{
	const unsigned char *size = header + SFS_TAR_SIZE;
	size_t i;

	for (i = 0; i < SFS_TAR_SIZE_BYTES; i++)
		if (size[i] != 0 && size[i] != ' ')
			return sfs_tar_number(size, SFS_TAR_SIZE_BYTES, ret);
	*ret = 0;
	return true;
}

/* A volume label is a header of its own, with a name and without data.  If it has data
 * nevertheless, GNU tar and Python skip them; libarchive does not, and does not show
 * labels at all. */
static int take_label(const unsigned char *block, struct sfs_tar_entry *g,
		      struct sfs_error *err)
{
	struct sfs_tar_header h = {.type = 'V'};

	if (!read_size(block, &h.size))
		return sfs_error_set(err, -EBADMSG, "a volume label of the wrong size");
	take_plain(block, &h, g);
	g->is_regular = false;
	return 0;
}

/* Links, devices, folders and pipes have no data, whatever their size field says: GNU tar
 * and Python read them so.  libarchive believes some of the sizes. */
static bool is_dataless(char type)
{
	return type >= '1' && type <= '6';
}

/* Nobody uses its name, so extensions may have another. */
static void take_dataless(const unsigned char *block, struct sfs_tar_entry *g)
{
	const struct sfs_tar_header h = {.type = (char)block[SFS_TAR_TYPE]};

	take_plain(block, &h, g);
	g->is_regular = false;
}

/* Is there a prefix, though the dialect has none?  Python uses it in any dialect, GNU tar
 * and libarchive don't. */
static bool has_stray_prefix(const unsigned char *header)
{
	return memcmp(header + SFS_TAR_MAGIC, "ustar", 5) != 0 &&
	       header[SFS_TAR_PREFIX] != 0;
}

/* Where an extension has the member's name; s is NULL if none has. */
struct name {
	const char *s;
	size_t n;
	bool is_sparse; /* a sparse file's, which counts more than "path" */
};

static bool ends_in_slash(const struct sfs_tar_entry *g)
{
	return g->n_name > 0 && g->name[g->n_name - 1] == '/';
}

/* Without a type, this is how folders were once written. */
static bool is_old_folder(const unsigned char *header, const struct name *name)
{
	size_t n = strnlen((const char *)header + SFS_TAR_NAME, SFS_TAR_NAME_BYTES);

	return header[SFS_TAR_TYPE] == 0 && !name->s && n > 0 &&
	       header[SFS_TAR_NAME + n - 1] == '/';
}

/* By its header not a folder, but its name ends in a slash: libarchive takes it for a
 * folder without data; Python removes the slash if it is in a pax record. */
static bool is_disputed(const struct sfs_tar_entry *g, const unsigned char *header,
			const struct name *name)
{
	const unsigned char *size = header + SFS_TAR_SIZE;
	bool has_size = false;
	int i;

	if (!ends_in_slash(g) || is_old_folder(header, name) ||
	    strchr("5D", header[SFS_TAR_TYPE] ? header[SFS_TAR_TYPE] : '0'))
		return false;
	for (i = 0; i < SFS_TAR_SIZE_BYTES; i++)
		has_size |= size[i] != '0' && size[i] != ' ' && size[i] != 0;
	return has_size || g->n_bytes > SFS_TAR_BLOCK;
}

/* The name from the header, if no extension has one. */
static void take_name(const unsigned char *header, const struct name *name,
		      struct sfs_tar_entry *g)
{
	g->name = name->s ? name->s : g->name_buf;
	g->n_name = name->s ? name->n : sfs_tar_name(header, g->name_buf);
}

static int take_odd(const unsigned char *bytes, size_t n, uint64_t n_left,
		    const struct name *name, struct sfs_tar_entry *g,
		    struct sfs_error *err)
{
	const unsigned char *header = bytes + g->n_bytes - SFS_TAR_BLOCK;
	bool is_regular = is_regular_type((char)header[SFS_TAR_TYPE]);
	size_t n_more = n < 4096 ? 4096 : 2 * n;
	uint64_t size;
	int ret;

	if (n_more > SFS_LIBARCHIVE_MAX)
		n_more = SFS_LIBARCHIVE_MAX;

	if (has_stray_prefix(header) && is_regular)
		return sfs_error_set(err, -EBADMSG,
				     "a header of an unknown dialect, with a prefix");
	if (header[SFS_TAR_TYPE] > 127 ||
	    !(header[SFS_TAR_TYPE] == 0 || isalnum(header[SFS_TAR_TYPE])))
		return sfs_error_set(err, -EBADMSG, "a type that no tar writes");
	take_name(header, name, g);
	if (is_old_folder(header, name)) {
		take_dataless(header, g);
		return 0;
	}
	if (is_disputed(g, header, name))
		return sfs_error_set(err, -EBADMSG,
				     "a file whose name ends in a slash, like a folder");
	if (header[SFS_TAR_TYPE] != 'S' && sfs_tar_has_gnu_map(header))
		return sfs_error_set(err, -EBADMSG,
				     "the map of a sparse file in another's header");
	if (!read_size(header, &size))
		return sfs_error_set(err, -EBADMSG, "a size that is not a number");
	ret = sfs_libarchive_parse(bytes, n, n_left, &g->odd, err);
	g->is_cut = ret == -ERANGE;
	g->is_regular = is_regular && !ends_in_slash(g);
	if (ret == -EAGAIN)
		return need(g, n_more < n_left ? n_more : (size_t)n_left, n_left, err);
	if (ret < 0)
		return g->is_cut ? -EBADMSG : ret;
	if (is_regular && !g->odd.is_regular && !ends_in_slash(g)) {
		sfs_tar_entry_done(g);
		return sfs_error_set(err, -EBADMSG,
				     "readers disagree on whether it is a file");
	}
	g->kind = SFS_TAR_ENTRY_MEMBER;
	g->is_regular &= g->odd.is_regular;
	g->size = g->odd.size;
	g->mtime = g->odd.mtime;
	g->mode = g->odd.mode;
	g->data = g->odd.data;
	g->next = g->odd.end;
	return 0;
}

/* Sizes are numbers, and so are the records of sparse files, except the name; the map is
 * a list of them.  Of anything else, libarchive takes the digits before it, and Python 0.
 */
static bool is_number_sound(const struct sfs_pax_record *r)
{
	bool is_map = sfs_pax_is(r, "GNU.sparse.map"), is_size = sfs_pax_is(r, "size");
	enum { MAX_DIGITS = 18 }; /* of a size below 2^63 */
	size_t i;

	if (is_size && r->n_value > MAX_DIGITS)
		return false;
	if (!is_size &&
	    (!sfs_pax_begins(r, "GNU.sparse.") || sfs_pax_is(r, "GNU.sparse.name")))
		return true;
	for (i = 0; i < r->n_value; i++)
		if (!isdigit((unsigned char)r->value[i]) &&
		    !(is_map && r->value[i] == ','))
			return false;
	return r->n_value > 0;
}

/* The last one counts, or the last one of a sparse file, as in GNU tar and libarchive. */
static void take_pax_name(const struct sfs_pax_record *r, struct name *name)
{
	bool is_sparse = sfs_pax_is(r, "GNU.sparse.name");

	if (is_sparse || !name->is_sparse)
		*name = (struct name){r->value, r->n_value, is_sparse};
}

/* A NUL in a pax name would end it early for some readers, but not for Python.  Counts
 * the extension in *n_names if it has one. */
static int check_extension(const unsigned char *body, uint64_t size, int *n_names,
			   struct name *name, struct sfs_error *err)
{
	bool has_name = false;
	const char *p = (const char *)body, *end = p + size;
	struct sfs_pax_record r;
	int ret;

	while ((ret = sfs_pax_next(&p, end, &r)) == 1) {
		has_name |= sfs_pax_is_name(&r);
		if (sfs_pax_is_name(&r) && memchr(r.value, 0, r.n_value))
			return sfs_error_set(err, -EBADMSG, "a name that contains NUL");
		/* Some readers use the header's name, others none. */
		if (sfs_pax_is_name(&r) && r.n_value == 0)
			return sfs_error_set(err, -EBADMSG,
					     "an empty name in a pax header");
		if (sfs_pax_is_name(&r))
			take_pax_name(&r, name);
		if (!is_number_sound(&r))
			return sfs_error_set(err, -EBADMSG,
					     "'%.*s' in a pax header is not a number",
					     (int)r.n_key, r.key);
		if (memchr(r.key, 0, r.n_key)) /* some readers stop there */
			return sfs_error_set(err, -EBADMSG,
					     "a pax keyword that contains NUL");
	}
	if (ret < 0)
		return sfs_error_set(err, ret, "a damaged pax header");
	*n_names += has_name;
	return 0;
}

/* Extensions, then the header that they belong to. */
static int look_extended(const unsigned char *bytes, size_t n, uint64_t n_left,
			 struct sfs_tar_entry *g, struct sfs_error *err)
{
	struct sfs_tar_header h;
	size_t at = 0, n_extensions = 0;
	struct name name = {0};
	int64_t mtime = INT64_MIN;
	char seen[8] = ""; /* more kinds than there are */
	bool is_simple = true;
	int n_names = 0, ret;
	uint64_t body;

	for (;;) {
		if (n - at < SFS_TAR_BLOCK)
			return need(g, at + SFS_TAR_BLOCK, n_left, err);
		h = sfs_tar_look(bytes + at);
		if (h.kind != SFS_TAR_EXTENSION)
			break;
		/* Readers disagree about which of two counts. */
		if (strchr(seen, h.type == 'X' ? 'x' : h.type))
			return sfs_error_set(err, -EBADMSG,
					     "two extended headers of the same kind");
		seen[n_extensions] = h.type == 'X' ? 'x' : h.type;
		body = at + SFS_TAR_BLOCK;
		if (h.size > SFS_LIBARCHIVE_MAX || body + h.size > SFS_LIBARCHIVE_MAX)
			return need(g, SFS_LIBARCHIVE_MAX + 1, n_left, err);
		if (body + sfs_tar_padded(h.size) > n)
			return need(g, body + sfs_tar_padded(h.size), n_left, err);
		is_simple &= n_extensions++ == 0 && h.type == 'x' &&
			     read_harmless((const char *)bytes + body,
					   (const char *)bytes + body + h.size, &mtime);
		if (h.type == 'x' || h.type == 'X') {
			ret = check_extension(bytes + body, h.size, &n_names, &name, err);
			if (ret < 0)
				return ret;
		}
		if (h.type == 'L') {
			name.s = (const char *)bytes + body;
			name.n = strnlen(name.s, h.size);
			n_names++;
		}
		if (n_names > 1) /* again, which counts? */
			return sfs_error_set(err, -EBADMSG,
					     "a name in two extended headers");
		at = body + sfs_tar_padded(h.size);
	}
	if (h.kind == SFS_TAR_BAD)
		return bad_header(bytes + at, err);
	if (h.kind == SFS_TAR_ZERO || h.kind == SFS_TAR_GLOBAL)
		return sfs_error_set(err, -EBADMSG,
				     "an extended header without its member");
	g->n_bytes = at + SFS_TAR_BLOCK;
	if (h.type == 'V')
		return sfs_error_set(err, -EBADMSG,
				     "an extended header before a volume label");
	if (is_dataless(h.type)) {
		take_dataless(bytes + at, g);
		return 0;
	}
	if (!is_simple || h.kind != SFS_TAR_FILE)
		return take_odd(bytes, n, n_left, &name, g, err);
	take_plain(bytes + at, &h, g);
	if (mtime != INT64_MIN)
		g->mtime = mtime;
	return 0;
}

/* A global header may set anything that does not change the bytes of other members. */
static int look_global(const unsigned char *bytes, size_t n, uint64_t n_left,
		       uint64_t size, struct sfs_tar_entry *g, struct sfs_error *err)
{
	const char *p = (const char *)bytes + SFS_TAR_BLOCK;
	struct sfs_pax_record r;
	int ret;

	if (size > SFS_LIBARCHIVE_MAX)
		return need(g, SFS_LIBARCHIVE_MAX + 1, n_left, err);
	g->n_bytes = SFS_TAR_BLOCK + sfs_tar_padded(size);
	if (g->n_bytes > n)
		return need(g, g->n_bytes, n_left, err);
	while ((ret = sfs_pax_next(&p, (const char *)bytes + SFS_TAR_BLOCK + size, &r)) ==
	       1)
		if (sfs_pax_is(&r, "path") || sfs_pax_is(&r, "size") ||
		    sfs_pax_begins(&r, "GNU.sparse.") ||
		    sfs_pax_is(&r, "SCHILY.realsize"))
			return sfs_error_set(
				err, -EBADMSG,
				"a pax global header sets '%.*s' for all members",
				(int)r.n_key, r.key);
	if (ret < 0)
		return sfs_error_set(err, ret, "a damaged pax global header");
	g->kind = SFS_TAR_ENTRY_GLOBAL;
	g->data = g->next = g->n_bytes;
	return 0;
}

int sfs_tar_entry_read(const unsigned char *bytes, size_t n, uint64_t n_left,
		       struct sfs_tar_entry *g, struct sfs_error *err)
{
	struct sfs_tar_header h;
	int ret = 0;

	if (n > SFS_LIBARCHIVE_MAX)
		n = SFS_LIBARCHIVE_MAX; /* the limit holds however bytes come */
	g->odd = (struct sfs_libarchive){0};
	g->is_cut = false;
	g->n_bytes = SFS_TAR_BLOCK;
	if (n < SFS_TAR_BLOCK)
		return need(g, SFS_TAR_BLOCK, n_left, err);
	h = sfs_tar_look(bytes);
	switch (h.kind) {
	case SFS_TAR_FILE: take_plain(bytes, &h, g); break;
	case SFS_TAR_ZERO:
		g->kind = SFS_TAR_ENTRY_END;
		g->data = g->next = g->n_bytes;
		break;
	case SFS_TAR_BAD: ret = bad_header(bytes, err); break;
	case SFS_TAR_GLOBAL: ret = look_global(bytes, n, n_left, h.size, g, err); break;
	case SFS_TAR_EXTENSION: ret = look_extended(bytes, n, n_left, g, err); break;
	case SFS_TAR_ODD:
		if (is_dataless(h.type))
			take_dataless(bytes, g);
		else if (h.type == 'V')
			ret = take_label(bytes, g, err);
		else
			ret = take_odd(bytes, n, n_left, &(struct name){0}, g, err);
		break;
	}
	if (ret == 0 && g->next > n_left) {
		ret = sfs_error_set(err, -EBADMSG,
				    "the data of '%.*s' end %llu bytes after the end "
				    "of the shard",
				    (int)g->n_name, g->name,
				    (unsigned long long)(g->next - n_left));
		g->is_cut = true;
		sfs_tar_entry_done(g);
	}
	return ret;
}
