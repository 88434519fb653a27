/* SPDX-License-Identifier: MIT */
/* link-delay - a wire with a length, for kernels without netem: two TUN devices, each in
 * a network namespace of its own, and what one is given comes out of the other, later.
 *
 *   link-delay NAMESPACE NAMESPACE DEVICE DELAY JITTER QUEUE RATE LOSS REORDER
 *
 *   DEVICE   the name that the TUN device gets in both namespaces
 *   DELAY    nanoseconds one way
 *   JITTER   nanoseconds: to each packet's delay, anything from 0 to this is added
 *   QUEUE    nanoseconds: packets that would wait longer for the wire are dropped
 *   RATE     bytes a second of IP packets; 0: any
 *   LOSS     the part of the packets that is lost, from 0 to 1
 *   REORDER  1: jitter may change the order of one flow's packets; 0: it may not
 *
 * Says "ready" when both devices are there.  At SIGTERM it says what passed, and ends.
 *
 * How this works: TCP hands over bunches of up to 64 KB (IFF_VNET_HDR), which saves most
 * of the work; but rate, queue and loss go by the packets of the MTU that a bunch would
 * be sent as.  Where some of them are lost, the rest goes on as smaller bunches.  What is
 * left of a bunch arrives together, when its last packet would: as after a network card
 * that merges packets.  Each direction has a thread, and they share nothing but the
 * devices.
 *
 * Jitter as such would reorder: a packet that is delayed less would overtake.  A path
 * seldom does that to one flow, and TCP takes it for loss.  So a packet waits for those
 * of its flow before it, which makes delays near the highest more frequent the faster a
 * flow sends; other flows it may overtake. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
	MAX_FRAME = sizeof(struct virtio_net_hdr) + 65536,
	FLOWS = 4096,
	READS = 64, /* before what is due is delivered */
	/* What the wire makes up for after we were late: it must not lose capacity
	 * because others have the CPU. */
	CATCH_UP_NS = 1000000,
};

struct rules {
	uint64_t delay_ns, jitter_ns, queue_ns;
	double bytes_per_s, loss;
	bool may_reorder;
};

/* A frame is a virtio_net_hdr and an IP packet, as the device gives and takes it.  Behind
 * two bytes of nothing, IP's 32-bit fields are where they may be read as such. */
enum { FRAME_AT = 2 };

struct frame {
	_Alignas(uint32_t) unsigned char nothing[FRAME_AT];
	unsigned char bytes[MAX_FRAME];
};

/* A frame on its way. */
struct packet {
	uint64_t due_ns, number;
	size_t len;
	unsigned char nothing[FRAME_AT];
	unsigned char frame[];
};

struct direction {
	const struct rules *rules;
	int from, to;
	struct packet **heap; /* what is due first, first */
	size_t n_heap, max_heap;
	uint64_t free_ns; /* when the wire has sent all that it was given */
	uint64_t n_taken, random;
	uint64_t flow_due_ns[FLOWS];
	_Atomic uint64_t n_packets, n_bytes, n_lost, n_over;
};

static void die(const char *what)
{
	fprintf(stderr, "link-delay: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * UINT64_C(1000000000) + t.tv_nsec;
}

/* From 0 to below 1 (SplitMix64). */
static double draw(struct direction *d)
{
	uint64_t z = d->random += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return ((z ^ (z >> 31)) >> 11) / (double)(UINT64_C(1) << 53);
}

/* ---- what is on its way ---- */

static bool is_before(const struct packet *a, const struct packet *b)
{
	return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->number < b->number;
}

static void heap_push(struct direction *d, struct packet *packet)
{
	size_t i = d->n_heap++;

	if (i == d->max_heap) {
		d->max_heap = 2 * d->max_heap + 1024;
		d->heap = realloc(d->heap, d->max_heap * sizeof(*d->heap));
		if (!d->heap)
			die("memory");
	}
	for (; i > 0 && is_before(packet, d->heap[(i - 1) / 2]); i = (i - 1) / 2)
		d->heap[i] = d->heap[(i - 1) / 2];
	d->heap[i] = packet;
}

static struct packet *heap_pop(struct direction *d)
{
	struct packet *first = d->heap[0], *last = d->heap[--d->n_heap];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < d->n_heap) {
		if (child + 1 < d->n_heap &&
		    is_before(d->heap[child + 1], d->heap[child]))
			child++;
		if (!is_before(d->heap[child], last))
			break;
		d->heap[i] = d->heap[child];
		i = child;
	}
	d->heap[i] = last;
	return first;
}

/* ---- what a frame holds ---- */

static struct iphdr *ip_of(unsigned char *frame)
{
	return (struct iphdr *)(frame + sizeof(struct virtio_net_hdr));
}

static struct tcphdr *tcp_of(unsigned char *frame)
{
	return (struct tcphdr *)((unsigned char *)ip_of(frame) + ip_of(frame)->ihl * 4);
}

/* Bytes of IP and TCP headers, of a bunch. */
static size_t headers_of(unsigned char *frame)
{
	return ip_of(frame)->ihl * 4 + tcp_of(frame)->doff * 4;
}

/* How much each packet of a bunch carries; 0: this is no bunch. */
static size_t bunched_by(unsigned char *frame)
{
	const struct virtio_net_hdr *hdr = (void *)frame;

	return hdr->gso_type == VIRTIO_NET_HDR_GSO_TCPV4 ? hdr->gso_size : 0;
}

static unsigned flow_of(unsigned char *frame)
{
	const struct iphdr *ip = ip_of(frame);

	if (ip->version != 4 ||
	    (ip->protocol != IPPROTO_TCP && ip->protocol != IPPROTO_UDP))
		return 0;
	return (ntohs(tcp_of(frame)->source) * 31u + ntohs(tcp_of(frame)->dest)) % FLOWS;
}

/* The one's complement sum that IP and TCP use, not yet inverted. */
static uint16_t sum_of(const void *data, size_t n_bytes, uint32_t sum)
{
	const uint16_t *words = data;

	for (; n_bytes > 1; n_bytes -= 2)
		sum += *words++;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* What the kernel wants as a TCP checksum that is yet to be made: that of the addresses,
 * the protocol and the length. */
static uint16_t pseudo_sum(const struct iphdr *ip, size_t tcp_bytes)
{
	return sum_of(&ip->saddr, 8, htons(IPPROTO_TCP) + htons(tcp_bytes));
}

/* ---- the wire ---- */

/* Have it arrive after the delay: from when the wire has sent all so far. */
static void send_on(struct direction *d, const void *frame, size_t len, uint64_t now)
{
	const struct rules *rules = d->rules;
	uint64_t sent_ns = d->free_ns > now ? d->free_ns : now;
	struct packet *packet = malloc(sizeof(*packet) + len);
	uint64_t *flow_due_ns;

	if (!packet)
		die("memory");
	memcpy(packet->frame, frame, len);
	packet->len = len;
	packet->number = d->n_taken++;
	packet->due_ns = sent_ns + rules->delay_ns;
	if (rules->jitter_ns > 0)
		packet->due_ns += draw(d) * rules->jitter_ns;
	if (!rules->may_reorder) {
		flow_due_ns = &d->flow_due_ns[flow_of(packet->frame)];
		if (packet->due_ns < *flow_due_ns)
			packet->due_ns = *flow_due_ns;
		*flow_due_ns = packet->due_ns;
	}
	heap_push(d, packet);
}

/* A packet takes its time on the wire.  False: it does not arrive. */
static bool cross(struct direction *d, size_t n_bytes, uint64_t now)
{
	const struct rules *rules = d->rules;

	if (d->free_ns + CATCH_UP_NS < now)
		d->free_ns = now - CATCH_UP_NS;
	if (d->free_ns > now + rules->queue_ns) {
		d->n_over++;
		return false;
	}
	if (rules->bytes_per_s > 0)
		d->free_ns += n_bytes * 1e9 / rules->bytes_per_s;
	else
		d->free_ns = now;
	if (rules->loss > 0 && draw(d) < rules->loss) {
		d->n_lost++;
		return false;
	}
	d->n_packets++;
	d->n_bytes += n_bytes;
	return true;
}

/* Send on `n_bytes` of a bunch's data, from byte `at` on, as a bunch of their own. */
static void send_piece(struct direction *d, unsigned char *frame, size_t len, size_t at,
		       size_t n_bytes, uint64_t now)
{
	struct frame whole;
	unsigned char *piece = whole.bytes;
	struct virtio_net_hdr *hdr = (void *)piece;
	size_t n_headers = headers_of(frame), before = sizeof(*hdr) + n_headers;
	struct iphdr *ip = ip_of(piece);
	struct tcphdr *tcp;

	memcpy(piece, frame, before);
	memcpy(piece + before, frame + before + at, n_bytes);
	tcp = tcp_of(piece);
	ip->tot_len = htons(n_headers + n_bytes);
	ip->id = htons(ntohs(ip->id) + at / hdr->gso_size);
	ip->check = 0;
	ip->check = ~sum_of(ip, ip->ihl * 4, 0);
	tcp->seq = htonl(ntohl(tcp->seq) + at);
	if (before + at + n_bytes < len)
		tcp->fin = tcp->psh = 0;
	tcp->check = pseudo_sum(ip, tcp->doff * 4 + n_bytes);
	if (n_bytes <= hdr->gso_size) {
		hdr->gso_type = VIRTIO_NET_HDR_GSO_NONE;
		hdr->gso_size = 0;
	}
	send_on(d, piece, before + n_bytes, now);
}

/* Each packet of a bunch crosses for itself; neighbours that arrive stay together. */
static void take_bunch(struct direction *d, unsigned char *frame, size_t len,
		       uint64_t now)
{
	size_t n_headers = headers_of(frame), each = bunched_by(frame), at, n_bytes,
	       from = 0;
	size_t n_data = len - sizeof(struct virtio_net_hdr) - n_headers;

	for (at = 0; at < n_data; at += n_bytes) {
		n_bytes = n_data - at < each ? n_data - at : each;
		if (cross(d, n_headers + n_bytes, now))
			continue;
		if (at > from)
			send_piece(d, frame, len, from, at - from, now);
		from = at + n_bytes;
	}
	if (from == 0)
		send_on(d, frame, len, now);
	else if (from < n_data)
		send_piece(d, frame, len, from, n_data - from, now);
}

static void take(struct direction *d, unsigned char *frame, size_t len)
{
	uint64_t now = now_ns();

	if (bunched_by(frame) > 0)
		take_bunch(d, frame, len, now);
	else if (cross(d, len - sizeof(struct virtio_net_hdr), now))
		send_on(d, frame, len, now);
}

static void take_what_comes(struct direction *d)
{
	static _Thread_local struct frame frame;
	ssize_t len;
	int i;

	for (i = 0; i < READS; i++) {
		len = read(d->from, frame.bytes, sizeof(frame.bytes));
		if (len < 0 && errno == EAGAIN)
			return;
		if (len < 0)
			die("read");
		take(d, frame.bytes, len);
	}
}

/* A packet that the device does not take, as when it is down, is one that is lost. */
static void deliver_what_is_due(struct direction *d)
{
	struct packet *packet;

	while (d->n_heap > 0 && d->heap[0]->due_ns <= now_ns()) {
		packet = heap_pop(d);
		if (write(d->to, packet->frame, packet->len) < 0)
			d->n_lost++;
		free(packet);
	}
}

static void wait_for_either(struct direction *d)
{
	struct pollfd from = {.fd = d->from, .events = POLLIN};
	uint64_t now = now_ns(),
		 due = d->n_heap > 0 ? d->heap[0]->due_ns : now + 1000000000;
	uint64_t wait_ns = due > now ? due - now : 0;
	struct timespec t = {wait_ns / 1000000000, wait_ns % 1000000000};

	if (ppoll(&from, 1, &t, NULL) < 0 && errno != EINTR)
		die("poll");
}

static void *run(void *arg)
{
	struct direction *d = arg;

	/* The kernel may else wake us 50 us late, which is a third of a near path. */
	prctl(PR_SET_TIMERSLACK, 1);
	for (;;) {
		take_what_comes(d);
		deliver_what_is_due(d);
		wait_for_either(d);
	}
	return NULL;
}

/* ---- set-up ---- */

static int open_tun(const char *namespace, const char *name)
{
	struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR};
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "/run/netns/%s", namespace);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET) < 0)
		die(path);
	close(fd);
	fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	if (fd < 0 || ioctl(fd, TUNSETIFF, &request) < 0)
		die("/dev/net/tun");
	if (ioctl(fd, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4) < 0)
		die("TUNSETOFFLOAD");
	return fd;
}

static void start(struct direction *d, const struct rules *rules, int from, int to)
{
	pthread_t thread;

	d->rules = rules;
	d->from = from;
	d->to = to;
	d->random = from;
	errno = pthread_create(&thread, NULL, run, d);
	if (errno != 0)
		die("thread");
}

static void say(const char *to, struct direction *d)
{
	printf("to the %s: %llu packets, %llu bytes; %llu lost, %llu over the queue\n",
	       to, (unsigned long long)d->n_packets, (unsigned long long)d->n_bytes,
	       (unsigned long long)d->n_lost, (unsigned long long)d->n_over);
}

static uint64_t ns_of(const char *arg)
{
	return strtoull(arg, NULL, 10);
}

int main(int argc, char **argv)
{
	static struct direction there, back;
	struct rules rules;
	sigset_t ends;
	int first, second, got;

	if (argc != 10) {
		fprintf(stderr, "link-delay: bench/link runs this\n");
		return 2;
	}
	rules = (struct rules){.delay_ns = ns_of(argv[4]),
			       .jitter_ns = ns_of(argv[5]),
			       .queue_ns = ns_of(argv[6]),
			       .bytes_per_s = atof(argv[7]),
			       .loss = atof(argv[8]),
			       .may_reorder = atoi(argv[9])};
	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	/* A wire does not wait for the CPU that those at its ends use. */
	setpriority(PRIO_PROCESS, 0, -20);
	first = open_tun(argv[1], argv[3]);
	second = open_tun(argv[2], argv[3]);
	start(&there, &rules, first, second);
	start(&back, &rules, second, first);
	printf("ready\n");
	fflush(stdout);
	sigwait(&ends, &got);
	say("server", &there);
	say("client", &back);
	return 0;
}
