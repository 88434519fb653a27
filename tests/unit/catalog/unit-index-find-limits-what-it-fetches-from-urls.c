/* SPDX-License-Identifier: MIT */
/* An index at a URL is believed as far as its shard can have such a one: no more is
 * fetched than that, and than is wanted; what is held of it is counted in the budget, and
 * what does not fit there is not taken. */
#include "base/ledger.h"
#include "finding.h"

#define N_SAMPLES 10000

/* ---- a server of one index, which is asked for ranges ---- */

static char *page;
static size_t page_bytes;
static uint64_t claimed_bytes; /* its size, by the server's word */
static int n_reads;
static uint64_t n_read;

static void submit(struct sfs_source *source, struct sfs_request *r)
{
	size_t n = strlen(r->object->uri.location);

	if (!page || strcmp(r->object->uri.location + n - 6, ".index") != 0) {
		sfs_request_end(r, -ENOENT);
		return;
	}
	r->object->size = claimed_bytes;
	if (r->kind == SFS_REQUEST_READ) {
		n_reads++;
		n_read += r->n_bytes;
		CHECK(r->offset + r->n_bytes <= page_bytes);
		CHECK_EQ(r->iov[0].iov_len, r->n_bytes);
		memcpy(r->iov[0].iov_base, page + r->offset, r->n_bytes);
	}
	sfs_request_end(r, 0);
}

static const struct sfs_source_ops ops = {.name = "page", .submit = submit};
static struct sfs_source source = {.ops = &ops};

/* Serve an index of so many samples, with a member each. */
static void serve(uint64_t n, const char *tag)
{
	struct sfs_members m = {0};
	struct sfs_tar_entry g = {.kind = SFS_TAR_ENTRY_MEMBER,
				  .name = "a/name.jpg",
				  .n_name = 10,
				  .is_regular = true,
				  .data = 512};
	struct sfs_sample_table t;
	uint64_t i;

	free(page);
	make_table(&t, n);
	for (i = 0; i < n; i++)
		sfs_members_add(&m, i * 512, &g);
	page = sfs_index_write(&t, SHARD_BYTES, version_of(tag), &m, &page_bytes);
	claimed_bytes = page_bytes;
	sfs_members_done(&m);
	sfs_sample_table_done(&t);
}

/* ---- searches ---- */

static struct sfs_budget budget;
static struct sfs_account account;
static struct sfs_index_finder *ix;
static struct sfs_object object;

static int find(struct sfs_index_search *f, bool wants_members)
{
	*f = (struct sfs_index_search){.object = &object, .wants_members = wants_members};
	n_reads = 0;
	n_read = 0;
	return find_index(ix, f);
}

static void begin(uint64_t budget_bytes)
{
	const struct sfs_index_finder_options options = {.http = &source,
							 .account = &account};
	struct sfs_error err;

	sfs_budget_init(&budget, budget_bytes);
	CHECK_EQ(sfs_account_open(&account, &budget, 0, false, NULL), 0);
	CHECK_EQ(sfs_index_finder_new(&options, &ix, &err), 0);
}

static void end(void)
{
	sfs_index_finder_stop(ix);
	sfs_index_finder_free(ix);
	CHECK_EQ(sfs_account_used(&account), 0);
	sfs_account_close(&account);
	sfs_budget_done(&budget);
}

static bool is_said(const char *words)
{
	struct sfs_strbuf text = {0};
	bool is_there;

	sfs_ledger_print(&text);
	is_there = text.n > 0 && strstr(text.s, words);
	sfs_strbuf_done(&text);
	sfs_ledger_clear();
	return is_there;
}

/* ---- the cases ---- */

static void as_much_as_is_wanted(void)
{
	const uint64_t order_bytes = SFS_INDEX_HEADER_BYTES + N_SAMPLES * 16ULL;
	struct sfs_members m;
	struct sfs_index_search f;

	begin(64 << 20);
	serve(N_SAMPLES, "e");
	CHECK_EQ(find(&f, false), 0);
	CHECK_EQ(f.index.n_samples, N_SAMPLES);
	CHECK(!f.index.has_members);
	CHECK_EQ(n_read, order_bytes);
	CHECK_EQ(n_reads, 2);
	CHECK_EQ(sfs_account_used(&account), order_bytes);
	sfs_index_search_done(&f);
	CHECK_EQ(sfs_account_used(&account), 0);

	CHECK_EQ(find(&f, true), 0);
	CHECK(f.index.has_members);
	CHECK_EQ(sfs_index_members(&f.index, &m, NULL), 0);
	CHECK_EQ(m.n, N_SAMPLES);
	CHECK_EQ(n_read, page_bytes);
	CHECK_EQ(sfs_account_used(&account), page_bytes);
	sfs_index_search_done(&f);

	/* Small ones come at once. */
	serve(10, "e");
	CHECK_EQ(find(&f, false), 0);
	CHECK_EQ(f.index.n_samples, 10);
	CHECK_EQ(n_reads, 1);
	CHECK_EQ(sfs_account_used(&account), SFS_INDEX_HEADER_BYTES + 160);
	sfs_index_search_done(&f);

	/* What is of another version is known by its beginning. */
	serve(N_SAMPLES, "other");
	CHECK_EQ(find(&f, true), -ENOENT);
	CHECK_EQ(n_reads, 1);
	CHECK(is_said("it is for another version of the shard"));
	end();
}

static void more_than_a_shard_can_have(void)
{
	struct sfs_index_search f;

	begin(64 << 20);
	serve(10, "e");
	claimed_bytes = sfs_index_bytes_max(SHARD_BYTES) + 1;
	CHECK_EQ(find(&f, false), -ENOENT);
	CHECK_EQ(n_reads, 0);
	CHECK(is_said("are too many for a shard of 51200000"));
	end();
}

static void more_than_fits_the_budget(void)
{
	struct sfs_index_search f;

	begin(240 << 10);
	serve(N_SAMPLES, "e");
	CHECK_EQ(find(&f, false), 0); /* its samples do */
	sfs_index_search_done(&f);
	CHECK_EQ(find(&f, true), -ENOENT);
	CHECK_EQ(n_reads, 1);
	CHECK(is_said("bytes do not fit the budget\",\"then\":\"its headers are read "
		      "instead; raise budget=\""));
	end();
	begin(100 << 10);
	CHECK_EQ(find(&f, false), -ENOENT);
	CHECK(is_said("do not fit the budget"));
	end();
}

int main(void)
{
	object = object_of("https://host/train-0.tar", "e");
	as_much_as_is_wanted();
	more_than_a_shard_can_have();
	more_than_fits_the_budget();
	sfs_object_done(&object);
	free(page);
	return 0;
}
