/* SPDX-License-Identifier: MIT */
/* Batches come out of a ring in order and once; consumers that are killed at any moment
 * lose nothing, or what the policy says; a producer that dies, ends or fails is told, and
 * its successor goes on after what was taken. */
#include "ring/ring-memory.h"
#include "ring/ring.h"
#include "transport/transport.h"

#include "base/strbuf.h"
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#define N_BATCHES 12
#define N_ROUNDS  40

static char path[64];
static struct shufflefs_layout layout = {.n_samples = 4};

/* What consumers have seen, in memory that they share. */
static struct tally {
	_Atomic uint32_t n_taken[N_BATCHES], n_done;
} * tally;

static struct sfs_ring *make_ring(enum sfs_ring_policy policy)
{
	struct sfs_ring_settings s = {.path = path, .n_slots = 3, .policy = policy};
	struct sfs_ring *ring;
	struct sfs_error err;

	if (sfs_ring_new(&s, &layout, &ring, &err) < 0)
		fprintf(stderr, "%s\n", err.text), exit(1);
	return ring;
}

static struct shufflefs_ring *attach(void)
{
	struct shufflefs_ring *r;

	CHECK_EQ(shufflefs_ring_attach(path, 10000, &r), 0);
	return r;
}

/* Returns sfs_ring_take()'s error. */
static int put(struct sfs_ring *ring, uint32_t n_samples)
{
	struct sfs_error err;
	void *slot;
	int ret = sfs_ring_take(ring, 20000, &slot, &err);

	if (ret < 0)
		return ret;
	CHECK_EQ((uintptr_t)slot % 4096, 0);
	memset(slot, (int)(sfs_ring_consumed(ring) + 1), layout.slot_bytes);
	sfs_ring_publish(ring,
			 &(struct shufflefs_batch){.n_samples = n_samples, .epoch = 7});
	return 0;
}

static uint64_t next(struct shufflefs_ring *r)
{
	struct shufflefs_batch b;

	CHECK_EQ(shufflefs_ring_next(r, 10000, &b), 1);
	return b.seq;
}

static void batches_come_in_order_and_back_in_any(void)
{
	struct sfs_ring *ring = make_ring(SFS_RING_FAIL), *other;
	struct sfs_ring_settings same = {.path = path, .n_slots = 2};
	struct shufflefs_ring *r = attach(), *late;
	struct shufflefs_batch b;
	struct sfs_error err;
	void *slot;

	CHECK_EQ(sfs_ring_new(&same, &layout, &other, &err), -EADDRINUSE);
	CHECK_HAS(err.text, path);
	CHECK(memcmp(shufflefs_ring_layout(r), &layout, sizeof layout) == 0);
	CHECK_EQ(shufflefs_ring_next(r, 0, &b), -ETIMEDOUT);
	CHECK_EQ(put(ring, 4), 0);
	CHECK_EQ(put(ring, 4), 0);
	CHECK_EQ(put(ring, 2), 0);
	CHECK_EQ(sfs_ring_take(ring, 0, &slot, &err), -ETIMEDOUT);
	CHECK_EQ(next(r), 0);
	CHECK_EQ(next(r), 1);
	CHECK_EQ(shufflefs_ring_release(r, 1), 0);
	CHECK_EQ(shufflefs_ring_release(r, 1), -EINVAL);
	CHECK_EQ(sfs_ring_consumed(ring), 0);
	CHECK_EQ(put(ring, 4), 0); /* into slot 1: behind 2 all the same */
	CHECK_EQ(shufflefs_ring_next(r, 0, &b), 1);
	CHECK(b.seq == 2 && b.n_samples == 2 && b.epoch == 7 && b.data[0] == 1);
	CHECK_EQ(shufflefs_ring_release(r, 0), 0);
	CHECK_EQ(sfs_ring_consumed(ring), 2);
	sfs_ring_end(ring);
	CHECK_EQ(next(r), 3);
	CHECK_EQ(shufflefs_ring_next(r, -1, &b), 0);
	CHECK_EQ(shufflefs_ring_attach(path, 50, &late), -ETIMEDOUT);
	shufflefs_ring_detach(late);
	shufflefs_ring_detach(r); /* releases 2 and 3 */
	CHECK_EQ(sfs_ring_wait_consumed(ring, 3, 10000, &err), 0);
	sfs_ring_free(ring);
}

static void a_failure_comes_after_what_was_filled(void)
{
	struct sfs_ring *ring = make_ring(SFS_RING_FAIL);
	struct shufflefs_ring *r = attach();
	struct shufflefs_batch b;

	CHECK_EQ(put(ring, 4), 0);
	sfs_ring_fail(ring, "shard 7 is broken");
	CHECK_EQ(put(ring, 4), -EIO);
	CHECK_EQ(next(r), 0);
	sfs_ring_free(ring);
	CHECK_EQ(shufflefs_ring_next(r, -1, &b), -EIO);
	CHECK_STR(shufflefs_ring_error(r), "shard 7 is broken");
	shufflefs_ring_detach(r);
}

/* A child: takes and releases until the end; killed anywhere. */
static void consume(void)
{
	struct shufflefs_ring *r;
	struct shufflefs_batch b;

	if (shufflefs_ring_attach(path, 10000, &r) < 0)
		_exit(2);
	while (shufflefs_ring_next(r, 10000, &b) == 1) {
		atomic_fetch_add(&tally->n_taken[b.seq % N_BATCHES], 1);
		usleep(100); /* so that it is often killed while it holds one */
		if (shufflefs_ring_release(r, b.seq) < 0)
			_exit(3);
		atomic_fetch_add(&tally->n_done, 1);
	}
	_exit(0);
}

static pid_t start(void (*what)(void))
{
	pid_t child = fork();

	CHECK(child >= 0);
	if (child == 0)
		what();
	return child;
}

static uint64_t described(struct sfs_ring *ring, const char *name)
{
	struct sfs_strbuf text = {.s = NULL};
	struct sfs_json_writer json = {.text = &text};
	uint64_t value;
	char *at;

	sfs_json_open(&json, NULL, '{');
	sfs_ring_describe(ring, &json);
	sfs_json_close(&json, '}');
	at = strstr(text.s, name);
	CHECK(at != NULL);
	value = strtoull(at + strlen(name) + 2, NULL, 10);
	sfs_strbuf_done(&text);
	return value;
}

/* One consumer is killed after a while that differs from round to round, one lives. */
static void check_round(enum sfs_ring_policy policy, int round)
{
	struct sfs_ring *ring = make_ring(policy);
	pid_t victim, survivor;
	struct sfs_error err;
	uint64_t n_twice = 0, n_never = 0;
	int i, status, kill_at = round % N_BATCHES;

	memset(tally, 0, sizeof *tally);
	victim = start(consume);
	survivor = start(consume);
	for (i = 0; i < N_BATCHES; i++) {
		CHECK_EQ(put(ring, 4), 0);
		if (i == kill_at) {
			while (atomic_load(&tally->n_done) + 3 < (uint32_t)i)
				sched_yield();
			usleep((useconds_t)(round * 37 % 400));
			kill(victim, SIGKILL);
		}
	}
	CHECK_EQ(sfs_ring_wait_consumed(ring, N_BATCHES - 1, 20000, &err), 0);
	sfs_ring_end(ring);
	CHECK_EQ(waitpid(victim, &status, 0), victim);
	CHECK_EQ(waitpid(survivor, &status, 0), survivor);
	CHECK_EQ(status, 0);
	for (i = 0; i < N_BATCHES; i++) {
		n_twice += tally->n_taken[i] > 1;
		n_never += tally->n_taken[i] == 0;
	}
	CHECK(n_twice <= described(ring, "\"redelivered"));
	CHECK(n_never <= described(ring, "\"dropped"));
	CHECK_EQ(described(ring, "\"released") + described(ring, "\"dropped"), N_BATCHES);
	CHECK(policy == SFS_RING_DROP ? n_twice == 0 : n_never == 0);
	sfs_ring_free(ring);
}

static void hold(void)
{
	struct shufflefs_ring *r;
	struct shufflefs_batch b;

	if (shufflefs_ring_attach(path, 10000, &r) == 0 &&
	    shufflefs_ring_next(r, 10000, &b) == 1)
		atomic_fetch_add(&tally->n_done, 1);
	for (;;)
		pause();
}

/* Kills a child that holds batch 0. */
static pid_t kill_holder(struct sfs_ring *ring)
{
	pid_t child;

	tally->n_done = 0;
	child = start(hold);
	CHECK_EQ(put(ring, 4), 0);
	while (atomic_load(&tally->n_done) == 0)
		sched_yield();
	kill(child, SIGKILL);
	CHECK_EQ(waitpid(child, NULL, 0), child);
	return child;
}

static void what_the_dead_held_follows_the_policy(void)
{
	char words[64];
	struct sfs_ring *ring = make_ring(SFS_RING_REDELIVER);
	struct shufflefs_ring *r = attach();
	struct shufflefs_batch b;
	struct sfs_error err;

	kill_holder(ring);
	CHECK_EQ(next(r), 0);
	CHECK_EQ(described(ring, "\"redelivered"), 1);
	shufflefs_ring_detach(r);
	sfs_ring_free(ring);

	ring = make_ring(SFS_RING_DROP);
	kill_holder(ring);
	CHECK_EQ(sfs_ring_wait_consumed(ring, 0, 10000, &err), 0);
	CHECK_EQ(described(ring, "\"dropped"), 1);
	CHECK_EQ(described(ring, "\"released"), 0);
	sfs_ring_free(ring);

	ring = make_ring(SFS_RING_FAIL);
	r = attach();
	snprintf(words, sizeof words, "(pid %d) died while it held batch 0",
		 (int)kill_holder(ring));
	CHECK_EQ(shufflefs_ring_next(r, 10000, &b), -EIO);
	CHECK_HAS(shufflefs_ring_error(r), words);
	CHECK_EQ(sfs_ring_wait_consumed(ring, 0, 10000, &err), -EIO);
	CHECK_HAS(err.text, words);
	shufflefs_ring_detach(r);
	sfs_ring_free(ring);
}

static void produce(void)
{
	put(make_ring(SFS_RING_FAIL), 4);
	for (;;)
		pause();
}

/* Its socket stays: the next producer replaces it. */
static void a_killed_producer_is_told(void)
{
	pid_t child = start(produce);
	struct shufflefs_ring *r = attach();
	struct shufflefs_batch b;

	CHECK_EQ(next(r), 0);
	kill(child, SIGKILL);
	CHECK_EQ(shufflefs_ring_next(r, 20000, &b), -EPIPE);
	CHECK_HAS(shufflefs_ring_error(r), "producer died");
	shufflefs_ring_detach(r);
	CHECK_EQ(waitpid(child, NULL, 0), child);
	CHECK_EQ(shufflefs_ring_attach(path, 0, &r), -ETIMEDOUT);
	CHECK_HAS(shufflefs_ring_error(r), "there is no ring");
	shufflefs_ring_detach(r);
	sfs_ring_free(make_ring(SFS_RING_FAIL));
}

static void produce_three(void)
{
	struct sfs_ring *ring = make_ring(SFS_RING_FAIL);
	struct sfs_error err;

	sfs_ring_session(ring, 9, &err);
	put(ring, 4);
	put(ring, 4);
	put(ring, 4);
	for (;;)
		pause();
}

static uint64_t wanted_of(struct sfs_ring *ring)
{
	struct sfs_ring_past past;
	struct sfs_error err;

	CHECK_EQ(sfs_ring_session(ring, 9, &err), 0);
	CHECK(sfs_ring_look_at_session(ring, 0, &past));
	CHECK_EQ(past.id, 9);
	return past.n;
}

/* Is killed before anybody attaches. */
static void succeed_in_vain(void)
{
	CHECK_EQ(wanted_of(make_ring(SFS_RING_FAIL)), 2);
	raise(SIGKILL);
}

/* The consumer is gone before the producer is. */
static void a_failed_producers_successor_goes_on(void)
{
	struct sfs_ring *ring = make_ring(SFS_RING_FAIL);
	struct shufflefs_ring *r = attach();
	struct shufflefs_batch b;

	CHECK_EQ(wanted_of(ring), 0);
	CHECK_EQ(put(ring, 4), 0);
	CHECK_EQ(next(r), 0);
	sfs_ring_fail(ring, "the mount was killed");
	CHECK_EQ(shufflefs_ring_next(r, -1, &b), -EIO);
	shufflefs_ring_detach(r);
	while (sfs_ring_alone_ms(ring) == 0)
		sched_yield();
	sfs_ring_free(ring);
	ring = make_ring(SFS_RING_FAIL);
	CHECK_EQ(wanted_of(ring), 1);
	r = attach();
	sfs_ring_end(ring);
	CHECK_EQ(shufflefs_ring_next(r, -1, &b), 0);
	shufflefs_ring_detach(r);
	sfs_ring_free(ring);
}

/* What a consumer that lives has taken tells the next producer where to go on; without
 * one it begins anew. */
static void a_successor_goes_on(void)
{
	pid_t child = start(produce_three);
	struct shufflefs_ring *r = attach();
	struct shufflefs_batch b;
	struct sfs_ring *ring;
	int status;

	CHECK_EQ(next(r), 0);
	CHECK_EQ(next(r), 1);
	CHECK_EQ(shufflefs_ring_release(r, 0), 0);
	kill(child, SIGKILL);
	CHECK_EQ(waitpid(child, NULL, 0), child);
	CHECK_EQ(shufflefs_ring_next(r, 20000, &b), -EPIPE);
	shufflefs_ring_detach(r);
	child = start(succeed_in_vain);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFSIGNALED(status));
	ring = make_ring(SFS_RING_FAIL);
	CHECK_EQ(wanted_of(ring), 2);
	CHECK(sfs_ring_is_awaited(ring));
	r = attach();
	CHECK(!sfs_ring_is_awaited(ring));
	CHECK_EQ(put(ring, 4), 0);
	CHECK_EQ(wanted_of(ring), 3);
	CHECK_EQ(next(r), 0);
	shufflefs_ring_detach(r);
	sfs_ring_free(ring);
	ring = make_ring(SFS_RING_FAIL);
	CHECK_EQ(wanted_of(ring), 0);
	CHECK(!sfs_ring_is_awaited(ring));
	sfs_ring_free(ring);
}

/* Answer one consumer with this hello, a state and a memfd of `n_bytes`; what it says of
 * it. */
static void check_forged(const struct sfs_ring_hello *hello, size_t n_bytes, int wanted,
			 const char *words)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, SOCK_SEQPACKET, 0), fd, status;
	int fds[2] = {memfd_create("state", 0),
		      memfd_create("forged", MFD_ALLOW_SEALING)};
	char control[CMSG_SPACE(sizeof fds)] = {0};
	struct iovec iov = {.iov_base = (void *)hello, .iov_len = sizeof *hello};
	struct msghdr message = {.msg_iov = &iov,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = sizeof control};
	struct shufflefs_ring *r;
	pid_t child;

	strcpy(address.sun_path, path);
	CHECK_EQ(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
	CHECK_EQ(listen(listener, 1), 0);
	CHECK_EQ(ftruncate(fds[0], SFS_RING_SLOTS_OFFSET), 0);
	CHECK_EQ(ftruncate(fds[1], (off_t)n_bytes), 0);
	CHECK_EQ(fcntl(fds[1], F_ADD_SEALS, F_SEAL_SHRINK), 0);
	child = fork();
	if (child == 0) {
		CHECK_EQ(shufflefs_ring_attach(path, 10000, &r), wanted);
		CHECK_HAS(shufflefs_ring_error(r), words);
		shufflefs_ring_detach(r);
		_exit(0);
	}
	fd = accept(listener, NULL, NULL);
	*CMSG_FIRSTHDR(&message) = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof fds),
						    .cmsg_level = SOL_SOCKET,
						    .cmsg_type = SCM_RIGHTS};
	memcpy(CMSG_DATA(CMSG_FIRSTHDR(&message)), fds, sizeof fds);
	CHECK(sendmsg(fd, &message, 0) > 0);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	close(fd);
	close(listener);
	close(fds[0]);
	close(fds[1]);
	unlink(path);
}

static void what_does_not_fit_is_refused(void)
{
	struct sfs_ring_hello hello = {.magic = SFS_RING_MAGIC,
				       .version = 9,
				       .n_bytes = SFS_RING_SLOTS_OFFSET + 16384,
				       .memory.kind = "host"};

	check_forged(&hello, 16384, -EPROTO,
		     "the ring has version 9, this library has version 5");
	hello.version = SFS_RING_VERSION;
	check_forged(&hello, 16384, -EPROTO, "wrong sizes"); /* all zeros */
	check_forged(&hello, 8192, -EPROTO, "has the wrong size");
}

/* Built as users do, against the library of this tree. */
static void the_example_reads_a_ring(void)
{
	const char *sanitizer = getenv("WITH_SANITIZER");
	struct sfs_ring *ring;
	char command[1024], said[256] = "";
	FILE *pipe;

	snprintf(command, sizeof command,
		 "cc %s%s -I%s/include %s/examples/ring.c %s/.libs/libshufflefs-ring.a "
		 "-pthread -o %s.example && %s.example %s; rm -f %s.example",
		 sanitizer && *sanitizer ? "-fsanitize=" : "", sanitizer ? sanitizer : "",
		 getenv("srcdir"), getenv("srcdir"), getenv("abs_top_builddir"), path,
		 path, path, path);
	ring = make_ring(SFS_RING_FAIL);
	CHECK_EQ(put(ring, 4), 0);
	CHECK_EQ(put(ring, 2), 0);
	sfs_ring_end(ring);
	pipe = popen(command, "r");
	CHECK(pipe != NULL);
	said[fread(said, 1, sizeof said - 1, pipe)] = 0;
	pclose(pipe);
	sfs_ring_free(ring);
	CHECK_STR(said, "batch 0: x 4x1000 sum 4000\nbatch 1: x 2x1000 sum 2000\n");
}

int main(void)
{
	struct sfs_row row = {.name = "x", .dtype = "u1", .rank = 1, .dims = {1000}};
	int round;

	snprintf(path, sizeof path, "/tmp/sfs-ring-%d", (int)getpid());
	CHECK_EQ(sfs_layout_add(&layout, &row, NULL), 0);
	tally = mmap(NULL, sizeof *tally, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	what_does_not_fit_is_refused();
	if (getenv("srcdir") && getenv("abs_top_builddir"))
		the_example_reads_a_ring();
	batches_come_in_order_and_back_in_any();
	a_failure_comes_after_what_was_filled();
	a_killed_producer_is_told();
	a_successor_goes_on();
	a_failed_producers_successor_goes_on();
	what_the_dead_held_follows_the_policy();
	for (round = 0; round < N_ROUNDS; round++) {
		check_round(SFS_RING_REDELIVER, round);
		check_round(SFS_RING_DROP, round);
	}
	return 0;
}
