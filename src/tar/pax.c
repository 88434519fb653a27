/* SPDX-License-Identifier: MIT */
#include "tar/pax.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

int sfs_pax_next(const char **p, const char *end, struct sfs_pax_record *ret_record)
{
	const char *s = *p, *q = s, *equals;
	size_t length = 0;

	if (s == end || *s == 0)
		return 0;
	for (; q < end && isdigit((unsigned char)*q) && length <= (size_t)(end - s); q++)
		length = length * 10 + (size_t)(*q - '0');
	if (q == s || q == end || *q != ' ' || length > (size_t)(end - s) ||
	    length < (size_t)(q - s) + 4 || s[length - 1] != '\n')
		return -EBADMSG;
	q++;
	equals = memchr(q, '=', length - (size_t)(q - s) - 1);
	if (!equals || equals == q)
		return -EBADMSG;
	*ret_record = (struct sfs_pax_record){
		.start = s,
		.n_bytes = length,
		.key = q,
		.n_key = (size_t)(equals - q),
		.value = equals + 1,
		.n_value = (size_t)(s + length - 1 - (equals + 1)),
	};
	*p = s + length;
	return 1;
}

bool sfs_pax_is(const struct sfs_pax_record *record, const char *key)
{
	return record->n_key == strlen(key) &&
	       memcmp(record->key, key, record->n_key) == 0;
}

bool sfs_pax_is_name(const struct sfs_pax_record *record)
{
	return sfs_pax_is(record, "path") || sfs_pax_is(record, "GNU.sparse.name");
}

bool sfs_pax_begins(const struct sfs_pax_record *record, const char *prefix)
{
	size_t n = strlen(prefix);

	return record->n_key >= n && memcmp(record->key, prefix, n) == 0;
}

size_t sfs_pax_length(size_t n_key, size_t n_value)
{
	size_t body = n_key + n_value + 3; /* ' ', '=', '\n' */
	size_t digits = 1, limit = 10;

	while (body + digits >= limit) {
		digits++;
		limit *= 10;
	}
	return body + digits;
}
