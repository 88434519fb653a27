/* SPDX-License-Identifier: MIT */
/* What --fields says, and the bytes of fields: npy, ten and numbers.  The first byte
 * chooses.  Arrays that are accepted lie within the bytes, and are as long as their shape
 * says. */
#include "fuzz.h"

#include "decode/decode-array.h"
#include "ring/layout.h"
#include "decode/spec.h"

static void check(int ret, const struct sfs_array *a, const uint8_t *bytes, size_t n,
		  const struct sfs_error *err)
{
	uint64_t n_bytes;
	uint32_t i;

	MUST((ret == 0) == !err->text[0]);
	if (ret < 0)
		return;
	n_bytes = sfs_dtype_bytes(a->dtype);
	MUST(n_bytes > 0 && a->rank < SHUFFLEFS_DIMS_MAX);
	for (i = 0; i < a->rank; i++)
		n_bytes *= a->dims[i];
	MUST(a->n_bytes == n_bytes && n_bytes <= n);
	MUST(n_bytes == 0 || (a->data >= bytes && a->data + n_bytes <= bytes + n));
}

static void parse_spec(const uint8_t *data, size_t n)
{
	struct sfs_error err = {.text = ""};
	struct sfs_spec spec;
	char *text = calloc(1, n + 1);
	int ret;

	memcpy(text, data, n);
	ret = sfs_spec_parse(text, &spec, &err);
	MUST((ret == 0) == !err.text[0]);
	MUST(ret < 0 || (spec.n > 0 && spec.n <= SHUFFLEFS_TENSORS_MAX));
	sfs_spec_done(&spec);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct sfs_error err = {.text = ""};
	struct sfs_array array = {.rank = 0};
	uint8_t *bytes;
	int64_t row;

	if (n == 0)
		return 0;
	bytes = (uint8_t *)fuzz_copy((const char *)data + 1, n - 1);
	if (data[0] == 'n')
		check(sfs_npy_read(bytes, n - 1, &array, &err), &array, bytes, n - 1,
		      &err);
	else if (data[0] == 't')
		check(sfs_ten_read(bytes, n - 1, &array, &err), &array, bytes, n - 1,
		      &err);
	else if (data[0] == '4' || data[0] == '8')
		sfs_number_read(bytes, n - 1, data[0] == '4' ? "i4" : "i8", &row, &err);
	else
		parse_spec(bytes, n - 1);
	free(bytes);
	return 0;
}
