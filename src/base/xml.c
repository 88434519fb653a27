/* SPDX-License-Identifier: MIT */
#include "base/xml.h"

#include <ctype.h>
#include <string.h>

void sfs_xml_init(struct sfs_xml *x, const char *bytes, size_t n)
{
	*x = (struct sfs_xml){.begin = bytes, .p = bytes, .end = bytes + n};
	if (n >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0)
		x->p += 3;
}

void sfs_xml_done(struct sfs_xml *x)
{
	sfs_strbuf_done(&x->text);
}

static enum sfs_xml_token bad(struct sfs_xml *x, const char *why)
{
	int line = 1;
	const char *p;

	for (p = x->begin; p < x->p; p++)
		line += *p == '\n';
	if (!x->error.text[0])
		sfs_error_set(&x->error, 0, "line %d: %s", line, why);
	return SFS_XML_BAD;
}

static bool is_at(const struct sfs_xml *x, const char *s)
{
	size_t n = strlen(s);

	return (size_t)(x->end - x->p) >= n && memcmp(x->p, s, n) == 0;
}

/* The first byte after `s`, from p on; NULL: there is none. */
static const char *after(const struct sfs_xml *x, const char *s)
{
	const char *found = memmem(x->p, (size_t)(x->end - x->p), s, strlen(s));

	return found ? found + strlen(s) : NULL;
}

static void skip_blanks(struct sfs_xml *x)
{
	while (x->p < x->end && memchr(" \t\r\n", *x->p, 4))
		x->p++;
}

/* ---- text ---- */

/* Is this a character of XML 1.0? */
static bool is_character(unsigned c)
{
	return c == '\t' || c == '\n' || c == '\r' || (c >= ' ' && c < 0xd800) ||
	       (c >= 0xe000 && c < 0xfffe) || (c >= 0x10000 && c < 0x110000);
}

static void add_character(struct sfs_strbuf *t, unsigned c)
{
	char s[4];

	if (c < 0x80) {
		s[0] = (char)c;
		sfs_strbuf_add(t, s, 1);
	} else if (c < 0x800) {
		s[0] = (char)(0xc0 | c >> 6);
		s[1] = (char)(0x80 | (c & 63));
		sfs_strbuf_add(t, s, 2);
	} else if (c < 0x10000) {
		s[0] = (char)(0xe0 | c >> 12);
		s[1] = (char)(0x80 | (c >> 6 & 63));
		s[2] = (char)(0x80 | (c & 63));
		sfs_strbuf_add(t, s, 3);
	} else {
		s[0] = (char)(0xf0 | c >> 18);
		s[1] = (char)(0x80 | (c >> 12 & 63));
		s[2] = (char)(0x80 | (c >> 6 & 63));
		s[3] = (char)(0x80 | (c & 63));
		sfs_strbuf_add(t, s, 4);
	}
}

/* "&#38;" or "&#x26;": p is behind the '#'. */
static bool take_number(struct sfs_xml *x)
{
	unsigned c = 0, base = 10, digit;
	const char *first;

	if (x->p < x->end && *x->p == 'x') {
		base = 16;
		x->p++;
	}
	for (first = x->p; x->p < x->end && isxdigit((unsigned char)*x->p); x->p++) {
		digit = isdigit((unsigned char)*x->p)
				? (unsigned)(*x->p - '0')
				: (unsigned)(tolower((unsigned char)*x->p) - 'a' + 10);
		if (digit >= base || c >= 0x110000)
			return false;
		c = c * base + digit;
	}
	if (x->p == first || !is_at(x, ";") || !is_character(c))
		return false;
	x->p++;
	add_character(&x->text, c);
	return true;
}

static bool take_entity(struct sfs_xml *x)
{
	static const char *const entities[] = {"&lt;<", "&gt;>", "&amp;&", "&quot;\"",
					       "&apos;'"};
	size_t i, n;

	if (is_at(x, "&#")) {
		x->p += 2;
		return take_number(x);
	}
	for (i = 0; i < sizeof entities / sizeof entities[0]; i++) {
		n = strlen(entities[i]) - 1;
		if ((size_t)(x->end - x->p) < n || memcmp(x->p, entities[i], n) != 0)
			continue;
		sfs_strbuf_add(&x->text, entities[i] + n, 1);
		x->p += n;
		return true;
	}
	return false;
}

/* One character as it stands. */
static bool take_plain(struct sfs_xml *x)
{
	unsigned char c = (unsigned char)*x->p;
	size_t n = sfs_strbuf_utf8(x->p, (size_t)(x->end - x->p));

	if (n == 0 || (n == 1 && !is_character(c)))
		return false;
	sfs_strbuf_add(&x->text, x->p, n);
	x->p += n;
	return true;
}

static bool take_cdata(struct sfs_xml *x)
{
	const char *end = after(x, "]]>");

	if (!end)
		return false;
	for (x->p += 9; x->p < end - 3;)
		if (!take_plain(x))
			return false;
	x->p = end;
	return true;
}

/* Skip a comment or a processing instruction.  false: it has no end. */
static bool skip(struct sfs_xml *x, const char *end)
{
	const char *p = after(x, end);

	if (p)
		x->p = p;
	return p != NULL;
}

/* The characters up to the next tag, or to the end.  false: they are wrong. */
static bool take_text(struct sfs_xml *x)
{
	bool is_good = true;

	while (is_good && x->p < x->end) {
		if (is_at(x, "<!--"))
			is_good = skip(x, "-->");
		else if (is_at(x, "<?"))
			is_good = skip(x, "?>");
		else if (is_at(x, "<![CDATA[") && x->depth > 0)
			is_good = take_cdata(x);
		else if (*x->p == '<')
			return true;
		else if (*x->p == '&')
			is_good = take_entity(x);
		else
			is_good = take_plain(x);
	}
	return is_good;
}

static bool has_only_blanks(const struct sfs_strbuf *t)
{
	return t->n == 0 || strspn(t->s, " \t\r\n") == t->n;
}

/* ---- tags ---- */

static size_t name_length(const struct sfs_xml *x)
{
	const char *p = x->p;

	while (p < x->end && (isalnum((unsigned char)*p) || (unsigned char)*p >= 0x80 ||
			      memchr("_:-.", *p, 4)))
		p++;
	return (size_t)(p - x->p);
}

/* name="value", between blanks. */
static bool skip_attributes(struct sfs_xml *x)
{
	const char *end;
	size_t n;

	for (skip_blanks(x); (n = name_length(x)) > 0; skip_blanks(x)) {
		x->p += n;
		skip_blanks(x);
		if (!is_at(x, "="))
			return false;
		x->p++;
		skip_blanks(x);
		if (!is_at(x, "\"") && !is_at(x, "'"))
			return false;
		end = memchr(x->p + 1, *x->p, (size_t)(x->end - x->p - 1));
		if (!end || memchr(x->p, '<', (size_t)(end - x->p)))
			return false;
		x->p = end + 1;
	}
	return true;
}

static enum sfs_xml_token open_tag(struct sfs_xml *x)
{
	size_t n;

	x->p++;
	n = name_length(x);
	if (n == 0)
		return bad(x, "this tag is not understood");
	if (x->depth == 0 && x->has_root)
		return bad(x, "a second root");
	if (x->depth == SFS_XML_DEPTH)
		return bad(x, "nested too deep");
	x->open[x->depth].name = x->p;
	x->open[x->depth++].n = n;
	x->has_root = true;
	x->p += n;
	if (!skip_attributes(x))
		return bad(x, "wrong attributes");
	x->closes = is_at(x, "/>");
	if (!x->closes && !is_at(x, ">"))
		return bad(x, "a tag without its end");
	x->p += x->closes ? 2 : 1;
	return SFS_XML_OPEN;
}

static enum sfs_xml_token close_tag(struct sfs_xml *x)
{
	size_t n;

	x->p += 2;
	n = name_length(x);
	if (x->depth == 0 || n != x->open[x->depth - 1].n ||
	    memcmp(x->p, x->open[x->depth - 1].name, n) != 0)
		return bad(x, "a tag that closes nothing");
	x->p += n;
	skip_blanks(x);
	if (!is_at(x, ">"))
		return bad(x, "a tag without its end");
	x->p++;
	x->has_closed = true;
	return SFS_XML_CLOSE;
}

static void clear_text(struct sfs_xml *x)
{
	x->text.n = 0;
	sfs_strbuf_puts(&x->text, "");
}

enum sfs_xml_token sfs_xml_next(struct sfs_xml *x)
{
	if (x->error.text[0])
		return SFS_XML_BAD;
	if (x->has_closed)
		x->depth--;
	x->has_closed = false;
	clear_text(x);
	if (x->closes) {
		x->closes = false;
		x->has_closed = true;
		return SFS_XML_CLOSE;
	}
	if (!take_text(x))
		return bad(x, "a character or an entity that is not XML");
	if (x->depth == 0 && !has_only_blanks(&x->text))
		return bad(x, "characters outside of the root");
	if (x->p == x->end && x->depth == 0 && x->has_root)
		return SFS_XML_END;
	if (x->p == x->end)
		return bad(x, "it ends too early");
	return is_at(x, "</") ? close_tag(x) : open_tag(x);
}

bool sfs_xml_at(const struct sfs_xml *x, const char *path)
{
	size_t n;
	int i;

	for (i = 0; i < x->depth; i++) {
		n = strcspn(path, "/");
		if (n != x->open[i].n || memcmp(path, x->open[i].name, n) != 0)
			return false;
		path += n;
		path += *path == '/';
		if (!*path)
			return i + 1 == x->depth;
	}
	return false;
}
