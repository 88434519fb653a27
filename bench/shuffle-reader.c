/* SPDX-License-Identifier: MIT */
/* shuffle-reader - what shuffling costs without shufflefs: a program that reads local
 * shards, shuffles their samples and copies them, on one thread, as well as a person
 * would write it for these shards alone (plain ustar, on a disk that does not fail).
 *
 *   shuffle-reader [--lanes L] [--chunk BYTES] [--buffer BYTES] [--epoch E]
 *                  [--part BYTES]... SHARD...
 *
 *   --lanes L   mix so many shards at a time; 384, or all if they are fewer
 *   --chunk N   read N bytes at a time of a shard, in order; 512 KiB, the fastest here
 *   --buffer N  bytes of samples to draw from, those of all lanes together; 64 MiB
 *   --epoch E   another permutation
 *   --part N    as copy-reader's
 *
 * How this works: the shards are permuted and dealt to lanes.  A lane walks the headers
 * of its chunks and keeps references to samples; it draws one at random of those that it
 * keeps.  One sample of each lane in turn is copied into a buffer of 1 MiB, which stands
 * for a reader's read(): so each byte is copied twice, by pread and by memcpy, as on its
 * way through a mount.  A chunk goes back when no sample lies in it any more.
 *
 * Prints what copy-reader prints. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK = 512, OUT_BYTES = 1 << 20, MAX_PARTS = 16, NAME = 100, PREFIX = 155 };

/* Bytes of a shard.  `n_users`: samples that lie in it, and the lane
 * while it walks it. */
struct chunk {
	struct chunk *next; /* of the shard; or the next free one */
	size_t n_bytes;
	unsigned int n_users;
	unsigned char *data;
};

/* Uses all chunks that it has bytes in. */
struct sample {
	struct chunk *chunk, *last; /* in which it begins; in which it has ended so far */
	size_t at, n_bytes;
};

struct lane {
	size_t next_shard; /* of the permutation */
	int fd;		   /* -1: none is open */
	uint64_t n_unread; /* of the open shard */
	struct chunk *chunk;
	size_t at; /* in the chunk */
	char key[NAME], prefix[PREFIX];
	size_t key_len;
	struct sample growing; /* n_bytes 0: none */
	struct sample *held;
	size_t n_held, n_room;
	uint64_t held_bytes;
	bool has_ended;
};

struct options {
	char **shards;
	size_t n_shards, n_lanes, chunk_bytes;
	uint64_t buffer_bytes, seed, parts[MAX_PARTS];
	int n_parts;
};

struct mixer {
	const struct options *o;
	struct lane *lanes;
	size_t turn, n_ended;
	struct chunk *free;
	uint64_t rng;
	unsigned char *out;
	size_t n_out;
	uint64_t n_members, n_samples;
};

struct clocks {
	double wall, cpu;
};

static void die(const char *what, const char *why)
{
	fprintf(stderr, "shuffle-reader: %s: %s\n", what, why);
	exit(1);
}

static void *allocate(void *old, size_t n_bytes)
{
	void *p = realloc(old, n_bytes);

	if (!p)
		die("memory", strerror(errno));
	return p;
}

/* SplitMix64, and Lemire's way to a number below `n`. */
static size_t draw(uint64_t *rng, size_t n)
{
	uint64_t z = *rng += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (size_t)(((unsigned __int128)(z ^ (z >> 31)) * n) >> 64);
}

/* ---- chunks ---- */

static struct chunk *new_chunk(struct mixer *m)
{
	struct chunk *c = m->free;

	if (c) {
		m->free = c->next;
	} else {
		c = allocate(NULL, sizeof *c);
		c->data = aligned_alloc(4096, m->o->chunk_bytes);
		if (!c->data)
			die("memory", strerror(errno));
	}
	c->next = NULL;
	c->n_bytes = 0;
	c->n_users = 1;
	return c;
}

static void leave_chunk(struct mixer *m, struct chunk *c)
{
	if (--c->n_users > 0)
		return;
	c->next = m->free;
	m->free = c;
}

static void open_shard(struct mixer *m, struct lane *l)
{
	const char *path = m->o->shards[l->next_shard];
	struct stat st;

	l->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (l->fd < 0 || fstat(l->fd, &st) < 0)
		die(path, strerror(errno));
	l->n_unread = (uint64_t)st.st_size;
	l->next_shard += m->o->n_lanes;
}

/* Go on to the next bytes of the shard, of which there must be some. */
static void next_chunk(struct mixer *m, struct lane *l)
{
	struct chunk *c = new_chunk(m), *old = l->chunk;
	size_t wanted = l->n_unread < m->o->chunk_bytes ? l->n_unread : m->o->chunk_bytes;
	ssize_t n;

	if (wanted == 0)
		die("tar", "ends within a member");
	while (c->n_bytes < wanted) {
		n = read(l->fd, c->data + c->n_bytes, wanted - c->n_bytes);
		if (n <= 0)
			die("read",
			    n < 0 ? strerror(errno) : "a shard has become shorter");
		c->n_bytes += (size_t)n;
	}
	l->n_unread -= wanted;
	l->chunk = c;
	l->at = 0;
	if (old) {
		old->next = c;
		leave_chunk(m, old);
	}
}

/* Go on by `n` bytes, which are the growing sample's. */
static void advance(struct mixer *m, struct lane *l, uint64_t n)
{
	size_t step;

	while (n > 0) {
		if (l->at == l->chunk->n_bytes)
			next_chunk(m, l);
		if (l->growing.last != l->chunk) {
			l->growing.last = l->chunk;
			l->chunk->n_users++;
		}
		step = l->chunk->n_bytes - l->at < n ? l->chunk->n_bytes - l->at : n;
		l->at += step;
		l->growing.n_bytes += step;
		n -= step;
	}
}

/* ---- tar ---- */

static uint64_t size_of(const unsigned char *header)
{
	uint64_t size = 0;
	int i;

	for (i = 124; i < 136 && header[i] != '\0' && header[i] != ' '; i++) {
		if (header[i] < '0' || header[i] > '7')
			die("tar", "a size that is not plain octal, or no header");
		size = size * 8 + (header[i] - '0');
	}
	return size;
}

/* The key is the name up to the first dot of its last component; 0: none. */
static size_t key_len_of(const char *name)
{
	size_t len = strnlen(name, NAME);
	const char *slash = memrchr(name, '/', len);
	const char *last = slash ? slash + 1 : name;
	const char *dot = memchr(last, '.', len - (last - name));

	return dot ? dot - name : 0;
}

static void keep_sample(struct lane *l)
{
	if (l->growing.n_bytes == 0)
		return;
	if (l->n_held == l->n_room) {
		l->n_room = l->n_room ? 2 * l->n_room : 16;
		l->held = allocate(l->held, l->n_room * sizeof *l->held);
	}
	l->held[l->n_held++] = l->growing;
	l->held_bytes += l->growing.n_bytes;
	l->growing.n_bytes = 0;
	l->key_len = 0;
}

static bool goes_on(const struct lane *l, const char *name, const char *prefix,
		    size_t key_len)
{
	return l->growing.n_bytes > 0 && key_len == l->key_len &&
	       memcmp(name, l->key, key_len) == 0 &&
	       memcmp(prefix, l->prefix, PREFIX) == 0;
}

/* The member whose header comes next; its sample is kept when another one begins. */
static void take_member(struct mixer *m, struct lane *l, const unsigned char *header)
{
	const char *name = (const char *)header, *prefix = (const char *)header + 345;
	uint64_t n_data = (size_of(header) + BLOCK - 1) / BLOCK * BLOCK;
	size_t key_len = key_len_of(name);

	if ((header[156] != '0' && header[156] != '\0') || key_len == 0)
		die("tar", "a member that is no file of a sample");
	if (!goes_on(l, name, prefix, key_len)) {
		keep_sample(l);
		l->key_len = key_len;
		memcpy(l->key, name, key_len);
		memcpy(l->prefix, prefix, PREFIX);
		l->growing = (struct sample){.chunk = l->chunk, .at = l->at};
	}
	m->n_members++;
	advance(m, l, BLOCK + n_data);
}

static void end_shard(struct mixer *m, struct lane *l)
{
	keep_sample(l);
	leave_chunk(m, l->chunk);
	l->chunk = NULL;
	close(l->fd);
	l->fd = -1;
}

/* Walk over one member, or end a shard, or the lane.  A header never straddles chunks,
 * for both come in blocks. */
static void walk_on(struct mixer *m, struct lane *l)
{
	if (l->fd < 0 && l->next_shard >= m->o->n_shards) {
		l->has_ended = true;
		return;
	}
	if (l->fd < 0)
		open_shard(m, l);
	if (!l->chunk || l->at == l->chunk->n_bytes)
		next_chunk(m, l);
	if (l->chunk->data[l->at] == '\0')
		end_shard(m, l); /* a block of zeros ends the tar */
	else
		take_member(m, l, l->chunk->data + l->at);
}

/* ---- mixing ---- */

static void put_out(struct mixer *m, const unsigned char *data, size_t n)
{
	size_t step;

	for (; n > 0; data += step, n -= step) {
		if (m->n_out == OUT_BYTES)
			m->n_out = 0; /* a reader would have it now */
		step = OUT_BYTES - m->n_out < n ? OUT_BYTES - m->n_out : n;
		memcpy(m->out + m->n_out, data, step);
		m->n_out += step;
	}
}

static void copy_sample(struct mixer *m, struct sample s)
{
	struct chunk *c = s.chunk, *next;
	size_t n;

	while (s.n_bytes > 0) {
		n = c->n_bytes - s.at < s.n_bytes ? c->n_bytes - s.at : s.n_bytes;
		put_out(m, c->data + s.at, n);
		s.n_bytes -= n;
		s.at = 0;
		next = c->next;
		leave_chunk(m, c);
		c = next;
	}
}

/* A sample of the next lane that has one.  0: all lanes have ended. */
static size_t copy_next(struct mixer *m)
{
	uint64_t share = m->o->buffer_bytes / m->o->n_lanes;
	struct sample s;
	struct lane *l;
	size_t i;

	for (;; m->turn = (m->turn + 1) % m->o->n_lanes) {
		l = &m->lanes[m->turn];
		while (!l->has_ended && (l->held_bytes < share || l->n_held == 0))
			walk_on(m, l);
		if (l->n_held > 0)
			break;
		if (++m->n_ended >= m->o->n_lanes)
			return 0;
	}
	m->n_ended = 0;
	m->turn = (m->turn + 1) % m->o->n_lanes;
	i = draw(&m->rng, l->n_held);
	s = l->held[i];
	l->held[i] = l->held[--l->n_held];
	l->held_bytes -= s.n_bytes;
	copy_sample(m, s);
	m->n_samples++;
	return s.n_bytes;
}

static void mixer_init(struct mixer *m, const struct options *o)
{
	char *shard;
	size_t i, k;

	*m = (struct mixer){.o = o,
			    .rng = o->seed,
			    .out = aligned_alloc(4096, OUT_BYTES)};
	m->lanes = calloc(o->n_lanes, sizeof *m->lanes);
	if (!m->lanes || !m->out)
		die("memory", strerror(errno));
	for (i = o->n_shards; i > 1; i--) {
		k = draw(&m->rng, i);
		shard = o->shards[i - 1];
		o->shards[i - 1] = o->shards[k];
		o->shards[k] = shard;
	}
	for (i = 0; i < o->n_lanes; i++) {
		m->lanes[i].next_shard = i;
		m->lanes[i].fd = -1;
	}
}

/* ---- time ---- */

static double seconds_of(const struct timeval *t)
{
	return t->tv_sec + t->tv_usec / 1e6;
}

static struct clocks clocks_now(void)
{
	struct timespec t;
	struct rusage r;

	clock_gettime(CLOCK_MONOTONIC, &t);
	getrusage(RUSAGE_SELF, &r);
	return (struct clocks){.wall = t.tv_sec + t.tv_nsec / 1e9,
			       .cpu = seconds_of(&r.ru_utime) + seconds_of(&r.ru_stime)};
}

static void report(const struct mixer *m, uint64_t n_bytes, uint64_t n_samples,
		   struct clocks from)
{
	struct clocks now = clocks_now();

	printf("{\"bytes\": %llu, \"seconds\": %.6f, \"cpu\": %.6f, \"samples\": %llu}\n",
	       (unsigned long long)n_bytes, now.wall - from.wall, now.cpu - from.cpu,
	       (unsigned long long)(m->n_samples - n_samples));
	fflush(stdout);
}

static void read_parts(const struct options *o)
{
	struct clocks from = clocks_now();
	uint64_t n_bytes, n_samples;
	struct mixer m;
	size_t n;
	int i;

	mixer_init(&m, o);
	for (i = 0; i < o->n_parts; i++) {
		n_samples = m.n_samples;
		for (n_bytes = 0, n = 1; n > 0 && n_bytes < o->parts[i]; n_bytes += n)
			n = copy_next(&m);
		report(&m, n_bytes, n_samples, from);
		from = clocks_now();
	}
}

/* ---- arguments ---- */

static const char usage[] =
	"usage: shuffle-reader [--lanes L] [--chunk BYTES] [--buffer BYTES] [--epoch E] "
	"[--part BYTES]... SHARD...";

static uint64_t number_of(const char *arg)
{
	char *end = NULL;
	unsigned long long n = arg ? strtoull(arg, &end, 10) : 0;

	if (!arg || end == arg || *end != '\0')
		die("not a number", usage);
	return n;
}

static void take_arguments(struct options *o, char **arg)
{
	for (; *arg && strncmp(*arg, "--", 2) == 0; arg += 2) {
		uint64_t n = number_of(arg[1]);

		if (strcmp(*arg, "--lanes") == 0 && n > 0)
			o->n_lanes = n;
		else if (strcmp(*arg, "--chunk") == 0 && n > 0 && n % 4096 == 0)
			o->chunk_bytes = n;
		else if (strcmp(*arg, "--buffer") == 0)
			o->buffer_bytes = n;
		else if (strcmp(*arg, "--epoch") == 0)
			o->seed = n;
		else if (strcmp(*arg, "--part") == 0 && n > 0 && o->n_parts < MAX_PARTS)
			o->parts[o->n_parts++] = n;
		else
			die(*arg, usage);
	}
	o->shards = arg;
	while (arg[o->n_shards])
		o->n_shards++;
	if (o->n_shards == 0)
		die("no SHARD", usage);
	if (o->n_lanes > o->n_shards)
		o->n_lanes = o->n_shards;
	if (o->n_parts == 0)
		o->parts[o->n_parts++] = UINT64_MAX;
}

int main(int argc, char **argv)
{
	struct options options = {.n_lanes = 384,
				  .chunk_bytes = 512 << 10,
				  .buffer_bytes = 64 << 20};

	take_arguments(&options, argv + (argc > 0));
	read_parts(&options);
	return 0;
}
