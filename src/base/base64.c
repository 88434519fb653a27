/* SPDX-License-Identifier: MIT */
#include "base/base64.h"

#include "base/alloc.h"

#include <errno.h>
#include <string.h>

static const char letters[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

char *sfs_base64_encode(const void *bytes, size_t n)
{
	const unsigned char *b = bytes;
	char *text = sfs_malloc((n + 2) / 3 * 4 + 1), *p = text;
	size_t i;
	unsigned v;

	for (i = 0; i < n; i += 3) {
		v = (unsigned)b[i] << 16;
		v |= i + 1 < n ? (unsigned)b[i + 1] << 8 : 0;
		v |= i + 2 < n ? b[i + 2] : 0;
		*p++ = letters[v >> 18];
		*p++ = letters[v >> 12 & 63];
		*p++ = i + 1 < n ? letters[v >> 6 & 63] : '=';
		*p++ = i + 2 < n ? letters[v & 63] : '=';
	}
	*p = 0;
	return text;
}

ssize_t sfs_base64_decode(const char *text, void *ret, size_t n_max)
{
	size_t n_text = strlen(text), n_letters = n_text, n = 0, i;
	unsigned char *to = ret;
	const char *letter;
	unsigned v = 0;

	if (n_text % 4 != 0)
		return -EINVAL;
	while (n_letters > 0 && n_text - n_letters < 2 && text[n_letters - 1] == '=')
		n_letters--;
	if (n_letters / 4 * 3 + (n_letters % 4 * 3) / 4 > n_max)
		return -EINVAL;
	for (i = 0; i < n_letters; i++) {
		letter = strchr(letters, text[i]);
		if (!letter)
			return -EINVAL;
		v = v << 6 | (unsigned)(letter - letters);
		if (i % 4 != 0)
			to[n++] = (unsigned char)(v >> (6 - 2 * (i % 4)));
	}
	return (ssize_t)n;
}
