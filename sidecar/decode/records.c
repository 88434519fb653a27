/* SPDX-License-Identifier: MIT */
/* How this works: a record of pieces is held by who uses bytes of it, and by the reader
 * until it has gone on to the next.  Records are in a list in the stream's order; what
 * lies before the oldest that is held, and before the reader, is acknowledged.
 *
 * The mount is as little trusted as any peer: pieces are checked against the memory's
 * size, which must be sealed.  What is parsed here and in sample.c is copied first. */
#include "decode/records.h"

#include "base/alloc.h"
#include "base/pieces.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define SKIP_BYTES ((size_t)64 << 10)

struct sfs_record {
	struct sfs_records *all;
	struct sfs_record *next; /* in the stream */
	uint64_t begin;		 /* in the stream */
	uint32_t n_refs;	 /* guarded by all->lock */
};

struct sfs_records {
	int fd;
	void (*before_wait)(void *arg);
	void *arg;
	atomic_bool is_stopped;
	int memory_fd;
	const unsigned char *memory; /* NULL: there was no hello yet */
	uint64_t n_memory;

	/* The record that is read: pieces, or n_bytes in the socket. */
	struct sfs_piece pieces[SFS_PIECES_MAX];
	uint32_t n_pieces, piece; /* how many, which is next; adjacent ones are one */
	uint64_t n_bytes;
	struct sfs_record *current; /* of the pieces */

	_Atomic uint64_t position; /* bytes used */

	pthread_mutex_t lock; /* guards all below */
	struct sfs_record *oldest, **newest;
	uint64_t n_said; /* was acknowledged */
};

/* ---- acknowledgements ---- */

/* With the lock.  false: the socket is full. */
static bool say(struct sfs_records *r, bool is_waiting)
{
	struct sfs_pieces_ack ack = {.is_waiting = is_waiting};

	ack.n_released = r->oldest ? r->oldest->begin : r->position;
	if (ack.n_released == r->n_said && !is_waiting)
		return true;
	/* All or nothing: a UNIX socket cuts no message that is so short. */
	if (send(r->fd, &ack, sizeof ack, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return errno != EAGAIN && errno != EINTR;
	r->n_said = ack.n_released;
	return true;
}

static void release(struct sfs_record *record)
{
	struct sfs_records *r = record->all;
	bool is_any = false;

	pthread_mutex_lock(&r->lock);
	record->n_refs--;
	while ((record = r->oldest) != NULL && record->n_refs == 0) {
		r->oldest = record->next;
		if (!r->oldest)
			r->newest = &r->oldest;
		free(record);
		is_any = true;
	}
	if (is_any)
		say(r, false);
	pthread_mutex_unlock(&r->lock);
}

void sfs_record_release(struct sfs_record *record)
{
	release(record);
}

/* ---- the socket ---- */

static bool say_waiting(struct sfs_records *r)
{
	bool ret;

	pthread_mutex_lock(&r->lock);
	ret = say(r, true);
	pthread_mutex_unlock(&r->lock);
	return ret;
}

/* Until there are bytes, or an end.  Who waits for a record asks for it. */
static int wait_for_bytes(struct sfs_records *r, bool is_between)
{
	struct pollfd fd = {.fd = r->fd};
	bool is_said = !is_between;

	r->before_wait(r->arg);
	do {
		if (r->is_stopped)
			return -ECANCELED;
		is_said = is_said || say_waiting(r);
		fd.events = is_said ? POLLIN : POLLIN | POLLOUT;
		fd.revents = 0;
		if (poll(&fd, 1, -1) < 0 && errno != EINTR)
			return -errno;
	} while (!(fd.revents & ~POLLOUT));
	return 0;
}

/* Some bytes, at most n. */
static int receive_some(struct sfs_records *r, struct msghdr *message, bool is_between,
			size_t *ret_n)
{
	ssize_t n;
	int ret;

	for (;;) {
		if (r->is_stopped)
			return -ECANCELED;
		n = recvmsg(r->fd, message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
		if (n > 0) {
			*ret_n = (size_t)n;
			return 0;
		}
		if (n == 0)
			return -EPIPE;
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN)
			return errno == ECONNRESET ? -EPIPE : -errno;
		ret = wait_for_bytes(r, is_between);
		if (ret < 0)
			return ret;
	}
}

/* n bytes of a record's head or pieces. */
static int receive(struct sfs_records *r, void *to, size_t n, bool is_between)
{
	struct iovec iov;
	struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
	size_t n_some;
	int ret = 0;

	for (; n > 0 && ret == 0; to = (char *)to + n_some, n -= n_some) {
		iov = (struct iovec){to, n};
		n_some = 0;
		ret = receive_some(r, &message, is_between, &n_some);
		is_between = false;
	}
	return ret;
}

/* ---- the memory ---- */

/* Takes `fd`. */
static int map_memory(struct sfs_records *r, int fd, uint64_t n_bytes)
{
	struct stat st;
	void *p;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (n_bytes == 0 || (uint64_t)st.st_size != n_bytes ||
	    !(fcntl(fd, F_GET_SEALS) & F_SEAL_SHRINK))
		return -EPROTO;
	p = mmap(NULL, n_bytes, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	r->memory = p;
	r->n_memory = n_bytes;
	r->memory_fd = fd;
	return 0;
}

static int take_descriptor(struct msghdr *message)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(message);
	int fd = -1;

	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof fd))
		memcpy(&fd, CMSG_DATA(c), sizeof fd);
	return fd;
}

static int receive_hello(struct sfs_records *r)
{
	struct sfs_pieces_hello hello = {0};
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = {.iov_base = &hello, .iov_len = sizeof hello};
	struct msghdr message = {.msg_iov = &iov,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof control.bytes};
	size_t n;
	int ret, fd;

	ret = receive_some(r, &message, true, &n);
	if (ret < 0)
		return ret;
	fd = take_descriptor(&message);
	ret = receive(r, (char *)&hello + n, sizeof hello - n, false);
	if (ret == 0 && (hello.magic != SFS_PIECES_MAGIC ||
			 hello.version != SFS_PIECES_VERSION || fd < 0))
		ret = -EPROTO;
	if (ret == 0)
		ret = map_memory(r, fd, hello.n_bytes);
	if (ret < 0 && fd >= 0)
		close(fd);
	return ret;
}

bool sfs_records_memory(const struct sfs_records *r, struct sfs_records_memory *ret)
{
	if (!r->memory)
		return false;
	*ret = (struct sfs_records_memory){r->memory_fd, r->memory, r->n_memory};
	return true;
}

/* ---- records ---- */

/* Pieces that follow each other in memory become one. */
static int check_pieces(struct sfs_records *r, uint32_t n)
{
	struct sfs_piece *p, *last = NULL;
	uint32_t i;

	r->n_pieces = 0;
	for (i = 0; i < n; i++) {
		p = &r->pieces[i];
		if (p->n_bytes == 0 || p->n_bytes > r->n_memory ||
		    p->offset > r->n_memory - p->n_bytes)
			return -EPROTO;
		if (last && last->offset + last->n_bytes == p->offset) {
			last->n_bytes += p->n_bytes;
		} else {
			last = &r->pieces[r->n_pieces++];
			*last = *p;
		}
	}
	r->piece = 0;
	return 0;
}

static void begin_record(struct sfs_records *r)
{
	struct sfs_record *record = sfs_calloc(1, sizeof *record);

	record->all = r;
	record->begin = r->position;
	record->n_refs = 1;
	r->current = record;
	pthread_mutex_lock(&r->lock);
	*r->newest = record;
	r->newest = &record->next;
	pthread_mutex_unlock(&r->lock);
}

static int receive_record(struct sfs_records *r)
{
	struct sfs_pieces_head head;
	int ret = receive(r, &head, sizeof head, true);

	if (ret < 0)
		return ret;
	if (head.n == 0)
		return -EPROTO;
	if (head.kind == SFS_PIECES_BYTES) {
		r->n_bytes = head.n;
		return 0;
	}
	if (head.kind != SFS_PIECES_SHARED || head.n > SFS_PIECES_MAX)
		return -EPROTO;
	ret = receive(r, r->pieces, head.n * sizeof *r->pieces, false);
	if (ret == 0)
		ret = check_pieces(r, head.n);
	if (ret == 0)
		begin_record(r);
	return ret;
}

/* Use n bytes of the piece; the record is over after its last. */
static void use(struct sfs_records *r, uint64_t n)
{
	struct sfs_piece *p = &r->pieces[r->piece];
	struct sfs_record *current = r->current;

	p->offset += n;
	p->n_bytes -= n;
	r->position += n;
	if (p->n_bytes > 0 || ++r->piece < r->n_pieces)
		return;
	r->current = NULL;
	release(current);
}

int sfs_records_look(struct sfs_records *r, const unsigned char **ret_bytes,
		     uint64_t *ret_n)
{
	int ret = 0;

	if (!r->memory)
		ret = receive_hello(r);
	if (ret == 0 && !r->current && r->n_bytes == 0)
		ret = receive_record(r);
	if (ret < 0)
		return ret;
	*ret_bytes = r->current ? r->memory + r->pieces[r->piece].offset : NULL;
	*ret_n = r->current ? r->pieces[r->piece].n_bytes : r->n_bytes;
	return 0;
}

int sfs_records_read(struct sfs_records *r, void *to, size_t n, size_t room,
		     size_t *ret_n)
{
	const unsigned char *bytes;
	struct iovec iov = {to, room};
	struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
	uint64_t n_have;
	int ret = sfs_records_look(r, &bytes, &n_have);

	if (ret < 0)
		return ret;
	if (bytes) {
		*ret_n = n < n_have ? n : (size_t)n_have;
		memcpy(to, bytes, *ret_n);
		use(r, *ret_n);
		return 0;
	}
	if (iov.iov_len > n_have)
		iov.iov_len = (size_t)n_have;
	ret = receive_some(r, &message, false, ret_n);
	if (ret == 0) {
		r->n_bytes -= *ret_n;
		r->position += *ret_n;
	}
	return ret;
}

int sfs_records_skip(struct sfs_records *r, uint64_t n)
{
	unsigned char nowhere[SKIP_BYTES];
	const unsigned char *bytes;
	uint64_t n_have;
	size_t n_some;
	int ret = 0;

	for (; n > 0; n -= n_some) {
		ret = sfs_records_look(r, &bytes, &n_have);
		n_some = (size_t)(n_have < n ? n_have : n);
		if (ret == 0 && bytes)
			use(r, n_some);
		else if (ret == 0)
			ret = sfs_records_read(r, nowhere, 0,
					       n_some < SKIP_BYTES ? n_some : SKIP_BYTES,
					       &n_some);
		if (ret < 0)
			return ret;
	}
	return 0;
}

struct sfs_record *sfs_records_hold(struct sfs_records *r, uint64_t n)
{
	struct sfs_record *record = r->current;

	pthread_mutex_lock(&r->lock);
	record->n_refs++;
	pthread_mutex_unlock(&r->lock);
	use(r, n);
	return record;
}

/* ---- life ---- */

struct sfs_records *sfs_records_new(int fd, void (*before_wait)(void *arg), void *arg)
{
	struct sfs_records *r = sfs_calloc(1, sizeof *r);

	r->fd = fd;
	r->memory_fd = -1;
	r->before_wait = before_wait;
	r->arg = arg;
	r->newest = &r->oldest;
	pthread_mutex_init(&r->lock, NULL);
	return r;
}

void sfs_records_free(struct sfs_records *r)
{
	if (!r)
		return;
	if (r->current)
		release(r->current);
	assert(!r->oldest);
	if (r->memory)
		munmap((void *)(uintptr_t)r->memory, r->n_memory);
	if (r->memory_fd >= 0)
		close(r->memory_fd);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

void sfs_records_stop(struct sfs_records *r)
{
	r->is_stopped = true;
}
