/* SPDX-License-Identifier: MIT */
/* The index that we write for a shard is the one that wds2idx writes, where that one is
 * right; and what DALI could not read is not written. */
#include "catalog/index-export.h"

#include "check.h"
#include "indexed.h"

#include <errno.h>

static void writes(const struct tar *t, const char *wanted)
{
	struct sfs_index_export dali = {0};
	struct sfs_strbuf text = {0};
	struct sfs_index_import f;
	struct sfs_error err;
	struct real real;
	size_t i;

	look(t, &real);
	for (i = 0; i < real.n_members; i++)
		CHECK_EQ(sfs_index_export_add(&dali, real.names[i], strlen(real.names[i]),
					      real.members[i].data,
					      real.members[i].n_bytes, &err),
			 0);
	CHECK_EQ(sfs_index_export_print(&dali, &text, &err), 0);
	CHECK_STR(text.s, wanted);

	/* And we read it. */
	CHECK_EQ(sfs_index_import_parse(text.s, text.n, t->n, &f, &err), 0);
	CHECK_EQ(sfs_index_import_agrees(&f, real.samples, real.n_samples, &err), 0);
	CHECK_EQ(sfs_index_import_agrees_members(&f, real.members, real.n_members, &err),
		 0);
	sfs_index_import_done(&f);
	sfs_strbuf_done(&text);
	sfs_index_export_done(&dali);
}

static void shards(void)
{
	struct tar plain = {0}, pax = {0}, long_name = {0}, odd = {0};

	six_members(&plain, false, false);
	six_members(&pax, true, false);
	six_members(&long_name, false, true);
	odd_members(&odd);
	writes(&plain, DALI_PLAIN);
	writes(&long_name, DALI_LONG);
	writes(&pax, DALI_PAX_RIGHT);
	writes(&odd, "v1.2 4\njpg 512 700 a.jpg\nhid.jpg 4608 1 d/.hid.jpg\n"
		     "cls 6656 1 a.cls\nJPG 7680 1 ./e.JPG\n");
	tar_done(&plain);
	tar_done(&pax);
	tar_done(&long_name);
	tar_done(&odd);
}

static void cannot_be_held(void)
{
	static const char *const names[] = {"a b.jpg",	"a.my ext", "a.",
					    "t\tt.jpg", "n\nl.jpg", "d e/a.jpg"};
	struct sfs_index_export dali = {0};
	struct sfs_strbuf text = {0};
	struct sfs_error err;
	size_t i;

	for (i = 0; i < sizeof names / sizeof *names; i++) {
		CHECK_EQ(sfs_index_export_add(&dali, names[i], strlen(names[i]), 512, 1,
					      &err),
			 -EILSEQ);
		CHECK_HAS(err.text, names[i]);
	}
	CHECK_EQ(sfs_index_export_add(&dali, "n\0l.jpg", 7, 512, 1, &err), -EILSEQ);
	CHECK_EQ(sfs_index_export_add(&dali, "R E A D M E", 11, 512, 1, &err),
		 0); /* in no sample */
	CHECK_EQ(sfs_index_export_print(&dali, &text, &err), -ENODATA);
	CHECK_HAS(err.text, "no samples");
	CHECK(!text.s);

	CHECK_EQ(sfs_index_export_add(&dali, "t\xc3\xbcr.q\\", 7, 512, 1, &err), 0);
	CHECK_EQ(sfs_index_export_print(&dali, &text, &err), 0);
	CHECK_STR(text.s, "v1.2 1\nq\\ 512 1 t\xc3\xbcr.q\\\n");
	sfs_strbuf_done(&text);
	sfs_index_export_done(&dali);
}

/* Neighbours with one key are a sample; a key that comes again is another. */
static void grouping(void)
{
	static const char *const names[] = {"a.b", "a.c",   "ab.c",
					    "a.b", "a/a.b", "a/a.c"};
	struct sfs_index_export dali = {0};
	struct sfs_strbuf text = {0};
	size_t i;

	for (i = 0; i < sizeof names / sizeof *names; i++)
		CHECK_EQ(sfs_index_export_add(&dali, names[i], strlen(names[i]),
					      512 + 1024 * i, i, NULL),
			 0);
	CHECK_EQ(sfs_index_export_print(&dali, &text, NULL), 0);
	CHECK_STR(text.s,
		  "v1.2 4\nb 512 0 a.b c 1536 1 a.c\nc 2560 2 ab.c\nb 3584 3 a.b\n"
		  "b 4608 4 a/a.b c 5632 5 a/a.c\n");
	sfs_strbuf_done(&text);
	sfs_index_export_done(&dali);
}

int main(void)
{
	shards();
	cannot_be_held();
	grouping();
	return 0;
}
