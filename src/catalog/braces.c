/* SPDX-License-Identifier: MIT */
/* How this works: a spec is a product of parts: literal text, a list whose
 * items are specs again, or a range.  expand() returns all names of one spec;
 * a product multiplies the text before a brace, the brace, and the text after
 * it.  The depth of nesting and the number of names are bounded. */
#include "catalog/braces.h"

#include "base/alloc.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define MAX_DEPTH 32

struct names {
	char **s;
	size_t n, capacity;
};

static int expand(const char *s, size_t n, int depth, struct names *out,
		  struct sfs_error *err);

static int add_name(struct names *names, char *name, struct sfs_error *err)
{
	if (names->n == SFS_BRACES_MAX) {
		free(name);
		return sfs_error_set(err, -E2BIG, "more than %d names", SFS_BRACES_MAX);
	}
	if (names->n == names->capacity) {
		names->capacity = names->capacity ? names->capacity * 2 : 16;
		names->s = sfs_reallocarray(names->s, names->capacity, sizeof *names->s);
	}
	names->s[names->n++] = name;
	return 0;
}

void sfs_braces_free(char **names, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		free(names[i]);
	free(names);
}

static void names_done(struct names *names)
{
	sfs_braces_free(names->s, names->n);
	*names = (struct names){0};
}

/* Replace *left by every pair of *left and *right. */
static int multiply(struct names *left, struct names *right, struct sfs_error *err)
{
	struct names all = {0};
	size_t i, j;
	int ret = 0;

	for (i = 0; i < left->n && ret == 0; i++)
		for (j = 0; j < right->n && ret == 0; j++)
			ret = add_name(&all,
				       sfs_asprintf("%s%s", left->s[i], right->s[j]),
				       err);
	names_done(left);
	names_done(right);
	*left = all;
	return ret;
}

/* The position of the first of `wanted` in s[i..n) at depth 0; n if none. */
static size_t find(const char *s, size_t i, size_t n, const char *wanted)
{
	int depth = 0;

	for (; i < n; i++) {
		if (s[i] == '\\' && i + 1 < n) {
			i++;
			continue;
		}
		if (depth == 0 && strchr(wanted, s[i]))
			return i;
		depth += (s[i] == '{') - (s[i] == '}');
	}
	return n;
}

static char *unescape(const char *s, size_t n)
{
	char *out = sfs_malloc(n + 1), *p = out;
	size_t i;

	for (i = 0; i < n; i++) {
		if (s[i] == '\\' && i + 1 < n && strchr("{},\\", s[i + 1]))
			i++;
		*p++ = s[i];
	}
	*p = 0;
	return out;
}

struct range {
	int64_t first, last, step;
	int width; /* digits to pad to, sign included; 0: none */
	bool is_letters;
};

/* A number of at most 18 digits; notes its width if it has a leading zero. */
static bool parse_number(const char *s, size_t n, int64_t *ret, bool *has_zero)
{
	size_t i = n > 0 && (s[0] == '-' || s[0] == '+'), first = i;

	if (i == n || n - i > 18)
		return false;
	*ret = 0;
	for (; i < n; i++) {
		if (!isdigit((unsigned char)s[i]))
			return false;
		*ret = *ret * 10 + (s[i] - '0');
	}
	*has_zero |= s[0] != '+' && s[first] == '0' && n - first > 1;
	if (s[0] == '-')
		*ret = -*ret;
	return true;
}

/* Is s[0..n), the text between braces, A..B or A..B..STEP? */
static bool parse_range(const char *s, size_t n, struct range *r)
{
	const char *dots = memmem(s, n, "..", 2), *dots2, *b;
	size_t n_a, n_b;
	bool has_zero = false, ignored = false;

	if (!dots)
		return false;
	b = dots + 2;
	n_a = (size_t)(dots - s);
	n_b = n - n_a - 2;
	*r = (struct range){.step = 1};
	dots2 = memmem(b, n_b, "..", 2);
	if (dots2) {
		if (!parse_number(dots2 + 2, n - (size_t)(dots2 + 2 - s), &r->step,
				  &ignored))
			return false;
		n_b = (size_t)(dots2 - b);
		if (r->step < 0)
			r->step = -r->step;
		if (r->step == 0)
			r->step = 1;
	}
	if (n_a == 1 && n_b == 1 && isalpha((unsigned char)*s) &&
	    isalpha((unsigned char)*b)) {
		r->first = (unsigned char)*s;
		r->last = (unsigned char)*b;
		r->is_letters = true;
		return true;
	}
	if (!parse_number(s, n_a, &r->first, &has_zero) ||
	    !parse_number(b, n_b, &r->last, &has_zero))
		return false;
	if (has_zero)
		r->width = (int)(n_a > n_b ? n_a : n_b);
	return true;
}

static int add_range(const struct range *r, struct names *out, struct sfs_error *err)
{
	int64_t step = r->first <= r->last ? r->step : -r->step, v;
	int ret = 0;

	for (v = r->first; (step > 0 ? v <= r->last : v >= r->last) && ret == 0;
	     v += step) {
		if (r->is_letters)
			ret = add_name(out, sfs_asprintf("%c", (int)v), err);
		else
			ret = add_name(out,
				       sfs_asprintf("%0*lld", r->width, (long long)v),
				       err);
	}
	return ret;
}

/* Expand the text between one pair of braces: a range, or a list of specs. */
static int expand_brace(const char *s, size_t n, int depth, struct names *out,
			struct sfs_error *err)
{
	size_t from = 0, comma = find(s, 0, n, ",");
	struct range range;
	int ret;

	if (comma == n) {
		if (parse_range(s, n, &range))
			return add_range(&range, out, err);
		return sfs_error_set(
			err, -EINVAL,
			"'{%.*s}' is neither a range ({0..9}) nor a list ({a,b}); "
			"write \\{ for a brace in a name",
			(int)n, s);
	}
	for (;;) {
		ret = expand(s + from, comma - from, depth + 1, out, err);
		if (ret < 0 || comma == n)
			return ret;
		from = comma + 1;
		comma = find(s, from, n, ",");
	}
}

/* Add all names of s[0..n) to *out. */
static int expand(const char *s, size_t n, int depth, struct names *out,
		  struct sfs_error *err)
{
	struct names all = {0}, part = {0};
	size_t from = 0, open, close, i;
	int ret;

	if (depth > MAX_DEPTH)
		return sfs_error_set(err, -EINVAL, "braces are nested too deeply");
	add_name(&all, sfs_strdup(""), NULL);
	for (;;) {
		open = find(s, from, n, "{}");
		if (open < n && s[open] == '}') {
			ret = sfs_error_set(err, -EINVAL, "'}' without '{'");
			break;
		}
		add_name(&part, unescape(s + from, open - from), NULL);
		ret = multiply(&all, &part, err);
		if (ret < 0 || open == n)
			break;
		close = find(s, open + 1, n, "}");
		if (close == n) {
			ret = sfs_error_set(err, -EINVAL, "'{' without '}'");
			break;
		}
		ret = expand_brace(s + open + 1, close - open - 1, depth, &part, err);
		if (ret == 0)
			ret = multiply(&all, &part, err);
		if (ret < 0)
			break;
		from = close + 1;
	}
	for (i = 0; i < all.n && ret == 0; i++)
		ret = add_name(out, steal(&all.s[i]), err);
	names_done(&all);
	names_done(&part);
	return ret;
}

int sfs_braces_expand(const char *spec, char ***ret_names, size_t *ret_n,
		      struct sfs_error *err)
{
	struct names names = {0};
	int ret = expand(spec, strlen(spec), 0, &names, err);

	if (ret < 0) {
		names_done(&names);
		return ret;
	}
	*ret_names = names.s;
	*ret_n = names.n;
	return 0;
}
