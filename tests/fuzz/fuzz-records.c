/* SPDX-License-Identifier: MIT */
/* What a mount sends over the socket of its pieces: a hello, with a memory of 64 KiB, and
 * records.  What is found lies in that memory. */
#include "fuzz.h"

#include "decode/records.h"

#include "base/pieces.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define MEMORY ((size_t)64 << 10)

static int make_memory(void)
{
	int fd = memfd_create("fuzz", MFD_ALLOW_SEALING);

	MUST(fd >= 0 && ftruncate(fd, MEMORY) == 0);
	MUST(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0);
	return fd;
}

static void send_hello(int to, int fd, const struct sfs_pieces_hello *hello)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {.header = {CMSG_LEN(sizeof fd), SOL_SOCKET, SCM_RIGHTS}};
	struct iovec iov = {(void *)(uintptr_t)hello, sizeof *hello};
	struct msghdr message = {.msg_iov = &iov,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof control.bytes};

	memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
	MUST(sendmsg(to, &message, 0) == sizeof *hello);
}

static void nothing(void *arg)
{
}

/* Until there is no more: skip, copy, or hold. */
static void read_all(struct sfs_records *r, struct fuzz_in *choices)
{
	struct sfs_records_memory memory;
	struct sfs_record *held[16] = {0};
	const unsigned char *bytes;
	unsigned char copy[300];
	uint64_t n;
	size_t n_some, i;
	int ret = 0;

	while (ret == 0 && (ret = sfs_records_look(r, &bytes, &n)) == 0) {
		MUST(n > 0 && sfs_records_memory(r, &memory));
		if (bytes)
			MUST(bytes >= memory.bytes && n <= memory.n_bytes &&
			     bytes + n <= memory.bytes + memory.n_bytes);
		i = fuzz_byte(choices) % 16;
		if (bytes && i > 7) {
			if (held[i])
				sfs_record_release(held[i]);
			held[i] = sfs_records_hold(r, 1 + fuzz_below(choices, n));
		} else if (i > 3) {
			ret = sfs_records_skip(r, 1 + fuzz_byte(choices) * 100);
		} else {
			n_some = 0;
			ret = sfs_records_read(r, copy, sizeof copy, sizeof copy,
					       &n_some);
			MUST(ret < 0 || (n_some > 0 && n_some <= sizeof copy));
		}
	}
	for (i = 0; i < 16; i++)
		if (held[i])
			sfs_record_release(held[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static int memory = -1;
	struct sfs_pieces_hello hello = {SFS_PIECES_MAGIC, SFS_PIECES_VERSION, 0, MEMORY};
	struct fuzz_in choices = {data, n};
	struct sfs_records *r;
	int fds[2];

	if (memory < 0)
		memory = make_memory();
	if (n > 32768) /* it must fit into the socket */
		return 0;
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
	if (n >= sizeof hello && data[0] == 'H') /* another hello */
		memcpy(&hello, data, sizeof hello);
	send_hello(fds[0], memory, &hello);
	if (n > 0)
		MUST(write(fds[0], data, n) == (ssize_t)n);
	shutdown(fds[0], SHUT_WR);
	r = sfs_records_new(fds[1], nothing, NULL);
	read_all(r, &choices);
	sfs_records_free(r);
	close(fds[0]);
	close(fds[1]);
	return 0;
}
