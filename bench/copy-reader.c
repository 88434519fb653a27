/* SPDX-License-Identifier: MIT */
/* copy-reader - what a trainer written in C pays for a stream: 1 MiB reads into one
 * buffer, to the end of the file, which must come where stat says.
 *
 *   copy-reader [--direct] [--depth N | --samples | --batches N | --pace N]
 *               [--part N | --for N]... FILE
 *
 *   --direct     with O_DIRECT; else through the page cache
 *   --depth N    keep N reads in flight: as many threads, each of which takes the next
 *                MiB and preads it into a buffer of its own; 1
 *   --samples    walk the tar's headers and count members and samples
 *   --batches N  the same, and time each N samples; a sample has come when the next one
 *                begins
 *   --pace N     read no more than N bytes a second
 *   --part N     stop a part after N bytes; each part is timed for itself, and what
 *                follows the last one is not read.  Without: one part, the whole file
 *   --for N      a part that stops after N seconds
 *
 * A line of JSON per part, when it is over: bytes, seconds, cpu (seconds of this
 * process, user and system), members, samples; batches (how many ended in this part) and
 * the seconds of one: batch_median, batch_p90, batch_p99, batch_max.  The first part's
 * clock starts before the file is opened. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	BLOCK = 512,
	READ_BYTES = 1 << 20,
	MAX_PARTS = 16,
	MAX_DEPTH = 64,
	NAME = 100,
	PREFIX = 155
};

/* How long each batch took; of a part, its first `n`. */
struct batches {
	uint64_t n_samples; /* in each */
	double since, *seconds;
	size_t n, max;
};

/* Where a tar is being walked: `skip` bytes of data come before the next header, of
 * which `n_held` bytes have been seen. */
struct walk {
	uint64_t skip;
	unsigned char held[BLOCK];
	size_t n_held;
	char key[NAME], prefix[PREFIX];
	size_t key_len;
	uint64_t n_members, n_samples;
	struct batches batches;
};

struct part {
	uint64_t n_bytes;
	double seconds;
};

struct options {
	const char *file;
	bool direct, samples;
	uint64_t batch, pace, depth;
	struct part parts[MAX_PARTS];
	int n_parts;
};

struct clocks {
	double wall, cpu;
};

static void die(const char *what, const char *why)
{
	fprintf(stderr, "copy-reader: %s: %s\n", what, why);
	exit(1);
}

/* ---- time ---- */

static double seconds_of(const struct timeval *t)
{
	return t->tv_sec + t->tv_usec / 1e6;
}

static double wall_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static struct clocks clocks_now(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return (struct clocks){.wall = wall_now(),
			       .cpu = seconds_of(&r.ru_utime) + seconds_of(&r.ru_stime)};
}

static void sleep_until(double wall)
{
	double rest = wall - wall_now();
	struct timespec t = {.tv_sec = rest, .tv_nsec = (rest - (time_t)rest) * 1e9};

	if (rest > 0)
		nanosleep(&t, NULL);
}

/* ---- batches ---- */

static void end_batch(struct batches *b)
{
	double now = wall_now();

	if (b->n == b->max) {
		b->max = 2 * b->max + 1024;
		b->seconds = realloc(b->seconds, b->max * sizeof(*b->seconds));
		if (!b->seconds)
			die("memory", strerror(errno));
	}
	b->seconds[b->n++] = now - b->since;
	b->since = now;
}

static int by_length(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The least that this many per cent of the batches did not exceed. */
static double percentile(const struct batches *b, int percent)
{
	size_t rank = (b->n * percent + 99) / 100;

	return b->seconds[rank > 0 ? rank - 1 : 0];
}

static void report_batches(struct batches *b)
{
	printf(", \"batches\": %zu", b->n);
	if (b->n == 0)
		return;
	qsort(b->seconds, b->n, sizeof(*b->seconds), by_length);
	printf(", \"batch_median\": %.6f, \"batch_p90\": %.6f, \"batch_p99\": %.6f"
	       ", \"batch_max\": %.6f",
	       percentile(b, 50), percentile(b, 90), percentile(b, 99),
	       percentile(b, 100));
	b->n = 0;
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

static void count(struct walk *walk, const unsigned char *header)
{
	const char *name = (const char *)header, *prefix = (const char *)header + 345;
	size_t key_len = key_len_of(name);

	if (key_len == 0)
		return;
	walk->n_members++;
	if (key_len == walk->key_len && memcmp(name, walk->key, key_len) == 0 &&
	    memcmp(prefix, walk->prefix, PREFIX) == 0)
		return;

	if (walk->batches.n_samples > 0 && walk->n_samples > 0 &&
	    walk->n_samples % walk->batches.n_samples == 0)
		end_batch(&walk->batches);
	walk->n_samples++;
	walk->key_len = key_len;
	memcpy(walk->key, name, key_len);
	memcpy(walk->prefix, prefix, PREFIX);
}

static void take_header(struct walk *walk, const unsigned char *header)
{
	uint64_t size;

	if (header[0] == '\0')
		return; /* a block of zeros: they end the tar */
	size = size_of(header);
	walk->skip = (size + BLOCK - 1) / BLOCK * BLOCK;
	if (header[156] == '0' || header[156] == '\0')
		count(walk, header);
}

static void walk_on(struct walk *walk, const unsigned char *data, size_t n)
{
	while (n > 0) {
		size_t most = walk->skip > 0 ? walk->skip : BLOCK - walk->n_held;
		size_t step = n < most ? n : most;

		if (walk->skip > 0) {
			walk->skip -= step;
		} else if (step == BLOCK) {
			take_header(walk, data);
		} else {
			memcpy(walk->held + walk->n_held, data, step);
			walk->n_held += step;
			if (walk->n_held == BLOCK) {
				walk->n_held = 0;
				take_header(walk, walk->held);
			}
		}
		data += step;
		n -= step;
	}
}

/* ---- reading ---- */

static unsigned char *new_buffer(void)
{
	unsigned char *buffer = aligned_alloc(READ_BYTES, READ_BYTES);

	if (!buffer)
		die("memory", strerror(errno));
	return buffer;
}

/* A stream that ends early without saying so is the worst of errors. */
static void check_end(int fd, const struct walk *walk)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		die("fstat", strerror(errno));
	if (lseek(fd, 0, SEEK_CUR) != st.st_size)
		die("the file", "ended before its size was read");
	if (walk && (walk->skip > 0 || walk->n_held > 0))
		die("the tar", "ends within a member");
}

/* Read a part, or to the end; how many bytes they were. */
static uint64_t read_part(int fd, const struct part *part, uint64_t pace,
			  unsigned char *buffer, struct walk *walk)
{
	double begun = wall_now();
	uint64_t n_read = 0;
	ssize_t n;

	while (n_read < part->n_bytes) {
		if (part->seconds > 0 && wall_now() - begun >= part->seconds)
			break;
		if (pace > 0)
			sleep_until(begun + (double)n_read / pace);
		n = read(fd, buffer, READ_BYTES);
		if (n < 0)
			die("read", strerror(errno));
		if (n == 0) {
			check_end(fd, walk);
			break;
		}
		if (walk)
			walk_on(walk, buffer, n);
		n_read += n;
	}
	return n_read;
}

/* Threads that read a part together. */
struct crew {
	int fd;
	const struct part *part;
	double begun;
	off_t from;
	pthread_mutex_t lock;
	uint64_t n_taken, n_read; /* from `from` on */
	bool has_ended;		  /* a read came to the end of the file */
};

/* The next block of the part.  False: all are taken. */
static bool take_block(struct crew *crew, off_t *ret_at)
{
	const struct part *part = crew->part;
	bool is_there;

	pthread_mutex_lock(&crew->lock);
	is_there = !crew->has_ended && crew->n_taken < part->n_bytes &&
		   (part->seconds <= 0 || wall_now() - crew->begun < part->seconds);
	*ret_at = crew->from + (off_t)crew->n_taken;
	if (is_there)
		crew->n_taken += READ_BYTES;
	pthread_mutex_unlock(&crew->lock);
	return is_there;
}

/* Less than a block: the file ends there. */
static size_t read_block(int fd, unsigned char *buffer, off_t at)
{
	size_t n_read = 0;
	ssize_t n;

	while (n_read < READ_BYTES) {
		n = pread(fd, buffer + n_read, READ_BYTES - n_read, at + (off_t)n_read);
		if (n < 0)
			die("pread", strerror(errno));
		if (n == 0)
			break;
		n_read += (size_t)n;
	}
	return n_read;
}

static void *read_blocks(void *arg)
{
	unsigned char *buffer = new_buffer();
	struct crew *crew = arg;
	size_t n;
	off_t at;

	while (take_block(crew, &at)) {
		n = read_block(crew->fd, buffer, at);
		pthread_mutex_lock(&crew->lock);
		crew->n_read += n;
		crew->has_ended |= n < READ_BYTES;
		pthread_mutex_unlock(&crew->lock);
	}
	free(buffer);
	return NULL;
}

/* As read_part, with `depth` reads in flight. */
static uint64_t read_part_deeply(int fd, const struct part *part, uint64_t depth)
{
	struct crew crew = {.fd = fd,
			    .part = part,
			    .begun = wall_now(),
			    .from = lseek(fd, 0, SEEK_CUR),
			    .lock = PTHREAD_MUTEX_INITIALIZER};
	pthread_t threads[MAX_DEPTH];
	uint64_t i;

	for (i = 0; i < depth; i++)
		if (pthread_create(&threads[i], NULL, read_blocks, &crew) != 0)
			die("--depth", "cannot create a thread");
	for (i = 0; i < depth; i++)
		pthread_join(threads[i], NULL);
	if (lseek(fd, crew.from + (off_t)crew.n_read, SEEK_SET) < 0)
		die("lseek", strerror(errno));
	if (crew.has_ended)
		check_end(fd, NULL);
	return crew.n_read;
}

static void report(uint64_t n_bytes, struct clocks from, const struct walk *before,
		   struct walk *walk)
{
	struct clocks now = clocks_now();

	printf("{\"bytes\": %llu, \"seconds\": %.6f, \"cpu\": %.6f",
	       (unsigned long long)n_bytes, now.wall - from.wall, now.cpu - from.cpu);
	if (walk)
		printf(", \"members\": %llu, \"samples\": %llu",
		       (unsigned long long)(walk->n_members - before->n_members),
		       (unsigned long long)(walk->n_samples - before->n_samples));
	if (walk && walk->batches.n_samples > 0)
		report_batches(&walk->batches);
	printf("}\n");
	fflush(stdout);
}

static void read_file(const struct options *o)
{
	struct clocks from = clocks_now();
	struct walk *walk = o->samples ? calloc(1, sizeof(*walk)) : NULL, before = {0};
	unsigned char *buffer = new_buffer();
	int fd = open(o->file, O_RDONLY | O_CLOEXEC | (o->direct ? O_DIRECT : 0)), i;
	uint64_t n_bytes;

	if (fd < 0)
		die(o->file, strerror(errno));
	if (walk)
		walk->batches =
			(struct batches){.n_samples = o->batch, .since = from.wall};
	for (i = 0; i < o->n_parts; i++) {
		if (o->depth > 1)
			n_bytes = read_part_deeply(fd, &o->parts[i], o->depth);
		else
			n_bytes = read_part(fd, &o->parts[i], o->pace, buffer, walk);
		report(n_bytes, from, &before, walk);
		from = clocks_now();
		if (walk)
			before = *walk;
	}
	close(fd);
	free(buffer);
	if (walk)
		free(walk->batches.seconds);
	free(walk);
}

/* ---- arguments ---- */

static const char usage[] =
	"usage: copy-reader [--direct] [--depth N | --samples | --batches N | --pace N]"
	" [--part N | --for N]... FILE";

static uint64_t number_of(const char *option, const char *arg)
{
	char *end = NULL;
	unsigned long long n = arg ? strtoull(arg, &end, 10) : 0;

	if (n == 0 || *end != '\0')
		die(option, "needs a whole number");
	return n;
}

static void add_part(struct options *o, struct part part)
{
	if (o->n_parts == MAX_PARTS)
		die("--part", "too many");
	o->parts[o->n_parts++] = part;
}

/* An option that has a number.  False: it is none. */
static bool take_number(struct options *o, const char *option, const char *arg)
{
	if (strcmp(option, "--batches") == 0)
		o->batch = number_of(option, arg);
	else if (strcmp(option, "--depth") == 0)
		o->depth = number_of(option, arg);
	else if (strcmp(option, "--pace") == 0)
		o->pace = number_of(option, arg);
	else if (strcmp(option, "--part") == 0)
		add_part(o, (struct part){.n_bytes = number_of(option, arg)});
	else if (strcmp(option, "--for") == 0)
		add_part(o, (struct part){.n_bytes = UINT64_MAX,
					  .seconds = number_of(option, arg)});
	else
		return false;
	return true;
}

static void take_arguments(struct options *o, char **arg)
{
	for (; *arg && strncmp(*arg, "--", 2) == 0; arg++) {
		if (strcmp(*arg, "--direct") == 0)
			o->direct = true;
		else if (strcmp(*arg, "--samples") == 0)
			o->samples = true;
		else if (take_number(o, arg[0], arg[1]))
			arg++;
		else
			die(*arg, usage);
	}
	if (!arg[0] || arg[1])
		die("one FILE", usage);
	o->file = arg[0];
	o->samples |= o->batch > 0;
	if (o->depth > MAX_DEPTH || (o->depth > 1 && (o->samples || o->pace > 0)))
		die("--depth", usage);
	if (o->n_parts == 0)
		add_part(o, (struct part){.n_bytes = UINT64_MAX});
}

int main(int argc, char **argv)
{
	struct options options = {0};

	take_arguments(&options, argv + (argc > 0));
	read_file(&options);
	return 0;
}
