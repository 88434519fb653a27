/* SPDX-License-Identifier: MIT */
/* Whole tar files: our walk and libarchive's own reader must see the same members.
 *
 * Same means: regular or not, size and every byte of data, in the same order, up to where
 * one of the two reports an error.  Names are held to a second reading of the bytes at
 * which libarchive says that the member begins (names.h), not to libarchive's, which
 * are converted and perhaps normalised.  Then the stream of the file's samples,
 * which is those extents one behind the other, is read by libarchive, and must have
 * the samples' members and nothing else.
 *
 * Deliberate differences:
 * - we refuse what libarchive takes: a file without a zero block at its end, data behind
 *   the end of the archive, members that reach beyond the file (libarchive notices
 *   when it reads them), a wrong checksum anywhere (libarchive calls that RETRY, which is
 *   an error here too), global pax headers that set path, size or sparse data, pax names
 *   and keywords with a NUL, header groups longer than 1 MiB, an extension before a
 *   global header, two of one kind before a header, files whose names end in a slash;
 * - a type that nobody knows is a regular file to POSIX and libarchive, but to Python's
 *   tarfile it is not, so it is in no sample; its name and its length we do check;
 * - in a GNU header libarchive reads the map and the size of a sparse file whatever the
 *   type; tarfile and we do so for type 'S' only.  What comes then is not compared;
 * - a volume label (type 'V') whose size is not 0: libarchive looks for the next header
 *   right behind it, GNU tar, tarfile and we behind its data.  Not compared from there
 * on;
 * - a hard link whose size is not 0: libarchive believes the size once it has seen a pax
 *   header anywhere in the file, and looks at what follows where it has not; the same for
 *   a folder or a symbolic link whose size is in a pax record.  GNU tar, tarfile and we
 *   never do.  Not compared from there on;
 * - records of a pax sparse file that are not complete: libarchive completes them from
 *   members before, which we cannot see.  Not compared from there on;
 * - a damaged map of a sparse file: libarchive drops runs, at best with a warning (where
 *   it drops all we take the file for an ordinary one), tarfile pairs what it finds,
 *   GNU tar mostly refuses it.  Not compared from there on;
 * - a map whose last run goes on in the padding of what is stored: GNU tar, tarfile and
 * we read that, libarchive ends where the size does.  Not compared from there on;
 * - libarchive's ARCHIVE_WARN (a pax record that it does not understand, a name that is
 *   not UTF-8) is an answer, for both.
 * Mac resource forks ("._" members) and concatenated archives are special to libarchive
 * only when asked for, which we do not.
 *
 * With SHUFFLEFS_FUZZ_OUT=FOLDER each file is written there, with our list of its
 * members, for judge.py, which asks Python's tarfile: it decides what WebDataset sees. */
#include "fuzz.h"
#include "maketar.h"
#include "names.h"

#include "tar/key.h"
#include "tar/libarchive.h"
#include "tar/pax.h"
#include "tar/rewrite.h"
#include "tar/scan.h"

#include <archive.h>
#include <archive_entry.h>

struct member {
	char *name;
	size_t n_name;
	bool is_regular, has_key;
	bool is_map_damaged; /* of a sparse file */
	bool is_disputed;    /* read differently by readers: see above */
	bool is_doubted;     /* shufflefs index would warn of it */
	uint64_t size, data_hash;
};

struct members {
	struct member *m;
	size_t n;
	bool is_complete; /* up to the end, without an error */
	char why[1024];
};

static struct member *add(struct members *all, const char *name, size_t n_name)
{
	struct member *m;

	all->m = realloc(all->m, (all->n + 1) * sizeof *all->m);
	m = &all->m[all->n++];
	*m = (struct member){.name = fuzz_copy(name, n_name), .n_name = n_name};
	return m;
}

static void done(struct members *all)
{
	while (all->n > 0)
		free(all->m[--all->n].name);
	free(all->m);
}

/* The same for the same bytes at the same places, however they are cut into pieces and
 * whether zeros are stored or left out. */
static uint64_t hash_at(uint64_t offset, const unsigned char *p, size_t n)
{
	uint64_t hash = 0, v;
	size_t i;

	for (i = 0; i < n; i++) {
		if (p[i] == 0)
			continue;
		v = ((offset + i) * 256 + p[i]) * 0x9e3779b97f4a7c15ULL;
		v = (v ^ v >> 29) * 0xbf58476d1ce4e5b9ULL;
		hash += v ^ v >> 32;
	}
	return hash;
}

/* ---- our own walk ---- */

/* Of a GNU header what stands behind the longnames field, up to realsize, is for type
 * 'S' only; and a hard link has no size. */
static bool is_disputed(const unsigned char *header)
{
	char type = (char)header[SFS_TAR_TYPE];
	bool is_gnu = memcmp(header + SFS_TAR_MAGIC, "ustar  ", 8) == 0;

	return type == 'V' ||
	       (type != 'S' && is_gnu && !sfs_tar_is_zero(header + 386, 495 - 386)) ||
	       (type == '1' && memcmp(header + 124, "00000000000", 11) != 0);
}

/* Records of a sparse file, but not all that one of its three dialects needs.  libarchive
 * then takes what is missing from a member before. */
static bool is_half_sparse(const char *body, uint64_t size)
{
	enum { MAJOR = 1, MINOR = 2, REALSIZE = 4, SIZE = 8, MAP = 16, OTHER = 32 };
	static const struct {
		const char *key;
		unsigned flag;
	} keys[] = {{"GNU.sparse.major", MAJOR},   {"GNU.sparse.minor", MINOR},
		    {"GNU.sparse.size", SIZE},	   {"GNU.sparse.realsize", REALSIZE},
		    {"GNU.sparse.map", MAP},	   {"GNU.sparse.offset", MAP},
		    {"GNU.sparse.numbytes", MAP},  {"GNU.sparse.numblocks", SIZE},
		    {"GNU.sparse.name", 0},	   {"GNU.sparse.", OTHER},
		    {"SCHILY.realsize", REALSIZE}, {"SUN.holesdata", OTHER}};
	const char *p = body;
	struct sfs_pax_record r;
	unsigned has = 0;
	size_t i;

	while (sfs_pax_next(&p, body + size, &r) == 1)
		for (i = 0; i < sizeof keys / sizeof *keys; i++)
			if (sfs_pax_begins(&r, keys[i].key)) {
				if (keys[i].flag <= MINOR &&
				    (r.n_value != 1 || *r.value != "?10"[keys[i].flag]))
					has |= keys[i].flag ? OTHER : 0;
				has |= keys[i].flag;
				break;
			}
	return has != 0 && has != (MAJOR | MINOR | REALSIZE) && has != (SIZE | MAP);
}

/* The map that the records of a pax sparse file spell out, number after number. */
struct map {
	uint64_t n, n_blocks, end, size;
	bool is_bad;
};

static uint64_t read_number(struct map *map, const char *p, size_t n)
{
	uint64_t v = 0;
	size_t i;

	map->is_bad |= n == 0 || n > 15;
	for (i = 0; i < n && !map->is_bad; i++) {
		map->is_bad |= p[i] < '0' || p[i] > '9';
		v = v * 10 + (uint64_t)(p[i] - '0');
	}
	return v;
}

/* An offset, not before the end of the run before, or a length. */
static void add_number(struct map *map, const char *p, size_t n)
{
	uint64_t v = read_number(map, p, n);

	map->is_bad |= map->n % 2 == 0 && v < map->end;
	map->end = map->n++ % 2 == 0 ? v : map->end + v;
}

static void add_list(struct map *map, const char *p, size_t n)
{
	const char *end = p + n, *comma;

	while ((comma = memchr(p, ',', (size_t)(end - p)))) {
		add_number(map, p, (size_t)(comma - p));
		p = comma + 1;
	}
	if (n > 0)
		add_number(map, p, (size_t)(end - p));
}

/* A map in records that is not one: no numbers, not one length for each offset, runs that
 * overlap, others than were counted, beyond the size.  libarchive warns and takes what it
 * understands, tarfile pairs what it has found. */
static bool is_map_bad(const char *body, uint64_t size)
{
	struct map map = {0};
	const char *p = body;
	struct sfs_pax_record r;

	while (sfs_pax_next(&p, body + size, &r) == 1) {
		if (sfs_pax_is(&r, "GNU.sparse.size")) {
			map.size = read_number(&map, r.value, r.n_value);
		} else if (sfs_pax_is(&r, "GNU.sparse.numblocks")) {
			map.n_blocks = read_number(&map, r.value, r.n_value);
		} else if (sfs_pax_is(&r, "GNU.sparse.offset")) {
			map.is_bad |= map.n % 2 != 0;
			add_number(&map, r.value, r.n_value);
		} else if (sfs_pax_is(&r, "GNU.sparse.numbytes")) {
			map.is_bad |= map.n % 2 != 1;
			add_number(&map, r.value, r.n_value);
		} else if (sfs_pax_is(&r, "GNU.sparse.map")) {
			map.is_bad |= map.n > 0;
			add_list(&map, r.value, r.n_value);
		}
	}
	return map.is_bad ||
	       (map.n > 0 && (map.n != 2 * map.n_blocks || map.end > map.size));
}

static bool is_map_damaged(const unsigned char *group, size_t n)
{
	struct sfs_tar_header h;
	const char *body;
	size_t at = 0;

	while (at + SFS_TAR_BLOCK < n) {
		h = sfs_tar_look(group + at);
		at += SFS_TAR_BLOCK;
		body = (const char *)group + at;
		if ((h.type == 'x' || h.type == 'X') &&
		    (is_half_sparse(body, h.size) || is_map_bad(body, h.size)))
			return true;
		at += sfs_tar_padded(h.size);
	}
	return false;
}

/* libarchive drops runs of a map that cannot be, and a file of no runs is an ordinary
 * one; so is one whose only run is all of it, which is right.  For a GNU header that does
 * not tell the file's size it takes the size of what is stored, tarfile takes 0. */
static bool is_map_lost(const unsigned char *group, const struct sfs_tar_entry *g)
{
	enum { REALSIZE = 483 };
	const unsigned char *header = group + g->n_bytes - SFS_TAR_BLOCK;

	if (!g->is_regular || g->size == 0)
		return false;
	if (header[SFS_TAR_TYPE] == 'S')
		return !g->is_sparse || header[REALSIZE] == 0;
	return !g->is_sparse && (memmem(group, g->n_bytes, " GNU.sparse.", 12) ||
				     memmem(group, g->n_bytes, " SCHILY.realsize", 16));
}

/* Do the runs of a sparse file end at another byte of their last block than what is
 * stored?  (A map among the data is whole blocks.) */
static bool ends_in_padding(const unsigned char *header, const struct sfs_tar_entry *m)
{
	uint64_t stored, sum = 0;
	size_t i;

	for (i = 0; i < m->n_runs; i++)
		sum += m->runs[i].n_bytes;
	return !sfs_tar_number(header + SFS_TAR_SIZE, SFS_TAR_SIZE_BYTES, &stored) ||
	       stored % SFS_TAR_BLOCK != sum % SFS_TAR_BLOCK;
}

struct walk {
	const struct fuzz_tar *tar;
	struct members *members;
	struct sfs_extent *extents;
	size_t n_extents;
	uint64_t at; /* where the member before ended */
};

static uint64_t hash_sparse(const struct walk *w, uint64_t at,
			    const struct sfs_tar_entry *m)
{
	uint64_t hash = 0;
	size_t i;

	for (i = 0; i < m->n_runs; i++) {
		MUST(m->runs[i].n_bytes <= w->tar->n &&
		     at + m->runs[i].n_bytes <= w->tar->n);
		hash += hash_at(m->runs[i].offset, w->tar->bytes + at,
				(size_t)m->runs[i].n_bytes);
		at += m->runs[i].n_bytes;
	}
	return hash;
}

static void take_member(void *ctx, uint64_t start, const struct sfs_tar_entry *g)
{
	struct walk *w = ctx;
	struct member *m;

	if (w->tar->bytes[start + g->n_bytes - SFS_TAR_BLOCK + SFS_TAR_TYPE] == 'V' &&
	    g->size == 0) {
		MUST(!g->is_regular);
		return; /* a label, which libarchive does not show */
	}
	m = add(w->members, g->name, g->n_name);
	MUST(start >= w->at && start % SFS_TAR_BLOCK == 0);
	MUST(g->data <= g->next && start + g->next <= w->tar->n);
	w->at = start + g->next;
	m->is_map_damaged = is_map_lost(w->tar->bytes + start, g) ||
			    is_map_damaged(w->tar->bytes + start, g->n_bytes);
	m->is_disputed = m->is_map_damaged ||
			 (!g->is_regular &&
			  memmem(w->tar->bytes + start, g->n_bytes, " size=", 6)) ||
			 is_disputed(w->tar->bytes + start + g->n_bytes - SFS_TAR_BLOCK);
	m->is_regular = g->is_regular;
	m->has_key = g->is_regular && sfs_key_length(g->name, g->n_name) > 0;
	m->size = g->is_regular ? g->size : 0;
	if (!g->is_regular)
		return;
	if (g->is_sparse) {
		m->is_disputed |= ends_in_padding(w->tar->bytes + start + g->n_bytes -
							  SFS_TAR_BLOCK,
						  g);
		m->data_hash = hash_sparse(w, start + g->data, g);
	} else {
		MUST(g->data + g->size <= g->next);
		m->data_hash =
			hash_at(0, w->tar->bytes + start + g->data, (size_t)g->size);
	}
}

static void take_sample(void *ctx, const struct sfs_extent *extent)
{
	struct walk *w = ctx;

	MUST(extent->n_bytes > 0 && extent->n_bytes % SFS_TAR_BLOCK == 0);
	MUST(extent->start % SFS_TAR_BLOCK == 0);
	MUST(extent->start + extent->n_bytes <= sfs_tar_padded(w->tar->n));
	w->extents = realloc(w->extents, (w->n_extents + 1) * sizeof *w->extents);
	w->extents[w->n_extents++] = *extent;
}

/* The warnings of `shufflefs index` are made of one group at a time. */
static void ask_second_reader(void *ctx, uint64_t start, const unsigned char *bytes,
			      const struct sfs_tar_entry *g)
{
	struct walk *w = ctx;
	struct sfs_libarchive_reading reading;

	if (g->kind != SFS_TAR_ENTRY_MEMBER || !g->is_regular)
		return;
	sfs_libarchive_read(bytes, g, false, &reading);
	w->members->m[w->members->n - 1].is_doubted =
		!sfs_libarchive_agrees(&reading, g);
}

static void scan_whole(struct walk *w)
{
	struct sfs_scan_sink sink = {.ctx = w,
				     .member = take_member,
				     .sample = take_sample,
				     .odd = ask_second_reader};
	struct sfs_scan scan;

	sfs_scan_init(&scan, w->tar->n);
	MUST(sfs_scan_feed(&scan, 0, w->tar->bytes, w->tar->n, &sink) == UINT64_MAX);
	w->members->is_complete = scan.is_complete;
	MUST(scan.is_complete == (scan.err == 0));
	MUST(scan.is_complete == !scan.error.text[0]);
	strcpy(w->members->why, scan.error.text);
	sfs_scan_done(&scan);
}

/* ---- libarchive ---- */

static bool read_data(struct archive *a, struct member *m)
{
	const void *bytes;
	la_int64_t offset;
	size_t n;
	int ret;

	/* What it finds behind the size that it told belongs to nobody. */
	while ((ret = archive_read_data_block(a, &bytes, &n, &offset)) == ARCHIVE_OK)
		if ((uint64_t)offset < m->size)
			m->data_hash +=
				hash_at((uint64_t)offset, bytes,
					n < m->size - (uint64_t)offset
						? n
						: (size_t)(m->size - (uint64_t)offset));
	return ret == ARCHIVE_EOF;
}

/* The type flag of the member whose headers begin at `at`.  As many as 32 headers
 * before that of a member are too many for libarchive, which then makes up one
 * without a name. */
enum { TIRED = '!', MAX_SPECIAL = 32 };

static char type_of(const unsigned char *bytes, size_t n, uint64_t at)
{
	struct sfs_tar_header h;
	int n_special = 0;

	while (at + SFS_TAR_BLOCK <= n) {
		h = sfs_tar_look(bytes + at);
		if (h.kind == SFS_TAR_ODD && h.type == 'V')
			h.size = 0; /* libarchive takes a label for an extension */
		else if (h.kind != SFS_TAR_EXTENSION && h.kind != SFS_TAR_GLOBAL)
			return h.type;
		if (h.size > n)
			break;
		if (++n_special == MAX_SPECIAL)
			return TIRED;
		at += SFS_TAR_BLOCK + sfs_tar_padded(h.size);
	}
	return '?';
}

static bool is_regular(struct archive_entry *entry, char type,
		       const struct fuzz_name *name)
{
	return archive_entry_filetype(entry) == AE_IFREG &&
	       (type == 0 || strchr("07S", type)) &&
	       !(name->n > 0 && name->s[name->n - 1] == '/');
}

static void read_whole(const unsigned char *bytes, size_t n, struct members *all)
{
	struct archive *a = archive_read_new();
	struct archive_entry *entry;
	struct fuzz_name name;
	struct member *m;
	uint64_t at;
	char type;
	int ret;

	MUST(a && archive_read_support_format_tar(a) == ARCHIVE_OK);
	ret = archive_read_open_memory(a, bytes, n);
	while (ret == ARCHIVE_OK || ret == ARCHIVE_WARN) {
		ret = archive_read_next_header(a, &entry);
		if (ret != ARCHIVE_OK && ret != ARCHIVE_WARN)
			break;
		at = (uint64_t)archive_read_header_position(a);
		type = type_of(bytes, n, at);
		if (type == TIRED) {
			ret = ARCHIVE_FATAL;
			break;
		}
		name = fuzz_name_read(bytes + at, n - at);
		m = add(all, name.s, name.n);
		m->is_regular = is_regular(entry, type, &name);
		free(name.s);
		m->has_key = m->is_regular && sfs_key_length(m->name, m->n_name) > 0;
		if (m->is_regular) {
			m->size = (uint64_t)archive_entry_size(entry);
			if (!read_data(a, m)) {
				free(all->m[--all->n].name); /* it has no such member */
				ret = ARCHIVE_FATAL;
				break;
			}
		}
	}
	all->is_complete = ret == ARCHIVE_EOF;
	if (!all->is_complete)
		snprintf(all->why, sizeof all->why, "%s", archive_error_string(a));
	archive_read_free(a);
}

/* ---- both ---- */

static bool is_same(const struct member *a, const struct member *b)
{
	if (!a->is_regular && !b->is_regular)
		return true; /* their names are nobody's concern */
	return a->n_name == b->n_name &&
	       (a->n_name == 0 || memcmp(a->name, b->name, a->n_name) == 0) &&
	       a->is_regular == b->is_regular && a->size == b->size &&
	       a->data_hash == b->data_hash;
}

static void print(const char *who, const struct members *all, size_t i)
{
	const struct member *m = i < all->n ? &all->m[i] : NULL;

	fprintf(stderr, "%s: %zu members, %s; number %zu: ", who, all->n,
		all->is_complete ? "complete" : all->why, i);
	if (i < all->n)
		fprintf(stderr, "%s, %llu bytes, %016llx '%.*s'\n",
			m->is_regular ? "file" : "other", (unsigned long long)m->size,
			(unsigned long long)m->data_hash, (int)m->n_name, m->name);
	else
		fprintf(stderr, "none\n");
}

/* Up to where one of them reports an error. */
static bool agree(const char *a_name, const struct members *a, const char *b_name,
		  const struct members *b)
{
	bool is_doubted = false; /* the one before */
	size_t i = 0;

	while (i < a->n && i < b->n && !a->m[i].is_disputed &&
	       is_same(&a->m[i], &b->m[i])) {
		/* Both agree about the one before, and where it ended. */
		MUST(!is_doubted || !a->m[i].is_regular);
		is_doubted = a->m[i].is_doubted;
		i++;
	}
	if (i < a->n && a->m[i].is_disputed)
		return true;
	if (i == a->n && (i == b->n || !a->is_complete))
		return true;
	if (i == b->n && !b->is_complete)
		return true;
	print(a_name, a, i);
	print(b_name, b, i);
	return false;
}

static bool is_any_disputed(const struct members *all)
{
	size_t i;

	for (i = 0; i < all->n; i++)
		if (all->m[i].is_disputed)
			return true;
	return false;
}

/* What a stream of this shard alone would be. */
static void read_stream(const struct walk *w, const struct members *ours)
{
	struct fuzz_tar stream = {.n = 0};
	struct members wanted = {.is_complete = true}, got = {.n = 0};
	struct sfs_tar_entry entry;
	uint64_t at;
	size_t i, n, start, n_globals;

	/* libarchive is choosy about the first header of a file only. */
	fuzz_tar_header(&stream, FUZZ_USTAR, "first", 5, '0', 0);
	for (i = 0; i < w->n_extents; i++) {
		start = stream.n;
		fuzz_tar_add(&stream, w->tar->bytes + w->extents[i].start,
			     (size_t)w->extents[i].n_bytes);
		for (at = start, n_globals = 0; at < stream.n; at += entry.next) {
			n_globals += stream.bytes[at + SFS_TAR_TYPE] == 'g';
			MUST(sfs_tar_entry_read(stream.bytes + at, stream.n - at,
						stream.n - at, &entry, NULL) == 0);
			MUST(sfs_rewrite_entry(stream.bytes + at, &entry, NULL, NULL) ==
			     0);
			sfs_tar_entry_done(&entry);
		}
		MUST(w->extents[i].has_global == (n_globals > 0));
	}
	fuzz_tar_grow(&stream, 1024);
	read_whole(stream.bytes, stream.n, &got);
	for (i = n = 0; i < got.n; i++)
		if (got.m[i].has_key)
			got.m[n++] = got.m[i];
		else
			free(got.m[i].name);
	got.n = n;
	wanted.m = calloc(ours->n + 1, sizeof *wanted.m);
	for (i = 0; i < ours->n; i++)
		if (ours->m[i].has_key)
			wanted.m[wanted.n++] = ours->m[i];
	MUST(agree("the samples", &wanted, "their stream", &got));
	MUST(got.is_complete);
	free(stream.bytes);
	free(wanted.m);
	done(&got);
}

static void write_tar(unsigned number, const struct fuzz_tar *tar)
{
	FILE *f = fuzz_open_out(number, "tar");

	if (f)
		MUST(fwrite(tar->bytes, 1, tar->n, f) == tar->n && fclose(f) == 0);
}

static void write_list(unsigned number, const struct members *ours)
{
	FILE *f = fuzz_open_out(number, "list");
	size_t i, n = 0;
	char hash[20];

	if (!f)
		return;
	while (n < ours->n && !ours->m[n].is_map_damaged)
		n++;
	fprintf(f, "%s\n", ours->is_complete && n == ours->n ? "complete" : "refused");
	for (i = 0; i < n; i++) {
		if (!ours->m[i].has_key)
			continue;
		snprintf(hash, sizeof hash, "%016llx",
			 (unsigned long long)ours->m[i].data_hash);
		fuzz_list(f, ours->m[i].size, hash, ours->m[i].name, ours->m[i].n_name);
	}
	fclose(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct fuzz_tar tar = fuzz_tar_make(data, n);
	struct members ours = {.n = 0}, theirs = {.n = 0};
	struct walk walk = {.tar = &tar, .members = &ours};
	static unsigned number;

	write_tar(++number, &tar);
	scan_whole(&walk);
	write_list(number, &ours);
	read_whole(tar.bytes, tar.n, &theirs);
	MUST(agree("shufflefs", &ours, "libarchive", &theirs));
	if (tar.is_sound && !ours.is_complete)
		print("shufflefs", &ours, 0);
	/* Files whose names end as those of folders do are refused. */
	MUST(ours.is_complete || !tar.is_sound || strstr(ours.why, "ends in a slash"));
	if (ours.is_complete && theirs.is_complete && !is_any_disputed(&ours))
		read_stream(&walk, &ours);
	free(walk.extents);
	free(tar.bytes);
	done(&ours);
	done(&theirs);
	return 0;
}
