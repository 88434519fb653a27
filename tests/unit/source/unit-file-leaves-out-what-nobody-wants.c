/* SPDX-License-Identifier: MIT */
/* A read of a local file may name gaps between its pieces.  What the page cache has is
 * read without them; what a disk must bring, only without the large ones.  The pieces get
 * just their bytes, wherever the page cache ends, and the skipped bytes are not counted. */
#include "base/alloc.h"
#include "base/rng.h"
#include "check.h"
#include "source/source.h"

#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define SIZE	  ((uint64_t)4 << 20)
#define N_ROUNDS  300
#define N_PIECES  1500 /* more than a system call takes */
#define SMALL_GAP 2000
#define LARGE_GAP 200000
#define GAP_PIECE 65536

static char path[] = "/tmp/shufflefs-unit-file.XXXXXX";
static unsigned char content[SIZE], buffer[SIZE], gap[GAP_PIECE];
static struct sfs_object object;
static struct sfs_source *source;

/* ---- a page cache that has the first `cached` bytes ---- */

static uint64_t cached;
static int fails_with; /* where the page cache cannot be asked */
static atomic_int n_reads;

ssize_t preadv2(int fd, const struct iovec *iov, int n, off_t offset, int flags);
ssize_t preadv64v2(int fd, const struct iovec *iov, int n, off_t offset, int flags);

static ssize_t read_at_once(int fd, const struct iovec *iov, int n, off_t offset,
			    int flags)
{
	ssize_t ret;

	CHECK(flags == RWF_NOWAIT);
	if (fails_with != 0 || (uint64_t)offset >= cached) {
		errno = fails_with != 0 ? fails_with : EAGAIN;
		return -1;
	}
	atomic_fetch_add(&n_reads, 1);
	ret = syscall(SYS_preadv, fd, iov, (long)n, (long)offset, 0L);
	return ret < 0 || (uint64_t)(offset + ret) <= cached ? ret
							      : (ssize_t)cached - offset;
}

ssize_t preadv2(int fd, const struct iovec *iov, int n, off_t offset, int flags)
{
	return read_at_once(fd, iov, n, offset, flags);
}

ssize_t preadv64v2(int fd, const struct iovec *iov, int n, off_t offset, int flags)
{
	return read_at_once(fd, iov, n, offset, flags);
}

/* ---- requests ---- */

struct asked {
	struct sfs_request request;
	struct iovec iov[N_PIECES];
	uint64_t n_wanted, n_small, n_large; /* bytes, of pieces and of gaps */
	pthread_mutex_t lock;
	pthread_cond_t ended;
	bool has_ended;
	int err;
};

static void on_done(struct sfs_request *request, int err)
{
	struct asked *a = sfs_container(request, struct asked, request);

	pthread_mutex_lock(&a->lock);
	a->err = err;
	a->has_ended = true;
	pthread_cond_signal(&a->ended);
	pthread_mutex_unlock(&a->lock);
}

static void begin(struct asked *a, uint64_t offset)
{
	memset(a, 0, sizeof *a);
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->ended, NULL);
	a->request = (struct sfs_request){.kind = SFS_REQUEST_READ,
					  .object = &object,
					  .offset = offset,
					  .iov = a->iov,
					  .gap = gap,
					  .done = on_done};
	memset(buffer, 0xaa, sizeof buffer);
	memset(gap, 0xaa, sizeof gap);
}

static void add(struct asked *a, void *p, uint64_t n)
{
	CHECK(a->request.n_iov < N_PIECES);
	a->iov[a->request.n_iov++] = (struct iovec){p, (size_t)n};
	a->request.n_bytes += n;
}

/* Wanted bytes go to their own place in the buffer. */
static void add_piece(struct asked *a, uint64_t n)
{
	add(a, buffer + a->request.offset + a->request.n_bytes, n);
	a->n_wanted += n;
}

static void add_gap(struct asked *a, uint64_t n)
{
	uint64_t piece, left;

	for (left = n; left > 0; left -= piece) {
		piece = left < GAP_PIECE ? left : GAP_PIECE;
		add(a, gap, piece);
	}
	*(n == LARGE_GAP ? &a->n_large : &a->n_small) += n;
}

static int run(struct asked *a)
{
	sfs_request_submit(&a->request);
	pthread_mutex_lock(&a->lock);
	while (!a->has_ended)
		pthread_cond_wait(&a->ended, &a->lock);
	pthread_mutex_unlock(&a->lock);
	return a->err;
}

/* Each wanted byte is there, and nothing else was written. */
static void check_bytes(const struct asked *a)
{
	uint64_t at = a->request.offset, i;
	int k;

	for (i = 0; i < a->request.offset; i++)
		CHECK(buffer[i] == 0xaa);
	for (k = 0; k < a->request.n_iov; at += a->iov[k++].iov_len) {
		if (a->iov[k].iov_base != gap) {
			CHECK(memcmp(buffer + at, content + at, a->iov[k].iov_len) == 0);
			continue;
		}
		for (i = at; i < at + a->iov[k].iov_len; i++)
			CHECK(buffer[i] == 0xaa);
	}
	for (i = at; i < SIZE; i++)
		CHECK(buffer[i] == 0xaa);
}

/* Some pieces, with no, small and large gaps between them. */
static void ask_for_any(struct asked *a, struct sfs_rng *rng)
{
	uint64_t n = 1 + sfs_rng_next(rng) % 12, kind, i;

	begin(a, sfs_rng_next(rng) % 100000);
	for (i = 0; i < n; i++) {
		kind = i > 0 ? sfs_rng_next(rng) % 4 : 0;
		if (kind == 1 || kind == 2)
			add_gap(a, SMALL_GAP);
		else if (kind == 3)
			add_gap(a, LARGE_GAP);
		add_piece(a, 1 + sfs_rng_next(rng) % 9000);
	}
}

static void anywhere(void)
{
	struct asked *a = sfs_malloc(sizeof *a);
	struct sfs_source_counts before, after;
	struct sfs_rng rng = {.state = 1};
	uint64_t n_gaps;
	int i;

	for (i = 0; i < N_ROUNDS; i++) {
		ask_for_any(a, &rng);
		fails_with = i % 5 == 0 ? EOPNOTSUPP : 0;
		cached = i % 3 == 0 ? SIZE : sfs_rng_next(&rng) % 3000000;
		before = after = (struct sfs_source_counts){0};
		sfs_source_count(source, &before);
		CHECK_EQ(run(a), 0);
		check_bytes(a);
		n_gaps = a->n_small + a->n_large;
		CHECK(a->request.n_skipped >= a->n_large);
		CHECK(a->request.n_skipped <= n_gaps);
		if (fails_with != 0)
			CHECK_EQ(a->request.n_skipped, a->n_large);
		else if (cached == SIZE)
			CHECK_EQ(a->request.n_skipped, n_gaps);
		sfs_source_count(source, &after);
		CHECK_EQ(after.n_bytes - before.n_bytes,
			 a->request.n_bytes - a->request.n_skipped);
	}
	free(a);
}

/* More pieces than one system call takes. */
static void very_many_pieces(void)
{
	struct asked *a = sfs_malloc(sizeof *a);
	int i;

	fails_with = 0;
	cached = SIZE;
	begin(a, 0);
	for (i = 0; i < N_PIECES - 2; i++)
		add_piece(a, 512);
	add_gap(a, SMALL_GAP);
	add_piece(a, 512);
	CHECK_EQ(run(a), 0);
	check_bytes(a);
	free(a);
}

/* Small gaps of a disk are read: one read for all. */
static void from_a_disk_at_once(void)
{
	struct asked *a = sfs_malloc(sizeof *a);
	int i;

	fails_with = 0;
	cached = 0;
	n_reads = 0;
	begin(a, 0);
	for (i = 0; i < 20; i++) {
		add_piece(a, 3000);
		add_gap(a, SMALL_GAP);
	}
	add_piece(a, 1);
	CHECK_EQ(run(a), 0);
	check_bytes(a);
	CHECK_EQ(a->request.n_skipped, 0);
	CHECK_EQ(n_reads, 0);
	free(a);
}

static void beyond_the_end(void)
{
	struct asked *a = sfs_malloc(sizeof *a);

	cached = SIZE;
	begin(a, 0);
	add_piece(a, 1000);
	add_gap(a, SMALL_GAP);
	add_piece(a, 1000);
	CHECK_EQ(truncate(path, 3500), 0);
	object.size = 3500; /* as if it shrank after the version was compared */
	CHECK_EQ(run(a), -ESTALE);
	free(a);
}

int main(void)
{
	struct sfs_rng rng = {.state = 7};
	struct sfs_uri uri = {0};
	int fd = mkstemp(path);
	uint64_t i;

	for (i = 0; i < SIZE; i++)
		content[i] = (unsigned char)sfs_rng_next(&rng);
	CHECK(fd >= 0);
	CHECK_EQ(write(fd, content, SIZE), (ssize_t)SIZE);
	close(fd);
	source = sfs_source_file_start(1, true);
	CHECK_EQ(sfs_uri_parse(path, &uri, NULL), 0);
	sfs_object_init(&object, &uri, source);
	object.name = "x.tar";
	object.size = SIZE;
	object.tag = sfs_strdup("any");
	anywhere();
	very_many_pieces();
	from_a_disk_at_once();
	beyond_the_end();
	sfs_source_stop(source);
	sfs_source_free(source);
	sfs_object_done(&object);
	CHECK_EQ(unlink(path), 0);
	return 0;
}
