/* SPDX-License-Identifier: MIT */
/* What is handed out as pieces of slabs, or as bytes, is read as the stream that it is;
 * what was taken stays acknowledged as held until it is released, in whatever order; a
 * sample in one piece is not copied; and a cut, a death, and nonsense are errors. */
#include "check.h"

#include "base/alloc.h"
#include "base/pieces.h"
#include "base/rng.h"
#include "decode/input.h"
#include "io/handout.h"
#include "memory/slab.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define N_SLABS 32
#define N_READS 48
#define N_KEPT	24

static struct sfs_slabs *slabs;
static void *slab[N_SLABS];
static uint64_t n_shared; /* bytes of the file in which they lie */
static unsigned char elsewhere[SFS_SLAB_BYTES];
static struct sfs_rng rng;

static void nothing(void *arg)
{
}

/* A read whose answer is some pieces of slabs, and some bytes of elsewhere. */
static void make_read(struct sfs_read *read)
{
	size_t from, n, n_pieces = 1 + sfs_rng_below(&rng, 12);
	unsigned char *p;

	*read = (struct sfs_read){0};
	while (n_pieces-- > 0) {
		p = sfs_rng_below(&rng, 4) ? slab[sfs_rng_below(&rng, N_SLABS)]
					   : elsewhere;
		from = sfs_rng_below(&rng, SFS_SLAB_BYTES);
		n = 1 + sfs_rng_below(&rng, SFS_SLAB_BYTES - from);
		sfs_read_add(read, p + from, n);
	}
}

/* ---- a whole stream ---- */

struct sender {
	int fd;
	struct sfs_read reads[N_READS];
	uint64_t n_released; /* when the last acknowledgement had come */
};

static void *send_all(void *arg)
{
	struct sender *s = arg;
	struct sfs_handout h;
	int i;

	CHECK_EQ(sfs_handout_begin(&h, s->fd, slabs), 0);
	for (i = 0; i < N_READS; i++) {
		CHECK(sfs_handout_send(&h, &s->reads[i], i % 3 != 0) >= 0);
		CHECK_EQ(sfs_handout_listen(&h, 0), 0);
	}
	shutdown(s->fd, SHUT_WR);
	while (sfs_handout_listen(&h, 1000) == 0)
		;
	s->n_released = h.n_released;
	return NULL;
}

struct kept {
	struct sfs_chunk *chunk;
	const unsigned char *bytes;
	size_t at, n;
};

static void release(struct kept *k, const unsigned char *stream)
{
	if (!k->chunk)
		return;
	CHECK(memcmp(k->bytes, stream + k->at, k->n) == 0);
	sfs_chunk_release(k->chunk);
	k->chunk = NULL;
}

static size_t read_some(struct sfs_input *in, const unsigned char *stream, size_t at,
			size_t n, struct kept *k)
{
	const unsigned char *bytes;

	switch (sfs_rng_below(&rng, 4)) {
	case 0: CHECK_EQ(sfs_input_skip(in, n), 0); return n;
	case 1:
		n = n < 700 ? n : 700;
		CHECK_EQ(sfs_input_peek(in, n, &bytes), 0);
		CHECK(memcmp(bytes, stream + at, n) == 0);
		return 0;
	default:
		CHECK_EQ(sfs_input_take(in, n, &k->chunk, &k->bytes), 0);
		CHECK(at % 16 != 0 || (uintptr_t)k->bytes % 16 == 0);
		return n;
	}
}

static void whole_stream(void)
{
	struct sender s;
	struct kept kept[N_KEPT] = {{0}}, *k;
	unsigned char *stream, byte;
	const unsigned char *bytes;
	struct sfs_input *in;
	struct sfs_chunk *chunk;
	size_t n_all = 0, at = 0, n, i;
	pthread_t thread;
	int fds[2];

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	s.fd = fds[0];
	for (i = 0; i < N_READS; i++) {
		make_read(&s.reads[i]);
		n_all += s.reads[i].n_answered;
	}
	stream = malloc(n_all);
	for (i = 0; i < N_READS; i++) {
		sfs_read_copy(&s.reads[i], stream + at);
		at += s.reads[i].n_answered;
	}
	pthread_create(&thread, NULL, send_all, &s);
	in = sfs_input_new(fds[1], SFS_INPUT_PIECES, nothing, NULL);
	for (at = 0; at < n_all; at += read_some(in, stream, at, n, k)) {
		k = &kept[sfs_rng_below(&rng, N_KEPT)];
		release(k, stream);
		n = sfs_rng_below(&rng, sfs_rng_below(&rng, 8) ? 3000 : 400000);
		n = n < n_all - at ? n : n_all - at;
		*k = (struct kept){.at = at, .n = n};
		CHECK_EQ(sfs_input_position(in), at);
	}
	for (k = kept; k < kept + N_KEPT; k++)
		release(k, stream);
	CHECK_EQ(sfs_input_take(in, 1, &chunk, &bytes), -EPIPE);
	CHECK_EQ(sfs_input_skip(in, 1), -EPIPE);
	sfs_input_free(in);
	CHECK_EQ(recv(fds[1], &byte, 1, MSG_DONTWAIT), 0);
	close(fds[1]);
	pthread_join(thread, NULL);
	CHECK_EQ(s.n_released, n_all);
	close(fds[0]);
	for (i = 0; i < N_READS; i++)
		sfs_read_reset(&s.reads[i]);
	free(stream);
}

/* ---- what is held ---- */

static void held(void)
{
	struct sfs_read reads[3] = {{0}};
	const unsigned char *a, *b, *c, *peeked;
	struct sfs_chunk *chunks[3];
	struct sfs_handout h;
	struct sfs_input *in;
	int fds[2], i;

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	CHECK_EQ(sfs_handout_begin(&h, fds[0], slabs), 0);
	for (i = 0; i < 3; i++) {
		sfs_read_add(&reads[i], slab[i], 1024);
		CHECK_EQ(sfs_handout_send(&h, &reads[i], true), 1);
	}
	CHECK(!h.is_waiting);
	in = sfs_input_new(fds[1], SFS_INPUT_PIECES, nothing, NULL);

	/* A peek is a copy; what is taken is the slab itself: both change places. */
	CHECK_EQ(sfs_input_peek(in, 512, &peeked), 0);
	CHECK_EQ(sfs_input_skip(in, 512), 0);
	CHECK_EQ(sfs_input_take(in, 512, &chunks[0], &a), 0);
	CHECK_EQ(sfs_input_take(in, 1000, &chunks[1], &b), 0);
	CHECK_EQ(sfs_input_skip(in, 24), 0);
	CHECK_EQ(sfs_input_take(in, 1024, &chunks[2], &c), 0);
	memset(slab[0], 77, 1024);
	CHECK(peeked[0] != 77 && peeked[511] != 77);
	CHECK(a[0] == 77 && a[511] == 77);
	memset(slab[1], 78, 1024);
	CHECK(b[0] == 78 && b[999] == 78);

	/* In the stream's order, whatever the order of releases. */
	CHECK_EQ(sfs_handout_listen(&h, 0), 0);
	CHECK_EQ(h.n_released, 0);
	sfs_chunk_release(chunks[1]);
	CHECK_EQ(sfs_handout_listen(&h, 0), 0);
	CHECK_EQ(h.n_released, 0);
	sfs_chunk_release(chunks[0]);
	CHECK_EQ(sfs_handout_listen(&h, 0), 0);
	CHECK_EQ(h.n_released, 2048);
	sfs_chunk_release(chunks[2]);
	CHECK_EQ(sfs_handout_listen(&h, 0), 0);
	CHECK_EQ(h.n_released, 3072);

	/* Who waits says so, and a death is heard. */
	CHECK(!h.is_waiting);
	shutdown(fds[0], SHUT_WR);
	CHECK_EQ(sfs_input_skip(in, 1), -EPIPE);
	sfs_input_free(in);
	close(fds[1]);
	CHECK_EQ(sfs_handout_listen(&h, 0), -EPIPE);
	CHECK_EQ(sfs_handout_send(&h, &reads[0], true), -EPIPE);
	close(fds[0]);
	for (i = 0; i < 3; i++)
		sfs_read_reset(&reads[i]);
}

static void *skip_one(void *in)
{
	return (void *)(intptr_t)sfs_input_skip(in, 1);
}

static void waits(void)
{
	struct sfs_read read = {0};
	struct sfs_handout h;
	struct sfs_input *in;
	pthread_t thread;
	void *ret;
	int fds[2];

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	CHECK_EQ(sfs_handout_begin(&h, fds[0], slabs), 0);
	in = sfs_input_new(fds[1], SFS_INPUT_PIECES, nothing, NULL);
	pthread_create(&thread, NULL, skip_one, in);
	while (!h.is_waiting)
		CHECK_EQ(sfs_handout_listen(&h, 1000), 0);
	sfs_read_add(&read, slab[0], 1);
	CHECK_EQ(sfs_handout_send(&h, &read, false), 0);
	pthread_join(thread, &ret);
	CHECK_EQ((intptr_t)ret, 0);

	/* A stop wakes who waits. */
	pthread_create(&thread, NULL, skip_one, in);
	while (!h.is_waiting)
		CHECK_EQ(sfs_handout_listen(&h, 1000), 0);
	do
		sfs_input_stop(in, thread);
	while (pthread_tryjoin_np(thread, &ret) == EBUSY);
	CHECK_EQ((intptr_t)ret, -ECANCELED);
	sfs_input_free(in);
	close(fds[0]);
	close(fds[1]);
	sfs_read_reset(&read);
}

/* ---- nonsense ---- */

/* What does the input make of these bytes after a hello, or as one? */
static int read_after(bool with_hello, const void *bytes, size_t n)
{
	struct sfs_handout h;
	struct sfs_input *in;
	int fds[2], ret;

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	if (with_hello)
		CHECK_EQ(sfs_handout_begin(&h, fds[0], slabs), 0);
	CHECK_EQ(send(fds[0], bytes, n, 0), n);
	shutdown(fds[0], SHUT_WR);
	in = sfs_input_new(fds[1], SFS_INPUT_PIECES, nothing, NULL);
	ret = sfs_input_skip(in, 16);
	sfs_input_free(in);
	close(fds[0]);
	close(fds[1]);
	return ret;
}

static int read_piece(uint32_t kind, uint32_t n, uint64_t offset, uint64_t n_bytes)
{
	const struct {
		struct sfs_pieces_head head;
		struct sfs_piece piece;
	} record = {{kind, n}, {offset, n_bytes}};

	return read_after(true, &record, sizeof record);
}

static void nonsense(void)
{
	const uint64_t n = n_shared;
	struct sfs_pieces_hello hello = {SFS_PIECES_MAGIC, SFS_PIECES_VERSION, 0, n};
	struct sfs_pieces_ack ack = {.n_released = 1};
	struct sfs_handout h;
	int fds[2];

	CHECK_EQ(read_piece(SFS_PIECES_SHARED, 1, n - 16, 16), 0);
	CHECK_EQ(read_piece(SFS_PIECES_SHARED, 1, n - 16, 17), -EPROTO);
	CHECK_EQ(read_piece(SFS_PIECES_SHARED, 1, n, 16), -EPROTO);
	CHECK_EQ(read_piece(SFS_PIECES_SHARED, 1, UINT64_MAX - 7, 16), -EPROTO);
	CHECK_EQ(read_piece(SFS_PIECES_SHARED, 1, 16, UINT64_MAX), -EPROTO);
	CHECK_EQ(read_piece(SFS_PIECES_SHARED, 1, 16, 0), -EPROTO);
	CHECK_EQ(read_piece(SFS_PIECES_SHARED, SFS_PIECES_MAX + 1, 0, 16), -EPROTO);
	CHECK_EQ(read_piece(SFS_PIECES_SHARED, 2, 0, 16), -EPIPE);
	CHECK_EQ(read_piece(SFS_PIECES_SHARED, 0, 0, 16), -EPROTO);
	CHECK_EQ(read_piece(SFS_PIECES_BYTES, 16, 0, 0), 0);
	CHECK_EQ(read_piece(SFS_PIECES_BYTES, 17, 0, 0), 0);
	CHECK_EQ(read_piece(SFS_PIECES_BYTES, 0, 0, 0), -EPROTO);
	CHECK_EQ(read_piece(7, 16, 0, 16), -EPROTO);
	CHECK_EQ(read_after(true, "abc", 3), -EPIPE);
	CHECK_EQ(read_after(false, &hello, sizeof hello), -EPROTO); /* no memory */
	CHECK_EQ(read_after(false, &hello, 7), -EPIPE);

	/* To have released what was not sent, or less than before. */
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	CHECK_EQ(sfs_handout_begin(&h, fds[0], slabs), 0);
	CHECK_EQ(send(fds[1], &ack, sizeof ack, 0), sizeof ack);
	CHECK_EQ(sfs_handout_listen(&h, 0), -EPROTO);
	close(fds[0]);
	close(fds[1]);
}

/* Memory that may shrink would kill who reads it. */
static void unsealed(void)
{
	struct sfs_pieces_hello hello = {SFS_PIECES_MAGIC, SFS_PIECES_VERSION, 0, 4096};
	struct iovec iov = {&hello, sizeof hello};
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {.header = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
	struct msghdr message = {.msg_iov = &iov,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof control.bytes};
	int fds[2], fd = memfd_create("unsealed", MFD_ALLOW_SEALING);
	struct sfs_input *in;

	CHECK_EQ(ftruncate(fd, 4096), 0);
	memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	CHECK_EQ(sendmsg(fds[0], &message, 0), sizeof hello);
	in = sfs_input_new(fds[1], SFS_INPUT_PIECES, nothing, NULL);
	CHECK_EQ(sfs_input_skip(in, 1), -EPROTO);
	sfs_input_free(in);
	close(fd);
	close(fds[0]);
	close(fds[1]);
}

int main(void)
{
	size_t i, k;
	int fd;

	sfs_rng_init(&rng, &(uint64_t){6}, 1);
	slabs = sfs_slabs_new(N_SLABS * SFS_SLAB_BYTES);
	CHECK_EQ(sfs_slabs_share(slabs, &fd, &n_shared), 0);
	close(fd);
	sfs_slabs_get(slabs, slab, N_SLABS);
	for (i = 0; i < SFS_SLAB_BYTES; i += 8) {
		memcpy(elsewhere + i, &(uint64_t){sfs_rng_next(&rng)}, 8);
		for (k = 0; k < N_SLABS; k++)
			memcpy((char *)slab[k] + i, &(uint64_t){sfs_rng_next(&rng)}, 8);
	}
	for (i = 0; i < 3; i++)
		whole_stream();
	held();
	waits();
	nonsense();
	unsealed();
	sfs_slabs_put(slabs, slab, N_SLABS);
	sfs_slabs_free(slabs);
	return 0;
}
