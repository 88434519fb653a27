/* SPDX-License-Identifier: MIT */
/* How this works: a table says which scheme is which type of socket, and who binds.  To
 * publish we use XPUB, which to subscribers is PUB and shows who subscribes.
 *
 * With a secret both ends make the same two pairs of CURVE's keys of it.  Who binds is
 * CURVE's server: it hears only clients that know its public key, which it never sends
 * in the clear, so there is no need of a handler of ZAP that looks at the client's. */
#include "transport/zmq-socket.h"

#include "ring/layout.h"
#include "transport/auth.h"
#include "transport/guard.h"

#include "base/alloc.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <zmq.h>

#define LINGER_MS    2000
#define HANDSHAKE_MS 10000
#define KEY_ROOM     41 /* 32 bytes as text */
#define FAILURES                                                                   \
	(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | \
	 ZMQ_EVENT_HANDSHAKE_FAILED_AUTH)

static const struct {
	const char *name;
	int socket_type;
	bool is_bound;
} schemes[] = {{"zpush", ZMQ_PUSH, false}, {"zrpush", ZMQ_PUSH, true},
	       {"zpub", ZMQ_XPUB, true},   {"zrpub", ZMQ_XPUB, false},
	       {"zpull", ZMQ_PULL, true},  {"zrpull", ZMQ_PULL, false},
	       {"zsub", ZMQ_SUB, false},   {"zrsub", ZMQ_SUB, true}};

void sfs_zmq_address_done(struct sfs_zmq_address *a)
{
	free(a->endpoint);
	free(a->topic);
}

/* "single" or "wait=3", between "&". */
static int parse_query(char *query, struct sfs_zmq_address *a, struct sfs_error *err)
{
	char *word, *rest = query, *end;

	while ((word = strsep(&rest, "&"))) {
		if (strcmp(word, "single") == 0) {
			a->is_single = true;
			continue;
		}
		if (strncmp(word, "wait=", 5) != 0)
			return sfs_error_set(err, -EINVAL,
					     "'?%s' is neither ?single nor ?wait=N",
					     word);
		a->n_wait = strtoul(word + 5, &end, 10);
		if (end == word + 5 || *end || a->n_wait > 10000)
			return sfs_error_set(err, -EINVAL,
					     "'%s': wait for 0 to 10000 subscribers",
					     word);
	}
	return 0;
}

/* zpush+tcp://host:port?single#topic */
int sfs_zmq_address_parse(const char *url, struct sfs_zmq_address *a,
			  struct sfs_error *err)
{
	sfs_autofree char *text = sfs_strdup(url);
	char *rest = strstr(text, "://"), *query, *topic, *carrier;
	size_t i;

	if (!rest || !rest[3])
		return sfs_error_set(err, -EINVAL, "'%s': write %s", url,
				     "zpush://HOST:PORT or zpush+ipc:///PATH");
	*rest = 0;
	rest += 3;
	topic = strchr(rest, '#');
	if (topic)
		*topic++ = 0;
	query = strchr(rest, '?');
	if (query)
		*query++ = 0;
	carrier = strchr(text, '+');
	if (carrier)
		*carrier++ = 0;
	if (carrier && strcmp(carrier, "tcp") != 0 && strcmp(carrier, "ipc") != 0)
		return sfs_error_set(err, -EINVAL, "'%s': '+%s' is neither +tcp nor +ipc",
				     url, carrier);
	for (i = 0; i < SFS_COUNT(schemes); i++)
		if (strcmp(schemes[i].name, text) == 0)
			break;
	if (i == SFS_COUNT(schemes))
		return sfs_error_set(err, -EINVAL, "'%s': there is no '%s'", url, text);
	a->socket_type = schemes[i].socket_type;
	a->is_bound = schemes[i].is_bound;
	a->n_wait = 1;
	a->endpoint = sfs_asprintf("%s://%s", carrier ? carrier : "tcp", rest);
	a->topic = sfs_strdup(topic ? topic : "");
	return query ? parse_query(query, a, err) : 0;
}

int sfs_zmq_error(void)
{
	int code = zmq_errno();

	return code == ETERM || code == ENOTSOCK ? -EIO
	       : code == EMTHREAD		 ? -EMFILE
						 : -code;
}

static void set_int(void *socket, int option, int value)
{
	zmq_setsockopt(socket, option, &value, sizeof value);
}

/* The pair of keys of an end ("server", "client"). */
static void make_keys(const struct sfs_secret *secret, const char *end,
		      char ret_public[KEY_ROOM], char ret_private[KEY_ROOM])
{
	sfs_autofree char *purpose = sfs_asprintf("ZeroMQ CURVE %s", end);
	unsigned char key[32];

	sfs_secret_derive(secret, purpose, key);
	zmq_z85_encode(ret_private, key, sizeof key);
	zmq_curve_public(ret_public, ret_private);
}

static int use_secret(void *socket, bool is_server, const struct sfs_secret *secret,
		      struct sfs_error *err)
{
	char server[KEY_ROOM], client[KEY_ROOM], servers[KEY_ROOM], clients[KEY_ROOM];
	int ret;

	if (!zmq_has("curve"))
		return sfs_error_set(err, -EOPNOTSUPP,
				     "--secret-file needs a libzmq with CURVE, and this "
				     "one was built without libsodium");
	make_keys(secret, "server", server, servers);
	make_keys(secret, "client", client, clients);
	if (is_server) {
		set_int(socket, ZMQ_CURVE_SERVER, 1);
		ret = zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, servers, KEY_ROOM);
	} else {
		ret = zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, server, KEY_ROOM);
		if (ret == 0)
			ret = zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, client,
					     KEY_ROOM);
		if (ret == 0)
			ret = zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, clients,
					     KEY_ROOM);
	}
	return ret == 0 ? 0
			: sfs_error_set(err, sfs_zmq_error(), "ZeroMQ's CURVE: %s",
					zmq_strerror(zmq_errno()));
}

/* The other end of what tells of failures; NULL: they are not told. */
static void *open_monitor(void *zmq, void *socket)
{
	static const char name[] = "inproc://handshakes"; /* (a context has one socket) */
	void *monitor = NULL;

	if (zmq_socket_monitor(socket, name, FAILURES) == 0)
		monitor = zmq_socket(zmq, ZMQ_PAIR);
	if (monitor)
		zmq_connect(monitor, name);
	return monitor;
}

/* Why the next of them has failed; NULL: no other has.  *ret_is_final: ZeroMQ does not
 * connect again. */
static const char *next_failure(void *monitor, bool *ret_is_final)
{
	unsigned char bytes[6], where[256];
	uint16_t event;
	uint32_t value;

	if (!monitor || zmq_recv(monitor, bytes, sizeof bytes, ZMQ_DONTWAIT) != 6)
		return NULL;
	zmq_recv(monitor, where, sizeof where, ZMQ_DONTWAIT); /* our own address */
	memcpy(&event, bytes, 2);
	memcpy(&value, bytes + 2, 4);
	*ret_is_final = event == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL;
	if (event == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL)
		return "the peer broke off the handshake: maybe it has another secret, "
		       "or none";
	if (value == ZMQ_PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC)
		return "the peer has another secret: compare the files of --secret-file";
	if (value == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH)
		return "one end has a secret and the other has none: start both with "
		       "--secret-file";
	return "the peer does not speak ZeroMQ";
}

int sfs_zmq_look_at_handshakes(void *monitor, const struct sfs_zmq_address *a,
			       struct sfs_guard *guard, struct sfs_error *err)
{
	const char *why;
	bool is_final;

	while ((why = next_failure(monitor, &is_final))) {
		if (is_final && !a->is_bound)
			return sfs_error_set(err, -EACCES, "%s: %s", a->endpoint, why);
		sfs_guard_refuse(guard, a->endpoint, "", why);
	}
	return 0;
}

bool sfs_zmq_is_loopback(void *socket)
{
	char text[256] = "", *host, *colon;
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
	struct sockaddr_in v4 = {.sin_family = AF_INET};
	size_t n = sizeof text;

	zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, text, &n);
	if (strncmp(text, "ipc://", 6) == 0)
		return true;
	host = strstr(text, "://");
	colon = strrchr(text, ':');
	if (!host || colon == host)
		return false;
	host += 3;
	*colon = 0;
	if (*host == '[' && colon[-1] == ']') {
		host++;
		colon[-1] = 0;
	}
	if (inet_pton(AF_INET, host, &v4.sin_addr) == 1)
		return sfs_guard_is_loopback((struct sockaddr *)&v4);
	return inet_pton(AF_INET6, host, &v6.sin6_addr) == 1 &&
	       sfs_guard_is_loopback((struct sockaddr *)&v6);
}

int sfs_zmq_open_socket(void *zmq, const struct sfs_zmq_address *a, int hwm,
			const struct sfs_secret *secret, void **ret_socket,
			void **ret_monitor, struct sfs_error *err)
{
	int64_t most = (int64_t)SFS_LAYOUT_SLOT_MAX + (1 << 20);
	void *socket = zmq_socket(zmq, a->socket_type), *monitor;
	int ret;

	if (!socket)
		return sfs_error_set(err, sfs_zmq_error(), "ZeroMQ: %s",
				     zmq_strerror(zmq_errno()));
	ret = secret ? use_secret(socket, a->is_bound, secret, err) : 0;
	if (ret < 0) {
		zmq_close(socket);
		return ret;
	}
	set_int(socket, ZMQ_LINGER, LINGER_MS);
	set_int(socket, ZMQ_HANDSHAKE_IVL, HANDSHAKE_MS);
	set_int(socket, ZMQ_SNDHWM, hwm);
	set_int(socket, ZMQ_RCVHWM, hwm);
	set_int(socket, ZMQ_TCP_KEEPALIVE, 1);
	set_int(socket, ZMQ_TCP_KEEPALIVE_IDLE, 30);
	set_int(socket, ZMQ_TCP_KEEPALIVE_INTVL, 10);
	set_int(socket, ZMQ_TCP_KEEPALIVE_CNT, 3);
	zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &most, sizeof most);
	if (a->socket_type == ZMQ_XPUB)
		set_int(socket, ZMQ_XPUB_VERBOSER, 1);
	if (a->socket_type == ZMQ_SUB)
		zmq_setsockopt(socket, ZMQ_SUBSCRIBE, a->topic, strlen(a->topic));
	monitor = open_monitor(zmq, socket);
	ret = a->is_bound ? zmq_bind(socket, a->endpoint)
			  : zmq_connect(socket, a->endpoint);
	if (ret < 0) {
		ret = sfs_error_set(err, sfs_zmq_error(), "cannot %s %s: %s",
				    a->is_bound ? "bind" : "connect to", a->endpoint,
				    zmq_strerror(zmq_errno()));
		zmq_close(socket);
		if (monitor)
			zmq_close(monitor);
		return ret;
	}
	*ret_socket = socket;
	*ret_monitor = monitor;
	return 0;
}

bool sfs_zmq_is_sender(int socket_type)
{
	return socket_type == ZMQ_PUSH || socket_type == ZMQ_XPUB;
}
