/* SPDX-License-Identifier: MIT */
/* verbs-peer - a peer that does over RDMA what ours never do.
 *
 *	verbs-peer version URL	connect with another version, print the refusal
 *	verbs-peer rkey URL	connect, and write where nothing was offered; print what
 *				came of it
 *	verbs-peer listen URL	refuse the first sender, as one of another version
 *	verbs-peer stranger URL	with the secret in "secret" get the key of the ring; then,
 *				over other connections, prove nothing, prove it
 *				wrongly, and write with that key without a proof; print
 *				what came of each
 *	verbs-peer silent URL	leave 70 handshakes half open, until standard input ends
 */
#include "verbs-link.h"
#include "verbs-wire.h"

#include "check.h"
#include "transport/auth.h"
#include "transport/secret.h"

#include <arpa/inet.h>
#include <unistd.h>

static struct rdma_event_channel *channel;
static struct rdma_cm_id *id;
static unsigned char private[256];
static size_t n_private;
static struct sfs_error err;

static struct rdma_cm_event *next_event(void)
{
	struct rdma_cm_event *event;

	alarm(30);
	CHECK_EQ(rdma_get_cm_event(channel, &event), 0);
	n_private =
		(event->event == RDMA_CM_EVENT_REJECTED ||
		 event->event == RDMA_CM_EVENT_ESTABLISHED) &&
				event->param.conn.private_data
			? event->param.conn.private_data_len
			: 0;
	if (n_private > 0)
		memcpy(private, event->param.conn.private_data, n_private);
	return event;
}

/* Not of connections that we have left open, and the other end has not. */
static enum rdma_cm_event_type wait_event(void)
{
	enum rdma_cm_event_type kind;
	struct rdma_cm_event *event;

	do {
		event = next_event();
		kind = event->event;
		rdma_ack_cm_event(event);
	} while (kind == RDMA_CM_EVENT_DISCONNECTED ||
		 kind == RDMA_CM_EVENT_TIMEWAIT_EXIT);
	return kind;
}

static void make_layout(struct shufflefs_layout *layout)
{
	struct sfs_row row = {.name = "x", .dtype = "u1", .rank = 1, .dims = {4096}};

	memset(layout, 0, sizeof *layout);
	layout->n_samples = 4;
	CHECK_EQ(sfs_layout_add(layout, &row, &err), 0);
}

static struct ibv_pd *pd;

static enum rdma_cm_event_type connect_to(const char *text, struct sfs_verbs_link *link,
					  unsigned char hello[SFS_WIRE_HELLO_BYTES])
{
	struct rdma_conn_param param = {.private_data = hello,
					.private_data_len = SFS_WIRE_HELLO_BYTES,
					.retry_count = 6,
					.rnr_retry_count = 7};
	struct sfs_verbs_place place;
	struct sfs_verbs_url url;

	CHECK_EQ(sfs_verbs_parse_url(text, &url, &err), 0);
	CHECK_EQ(sfs_verbs_resolve(&url, false, 0, &place, &err), 0);
	CHECK_EQ(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	CHECK_EQ(rdma_resolve_addr(id, NULL, (struct sockaddr *)&place.address, 2000), 0);
	CHECK_EQ(wait_event(), RDMA_CM_EVENT_ADDR_RESOLVED);
	CHECK_EQ(rdma_resolve_route(id, 2000), 0);
	CHECK_EQ(wait_event(), RDMA_CM_EVENT_ROUTE_RESOLVED);
	pd = ibv_alloc_pd(id->verbs);
	CHECK_EQ(sfs_verbs_link_open(link, id, pd, &err), 0);
	CHECK_EQ(rdma_connect(id, &param), 0);
	return wait_event();
}

static void leave(struct sfs_verbs_link *link)
{
	sfs_verbs_link_close(link);
	ibv_dealloc_pd(pd);
	rdma_destroy_id(id);
}

static void version(const char *url)
{
	struct sfs_wire_hello hello = {.session = 7, .slot_bytes = 1};
	unsigned char bytes[SFS_WIRE_HELLO_BYTES];
	struct sfs_wire_reply reply;
	struct sfs_verbs_link link;

	sfs_wire_put_hello(&hello, bytes);
	bytes[4] = 99;
	CHECK_EQ(connect_to(url, &link, bytes), RDMA_CM_EVENT_REJECTED);
	CHECK_EQ(sfs_verbs_get_reply(private, n_private, &reply, &err), 0);
	printf("%s\n", reply.text);
	leave(&link);
}

/* The next message; its status if there is none. */
static int wait_message(struct sfs_verbs_link *link, const unsigned char **ret, size_t *n)
{
	int got;

	alarm(30);
	while ((got = sfs_verbs_link_next(link, ret, n, &err)) == 0)
		usleep(1000);
	return got;
}

static void rkey(const char *url)
{
	struct shufflefs_layout layout;
	struct sfs_wire_message m = {.kind = SFS_WIRE_LAYOUT};
	struct sfs_wire_hello hello = {.session = 8};
	unsigned char bytes[SFS_WIRE_MESSAGE_MAX];
	const unsigned char *got;
	struct sfs_verbs_offer offer;
	struct sfs_verbs_link link;
	size_t n;

	make_layout(&layout);
	hello.slot_bytes = layout.slot_bytes;
	hello.layout_hash = sfs_layout_hash(&layout);
	sfs_wire_put_hello(&hello, bytes);
	CHECK_EQ(connect_to(url, &link, bytes), RDMA_CM_EVENT_ESTABLISHED);
	n = sfs_wire_put(&m, &layout, bytes);
	CHECK_EQ(sfs_verbs_link_send(&link, bytes, n, &err), 0);
	CHECK_EQ(wait_message(&link, &got, &n), 1);
	CHECK_EQ(sfs_verbs_get_offer(got, n, layout.slot_bytes, &offer, &err), 0);
	CHECK_EQ(sfs_verbs_link_write(&link, &link.range, link.buffers, 64, offer.address,
				      offer.rkey ^ 0x5a00, &err),
		 0);
	m.kind = SFS_WIRE_PING;
	n = sfs_wire_put(&m, &layout, bytes);
	CHECK_EQ(sfs_verbs_link_send(&link, bytes, n, &err), 0);
	while (wait_message(&link, &got, &n) == 1)
		;
	printf("%s\n", err.text);
	leave(&link);
}

/* HELLO and CHALLENGE; and the PROOF that would follow. */
static void begin_proof(const char *url, uint64_t session,
			const struct shufflefs_layout *layout, struct sfs_verbs_link *link,
			struct sfs_auth *auth, const struct sfs_secret *secret,
			unsigned char proof[SFS_WIRE_PROOF_BYTES])
{
	struct sfs_wire_hello hello = {.session = session,
				       .slot_bytes = layout->slot_bytes,
				       .layout_hash = sfs_layout_hash(layout),
				       .has_secret = true};
	unsigned char bytes[SFS_WIRE_HELLO_BYTES], nonce[SFS_WIRE_NONCE_BYTES] = {7};
	struct sfs_wire_reply reply;

	sfs_wire_put_hello(&hello, bytes);
	CHECK_EQ(connect_to(url, link, bytes), RDMA_CM_EVENT_ESTABLISHED);
	CHECK_EQ(sfs_verbs_get_reply(private, n_private, &reply, &err), 0);
	CHECK_EQ(sfs_auth_answer(auth, "rdma", secret, bytes, &reply, nonce, proof, &err),
		 1);
}

static void print_reply(struct sfs_verbs_link *link)
{
	struct sfs_wire_reply reply;
	const unsigned char *got;
	size_t n;

	CHECK_EQ(wait_message(link, &got, &n), 1);
	CHECK_EQ(sfs_verbs_get_reply(got, n, &reply, &err), 0);
	CHECK_EQ(reply.code, SFS_WIRE_REFUSE);
	printf("%s\n", reply.text);
}

static void stranger(const char *url)
{
	struct sfs_wire_message m = {.kind = SFS_WIRE_LAYOUT};
	unsigned char bytes[SFS_WIRE_MESSAGE_MAX], proof[SFS_WIRE_PROOF_BYTES];
	struct sfs_verbs_link link, other;
	struct shufflefs_layout layout;
	struct sfs_verbs_offer offer;
	struct sfs_wire_reply reply;
	struct sfs_secret secret;
	const unsigned char *got;
	struct rdma_cm_id *first_id;
	struct ibv_pd *first_pd;
	struct sfs_auth auth;
	size_t n;

	make_layout(&layout);
	CHECK_EQ(sfs_secret_read("secret", &secret, &err), 0);
	begin_proof(url, 8, &layout, &link, &auth, &secret, proof);
	CHECK_EQ(sfs_verbs_link_send(&link, proof, sizeof proof, &err), 0);
	CHECK_EQ(wait_message(&link, &got, &n), 1);
	CHECK_EQ(sfs_verbs_get_reply(got, n, &reply, &err), 0);
	CHECK_EQ(reply.code, SFS_WIRE_ACCEPT);
	CHECK_EQ(sfs_auth_check_reply(&auth, &secret, &reply, &err), 0);
	n = sfs_wire_put(&m, &layout, bytes);
	CHECK_EQ(sfs_verbs_link_send(&link, bytes, n, &err), 0);
	CHECK_EQ(wait_message(&link, &got, &n), 1);
	CHECK_EQ(sfs_verbs_get_offer(got, n, layout.slot_bytes, &offer, &err), 0);
	first_id = id;
	first_pd = pd;

	begin_proof(url, 9, &layout, &other, &auth, &secret, proof);
	n = sfs_wire_put(&m, &layout, bytes);
	CHECK_EQ(sfs_verbs_link_send(&other, bytes, n, &err), 0);
	print_reply(&other);
	leave(&other);

	begin_proof(url, 9, &layout, &other, &auth, &secret, proof);
	proof[SFS_WIRE_PROOF_BYTES - 1] ^= 1;
	CHECK_EQ(sfs_verbs_link_send(&other, proof, sizeof proof, &err), 0);
	print_reply(&other);
	leave(&other);

	begin_proof(url, 9, &layout, &other, &auth, &secret, proof);
	CHECK_EQ(sfs_verbs_link_write(&other, &other.range, other.buffers, 64,
				      offer.address, offer.rkey, &err),
		 0);
	CHECK_EQ(sfs_verbs_link_send(&other, proof, sizeof proof, &err), 0);
	while (wait_message(&other, &got, &n) == 1)
		;
	printf("%s\n", err.text);
	leave(&other);
	id = first_id;
	pd = first_pd;
	leave(&link);
}

static void silent(const char *url)
{
	struct sfs_secret secret = {{0}};
	unsigned char proof[SFS_WIRE_PROOF_BYTES];
	static struct sfs_verbs_link links[70];
	struct shufflefs_layout layout;
	struct sfs_auth auth;
	char byte;
	int i;

	make_layout(&layout);
	for (i = 0; i < 70; i++)
		begin_proof(url, (uint64_t)i + 100, &layout, &links[i], &auth, &secret,
			    proof);
	printf("silent\n");
	fflush(stdout);
	alarm(0);
	CHECK_EQ(read(STDIN_FILENO, &byte, 1), 0);
	_exit(0); /* (the kernel ends them) */
}

static void listen_once(const char *text)
{
	struct sfs_wire_reply reply = {.code = SFS_WIRE_REFUSE, .text = "no"};
	unsigned char bytes[SFS_VERBS_REJECT_MAX];
	struct rdma_cm_event *event;
	struct rdma_cm_id *listener, *other;
	struct sfs_verbs_place place;
	struct sfs_verbs_url url;
	size_t n;

	CHECK_EQ(sfs_verbs_parse_url(text, &url, &err), 0);
	CHECK_EQ(sfs_verbs_resolve(&url, true, 0, &place, &err), 0);
	CHECK_EQ(rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP), 0);
	CHECK_EQ(rdma_bind_addr(listener, (struct sockaddr *)&place.address), 0);
	CHECK_EQ(rdma_listen(listener, 1), 0);
	printf("listens\n");
	fflush(stdout);
	event = next_event();
	CHECK_EQ(event->event, RDMA_CM_EVENT_CONNECT_REQUEST);
	n = sfs_verbs_put_refusal(&reply, bytes);
	bytes[4] = 99;
	other = event->id;
	CHECK_EQ(rdma_reject(other, bytes, (uint8_t)n), 0);
	usleep(500000); /* until the sender has it */
	rdma_ack_cm_event(event);
	rdma_destroy_id(other);
	rdma_destroy_id(listener);
}

int main(int argc, char **argv)
{
	CHECK_EQ(argc, 3);
	channel = rdma_create_event_channel();
	CHECK(channel);
	if (strcmp(argv[1], "version") == 0)
		version(argv[2]);
	else if (strcmp(argv[1], "rkey") == 0)
		rkey(argv[2]);
	else if (strcmp(argv[1], "stranger") == 0)
		stranger(argv[2]);
	else if (strcmp(argv[1], "silent") == 0)
		silent(argv[2]);
	else if (strcmp(argv[1], "listen") == 0)
		listen_once(argv[2]);
	else
		return 2;
	rdma_destroy_event_channel(channel);
	return 0;
}
