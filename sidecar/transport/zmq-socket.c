/* SPDX-License-Identifier: MIT */
/* How this works: a table says which scheme is which type of socket, and who binds.  To
 * publish we use XPUB, which to subscribers is PUB and shows who subscribes. */
#include "transport/zmq-socket.h"

#include "ring/layout.h"

#include "base/alloc.h"

#include <errno.h>
#include <string.h>
#include <zmq.h>

#define LINGER_MS 2000

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

int sfs_zmq_open_socket(void *zmq, const struct sfs_zmq_address *a, int hwm,
			void **ret_socket, struct sfs_error *err)
{
	int64_t most = (int64_t)SFS_LAYOUT_SLOT_MAX + (1 << 20);
	void *socket = zmq_socket(zmq, a->socket_type);
	int ret;

	if (!socket)
		return sfs_error_set(err, sfs_zmq_error(), "ZeroMQ: %s",
				     zmq_strerror(zmq_errno()));
	set_int(socket, ZMQ_LINGER, LINGER_MS);
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
	ret = a->is_bound ? zmq_bind(socket, a->endpoint)
			  : zmq_connect(socket, a->endpoint);
	if (ret < 0) {
		ret = sfs_error_set(err, sfs_zmq_error(), "cannot %s %s: %s",
				    a->is_bound ? "bind" : "connect to", a->endpoint,
				    zmq_strerror(zmq_errno()));
		zmq_close(socket);
		return ret;
	}
	*ret_socket = socket;
	return 0;
}

bool sfs_zmq_is_sender(int socket_type)
{
	return socket_type == ZMQ_PUSH || socket_type == ZMQ_XPUB;
}
