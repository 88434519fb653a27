/* SPDX-License-Identifier: MIT */
/* How this works: neighbouring pieces of one kind are one record, which is written by one
 * sendmsg() if the socket takes it. */
#include "io/handout.h"

#include "base/pieces.h"
#include "memory/slab.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

_Static_assert(sizeof((struct sfs_handout *)0)->ack == sizeof(struct sfs_pieces_ack),
	       "room for one");

/* ---- to the other end ---- */

static int write_all(int fd, struct msghdr *message)
{
	ssize_t n;

	while (message->msg_iovlen > 0) {
		n = sendmsg(fd, message, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -EPIPE;
		message->msg_controllen = 0;
		for (; message->msg_iovlen > 0 && (size_t)n >= message->msg_iov->iov_len;
		     message->msg_iovlen--)
			n -= (ssize_t)message->msg_iov++->iov_len;
		if (message->msg_iovlen > 0) {
			message->msg_iov->iov_base =
				(char *)message->msg_iov->iov_base + n;
			message->msg_iov->iov_len -= (size_t)n;
		}
	}
	return 0;
}

static int send_hello(int fd, int memory_fd, uint64_t n_bytes)
{
	struct sfs_pieces_hello hello = {.magic = SFS_PIECES_MAGIC,
					 .version = SFS_PIECES_VERSION,
					 .n_bytes = n_bytes};
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {.header = {.cmsg_len = CMSG_LEN(sizeof(int)),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS}};
	struct iovec iov = {.iov_base = &hello, .iov_len = sizeof hello};
	struct msghdr message = {.msg_iov = &iov,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof control.bytes};

	memcpy(CMSG_DATA(&control.header), &memory_fd, sizeof memory_fd);
	return write_all(fd, &message);
}

int sfs_handout_begin(struct sfs_handout *h, int fd, struct sfs_slabs *slabs)
{
	uint64_t n_bytes;
	int memory_fd, ret;

	*h = (struct sfs_handout){.fd = fd, .slabs = slabs};
	ret = sfs_slabs_share(slabs, &memory_fd, &n_bytes);
	if (ret < 0)
		return ret;
	ret = send_hello(fd, memory_fd, n_bytes);
	close(memory_fd);
	return ret;
}

/* From piece i of the read on, all that lie in shared slabs.  Returns how many. */
static int find_pieces(const struct sfs_handout *h, const struct sfs_read *read, int i,
		       struct sfs_piece *ret_pieces)
{
	const struct iovec *iov = read->iov + i;
	int n = 0;

	while (i + n < read->n_iov && n < SFS_PIECES_MAX &&
	       sfs_slabs_find(h->slabs, iov[n].iov_base, iov[n].iov_len,
			      &ret_pieces[n].offset)) {
		ret_pieces[n].n_bytes = iov[n].iov_len;
		n++;
	}
	return n;
}

static int send_pieces(const struct sfs_handout *h, struct sfs_piece *pieces, int n)
{
	struct sfs_pieces_head head = {SFS_PIECES_SHARED, (uint32_t)n};
	struct iovec iov[2] = {
		{&head, sizeof head},
		{pieces, (size_t)n * sizeof *pieces},
	};
	struct msghdr message = {.msg_iov = iov, .msg_iovlen = 2};

	return write_all(h->fd, &message);
}

static int send_bytes(const struct sfs_handout *h, const struct iovec *pieces, int n)
{
	struct sfs_pieces_head head = {SFS_PIECES_BYTES, 0};
	struct iovec iov[64] = {{&head, sizeof head}};
	struct msghdr message = {.msg_iov = iov, .msg_iovlen = (size_t)n + 1};
	int i;

	for (i = 0; i < n; i++) {
		iov[i + 1] = pieces[i];
		head.n += (uint32_t)pieces[i].iov_len;
	}
	return write_all(h->fd, &message);
}

/* From piece i of the read on, those that do not lie in shared slabs, or all. */
static int count_others(const struct sfs_handout *h, const struct sfs_read *read, int i,
			bool with_pieces)
{
	uint64_t at;
	int n = 0;

	while (i + n < read->n_iov && n < 63 &&
	       !(with_pieces && sfs_slabs_find(h->slabs, read->iov[i + n].iov_base,
					       read->iov[i + n].iov_len, &at)))
		n++;
	return n;
}

int sfs_handout_send(struct sfs_handout *h, const struct sfs_read *read, bool with_pieces)
{
	struct sfs_piece pieces[SFS_PIECES_MAX];
	bool has_pieces = false;
	int i = 0, n, ret;

	h->is_waiting = false;
	while (i < read->n_iov) {
		n = with_pieces ? find_pieces(h, read, i, pieces) : 0;
		if (n > 0) {
			has_pieces = true;
			ret = send_pieces(h, pieces, n);
		} else {
			n = count_others(h, read, i, with_pieces);
			ret = send_bytes(h, read->iov + i, n);
		}
		if (ret < 0)
			return ret;
		i += n;
	}
	h->n_sent += read->n_answered;
	return has_pieces;
}

/* ---- from the other end ---- */

static int take_ack(struct sfs_handout *h)
{
	struct sfs_pieces_ack ack;

	memcpy(&ack, h->ack, sizeof ack);
	h->n_ack = 0;
	if (ack.n_released < h->n_released || ack.n_released > h->n_sent)
		return -EPROTO;
	h->n_released = ack.n_released;
	h->is_waiting |= ack.is_waiting != 0;
	return 0;
}

int sfs_handout_listen(struct sfs_handout *h, int timeout_ms)
{
	struct pollfd fd = {.fd = h->fd, .events = POLLIN};
	ssize_t n;
	int ret = 0;

	if (timeout_ms > 0)
		poll(&fd, 1, timeout_ms);
	while (ret == 0) {
		n = recv(h->fd, h->ack + h->n_ack, sizeof h->ack - h->n_ack,
			 MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n <= 0)
			return -EPIPE;
		h->n_ack += (size_t)n;
		if (h->n_ack == sizeof h->ack)
			ret = take_ack(h);
	}
	return ret;
}
