/* SPDX-License-Identifier: MIT */
/* An index is looked for beside the shard, then at the place that the user named, then in
 * the cache; the first that fits is taken, what does not fit is passed over, and what is
 * kept is found again.  Beside shards at URLs nobody looks for long in vain. */
#include "base/ledger.h"
#include "finding.h"

/* ---- a source that answers at once, from a list ---- */

static struct page {
	const char *url;
	uint64_t n_samples; /* 0: bytes that are no index */
	uint64_t version;
} pages[8];
static int n_pages, n_asked;
static char last_user[40];

static void submit(struct sfs_source *source, struct sfs_request *r)
{
	sfs_autofree void *bytes = NULL;
	size_t n = 5;
	int i;

	snprintf(last_user, sizeof last_user, "%s",
		 r->object->uri.user ? r->object->uri.user : "");
	n_asked += r->kind == SFS_REQUEST_ASK;
	for (i = 0; i < n_pages; i++)
		if (strcmp(pages[i].url, r->object->uri.location) == 0)
			break;
	if (i == n_pages) {
		sfs_request_end(r, -ENOENT);
		return;
	}
	bytes = pages[i].n_samples ? make_index(pages[i].n_samples, pages[i].version, &n)
				   : sfs_strdup("hello");
	r->object->size = n;
	if (r->kind == SFS_REQUEST_READ) {
		CHECK_EQ(r->n_bytes, n);
		CHECK_EQ(r->iov[0].iov_len, n);
		memcpy(r->iov[0].iov_base, bytes, n);
	}
	sfs_request_end(r, 0);
}

static const struct sfs_source_ops ops = {.name = "pages", .submit = submit};
static struct sfs_source source = {.ops = &ops};

/* ---- searches ---- */

/* The number of samples that the index says which is found, or an error. */
static int find(struct sfs_index_finder *ix, const struct sfs_object *o)
{
	struct sfs_index_search f = {.object = o};
	int ret = find_index(ix, &f);

	if (ret < 0) {
		CHECK(!f.bytes.bytes);
		return ret;
	}
	ret = (int)f.index.n_samples;
	CHECK_EQ(f.index.shard_bytes, SHARD_BYTES);
	sfs_charge_done(&f.bytes);
	return ret;
}

static struct sfs_index_finder *open_indexes(const char *cache, const char *place,
					     bool size_only)
{
	const struct sfs_index_finder_options options = {.cache = cache,
							 .place = place,
							 .verify_size_only = size_only,
							 .http = &source};
	struct sfs_index_finder *ix;
	struct sfs_error err;

	CHECK_EQ(sfs_index_finder_new(&options, &ix, &err), 0);
	return ix;
}

static void close_indexes(struct sfs_index_finder *ix)
{
	sfs_index_finder_stop(ix);
	sfs_index_finder_stop(ix);
	sfs_index_finder_free(ix);
}

static void keep(struct sfs_index_finder *ix, const struct sfs_object *o, uint64_t n)
{
	struct sfs_sample_table t;

	make_table(&t, n);
	sfs_index_finder_keep(ix, o, &t, NULL);
	sfs_sample_table_done(&t);
}

static void write_index(const char *path, uint64_t n, uint64_t version)
{
	FILE *f = fopen(path, "w");
	size_t n_bytes;
	sfs_autofree void *bytes = make_index(n, version, &n_bytes);

	CHECK(f != NULL);
	CHECK_EQ(fwrite(bytes, 1, n_bytes, f), n_bytes);
	CHECK_EQ(fclose(f), 0);
}

/* ---- local shards ---- */

static void files(void)
{
	sfs_autofree char *cache = sfs_asprintf("%s/cache", top);
	sfs_autofree char *place = sfs_asprintf("%s/place", top);
	sfs_autofree char *place_slashes = sfs_asprintf("file://%s///", place);
	sfs_autofree char *shard = sfs_asprintf("%s/train-0.tar", top);
	sfs_autofree char *beside = sfs_asprintf("%s.index", shard);
	sfs_autofree char *placed = sfs_asprintf("%s/train-0.tar.index", place);
	struct sfs_object o = object_of(shard, "v1"), other = object_of(shard, "v2");
	struct sfs_index_finder *ix = open_indexes(cache, place, false);
	uint64_t n_said = sfs_ledger_count(SFS_EVENT_INDEX);

	CHECK_EQ(find(ix, &o), -ENOENT);
	keep(ix, &o, 3);
	CHECK_EQ(sfs_index_finder_flush(ix), 0);
	CHECK_EQ(find(ix, &o), 3);
	CHECK_EQ(find(ix, &other), -ENOENT);
	CHECK_EQ(mkdir(place, 0700), 0);
	write_index(placed, 2, version_of("v1"));
	CHECK_EQ(find(ix, &o), 2);
	write_index(beside, 1, version_of("v1"));
	CHECK_EQ(find(ix, &o), 1);
	CHECK_EQ(sfs_ledger_count(SFS_EVENT_INDEX), n_said);

	/* What is there and does not fit is passed over, and said. */
	CHECK_EQ(find(ix, &other), -ENOENT);
	CHECK_EQ(sfs_ledger_count(SFS_EVENT_INDEX), n_said + 2);
	CHECK_EQ(truncate(beside, 100), 0);
	CHECK_EQ(find(ix, &o), 2);
	write_index(placed, 2, version_of("v3"));
	CHECK_EQ(find(ix, &o), 3);
	CHECK_EQ(sfs_ledger_count(SFS_EVENT_INDEX), n_said + 5);
	o.size++; /* then it is no longer so large */
	CHECK_EQ(find(ix, &o), -ENOENT);
	o.size--;
	close_indexes(ix);

	/* verify=size: of any version. */
	ix = open_indexes(NULL, place_slashes, true);
	CHECK_EQ(find(ix, &other), 2);
	close_indexes(ix);
	remove(beside);
	sfs_object_done(&o);
	sfs_object_done(&other);
}

/* A shard of which no version is known is kept by name only. */
static void no_version(void)
{
	sfs_autofree char *cache = sfs_asprintf("%s/cache", top);
	sfs_autofree char *to = sfs_asprintf("%s/to", top);
	const struct sfs_index_finder_options options = {.place = to, .to = to};
	struct sfs_object o = object_of("http://host/train-0.tar", NULL);
	struct sfs_index_finder *ix = open_indexes(cache, NULL, false);
	struct sfs_error err;

	keep(ix, &o, 3);
	CHECK_EQ(sfs_index_finder_flush(ix), 1);
	CHECK_EQ(sfs_index_finder_flush(ix), 0);
	CHECK_EQ(find(ix, &o), -ENOENT);
	close_indexes(ix);
	ix = open_indexes(cache, NULL, true);
	keep(ix, &o, 4);
	CHECK_EQ(sfs_index_finder_flush(ix), 0);
	CHECK_EQ(find(ix, &o), 4);
	close_indexes(ix);
	CHECK_EQ(sfs_index_finder_new(&options, &ix, &err), 0);
	keep(ix, &o, 5);
	CHECK_EQ(sfs_index_finder_flush(ix), 0);
	CHECK_EQ(find(ix, &o), 5);
	close_indexes(ix);
	sfs_object_done(&o);
}

/* ---- at URLs ---- */

static void urls(void)
{
	struct sfs_object o = object_of("https://me:pass@host/d/train-0.tar?sig=1", "e");
	struct sfs_index_finder *ix = open_indexes(NULL, "http://ix/f//?a=b", false);
	const uint64_t v = version_of("e");
	struct sfs_strbuf said = {0};
	struct sfs_error err;

	pages[0] = (struct page){"https://host/d/train-0.tar.index?sig=1", 7, v};
	pages[1] = (struct page){"http://ix/f/train-0.tar.index?a=b", 8, v};
	n_pages = 2;
	CHECK_EQ(find(ix, &o), 7);
	CHECK_STR(last_user, "me:pass"); /* the shard's own host */
	pages[0].n_samples = 0;
	CHECK_EQ(find(ix, &o), 8);
	CHECK_STR(last_user, ""); /* another one */
	sfs_ledger_print(&said);
	CHECK_HAS(said.s, "the index https://host/d/train-0.tar.index?*** is not used");
	CHECK(!strstr(said.s, "sig=")); /* a signature is a secret */
	sfs_strbuf_done(&said);
	pages[1].version++;
	CHECK_EQ(find(ix, &o), -ENOENT);
	o.name = "a/b%41?#.tar";
	pages[1] = (struct page){"http://ix/f/a/b%2541%3F%23.tar.index?a=b", 9, v};
	CHECK_EQ(find(ix, &o), 9);
	close_indexes(ix);
	CHECK_EQ(sfs_index_finder_new(
			 &(struct sfs_index_finder_options){.place = "gopher://x"}, &ix,
			 &err),
		 -EINVAL);
	CHECK_HAS(err.text, "index: ");
	sfs_object_done(&o);
}

/* The query of a shard's URL is a signature, if it has a tag: another one each time. */
static void signed_urls(void)
{
	sfs_autofree char *cache = sfs_asprintf("%s/signed", top);
	struct sfs_object a = object_of("https://host/t.tar?sig=1", "\"e\"");
	struct sfs_object b = object_of("https://host/t.tar?sig=2", "\"e\"");
	struct sfs_index_finder *ix = open_indexes(cache, NULL, false);

	n_pages = 0;
	keep(ix, &a, 6);
	CHECK_EQ(sfs_index_finder_flush(ix), 0);
	CHECK_EQ(find(ix, &b), 6);
	close_indexes(ix);
	sfs_object_done(&a);
	sfs_object_done(&b);
}

static void in_vain(void)
{
	struct sfs_object o = object_of("https://host/t.tar", "e");
	struct sfs_index_finder *ix = open_indexes(NULL, NULL, false);
	int i;

	n_asked = n_pages = 0;
	for (i = 0; i < 20; i++)
		CHECK_EQ(find(ix, &o), -ENOENT);
	CHECK_EQ(n_asked, 3 * 4); /* our own index, Energon's and DALI's */
	close_indexes(ix);

	/* One that was found shows that there are some. */
	pages[0] = (struct page){"https://host/t.tar.index", 7, version_of("e")};
	ix = open_indexes(NULL, NULL, false);
	for (i = 0; i < 20; i++) {
		n_pages = i == 2;
		CHECK_EQ(find(ix, &o), i == 2 ? 7 : -ENOENT);
	}
	CHECK_EQ(n_asked, 3 * 4 + 20 + 2 * 4);
	close_indexes(ix);
	sfs_object_done(&o);
}

int main(void)
{
	make_top();
	files();
	no_version();
	urls();
	signed_urls();
	in_vain();
	sfs_ledger_clear();
	return 0;
}
