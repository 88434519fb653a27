/* SPDX-License-Identifier: MIT */
#include "transport/socket.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct place {
	char host[256], port[8];
};

static int parse(const char *url, struct place *ret_place, struct sfs_error *err)
{
	const char *host = url + strlen("tcp://"), *colon = strrchr(url, ':');
	size_t n;
	char *end;

	if (strncmp(url, "tcp://", strlen("tcp://")) != 0 || colon < host)
		return sfs_error_set(err, -EINVAL, "'%s' is not tcp://HOST:PORT", url);
	n = (size_t)(colon - host);
	if (n >= 2 && host[0] == '[' && host[n - 1] == ']') {
		host++;
		n -= 2;
	}
	if (n == 0 || n >= sizeof ret_place->host ||
	    strtoul(colon + 1, &end, 10) > 65535 || end == colon + 1 || *end ||
	    strlen(colon + 1) > 5)
		return sfs_error_set(err, -EINVAL, "'%s' is not tcp://HOST:PORT", url);
	memcpy(ret_place->host, host, n);
	ret_place->host[n] = 0;
	snprintf(ret_place->port, sizeof ret_place->port, "%.5s", colon + 1);
	return 0;
}

int sfs_socket_check(const char *url, struct sfs_error *err)
{
	struct place place;

	return parse(url, &place, err);
}

/* `all` is what "*" means. */
static int resolve(const char *url, int flags, const char *all,
		   struct addrinfo **ret_list, struct sfs_error *err)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = flags};
	struct place place;
	int ret = parse(url, &place, err);

	if (ret < 0)
		return ret;
	if (strcmp(place.host, "*") == 0)
		strcpy(place.host, all);
	ret = getaddrinfo(place.host, place.port, &hints, ret_list);
	return ret == 0 ? 0
			: sfs_error_set(err, -EHOSTUNREACH, "%s: %s", place.host,
					gai_strerror(ret));
}

static int new_socket(const struct addrinfo *a)
{
	int one = 1, fd;

	fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	return fd;
}

static const struct addrinfo *address_at(const struct addrinfo *list, uint64_t i)
{
	const struct addrinfo *a = list;
	uint64_t n = 0;

	for (; a; a = a->ai_next)
		n++;
	for (a = list, i %= n; i > 0; i--)
		a = a->ai_next;
	return a;
}

int sfs_socket_connect(const char *url, uint64_t n_attempt, int *ret_fd,
		       struct sfs_error *err)
{
	const struct addrinfo *a;
	struct addrinfo *list;
	int fd, ret = resolve(url, 0, "0.0.0.0", &list, err);

	if (ret < 0)
		return ret;
	a = address_at(list, n_attempt);
	fd = new_socket(a);
	if (fd < 0 ||
	    (connect(fd, a->ai_addr, a->ai_addrlen) < 0 && errno != EINPROGRESS))
		ret = -errno;
	freeaddrinfo(list);
	if (ret < 0) {
		if (fd >= 0)
			close(fd);
		return sfs_error_set(err, ret, "%s", strerror(-ret));
	}
	*ret_fd = fd;
	return 0;
}

static int listen_at(const char *url, const char *all, int *ret_fd, uint16_t *ret_port,
		     struct sfs_error *err)
{
	struct sockaddr_storage bound;
	socklen_t n = sizeof bound;
	struct addrinfo *list;
	int fd, one = 1, zero = 0, ret = resolve(url, AI_PASSIVE, all, &list, err);

	if (ret < 0)
		return ret;
	fd = new_socket(list);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (list->ai_family == AF_INET6) /* "::" is IPv4, too, whatever bindv6only says */
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero);
	ret = fd < 0 || bind(fd, list->ai_addr, list->ai_addrlen) < 0 ||
			      listen(fd, 64) < 0 ||
			      getsockname(fd, (struct sockaddr *)&bound, &n) < 0
		      ? -errno
		      : 0;
	freeaddrinfo(list);
	if (ret < 0) {
		if (fd >= 0)
			close(fd);
		return sfs_error_set(err, ret, "%s: %s", url, strerror(-ret));
	}
	*ret_port = ntohs(bound.ss_family == AF_INET6
				  ? ((struct sockaddr_in6 *)&bound)->sin6_port
				  : ((struct sockaddr_in *)&bound)->sin_port);
	*ret_fd = fd;
	return 0;
}

int sfs_socket_listen(const char *url, int *ret_fd, uint16_t *ret_port,
		      struct sfs_error *err)
{
	int ret = listen_at(url, "::", ret_fd, ret_port, err);

	if (ret == -EAFNOSUPPORT || ret == -EADDRNOTAVAIL) /* (a host without IPv6) */
		ret = listen_at(url, "0.0.0.0", ret_fd, ret_port, err);
	return ret;
}

static void name_peer(const struct sockaddr_storage *from,
		      char ret_peer[SFS_SOCKET_PEER_MAX])
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)from;
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = v6->sin6_port};
	char host[64] = "?", port[8] = "?"; /* (with the interface of a link-local one) */
	bool is_v6 = from->ss_family == AF_INET6;

	if (is_v6 && IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
		is_v6 = false;
		memcpy(&v4.sin_addr, v6->sin6_addr.s6_addr + 12, 4);
		getnameinfo((struct sockaddr *)&v4, sizeof v4, host, sizeof host, port,
			    sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
	} else {
		getnameinfo((const struct sockaddr *)from, is_v6 ? sizeof *v6 : sizeof v4,
			    host, sizeof host, port, sizeof port,
			    NI_NUMERICHOST | NI_NUMERICSERV);
	}
	snprintf(ret_peer, SFS_SOCKET_PEER_MAX, is_v6 ? "[%s]:%s" : "%s:%s", host, port);
}

int sfs_socket_accept(int listen_fd, int *ret_fd, char ret_peer[SFS_SOCKET_PEER_MAX])
{
	struct sockaddr_storage from;
	socklen_t n = sizeof from;
	int one = 1, fd;

	fd = accept4(listen_fd, (struct sockaddr *)&from, &n,
		     SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return -errno;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	name_peer(&from, ret_peer);
	*ret_fd = fd;
	return 0;
}
