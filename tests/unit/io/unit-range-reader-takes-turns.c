/* SPDX-License-Identifier: MIT */
/* Grabs fetch just their range, into memory that is counted; who wants more memory than
 * there is waits in one row, and nobody overtakes. */
#include "base/alloc.h"
#include "base/ledger.h"
#include "check.h"
#include "io/range.h"

#include <errno.h>
#include <unistd.h>

#define SIZE  (9 << 20)
#define FLOOR ((uint64_t)4 << 20)

static struct sfs_budget budget;
static struct sfs_slabs *slabs;
static struct sfs_threadpool *pool;
static struct sfs_source *source;
static struct sfs_range_reader range_reader;
static struct sfs_object object;
static struct sfs_shard shard = {.object = &object};
static char name[] = "x.tar", *path;

static unsigned char byte_at(uint64_t offset)
{
	return (unsigned char)(offset * 31 + offset / 1009);
}

/* ---- what has ended, in its order ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static void *ended[20];
static int errs[20], n_ended;

static void note(void *which, int err)
{
	pthread_mutex_lock(&lock);
	CHECK(n_ended < 20);
	errs[n_ended] = err;
	ended[n_ended++] = which;
	pthread_cond_signal(&wake);
	pthread_mutex_unlock(&lock);
}

static void wait_for(int n)
{
	pthread_mutex_lock(&lock);
	while (n_ended < n)
		pthread_cond_wait(&wake, &lock);
	CHECK_EQ(n_ended, n);
	pthread_mutex_unlock(&lock);
}

static void on_grab(struct sfs_range *grab, int err)
{
	note(grab, err);
}

static void on_grant(struct sfs_grant *grant)
{
	note(grant, 0);
}

static struct sfs_range grab_of(uint64_t offset, uint64_t n)
{
	n_ended = 0;
	return (struct sfs_range){.shard = &shard,
				  .offset = offset,
				  .n_bytes = n,
				  .done = on_grab};
}

/* ---- tests ---- */

static void check_bytes(struct sfs_range *g)
{
	sfs_autofree unsigned char *all = sfs_malloc(g->n_bytes);
	uint64_t at, i;
	unsigned char *p;
	size_t n;

	for (at = 0; at < g->n_bytes; at += n) {
		p = sfs_range_at(g, at, &n);
		CHECK(n > 0 && n <= g->n_bytes - at);
		CHECK_EQ(p[0], byte_at(g->offset + at));
		CHECK_EQ(p[n - 1], byte_at(g->offset + at + n - 1));
	}
	sfs_range_read(g, 0, all, g->n_bytes);
	for (i = 0; i < g->n_bytes; i++)
		CHECK_EQ(all[i], byte_at(g->offset + i));
}

static void one(uint64_t offset, uint64_t n)
{
	struct sfs_source_counts before = {0}, after = {0};
	struct sfs_range g = grab_of(offset, n);
	unsigned char bytes[3] = {1, 2, 3}, got[5];

	sfs_source_count(source, &before);
	sfs_range_start(&range_reader, &g, NULL);
	wait_for(1);
	CHECK_EQ(errs[0], 0);
	sfs_source_count(source, &after);
	CHECK_EQ(after.n_bytes - before.n_bytes, n);
	CHECK_EQ(sfs_account_used(&range_reader.account), sfs_range_cost(n));
	CHECK(sfs_range_cost(n) >= n);
	check_bytes(&g);
	if (n > SFS_SLAB_BYTES + 2) { /* over the border of two slabs */
		sfs_range_write(&g, SFS_SLAB_BYTES - 1, bytes, 3);
		sfs_range_read(&g, SFS_SLAB_BYTES - 2, got, 5);
		CHECK(memcmp(got + 1, bytes, 3) == 0);
		CHECK_EQ(got[0], byte_at(offset + SFS_SLAB_BYTES - 2));
		CHECK_EQ(got[4], byte_at(offset + SFS_SLAB_BYTES + 2));
	}
	sfs_range_drop(&g);
	sfs_range_drop(&g);
	CHECK_EQ(sfs_account_used(&range_reader.account), 0);
	CHECK_EQ(sfs_slabs_used(slabs), 0);
}

/* The caller's own account pays, whatever the grabber has. */
static void paid_by_another(void)
{
	struct sfs_account mine;
	struct sfs_range g = grab_of(1000, 500000);

	CHECK_EQ(sfs_account_open(&mine, &budget, 0, false, NULL), 0);
	CHECK_EQ(sfs_account_take(&mine, sfs_range_cost(g.n_bytes)), 0);
	sfs_range_start(&range_reader, &g, &mine);
	wait_for(1);
	check_bytes(&g);
	CHECK_EQ(sfs_account_used(&range_reader.account), 0);
	CHECK_EQ(sfs_account_used(&mine), sfs_range_cost(500000));
	sfs_range_drop(&g);
	CHECK_EQ(sfs_account_used(&mine), 0);
	sfs_account_close(&mine);
}

/* Room for one large grab: the others come one after the other. */
static void in_a_row(void)
{
	struct sfs_range grabs[4];
	int k;

	for (k = 0; k < 4; k++)
		grabs[k] = grab_of((uint64_t)k << 20, k == 2 ? 100 : 3 << 20);
	for (k = 0; k < 4; k++)
		sfs_range_start(&range_reader, &grabs[k], NULL);
	wait_for(1);
	CHECK(ended[0] == &grabs[0]);
	check_bytes(&grabs[0]);
	sfs_range_drop(&grabs[0]);
	/* The second, and with it the small one, for which there was
	 * room all the time. */
	wait_for(3);
	CHECK((ended[1] == &grabs[1] && ended[2] == &grabs[2]) ||
	      (ended[1] == &grabs[2] && ended[2] == &grabs[1]));
	sfs_range_drop(&grabs[1]);
	wait_for(4);
	CHECK(ended[3] == &grabs[3]);
	check_bytes(&grabs[3]);
	sfs_range_drop(&grabs[2]);
	sfs_range_drop(&grabs[3]);
	CHECK_EQ(sfs_account_used(&range_reader.account), 0);
}

/* Memory that is asked for by itself. */
static void grants(void)
{
	struct sfs_grant first = {.n_bytes = FLOOR, .granted = on_grant}, second = first,
			 third = {.n_bytes = 1000, .granted = on_grant};

	n_ended = 0;
	sfs_range_reader_request(&range_reader, &first);
	wait_for(1);
	CHECK(!sfs_range_reader_take_back(&range_reader, &first)); /* it was granted */
	sfs_range_reader_request(&range_reader, &second);
	sfs_range_reader_request(&range_reader, &third);
	CHECK(sfs_range_reader_take_back(&range_reader, &second));
	CHECK(!sfs_range_reader_take_back(&range_reader, &second));
	sfs_threadpool_settle(pool, &range_reader.task);
	CHECK_EQ(n_ended, 1); /* no room for the third, either */
	sfs_account_give(&range_reader.account, FLOOR);
	wait_for(2);
	CHECK(ended[1] == &third);
	sfs_account_give(&range_reader.account, 1000);
	CHECK_EQ(sfs_account_used(&range_reader.account), 0);
}

static void failed(void)
{
	struct sfs_range g = grab_of(0, 200000);

	shard.object->size++; /* another version */
	sfs_range_start(&range_reader, &g, NULL);
	wait_for(1);
	CHECK_EQ(errs[0], -ESTALE);
	sfs_range_drop(&g);
	shard.object->size--;
	CHECK_EQ(sfs_account_used(&range_reader.account), 0);
	CHECK_EQ(sfs_slabs_used(slabs), 0);
	memset(&g, 0, sizeof g);
	sfs_range_drop(&g); /* one that never began */
}

static void make_file(void)
{
	const char *tmp = getenv("TMPDIR");
	sfs_autofree unsigned char *bytes = sfs_malloc(SIZE);
	struct sfs_uri uri = {0};
	uint64_t i;
	FILE *f;
	int fd;

	for (i = 0; i < SIZE; i++)
		bytes[i] = byte_at(i);
	path = sfs_asprintf("%s/shufflefs-unit-grab.XXXXXX", tmp ? tmp : "/tmp");
	fd = mkstemp(path);
	CHECK(fd >= 0);
	f = fdopen(fd, "w");
	CHECK_EQ(fwrite(bytes, 1, SIZE, f), SIZE);
	CHECK_EQ(fclose(f), 0);
	CHECK_EQ(sfs_uri_parse(path, &uri, NULL), 0);
	sfs_object_init(shard.object, &uri, source);
	shard.object->name = shard.name = name;
	shard.object->size = SIZE; /* the source verifies no more than that */
}

static void remove_file(void)
{
	unlink(path);
	free(path);
}

int main(void)
{
	struct sfs_account other;

	sfs_log_set_level(SFS_LOG_ERROR);
	source = sfs_source_file_start(2, true);
	atexit(remove_file);
	make_file();
	sfs_budget_init(&budget, 2 * FLOOR);
	slabs = sfs_slabs_new(2 * FLOOR);
	pool = sfs_threadpool_start("test", 2);
	CHECK_EQ(sfs_range_reader_init(&range_reader, slabs, pool, &budget, FLOOR), 0);

	one(0, 1);
	one(SIZE - 1, 1);
	one(5, 100);
	one(0, SFS_SLAB_BYTES);
	one(77, SFS_SLAB_BYTES + 1);
	one(1000, 300001);
	one(123, SFS_RANGE_MAX);
	paid_by_another();
	failed();

	/* Another holds all that is not the grabber's own. */
	CHECK_EQ(sfs_account_open(&other, &budget, 0, false, NULL), 0);
	CHECK_EQ(sfs_account_take(&other, FLOOR), 0);
	one(123, SFS_RANGE_MAX);
	in_a_row();
	grants();
	sfs_account_give(&other, FLOOR);
	sfs_account_close(&other);

	sfs_source_stop(source);
	sfs_threadpool_stop(pool);
	sfs_range_reader_done(&range_reader);
	sfs_threadpool_free(pool);
	sfs_source_free(source);
	sfs_object_done(shard.object);
	sfs_slabs_free(slabs);
	sfs_budget_done(&budget);
	sfs_ledger_clear();
	return 0;
}
