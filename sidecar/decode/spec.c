/* SPDX-License-Identifier: MIT */
/* How this works
 *
 * One pass over the text, token by token; a token ends before any of ";|:,=".  `at` is
 * where the token in hand began, which is what an error points at.  The arguments of a
 * tensor are read by the kind of its field, which its first argument or its extension
 * tells.
 */
#include "decode/spec.h"

#include "ring/layout.h"

#include "base/alloc.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENDS	 ";|:,="
#define SIDE_MAX 32768 /* pixels */

#define IMAGE_WORDS \
	"rgb, gray, 224, 224x320, crop, fit, 'fit 256,crop 224', rrc, flip, fast, nchw or f4"
#define DTYPE_WORDS "u1, u2, u4, u8, i1, i2, i4, i8, f2, f4, f8, b1 or bf2"
#define ANY_WORDS   "rgb, gray, npy, ten, i4, i8, 'bytes,N' or 'raw,DTYPE,SHAPE'"

struct parser {
	const char *text, *next; /* what is not read yet */
	const char *at;		 /* the token in hand, of n bytes */
	size_t n;
	struct sfs_spec *spec;
	struct sfs_spec_tensor *t; /* the tensor in hand */
	const char *t_at;	   /* where it began */
	struct sfs_error *err;
};

/* Bytes that go on with a UTF-8 character do not count. */
static unsigned count_characters(const char *from, const char *to)
{
	unsigned n = 0;

	for (; from < to; from++)
		n += (*from & 0xc0) != 0x80;
	return n;
}

__attribute__((format(printf, 2, 3))) static int fail(struct parser *p,
						      const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	return sfs_error_set(p->err, -EINVAL, "--fields: character %u: %s",
			     count_characters(p->text, p->at) + 1, text);
}

/* "'rgg'" for messages: the token in hand. */
#define TOKEN(p) (int)((p)->n < 80 ? (p)->n : 80), (p)->at

static void read_token(struct parser *p)
{
	p->at = p->next;
	p->n = strcspn(p->at, ENDS);
	p->next = p->at + p->n;
}

/* Step over `c`, if it is what comes. */
static bool spec_take(struct parser *p, char c)
{
	if (*p->next != c)
		return false;
	p->next++;
	return true;
}

static bool is(const struct parser *p, const char *word)
{
	return p->n == strlen(word) && memcmp(p->at, word, p->n) == 0;
}

static bool is_among(const char *word, const char *const *words)
{
	for (; *words; words++)
		if (strcmp(*words, word) == 0)
			return true;
	return false;
}

static int check_token(struct parser *p, const char *what)
{
	size_t i;

	if (p->n == 0)
		return fail(p, "%s is missing here", what);
	for (i = 0; i < p->n; i++)
		if ((unsigned char)p->at[i] <= ' ' || p->at[i] == 0x7f)
			return fail(p, "'%.*s': %s has no spaces", TOKEN(p), what);
	return 0;
}

static int add_field(struct parser *p)
{
	size_t i;
	int ret = check_token(p, "the name of a field");

	if (ret < 0)
		return ret;
	for (i = 0; i < p->n; i++)
		if (p->at[i] >= 'A' && p->at[i] <= 'Z')
			return fail(p, "'%.*s': write fields in lower case", TOKEN(p));
	if (p->t->n_fields == SFS_SPEC_FIELDS_MAX)
		return fail(p, "a tensor has at most %d fields to choose from",
			    SFS_SPEC_FIELDS_MAX);
	p->t->fields[p->t->n_fields++] = sfs_strndup(p->at, p->n);
	return 0;
}

static int set_name(struct parser *p)
{
	int ret = check_token(p, "the name of a tensor");

	if (ret < 0)
		return ret;
	if (p->n >= sizeof p->t->name)
		return fail(p,
			    "'%.*s' is too long: a tensor's name has at most %zu bytes; "
			    "give it one with NAME=FIELD",
			    TOKEN(p), sizeof p->t->name - 1);
	memcpy(p->t->name, p->at, p->n);
	return 0;
}

/* [ NAME "=" ] FIELD { "|" FIELD } */
static int read_fields(struct parser *p)
{
	int ret;

	read_token(p);
	ret = set_name(p);
	if (ret < 0)
		return ret;
	if (spec_take(p, '='))
		read_token(p);
	ret = add_field(p);
	while (ret == 0 && spec_take(p, '|')) {
		read_token(p);
		ret = add_field(p);
	}
	return ret;
}

/* "224", up to `max`; false: it is none. */
static bool read_number(const char **s, uint64_t max, uint64_t *ret_n)
{
	uint64_t n = 0;
	const char *p = *s;

	for (; *p >= '0' && *p <= '9'; p++) {
		n = n * 10 + (uint64_t)(*p - '0');
		if (n > max)
			return false;
	}
	if (p == *s || n == 0)
		return false;
	*s = p;
	*ret_n = n;
	return true;
}

/* "3x32x32", which begins at `s`: up to `max_rank` numbers. */
static bool read_dims(const struct parser *p, const char *s, uint64_t max,
		      uint32_t max_rank, uint64_t *ret_dims, uint32_t *ret_rank)
{
	uint32_t rank = 0;

	do {
		if (rank == max_rank || !read_number(&s, max, &ret_dims[rank]))
			return false;
		rank++;
	} while (*s == 'x' && s++);
	*ret_rank = rank;
	return s == p->next;
}

/* What the options of an image are about, as bits: each may be said once. */
enum group {
	CHANNELS = 1,
	SIZE = 2,
	MODE = 4,
	SHORTER = 8, /* the side that an image is resized to before it is cut */
	FLIP = 16,
	PLANES = 32,
	FLOATS = 64,
	FAST = 128
};

static bool read_size(struct parser *p, const char *s)
{
	uint64_t dims[2];
	uint32_t rank;

	if (!read_dims(p, s, SIDE_MAX, 2, dims, &rank))
		return false;
	p->t->height = (uint32_t)dims[0];
	p->t->width = (uint32_t)dims[rank - 1];
	return true;
}

/* "fit 256" and "crop 224".  0: it is neither. */
static unsigned read_image_step(struct parser *p)
{
	const char *s = p->at + strlen("fit ");
	uint64_t side;

	if (strncmp(p->at, "fit ", strlen("fit ")) == 0) {
		if (!read_number(&s, SIDE_MAX, &side) || s != p->next)
			return 0;
		p->t->shorter = (uint32_t)side;
		return SHORTER;
	}
	if (strncmp(p->at, "crop ", strlen("crop ")) == 0 &&
	    read_size(p, p->at + strlen("crop "))) {
		p->t->mode = SFS_SPEC_CROP;
		return SIZE | MODE;
	}
	return 0;
}

/* Which groups the option in hand is of; 0: it is none. */
static unsigned read_image_word(struct parser *p)
{
	static const struct {
		const char *word;
		enum group group;
		int value;
	} words[] = {{"rgb", CHANNELS, 3},	    {"gray", CHANNELS, 1},
		     {"crop", MODE, SFS_SPEC_CROP}, {"fit", MODE, SFS_SPEC_FIT},
		     {"rrc", MODE, SFS_SPEC_RRC},   {"flip", FLIP, 1},
		     {"nchw", PLANES, 1},	    {"f4", FLOATS, 1},
		     {"fast", FAST, 1}};
	size_t i;

	for (i = 0; i < SFS_COUNT(words) && !is(p, words[i].word); i++)
		;
	if (i == SFS_COUNT(words))
		return read_size(p, p->at) ? SIZE : read_image_step(p);
	switch (words[i].group) {
	case CHANNELS: p->t->n_channels = (uint32_t)words[i].value; break;
	case MODE: p->t->mode = (enum sfs_spec_mode)words[i].value; break;
	case FLIP: p->t->flips = true; break;
	case PLANES: p->t->is_nchw = true; break;
	case FAST: p->t->is_fast = true; break;
	default: strcpy(p->t->dtype, "f4"); break;
	}
	return words[i].group;
}

/* Do the options, which were all read, make sense together? */
static int check_image(struct parser *p, unsigned seen)
{
	const struct sfs_spec_tensor *t = p->t;
	uint32_t longer = t->height > t->width ? t->height : t->width;

	if (seen & MODE && !(seen & SIZE))
		return fail(p, "a size is missing: 224, or 224x320");
	if (seen & FAST && !(seen & SIZE))
		return fail(p, "'fast' is about resizing: give a size, 224 or 224x320");
	if (!(seen & SHORTER))
		return 0;
	if (!(seen & SIZE) || t->mode != SFS_SPEC_CROP)
		return fail(p, "'fit %u' makes images of any width: cut them, as by "
			       "'fit %u,crop %u'",
			    t->shorter, t->shorter, t->shorter);
	if (longer > t->shorter)
		return fail(p, "'fit %u' can make images too small for a crop of %ux%u",
			    t->shorter, t->height, t->width);
	return 0;
}

static int read_image(struct parser *p, bool has_args)
{
	unsigned seen = 0, groups;

	p->t->n_channels = 3;
	strcpy(p->t->dtype, "u1");
	for (; has_args; has_args = spec_take(p, ',')) {
		p->next += strspn(p->next, " ");
		read_token(p);
		groups = read_image_word(p);
		if (groups == 0)
			return fail(p, "'%.*s' is not an image option: " IMAGE_WORDS,
				    TOKEN(p));
		if (seen & groups)
			return fail(p, "'%.*s': an option before it already says this",
				    TOKEN(p));
		if (groups == MODE && !(seen & SIZE) && *p->next != ',')
			return fail(p, "'%.*s' needs a size: 224, or 224x320", TOKEN(p));
		seen |= groups;
	}
	return check_image(p, seen);
}

static int read_dtype(struct parser *p)
{
	char dtype[sizeof p->t->dtype] = "";

	if (p->n < sizeof dtype)
		memcpy(dtype, p->at, p->n);
	if (sfs_dtype_bytes(dtype) == 0)
		return fail(p, "'%.*s' is not a type: " DTYPE_WORDS, TOKEN(p));
	memcpy(p->t->dtype, dtype, sizeof dtype);
	return 0;
}

/* DTYPE,SHAPE */
static int read_array(struct parser *p)
{
	int ret;

	read_token(p);
	ret = read_dtype(p);
	if (ret < 0)
		return ret;
	if (!spec_take(p, ',')) {
		p->at = p->next;
		return fail(p, "a shape is missing: ',3x32x32', or ',1'");
	}
	read_token(p);
	if (!read_dims(p, p->at, SFS_LAYOUT_SLOT_MAX, SHUFFLEFS_DIMS_MAX - 1,
		       p->t->dims, &p->t->rank))
		return fail(p, "'%.*s' is not a shape: 3x32x32, at most %d numbers",
			    TOKEN(p), SHUFFLEFS_DIMS_MAX - 1);
	return 0;
}

static int read_bytes(struct parser *p)
{
	const char *s;

	if (!spec_take(p, ',')) {
		p->at = p->next;
		return fail(p, "a number of bytes is missing: ',200'");
	}
	read_token(p);
	s = p->at;
	if (!read_number(&s, INT32_MAX, &p->t->n_bytes) || s != p->next)
		return fail(p, "'%.*s' is not a number of bytes: 1 to %d", TOKEN(p),
			    INT32_MAX); /* (its _len is an i4) */
	if (strlen(p->t->name) + strlen("_len") >= sizeof p->t->name) {
		p->at = p->t_at;
		return fail(p,
			    "'%s' is too long for a tensor %s_len beside it; give it a "
			    "name with NAME=FIELD",
			    p->t->name, p->t->name);
	}
	strcpy(p->t->dtype, "u1");
	return 0;
}

static int read_integer(struct parser *p, bool has_args)
{
	if (has_args) {
		read_token(p);
		if (!is(p, "i4") && !is(p, "i8"))
			return fail(p, "'%.*s' is not an option of a number: i4 or i8",
				    TOKEN(p));
	}
	strcpy(p->t->dtype, has_args && is(p, "i8") ? "i8" : "i4");
	return 0;
}

/* npy and ten: what is in the file, or DTYPE,SHAPE. */
static int read_file_array(struct parser *p, bool has_args, const char *word)
{
	if (!has_args)
		return 0;
	read_token(p);
	if (is(p, word)) {
		if (!spec_take(p, ','))
			return 0;
	} else {
		p->next = p->at;
	}
	return read_array(p);
}

/* The kind that an extension means; BYTES: it means none. */
static enum sfs_spec_kind kind_of_extension(const char *field)
{
	static const char *const images[] = {"jpg", "jpeg", "png", NULL};
	static const char *const numbers[] = {"cls", "cls2", "index", "inx", "id", NULL};
	const char *dot = strrchr(field, '.'), *extension = dot ? dot + 1 : field;

	if (is_among(extension, images))
		return SFS_SPEC_IMAGE;
	if (is_among(extension, numbers))
		return SFS_SPEC_INT;
	if (strcmp(extension, "npy") == 0)
		return SFS_SPEC_NPY;
	if (strcmp(extension, "ten") == 0 || strcmp(extension, "tb") == 0)
		return SFS_SPEC_TEN;
	return SFS_SPEC_BYTES;
}

/* The kind that the argument in hand means, whatever the extension. */
static bool kind_of_argument(const struct parser *p, enum sfs_spec_kind *ret_kind)
{
	static const struct {
		const char *word;
		enum sfs_spec_kind kind;
	} words[] = {{"rgb", SFS_SPEC_IMAGE}, {"gray", SFS_SPEC_IMAGE},
		     {"npy", SFS_SPEC_NPY},   {"ten", SFS_SPEC_TEN},
		     {"raw", SFS_SPEC_RAW},   {"bytes", SFS_SPEC_BYTES}};
	size_t i;

	for (i = 0; i < SFS_COUNT(words); i++)
		if (is(p, words[i].word)) {
			*ret_kind = words[i].kind;
			return true;
		}
	return false;
}

/* What the first argument, which is looked at only, or the extension tells. */
static int find_kind(struct parser *p, bool has_args)
{
	const char *field = p->t->fields[0];
	enum sfs_spec_kind kind = kind_of_extension(field);

	if (has_args)
		read_token(p);
	else
		p->at = p->next;
	if (has_args && kind_of_argument(p, &p->t->kind)) {
		p->next = p->at;
		return 0;
	}
	if (kind == SFS_SPEC_BYTES && has_args && (is(p, "i4") || is(p, "i8")))
		kind = SFS_SPEC_INT;
	if (kind == SFS_SPEC_BYTES && has_args)
		return fail(p, "'%.*s' is not an option of field '%.80s': " ANY_WORDS,
			    TOKEN(p), field);
	if (kind == SFS_SPEC_BYTES)
		return fail(p, "field '%.80s' needs ':' and what it is: " ANY_WORDS,
			    field);
	p->t->kind = kind;
	p->next = has_args ? p->at : p->next;
	return 0;
}

static int read_args(struct parser *p)
{
	bool has_args = spec_take(p, ':');
	int ret = find_kind(p, has_args);

	if (ret < 0)
		return ret;
	switch (p->t->kind) {
	case SFS_SPEC_IMAGE: return read_image(p, has_args);
	case SFS_SPEC_NPY: return read_file_array(p, has_args, "npy");
	case SFS_SPEC_TEN: return read_file_array(p, has_args, "ten");
	case SFS_SPEC_INT: return read_integer(p, has_args);
	case SFS_SPEC_BYTES: read_token(p); return read_bytes(p);
	case SFS_SPEC_RAW: break;
	}
	read_token(p);
	if (spec_take(p, ','))
		return read_array(p);
	p->at = p->next;
	return fail(p, "a type and a shape are missing: ',f4,3x32x32'");
}

/* Is `name` that of a tensor before this one, or of its length? */
static bool is_taken(const struct parser *p, const char *name)
{
	const struct sfs_spec_tensor *t;
	size_t n;

	for (t = p->spec->tensors; t < p->t; t++) {
		n = strlen(t->name);
		if (strcmp(name, t->name) == 0)
			return true;
		if (t->kind == SFS_SPEC_BYTES && strncmp(name, t->name, n) == 0 &&
		    strcmp(name + n, "_len") == 0)
			return true;
	}
	return false;
}

static int check_names(struct parser *p)
{
	char length[sizeof p->t->name + 8];

	snprintf(length, sizeof length, "%s_len", p->t->name);
	if (!is_taken(p, p->t->name) &&
	    !(p->t->kind == SFS_SPEC_BYTES && is_taken(p, length)))
		return 0;
	p->at = p->t_at;
	return fail(
		p,
		"another tensor is already called '%s'; give this one a name with "
		"NAME=FIELD",
		is_taken(p, p->t->name) ? p->t->name : length);
}

static int read_tensor(struct parser *p, uint32_t *n_rows)
{
	int ret;

	p->t_at = p->at = p->next;
	p->t = &p->spec->tensors[p->spec->n];
	if (*n_rows < SHUFFLEFS_TENSORS_MAX) {
		p->spec->n++;
		ret = read_fields(p);
		if (ret == 0)
			ret = read_args(p);
		if (ret == 0)
			ret = check_names(p);
		if (ret < 0)
			return ret;
		*n_rows += p->t->kind == SFS_SPEC_BYTES ? 2 : 1;
	} else {
		(*n_rows)++;
	}
	if (*n_rows <= SHUFFLEFS_TENSORS_MAX)
		return 0;
	p->at = p->t_at;
	return fail(p, "a batch has at most %d tensors ('bytes' makes two)",
		    SHUFFLEFS_TENSORS_MAX);
}

int sfs_spec_parse(const char *text, struct sfs_spec *ret_spec, struct sfs_error *err)
{
	struct parser p = {
		.text = text, .next = text, .at = text, .spec = ret_spec, .err = err};
	uint32_t n_rows = 0;
	int ret;

	memset(ret_spec, 0, sizeof *ret_spec);
	do {
		ret = read_tensor(&p, &n_rows);
		if (ret < 0)
			return ret;
	} while (spec_take(&p, ';'));
	if (!*p.next)
		return 0;
	p.at = p.next;
	return fail(&p,
		    "unexpected '%c': write ':' before options, ',' between them and "
		    "';' between tensors",
		    *p.at);
}

void sfs_spec_done(struct sfs_spec *spec)
{
	uint32_t i, k;

	for (i = 0; i < spec->n; i++)
		for (k = 0; k < spec->tensors[i].n_fields; k++)
			free(spec->tensors[i].fields[k]);
	memset(spec, 0, sizeof *spec);
}
