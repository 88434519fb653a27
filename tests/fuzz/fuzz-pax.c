/* SPDX-License-Identifier: MIT */
/* Pax records.  Every record lies inside its body, they stand one behind the other, and
 * one that is written anew from its key and value reads the same. */
#include "fuzz.h"

#include "tar/pax.h"

#include <errno.h>

static void rewrite(const struct sfs_pax_record *r)
{
	size_t n = sfs_pax_length(r->n_key, r->n_value), n_head;
	char digits[24], *record = malloc(n);
	struct sfs_pax_record again;
	const char *p = record;

	n_head = (size_t)snprintf(digits, sizeof digits, "%zu ", n);
	MUST(n_head + r->n_key + 1 + r->n_value + 1 == n);
	memcpy(record, digits, n_head);
	memcpy(record + n_head, r->key, r->n_key);
	record[n_head + r->n_key] = '=';
	memcpy(record + n_head + r->n_key + 1, r->value, r->n_value);
	record[n - 1] = '\n';
	MUST(sfs_pax_next(&p, record + n, &again) == 1 && p == record + n);
	MUST(again.n_key == r->n_key && again.n_value == r->n_value);
	MUST(memcmp(again.key, r->key, r->n_key) == 0);
	MUST(memcmp(again.value, r->value, r->n_value) == 0);
	free(record);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *body = fuzz_copy(data, n);
	const char *p = body, *end = body + n, *was = p;
	struct sfs_pax_record r;
	int ret;

	while ((ret = sfs_pax_next(&p, end, &r)) == 1) {
		MUST(r.start == was && p == was + r.n_bytes && p > was && p <= end);
		MUST(r.key > r.start && r.n_key > 0 && r.value == r.key + r.n_key + 1);
		MUST(r.value + r.n_value == p - 1 && *(p - 1) == '\n');
		MUST(!memchr(r.key, '=', r.n_key));
		MUST(sfs_pax_begins(&r, ""));
		rewrite(&r);
		was = p;
	}
	MUST(ret == 0 || ret == -EBADMSG);
	MUST(p == was);
	MUST(ret != 0 || p == end || *p == 0);
	free(body);
	return 0;
}
