/* SPDX-License-Identifier: MIT */
/* How this works: the first block decides.  FILE is the whole group.  Extensions are read
 * and passed by their sizes up to the header that they belong to, which ends the group;
 * then what they say, and what the header says, is weighed: docs/ORDER.md, section 6,
 * lists what is refused, which is all that readers of tar disagree about.
 *
 * No library decides anything here.  libarchive did, for what is odd, and its answers
 * were its version's, not the specification's (decision 1).  libarchive.h asks it for its
 * opinion, and tests/fuzz compares both. */
#include "tar/entry.h"

#include "base/alloc.h"
#include "tar/magic.h"
#include "tar/pax.h"
#include "tar/sparse.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void sfs_tar_entry_done(struct sfs_tar_entry *group)
{
	free(steal(&group->runs));
	group->n_runs = 0;
	group->is_sparse = false;
}

static int need(struct sfs_tar_entry *g, size_t n_bytes, uint64_t n_left,
		struct sfs_error *err)
{
	if (n_bytes > n_left)
		return sfs_error_set(err, -EBADMSG, "the shard ends within a header");
	if (n_bytes > SFS_TAR_GROUP_MAX)
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
 * volume labels.  false: it is no number, or one that no file has, and readers take that
 * for different sizes. */
static bool read_size(const unsigned char *header, uint64_t *ret)
{
	static const uint64_t max = INT64_MAX - SFS_TAR_BLOCK + 1; /* padded, it fits */
	const unsigned char *size = header + SFS_TAR_SIZE;
	size_t i;

	for (i = 0; i < SFS_TAR_SIZE_BYTES; i++)
		if (size[i] != 0 && size[i] != ' ')
			return sfs_tar_number(size, SFS_TAR_SIZE_BYTES, ret) &&
			       *ret <= max;
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

/* What extensions say of their member. */
struct extended {
	const char *name; /* NULL: nothing of it */
	size_t n_name;
	int n_names;		/* extensions that have one */
	bool is_name_of_sparse; /* GNU.sparse.name, which counts more than "path" */
	bool has_size, has_mtime;
	uint64_t size;
	int64_t mtime;
	bool is_sparse;		    /* by its records, */
	const char *records, *last; /* which are these */
};

static bool ends_in_slash(const struct sfs_tar_entry *g)
{
	return g->n_name > 0 && g->name[g->n_name - 1] == '/';
}

/* Without a type, this is how folders were once written. */
static bool is_header_of_old_folder(const unsigned char *header)
{
	size_t n = strnlen((const char *)header + SFS_TAR_NAME, SFS_TAR_NAME_BYTES);

	return header[SFS_TAR_TYPE] == 0 && n > 0 && header[SFS_TAR_NAME + n - 1] == '/';
}

static bool is_old_folder(const unsigned char *header, const struct extended *x)
{
	return is_header_of_old_folder(header) && !x->name;
}

/* By its header not a folder, but its name ends in a slash: libarchive takes it for a
 * folder without data; Python removes the slash if it is in a pax record. */
static bool is_disputed(const struct sfs_tar_entry *g, const unsigned char *header,
			const struct extended *x)
{
	const unsigned char *size = header + SFS_TAR_SIZE;
	bool has_size = false;
	int i;

	if (!ends_in_slash(g) || is_old_folder(header, x) ||
	    strchr("5D", header[SFS_TAR_TYPE] ? header[SFS_TAR_TYPE] : '0'))
		return false;
	for (i = 0; i < SFS_TAR_SIZE_BYTES; i++)
		has_size |= size[i] != '0' && size[i] != ' ' && size[i] != 0;
	return has_size || g->n_bytes > SFS_TAR_BLOCK;
}

/* The name from the header, if no extension has one. */
static void take_name(const unsigned char *header, const struct extended *x,
		      struct sfs_tar_entry *g)
{
	g->name = x->name ? x->name : g->name_buf;
	g->n_name = x->name ? x->n_name : sfs_tar_name(header, g->name_buf);
}

/* What in the header would readers disagree about?  NULL: nothing. */
static const char *find_dispute(const unsigned char *header, const struct extended *x,
				const struct sfs_tar_entry *g)
{
	unsigned char type = header[SFS_TAR_TYPE];
	uint64_t size;

	if (has_stray_prefix(header) && is_regular_type((char)type))
		return "a header of an unknown dialect, with a prefix";
	if (type > 127 || !(type == 0 || isalnum(type)))
		return "a type that no tar writes";
	if (is_header_of_old_folder(header) && x->name) /* Python sees a folder */
		return "a file in the header of a folder";
	if (is_disputed(g, header, x))
		return "a file whose name ends in a slash, like a folder";
	if (type != 'S' && sfs_tar_has_gnu_map(header))
		return "the map of a sparse file in another's header";
	if (!read_size(header, &size))
		return "a size that is not a number";
	return NULL;
}

/* At least n_bytes are needed, and perhaps twice as many soon. */
static int need_more(struct sfs_tar_entry *g, size_t n_bytes, uint64_t n_left)
{
	g->need = 2 * n_bytes < SFS_TAR_GROUP_MAX ? 2 * n_bytes : SFS_TAR_GROUP_MAX;
	if (g->need > n_left)
		g->need = (size_t)n_left;
	return -EAGAIN;
}

/* The blocks of the map that follows a header of type 'S'. */
static int pass_old_map(const unsigned char *bytes, size_t n, uint64_t n_left,
			struct sfs_tar_entry *g, struct sfs_error *err)
{
	bool goes_on = sfs_sparse_goes_on(bytes + g->n_bytes - SFS_TAR_BLOCK, true);
	size_t at = g->n_bytes;

	for (; goes_on; at += SFS_TAR_BLOCK) {
		if (at + SFS_TAR_BLOCK > SFS_TAR_GROUP_MAX)
			return sfs_error_set(err, -EOVERFLOW,
					     "a header longer than 1 MiB");
		g->is_cut = at + SFS_TAR_BLOCK > n_left;
		if (g->is_cut)
			return sfs_error_set(
				err, -EBADMSG,
				"the shard ends within the map of a sparse file");
		if (at + SFS_TAR_BLOCK > n)
			return need_more(g, at + SFS_TAR_BLOCK, n_left);
		goes_on = sfs_sparse_goes_on(bytes + at, false);
	}
	g->data = at;
	return 0;
}

/* The map of a sparse file says where its data belong, and how large it is. */
static int take_sparse(const unsigned char *bytes, size_t n, uint64_t n_left,
		       const struct extended *x, struct sfs_tar_entry *g,
		       struct sfs_error *err)
{
	const struct sfs_sparse_member member = {
		.group = bytes,
		.n = n,
		.n_max = SFS_TAR_GROUP_MAX,
		.header = g->n_bytes - SFS_TAR_BLOCK,
		.records = x->records,
		.last = x->last,
		.data = g->data,
		.stored = g->size,
	};
	struct sfs_sparse sparse;
	int ret = sfs_sparse_read(&member, &sparse);

	if (ret == -EAGAIN)
		return need_more(g, n + 1, n_left);
	if (ret < 0)
		return sfs_error_set(err, ret,
				     "the map of a sparse file differs from what is "
				     "stored");
	g->data += sparse.map_bytes;
	g->size = sparse.size;
	g->is_sparse = sparse.n_runs > 0;
	g->runs = sparse.runs;
	g->n_runs = sparse.n_runs;
	return 0;
}

static int take_odd(const unsigned char *bytes, size_t n, uint64_t n_left,
		    const struct extended *x, struct sfs_tar_entry *g,
		    struct sfs_error *err)
{
	const unsigned char *header = bytes + g->n_bytes - SFS_TAR_BLOCK;
	bool is_old_sparse = header[SFS_TAR_TYPE] == 'S';
	const char *dispute;
	int ret = 0;

	take_name(header, x, g);
	if (is_old_folder(header, x) && !has_stray_prefix(header)) {
		take_dataless(header, g);
		return 0;
	}
	dispute = find_dispute(header, x, g);
	if (dispute)
		return sfs_error_set(err, -EBADMSG, "%s", dispute);
	g->kind = SFS_TAR_ENTRY_MEMBER;
	g->is_regular = is_regular_type((char)header[SFS_TAR_TYPE]) && !ends_in_slash(g);
	g->mtime = x->has_mtime ? x->mtime : sfs_tar_mtime(header);
	g->mode = sfs_tar_mode(header);
	read_size(header, &g->size);
	if (x->has_size)
		g->size = x->size;
	g->data = g->n_bytes;
	if (is_old_sparse)
		ret = pass_old_map(bytes, n, n_left, g, err);
	if (ret < 0)
		return ret;
	g->next = g->data + sfs_tar_padded(g->size);
	if (g->next <= n_left && (is_old_sparse || x->is_sparse))
		return take_sparse(bytes, n, n_left, x, g, err);
	return 0; /* (if it is cut off, who called sees that) */
}

/* Sizes are numbers, and so are the records of sparse files, except the name; the map is
 * a list of them.  Readers take anything else for different numbers. */
static bool is_number_sound(const struct sfs_pax_record *r)
{
	bool is_map = sfs_pax_is(r, "GNU.sparse.map");
	enum { MAX_DIGITS = 18 }; /* of a number below 2^63 */
	size_t i;

	if (!sfs_pax_is(r, "size") &&
	    (!sfs_pax_begins(r, "GNU.sparse.") || sfs_pax_is(r, "GNU.sparse.name")))
		return true;
	for (i = 0; i < r->n_value; i++)
		if (!isdigit((unsigned char)r->value[i]) &&
		    !(is_map && r->value[i] == ','))
			return false;
	return r->n_value > 0 && (is_map || r->n_value <= MAX_DIGITS);
}

/* What readers would disagree about in a record; NULL: nothing.  A NUL would end a name
 * early for some, but not for Python; of an empty name, some use the header's, others
 * none. */
static const char *find_record_dispute(const struct sfs_pax_record *r)
{
	if (sfs_pax_is_name(r) && memchr(r->value, 0, r->n_value))
		return "a name that contains NUL";
	if (sfs_pax_is_name(r) && r->n_value == 0)
		return "an empty name in a pax header";
	if (memchr(r->key, 0, r->n_key)) /* some readers stop there */
		return "a pax keyword that contains NUL";
	return NULL;
}

static uint64_t read_decimal(const struct sfs_pax_record *r)
{
	uint64_t v = 0;
	size_t i;

	for (i = 0; i < r->n_value; i++)
		v = v * 10 + (uint64_t)(r->value[i] - '0');
	return v;
}

/* The last record of a keyword counts, and a sparse file's name more than "path", as in
 * GNU tar and libarchive. */
static void take_record(const struct sfs_pax_record *r, struct extended *x)
{
	bool is_name_of_sparse = sfs_pax_is(r, "GNU.sparse.name");

	if (sfs_pax_is_name(r) && (is_name_of_sparse || !x->is_name_of_sparse)) {
		x->name = r->value;
		x->n_name = r->n_value;
		x->is_name_of_sparse = is_name_of_sparse;
	}
	if (sfs_pax_is(r, "size")) {
		x->has_size = true;
		x->size = read_decimal(r);
	}
	if (sfs_pax_is(r, "mtime")) {
		x->has_mtime = true;
		x->mtime = strtoll(r->value, NULL, 10); /* (a newline ends it) */
	}
	x->is_sparse |= sfs_sparse_is_record(r);
}

static int take_records(const unsigned char *body, uint64_t size, struct extended *x,
			struct sfs_error *err)
{
	const char *p = (const char *)body, *dispute;
	struct sfs_pax_record r;
	int ret;

	x->records = p;
	x->last = p + size;
	while ((ret = sfs_pax_next(&p, x->last, &r)) == 1) {
		dispute = find_record_dispute(&r);
		if (dispute)
			return sfs_error_set(err, -EBADMSG, "%s", dispute);
		if (!is_number_sound(&r))
			return sfs_error_set(err, -EBADMSG,
					     "'%.*s' in a pax header is not a number",
					     (int)r.n_key, r.key);
		take_record(&r, x);
	}
	if (ret < 0)
		return sfs_error_set(err, ret, "a damaged pax header");
	x->n_names += x->name != NULL;
	return 0;
}

static int take_extension(char type, const unsigned char *body, uint64_t size,
			  struct extended *x, struct sfs_error *err)
{
	const char *had = x->name;
	int ret = 0;

	x->name = NULL;
	if (type == 'x') {
		ret = take_records(body, size, x, err);
	} else if (type == 'L') {
		x->name = (const char *)body;
		x->n_name = strnlen(x->name, size);
		x->n_names++;
	}
	if (ret == 0 && x->n_names > 1) /* which counts? */
		return sfs_error_set(err, -EBADMSG, "a name in two extended headers");
	if (!x->name)
		x->name = had;
	return ret;
}

/* Extensions, then the header that they belong to. */
static int look_extended(const unsigned char *bytes, size_t n, uint64_t n_left,
			 struct sfs_tar_entry *g, struct sfs_error *err)
{
	struct extended x = {0};
	struct sfs_tar_header h;
	size_t at = 0, n_extensions = 0;
	char seen[8] = ""; /* more kinds than there are */
	uint64_t body;
	char type;
	int ret;

	for (;;) {
		if (n - at < SFS_TAR_BLOCK)
			return need(g, at + SFS_TAR_BLOCK, n_left, err);
		h = sfs_tar_look(bytes + at);
		if (h.kind != SFS_TAR_EXTENSION)
			break;
		type = h.type == 'X' ? 'x' : h.type;
		if (strchr(seen, type)) /* readers disagree about which of two counts */
			return sfs_error_set(err, -EBADMSG,
					     "two extended headers of the same kind");
		seen[n_extensions++] = type;
		body = at + SFS_TAR_BLOCK;
		if (h.size > SFS_TAR_GROUP_MAX || body + h.size > SFS_TAR_GROUP_MAX)
			return need(g, SFS_TAR_GROUP_MAX + 1, n_left, err);
		if (body + sfs_tar_padded(h.size) > n)
			return need(g, body + sfs_tar_padded(h.size), n_left, err);
		ret = take_extension(type, bytes + body, h.size, &x, err);
		if (ret < 0)
			return ret;
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
	return take_odd(bytes, n, n_left, &x, g, err);
}

/* A global header may set anything that does not change the bytes of other members. */
static int look_global(const unsigned char *bytes, size_t n, uint64_t n_left,
		       uint64_t size, struct sfs_tar_entry *g, struct sfs_error *err)
{
	const char *p = (const char *)bytes + SFS_TAR_BLOCK;
	struct sfs_pax_record r;
	int ret;

	if (size > SFS_TAR_GROUP_MAX)
		return need(g, SFS_TAR_GROUP_MAX + 1, n_left, err);
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

	if (n > SFS_TAR_GROUP_MAX)
		n = SFS_TAR_GROUP_MAX; /* the limit holds however bytes come */
	g->is_sparse = g->is_cut = g->is_plain = false;
	g->runs = NULL;
	g->n_runs = 0;
	g->n_bytes = SFS_TAR_BLOCK;
	if (n < SFS_TAR_BLOCK)
		return need(g, SFS_TAR_BLOCK, n_left, err);
	h = sfs_tar_look(bytes);
	g->is_plain = h.kind == SFS_TAR_FILE;
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
			ret = take_odd(bytes, n, n_left, &(struct extended){0}, g, err);
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
