/* SPDX-License-Identifier: MIT */
/* The second reader: what libarchive makes of a header group, where it agrees with us,
 * and what differs where it does not; bytes of any kind, cut off anywhere, do no harm.
 * The warning names the first difference and counts the others. */
#include "base/alloc.h"
#include "catalog/second-reader.h"
#include "check.h"
#include "tar/libarchive.h"
#include "tars.h"

static struct tar t;
static struct sfs_libarchive_reading r;

/* Let both read what is there, in memory of just the headers' size. */
static bool agree(bool is_after_pax)
{
	struct sfs_tar_entry g;
	struct sfs_error err = {0};
	unsigned char *exact;
	bool is_agreed;

	CHECK_EQ(sfs_tar_entry_read(t.bytes, t.n, (uint64_t)1 << 40, &g, &err), 0);
	exact = sfs_malloc((size_t)g.data);
	memcpy(exact, t.bytes, (size_t)g.data);
	sfs_libarchive_read(exact, &g, is_after_pax, &r);
	is_agreed = sfs_libarchive_agrees(&r, &g);
	free(exact);
	sfs_tar_entry_done(&g);
	tar_done(&t);
	return is_agreed;
}

static void agreed(bool is_regular, uint64_t size)
{
	CHECK(agree(false));
	CHECK(!r.is_error && !r.is_extension && !r.is_end_elsewhere);
	CHECK_EQ(r.is_regular, is_regular);
	CHECK_EQ(r.size, size);
}

static void what_others_write_is_agreed(void)
{
	char name[1001], records[200];
	unsigned char *block;
	size_t n = 0;

	tar_file(&t, "a/b.jpg", 700, 'x');
	agreed(true, 700);
	tar_header(&t, "v7", 0, "old.jpg", 3);
	agreed(true, 3);

	tar_pax(&t, 'x', "path", "t\xc3\xbcr.jpg");
	tar_file(&t, "t_r.jpg", 700, 'x');
	agreed(true, 700);
	tar_pax(&t, 'x', "size", "10000000000"); /* (it skips 1 GiB at a time) */
	tar_header(&t, "ustar", '0', "large.bin", 0);
	agreed(true, 10000000000);

	memset(name, 'n', 1000);
	name[1000] = 0;
	tar_extension(&t, 'K', "target", 7);
	tar_extension(&t, 'L', name, 1001);
	tar_header(&t, "gnu", '0', "nnnn", 512);
	tar_grow(&t, 512);
	agreed(true, 512);

	n += strlen(tar_record(records, "GNU.sparse.major", "1"));
	n += strlen(tar_record(records + n, "GNU.sparse.minor", "0"));
	n += strlen(tar_record(records + n, "GNU.sparse.realsize", "2000"));
	tar_extension(&t, 'x', records, n);
	tar_header(&t, "ustar", '0', "sparse.bin", 512 + 10);
	tar_body(&t, "2\n0\n5\n1000\n5\n", 13);
	tar_body(&t, "helloworld", 10);
	agreed(true, 2000);

	tar_header(&t, "ustar", '5', "folder/", 0);
	agreed(false, 0);
	block = tar_header(&t, "ustar", '2', "soft.jpg", 0);
	memcpy(block + AT_LINK, "a.jpg", 5);
	tar_sum(block);
	agreed(false, 0);
	/* Some old tars wrote a size into hard links. */
	block = tar_header(&t, "ustar", '1', "hard.jpg", 700);
	memcpy(block + AT_LINK, "a.jpg", 5);
	tar_sum(block);
	CHECK(agree(false));
	CHECK(!r.is_regular);
}

static void differences_are_told(void)
{
	unsigned char *block;

	/* To POSIX an unknown type is a file, to Python's tarfile and us it is none. */
	tar_header(&t, "ustar", 'Z', "odd.jpg", 3);
	tar_body(&t, "odd", 3);
	CHECK(!agree(false));
	CHECK(r.is_regular && !r.is_end_elsewhere);
	CHECK_EQ(r.size, 3);

	/* After a pax header it takes the size of a hard link for that of data. */
	block = tar_header(&t, "ustar", '1', "hard.jpg", 700);
	memcpy(block + AT_LINK, "a.jpg", 5);
	tar_sum(block);
	CHECK(!agree(true));
	CHECK(r.is_end_elsewhere);

	/* It looks for the next header right after a label, whatever its size. */
	tar_header(&t, "gnu", 'V', "label", 700);
	tar_grow(&t, 1024);
	CHECK(!agree(false));
	CHECK(r.is_error || r.is_extension);
	CHECK(!r.is_error || r.why[0]);
}

/* Headers that are cut off, and any bytes at all: nothing outside of them is read. */
static void any_bytes_do_no_harm(void)
{
	struct sfs_tar_entry g = {.kind = SFS_TAR_ENTRY_MEMBER, .is_regular = true};
	unsigned char *exact;
	unsigned seed = 1, i, k;
	size_t n, whole;

	tar_pax(&t, 'x', "path", "b.jpg");
	tar_extension(&t, 'K', "target", 7);
	whole = t.n + BLOCK;
	tar_file(&t, "c.jpg", 700, 'x');
	for (i = 0; i < 1500; i++) {
		n = i < whole / 4 ? 4 * i : whole;
		exact = sfs_malloc(n ? n : 1);
		memcpy(exact, t.bytes, n);
		for (k = 0; k < 3 && n == whole; k++) {
			seed = seed * 1103515245 + 12345;
			exact[(seed >> 8) % n] ^= (unsigned char)(1 << (seed & 7));
		}
		for (k = 0; k < n / BLOCK && i % 2; k++)
			sfs_tar_seal(exact + (size_t)k * BLOCK);
		g.n_bytes = n;
		g.data = n;
		g.next = n + 1024;
		sfs_libarchive_read(exact, &g, i & 1, &r);
		CHECK(n > 0 || !sfs_libarchive_agrees(&r, &g));
		free(exact);
	}
	tar_done(&t);
}

/* ---- the warning ---- */

static void add(struct sfs_second_reader *s, uint64_t start)
{
	struct sfs_tar_entry g;
	struct sfs_error err = {0};

	CHECK_EQ(sfs_tar_entry_read(t.bytes, t.n, (uint64_t)1 << 40, &g, &err), 0);
	sfs_second_reader_add(s, start, t.bytes, &g);
	sfs_tar_entry_done(&g);
	tar_done(&t);
}

static void a_warning_names_the_first(void)
{
	struct sfs_second_reader s = {.n = 0};
	unsigned char *block;

	tar_header(&t, "gnu", 'V', "label", 0);
	add(&s, 0);
	tar_pax(&t, 'x', "mtime", "1500000000.5");
	tar_file(&t, "a.jpg", 700, 'x');
	add(&s, 512);
	CHECK_EQ(s.n, 0);
	CHECK(s.saw_pax && !s.first.s);
	block = tar_header(&t, "ustar", '1', "hard.jpg", 700);
	memcpy(block + AT_LINK, "a.jpg", 5);
	tar_sum(block);
	add(&s, 2560);
	CHECK_EQ(s.n, 1);
	CHECK(strcmp(s.first.s, "2560: 'hard.jpg': bsdtar reads 700 bytes here, "
				"shufflefs no file") == 0);
	tar_header(&t, "ustar", 'Z', "odd.jpg", 0);
	add(&s, 3072);
	CHECK_EQ(s.n, 2);
	CHECK(strncmp(s.first.s, "2560: ", 6) == 0);
	sfs_second_reader_done(&s);
}

int main(void)
{
	what_others_write_is_agreed();
	differences_are_told();
	any_bytes_do_no_harm();
	a_warning_names_the_first();
	return 0;
}
