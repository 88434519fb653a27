/* SPDX-License-Identifier: MIT */
/* Two arrays become the bytes that Tensorcom's own encoder makes of them, and are read
 * again; whatever byte is cut off or changed in a length, nothing outside is read. */
#include "formats/tenbin.h"

#include "check.h"

#include <errno.h>

static const unsigned char pixels[6] = {1, 2, 3, 4, 5, 6};
static const unsigned char labels[8] = {7, 0, 0, 0, 255, 255, 255, 255};

/* tensorcom.tenbin.encode_buffer([uint8 [2,3], int32 [2]], infos=["img", "cls"]) */
static void make_expected(unsigned char bytes[320])
{
	memset(bytes, 0, 320);
	memcpy(bytes, "~TenBin~\x28", 9);
	memcpy(bytes + 16,
	       "u1\0\0\0\0\0\0img\0\0\0\0\0\2\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\3", 33);
	memcpy(bytes + 80, "~TenBin~\6\0\0\0\0\0\0\0\1\2\3\4\5\6", 22);
	memcpy(bytes + 160, "~TenBin~\x20", 9);
	memcpy(bytes + 176, "i4\0\0\0\0\0\0cls\0\0\0\0\0\1\0\0\0\0\0\0\0\2", 25);
	memcpy(bytes + 240, "~TenBin~\x8\0\0\0\0\0\0\0\7\0\0\0\377\377\377\377", 24);
}

static void check_written(const unsigned char expected[320])
{
	struct sfs_tenbin_array img = {.dtype = "u1",
				       .name = "img",
				       .rank = 2,
				       .dims = {2, 3}};
	struct sfs_tenbin_array cls = {.dtype = "i4",
				       .name = "cls",
				       .rank = 1,
				       .dims = {2}};
	unsigned char header[SFS_TENBIN_HEADER_MAX], bytes[320], *p = bytes;
	size_t n;

	memset(bytes, 0xee, sizeof bytes);
	n = sfs_tenbin_write_header(&img, header);
	CHECK_EQ(n, 40);
	p = sfs_tenbin_write_chunk(p, header, n);
	p = sfs_tenbin_write_chunk(p, pixels, sizeof pixels);
	CHECK_EQ(p - bytes, sfs_tenbin_chunk_bytes(40) + sfs_tenbin_chunk_bytes(6));
	n = sfs_tenbin_write_header(&cls, header);
	p = sfs_tenbin_write_chunk(p, header, n);
	p = sfs_tenbin_write_chunk(p, labels, sizeof labels);
	CHECK_EQ(p - bytes, 320);
	CHECK(memcmp(bytes, expected, 320) == 0);
}

static int read_all(const unsigned char *bytes, size_t n)
{
	/* A copy to the byte: ASan sees what is read behind it. */
	unsigned char *copy = memcpy(malloc(n ? n : 1), bytes, n);
	struct sfs_tenbin_reader reader = {copy, n};
	struct sfs_tenbin_array a;
	const unsigned char *data;
	struct sfs_error err = {0};
	int ret, n_arrays = 0;

	while ((ret = sfs_tenbin_next_array(&reader, &a, &data, &err)) == 1) {
		if (n_arrays == 0) {
			CHECK_STR(a.dtype, "u1");
			CHECK_STR(a.name, "img");
			CHECK(a.rank == 2 && a.dims[0] == 2 && a.dims[1] == 3);
			CHECK(memcmp(data, pixels, 6) == 0);
		} else {
			CHECK_STR(a.name, "cls");
			CHECK(memcmp(data, labels, 8) == 0);
		}
		n_arrays++;
	}
	CHECK(ret == 0 || (ret == -EBADMSG && err.text[0]));
	free(copy);
	return ret < 0 ? ret : n_arrays;
}

static void check_damage(unsigned char expected[320])
{
	static const int lengths[] = {8, 32, 40, 48, 88, 168, 192, 200, 248};
	size_t i, j;

	for (i = 0; i < 320; i++) /* whole arrays, or an error; padding may lack */
		CHECK_EQ(read_all(expected, i), i == 0		       ? 0
						: i >= 264	       ? 2
						: i >= 102 && i <= 160 ? 1
								       : -EBADMSG);
	for (i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
		for (j = 0; j < 8; j++) {
			expected[lengths[i] + j] ^= 0xff;
			CHECK_EQ(read_all(expected, 320), -EBADMSG);
			expected[lengths[i] + j] ^= 0xff;
		}
}

static void check_dtypes(void)
{
	CHECK(sfs_tenbin_has_dtype("f2") && sfs_tenbin_has_dtype("u8"));
	CHECK(!sfs_tenbin_has_dtype("u4") && !sfs_tenbin_has_dtype("b1"));
	CHECK(!sfs_tenbin_has_dtype("bf2") && !sfs_tenbin_has_dtype(""));
}

int main(void)
{
	unsigned char expected[320];

	make_expected(expected);
	check_written(expected);
	CHECK_EQ(read_all(expected, 320), 2);
	check_damage(expected);
	check_dtypes();
	return 0;
}
