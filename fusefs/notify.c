/* SPDX-License-Identifier: MIT */
/* How this works: a datagram to a Unix socket, whose name may be abstract ("@...").  That
 * is all of the protocol, and libsystemd is not needed for it.  The number of the process
 * goes along, because `mount` without -f is not the process that the manager started. */
#include "notify.h"

#include "base/alloc.h"
#include "base/log.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static struct sockaddr_un address;
static socklen_t n_address; /* 0: there is none */

void sfs_notify_begin(void)
{
	const char *path = getenv("NOTIFY_SOCKET");
	size_t n = path ? strlen(path) : 0;

	if (n > 1 && n < sizeof address.sun_path && (*path == '/' || *path == '@')) {
		address.sun_family = AF_UNIX;
		memcpy(address.sun_path, path, n + 1);
		if (*path == '@')
			address.sun_path[0] = 0;
		n_address = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
	} else if (n > 0) {
		sfs_warning("cannot notify '%s', which is not a Unix socket", path);
	}
	unsetenv("NOTIFY_SOCKET");
}

static void tell(const char *text)
{
	int fd;

	if (n_address == 0)
		return;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || sendto(fd, text, strlen(text), MSG_NOSIGNAL,
			     (const struct sockaddr *)&address, n_address) < 0)
		sfs_warning("cannot notify the service manager: %s", strerror(errno));
	if (fd >= 0)
		close(fd);
}

void sfs_notify_ready(const char *what, const char *where)
{
	sfs_autofree char *text =
		sfs_asprintf("READY=1\nMAINPID=%ld\nSTATUS=mounted %s on %s\n",
			     (long)getpid(), what, where);

	tell(text);
}

void sfs_notify_stopping(void)
{
	tell("STOPPING=1\n");
}
