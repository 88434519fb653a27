/* SPDX-License-Identifier: MIT */
/* What must be edited in a sample is found by fetching its headers alone, and is what
 * editing the whole sample would have changed. */
#include "base/alloc.h"
#include "base/ledger.h"
#include "check.h"
#include "io/header-patch.h"
#include "tar/rewrite.h"
#include "tars.h"

#include <errno.h>
#include <unistd.h>

static struct sfs_budget budget;
static struct sfs_slabs *slabs;
static struct sfs_threadpool *pool;
static struct sfs_source *source;
static struct sfs_range_reader range_reader;
static char *path;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static int n_done, done_err;

static void is_done(int err)
{
	pthread_mutex_lock(&lock);
	n_done++;
	done_err = err;
	pthread_cond_signal(&wake);
	pthread_mutex_unlock(&lock);
}

static void on_patch(struct sfs_header_patch *walk, int err)
{
	is_done(err);
}

static void on_range(struct sfs_range *range, int err)
{
	is_done(err);
}

static int wait_until_done(void)
{
	int err;

	pthread_mutex_lock(&lock);
	while (n_done == 0)
		pthread_cond_wait(&wake, &lock);
	CHECK_EQ(n_done, 1);
	n_done = 0;
	err = done_err;
	pthread_mutex_unlock(&lock);
	return err;
}

/* ---- a shard on the disk ---- */

static struct tar t;
static uint64_t sample_start;
static struct sfs_object object;
static struct sfs_shard shard = {.object = &object};
static char name[] = "train-7.tar", folder[] = "train-7";

static void open_shard(void)
{
	struct sfs_uri uri = {0};
	FILE *f = fopen(path, "w");

	CHECK(f != NULL);
	CHECK_EQ(fwrite(t.bytes, 1, t.n, f), t.n);
	CHECK_EQ(fclose(f), 0);
	CHECK_EQ(sfs_uri_parse(path, &uri, NULL), 0);
	sfs_object_init(shard.object, &uri, source);
	shard.name = name;
	shard.folder = folder;
	shard.object->name = shard.name;
	shard.object->size = t.n; /* the source verifies no more than that */
}

static void close_shard(void)
{
	sfs_object_done(shard.object);
	tar_done(&t);
}

static struct sfs_header_patch patch_of(bool is_renamed)
{
	return (struct sfs_header_patch){.sample.shard = &shard,
					 .sample.start = sample_start,
					 .sample.n_bytes = t.n - sample_start,
					 .sample.is_renamed = is_renamed,
					 .done = on_patch};
}

/* The sample as it should become. */
static unsigned char *edited(bool is_renamed)
{
	size_t n = t.n - sample_start, pos;
	unsigned char *all = sfs_malloc(n);
	struct sfs_tar_entry entry;

	memcpy(all, t.bytes + sample_start, n);
	for (pos = 0; pos < n; pos += entry.next) {
		CHECK_EQ(tar_rewrite(all + pos, n - pos, is_renamed ? "train-7" : NULL,
				     &entry, NULL),
			 0);
		sfs_tar_entry_done(&entry);
	}
	return all;
}

/* Fetch [at, at + n) of the sample and apply the patches. */
static void check_piece(const struct sfs_header_patch *w, const unsigned char *wanted,
			uint64_t at, size_t n)
{
	struct sfs_range range = {.shard = &shard,
				  .offset = sample_start + at,
				  .n_bytes = n,
				  .done = on_range};
	sfs_autofree unsigned char *got = sfs_malloc(n);

	sfs_range_start(&range_reader, &range, NULL);
	CHECK_EQ(wait_until_done(), 0);
	sfs_header_patch_apply(w, &range, at);
	sfs_range_read(&range, 0, got, n);
	CHECK(memcmp(got, wanted + at, n) == 0);
	sfs_range_drop(&range);
}

static void check_patch(bool is_renamed, uint64_t most_bytes)
{
	struct sfs_source_counts before = {0}, after = {0};
	struct sfs_header_patch w = patch_of(is_renamed);
	unsigned char *wanted = edited(is_renamed);
	size_t n = w.sample.n_bytes, at, piece;

	sfs_source_count(source, &before);
	sfs_header_patch_start(&range_reader, &w);
	CHECK_EQ(wait_until_done(), 0);
	sfs_source_count(source, &after);
	CHECK(after.n_bytes - before.n_bytes <= most_bytes);

	for (piece = 700; piece < n; piece *= 13)
		for (at = 0; at < n; at += n / 5 + 1)
			check_piece(&w, wanted, at, piece < n - at ? piece : n - at);
	check_piece(&w, wanted, 0, n);
	CHECK_EQ(sfs_account_used(&range_reader.account), 0);
	sfs_header_patch_done(&w);
	CHECK(!w.patches && w.n_patches == 0);
	free(wanted);
}

static void begin_sample(void)
{
	tar_done(&t);
	tar_file(&t, "README", 1000, 'r'); /* not at the shard's start */
	sample_start = t.n;
}

static void large_members(void)
{
	begin_sample();
	tar_file(&t, "000.jpg", 300000, 'x');
	tar_file(&t, "000.cls", 1, '1');
	tar_pax(&t, 'g', "comment", "inside");
	tar_file(&t, "notes", 100000, 'n'); /* in the sample, but without a key */
	tar_pax(&t, 'x', "path", "000.longer");
	tar_file(&t, "x", 200000, 'y');
	open_shard();
	check_patch(true, 5 * 4096);
	check_patch(false, 5 * 4096);
	close_shard();
}

static void small_members(void)
{
	char field[20];
	int i;

	begin_sample();
	for (i = 0; i < 100; i++) {
		snprintf(field, sizeof field, "000.f%d", i);
		tar_file(&t, field, (size_t)i * 20, 'x');
	}
	open_shard();
	check_patch(true, 2 * t.n);
	close_shard();
}

/* A header group larger than one fetch. */
static void long_headers(void)
{
	sfs_autofree char *value = sfs_malloc(60001), *records = sfs_malloc(70000);
	char one[100];

	memset(value, 'v', 60000);
	value[60000] = 0;
	tar_record(records, "comment", value);
	strcat(records, tar_record(one, "path", "000.long"));
	begin_sample();
	tar_file(&t, "000.jpg", 3000, 'x');
	tar_extension(&t, 'x', records, strlen(records));
	tar_file(&t, "x", 300000, 'y');
	tar_file(&t, "000.cls", 1, '1');
	open_shard();
	check_patch(true, 5 * 4096 + 2 * 65536);
	close_shard();
}

/* ---- what cannot be ---- */

static void fails(int wanted, bool is_renamed)
{
	struct sfs_header_patch w = patch_of(is_renamed);

	sfs_header_patch_start(&range_reader, &w);
	CHECK_EQ(wait_until_done(), wanted);
	sfs_header_patch_done(&w);
	CHECK_EQ(sfs_account_used(&range_reader.account), 0);
}

static void no_room(void)
{
	uint64_t n = sfs_ledger_count(SFS_EVENT_LOST);
	struct sfs_strbuf text = {0};
	unsigned char *b;

	begin_sample();
	tar_file(&t, "000.jpg", 30000, 'x');
	b = tar_header(&t, "ustar", '0', "000.cls", 0);
	memset(b + AT_PREFIX, 'p', 150);
	tar_sum(b);
	open_shard();
	fails(-ENAMETOOLONG, true);
	CHECK_EQ(sfs_ledger_count(SFS_EVENT_LOST) - n, 1);
	sfs_ledger_print(&text);
	CHECK_HAS(text.s, "does not fit into its header");
	CHECK_HAS(text.s, "\"shard\":\"train-7.tar\",\"offset\":32256");
	sfs_strbuf_done(&text);
	check_patch(false, 3 * 4096); /* as it is, it is fine */
	close_shard();
}

static void damaged(void)
{
	begin_sample();
	tar_file(&t, "000.jpg", 30000, 'x');
	tar_file(&t, "000.cls", 1, '1');
	t.bytes[t.n - 1024] ^= 1;
	open_shard();
	fails(-EBADMSG, true);
	fails(-EBADMSG, false);
	shard.object->size++; /* another version */
	fails(-ESTALE, false);
	CHECK_EQ(unlink(path), 0);
	fails(-ENOENT, false);
	close_shard();
}

static void cancelled(void)
{
	struct sfs_header_patch w;
	char field[20];
	int i, err;

	begin_sample();
	for (i = 0; i < 100; i++) {
		snprintf(field, sizeof field, "000.f%d", i);
		tar_file(&t, field, 10000, 'x');
	}
	open_shard();
	for (i = 0; i < 20; i++) {
		w = patch_of(true);
		atomic_store(&w.is_cancelled, i == 0); /* before it began, or sometime */
		sfs_header_patch_start(&range_reader, &w);
		pthread_mutex_lock(&lock);
		if (n_done == 0)
			sfs_header_patch_cancel(&w);
		pthread_mutex_unlock(&lock);
		err = wait_until_done();
		CHECK(err == -ECANCELED || (err == 0 && i > 0));
		sfs_header_patch_done(&w);
	}
	CHECK_EQ(sfs_account_used(&range_reader.account), 0);
	close_shard();
}

static void remove_file(void)
{
	unlink(path);
	free(path);
}

int main(void)
{
	const char *tmp = getenv("TMPDIR");
	int fd;

	sfs_log_set_level(SFS_LOG_ERROR);
	path = sfs_asprintf("%s/shufflefs-unit-walk.XXXXXX", tmp ? tmp : "/tmp");
	fd = mkstemp(path);
	CHECK(fd >= 0);
	close(fd);
	atexit(remove_file);
	sfs_budget_init(&budget, 64 << 20);
	slabs = sfs_slabs_new(64 << 20);
	pool = sfs_threadpool_start("test", 2);
	source = sfs_source_file_start(2, true);
	CHECK_EQ(sfs_range_reader_init(&range_reader, slabs, pool, &budget, 8 << 20), 0);

	large_members();
	small_members();
	long_headers();
	no_room();
	damaged();
	cancelled();

	sfs_source_stop(source);
	sfs_threadpool_stop(pool);
	sfs_range_reader_done(&range_reader);
	sfs_threadpool_free(pool);
	sfs_source_free(source);
	sfs_slabs_free(slabs);
	sfs_budget_done(&budget);
	sfs_ledger_clear();
	return 0;
}
