/* SPDX-License-Identifier: MIT */
/* A text holds all that was added, NULs too, and sizes read as people write them. */
#include "base/strbuf.h"
#include "check.h"

static void grows(void)
{
	struct sfs_strbuf t = {0};
	size_t i;

	for (i = 0; i < 5000; i++) {
		sfs_strbuf_puts(&t, "0123");
		sfs_strbuf_printf(&t, "%s%d", "", 456789);
	}
	CHECK_EQ(t.n, 50000);
	CHECK_EQ(strlen(t.s), 50000);
	for (i = 0; i < t.n; i++)
		CHECK_EQ(t.s[i], '0' + (int)(i % 10));
	sfs_strbuf_done(&t);
	CHECK(t.s == NULL && t.n == 0);
	sfs_strbuf_done(&t);

	sfs_strbuf_puts(&t, "");
	CHECK_STR(t.s, "");
	sfs_strbuf_add(&t, "a\0b", 3);
	CHECK_EQ(t.n, 3);
	CHECK(memcmp(t.s, "a\0b", 4) == 0);
	sfs_strbuf_done(&t);
}

/* One line may be far longer than any buffer. */
static void long_line(void)
{
	struct sfs_strbuf t = {0};

	sfs_strbuf_printf(&t, "%0*d", 100000, 7);
	CHECK_EQ(t.n, 100000);
	CHECK_EQ(t.s[99999], '7');
	sfs_strbuf_done(&t);
}

static void sizes(void)
{
	static const struct {
		uint64_t n_bytes;
		const char *wanted;
	} cases[] = {
		{0, "0"},
		{300, "300"},
		{1023, "1023"},
		{1024, "1K"},
		{1536, "1.5K"},
		{64ULL << 20, "64M"},
		{3ULL << 29, "1.5G"},
		{100ULL << 30, "100G"},
		{(1ULL << 40) + (1ULL << 39), "1.5T"},
		{1ULL << 50, "1P"},
		{1ULL << 60, "1E"},
		{UINT64_MAX, "16E"},
	};
	char buf[32];
	size_t i;

	for (i = 0; i < sizeof cases / sizeof cases[0]; i++)
		CHECK_STR(sfs_format_size(cases[i].n_bytes, buf), cases[i].wanted);
}

static void distances(void)
{
	CHECK_EQ(sfs_strbuf_distance("", ""), 0);
	CHECK_EQ(sfs_strbuf_distance("seed", "seed"), 0);
	CHECK_EQ(sfs_strbuf_distance("SEED", "seed"), 0);
	CHECK_EQ(sfs_strbuf_distance("sede", "seed"), 2);
	CHECK_EQ(sfs_strbuf_distance("see", "seed"), 1);
	CHECK_EQ(sfs_strbuf_distance("seeed", "seed"), 1);
	CHECK_EQ(sfs_strbuf_distance("", "seed"), 4);
	CHECK_EQ(sfs_strbuf_distance("seed", ""), 4);
	CHECK_EQ(sfs_strbuf_distance("kitten", "sitting"), 3);
}

int main(void)
{
	grows();
	long_line();
	sizes();
	distances();
	return 0;
}
