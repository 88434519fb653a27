/* SPDX-License-Identifier: MIT */
/* maketar - a whole tar file out of a fuzz input.
 *
 * The first byte chooses.  'R': what follows is the file itself; the checksum of whatever
 * looks like a header is repaired, so that mutations get behind it (but for 'r').  Any
 * other: what follows is a program that writes members of every dialect, spoils some
 * of their bytes, and repairs the checksum most of the time. */
#ifndef SFS_TESTS_MAKETAR_H
#define SFS_TESTS_MAKETAR_H

#include "fuzz.h"

#include "tar/header.h"

enum { FUZZ_TAR_MOST = 64 * 1024, FUZZ_TAR_BODY_MOST = 1200 };

struct fuzz_tar {
	unsigned char *bytes;
	size_t n, capacity;
	/* Nothing was spoilt, and only what every reader takes was written: it must be
	 * accepted. */
	bool is_sound;
};

/* ---- bytes ---- */

static inline unsigned char *fuzz_tar_grow(struct fuzz_tar *t, size_t n)
{
	if (t->n + n >= t->capacity) {
		t->capacity = 2 * (t->n + n) + 4096;
		t->bytes = realloc(t->bytes, t->capacity);
		if (!t->bytes)
			abort();
	}
	memset(t->bytes + t->n, 0, n);
	t->n += n;
	return t->bytes + t->n - n;
}

/* The end of the file is the end of the memory, so that ASan sees one byte too far. */
static inline void fuzz_tar_fit(struct fuzz_tar *t)
{
	unsigned char *bytes = fuzz_copy(t->bytes ? t->bytes : (unsigned char *)"", t->n);

	free(t->bytes);
	t->bytes = bytes;
	t->capacity = t->n;
}

static inline void fuzz_tar_pad(struct fuzz_tar *t)
{
	fuzz_tar_grow(t, sfs_tar_padded(t->n) - t->n);
}

static inline void fuzz_tar_add(struct fuzz_tar *t, const void *bytes, size_t n)
{
	unsigned char *p = fuzz_tar_grow(t, n);

	if (n > 0)
		memcpy(p, bytes, n);
}

/* A member's data: no zeros, so that no hole of a sparse file is taken for them. */
static inline void fuzz_tar_fill(struct fuzz_tar *t, size_t n)
{
	unsigned char *p = fuzz_tar_grow(t, n);
	size_t i;

	for (i = 0; i < n; i++)
		p[i] = (unsigned char)(1 + (t->n + i) % 255);
	fuzz_tar_pad(t);
}

static inline void fuzz_tar_octal(unsigned char *field, size_t n, uint64_t v)
{
	field[n - 1] = 0;
	for (n--; n > 0; v >>= 3)
		field[--n] = (unsigned char)('0' + (v & 7));
}

static inline void fuzz_tar_base256(unsigned char *field, size_t n, uint64_t v)
{
	for (; n > 0; v >>= 8)
		field[--n] = (unsigned char)v;
	field[0] |= 0x80;
}

/* ---- the program's parts ---- */

/* Names that readers might take apart differently. */
static inline size_t fuzz_tar_name(struct fuzz_in *in, struct fuzz_tar *t, char *name,
				   size_t room)
{
	static const char *const names[] = {
		"a.jpg",
		"a.cls",
		"b.jpg",
		"dir/000001.seg.png",
		"./000002.JSON",
		"x/y/z.w",
		"noext",
		".hidden",
		"d.e/f",
		"__m__/a.b",
		"caf\xc3\xa9.txt",
		"../up.bin",
		"/abs.bin",
		"0001.",
		/* The same to those who normalise; and what is no UTF-8 to some. */
		"cafe\xcc\x81.txt",
		"\xea\xb0\x80.a",
		"\xe1\x84\x80\xe1\x85\xa1.a",
		"\xed\xa0\xbd\xed\xb8\x80.a",
		"\xff\xfe.bin",
	};
	static const char *const strange[] = {
		"",	 "/",	   "x/",    "a.jpg/", "./", "new\nline.txt",
		"//a.b", "a//b.c", " a.b ",
	};
	static const uint16_t lengths[] = {99,	100, 101, 155, 156,
					   255, 256, 257, 300, 600};
	size_t n, i, how = fuzz_below(in, 32);

	if (how < 20) {
		n = (size_t)snprintf(name, room, "%s",
				     names[fuzz_below(in, sizeof names / sizeof *names)]);
	} else if (how < 24) {
		t->is_sound = false;
		n = (size_t)snprintf(
			name, room, "%s",
			strange[fuzz_below(in, sizeof strange / sizeof *strange)]);
	} else if (how < 28) {
		n = lengths[fuzz_below(in, sizeof lengths / sizeof *lengths)];
		n = n < room ? n : room - 1;
		for (i = 0; i < n; i++)
			name[i] = i % 50 == 49 && i + 1 < n ? '/' : (char)('a' + i % 26);
		if (n > 4)
			name[n - 4] = '.';
		name[n] = 0;
	} else {
		n = (size_t)snprintf(name, room, "%05u.%s", fuzz_byte(in),
				     fuzz_byte(in) & 1 ? "jpg" : "cls");
	}
	return n < room ? n : room - 1;
}

enum fuzz_tar_dialect { FUZZ_USTAR, FUZZ_GNU, FUZZ_V7 };

static inline size_t fuzz_tar_header(struct fuzz_tar *t, enum fuzz_tar_dialect dialect,
				     const char *name, size_t n_name, char type,
				     uint64_t size)
{
	unsigned char *h = fuzz_tar_grow(t, SFS_TAR_BLOCK);
	size_t cut = 0;

	if (n_name > SFS_TAR_NAME_BYTES && dialect == FUZZ_USTAR) {
		for (cut = n_name - SFS_TAR_NAME_BYTES - 1; cut < n_name; cut++)
			if (name[cut] == '/' && cut > 0)
				break;
		if (cut >= n_name || cut > SFS_TAR_PREFIX_BYTES)
			cut = 0;
	}
	if (cut > 0) {
		memcpy(h + SFS_TAR_PREFIX, name, cut);
		name += cut + 1;
		n_name -= cut + 1;
	}
	n_name = n_name < SFS_TAR_NAME_BYTES ? n_name : SFS_TAR_NAME_BYTES;
	memcpy(h, name, n_name);
	if (size > 0 && n_name > 0 && name[n_name - 1] == '/')
		t->is_sound = false; /* a folder with data */
	fuzz_tar_octal(h + 100, 8, 0644);
	fuzz_tar_octal(h + 108, 8, 1000);
	fuzz_tar_octal(h + 116, 8, 1000);
	if (size >> 33)
		fuzz_tar_base256(h + 124, 12, size);
	else
		fuzz_tar_octal(h + 124, 12, size);
	fuzz_tar_octal(h + 136, 12, 1700000000);
	h[SFS_TAR_TYPE] = (unsigned char)type;
	if (dialect == FUZZ_USTAR)
		memcpy(h + SFS_TAR_MAGIC, "ustar\00000", 8);
	else if (dialect == FUZZ_GNU)
		memcpy(h + SFS_TAR_MAGIC, "ustar  ", 8);
	sfs_tar_seal(h);
	return t->n - SFS_TAR_BLOCK;
}

/* ---- pax bodies ---- */

struct fuzz_pax {
	char s[8192];
	size_t n;
};

static inline void fuzz_pax_add(struct fuzz_pax *p, const char *key, const void *value,
				size_t n_value)
{
	size_t body = strlen(key) + n_value + 3, n = body + 1;
	char digits[24];

	while (n != body + (size_t)snprintf(digits, sizeof digits, "%zu", n))
		n = body + strlen(digits);
	if (p->n + n >= sizeof p->s)
		return;
	p->n += (size_t)sprintf(p->s + p->n, "%zu %s=", n, key);
	memcpy(p->s + p->n, value, n_value);
	p->n += n_value;
	p->s[p->n++] = '\n';
}

static inline void fuzz_pax_number(struct fuzz_pax *p, const char *key, uint64_t v)
{
	char digits[24];

	fuzz_pax_add(p, key, digits,
		     (size_t)snprintf(digits, sizeof digits, "%llu",
				      (unsigned long long)v));
}

static inline void fuzz_tar_extension(struct fuzz_tar *t, char type, const void *body,
				      size_t n)
{
	fuzz_tar_header(t, type == 'L' || type == 'K' ? FUZZ_GNU : FUZZ_USTAR, "ext/x", 5,
			type, n);
	fuzz_tar_add(t, body, n);
	fuzz_tar_pad(t);
}

/* Records that change nothing that a stream depends on. */
static inline void fuzz_pax_harmless(struct fuzz_in *in, struct fuzz_pax *p)
{
	unsigned which = fuzz_byte(in);

	if (which & 1)
		fuzz_pax_add(p, "mtime", "1700000001.25", 13);
	if (which & 2)
		fuzz_pax_add(p, "uname", "someone", 7);
	if (which & 4)
		fuzz_pax_number(p, "uid", 5000000);
	if (which & 8)
		fuzz_pax_add(p, "SCHILY.xattr.user.x", "\x00\x01", 2);
	if (which & 16)
		fuzz_pax_add(p, "comment", "none", 4);
	if (which & 32)
		fuzz_pax_add(p, "atime", "1", 1);
}

/* ---- sparse files ---- */

struct fuzz_sparse {
	size_t n_runs;
	struct {
		uint64_t offset, n_bytes;
	} runs[24];
	uint64_t size, stored;
};

static inline struct fuzz_sparse fuzz_sparse_plan(struct fuzz_in *in)
{
	struct fuzz_sparse s = {.n_runs = fuzz_below(in, 24)};
	size_t i;

	for (i = 0; i < s.n_runs; i++) {
		s.size += 512 * fuzz_below(in, 9);
		s.runs[i].offset = s.size;
		s.runs[i].n_bytes = 512 * fuzz_below(in, 4);
		if (i + 1 == s.n_runs)
			s.runs[i].n_bytes += fuzz_below(in, 512);
		s.size += s.runs[i].n_bytes;
		s.stored += s.runs[i].n_bytes;
	}
	if (fuzz_byte(in) & 1)
		s.size += 512 * fuzz_below(in, 20);
	return s;
}

static inline void fuzz_sparse_gnu(struct fuzz_tar *t, const struct fuzz_sparse *s,
				   const char *name, size_t n_name)
{
	size_t at = fuzz_tar_header(t, FUZZ_GNU, name, n_name, 'S', s->stored), i, k;
	unsigned char *h = t->bytes + at, *p;

	for (i = 0; i < s->n_runs && i < 4; i++) {
		fuzz_tar_octal(h + 386 + 24 * i, 12, s->runs[i].offset);
		fuzz_tar_octal(h + 398 + 24 * i, 12, s->runs[i].n_bytes);
	}
	h[482] = s->n_runs > 4;
	fuzz_tar_octal(h + 483, 12, s->size);
	sfs_tar_seal(h);
	while (i < s->n_runs) {
		p = fuzz_tar_grow(t, SFS_TAR_BLOCK);
		for (k = 0; k < 21 && i < s->n_runs; k++, i++) {
			fuzz_tar_octal(p + 24 * k, 12, s->runs[i].offset);
			fuzz_tar_octal(p + 12 + 24 * k, 12, s->runs[i].n_bytes);
		}
		p[504] = i < s->n_runs;
	}
	fuzz_tar_fill(t, s->stored);
}

static inline void fuzz_sparse_pax(struct fuzz_tar *t, const struct fuzz_sparse *s,
				   int version, const char *name, size_t n_name)
{
	struct fuzz_pax p = {.n = 0};
	char map[2048] = "";
	size_t i, n = 0;

	if (version > 0 && s->stored % 2) /* GNU tar does so, if the name is no ASCII */
		fuzz_pax_add(&p, "path", "GNUSparseFile.2/x.jpg", 21);
	if (version < 2) {
		fuzz_pax_number(&p, "GNU.sparse.size", s->size);
		fuzz_pax_number(&p, "GNU.sparse.numblocks", s->n_runs);
	} else {
		fuzz_pax_number(&p, "GNU.sparse.major", 1);
		fuzz_pax_number(&p, "GNU.sparse.minor", 0);
		fuzz_pax_number(&p, "GNU.sparse.realsize", s->size);
		n = (size_t)sprintf(map, "%zu\n", s->n_runs);
	}
	if (version > 0)
		fuzz_pax_add(&p, "GNU.sparse.name", name, n_name);
	for (i = 0; i < s->n_runs; i++) {
		if (version == 0) {
			fuzz_pax_number(&p, "GNU.sparse.offset", s->runs[i].offset);
			fuzz_pax_number(&p, "GNU.sparse.numbytes", s->runs[i].n_bytes);
			continue;
		}
		n += (size_t)sprintf(map + n,
				     version == 1 ? "%s%llu,%llu" : "%s%llu\n%llu\n",
				     version == 1 && i > 0 ? "," : "",
				     (unsigned long long)s->runs[i].offset,
				     (unsigned long long)s->runs[i].n_bytes);
	}
	if (version == 1)
		fuzz_pax_add(&p, "GNU.sparse.map", map, n);
	fuzz_tar_extension(t, 'x', p.s, p.n);
	if (version == 2) {
		fuzz_tar_header(t, FUZZ_USTAR, "GNUSparseFile.1/x", 17, '0',
				sfs_tar_padded(n) + s->stored);
		fuzz_tar_add(t, map, n);
		fuzz_tar_pad(t);
	} else {
		fuzz_tar_header(t, FUZZ_USTAR, version ? "GNUSparseFile.1/x" : name,
				version ? 17 : n_name, '0', s->stored);
	}
	fuzz_tar_fill(t, s->stored);
}

/* ---- members ---- */

static inline void fuzz_tar_member(struct fuzz_in *in, struct fuzz_tar *t)
{
	static const char odd_types[] = "1234567SLKADIMNVXxgEFa";
	enum fuzz_tar_dialect dialect = (enum fuzz_tar_dialect)fuzz_below(in, 3);
	struct fuzz_pax p = {.n = 0};
	struct fuzz_sparse sparse;
	char name[700];
	size_t n_name, size, at, kind = fuzz_below(in, 24);

	n_name = fuzz_tar_name(in, t, name, sizeof name);
	size = fuzz_below(in, FUZZ_TAR_BODY_MOST);
	switch (kind) {
	case 0: /* an extension that says little, as Python writes */
	case 1:
	case 2:
		fuzz_pax_harmless(in, &p);
		fuzz_tar_extension(t, 'x', p.s, p.n);
		fuzz_tar_header(t, FUZZ_USTAR, name, n_name, '0', size);
		break;
	case 3: /* a long name */
	case 4:
		fuzz_pax_harmless(in, &p);
		fuzz_pax_add(&p, "path", name, n_name);
		fuzz_tar_extension(t, fuzz_once_in(in, 8) ? 'X' : 'x', p.s, p.n);
		fuzz_tar_header(t, FUZZ_USTAR, "short", 5, '0', size);
		break;
	case 5:
	case 6:
		fuzz_tar_extension(t, 'L', name, n_name + (fuzz_byte(in) % 4 != 3));
		fuzz_tar_header(t, FUZZ_GNU, name, n_name, '0', size);
		break;
	case 7: /* a size in the extension */
		fuzz_pax_number(&p, "size", size);
		fuzz_pax_add(&p, "path", name, n_name);
		fuzz_tar_extension(t, 'x', p.s, p.n);
		fuzz_tar_header(t, FUZZ_USTAR, name, n_name, '0',
				fuzz_byte(in) & 1 ? size : fuzz_below(in, 2000));
		break;
	case 8: /* base-256 */
		at = fuzz_tar_header(t, dialect, name, n_name, '0', size);
		fuzz_tar_base256(t->bytes + at + 124, 12, size);
		sfs_tar_seal(t->bytes + at);
		break;
	case 9:
	case 10:
		sparse = fuzz_sparse_plan(in);
		t->is_sound &= sparse.n_runs > 0; /* tars write one of no bytes */
		fuzz_sparse_gnu(t, &sparse, name, n_name);
		return;
	case 11:
	case 12:
	case 13:
		sparse = fuzz_sparse_plan(in);
		t->is_sound &= sparse.n_runs > 0; /* tars write one of no bytes */
		fuzz_sparse_pax(t, &sparse, (int)kind - 11, name, n_name);
		return;
	case 14: /* links and folders */
	case 15:
		at = fuzz_tar_header(t, dialect, name, n_name, "1235"[fuzz_below(in, 4)],
				     0);
		memcpy(t->bytes + at + 157, "a.jpg", 5);
		sfs_tar_seal(t->bytes + at);
		return;
	case 16:
		fuzz_tar_extension(t, 'K', name, n_name + 1);
		fuzz_tar_header(t, FUZZ_GNU, "link.txt", 8, fuzz_byte(in) & 1 ? '1' : '2',
				0);
		return;
	case 17: /* a global header */
		fuzz_pax_harmless(in, &p);
		fuzz_pax_add(&p, "comment", name, n_name);
		if (fuzz_once_in(in, 4)) {
			fuzz_pax_add(&p, "path", name, n_name);
			t->is_sound = false;
		}
		fuzz_tar_extension(t, 'g', p.s, p.n);
		return;
	case 18: /* whatever follows */
		t->is_sound = false;
		fuzz_tar_header(t, dialect, name, n_name,
				odd_types[fuzz_below(in, sizeof odd_types - 1)], size);
		if (fuzz_byte(in) & 1)
			return;
		break;
	case 19: /* zeros in the middle */
		t->is_sound = false;
		fuzz_tar_grow(t, SFS_TAR_BLOCK * (1 + fuzz_below(in, 3)));
		return;
	case 20: /* two extensions */
		t->is_sound = false;
		fuzz_tar_extension(t, 'L', name, n_name + 1);
		fuzz_pax_harmless(in, &p);
		n_name = fuzz_tar_name(in, t, name, sizeof name);
		if (fuzz_byte(in) & 1)
			fuzz_pax_add(&p, "path", name, n_name);
		fuzz_tar_extension(t, fuzz_byte(in) % 4 ? 'x' : 'L', p.s, p.n);
		fuzz_tar_header(t, dialect, name, n_name, '0', size);
		break;
	default:
		fuzz_tar_header(t, dialect, name, n_name, dialect == FUZZ_V7 ? 0 : '0',
				size);
	}
	fuzz_tar_fill(t, size);
}

/* Change bytes of the blocks from `at` on, most of the time with the right checksum. */
static inline void fuzz_tar_spoil(struct fuzz_in *in, struct fuzz_tar *t, size_t at)
{
	static const unsigned char fields[] = {0,   99,	 100, 124, 135,
					       136, 148, 156, 157, 255};
	size_t n = 1 + fuzz_below(in, 4), where, block;

	t->is_sound = false;
	while (n-- > 0 && t->n > at) {
		where = fuzz_byte(in) & 1 ? fields[fuzz_below(in, sizeof fields)]
					  : fuzz_below(in, 2 * SFS_TAR_BLOCK);
		where = at + where % (t->n - at);
		t->bytes[where] = (unsigned char)fuzz_byte(in);
		block = where / SFS_TAR_BLOCK * SFS_TAR_BLOCK;
		if (block + SFS_TAR_BLOCK <= t->n && block == at && !fuzz_once_in(in, 16))
			sfs_tar_seal(t->bytes + block);
	}
}

static inline void fuzz_tar_end(struct fuzz_in *in, struct fuzz_tar *t)
{
	switch (fuzz_below(in, 16)) {
	case 13:
		t->is_sound = false; /* no trailer */
		return;
	case 14:
		t->is_sound = false; /* cut anywhere */
		fuzz_tar_grow(t, 1024);
		t->n = fuzz_below(in, t->n + 1);
		return;
	case 15:
		t->is_sound = false; /* junk behind the end */
		fuzz_tar_grow(t, 1024);
		*fuzz_tar_grow(t, 1 + fuzz_below(in, 1024)) = 'j';
		return;
	default: fuzz_tar_grow(t, 1024 + 512 * fuzz_below(in, 20));
	}
}

/* Any bytes as a tar file, headers repaired where they are one behind the other. */
static inline void fuzz_tar_repair(struct fuzz_tar *t)
{
	struct sfs_tar_header h;
	size_t at = 0;

	while (t->n - at >= SFS_TAR_BLOCK) {
		if (!sfs_tar_is_zero(t->bytes + at, SFS_TAR_BLOCK))
			sfs_tar_seal(t->bytes + at);
		h = sfs_tar_look(t->bytes + at);
		at += SFS_TAR_BLOCK;
		if (h.kind != SFS_TAR_ODD && h.size < t->n)
			at += sfs_tar_padded(h.size);
		while (h.kind == SFS_TAR_ODD && t->n - at >= SFS_TAR_BLOCK &&
		       memcmp(t->bytes + at + SFS_TAR_MAGIC, "ustar", 5) != 0)
			at += SFS_TAR_BLOCK;
		if (at > t->n)
			break;
	}
}

static inline struct fuzz_tar fuzz_tar_make(const uint8_t *data, size_t n)
{
	struct fuzz_in in = {data, n};
	unsigned how = fuzz_byte(&in);
	struct fuzz_tar t = {.is_sound = true};
	size_t at;

	if (how == 'R' || how == 'r') {
		t.is_sound = false;
		fuzz_tar_add(&t, in.p, in.n < FUZZ_TAR_MOST ? in.n : FUZZ_TAR_MOST);
		if (how == 'R')
			fuzz_tar_repair(&t);
		fuzz_tar_fit(&t);
		return t;
	}
	while (in.n > 2 && t.n < FUZZ_TAR_MOST) {
		at = t.n;
		fuzz_tar_member(&in, &t);
		if (fuzz_once_in(&in, 6))
			fuzz_tar_spoil(&in, &t, at);
	}
	fuzz_tar_end(&in, &t);
	fuzz_tar_fit(&t);
	return t;
}

#endif
